//! 64-bit integers: words to and from them, and what shading languages have for 32 bits alone.

use super::writer::{Expr, ShaderWriter};
use naga::{BinaryOperator, Literal, MathFunction, Scalar};

impl ShaderWriter<'_, '_> {
    /// The 64 bits of two words.
    pub(super) fn join(&mut self, low: Expr, high: Expr) -> Expr {
        let low = self.convert(low, Scalar::U64);
        let high = self.convert(high, Scalar::U64);
        let count = self.u32(32);
        let high = self.binary(BinaryOperator::ShiftLeft, high, count);
        self.binary(BinaryOperator::InclusiveOr, low, high)
    }

    /// The low and the high word of a `u64`.
    pub(super) fn split(&mut self, wide: Expr) -> (Expr, Expr) {
        let low = self.convert(wide, Scalar::U32);
        let count = self.u32(32);
        let high = self.binary(BinaryOperator::ShiftRight, wide, count);
        (low, self.convert(high, Scalar::U32))
    }

    /// How many leading (of the high word first) or trailing (of the low word first) zeros a `u64` has.
    pub(super) fn zeros64(&mut self, wide: Expr, fun: MathFunction) -> Expr {
        let (low, high) = self.split(wide);
        let (first, second) = if fun == MathFunction::CountLeadingZeros { (high, low) } else { (low, high) };
        let (zero, word) = (self.u32(0), self.u32(32));
        let none = self.binary(BinaryOperator::Equal, first, zero);
        let in_first = self.math(fun, &[first]);
        let in_second = self.math(fun, &[second]);
        let beyond = self.binary(BinaryOperator::Add, in_second, word);
        let count = self.select(none, beyond, in_first);
        self.convert(count, Scalar::U64)
    }

    /// How many bits of a `u64` are one.
    pub(super) fn ones64(&mut self, wide: Expr) -> Expr {
        let (low, high) = self.split(wide);
        let low = self.math(MathFunction::CountOneBits, &[low]);
        let high = self.math(MathFunction::CountOneBits, &[high]);
        let count = self.binary(BinaryOperator::Add, low, high);
        self.convert(count, Scalar::U64)
    }

    /// The bits of a `u64` in reverse order.
    pub(super) fn reverse64(&mut self, wide: Expr) -> Expr {
        let (low, high) = self.split(wide);
        let low = self.math(MathFunction::ReverseBits, &[low]);
        let high = self.math(MathFunction::ReverseBits, &[high]);
        self.join(high, low)
    }

    /// A literal of a 32- or 64-bit unsigned type.
    pub(super) fn bits_literal(&mut self, scalar: Scalar, bits: u64) -> Expr {
        self.literal(if scalar.width == 8 { Literal::U64(bits) } else { Literal::U32(bits as u32) })
    }
}
