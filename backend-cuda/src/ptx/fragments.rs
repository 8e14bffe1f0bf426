//! Matrix fragments: `wmma`.
//!
//! A fragment does not know whether it was loaded by rows or by columns, and since `sm_75` it need not: the layout of a factor
//! decides how it is loaded, not which lane holds what, so products always say the same one. The tests compare the machine code
//! of all four.

use super::copies::Operand;
use super::isa::Isa;
use super::memory::{registers, space};
use super::registers::{Class, Home};
use super::render::{Renderer, ptx};
use girih_ir::attrs::{MatrixLayout, Precision};
use girih_ir::types::{CoopUse, MatrixShape};
use girih_ir::{Function, Inst, Op, Scalar, Space, Type, ValueId};

impl Renderer<'_> {
    /// `coop.load`.
    pub fn coop_load(&mut self, inst: &Inst) {
        let Some((usage, shape, ty)) = self.fragment(inst.results[0]) else { return self.refuse(inst, "no fragment") };
        let (at, pointer) = self.corner(inst, ty);
        let (list, stride) = (registers(self.home(inst.results[0])), self.operand(inst.operands[2]));
        let code = format!("wmma.load.{}.sync.aligned.{}.{}", factor(usage), layout(inst), dims(shape));
        let name = if is_rounded(usage, ty) { "tf32" } else { element(ty) };
        ptx!(self, "{code}.{}.{name} {list}, {pointer}, {stride}", space(at));
        self.round(inst, usage, ty);
    }

    /// Factors of `f32` are rounded to `tf32` where they come from, unless a product takes them more exactly. The unit would cut their last bits off.
    fn round(&mut self, inst: &Inst, usage: CoopUse, ty: Scalar) {
        if is_rounded(usage, ty) && !self.splits {
            let home = self.home(inst.results[0]);
            self.rounded(home, home);
        }
    }

    fn rounded(&mut self, from: Home, to: Home) {
        for (from, to) in from.regs().zip(to.regs()) {
            ptx!(self, "cvt.rna.tf32.f32 {to}, {from}");
        }
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
        if let Some((usage, _, ty)) = self.fragment(inst.results[0]) {
            self.round(inst, usage, ty);
        }
    }

    /// `coop.mma`.
    pub fn coop_mma(&mut self, inst: &Inst) {
        let [mut a, mut b, c] = [0, 1, 2].map(|i| self.home(inst.operands[i]));
        let (Some((_, shape, acc)), Some((_, _, ty))) =
            (self.fragment(inst.results[0]), self.fragment(inst.operands[0]))
        else {
            return self.refuse(inst, "no fragments");
        };
        let types = match ty {
            Scalar::F16 => format!("{}.{}", element(acc), element(acc)),
            Scalar::F64 => "rn.f64.f64.f64.f64".into(),
            Scalar::F32 => format!("{0}.tf32.tf32.{0}", element(acc)),
            _ => format!("{0}.{1}.{1}.{0}", element(acc), element(ty)),
        };
        let to = self.home(inst.results[0]);
        let code = format!("wmma.mma.sync.aligned.row.col.{}.{types}", dims(shape));
        if inst.precision() == Precision::Tf32x3 {
            return self.in_three(&code, to, [a, b, c]);
        }
        if ty == Scalar::F32 && self.splits {
            [a, b] = [a, b].map(|from| {
                let to = self.bank.home(Class::B32, from.count);
                self.rounded(from, to);
                to
            });
        }
        self.product(&code, to, [a, b, c]);
    }

    fn product(&mut self, code: &str, to: Home, [a, b, c]: [Home; 3]) {
        ptx!(self, "{code} {}, {}, {}, {}", registers(to), registers(a), registers(b), registers(c));
    }

    /// Each factor is the sum of two numbers of `tf32`; the product of both second ones is left out.
    fn in_three(&mut self, code: &str, to: Home, [a, b, c]: [Home; 3]) {
        let ([a, a_first, a_rest], [b, b_first, b_rest]) = (self.divided(a), self.divided(b));
        self.product(code, to, [a_rest, b_first, c]);
        self.product(code, to, [a_first, b_rest, to]);
        self.product(code, to, [a, b, to]);
    }

    /// Numbers as far as `tf32` has them, twice, and what is left of them. Of numbers that are infinite, no numbers, or so large that rounding could
    /// make them infinite, only the first has something, and so no product with what is left of the other factor makes a sum wrong.
    fn divided(&mut self, from: Home) -> [Home; 3] {
        let [whole, first, rest] = [0, 1, 2].map(|_| self.bank.home(Class::B32, from.count));
        let large = Operand::F32(2f32.powi(127).to_bits());
        for (i, from) in from.regs().enumerate() {
            let [whole, first, rest] = [whole, first, rest].map(|home| home.reg(i as u32));
            let (size, kept, usual) = (self.fresh(Class::B32), self.fresh(Class::B32), self.fresh(Class::Pred));
            ptx!(self, "abs.f32 {size}, {from}");
            ptx!(self, "setp.lt.f32 {usual}, {size}, {large}");
            ptx!(self, "selp.b32 {kept}, {from}, 0, {usual}");
            // As `cvt.rna` does it, which is not one instruction of the card's either, and looks for what is left out here.
            ptx!(self, "add.u32 {first}, {kept}, {HALF}");
            ptx!(self, "and.b32 {first}, {first}, {KEPT}");
            ptx!(self, "sub.rn.f32 {rest}, {kept}, {first}");
            ptx!(self, "and.b32 {rest}, {rest}, {KEPT}");
            ptx!(self, "selp.b32 {whole}, {first}, {from}, {usual}");
        }
        [whole, first, rest]
    }

    fn fragment(&mut self, value: ValueId) -> Option<(CoopUse, MatrixShape, Scalar)> {
        let Type::Coop(usage, shape, ty) = self.function.ty(value) else { return None };
        // Halves are known to every target; the others came with version 7.0 for sm_80, bytes with sm_72.
        if matches!(ty, Scalar::Bf16 | Scalar::F64) || is_rounded(usage, ty) {
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

/// The bits of an `f32` that `tf32` has.
const KEPT: i32 = !0x1fff;
/// Half of the last of them.
const HALF: u32 = 0x1000;

/// Whether a product of a function takes factors of `f32` as sums of two numbers of `tf32`.
pub(super) fn splits(function: &Function) -> bool {
    let mut found = false;
    function.walk(function.body, &mut |_, inst| {
        found |= inst.op == Op::CoopMma && inst.precision() == Precision::Tf32x3;
    });
    found
}

/// Whether a fragment's elements are rounded to `tf32`.
fn is_rounded(usage: CoopUse, ty: Scalar) -> bool {
    usage != CoopUse::Acc && ty == Scalar::F32
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
