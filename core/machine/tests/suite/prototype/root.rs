//! The square root, correctly rounded, and its reciprocal.

use super::division::*;
use super::ops::*;

/// `1 / sqrt(m)` for m from 1 to 4, to 2^-22.
pub fn inverse_root(m: f32) -> f32 {
    // The pattern halved and subtracted is off by 3.5 %; Newton's iteration makes that 2^-22 in three steps.
    let h = m * 0.5;
    let y0 = float(U(0x5f3759df) - (bits(m) >> 1));
    let y1 = y0 * (1.5 - (h * y0) * y0);
    let y2 = y1 * (1.5 - (h * y1) * y1);
    y2 + y2 * (0.5 - (h * y2) * y2)
}

/// The square root, correctly rounded.
pub fn sqrt(a: f32) -> f32 {
    let x = bits(a);
    let m = significand(x);
    let e = unsigned(exponent(x) + 127);
    // The significand from 1 to 4, its exponent even.
    let double = e & 1;
    let w = m << double;
    let f = float(m + 0x3f000000 + (double << 23));
    let y = inverse_root(f);
    let s0 = f * y;
    let s = signed(bits(s0 + (f - s0 * s0) * (y * 0.5)) - 0x3f000000);
    // The root of w 2^23 lies within half a unit of s where the remainder lies from 1 - s to s. It is exact in a word.
    let rest = signed(w << 23) - s * s;
    let up = select(rest > s, I(1), I(0));
    let root = s + select(rest <= -s, I(-1), up);
    let result = ((e - double) >> 1 << 23) + unsigned(root) - 0x800000;
    // Zeros and infinity are their own roots.
    let own = ((x & 0x7fffffff) == 0) | (x == 0x7f800000);
    let special = select(own, x, U(0x7fc00000));
    float(select((x - 1) < 0x7f7fffff, result, special))
}

/// The reciprocal of the square root.
/// Errs by 0.501 units in the last place at most, over all floats.
pub fn rsqrt(a: f32) -> f32 {
    let x = bits(a);
    let m = significand(x);
    let e = unsigned(exponent(x) + 127);
    let double = e & 1;
    let w = m << double;
    let f = float(m + 0x3f000000 + (double << 23));
    let guess = umin(umax(bits(inverse_root(f)), U(0x3f000000)), U(0x3f800000));
    let y = float(guess);
    let s = bits(f * y) - 0x3f000000;
    // How far s is from the root and y s from 1, exact in a word each, correct y. Their upper bits do.
    let root_rest = signed((w << 23) - s * s) >> 4;
    let unit_rest = signed((guess - 0x3e800000) * s) >> 4;
    let z = y - y * 1.1368684e-13 * (i_to_f(unit_rest) + i_to_f(root_rest) * (y * y));
    let result = bits(z) - ((e - double) >> 1 << 23) + 0x3f800000;
    let zero = select((x & 0x7fffffff) == 0, x | 0x7f800000, U(0x7fc00000));
    let special = select(x == 0x7f800000, U(0), zero);
    float(select((x - 1) < 0x7f7fffff, result, special))
}
