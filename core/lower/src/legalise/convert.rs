//! Conversions and bit casts from and to floats, each in terms of the few that every device makes exactly.
//!
//! Invariant: a result is rounded once, to nearest, ties to even; to integers towards zero, saturated, NaN is 0.

use super::Context;
use super::emit::Emit;
use super::floats::SHORT;
use super::short_integers::NARROW;
use super::word_packing::{self, halves, join};
use girih_base::diag::Diagnostic;
use girih_ir::{Builder, Feature, Op, Scalar, ScalarSet, Type, ValueId, math};

type Result<T> = std::result::Result<T, Diagnostic>;

/// The `f32` of a short float. Exact.
pub(super) fn lift(b: &mut Builder, cx: &mut Context<'_>, from: Scalar, x: ValueId) -> Result<ValueId> {
    match from {
        _ if !SHORT.has(from) => Ok(x),
        _ if cx.native(from) => Ok(b.convert(Scalar::F32, x)),
        _ if cx.caps.conversions.has(from) => {
            let short = word_packing::from_low_bits(b, from.into(), x);
            Ok(b.convert(Scalar::F32, short))
        }
        Scalar::Bf16 => {
            let bits = b.shl_by(x, 16);
            Ok(b.bitcast(Scalar::F32, bits))
        }
        _ => Ok(cx.routines.call(b, math::conversion(from, Scalar::F32), &[x])?[0]),
    }
}

/// The short float nearest to an `f32`.
pub(super) fn lower(b: &mut Builder, cx: &mut Context<'_>, to: Scalar, x: ValueId) -> Result<ValueId> {
    match to {
        _ if !SHORT.has(to) => Ok(x),
        _ if cx.native(to) => Ok(b.convert(to, x)),
        _ if cx.caps.conversions.has(to) => {
            let short = b.convert(to, x);
            Ok(word_packing::to_low_bits(b, short))
        }
        _ => Ok(cx.routines.call(b, math::conversion(Scalar::F32, to), &[x])?[0]),
    }
}

/// The number in another type, where one of them is a float. Neither is `bool`.
pub(super) fn convert(b: &mut Builder, cx: &mut Context<'_>, from: Scalar, to: Scalar, x: ValueId) -> Result<ValueId> {
    if from == to {
        return Ok(x);
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => float_to_float(b, cx, from, to, x),
        (true, false) => {
            let x = lift(b, cx, from, x)?;
            float_to_integer(b, cx, to, x)
        }
        (false, _) => integer_to_float(b, cx, from, to, x),
    }
}

fn float_to_float(b: &mut Builder, cx: &mut Context<'_>, from: Scalar, to: Scalar, x: ValueId) -> Result<ValueId> {
    if to == Scalar::F64 {
        let x = lift(b, cx, from, x)?;
        return Ok(b.convert(Scalar::F64, x));
    }
    let x = match (from, to) {
        (Scalar::F64, Scalar::F32) => b.convert(Scalar::F32, x),
        (Scalar::F64, _) if cx.native(Scalar::U64) => odd_bits(b, x),
        (Scalar::F64, _) => odd_f32(b, x),
        _ => lift(b, cx, from, x)?,
    };
    lower(b, cx, to, x)
}

/// An `f64` as an `f32`, rounded to odd: what is inexact has a last bit of 1, so that rounding it once more to fewer bits gives what
/// rounding at once would.
fn odd_f32(b: &mut Builder, x: ValueId) -> ValueId {
    let near = b.convert(Scalar::F32, x);
    let back = b.convert(Scalar::F64, near);
    let bits = b.bitcast(Scalar::U32, near);
    let inexact = b.compare(Op::Ne, back, x);
    let last = b.and_bits(bits, 1);
    let even = b.compare_bits(Op::Eq, last, 0);
    // Infinite only if the number is beyond all short floats; NaN stays.
    let exponent = b.and_bits(bits, 0x7f80_0000);
    let finite = b.compare_bits(Op::Ne, exponent, 0x7f80_0000);
    let (magnitude, true_magnitude) = (b.same(Op::Abs, &[back]), b.same(Op::Abs, &[x]));
    let below = b.compare(Op::Lt, magnitude, true_magnitude);
    let (up, down) = (b.u32(1), b.u32(u32::MAX));
    let step = b.select(below, up, down);
    let moved = b.add(bits, step);
    let moves = b.and(inexact, even);
    let moves = b.and(moves, finite);
    let bits = b.select(moves, moved, bits);
    b.bitcast(Scalar::F32, bits)
}

/// The same by the bits, which no driver takes for a conversion that could be left out: of what is not in an `f32` one bit is left.
fn odd_bits(b: &mut Builder, x: ValueId) -> ValueId {
    let bits = b.bitcast(Scalar::U64, x);
    let lost = b.and_bits(bits, LOST);
    let inexact = b.compare_bits(Op::Ne, lost, 0);
    let kept = b.and_bits(bits, !LOST);
    let last = b.like(bits, LOST + 1);
    let odd = b.or(kept, last);
    let odd = b.select(inexact, odd, kept);
    let normal = b.bitcast(Scalar::F64, odd);
    let normal = b.convert(Scalar::F32, normal);
    let tiny = odd_denormal(b, x);
    let magnitude = b.and_bits(bits, SIGN64 - 1);
    let is_tiny = b.compare_bits(Op::Lt, magnitude, LEAST_NORMAL);
    b.select(is_tiny, tiny, normal)
}

/// The bits of an `f64` that an `f32` has no room for, and its sign; the bits of 2^-126, and of 2^149.
const LOST: u64 = (1 << 29) - 1;
const SIGN64: u64 = 1 << 63;
const LEAST_NORMAL: u64 = (1023 - 126) << 52;
const SCALE: u64 = (1023 + 149) << 52;

/// An `f64` below all normal numbers of `f32`, rounded to odd: what it is a multiple of is the last bit.
fn odd_denormal(b: &mut Builder, x: ValueId) -> ValueId {
    let scale = b.constant(Scalar::F64, SCALE);
    let scaled = b.same(Op::Mul, &[x, scale]);
    let magnitude = b.same(Op::Abs, &[scaled]);
    let bound = b.constant(Scalar::F64, (1023 + 23) << 52);
    let is_within = b.compare(Op::Lt, magnitude, bound);
    let magnitude = b.select(is_within, magnitude, bound);
    let whole = b.convert(Scalar::U32, magnitude);
    let back = b.convert(Scalar::F64, whole);
    let inexact = b.compare(Op::Ne, back, magnitude);
    let one = b.u32(1);
    let odd = b.or(whole, one);
    let odd = b.select(inexact, odd, whole);
    let bits = b.bitcast(Scalar::U64, x);
    let count = b.like(bits, 32);
    let high = b.same(Op::Shr, &[bits, count]);
    let high = b.convert(Scalar::U32, high);
    let sign = b.and_bits(high, 1 << 31);
    let bits = b.or(odd, sign);
    b.bitcast(Scalar::F32, bits)
}

/// An `f32` or `f64` as an integer.
fn float_to_integer(b: &mut Builder, cx: &mut Context<'_>, to: Scalar, x: ValueId) -> Result<ValueId> {
    let from = b.scalar(x);
    if NARROW.has(to) {
        let word = if to.is_signed() { Scalar::I32 } else { Scalar::U32 };
        let wider = float_to_integer(b, cx, word, x)?;
        return Ok(clamp(b, to, wider));
    }
    if !cx.native(to) {
        return wide_integer(b, cx, from, to, x);
    }
    if cx.caps.has(Feature::ExactConversions) {
        return Ok(b.convert(to, x));
    }
    Ok(saturate(b, to, x))
}

/// A 32-bit integer as a narrow one, the nearest if it is out of range.
fn clamp(b: &mut Builder, to: Scalar, x: ValueId) -> ValueId {
    let (low, high) =
        if to.is_signed() { (-(1i64 << (to.bits() - 1)), (to.mask() >> 1) as i64) } else { (0, to.mask() as i64) };
    let (low, high) = (b.like(x, low as u64), b.like(x, high as u64));
    let x = if to.is_signed() { b.same(Op::Max, &[x, low]) } else { x };
    let x = b.same(Op::Min, &[x, high]);
    b.convert(to, x)
}

/// A conversion that is given only what is in range.
fn saturate(b: &mut Builder, to: Scalar, x: ValueId) -> ValueId {
    let from = b.scalar(x);
    let bound = power(b, from, to.bits() - u32::from(to.is_signed()));
    let zero = b.constant(from, 0);
    let low_end = b.constant(to, if to.is_signed() { 1 << (to.bits() - 1) } else { 0 });
    let high_end = b.constant(to, if to.is_signed() { to.mask() >> 1 } else { to.mask() });
    let below = b.compare(Op::Lt, x, bound);
    let above_least = if to.is_signed() {
        let least = b.op(Op::Neg, from, &[bound]);
        b.compare(Op::Ge, x, least)
    } else {
        b.compare(Op::Ge, x, zero)
    };
    let inside = b.and(below, above_least);
    let safe = b.select(inside, x, zero);
    let converted = b.convert(to, safe);
    let over = b.compare(Op::Ge, x, bound);
    let under = b.compare(Op::Lt, x, zero);
    let none = b.constant(to, 0);
    let end = b.select(under, low_end, none);
    let end = b.select(over, high_end, end);
    b.select(inside, converted, end)
}

/// 2 to the power of `exponent`.
fn power(b: &mut Builder, ty: Scalar, exponent: u32) -> ValueId {
    let bits = match ty {
        Scalar::F64 => u64::from(1023 + exponent) << 52,
        _ => u64::from(127 + exponent) << 23,
    };
    b.constant(ty, bits)
}

/// A 64-bit integer that the device does not have, from a float.
fn wide_integer(b: &mut Builder, cx: &mut Context<'_>, from: Scalar, to: Scalar, x: ValueId) -> Result<ValueId> {
    if from == Scalar::F32 {
        let words = cx.routines.call(b, math::conversion(Scalar::F32, to), &[x])?;
        return Ok(join(b, to, words[0], words[1]));
    }
    // The magnitude in two steps of 32 bits, each exact, then the sign and the ends.
    let magnitude = b.same(Op::Abs, &[x]);
    let (unit, inverse) = (power(b, from, 32), b.constant(from, (1023 - 32) << 52));
    let high = b.mul(magnitude, inverse);
    let high = b.same(Op::Trunc, &[high]);
    let upper = b.mul(high, unit);
    let low = b.sub(magnitude, upper);
    let (low, high) = (float_to_integer(b, cx, Scalar::U32, low)?, float_to_integer(b, cx, Scalar::U32, high)?);
    let number = join(b, to, low, high);
    let zero = b.constant(from, 0);
    let negative = b.compare(Op::Lt, x, zero);
    let negated = if to.is_signed() { b.same(Op::Neg, &[number]) } else { b.constant(to, 0) };
    let number = b.select(negative, negated, number);
    let bound = power(b, from, to.bits() - u32::from(to.is_signed()));
    let over = b.compare(Op::Ge, x, bound);
    let high_end = b.constant(to, if to.is_signed() { to.mask() >> 1 } else { to.mask() });
    let number = b.select(over, high_end, number);
    if !to.is_signed() {
        return Ok(number);
    }
    let least = b.op(Op::Neg, from, &[bound]);
    let under = b.compare(Op::Lt, x, least);
    let low_end = b.constant(to, 1 << (to.bits() - 1));
    Ok(b.select(under, low_end, number))
}

fn integer_to_float(b: &mut Builder, cx: &mut Context<'_>, from: Scalar, to: Scalar, x: ValueId) -> Result<ValueId> {
    // Short integers are exact in 32 bits.
    let (from, x) = match NARROW.has(from) {
        true if from.is_signed() => (Scalar::I32, b.convert(Scalar::I32, x)),
        true => (Scalar::U32, b.convert(Scalar::U32, x)),
        false => (from, x),
    };
    let wide = ScalarSet::WIDE.has(from) && !cx.native(from);
    match to {
        Scalar::F32 | Scalar::F64 if !wide => Ok(b.convert(to, x)),
        Scalar::F64 => {
            // Both words are exact, and so is the product: one rounding, of the sum.
            let (low, high) = halves(b, x);
            let high = if from.is_signed() { b.bitcast(Scalar::I32, high) } else { high };
            let (low, high) = (b.convert(Scalar::F64, low), b.convert(Scalar::F64, high));
            let unit = power(b, Scalar::F64, 32);
            let high = b.mul(high, unit);
            Ok(b.add(high, low))
        }
        Scalar::F32 => {
            let (low, high) = halves(b, x);
            Ok(cx.routines.call(b, math::conversion(from, Scalar::F32), &[low, high])?[0])
        }
        // From 2^24 on an `f32` is inexact. The shorter types but `bf16` are at their ends long before.
        Scalar::Bf16 => {
            let sticky = sticky(b, x);
            let float = integer_to_float(b, cx, from, Scalar::F32, sticky)?;
            lower(b, cx, to, float)
        }
        _ => {
            let float = integer_to_float(b, cx, from, Scalar::F32, x)?;
            lower(b, cx, to, float)
        }
    }
}

/// An integer whose magnitude keeps its 24 leading bits, the last of them 1 if anything below was lost: exact in an `f32`, and
/// rounds to fewer bits as the integer itself does.
fn sticky(b: &mut Builder, x: ValueId) -> ValueId {
    let ty = b.scalar(x);
    let unsigned = ty.as_bits();
    let sign = ty.is_signed().then(|| b.shr_by(x, ty.bits() - 1));
    let magnitude = match sign {
        Some(sign) => negate_if(b, x, sign),
        None => x,
    };
    let magnitude = b.bitcast(unsigned, magnitude);
    // How many bits are too many: those above 24, less the leading zeros.
    let zeros = b.same(Op::Clz, &[magnitude]);
    let most = b.like(zeros, u64::from(ty.bits() - 24));
    let zeros = b.same(Op::Min, &[zeros, most]);
    let excess = b.sub(most, zeros);
    let one = b.like(magnitude, 1);
    let unit = b.same(Op::Shl, &[one, excess]);
    let mask = b.sub(unit, one);
    let lost = b.and(magnitude, mask);
    let others = b.not(mask);
    let kept = b.and(magnitude, others);
    let any = b.compare_bits(Op::Ne, lost, 0);
    let none = b.like(magnitude, 0);
    let last = b.select(any, unit, none);
    let kept = b.or(kept, last);
    let kept = b.bitcast(ty, kept);
    match sign {
        Some(sign) => negate_if(b, kept, sign),
        None => kept,
    }
}

/// The negation where `sign` is all ones.
fn negate_if(b: &mut Builder, x: ValueId, sign: ValueId) -> ValueId {
    let flipped = b.xor(x, sign);
    b.sub(flipped, sign)
}

/// The same bits, where one side is a float.
pub(super) fn bitcast(b: &mut Builder, cx: &Context<'_>, from: Scalar, to: Scalar, x: ValueId) -> ValueId {
    let bits = |s: Scalar| cx.is_bits(s);
    match (bits(from), bits(to)) {
        (true, true) => x,
        (true, false) => {
            let raw = b.convert(to.as_bits(), x);
            b.bitcast(to, raw)
        }
        (false, true) => {
            let raw = b.bitcast(from.as_bits(), x);
            b.convert(Scalar::U32, raw)
        }
        (false, false) => {
            // Beside a short float stands the unsigned integer of its width only.
            if SHORT.has(from) || SHORT.has(to) {
                let raw = b.bitcast(from.as_bits(), x);
                return b.bitcast(Type::Scalar(to), raw);
            }
            b.bitcast(to, x)
        }
    }
}
