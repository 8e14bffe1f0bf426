//! Arithmetic of `f32` and `f64`: nothing is contracted, reordered or flushed.

use super::{Form, Translator};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use girih_ir::{Op, Scalar};

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// An operation on floats; none if it is not of them.
    pub(super) fn float(&mut self, op: Op, ty: Scalar, x: &[Value]) -> Option<Value> {
        match x {
            [x] => self.float_unary(op, ty, *x),
            [x, y] => self.float_binary(op, *x, *y),
            [x, y, z] if op == Op::Fma => Some(self.b.ins().fma(*x, *y, *z)),
            _more => None,
        }
    }

    fn float_unary(&mut self, op: Op, ty: Scalar, x: Value) -> Option<Value> {
        let ins = self.b.ins();
        match op {
            Op::Neg => Some(ins.fneg(x)),
            Op::Abs => Some(ins.fabs(x)),
            Op::Floor => Some(ins.floor(x)),
            Op::Ceil => Some(ins.ceil(x)),
            Op::Round => Some(ins.nearest(x)),
            Op::Trunc => Some(ins.trunc(x)),
            Op::Sqrt | Op::SqrtApprox => Some(ins.sqrt(x)),
            Op::RcpApprox if ty == Scalar::F32 => {
                let one = ins.f32const(1.0);
                Some(self.b.ins().fdiv(one, x))
            }
            Op::RsqrtApprox if ty == Scalar::F32 => {
                let one = ins.f32const(1.0);
                let root = self.b.ins().sqrt(x);
                Some(self.b.ins().fdiv(one, root))
            }
            _no_rule if ty == Scalar::F32 => self.native(op, x),
            _no_rule => None,
        }
    }

    fn float_binary(&mut self, op: Op, x: Value, y: Value) -> Option<Value> {
        let ins = self.b.ins();
        Some(match op {
            Op::Add => ins.fadd(x, y),
            Op::Sub => ins.fsub(x, y),
            Op::Mul => ins.fmul(x, y),
            Op::Div | Op::DivApprox => ins.fdiv(x, y),
            Op::Min => self.extreme(FloatCC::LessThan, x, y),
            Op::Max => self.extreme(FloatCC::GreaterThan, x, y),
            Op::Eq => ins.fcmp(FloatCC::Equal, x, y),
            Op::Ne => ins.fcmp(FloatCC::NotEqual, x, y),
            Op::Lt => ins.fcmp(FloatCC::LessThan, x, y),
            Op::Le => ins.fcmp(FloatCC::LessThanOrEqual, x, y),
            Op::Gt => ins.fcmp(FloatCC::GreaterThan, x, y),
            Op::Ge => ins.fcmp(FloatCC::GreaterThanOrEqual, x, y),
            _no_rule => return None,
        })
    }

    /// The lesser or greater; the other one if one is NaN, which Cranelift's own would give instead.
    fn extreme(&mut self, wins: FloatCC, x: Value, y: Value) -> Value {
        let first = self.b.ins().fcmp(wins, x, y);
        let second_is_nan = self.b.ins().fcmp(FloatCC::Unordered, y, y);
        let takes_first = self.b.ins().bor(first, second_is_nan);
        let ty = self.b.func.dfg.value_type(x);
        if ty.is_vector() {
            let bits = self.b.func.dfg.value_type(takes_first);
            let (x, y) = (self.cast(bits, x), self.cast(bits, y));
            let chosen = self.b.ins().bitselect(takes_first, x, y);
            return self.cast(ty, chosen);
        }
        self.b.ins().select(takes_first, x, y)
    }
}
