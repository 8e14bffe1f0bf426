//! What code of a lane needs the names of: its number, the buffers, its stack, its workgroup's words.

use super::memory::{ProgramSizes, control, group, lane};
use girih_ir::attrs::{Attr, Spaces};
use girih_ir::heap::{GlobalId, NO_REUSE_TOKEN};
use girih_ir::{Builder, Op, Type, ValueId};

/// The names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub heap: ValueId,
    /// Parameter: how many frames there are. Behind them lanes keep their lists of free cells between epochs.
    pub pool_frames: ValueId,
    pub control: ValueId,
    /// The lists of free cells, and the stack, in private memory.
    pub own: ValueId,
    pub stack: ValueId,
    /// Where the newest frames of the stack stand: a ring of the lane's in shared memory, or else the stack.
    pub newest: ValueId,
    /// The workgroup's words, in shared memory.
    pub shared: ValueId,
    /// Parameter: how many lanes there are.
    pub lane_count: ValueId,
    /// The number of the lane, and the one in its workgroup.
    pub number: ValueId,
    pub local: ValueId,
    /// Where the heap ends.
    pub heap_end: ValueId,
    /// The number of the place in the source that code is written for: not 0.
    pub place: u32,
    pub shape: ProgramSizes,
}

impl Lane {
    /// Where a word of the lane stands among the frames.
    pub fn own_word(&self, b: &mut Builder, word: ValueId) -> ValueId {
        let each = b.u32(self.shape.pool_frame() + 2);
        let before = b.op(Op::Mul, Type::U32, &[self.pool_frames, each]);
        let row = b.op(Op::Mul, Type::U32, &[word, self.lane_count]);
        let row = b.op(Op::Add, Type::U32, &[before, row]);
        b.op(Op::Add, Type::U32, &[row, self.number])
    }
    /// Where a word of one of the stack's newest frames stands.
    pub fn stack_word(&self, b: &mut Builder, depth: ValueId, word: ValueId) -> ValueId {
        if self.shape.near == 0 {
            return self.far_word(b, depth, word);
        }
        let mask = b.u32(self.shape.near - 1);
        let place = b.op(Op::And, Type::U32, &[depth, mask]);
        // A word of one lane beside the same word of the next.
        let row = self.far_word(b, place, word);
        let lanes = b.u32(self.shape.workgroup);
        let row = b.op(Op::Mul, Type::U32, &[row, lanes]);
        b.op(Op::Add, Type::U32, &[row, self.local])
    }
    /// Where a word of one of the others stands, in private memory.
    pub fn far_word(&self, b: &mut Builder, depth: ValueId, word: ValueId) -> ValueId {
        let size = b.u32(self.shape.stack_frame());
        let frame = b.op(Op::Mul, Type::U32, &[depth, size]);
        b.op(Op::Add, Type::U32, &[frame, word])
    }
    pub fn load_stack(&self, b: &mut Builder, depth: ValueId, word: u32) -> ValueId {
        let word = b.u32(word);
        let at = self.stack_word(b, depth, word);
        b.load(Type::U32, self.newest, at)
    }
    pub fn store_stack(&self, b: &mut Builder, depth: ValueId, word: u32, value: ValueId) {
        let word = b.u32(word);
        let at = self.stack_word(b, depth, word);
        b.store(Type::U32, self.newest, at, value);
    }
    pub fn load_far(&self, b: &mut Builder, depth: ValueId, word: u32) -> ValueId {
        let word = b.u32(word);
        let at = self.far_word(b, depth, word);
        b.load(Type::U32, self.stack, at)
    }
    pub fn store_far(&self, b: &mut Builder, depth: ValueId, word: u32, value: ValueId) {
        let word = b.u32(word);
        let at = self.far_word(b, depth, word);
        b.store(Type::U32, self.stack, at, value);
    }

    /// Adds to a word of the workgroup; gives what it was.
    pub fn count(&self, b: &mut Builder, word: u32, by: u32) -> ValueId {
        let (at, by) = (b.u32(word), b.u32(by));
        b.op(Op::AtomicAdd, Type::U32, &[self.shared, at, by])
    }
    pub fn get(&self, b: &mut Builder, word: u32) -> ValueId {
        let at = b.u32(word);
        b.op(Op::AtomicLoad, Type::U32, &[self.shared, at])
    }
    pub fn set(&self, b: &mut Builder, word: u32, value: ValueId) {
        let at = b.u32(word);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[self.shared, at, value], &[] as &[Attr]);
    }
    /// All that lanes of the workgroup have written is there for the others behind it.
    pub fn barrier(b: &mut Builder) {
        b.op_with(Op::Barrier, None, &[], &[Attr::Spaces(Spaces { global: true, shared: true })]);
    }

    /// Room for a cell: its first unit. If there is none, the lane notes it, and gets room of its own behind the heap's end, which nobody
    /// ever reads: what it does is given up when its segment ends.
    pub fn new_units(&self, b: &mut Builder, units: u32) -> ValueId {
        let place = self.count(b, group::UNIT, units);
        let units = b.u32(units);
        let after = b.op(Op::Add, Type::U32, &[place, units]);
        let end = self.get(b, group::END);
        let fits = b.op(Op::Le, Type::U32, &[after, end]);
        let this = *self;
        b.if_else(
            fits,
            &[Type::U32],
            |b| b.end(Op::Yield, &[place]),
            |b| {
                let at = b.u32(control::HEAP_TOP);
                let place = b.op(Op::AtomicAdd, Type::U32, &[this.control, at, units]);
                let after = b.op(Op::Add, Type::U32, &[place, units]);
                let fits = b.op(Op::Le, Type::U32, &[after, this.heap_end]);
                let given = b.if_else(
                    fits,
                    &[Type::U32],
                    |b| b.end(Op::Yield, &[place]),
                    |b| {
                        let (word, here) = (b.u32(lane::LACKS), b.u32(this.place));
                        b.store(Type::U32, this.own, word, here);
                        let room = b.u32(this.shape.largest);
                        let before = b.op(Op::Mul, Type::U32, &[this.number, room]);
                        let own = b.op(Op::Add, Type::U32, &[this.heap_end, before]);
                        b.end(Op::Yield, &[own]);
                    },
                )[0];
                b.end(Op::Yield, &[given]);
            },
        )[0]
    }

    /// Whether the value of a global can be seen, and the value.
    pub fn global(&self, b: &mut Builder, global: GlobalId) -> (ValueId, ValueId) {
        let at = b.u32(control::GLOBALS + global.index() as u32);
        let word = b.op(Op::AtomicLoad, Type::U32, &[self.control, at]);
        let (zero, none) = (b.u32(0), b.u32(NO_REUSE_TOKEN));
        (b.op(Op::Ne, Type::U32, &[word, zero]), b.op(Op::Xor, Type::U32, &[word, none]))
    }

    /// Shows the value of a global to all lanes, from the next epoch on; gives it as a shared word.
    pub fn publish(&self, b: &mut Builder, global: GlobalId, value: ValueId) -> ValueId {
        let shared = super::cells::as_shared(b, value);
        let none = b.u32(NO_REUSE_TOKEN);
        let word = b.op(Op::Xor, Type::U32, &[shared, none]);
        let at = b.u32(control::GLOBALS + self.shape.globals + global.index() as u32);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[self.control, at, word], &[]);
        shared
    }
}
