//! The angle of a point, from -π to π.
//!
//! The quotient of the smaller by the larger coordinate is the tangent of an angle of at most an eighth of a turn.
//! Where it is above tan(π/8), the quotient of their difference by their sum is the tangent of what is missing to the
//! eighth.

use super::fixed::{alternating, divide, high, mul, mul_high, scale};
use super::float::{Magnitude, join, split};

/// π/4 in units of 2^-62.
const QUARTER_PI: u64 = 0x3243_F6A8_885A_308D;

/// tan(π/8), a fraction of a word.
const FOLD: u32 = 0x6A09_E668;

/// `(1 - atan(q) / q) / t` by `t = 4 q^2` for q to tan(π/8), times 2^3. Error of the quotient: 2^-40.
const DECLINE: [u32; 7] = [0xAAAA_AAA7, 0x1999_9922, 0x0492_431D, 0x00E3_693F, 0x002E_10F8, 0x0008_F390, 0x0001_36F7];

/// A small positive value: `significand * 2^(exponent - 63)`, its leading bit the top one, or zero.
struct Small {
    exponent: i32,
    significand: u64,
}

/// The angle of the point (`x`, `y`) in radians, with the sign of `y`.
pub fn atan2(y: f32, x: f32) -> f32 {
    if y.is_nan() || x.is_nan() {
        return f32::NAN;
    }
    let negative = y.is_sign_negative();
    let left = x.is_sign_negative();
    let nothing = Small { exponent: 0, significand: 0 };
    if y == 0.0 || (x.is_infinite() && !y.is_infinite()) {
        return angle(negative, if left { 4 } else { 0 }, true, &nothing);
    }
    if x == 0.0 || (y.is_infinite() && !x.is_infinite()) {
        return angle(negative, 2, true, &nothing);
    }
    if x.is_infinite() {
        return angle(negative, if left { 3 } else { 1 }, true, &nothing);
    }
    let (below, above, steep) = if y.abs() > x.abs() { (x, y, true) } else { (y, x, false) };
    let (folded, part) = eighth(split(below), split(above));
    // The angle is eighths of a turn plus or minus the part.
    let (mut eighths, mut plus) = if folded { (1, false) } else { (0, true) };
    if steep {
        (eighths, plus) = (2 - eighths, !plus);
    }
    if left {
        (eighths, plus) = (4 - eighths, !plus);
    }
    angle(negative, eighths, plus, &part)
}

/// `eighths * π/4` plus or minus a part.
fn angle(negative: bool, eighths: u32, plus: bool, part: &Small) -> f32 {
    if eighths == 0 {
        return join(negative, part.exponent, part.significand);
    }
    let base = QUARTER_PI * u64::from(eighths);
    let part = part.significand.checked_shr((1 - part.exponent) as u32).unwrap_or(0);
    join(negative, 1, if plus { base + part } else { base - part })
}

/// The arc tangent of `below / above`, which is at most one: itself, or (`true`) what is missing to π/4.
fn eighth(below: Magnitude, above: Magnitude) -> (bool, Small) {
    let difference = above.exponent - below.exponent;
    if difference > 2 || below.significand >> difference <= mul_high(above.significand, FOLD) {
        return (false, arc(below.significand, above.significand, -difference));
    }
    // The lower 8 bits of both are zero, so nothing is lost.
    let below = below.significand >> difference;
    (true, arc(above.significand - below, (above.significand >> 1) + (below >> 1), -1))
}

/// The arc tangent of `below / above * 2^exponent`, which is at most tan(π/8).
fn arc(below: u32, above: u32, exponent: i32) -> Small {
    if below == 0 {
        return Small { exponent: 0, significand: 0 };
    }
    let (zeros, more_zeros) = (below.leading_zeros(), above.leading_zeros());
    let quotient = divide(u64::from(below << zeros) << 32, u64::from(above << more_zeros) << 32);
    let shift = quotient.leading_zeros();
    let quotient = quotient << shift;
    let exponent = exponent + more_zeros as i32 - zeros as i32 - shift as i32;
    // Twice the quotient as a fraction, and its square.
    let twice = quotient.checked_shr((-2 - exponent) as u32).unwrap_or(0);
    let square = mul(twice, twice);
    let decline = scale(square, alternating(high(square), &DECLINE)) >> 3;
    Small { exponent, significand: quotient - mul(quotient, decline) }
}
