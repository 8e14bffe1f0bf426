//! Logarithms, natural and to base 2.

use super::division::*;
use super::ops::*;

/// The exponent k, as a float, and f: the positive finite x is `2^k (1 + f)`, and f lies between -0.293 and 0.415.
pub fn exponent_and_rest(x: U) -> (f32, f32) {
    let m = significand(x);
    let upper = flag(m > 0xb504f3);
    let k = i_to_f(exponent(x) - 127 + signed(upper));
    (k, float(m + 0x3f000000 - (upper << 23)) - 1.0)
}

/// `(log(1 + f) - f + f^2 / 2) / f^2` for such an f.
pub fn logarithm_rest(f: f32) -> f32 {
    // Within 2^-30 of the logarithm.
    let s = 0.1422077 + f * (-0.12410207 + f * (0.11883846 + f * (-0.116444476 + f * 0.067165725)));
    f * (0.33333313 + f * (-0.25000012 + f * (0.20002055 + f * (-0.166678 + f * s))))
}

/// The logarithm of what has an ordinary one is `y`; those of the others.
pub fn logarithm_special(x: U, y: f32) -> f32 {
    let zero = select((x & 0x7fffffff) == 0, U(0xff800000), U(0x7fc00000));
    let special = select(x == 0x7f800000, x, zero);
    float(select((x - 1) < 0x7f7fffff, bits(y), special))
}

/// The natural logarithm.
/// Errs by 0.801 units in the last place at most, over all floats.
pub fn log(a: f32) -> f32 {
    let x = bits(a);
    let (k, f) = exponent_and_rest(x);
    let h = (f * 0.5) * f;
    let r = (f * f) * logarithm_rest(f);
    // k log 2 + f, and what the sum loses; the product is exact.
    let u = k * 0.69314575;
    let s = u + f;
    let lost = (u - s) + f;
    let y = s + (lost - (h - (r + k * 1.4286068e-6)));
    logarithm_special(x, y)
}

/// The logarithm to base 2.
/// Errs by 0.796 units in the last place at most, over all floats.
pub fn log2(a: f32) -> f32 {
    let x = bits(a);
    let (k, f) = exponent_and_rest(x);
    let h = (f * 0.5) * f;
    let r = (f * f) * logarithm_rest(f);
    // The upper bits of f - f^2 / 2, and the rest of the logarithm; times 1 / log 2, itself in two parts.
    let u = float(bits(f - h) & 0xfffff000);
    let v = ((f - u) - h) + r;
    let w = u * 1.4428711;
    let s = k + w;
    let lost = (k - s) + w;
    let y = s + (lost + ((u + v) * -0.00017605285 + v * 1.4428711));
    logarithm_special(x, y)
}
