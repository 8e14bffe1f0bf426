//! Products and quotients of floats with the constant zero, by the bits of the other number.
//!
//! lavapipe takes these for zero, whatever the other number is, and NVIDIA's driver does so in `fma`, where it takes denormal constants of
//! `f32` for zero, too; 0 times infinity is NaN, and so is 0 divided by 0. The sign of a result that is zero is left open by the IR.

use super::writer::{Expr, ShaderWriter};
use girih_ir::Scalar;
use naga::{BinaryOperator as B, Expression, Literal, MathFunction as M};

/// What is known of a float's bits.
struct Bits {
    /// The integer that holds them.
    word: naga::Scalar,
    /// All but the sign.
    magnitude: Expr,
    /// The sign, at its place.
    sign: Expr,
    /// The sign of negative numbers, infinity, and a NaN.
    negative: u64,
    infinity: u64,
    nan: u64,
}

impl ShaderWriter<'_, '_> {
    /// `a * b` if one of them is a zero that is known here.
    pub(super) fn product_with_zero(&mut self, ty: Scalar, a: Expr, b: Expr) -> Option<Expr> {
        let other = if self.zero_sign(a).is_some() { b } else { self.zero_sign(b).map(|_| a)? };
        self.times_zero(ty, other)
    }

    /// Zero or NaN.
    fn times_zero(&mut self, ty: Scalar, other: Expr) -> Option<Expr> {
        let x = self.magnitude_bits(ty, other)?;
        let infinity = self.bits_literal(x.word, x.infinity);
        let finite = self.binary(B::Less, x.magnitude, infinity);
        let zero = self.bits_literal(x.word, 0);
        let nan = self.bits_literal(x.word, x.nan);
        let bits = self.select(finite, zero, nan);
        Some(self.float_of(ty, x.word, bits))
    }

    /// `a * b + c`, rounded once.
    pub(super) fn fused(&mut self, ty: Scalar, [a, b, c]: [Expr; 3]) -> Expr {
        if let Some(product) = self.product_with_zero(ty, a, b) {
            return self.binary(B::Add, product, c);
        }
        let other = if self.is_denormal(a) { Some(b) } else { self.is_denormal(b).then_some(a) };
        // Whether the denormal number is flushed or not: what is added is NaN where the product with zero is.
        let c = match other.and_then(|other| self.times_zero(ty, other)) {
            Some(product) => self.binary(B::Add, product, c),
            None => c,
        };
        self.math(M::Fma, &[a, b, c])
    }

    /// Whether it is a number of `f32` that is known here, and that devices may flush.
    fn is_denormal(&self, expr: Expr) -> bool {
        matches!(self.out.expressions[expr], Expression::Literal(Literal::F32(x)) if x.is_subnormal())
    }

    /// `a / b` if one of them is a zero that is known here.
    pub(super) fn quotient_with_zero(&mut self, ty: Scalar, a: Expr, b: Expr) -> Option<Expr> {
        let (other, divisor_sign) = match (self.zero_sign(b), self.zero_sign(a)) {
            (Some(negative), _) => (a, Some(negative)),
            (None, Some(_)) => (b, None),
            (None, None) => return None,
        };
        let x = self.magnitude_bits(ty, other)?;
        let (zero, infinity) = (self.bits_literal(x.word, 0), self.bits_literal(x.word, x.infinity));
        let is_zero = self.binary(B::Equal, x.magnitude, zero);
        let is_nan = self.binary(B::Greater, x.magnitude, infinity);
        let undefined = self.binary(B::LogicalOr, is_zero, is_nan);
        let defined = match divisor_sign {
            Some(negative) => {
                let endless = x.infinity | if negative { x.negative } else { 0 };
                let endless = self.bits_literal(x.word, endless);
                self.binary(B::ExclusiveOr, x.sign, endless)
            }
            None => zero,
        };
        let nan = self.bits_literal(x.word, x.nan);
        let bits = self.select(undefined, nan, defined);
        Some(self.float_of(ty, x.word, bits))
    }

    /// Whether a zero that is known here has a sign; none if it is no zero.
    fn zero_sign(&self, expr: Expr) -> Option<bool> {
        match self.out.expressions[expr] {
            Expression::Literal(Literal::F16(x)) => (x == half::f16::ZERO).then(|| x.is_sign_negative()),
            Expression::Literal(Literal::F32(x)) => (x == 0.0).then(|| x.is_sign_negative()),
            Expression::Literal(Literal::F64(x)) => (x == 0.0).then(|| x.is_sign_negative()),
            _ => None,
        }
    }

    /// None for an `f64` where there are no integers of 64 bits: such a product is left to the device.
    fn magnitude_bits(&mut self, ty: Scalar, x: Expr) -> Option<Bits> {
        let (word, bits) = match ty {
            Scalar::F16 => (naga::Scalar::U32, self.half_bits(x)),
            _ => self.float_bits(ty, x).map(|(_, word, bits)| (word, bits))?,
        };
        let format = ty.float_format()?;
        let (negative, infinity, quiet) = (format.sign(), format.infinity(), format.least_normal() >> 1);
        let below = self.bits_literal(word, negative - 1);
        let magnitude = self.binary(B::And, bits, below);
        let mask = self.bits_literal(word, negative);
        let sign = self.binary(B::And, bits, mask);
        Some(Bits { word, magnitude, sign, negative, infinity, nan: infinity | quiet })
    }

    fn float_of(&mut self, ty: Scalar, word: naga::Scalar, bits: Expr) -> Expr {
        match ty {
            Scalar::F16 => self.half_of_bits(bits),
            Scalar::F64 => self.bitcast(bits, word, naga::Scalar::F64),
            _ => self.bitcast(bits, word, naga::Scalar::F32),
        }
    }
}
