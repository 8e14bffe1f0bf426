//! Logarithms.
//!
//! A significand from 1 to 2 is multiplied by a fraction c of 8 bits out of a table so that the product is within 1/32
//! of one (and exact); then `log2(x) = exponent - log2(c) + log2(product)`. Around one, c is one (or a half, just
//! below), so the result is as exact relative to itself there as anywhere.

use super::fixed::{mul, mul_high, mul_wide, scale};
use super::float::{join, split};

/// For each 32nd from 1 to 2, c in 256ths, and -log2(c) in units of 2^-55.
const FACTORS: [(u32, i64); 32] = [
    (256, 0x0000_0000_0000_0000),
    (245, 0x0008_1C3F_7DE5_434F),
    (237, 0x000E_3DA9_45B8_78E2),
    (231, 0x0012_F9E3_2D5B_FDD1),
    (224, 0x0018_A898_0ABF_BD32),
    (218, 0x001D_AC22_D3E4_41D3),
    (213, 0x0021_F509_0089_66A2),
    (207, 0x0027_3BD1_C2AB_3EDF),
    (202, 0x002B_BFB9_E3DD_5C1D),
    (197, 0x0030_609B_2182_3FA6),
    (193, 0x0034_2A5E_2853_0368),
    (188, 0x0039_033B_85A8_BFC8),
    (184, 0x003C_FBEB_FCA7_1567),
    (180, 0x0041_0AF5_2E69_F262),
    (176, 0x0045_3158_3F9A_2BE2),
    (172, 0x0049_7028_118E_FABF),
    (169, 0x004C_AFFB_8DC3_B9A2),
    (165, 0x0051_1C5A_8B02_0988),
    (162, 0x0054_7FCB_8C08_52F1),
    (159, 0x0057_F373_89C9_F76D),
    (156, 0x005B_77F0_A9E3_F18D),
    (153, 0x005F_0DEA_489F_9FED),
    (150, 0x0062_B611_B3CD_A690),
    (148, 0x0065_30A1_D24B_136C),
    (145, 0x0068_F8BD_2B10_FD81),
    (142, 0x006C_D516_1D87_51E6),
    (140, 0x006F_73A7_7325_861C),
    (138, 0x0072_1BDE_DFA9_2A23),
    (135, 0x0076_2AE8_116C_071F),
    (133, 0x0078_EC81_51BD_5528),
    (131, 0x007B_B8CB_8ABB_32FB),
    (128, 0x0080_0000_0000_0000),
];

/// `1 / ln 2`, in units of 2^-63.
const SLOPE: u64 = 0xB8AA_3B29_5C17_F0BC;

/// Half of it, a fraction of two words.
const BEND: u64 = 0xB8AA_3B29_5C17_F0BC;

/// `(log2(1 + u) / u - SLOPE + BEND * u) / u^2` by u from -1/32 to 1/32, the signs left out. Error of the logarithm
/// relative to itself: 2^-47.
const REST: [u32; 6] = [0x7B1C_2771, 0x5C55_1D95, 0x49DD_AFD2, 0x3D8E_10FB, 0x34D2_5395, 0x2E3D_07F1];

/// ln 2, a fraction of two words.
const LN_2: u64 = 0xB172_17F7_D1CF_79AC;

/// A value that is not zero: `significand * 2^(exponent - 63)`, its leading bit the top one.
pub(super) struct Exponent {
    pub negative: bool,
    pub exponent: i32,
    pub significand: u64,
}

/// The natural logarithm.
pub fn ln(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    if x == 1.0 {
        return 0.0;
    }
    let log = log2(x);
    join(log.negative, log.exponent, mul(log.significand, LN_2))
}

/// The logarithm of `x` to a base: the quotient of their natural logarithms, each of the three a rounded f32.
pub fn log(x: f32, base: f32) -> f32 {
    ln(x) / ln(base)
}

/// The logarithm to base two of the absolute value of a finite number that is neither zero, one nor minus one.
pub(super) fn log2(x: f32) -> Exponent {
    let x = split(x);
    let (factor, log_factor) = FACTORS[(x.significand >> 26) as usize & 31];
    // In units of 2^-31: the significand has 24 bits and the factor 8.
    let product = (x.significand >> 8).wrapping_mul(factor);
    let whole = (i64::from(x.exponent) << 55) + log_factor;
    let near = log2_near_one(product);
    let (negative, magnitude, exponent) = if whole == 0 {
        (near.0, near.1, -5)
    } else {
        let part = (near.1 >> 13) as i64;
        let sum = if near.0 { whole - part } else { whole + part };
        (sum < 0, sum.unsigned_abs(), 8)
    };
    let zeros = magnitude.leading_zeros();
    Exponent { negative, exponent: exponent - zeros as i32, significand: magnitude << zeros }
}

/// The logarithm to base two of a number within 1/32 of one, given in units of 2^-31: its sign, and its absolute value
/// in units of 2^-68.
fn log2_near_one(x: u32) -> (bool, u64) {
    let negative = x < 1 << 31;
    // 32 times the distance from one, a fraction.
    let distance = x.abs_diff(1 << 31) << 6;
    // The terms of the series alternate above one and add up below it.
    let step = |c: u64, term: u64| if negative { c + (term >> 5) } else { c - (term >> 5) };
    let rest = REST.iter().rev().fold(0, |sum, c| step(u64::from(*c), u64::from(mul_high(distance, sum as u32))));
    let bend = step(BEND, mul_wide(distance, rest as u32));
    let slope = step(SLOPE, scale(bend, distance) >> 1);
    (negative, scale(slope, distance))
}
