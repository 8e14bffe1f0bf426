//! Conversions: the exact value of the source, then one rounding (or the low bits) to the target.

use super::float::{narrow, widen};
use crate::types::Scalar;

/// The value of a signed or unsigned integer's (or truth value's) bits.
pub fn int_value(bits: u64, ty: Scalar) -> i128 {
    if ty.is_signed() { signed(bits, ty).into() } else { bits.into() }
}

/// The bits read as a signed integer of the type's width.
pub fn signed(bits: u64, ty: Scalar) -> i64 {
    let unused = 64 - ty.bits();
    (bits << unused) as i64 >> unused
}

/// An integer as `f64`, rounded to odd where it has more than 53 bits: rounding that again, to a type of at most 51 bits, gives what
/// rounding the integer gives (the low bits are gone, but whether there were any is kept in the last one).
fn to_odd(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let excess = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> excess;
    let sticky = u128::from(kept << excess != magnitude);
    let result = ((kept | sticky) << excess) as f64;
    if value < 0 { -result } else { result }
}

fn int_to_float(bits: u64, source: Scalar, target: Scalar) -> u64 {
    let value = int_value(bits, source);
    if target == Scalar::F64 { (value as f64).to_bits() } else { narrow(to_odd(value), target) }
}

/// Truncates and saturates; NaN gives 0. Rust's `as` does just this.
fn float_to_int(x: f64, target: Scalar) -> u64 {
    let bits = match target {
        Scalar::I8 => x as i8 as u64,
        Scalar::I16 => x as i16 as u64,
        Scalar::I32 => x as i32 as u64,
        Scalar::I64 => x as i64 as u64,
        Scalar::U8 => x as u8 as u64,
        Scalar::U16 => x as u16 as u64,
        Scalar::U32 => x as u32 as u64,
        Scalar::U64 => x as u64,
        Scalar::Bool => (x != 0.0).into(),
        Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => narrow(x, target),
    };
    bits & target.mask()
}

/// A number in another type.
fn convert(bits: u64, source: Scalar, target: Scalar) -> u64 {
    if source == target {
        bits
    } else if source.is_float() {
        float_to_int(widen(bits, source), target)
    } else if target.is_float() {
        int_to_float(bits, source, target)
    } else if target == Scalar::Bool {
        (bits != 0).into()
    } else {
        int_value(bits, source) as u64 & target.mask()
    }
}

/// The conversion from a scalar to another as a function: one for each pair, so that it need not look at types again.
pub(super) fn converter(source: Scalar, target: Scalar) -> fn(u64) -> u64 {
    macro_rules! each {
        ($scalar:expr, $name:ident => $body:expr, [$($variant:ident)*]) => {
            match $scalar {
                $(Scalar::$variant => {
                    const $name: Scalar = Scalar::$variant;
                    $body
                })*
            }
        };
    }
    macro_rules! pair {
        ($($variant:ident)*) => {
            each!(source, SOURCE => to!(target, SOURCE), [$($variant)*])
        };
    }
    macro_rules! to {
        ($target:expr, $source:ident) => {
            each!($target, TARGET => |bits| convert(bits, $source, TARGET),
                [Bool I8 I16 I32 I64 U8 U16 U32 U64 F8E4M3 F8E5M2 F16 Bf16 F32 F64])
        };
    }
    pair!(Bool I8 I16 I32 I64 U8 U16 U32 U64 F8E4M3 F8E5M2 F16 Bf16 F32 F64)
}
