//! Matrix fragments: `wmma`.
//!
//! A fragment does not know whether it was loaded by rows or by columns, and since `sm_75` it need not: the layout of a factor
//! decides how it is loaded, not which lane holds what, so products always say the same one. The tests compare the machine code
//! of all four.

use super::memory::{registers, space};
use super::registers::{Class, Home};
use super::render::{Renderer, ptx};
use super::target::Isa;
use girih_core::ir::attrs::MatrixLayout;
use girih_core::ir::types::{CoopUse, MatrixShape};
use girih_core::ir::{Inst, Scalar, Space, Type, ValueId};

impl Renderer<'_> {
    /// `coop.load`.
    pub fn coop_load(&mut self, inst: &Inst) {
        let Some((usage, shape, ty)) = self.fragment(inst.results[0]) else { return self.refuse(inst, "no fragment") };
        let (at, pointer) = self.corner(inst, ty);
        let (list, stride) = (registers(self.home(inst.results[0])), self.operand(inst.operands[2]));
        let code = format!("wmma.load.{}.sync.aligned.{}.{}", factor(usage), layout(inst), dims(shape));
        ptx!(self, "{code}.{}.{} {list}, {pointer}, {stride}", space(at), element(ty));
    }

    /// `coop.store`: accumulators only; factors are never stored.
    pub fn coop_store(&mut self, inst: &Inst) {
        let Some((CoopUse::Acc, shape, ty)) = self.fragment(inst.operands[2]) else {
            return self.refuse(inst, "only accumulators are stored");
        };
        let (at, pointer) = self.corner(inst, ty);
        let (list, stride) = (registers(self.home(inst.operands[2])), self.operand(inst.operands[3]));
        let code = format!("wmma.store.d.sync.aligned.{}.{}", layout(inst), dims(shape));
        ptx!(self, "{code}.{}.{} {pointer}, {list}, {stride}", space(at), element(ty));
    }

    /// `coop.splat`: where an element lies does not matter if all are equal.
    pub fn coop_splat(&mut self, inst: &Inst) {
        self.splat(inst);
    }

    /// `coop.mma`.
    pub fn coop_mma(&mut self, inst: &Inst) {
        let homes: Vec<Home> = inst.operands.iter().map(|v| self.home(*v)).collect();
        let (Some((_, shape, acc)), Some((_, _, ty))) =
            (self.fragment(inst.results[0]), self.fragment(inst.operands[0]))
        else {
            return self.refuse(inst, "no fragments");
        };
        let types = match ty {
            Scalar::F16 => format!("{}.{}", element(acc), element(acc)),
            Scalar::F64 => "rn.f64.f64.f64.f64".into(),
            _ => format!("{0}.{1}.{1}.{0}", element(acc), element(ty)),
        };
        let lists: Vec<String> = homes.into_iter().map(registers).collect();
        let to = registers(self.home(inst.results[0]));
        let code = format!("wmma.mma.sync.aligned.row.col.{}.{types}", dims(shape));
        ptx!(self, "{code} {to}, {}", lists.join(", "));
    }

    fn fragment(&mut self, value: ValueId) -> Option<(CoopUse, MatrixShape, Scalar)> {
        let Type::Coop(usage, shape, ty) = self.function.ty(value) else { return None };
        // Halves are known to every target; the others came with version 7.0 for sm_80, bytes with sm_72.
        if matches!(ty, Scalar::Bf16 | Scalar::F64) {
            self.isa(Isa(7, 0));
        }
        Some((usage, shape, ty))
    }

    /// The space and the address of a fragment's first element, in a register: `wmma` takes no names of arrays.
    fn corner(&mut self, inst: &Inst, ty: Scalar) -> (Space, String) {
        let at = self.function.space(inst.operands[0]);
        let address = self.address(inst.operands[0], inst.operands[1], inst.offset(), ty.bytes());
        let reg = self.address_reg(&address, at == Space::Global);
        debug_assert!(matches!(reg.class, Class::B32 | Class::B64));
        (at, format!("[{reg}]"))
    }
}

fn factor(usage: CoopUse) -> &'static str {
    match usage {
        CoopUse::A => "a",
        CoopUse::B => "b",
        CoopUse::Acc => "c",
    }
}

fn layout(inst: &Inst) -> &'static str {
    match inst.layout() {
        MatrixLayout::Row => "row",
        MatrixLayout::Column => "col",
    }
}

fn dims(shape: MatrixShape) -> String {
    format!("m{}n{}k{}", shape.m, shape.n, shape.k)
}

/// The name of an element; bytes keep their own here.
fn element(ty: Scalar) -> &'static str {
    match ty {
        Scalar::I8 => "s8",
        Scalar::U8 => "u8",
        _ => super::render::name(ty),
    }
}
