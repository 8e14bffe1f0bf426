//! Arithmetic: which kind of number an operation is on, and the operations on integers and truth values.

use super::{Form, Result, Translator, not_legal, types};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use girih_ir::groups::compares;
use girih_ir::{Inst, Op, Scalar, ValueId};

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// An operation on numbers of one type.
    pub(super) fn arithmetic(&mut self, inst: &Inst) -> Result<()> {
        let mut x = self.get_all(&inst.operands)?;
        let ty = inst.element();
        if matches!(inst.op, Op::Shl | Op::Shr) && inst.ty.is_some_and(|ty| ty.lanes() > 1) {
            x[1] = self.shift_of_all(inst.operands[1]).ok_or_else(|| not_legal(inst))?;
        }
        let result = match ty {
            Scalar::F32 | Scalar::F64 => self.float(inst.op, ty, &x),
            Scalar::I32 | Scalar::I64 | Scalar::U32 | Scalar::U64 => {
                self.multiple(inst, &x).or_else(|| self.integer(inst.op, ty, &x))
            }
            Scalar::Bool => self.truth(inst.op, &x),
            Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16 => None,
            Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::F16 | Scalar::Bf16 => None,
        };
        match result {
            Some(value) => self.give(inst, value),
            None => Err(not_legal(inst)),
        }
    }

    fn truth(&mut self, op: Op, x: &[Value]) -> Option<Value> {
        let ins = self.b.ins();
        match (op, x) {
            (Op::And, [x, y]) => Some(ins.band(*x, *y)),
            (Op::Or, [x, y]) => Some(ins.bor(*x, *y)),
            (Op::Xor, [x, y]) => Some(ins.bxor(*x, *y)),
            (Op::Not, [x]) => Some(ins.bxor_imm(*x, 1)),
            _no_rule => None,
        }
    }

    /// A product with a constant that a shift, or a shift and a sum, gives sooner. (Cranelift writes the double as a sum, and then
    /// takes the sums of sums apart.)
    fn multiple(&mut self, inst: &Inst, x: &[Value]) -> Option<Value> {
        let (Op::Mul, [left, right]) = (inst.op, &inst.operands[..]) else { return None };
        let constant = |v: &ValueId| self.function.as_constant(*v);
        let (value, factor) = match (constant(left), constant(right)) {
            (None, Some(factor)) => (x[0], factor),
            (Some(factor), None) => (x[1], factor),
            _both_or_none => return None,
        };
        if factor.is_power_of_two() {
            return Some(self.b.ins().ishl_imm(value, i64::from(factor.trailing_zeros())));
        }
        // The processor adds a number and 2, 4 or 8 times another one.
        let multiple = factor.checked_sub(1).filter(|multiple| matches!(multiple, 2 | 4 | 8))?;
        let shifted = self.b.ins().ishl_imm(value, i64::from(multiple.trailing_zeros()));
        Some(self.b.ins().iadd(value, shifted))
    }

    fn integer(&mut self, op: Op, ty: Scalar, x: &[Value]) -> Option<Value> {
        match x {
            [x] => self.integer_unary(op, *x),
            [x, y] => self.integer_binary(op, ty, *x, *y),
            _more => None,
        }
    }

    fn integer_unary(&mut self, op: Op, x: Value) -> Option<Value> {
        let ins = self.b.ins();
        match op {
            Op::Neg => Some(ins.ineg(x)),
            Op::Abs => Some(ins.iabs(x)),
            Op::Not => Some(ins.bnot(x)),
            Op::Clz => Some(ins.clz(x)),
            Op::Ctz => Some(ins.ctz(x)),
            Op::Popc => Some(ins.popcnt(x)),
            Op::ReverseBits => Some(ins.bitrev(x)),
            _no_rule => None,
        }
    }

    /// Shift counts are below the width and divisors guarded: legalisation sees to it.
    fn integer_binary(&mut self, op: Op, ty: Scalar, x: Value, y: Value) -> Option<Value> {
        let signed = ty.is_signed();
        let ins = self.b.ins();
        Some(match (op, signed) {
            (Op::Add, _) => ins.iadd(x, y),
            (Op::Sub, _) => ins.isub(x, y),
            (Op::Mul, _) => ins.imul(x, y),
            (Op::Div, true) => ins.sdiv(x, y),
            (Op::Div, false) => ins.udiv(x, y),
            (Op::Rem, true) => ins.srem(x, y),
            (Op::Rem, false) => ins.urem(x, y),
            (Op::MulHi, true) => ins.smulhi(x, y),
            (Op::MulHi, false) => ins.umulhi(x, y),
            (Op::Min, true) => ins.smin(x, y),
            (Op::Min, false) => ins.umin(x, y),
            (Op::Max, true) => ins.smax(x, y),
            (Op::Max, false) => ins.umax(x, y),
            (Op::And, _) => ins.band(x, y),
            (Op::Or, _) => ins.bor(x, y),
            (Op::Xor, _) => ins.bxor(x, y),
            (Op::Shl, _) => ins.ishl(x, y),
            (Op::Shr, true) => ins.sshr(x, y),
            (Op::Shr, false) => ins.ushr(x, y),
            (compares!(), _) => return self.compare_integers(op, signed, x, y),
            _no_rule => return None,
        })
    }

    fn compare_integers(&mut self, op: Op, signed: bool, x: Value, y: Value) -> Option<Value> {
        let condition = match (op, signed) {
            (Op::Eq, _) => IntCC::Equal,
            (Op::Ne, _) => IntCC::NotEqual,
            (Op::Lt, true) => IntCC::SignedLessThan,
            (Op::Lt, false) => IntCC::UnsignedLessThan,
            (Op::Le, true) => IntCC::SignedLessThanOrEqual,
            (Op::Le, false) => IntCC::UnsignedLessThanOrEqual,
            (Op::Gt, true) => IntCC::SignedGreaterThan,
            (Op::Gt, false) => IntCC::UnsignedGreaterThan,
            (Op::Ge, true) => IntCC::SignedGreaterThanOrEqual,
            (Op::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
            _no_rule => return None,
        };
        Some(self.b.ins().icmp(condition, x, y))
    }

    /// `select`.
    pub(super) fn select(&mut self, inst: &Inst) -> Result<()> {
        let [condition, x, y] = self.get_all(&inst.operands)?[..] else { return Err(not_legal(inst)) };
        let value = self.b.ins().select(condition, x, y);
        self.give(inst, value)
    }

    /// The machine type of an instruction's suffix.
    pub(super) fn suffix_type(&self, inst: &Inst) -> Result<cranelift_codegen::ir::Type> {
        inst.ty.and_then(types::machine_type).ok_or_else(|| not_legal(inst))
    }
}
