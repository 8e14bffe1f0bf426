//! The remainder of a division of floats whose quotient is truncated: C's `fmod`, which is always exact.

use super::float::{Magnitude, join, split};

/// `a - b * trunc(a / b)`, with the sign of `a`.
pub fn remainder(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
        return f32::NAN;
    }
    if a.abs() < b.abs() || a == 0.0 {
        return a;
    }
    let (dividend, divisor) = (split(a), split(b));
    let rest = long_division(dividend, divisor);
    join(a.is_sign_negative(), divisor.exponent, u64::from(rest) << 40)
}

/// The remainder of the significands, in units of the last of the divisor's 24 bits.
fn long_division(dividend: Magnitude, divisor: Magnitude) -> u32 {
    let by = divisor.significand >> 8;
    let mut rest = (dividend.significand >> 8) % by;
    let mut places = dividend.exponent - divisor.exponent;
    // Eight places at once fit into a word with the 24 bits of a significand.
    while places > 0 && rest != 0 {
        let step = places.min(8);
        rest = (rest << step) % by;
        places -= step;
    }
    rest
}
