//! Powers of any base.

use super::division::*;
use super::exponential::*;
use super::ops::*;

/// The logarithm to base 2 of a positive finite number, in two floats, to 2^-32 of itself. The first has 12 bits.
pub fn log2_pair(x: U) -> (f32, f32) {
    let w = significand(x);
    let upper = flag(w > 0xb504f3);
    let k = i_to_f(exponent(x) - 127 + signed(upper));
    let m = float(w + 0x3f000000 - (upper << 23));
    // A short factor near 1 / m brings it to 1 + f + g, f at most 0.077 in magnitude. Its logarithm is known: a and b.
    let s1 = w >= 0x888888;
    let s2 = w >= 0x9d89d8;
    let s3 = w > 0xb504f3;
    let s4 = w >= 0xd20d20;
    let s5 = w >= 0xf0f0f0;
    let c = select(s5, 1.0, select(s4, 1.125, select(s3, 1.3125, select(s2, 0.75, select(s1, 0.875, 1.0)))));
    let a0 = select(s3, -0.3923187255859375, select(s2, 0.4150238037109375, select(s1, 0.1926422119140625, 0.0)));
    let b0 = select(s3, 1.3028072e-6, select(s2, 1.3695568e-5, select(s1, 2.8660284e-6, 0.0)));
    let a = select(s5, 0.0, select(s4, -0.1699371337890625, a0));
    let b = select(s5, 0.0, select(s4, 1.21323465e-5, b0));
    let m1 = float(bits(m) & 0xfffff000);
    let f1 = c * m1 - 1.0;
    let f0 = c * (m - m1);
    let f = f1 + f0;
    let g = (f1 - f) + f0;
    // log(1 + f) = f - f^2 / 2 + f^3 p(f), within 2^-34; the first two terms exactly.
    let u = float(bits(f) & 0xfffff000);
    let v = f - u;
    let h1 = (u * 0.5) * u;
    let h0 = ((f + u) * 0.5) * v;
    let p = 0.33333334 + f * (-0.24999759 + f * (0.19999056 + f * (-0.16780804 + f * 0.1449509)));
    let d = f - h1;
    let e = (f - d) - h1;
    let rest = e + ((g - g * f) - h0 + (f * f) * (f * p));
    // Times 1 / log 2, in two parts; and the sum with k and the factor's logarithm.
    let l = d + rest;
    let l1 = float(bits(l) & 0xfffff000);
    let l0 = (d - l1) + rest;
    let t1 = l1 * 1.4423828;
    let t0 = l0 * 1.4423828 + l * 0.0003122284;
    let i = k + a;
    let r = i + t1;
    let r0 = ((i - r) + t1) + (b + t0);
    let y1 = float(bits(r + r0) & 0xfffff000);
    (y1, (r - y1) + r0)
}

/// x to the power of y.
/// Errs by 0.84 units in the last place at most, over 10^8 pairs; the special cases are C99's.
pub fn pow(a: f32, b: f32) -> f32 {
    let x = bits(a);
    let y = bits(b);
    let ax = x & 0x7fffffff;
    let ay = y & 0x7fffffff;
    let negative = (x >> 31) != 0;
    let down = (y >> 31) != 0;
    // Above 2^34 an exponent does what 2^34 does.
    let t = float(umin(ay, U(0x50800000)) | (y & 0x80000000));
    let (g1, g0) = log2_pair(ax);
    let t1 = float(bits(t) & 0xfffff000);
    let p1 = t1 * g1;
    let p0 = (t - t1) * g1 + t * g0;
    // Beyond 200 the power is zero or infinite, as it is at 200.
    let p = p1 + p0;
    let beyond = (bits(p) & 0x7fffffff) > 0x43480000;
    let end = float((bits(p) & 0x80000000) | 0x43480000);
    let u1 = select(beyond, end, p1);
    let u0 = select(beyond, 0.0, p0);
    let shifted = (u1 + u0) + 12582912.0;
    let q = u1 - (shifted - 12582912.0);
    let r = q + u0;
    let m = power_of_two(r, (q - r) + u0);
    let z = bits(scale(m, signed(bits(shifted) - 0x4b400000)));
    // Whether y is an integer, and odd.
    let e = ay >> 23;
    let places = umin(unsigned(imax(I(150) - signed(e), I(0))), U(24));
    let digits = (ay & 0x7fffff) | 0x800000;
    let integer = ((digits >> places) << places) == digits;
    let odd = integer & (((digits >> places) & 1) != 0) & (e <= 150);
    let sign = select(odd, x & 0x80000000, U(0));
    // Zero and infinity; a root of a negative number; what is one whatever the other is.
    let zero = ax == 0;
    let infinite = ax == 0x7f800000;
    let edge = select(zero ^ down, U(0), U(0x7f800000));
    let magnitude = select(zero | infinite, edge, z);
    let invalid = negative & !integer & !zero & !infinite;
    let none = invalid | (ax > 0x7f800000) | (ay > 0x7f800000);
    let result = select(none, U(0x7fc00000), sign | magnitude);
    float(select((ay == 0) | (x == 0x3f800000), U(0x3f800000), result))
}
