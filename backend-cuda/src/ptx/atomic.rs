//! Atomic operations and fences. Shared memory is seen by the workgroup alone, whatever scope is asked for.

use super::memory::space;
use super::registers::{Class, Reg};
use super::render::{Renderer, name, ptx};
use girih_ir::attrs::{Order, Scope};
use girih_ir::{Inst, Op, Scalar, Space, ValueId};

impl Renderer<'_> {
    /// `atomic.load`.
    pub fn atomic_load(&mut self, inst: &Inst) {
        let ty = inst.element();
        let address = self.address(inst.operands[0], inst.operands[1], inst.offset(), ty.bytes());
        let (at, scope, to) = (self.function.space(inst.operands[0]), self.scope(inst), self.result(inst));
        let order = match inst.order() {
            Order::Relaxed | Order::Release => "relaxed",
            Order::Acquire | Order::AcquireRelease => "acquire",
        };
        ptx!(self, "ld.{order}.{scope}.{}.{} {to}, {address}", space(at), held(ty, to));
    }

    /// `atomic.store`.
    pub fn atomic_store(&mut self, inst: &Inst) {
        let ty = inst.element();
        let address = self.address(inst.operands[0], inst.operands[1], inst.offset(), ty.bytes());
        let (at, scope, value) = (self.function.space(inst.operands[0]), self.scope(inst), self.reg(inst.operands[2]));
        let order = match inst.order() {
            Order::Relaxed | Order::Acquire => "relaxed",
            Order::Release | Order::AcquireRelease => "release",
        };
        ptx!(self, "st.{order}.{scope}.{}.{} {address}, {value}", space(at), held(ty, value));
    }

    /// An operation that reads and writes; without a result if that is not used.
    pub fn atomic(&mut self, inst: &Inst, code: &str) {
        let ty = inst.element();
        let address = self.address(inst.operands[0], inst.operands[1], inst.offset(), ty.bytes());
        let (at, scope) = (space(self.function.space(inst.operands[0])), self.scope(inst));
        let mut operands = vec![];
        for value in &inst.operands[2..] {
            let value = self.reg(*value);
            operands.push(if is_short(ty) { self.short(value) } else { value }.to_string());
        }
        let (operands, name) = (operands.join(", "), atomic_type(code, ty));
        let order = match inst.order() {
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcquireRelease => "acq_rel",
        };
        let replaces = matches!(inst.op, Op::AtomicExchange | Op::AtomicCompareExchange);
        let reduces = !replaces && matches!(inst.order(), Order::Relaxed | Order::Release);
        if reduces && !self.is_used(inst.results[0]) {
            return ptx!(self, "red.{order}.{scope}.{at}.{code}.{name} {address}, {operands}");
        }
        let result = self.result(inst);
        let to = if is_short(ty) { self.fresh(Class::B16) } else { result };
        ptx!(self, "atom.{order}.{scope}.{at}.{code}.{name} {to}, {address}, {operands}");
        if is_short(ty) {
            ptx!(self, "cvt.u32.u16 {result}, {to}");
        }
    }

    /// The low bits of a register in one of 16 bits.
    fn short(&mut self, value: Reg) -> Reg {
        let to = self.fresh(Class::B16);
        ptx!(self, "cvt.u16.u32 {to}, {value}");
        to
    }

    /// `fence`.
    pub fn fence(&mut self, inst: &Inst) {
        let scope = match inst.scope() {
            Scope::Workgroup => "cta",
            Scope::Device => "gpu",
        };
        ptx!(self, "fence.acq_rel.{scope}");
    }

    fn scope(&self, inst: &Inst) -> &'static str {
        match (self.function.space(inst.operands[0]), inst.scope()) {
            (Space::Shared | Space::Private, _) | (Space::Global, Scope::Workgroup) => "cta",
            (Space::Global, Scope::Device) => "gpu",
        }
    }

    /// Whether a value is an operand of some instruction.
    fn is_used(&self, value: ValueId) -> bool {
        self.used[value.index()]
    }
}

/// Whether a number of 16 bits lives in a register of 32.
fn is_short(ty: Scalar) -> bool {
    ty.is_integer() && ty.bytes() == 2
}

/// The type of a plain access, as wide as the number and not as its register.
fn held(ty: Scalar, register: Reg) -> &'static str {
    if is_short(ty) { "u16" } else { register.class.ty() }
}

/// The type in an atomic instruction: bits where only they count, and no signed 64-bit sum.
fn atomic_type(code: &str, ty: Scalar) -> &'static str {
    let wide = ty.bytes() == 8;
    match code {
        "min" | "max" => name(ty),
        "add" if ty.is_float() => match ty {
            Scalar::F16 => "noftz.f16",
            Scalar::Bf16 => "noftz.bf16",
            float => name(float),
        },
        "add" if wide => "u64",
        "add" => "u32",
        "cas" if ty.bytes() == 2 => "b16",
        "and" | "or" | "xor" | "exch" | "cas" if wide => "b64",
        "and" | "or" | "xor" | "exch" | "cas" => "b32",
        _ => unreachable!("PTX has no atomic `{code}`"),
    }
}
