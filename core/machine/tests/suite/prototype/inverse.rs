//! Arc sine, arc cosine, arc tangent, and the angle of a point.

use super::division::*;
use super::exponential::*;
use super::ops::*;
use super::root::*;

/// The square root of z, from 2^-60 to 1 or zero, in two floats.
pub fn root_and_rest(z: f32) -> (f32, f32) {
    let y = inverse_root(z);
    let s = z * y;
    let u = float(bits(s) & 0xfffff000);
    let v = s - u;
    let rest = ((z - u * u) - (u + u) * v) - v * v;
    (s, rest * (y * 0.5))
}

/// What arc sine and arc cosine share, for a magnitude t: whether it is above 1/2, and s and v whose sum is the arc sine
/// of t, if not, or else of the root of (1 - t) / 2.
pub fn arc_sine_parts(t: f32) -> (bool, f32, f32) {
    let far = t > 0.5;
    let z = select(far, (1.0 - t) * 0.5, t * t);
    let (root, rest) = root_and_rest(z);
    let s = select(far, root, t);
    // s + s^3 p(s^2), within 2^-27.
    let p = 0.16666752 + z * (0.074953094 + z * (0.045469154 + z * (0.024184741 + z * 0.0421584)));
    (far, s, s * (z * p) + select(far, rest, 0.0))
}

/// The arc sine.
/// Errs by 0.747 units in the last place at most, over all floats.
pub fn asin(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    let (far, s, v) = arc_sine_parts(float(umin(ax, U(0x3f800000))));
    // π/2 - 2 (s + v).
    let h = s + s;
    let t = 1.5707964 - h;
    let lost = (1.5707964 - t) - h;
    let turned = t + (lost - ((v + v) + 4.371139e-8));
    let y = bits(select(far, turned, s + v)) | (x & 0x80000000);
    // Below 2^-12 it is its argument.
    let result = select(ax < 0x39800000, x, y);
    float(select(ax > 0x3f800000, U(0x7fc00000), result))
}

/// The arc cosine.
/// Errs by 0.715 units in the last place at most, over all floats.
pub fn acos(a: f32) -> f32 {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    let (far, s, v) = arc_sine_parts(float(umin(ax, U(0x3f800000))));
    // Below 1/2: π/2 - (s + v), or plus. Above: 2 (s + v), or π - 2 (s + v).
    let negative = (x >> 31) != 0;
    let far_base = select(negative, 3.1415927, 0.0);
    let far_rest = select(negative, -8.742278e-8, 0.0);
    let base = select(far, far_base, 1.5707964);
    let base_rest = select(far, far_rest, -4.371139e-8);
    let factor = select(far, 2.0, -1.0);
    let signed_factor = select(negative, -factor, factor);
    let h = s * signed_factor;
    let t = base + h;
    let lost = (base - t) + h;
    let y = t + (lost + (v * signed_factor + base_rest));
    float(select(ax > 0x3f800000, U(0x7fc00000), bits(y)))
}

/// The angle of the point (x, y), from -π to π.
/// Errs by 0.79 units in the last place at most, over 10^8 pairs.
pub fn atan2(b: f32, a: f32) -> f32 {
    let y = bits(b);
    let x = bits(a);
    let ay = y & 0x7fffffff;
    let ax = x & 0x7fffffff;
    let swap = ay > ax;
    let n = umin(ax, ay);
    let d = umax(ax, ay);
    // The lesser by the greater coordinate, the latter from 1 to 2; where there is next to nothing, 2^-60.
    let nothing = (n == 0) | ((d == 0x7f800000) & (n != d));
    let apart = select(nothing, I(-400), exponent(n) - exponent(d));
    let kept = imax(apart, I(-60));
    let num = float(significand(n) + 0x3f000000 + (unsigned(kept) << 23));
    let den = float(significand(d) + 0x3f000000);
    // Above 1/2 the angle is π/4 more than that of (num - den) / (num + den). Both are exact in what follows.
    let far = num > den * 0.5;
    let sum = den + num;
    let p = select(far, num - den, num);
    let q = select(far, sum, den);
    let q_rest = select(far, (den - sum) + num, 0.0);
    let (t, t_rest) = quotient(p, q, q_rest);
    // t + t^3 p(t^2), within 2^-27.
    let z = t * t;
    let c = -0.33333233 + z * (0.19994168 + z * (-0.14174205 + z * (0.10155718 + z * -0.051247858)));
    let v = t * (z * c) + t_rest * (1.0 - z);
    // To so many eighths of a turn it is added, or taken from them.
    let negative = (x >> 31) != 0;
    let e0 = select(far, 1.0, 0.0);
    let e1 = select(swap, 2.0 - e0, e0);
    let eighths = select(negative, 4.0 - e1, e1);
    let back = select(swap, U(0x80000000), U(0)) ^ (x & 0x80000000);
    let h = float(bits(t) ^ back);
    let base = eighths * 0.785398;
    let r = base + h;
    let lost = (base - r) + h;
    let w = r + (lost + (eighths * 1.5695824e-7 + float(bits(v) ^ back)));
    // A slope below 2^-60 is itself the angle.
    let low = select(eighths == 0.0, apart - kept, I(0));
    let result = bits(scale(w, low)) | (y & 0x80000000);
    float(select((ax > 0x7f800000) | (ay > 0x7f800000), U(0x7fc00000), result))
}

/// The arc tangent.
/// Errs by 0.782 units in the last place at most, over all floats.
pub fn atan(a: f32) -> f32 {
    atan2(a, 1.0)
}
