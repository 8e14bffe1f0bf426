//! Memory of random kernels: no access is out of bounds, and none is a race.

use super::writer::{KernelWriter, Memories};
use super::{MEMORY_SITES, WORDS, WORKGROUP};
use girih_ir::{Op, Scalar, Type, ValueId};

impl KernelWriter<'_> {
    /// Counts a memory access; false if there are too many.
    pub(super) fn site(&mut self) -> bool {
        self.sites += 1;
        self.sites <= MEMORY_SITES
    }

    pub(super) fn masked(&mut self, mask: u32) -> ValueId {
        let (value, mask) = (self.value(Scalar::U32), self.b.u32(mask));
        self.b.op(Op::And, Scalar::U32, &[value, mask])
    }

    pub(super) fn load_input(&mut self) {
        if self.site() {
            let index = self.masked(WORDS - 1);
            let value = self.b.load(Scalar::U32, self.memories.input, index);
            self.keep(value);
        }
    }

    /// Passes a value to another invocation of the workgroup.
    pub(super) fn exchange(&mut self) {
        if !self.uniform || !self.site() || !self.site() {
            return;
        }
        let Memories { shared, local, .. } = self.memories;
        let value = self.value(Scalar::U32);
        self.b.store(Scalar::U32, shared, local, value);
        self.b.end(Op::Barrier, &[]);
        let index = self.masked(WORKGROUP - 1);
        let value = self.b.load(Scalar::U32, shared, index);
        self.b.end(Op::Barrier, &[]);
        self.keep(value);
    }

    pub(super) fn private_array(&mut self) {
        if !self.site() || !self.site() {
            return;
        }
        let private = self.memories.private;
        let (index, value) = (self.masked(7), self.value(Scalar::U32));
        self.b.store(Scalar::U32, private, index, value);
        let index = self.masked(7);
        let value = self.b.load(Scalar::U32, private, index);
        self.keep(value);
    }

    /// Adds to a counter; what it was is not looked at, because the order is free.
    pub(super) fn count(&mut self) {
        if self.site() {
            let (index, value) = (self.masked(3), self.value(Scalar::U32));
            let counters = self.memories.counters;
            self.b.op_with(Op::AtomicAdd, Some(Type::U32), &[counters, index, value], &[]);
        }
    }
}
