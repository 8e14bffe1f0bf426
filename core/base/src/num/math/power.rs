//! Powers: `2^(y log2 |x|)`, with the sign and the special values of C's `pow`.

use super::fixed::{ascending, high, mul, mul_wide, scale};
use super::float::{MIDDLE, join, split};
use super::logarithm::log2;

/// ln 2, in units of 2^-63.
const LN_2: u64 = 0x58B9_0BFB_E8E7_BCD6;

/// `(ln 2)^2 / 2`, a fraction of two words.
const SECOND: u64 = 0x3D7F_7BFF_058B_1D51;

/// `(ln 2)^3 / 6`, a fraction of two words.
const THIRD: u64 = 0x0E35_846B_8250_5FC6;

/// `(2^g - 1 - g ln 2 - g^2 SECOND - g^3 THIRD) / g^4` by g from 0 to 1, times 2^6. Error of the power: 2^-43.
const REST: [u32; 6] = [0x9D95_5AB1, 0x15D8_87DE, 0x0285_F2BA, 0x0040_38DE, 0x0005_4615, 0x0000_932E];

/// A result this close to the middle between two floats is taken to be the middle, which then rounds to the even float:
/// the error of the computation is less, so a power that really is a middle is met.
const UNSURE: u64 = 1 << 28;

/// `x` to the power of `y`.
pub fn pow(x: f32, y: f32) -> f32 {
    let parity = parity(y);
    let negative = x.is_sign_negative() && parity == Parity::Odd;
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f32::NAN;
    }
    if x.abs() == 1.0 && y.is_infinite() {
        return 1.0;
    }
    if x == 0.0 || x.is_infinite() || y.is_infinite() {
        // The power is as large as can be where a large base is raised, or a small one lowered.
        let large = (x.abs() > 1.0) == (y > 0.0);
        return join(negative, if large { 128 } else { -300 }, 1 << 63);
    }
    if x < 0.0 && parity == Parity::Fraction {
        return f32::NAN;
    }
    if x == -1.0 {
        return if negative { -1.0 } else { 1.0 };
    }
    if y == 0.5 {
        return x.sqrt();
    }
    power(negative, x, y)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parity {
    Even,
    Odd,
    Fraction,
}

/// What kind of number `y` is; infinities are even.
fn parity(y: f32) -> Parity {
    if !y.is_finite() || y == 0.0 {
        return Parity::Even;
    }
    let y = split(y);
    match 31 - y.exponent {
        32.. => Parity::Fraction,
        // That many bits of the significand stand behind the point.
        places @ 0..32 => match y.significand.trailing_zeros() as i32 - places {
            0 => Parity::Odd,
            1.. => Parity::Even,
            _ => Parity::Fraction,
        },
        _ => Parity::Even,
    }
}

/// The power of finite numbers that are not zero, for an `x` that is neither one nor minus one.
fn power(negative: bool, x: f32, y: f32) -> f32 {
    let (log, factor) = (log2(x), split(y));
    let descending = log.negative ^ y.is_sign_negative();
    // The logarithm of the result is product * 2^(exponent - 62).
    let product = scale(log.significand, factor.significand);
    let exponent = log.exponent + factor.exponent;
    if exponent >= 8 {
        return join(negative, if descending { -300 } else { 128 }, 1 << 63);
    }
    // In units of 2^-54, and then its floor and the fraction above it.
    let magnitude = product.checked_shr((8 - exponent) as u32).unwrap_or(0) as i64;
    let log = if descending { -magnitude } else { magnitude };
    let significand = (1 << 63) + exp2_minus_one((log as u64) << 10).min((1 << 63) - 1);
    let dropped = significand & (MIDDLE * 2 - 1);
    let settled = if dropped.abs_diff(MIDDLE) < UNSURE { significand - dropped + MIDDLE } else { significand };
    join(negative, (log >> 54) as i32, settled)
}

/// `2^g - 1` in units of 2^-63, for a fraction of two words.
fn exp2_minus_one(g: u64) -> u64 {
    let third = THIRD + (mul_wide(high(g), ascending(high(g), &REST)) >> 6);
    let second = SECOND + mul(g, third);
    mul(g, LN_2 + (mul(g, second) >> 1))
}
