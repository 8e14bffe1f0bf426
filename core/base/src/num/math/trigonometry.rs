//! Sine, cosine and tangent of an angle in radians, however large.
//!
//! The angle is multiplied by 2/π, of which only the bits matter that do not make whole turns (Payne and Hanek's
//! reduction); so the quarter turns and the rest are known exactly to 62 bits. The rest is at most half a quarter to
//! either side, where two polynomials give its sine and its cosine.

use super::fixed::{alternating, divide, high, mul, mul_high, mul_wide, scale};
use super::float::{join, split};

/// 2/π, after 64 zero bits.
const TWO_OVER_PI: [u32; 8] = [0, 0, 0xA2F9_836E, 0x4E44_1529, 0xFC27_57D1, 0xF534_DDC0, 0xDB62_9599, 0x3C43_9041];

/// π/4, in two words.
const QUARTER_PI: u64 = 0xC90F_DAA2_2168_C235;

/// `(π/4 - sin(g π/4) / g) / t` by `t = g^2` from 0 to 1, times 2^3. Error of the sine: 2^-37.
const SINE: [u32; 4] = [0xA55D_E72D, 0x0519_AEF1, 0x0013_2CB2, 0x0000_297D];

/// `(1 - cos(g π/4)) / t` by `t = g^2` from 0 to 1, times 2. Error of the cosine: 2^-43.
const COSINE: [u32; 5] = [0x9DE9_E64E, 0x081E_0F84, 0x002A_BA77, 0x0000_787A, 0x0000_00D1];

/// Below 2^-12 the next term of the series is less than a quarter of the last place.
const TINY: f32 = 1.0 / 4096.0;

/// An angle as quarter turns and a rest.
struct Turn {
    /// Whole quarter turns, modulo four.
    quarters: u32,
    /// Whether the rest is to be subtracted.
    back: bool,
    /// The rest in units of π/4, a fraction of two words. It is not zero: no f32 comes closer than 2^-30 to a multiple
    /// of a quarter turn but zero.
    rest: u64,
}

/// A positive value: `significand * 2^(exponent - 63)`, its leading bit the top one.
struct Positive {
    exponent: i32,
    significand: u64,
}

/// The sine of an angle in radians.
pub fn sin(x: f32) -> f32 {
    if !x.is_finite() {
        return f32::NAN;
    }
    if x.abs() < TINY {
        return x;
    }
    let turn = reduce(x);
    let negative = x.is_sign_negative() ^ (turn.quarters >= 2);
    if turn.quarters & 1 == 0 {
        let sine = sine(turn.rest);
        join(negative ^ turn.back, sine.exponent, sine.significand)
    } else {
        join(negative, -1, cosine(turn.rest))
    }
}

/// The cosine of an angle in radians.
pub fn cos(x: f32) -> f32 {
    if !x.is_finite() {
        return f32::NAN;
    }
    if x.abs() < TINY {
        return 1.0;
    }
    let turn = reduce(x);
    let negative = turn.quarters == 1 || turn.quarters == 2;
    if turn.quarters & 1 == 0 {
        join(negative, -1, cosine(turn.rest))
    } else {
        let sine = sine(turn.rest);
        join(negative ^ turn.back, sine.exponent, sine.significand)
    }
}

/// The tangent of an angle in radians.
pub fn tan(x: f32) -> f32 {
    if !x.is_finite() {
        return f32::NAN;
    }
    if x.abs() < TINY {
        return x;
    }
    let turn = reduce(x);
    let (sine, cosine) = (sine(turn.rest), normalised(-1, cosine(turn.rest)));
    let odd = turn.quarters & 1 == 1;
    let (above, below) = if odd { (cosine, sine) } else { (sine, cosine) };
    let negative = x.is_sign_negative() ^ turn.back ^ odd;
    join(negative, above.exponent - below.exponent, divide(above.significand, below.significand))
}

/// The quarter turns in the absolute value of a finite `x` that is not below [`TINY`].
fn reduce(x: f32) -> Turn {
    let x = split(x);
    // The product's bits worth four and more are whole turns: they come from bits of 2/π before this place, which is
    // 158 at most, so that the table has the four words that are read.
    let place = (x.exponent + 31) as u32;
    let (word, shift) = ((place / 32) as usize, place % 32);
    let window = |k: usize| {
        let (first, second) = (TWO_OVER_PI[word + k], TWO_OVER_PI[word + k + 1]);
        (first << shift) | (second >> 1 >> (31 - shift))
    };
    // The first two bits of this count quarters, the others are their fraction.
    let product = (u64::from(x.significand.wrapping_mul(window(0))) << 32)
        .wrapping_add(mul_wide(x.significand, window(1)))
        .wrapping_add(u64::from(mul_high(x.significand, window(2))));
    let fraction = product << 2;
    let back = fraction >> 63 == 1;
    let distance = if back { fraction.wrapping_neg() } else { fraction };
    let quarters = ((product >> 62) as u32 + u32::from(back)) & 3;
    // Half a quarter would be one; it cannot be met exactly, and the fraction has room for anything less.
    Turn { quarters, back, rest: distance.min((1 << 63) - 1) << 1 }
}

/// `sin(g π/4)`.
fn sine(g: u64) -> Positive {
    let square = high(mul(g, g));
    let slope = QUARTER_PI - (mul_wide(square, alternating(square, &SINE)) >> 3);
    let g = normalised(-1, g);
    normalised(g.exponent, mul(g.significand, slope))
}

/// `cos(g π/4)`, a fraction of two words: 1 is taken to be the largest.
fn cosine(g: u64) -> u64 {
    let square = mul(g, g);
    let versed = scale(square, alternating(high(square), &COSINE)) >> 1;
    versed.max(1).wrapping_neg()
}

fn normalised(exponent: i32, significand: u64) -> Positive {
    let zeros = significand.leading_zeros();
    Positive { exponent: exponent - zeros as i32, significand: significand << zeros }
}
