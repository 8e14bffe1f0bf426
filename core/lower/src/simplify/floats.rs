//! Identities of floats: only those that give the same bits for every number (NaN is any NaN).
//!
//! x + 0 is not among them: it makes +0 of -0.

use super::forward::Forward;
use girih_ir::{Op, Scalar, ValueId, eval};

impl Forward<'_> {
    /// What stands for an operation of one operand.
    pub(super) fn float_unary(&mut self, op: Op, s: Scalar, a: ValueId) -> Option<ValueId> {
        match op {
            Op::Neg => self.is_unary(a, Op::Neg),
            Op::Abs => match self.is_unary(a, Op::Neg) {
                Some(inner) => Some(self.emit(Op::Abs, s, &[inner], false)),
                None => self.is_unary(a, Op::Abs).map(|_| a),
            },
            Op::Floor | Op::Ceil | Op::Round | Op::Trunc => {
                let rounded =
                    [Op::Floor, Op::Ceil, Op::Round, Op::Trunc].iter().any(|op| self.is_unary(a, *op).is_some());
                rounded.then_some(a)
            }
            _no_rule => None,
        }
    }

    /// What stands for an operation of two operands.
    pub(super) fn float(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        let (a, b) =
            if super::common_subexpressions::is_commutative(op) && self.bits(a).is_some() { (b, a) } else { (a, b) };
        if matches!(op, Op::Min | Op::Max) && a == b {
            return Some(a);
        }
        let c = self.bits(b)?;
        let number = |x: f64| eval::narrow(x, s);
        match op {
            Op::Add if c == number(-0.0) => Some(a),
            Op::Sub if c == 0 => Some(a),
            Op::Mul if c == number(1.0) => Some(a),
            Op::Mul if c == number(-1.0) => Some(self.emit(Op::Neg, s, &[a], false)),
            Op::Div if c == number(1.0) => Some(a),
            Op::Div if c == number(-1.0) => Some(self.emit(Op::Neg, s, &[a], false)),
            Op::Div => {
                let inverse = exact_inverse(s, c)?;
                let inverse = self.constant(s, inverse);
                Some(self.emit(Op::Mul, s, &[a, inverse], false))
            }
            _no_rule => None,
        }
    }
}

/// 1 / c if that is a normal number without an error: a quotient by a power of two is a product.
fn exact_inverse(s: Scalar, c: u64) -> Option<u64> {
    let x = eval::widen(c, s);
    let inverse = 1.0 / x;
    let bits = eval::narrow(inverse, s);
    let power = x.is_normal() && x.to_bits() << 12 == 0;
    let least = eval::widen(s.float_format()?.least_normal(), s);
    (power && inverse.abs() >= least && x.abs() >= least && eval::widen(bits, s) == inverse).then_some(bits)
}
