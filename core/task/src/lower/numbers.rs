//! Operators and conversions on numbers whose kinds are known.
//!
//! A `u24` or `u32` is a `u32` of the IR, an `i24` or `i32` an `i32`, an `f24` or `f32` an `f32`; numbers of 24 bits are always in
//! range, an `i24` with its sign in the upper bits. What the operators mean stands in [`girih_base::num`].

use super::library::{Library, MathFunction};
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;
use girih_ir::{Builder, Def, Op, Scalar, Type, ValueId};

/// How a kind stands in the IR.
pub fn scalar(kind: NumKind) -> Scalar {
    match kind {
        NumKind::U24 | NumKind::U32 => Scalar::U32,
        NumKind::I24 | NumKind::I32 => Scalar::I32,
        NumKind::F24 | NumKind::F32 => Scalar::F32,
    }
}

/// Whether a primitive takes numbers of these kinds.
pub fn takes(prim: Prim, kinds: &[NumKind]) -> bool {
    matches!(prim, Prim::To(_)) || kinds.iter().all(|kind| kind.is_float())
}

const MASK: u32 = 0xFF_FFFF;

/// Writes arithmetic on numbers.
pub struct Numbers<'a> {
    /// Where it is written.
    pub builder: &'a mut Builder,
    /// The functions that it calls.
    pub library: &'a mut Library,
}

impl Numbers<'_> {
    fn op(&mut self, op: Op, kind: NumKind, operands: &[ValueId]) -> ValueId {
        self.builder.op(op, scalar(kind), operands)
    }
    fn constant(&mut self, kind: NumKind, bits: u32) -> ValueId {
        self.builder.constant(scalar(kind), u64::from(bits))
    }
    /// A truth value as the `u24` 1 or 0.
    pub fn truth(&mut self, condition: ValueId) -> ValueId {
        self.builder.op(Op::Convert, Scalar::U32, &[condition])
    }

    /// Brings the result of the 32-bit operation into the range of a kind.
    fn wrap(&mut self, kind: NumKind, value: ValueId) -> ValueId {
        match kind {
            NumKind::U24 => {
                let mask = self.builder.u32(MASK);
                self.op(Op::And, kind, &[value, mask])
            }
            NumKind::I24 => {
                let eight = self.constant(kind, 8);
                let high = self.op(Op::Shl, kind, &[value, eight]);
                self.op(Op::Shr, kind, &[high, eight])
            }
            NumKind::F24 => self.library.round24(self.builder, value),
            NumKind::U32 | NumKind::I32 | NumKind::F32 => value,
        }
    }

    /// The value of which another one is the lower 24 bits, for operations whose lower bits depend on no others.
    fn unwrapped(&self, kind: NumKind, value: ValueId) -> ValueId {
        let wrapped = match kind {
            NumKind::U24 => self.is_by(value, Op::And, MASK),
            NumKind::I24 => self.is_by(value, Op::Shr, 8).and_then(|high| self.is_by(high, Op::Shl, 8)),
            NumKind::F24 | NumKind::U32 | NumKind::I32 | NumKind::F32 => None,
        };
        wrapped.unwrap_or(value)
    }
    /// The first operand of an operation whose second one is this constant.
    fn is_by(&self, value: ValueId, op: Op, constant: u32) -> Option<ValueId> {
        let function = &self.builder.function;
        let Def::Result(id, _) = function.values[value].def else { return None };
        let inst = &function.insts[id];
        match inst.operands[..] {
            [first, second] if inst.op == op && function.as_constant(second) == Some(constant.into()) => Some(first),
            _ => None,
        }
    }

    /// Whether a value is a power of two, not less than 1.
    fn is_scale(&self, value: ValueId) -> bool {
        let bits = self.builder.function.as_constant(value);
        bits.and_then(|bits| u32::try_from(bits).ok()).map(f32::from_bits).is_some_and(|scale| {
            scale >= 1.0 && scale.is_finite() && scale.to_bits() & ((1 << (f32::MANTISSA_DIGITS - 1)) - 1) == 0
        })
    }

    /// Whether the divisor is zero, for the operators that care.
    pub fn divides_by_zero(&mut self, op: BinOp, kind: NumKind, divisor: ValueId) -> Option<ValueId> {
        if kind.is_float() || !matches!(op, BinOp::Div | BinOp::Rem) {
            return None;
        }
        let zero = self.constant(kind, 0);
        Some(self.op(Op::Eq, kind, &[divisor, zero]))
    }

    /// The result of a primitive and its kind; none if it does not take the kinds.
    pub fn primitive(&mut self, prim: Prim, kinds: &[NumKind], operands: &[ValueId]) -> Option<(ValueId, NumKind)> {
        if !takes(prim, kinds) {
            return None;
        }
        let kind = if kinds.contains(&NumKind::F32) { NumKind::F32 } else { NumKind::F24 };
        let function = match prim {
            Prim::To(to) => return Some((self.convert(*kinds.first()?, to, *operands.first()?), to)),
            Prim::Log => MathFunction::Log,
            Prim::Atan2 => MathFunction::Atan2,
            Prim::Sin => MathFunction::Sin,
            Prim::Cos => MathFunction::Cos,
            Prim::Tan => MathFunction::Tan,
        };
        let mut operands = operands.to_vec();
        if kind == NumKind::F24 && operands.len() == 1 {
            // Adding zero makes -0.0 positive, as f24 has it.
            let zero = self.constant(kind, 0);
            operands[0] = self.op(Op::Add, kind, &[zero, operands[0]]);
        }
        Some(self.function(function, kind, &operands))
    }

    /// The representation of a number: its 24 or 32 bits, all NaNs alike.
    pub fn representation(&mut self, kind: NumKind, value: ValueId) -> ValueId {
        let canonical = match kind {
            NumKind::F24 | NumKind::F32 => {
                let nan = self.builder.op(Op::Ne, Scalar::F32, &[value, value]);
                let one = self.constant(kind, f32::NAN.to_bits());
                self.builder.op(Op::Select, Scalar::F32, &[nan, one, value])
            }
            NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32 => value,
        };
        let bits = self.bits(canonical, Scalar::U32);
        match kind {
            NumKind::F24 => {
                let eight = self.builder.u32(8);
                self.builder.op(Op::Shr, Scalar::U32, &[bits, eight])
            }
            NumKind::I24 => {
                let mask = self.builder.u32(MASK);
                self.builder.op(Op::And, Scalar::U32, &[bits, mask])
            }
            NumKind::U24 | NumKind::U32 | NumKind::I32 | NumKind::F32 => bits,
        }
    }

    /// The result of an operator on two numbers of a kind that has it, and the result's kind. A divisor is not zero.
    pub fn operate(&mut self, op: BinOp, kind: NumKind, a: ValueId, b: ValueId) -> (ValueId, NumKind) {
        let plain = |this: &mut Self, op: Op| {
            let value = this.op(op, kind, &[a, b]);
            (this.wrap(kind, value), kind)
        };
        // What is above 24 bits of the operands comes to nothing below.
        let ring = |this: &mut Self, op: Op| {
            let value = this.op(op, kind, &[this.unwrapped(kind, a), this.unwrapped(kind, b)]);
            (this.wrap(kind, value), kind)
        };
        // Operations whose result is in range if the operands are.
        let closed = |this: &mut Self, op: Op| (this.op(op, kind, &[a, b]), kind);
        let compare = |this: &mut Self, op: Op| {
            let condition = this.op(op, kind, &[a, b]);
            (this.truth(condition), NumKind::U24)
        };
        match op {
            BinOp::Add => ring(self, Op::Add),
            BinOp::Sub => ring(self, Op::Sub),
            // Scaled up, a number has no more digits than before.
            BinOp::Mul if kind == NumKind::F24 && (self.is_scale(a) || self.is_scale(b)) => closed(self, Op::Mul),
            BinOp::Mul => ring(self, Op::Mul),
            // The quotient of the least number and -1 is out of range.
            BinOp::Div => plain(self, Op::Div),
            BinOp::Rem if kind.is_float() => self.function(MathFunction::Remainder, kind, &[a, b]),
            BinOp::Rem => closed(self, Op::Rem),
            BinOp::Pow => self.function(MathFunction::Pow, kind, &[a, b]),
            BinOp::Eq => compare(self, Op::Eq),
            BinOp::Ne => compare(self, Op::Ne),
            BinOp::Lt => compare(self, Op::Lt),
            BinOp::Gt => compare(self, Op::Gt),
            BinOp::Le if kind == NumKind::F24 => self.negated(Op::Gt, a, b),
            BinOp::Ge if kind == NumKind::F24 => self.negated(Op::Lt, a, b),
            BinOp::Le => compare(self, Op::Le),
            BinOp::Ge => compare(self, Op::Ge),
            BinOp::And if kind.is_float() => self.function(MathFunction::Atan2, kind, &[a, b]),
            BinOp::Or if kind.is_float() => self.function(MathFunction::Log, kind, &[b, a]),
            BinOp::Xor if kind.is_float() => self.function(MathFunction::Pow, kind, &[a, b]),
            BinOp::Shl if kind.is_float() => self.function_of_sum(MathFunction::Sin, kind, a, b),
            BinOp::Shr if kind.is_float() => self.function_of_sum(MathFunction::Tan, kind, a, b),
            BinOp::And => closed(self, Op::And),
            BinOp::Or => closed(self, Op::Or),
            BinOp::Xor => closed(self, Op::Xor),
            BinOp::Shl => {
                let value = self.op(Op::Shl, kind, &[self.unwrapped(kind, a), b]);
                (self.wrap(kind, value), kind)
            }
            BinOp::Shr => closed(self, Op::Shr),
        }
    }

    /// For f24, `<=` and `>=` are the negations of `>` and `<`: they hold where an operand is NaN.
    fn negated(&mut self, op: Op, a: ValueId, b: ValueId) -> (ValueId, NumKind) {
        let condition = self.op(op, NumKind::F24, &[a, b]);
        let not = self.builder.op(Op::Not, Scalar::Bool, &[condition]);
        (self.truth(not), NumKind::U24)
    }

    /// A mathematical function; an f24 is the f32 result, rounded once more.
    pub fn function(&mut self, function: MathFunction, kind: NumKind, operands: &[ValueId]) -> (ValueId, NumKind) {
        let half = u64::from(0.5f32.to_bits());
        let value = match (function, operands) {
            (MathFunction::Pow, [base, power]) if self.builder.function.as_constant(*power) == Some(half) => {
                self.library.root(self.builder, *base)
            }
            _others => self.library.call(self.builder, function, operands),
        };
        (self.wrap(kind, value), kind)
    }

    fn function_of_sum(&mut self, function: MathFunction, kind: NumKind, a: ValueId, b: ValueId) -> (ValueId, NumKind) {
        let sum = self.op(Op::Add, kind, &[a, b]);
        self.function(function, kind, &[sum])
    }

    /// A number of one kind made one of another.
    pub fn convert(&mut self, from: NumKind, to: NumKind, value: ValueId) -> ValueId {
        use NumKind::{F24, F32, I24, I32, U24, U32};
        match (from, to) {
            (F24, F32) => value,
            _ if from == to => value,
            (F24 | F32, U24) => {
                let whole = self.builder.op(Op::Convert, Scalar::U32, &[value]);
                let most = self.builder.u32(MASK);
                self.op(Op::Min, to, &[whole, most])
            }
            (F24 | F32, I24) => {
                let whole = self.builder.op(Op::Convert, Scalar::I32, &[value]);
                let (least, most) = (self.constant(to, (-0x80_0000i32) as u32), self.constant(to, 0x7F_FFFF));
                let above = self.op(Op::Max, to, &[whole, least]);
                self.op(Op::Min, to, &[above, most])
            }
            (F24 | F32, U32 | I32) | (U24 | I24 | U32 | I32, F32) => self.builder.op(Op::Convert, scalar(to), &[value]),
            (F24 | F32, F24) => self.wrap(F24, value),
            (F32, F32) => value,
            (U24 | I24 | U32 | I32, F24) => {
                let float = self.builder.op(Op::Convert, Scalar::F32, &[value]);
                self.wrap(F24, float)
            }
            (U24 | I24 | U32 | I32, U24 | I24 | U32 | I32) => {
                let bits = self.bits(value, scalar(to));
                match (from, to) {
                    // What fits stays as it is.
                    (U24, U32 | I32) | (I24, I32 | U32) => bits,
                    _ => self.wrap(to, bits),
                }
            }
        }
    }

    /// The same bits as another scalar of 32 bits.
    pub fn bits(&mut self, value: ValueId, to: Scalar) -> ValueId {
        if self.builder.ty(value) == Type::Scalar(to) { value } else { self.builder.op(Op::Bitcast, to, &[value]) }
    }
}
