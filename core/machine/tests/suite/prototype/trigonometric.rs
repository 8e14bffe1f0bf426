//! Sine, cosine and tangent of an angle in radians, of any size.

use super::division::*;
use super::ops::*;

/// An angle from 0 to 6433 as quarter turns and a rest in two floats, of magnitude π/4 at most: Cody's and Waite's
/// reduction.
pub fn turn_near(t: f32) -> (U, f32, f32) {
    let shifted = t * 0.63661975 + 12582912.0;
    let k = shifted - 12582912.0;
    // π/2 in four parts, the first three so short that their products are exact. So are the first two differences.
    let u = (t - k * 1.5703125) - k * 0.0004837513;
    let w = k * 7.5495336e-8;
    let v = u - w;
    let c = ((u - v) - w) - k * 2.563344e-12;
    let r = v + c;
    (bits(shifted) & 3, r, (v - r) + c)
}

/// A finite angle not below 2, by its pattern, as `turn_near` gives it: Payne's and Hanek's reduction. Of 2/π only the
/// 96 bits matter that neither make whole turns nor are too small.
pub fn turn_far(x: U) -> (U, f32, f32) {
    let m = ((x & 0x7fffff) | 0x800000) << 8;
    let from = (x >> 23) - 128;
    let n = from & 31;
    let odd = (from & 32) != 0;
    let late = (from & 64) != 0;
    // Four words of 2/π, of which 32 zero bits are the first.
    let a0 = select(odd, U(0xa2f9836e), U(0));
    let a1 = select(odd, U(0x4e441529), U(0xa2f9836e));
    let a2 = select(odd, U(0xfc2757d1), U(0x4e441529));
    let a3 = select(odd, U(0xf534ddc0), U(0xfc2757d1));
    let b0 = select(odd, U(0xfc2757d1), U(0x4e441529));
    let b1 = select(odd, U(0xf534ddc0), U(0xfc2757d1));
    let b2 = select(odd, U(0xdb629599), U(0xf534ddc0));
    let b3 = select(odd, U(0x3c439041), U(0xdb629599));
    let c0 = select(late, b0, a0);
    let c1 = select(late, b1, a1);
    let c2 = select(late, b2, a2);
    let c3 = select(late, b3, a3);
    // Shifted to the first bit that matters.
    let back = U(31) - n;
    let d0 = (c0 << n) | ((c1 >> 1) >> back);
    let d1 = (c1 << n) | ((c2 >> 1) >> back);
    let d2 = (c2 << n) | ((c3 >> 1) >> back);
    // The product: two bits of quarter turns, then a fraction of 62 bits.
    let p0 = m * d1;
    let low = p0 + mulhi(m, d2);
    let high = m * d0 + mulhi(m, d1) + flag(low < p0);
    // To the nearest quarter turn, a rest from -1/2 to 1/2.
    let f1 = (high << 2) | (low >> 30);
    let f0 = low << 2;
    let sign = unsigned(signed(f1) >> 31);
    let g1 = f1 ^ sign;
    let g0 = f0 ^ sign;
    // 32 bits of the rest times π/2, in two floats.
    let short = g1 == 0;
    let h1 = select(short, g0, g1);
    let h0 = select(short, U(0), g0);
    let up = clz(h1);
    let h = (h1 << up) | ((h0 >> 1) >> (U(31) - up));
    let y = mulhi(h, U(0xc90fdaa2));
    let unit = float(((U(96) - up - select(short, U(32), U(0))) << 23) | (sign & 0x80000000));
    ((high + 0x20000000) >> 30, u_to_f(y & 0xffffff00) * unit, u_to_f(y & 0xff) * unit)
}

/// The magnitude of a finite angle, by its pattern, as quarter turns and a rest.
pub fn turn(x: U) -> (U, f32, f32) {
    if x < 0x45c90fdb { turn_near(float(x)) } else { turn_far(x) }
}

/// The sine of `r + c`, r at most π/4 in magnitude and c a rounding error of it.
pub fn sine(r: f32, c: f32) -> f32 {
    // r + r^3 p(r^2), within 2^-28.
    let z = r * r;
    let p = -0.16666655 + z * (0.008332187 + z * -0.00019517897);
    r + (r * (z * p) + c * (1.0 - z * 0.5))
}

/// The cosine of `r + c`, r at most π/4 in magnitude and c a rounding error of it.
pub fn cosine(r: f32, c: f32) -> f32 {
    // 1 - r^2 / 2 + r^4 p(r^2), within 2^-33.
    let z = r * r;
    let p = 0.041666646 + z * (-0.001388731 + z * 2.4432327e-5);
    let h = z * 0.5;
    let w = 1.0 - h;
    w + (((1.0 - w) - h) + ((z * z) * p - r * c))
}

/// The sine.
/// Errs by 0.834 units in the last place at most, over all floats.
pub fn sin(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    let (q, r, c) = turn(ax);
    let y = bits(select((q & 1) != 0, cosine(r, c), sine(r, c))) ^ ((q >> 1) << 31) ^ (x & 0x80000000);
    // Below 2^-12 it is its argument.
    let result = select(ax < 0x39800000, x, y);
    float(select(ax >= 0x7f800000, U(0x7fc00000), result))
}

/// The cosine.
/// Errs by 0.830 units in the last place at most, over all floats.
pub fn cos(a: f32) -> f32 {
    let ax = bits(a) & 0x7fffffff;
    let (q, r, c) = turn(ax);
    let y = bits(select((q & 1) != 0, sine(r, c), cosine(r, c))) ^ (((q + 1) >> 1) << 31);
    float(select(ax >= 0x7f800000, U(0x7fc00000), y))
}

/// The tangent.
/// Errs by 1.294 units in the last place at most, over all floats.
pub fn tan(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    let (q, r, c) = turn(ax);
    // r + r^3 p(r^2), within 2^-29, as the sum t + d.
    let z = r * r;
    let s = 0.02128277 + z * (0.010837704 + z * (8.385929e-5 + z * 0.0043803686));
    let p = 0.3333335 + z * (0.13332672 + z * (0.054059446 + z * s));
    let v = r * (z * p);
    let w = v + c * (1.0 + (r + v) * (r + v));
    let t = r + w;
    let d = (r - t) + w;
    // In odd quarters -1 / (t + d): the upper bits of it, and the rest by what they leave of one.
    let g = inverse(t);
    let y = float(bits(g) & 0xfffff000);
    let u = float(bits(t) & 0xfffff000);
    let e = ((1.0 - y * u) - y * (t - u)) - y * d;
    let turned = y + e * g;
    let even = bits(t) ^ (x & 0x80000000);
    let odd = bits(turned) ^ (!x & 0x80000000);
    let result = select((q & 1) != 0, odd, even);
    float(select(ax >= 0x7f800000, U(0x7fc00000), select(ax < 0x39800000, x, result)))
}
