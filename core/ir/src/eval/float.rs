//! Floats: every operation is computed in `f64` and rounded to its type once, to the nearest, ties to even.
//!
//! Why `f64` in between is harmless, for a type of p significant bits (f16 11, bf16 8, f32 24):
//! - sums a + b, |a| >= |b|: if the exact sum has at most 53 bits, the `f64` sum is exact. Otherwise b's last bit lies more than
//!   52 places below a's first, so |b| < 2^(p-52) |a|: less than 1/16 of the type's unit at a. The exact sum then rounds to
//!   a, and so does what `f64` makes of it, which lies no farther from a than 1/16 of the unit either.
//! - products: 2p <= 48 bits, so they are exact in `f64`; the exponents stay far inside of its range.
//! - quotients a / b: a midpoint m of the type has p + 1 bits, so a and m b are integers of at most 2p + 1 bits on a
//!   common scale, and unless they are equal they differ by 2^-(2p+1) relatively: more than the 2^-53 of rounding to `f64`.
//!   This holds for the shorter midpoints of denormal results all the more.
//! - square roots: if m^2 is not a, they differ by 2^-(2p+2) relatively, so m and the root by 2^-(2p+3) >= 2^-51.
//! - fused products: the product is exact, the sum is rounded *to odd* (see [`fused`]).

use super::{Function, by_routine, meaning, not_evaluated, ones};
use crate::ops::Op;
use crate::types::{FloatFormat, Scalar};

/// How the numbers of a short float lie in their bits, and what is made of those that it does not have.
#[derive(Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// Bits of the largest finite number.
    largest: u64,
    /// What lies beyond it becomes: infinity, or the largest number.
    beyond: u64,
    /// The NaN that is made.
    nan: u64,
}

impl Format {
    const fn of(ty: Scalar) -> Option<Format> {
        let (largest, beyond, nan) = match ty {
            Scalar::F8E4M3 => (0x7e, 0x7e, 0x7f),
            Scalar::F8E5M2 => (0x7b, 0x7b, 0x7f),
            Scalar::F16 => (0x7bff, 0x7c00, 0x7e00),
            Scalar::Bf16 => (0x7f7f, 0x7f80, 0x7fc0),
            Scalar::F32 => (0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000),
            Scalar::F64
            | Scalar::Bool
            | Scalar::I8
            | Scalar::I16
            | Scalar::I32
            | Scalar::I64
            | Scalar::U8
            | Scalar::U16
            | Scalar::U32
            | Scalar::U64 => return None,
        };
        let Some(FloatFormat { exponent, mantissa }) = ty.float_format() else { return None };
        Some(Format { exponent_bits: exponent, mantissa_bits: mantissa, largest, beyond, nan })
    }
    const fn width(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }
    /// Exponent of the least normal number.
    const fn least(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1))
    }
}

const F64_NAN: u64 = 0x7ff8_0000_0000_0000;

/// The nearest number of a float type, ties to even, directly from the `f64`: f8 types saturate at their largest finite
/// number, the others overflow to infinity; NaN becomes the type's NaN. For types that are no floats, the bits of the `f64`.
pub fn narrow(x: f64, ty: Scalar) -> u64 {
    let Some(format) = Format::of(ty) else { return if x.is_nan() { F64_NAN } else { x.to_bits() } };
    let sign = x.to_bits() >> 63 << (format.width() - 1);
    if x.is_nan() { format.nan } else { sign | narrow_magnitude(x.to_bits() & (u64::MAX >> 1), format) }
}

fn narrow_magnitude(bits: u64, format: Format) -> u64 {
    let exponent = (bits >> 52) as i32 - 1023;
    if exponent < format.least() - format.mantissa_bits as i32 - 1 {
        return 0; // Below half of the least denormal; denormals of f64 are, too.
    }
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    let scale = exponent.max(format.least());
    // The result's unit is 2^(scale - mantissa_bits), the significand's 2^(exponent - 52). Between 29 and 53.
    let dropped = (scale - format.mantissa_bits as i32 - (exponent - 52)) as u32;
    let kept = significand >> dropped;
    let rest = significand & ((1 << dropped) - 1);
    let half = 1 << (dropped - 1);
    let rounded = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
    // The leading bit of a normal number, and a carry out of the mantissa, add to the exponent as they should.
    let result = ((scale - format.least()) as u64) << format.mantissa_bits;
    let result = result + rounded;
    if result > format.largest { format.beyond } else { result }
}

/// The number of `tf32` (eight bits of exponent, ten behind the point) that is nearest to one of `f32`, away from zero where two are as near; both
/// as bits of an `f32`.
pub fn tf32(bits: u64) -> u64 {
    let finite = bits & 0x7f80_0000 != 0x7f80_0000;
    if finite { (bits + 0x1000) & 0xffff_e000 } else { bits }
}

/// The exact value of a float's bits as `f64`. Types that are no floats are read as the bits of an `f64`.
pub fn widen(bits: u64, ty: Scalar) -> f64 {
    let Some(format) = Format::of(ty) else { return f64::from_bits(bits) };
    let magnitude = bits & ((1 << (format.width() - 1)) - 1);
    let value = if magnitude > format.largest {
        // Beyond the finite numbers: infinity, in formats that have it, is the first there and a power of two.
        let infinite = magnitude == format.largest + 1 && magnitude.trailing_zeros() >= format.mantissa_bits;
        if infinite { f64::INFINITY } else { f64::NAN }
    } else {
        let fraction = magnitude & ((1 << format.mantissa_bits) - 1);
        let field = (magnitude >> format.mantissa_bits) as i32;
        let (significand, exponent) =
            if field == 0 { (fraction, 1) } else { (fraction | 1 << format.mantissa_bits, field) };
        significand as f64 * power(exponent - 1 + format.least() - format.mantissa_bits as i32)
    };
    if bits >> (format.width() - 1) & 1 == 1 { -value } else { value }
}

/// 2^exponent, for exponents of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A float type that has arithmetic.
pub(super) trait Float {
    const SCALAR: Scalar;
    const SIGN: u64 = 1 << (Self::SCALAR.bits() - 1);
    /// The exact value.
    fn wide(bits: u64) -> f64;
    /// The nearest number; NaN is always the same.
    fn round(x: f64) -> u64;
    /// a * b + c, rounded once.
    fn fma(a: u64, b: u64, c: u64) -> u64 {
        Self::round(fused(Self::wide(a), Self::wide(b), Self::wide(c)))
    }
}

pub(super) enum F16 {}
pub(super) enum Bf16 {}
pub(super) enum F32 {}
pub(super) enum F64 {}

impl Float for F16 {
    const SCALAR: Scalar = Scalar::F16;
    fn wide(bits: u64) -> f64 {
        widen(bits, Scalar::F16)
    }
    fn round(x: f64) -> u64 {
        narrow(x, Scalar::F16)
    }
}
impl Float for Bf16 {
    const SCALAR: Scalar = Scalar::Bf16;
    fn wide(bits: u64) -> f64 {
        F32::wide(bits << 16)
    }
    fn round(x: f64) -> u64 {
        narrow(x, Scalar::Bf16)
    }
}
impl Float for F32 {
    const SCALAR: Scalar = Scalar::F32;
    fn wide(bits: u64) -> f64 {
        f32::from_bits(bits as u32).into()
    }
    fn round(x: f64) -> u64 {
        if x.is_nan() { 0x7fc0_0000 } else { (x as f32).to_bits().into() }
    }
}
impl Float for F64 {
    const SCALAR: Scalar = Scalar::F64;
    fn wide(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn round(x: f64) -> u64 {
        if x.is_nan() { F64_NAN } else { x.to_bits() }
    }
    fn fma(a: u64, b: u64, c: u64) -> u64 {
        F64::round(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))
    }
}

/// a * b + c rounded *to odd* to 53 bits, for numbers of at most 24 significant bits and exponents of `f32`.
///
/// The product is exact: at most 48 bits, its exponent far inside the range. Of the sum, s is the nearest and `error` what is
/// missing, exactly (Knuth's two-sum, which has no overflow here and is exact for any two numbers). If something is missing and s's last
/// bit is even, the exact sum lies strictly between s and its neighbour on the side of the error, whose last bit is odd: that one is
/// the sum rounded to odd. A number that is rounded to odd with at least two bits to spare (53 >= p + 2) keeps on which side of each
/// midpoint of the shorter type it lies, so that rounding it again gives what rounding the exact sum gives.
fn fused(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // Away from zero if the error has the sum's sign. The sum is not zero: a sum of 0 is exact.
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

/// The lesser; a NaN gives way; -0 is below +0.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b < a || b == a && b.is_sign_negative() { b } else { a }
}
/// The greater, likewise.
fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a || b == a && b.is_sign_positive() { b } else { a }
}

/// The meaning of an operation on floats of a type.
pub(super) fn of<T: Float + 'static>(op: Op) -> Option<Function> {
    match op {
        Op::Add => meaning!(|a, b| T::round(T::wide(a) + T::wide(b))),
        Op::Sub => meaning!(|a, b| T::round(T::wide(a) - T::wide(b))),
        Op::Mul => meaning!(|a, b| T::round(T::wide(a) * T::wide(b))),
        Op::Div | Op::DivApprox => meaning!(|a, b| T::round(T::wide(a) / T::wide(b))),
        Op::Neg => meaning!(|a| a ^ T::SIGN),
        Op::Abs => meaning!(|a| a & !T::SIGN),
        Op::Min => meaning!(|a, b| T::round(least(T::wide(a), T::wide(b)))),
        Op::Max => meaning!(|a, b| T::round(greatest(T::wide(a), T::wide(b)))),
        Op::Fma => Some(Function::Ternary(T::fma)),
        Op::Mad => meaning!(|a, b, c| T::round(T::wide(T::round(T::wide(a) * T::wide(b))) + T::wide(c))),
        Op::Eq => meaning!(|a, b| (T::wide(a) == T::wide(b)).into()),
        Op::Ne => meaning!(|a, b| (T::wide(a) != T::wide(b)).into()),
        Op::Lt => meaning!(|a, b| (T::wide(a) < T::wide(b)).into()),
        Op::Le => meaning!(|a, b| (T::wide(a) <= T::wide(b)).into()),
        Op::Gt => meaning!(|a, b| (T::wide(a) > T::wide(b)).into()),
        Op::Ge => meaning!(|a, b| (T::wide(a) >= T::wide(b)).into()),
        Op::Floor => meaning!(|a| T::round(T::wide(a).floor())),
        Op::Ceil => meaning!(|a| T::round(T::wide(a).ceil())),
        Op::Round => meaning!(|a| T::round(T::wide(a).round_ties_even())),
        Op::Trunc => meaning!(|a| T::round(T::wide(a).trunc())),
        Op::Sqrt | Op::SqrtApprox => meaning!(|a| T::round(T::wide(a).sqrt())),
        Op::RcpApprox => meaning!(|a| T::round(1.0 / T::wide(a))),
        Op::RsqrtApprox => meaning!(|a| T::round(1.0 / T::wide(a).sqrt())),
        Op::MaskEq => meaning!(|a, b| ones(T::wide(a) == T::wide(b))),
        Op::MaskLt => meaning!(|a, b| ones(T::wide(a) < T::wide(b))),
        Op::MaskLe => meaning!(|a, b| ones(T::wide(a) <= T::wide(b))),
        Op::MaskSelect => meaning!(|mask, a, b| (mask & a) | (!mask & b)),
        Op::MaskAny => None,
        Op::Rem | Op::MulHi | Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl | Op::Shr => None,
        Op::Clz | Op::Ctz | Op::Popc | Op::ReverseBits => None,
        by_routine!() | not_evaluated!() => None,
    }
}
