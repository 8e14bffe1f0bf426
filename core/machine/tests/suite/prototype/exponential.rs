//! Powers of e and of two, and the hyperbolic tangent.

use super::division::*;
use super::ops::*;

/// `m 2^k` for a normal positive m from 1/2 to 2, also where that is below the normal numbers or infinite.
pub fn scale(m: f32, k: I) -> f32 {
    let x = bits(m);
    let e = signed(x >> 23) + k;
    let shift = unsigned(imin(imax(I(1) - e, I(1)), I(25)));
    let low = (((x & 0x7fffff) | 0x800000) + (U(1) << (shift - 1))) >> shift;
    let normal = select(e >= 255, U(0x7f800000), x + (unsigned(k) << 23));
    float(select(e <= 0, low, normal))
}

/// e to the power of a number of magnitude 105 at most.
pub fn exp_within(t: f32) -> f32 {
    // t = k ln 2 + r + c, r at most 0.35 in magnitude and c what rounding took from it. The first product is exact.
    let shifted = t * 1.442695 + 12582912.0;
    let k = shifted - 12582912.0;
    let h = t - k * 0.69314575;
    let w = k * 1.4286068e-6;
    let r = h - w;
    let c = (h - r) - w;
    // e^r = 1 + r + r^2 p(r), within 2^-28.
    let p = 0.49999994 + r * (0.16666517 + r * (0.041668106 + r * (0.00836914 + r * 0.0013836744)));
    let m = 1.0 + (r + ((r * r) * p + c));
    scale(m, signed(bits(shifted) - 0x4b400000))
}

/// e to the power of x.
/// Errs by 0.891 units in the last place at most, over all floats.
pub fn exp(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    // Beyond 105 the result is zero or infinite, as it is at 105.
    let t = float(umin(ax, U(0x42d20000)) | (x & 0x80000000));
    float(select(ax > 0x7f800000, U(0x7fc00000), bits(exp_within(t))))
}

/// 2 to the power of `r + c`, r at most 1/2 in magnitude and c a rounding error of it.
pub fn power_of_two(r: f32, c: f32) -> f32 {
    // 1 + r (355/512 + p(r)), within 2^-28. The product with the upper bits of r is exact, and so is what its sum with
    // one loses.
    let u = float(bits(r) & 0xfffffe00);
    let v = u * 0.693359375;
    let s = 1.0 + v;
    let q = 0.24022652 + r * (0.055503212 + r * (0.00961814 + r * (0.0013401537 + r * 0.00015397118)));
    let p = r * (-0.00021215981 + r * q);
    s + (((1.0 - s) + v) + (((r - u) + c) * 0.693359375 + p))
}

/// 2 to the power of x.
/// Errs by 0.781 units in the last place at most, over all floats.
pub fn exp2(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    // Beyond 160 the result is zero or infinite, as it is at 160.
    let t = float(umin(ax, U(0x43200000)) | (x & 0x80000000));
    let shifted = t + 12582912.0;
    let r = t - (shifted - 12582912.0);
    let m = power_of_two(r, 0.0);
    let y = scale(m, signed(bits(shifted) - 0x4b400000));
    float(select(ax > 0x7f800000, U(0x7fc00000), bits(y)))
}

/// The hyperbolic tangent.
/// Errs by 1.625 units in the last place at most, over all floats.
pub fn tanh(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    // Beyond 10 it is one.
    let t = float(umin(ax, U(0x41200000)));
    // Near zero a polynomial in t^2, within 2^-29; elsewhere 1 - 2 / (e^2t + 1).
    let z = t * t;
    let p = -0.33333313 + z * (0.13332437 + z * (-0.053835757 + z * (0.021000978 + z * -0.0061719175)));
    let near = t + t * (z * p);
    let d = exp_within(t + t) + 1.0;
    let far = 1.0 - 2.0 * inverse(d);
    let y = bits(select(ax < 0x3f0f5c29, near, far));
    // Below 2^-12 it is its argument.
    let magnitude = select(ax < 0x39800000, ax, y);
    let result = magnitude | (x & 0x80000000);
    float(select(ax > 0x7f800000, U(0x7fc00000), result))
}
