//! Warpgroup matrix products on shared memory.
//!
//! Invariant: between a product and the wait for it no instruction moves its accumulators. They are one set of registers from the
//! first product of a chain to the wait (see [`super::coalesce`]); where two chains need the same start, it is copied before.

use super::copies::Operand;
use super::isa::Isa;
use super::memory::registers;
use super::registers::{Class, Reg};
use super::render::{Renderer, name, ptx};
use girih_ir::attrs::SharedMatrix;
use girih_ir::{Attr, AttrKind, Inst, ValueId};

impl Renderer<'_> {
    /// Says that instructions of this very architecture are used.
    fn warpgroup(&mut self) {
        self.isa(Isa(8, 0));
        self.needs.specific = true;
    }

    /// An instruction without operands.
    pub fn warpgroup_step(&mut self, code: &str) {
        self.warpgroup();
        ptx!(self, "wgmma.{code}.sync.aligned");
    }

    /// `wgmma.wait`. The accumulators stay where they are.
    pub fn wgmma_wait(&mut self, inst: &Inst) {
        self.warpgroup();
        ptx!(self, "wgmma.wait_group.sync.aligned {}", inst.pending());
        self.copy(&inst.operands, &inst.results);
    }

    /// `wgmma`.
    pub fn wgmma(&mut self, inst: &Inst) {
        self.warpgroup();
        let (Some(Attr::Shape(shape)), Some(Attr::MatrixA(a)), Some(Attr::MatrixB(b))) =
            (inst.attr(AttrKind::Shape), inst.attr(AttrKind::MatrixA), inst.attr(AttrKind::MatrixB))
        else {
            return self.refuse(inst, "it lacks `shape`, `a` or `b`");
        };
        let ty = inst.element();
        let first = self.descriptor(inst.operands[1], inst.operands[2], inst.offset(), ty.bytes(), *a);
        let second = self.descriptor(inst.operands[3], inst.operands[4], inst.source_offset(), ty.bytes(), *b);
        self.copy(&inst.operands[..1], &inst.results);
        let accumulators = self.home(inst.results[0]);
        let acc = name(self.element(inst.results[0]));
        let (product, factor) = (format!("m{}n{}k{}", shape.m, shape.n, shape.k), name(ty));
        let code = format!("wgmma.mma_async.sync.aligned.{product}.{acc}.{factor}.{factor}");
        let (across_a, across_b) = (u8::from(!a.k_major), u8::from(!b.k_major));
        let list = registers(accumulators);
        ptx!(self, "{code} {list}, {first}, {second}, 1, 1, 1, {across_a}, {across_b}");
    }

    /// What tells the tensor cores where and how a factor lies in shared memory.
    fn descriptor(&mut self, memory: ValueId, index: ValueId, offset: i32, size: u32, matrix: SharedMatrix) -> Reg {
        let address = self.address(memory, index, offset, size);
        let start = self.address_reg(&address, false);
        let [within, unit] = [(); 2].map(|()| self.fresh(Class::B32));
        let [wide, descriptor] = [(); 2].map(|()| self.fresh(Class::B64));
        ptx!(self, "and.b32 {within}, {start}, {MASK}");
        ptx!(self, "shr.u32 {unit}, {within}, 4");
        ptx!(self, "cvt.u64.u32 {wide}, {unit}");
        ptx!(self, "or.b64 {descriptor}, {wide}, {}", Operand::Int(layout(matrix) as i64));
        descriptor
    }
}

/// Bits of an address or a distance in a descriptor, which counts 16 bytes.
const MASK: u32 = 0x3_ffff;

/// The constant part of a descriptor.
fn layout(matrix: SharedMatrix) -> u64 {
    let units = |bytes: u32| u64::from((bytes & MASK) >> 4);
    let swizzle = match matrix.swizzle {
        128 => 1,
        64 => 2,
        32 => 3,
        _ => 0,
    };
    units(matrix.leading) << 16 | units(matrix.stride) << 32 | swizzle << 62
}
