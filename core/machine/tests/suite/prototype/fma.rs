//! The fused product and sum `a b + c`, rounded once: of f32, of f16 and of bf16.

use super::convert::*;
use super::division::*;
use super::ops::*;

/// The answer where a term is infinite or no number, else `ordinary`.
pub fn fused_special(x: U, y: U, z: U, ordinary: U) -> U {
    let sign = (x ^ y) & 0x80000000;
    let ax = x & 0x7fffffff;
    let ay = y & 0x7fffffff;
    let az = z & 0x7fffffff;
    let product = (ax == 0x7f800000) | (ay == 0x7f800000);
    let clash = (az == 0x7f800000) & (((x ^ y ^ z) >> 31) != 0);
    let invalid = product & ((ax == 0) | (ay == 0) | clash);
    let none = (ax > 0x7f800000) | (ay > 0x7f800000) | (az > 0x7f800000);
    let infinite = select(az == 0x7f800000, z, ordinary);
    let answer = select(product, sign | 0x7f800000, infinite);
    select(invalid | none, U(0x7fc00000), answer)
}

/// Whether factors are zero or from 2^-37 to 2^38, and an addend zero or from 2^-98 to 2^121: then nothing that rounding
/// loses of product and sum is denormal.
pub fn is_near(a: f32, b: f32, c: f32) -> bool {
    let ax = bits(a) & 0x7fffffff;
    let ay = bits(b) & 0x7fffffff;
    let az = bits(c) & 0x7fffffff;
    let x = ((ax - 0x2d000000) < 0x25800000) | (ax == 0);
    let y = ((ay - 0x2d000000) < 0x25800000) | (ay == 0);
    let z = ((az - 0xe800000) < 0x6d800000) | (az == 0);
    x & y & z
}

/// The sum, its last bit made odd where it is not exact: a sticky bit, so that what is rounded next is rounded once. What
/// the sum loses is not denormal.
pub fn sum_to_odd(p: f32, c: f32) -> f32 {
    let s = p + c;
    let v = s - p;
    let lost = bits((p - (s - v)) + (c - v));
    let t = bits(s);
    let inexact = ((lost << 1) != 0) & ((t & 1) == 0) & ((t & 0x7f800000) != 0x7f800000);
    let toward = select(((lost ^ t) >> 31) == 0, U(1), U(0xffffffff));
    float(t + select(inexact, toward, U(0)))
}

/// `a b + c`, correctly rounded, of near numbers: by what rounding loses (Boldo and Melquiond).
pub fn fma_near(a: f32, b: f32, c: f32) -> f32 {
    // The product is p + e, by halves of the factors.
    let a1 = float(bits(a) & 0xfffff000);
    let b1 = float(bits(b) & 0xfffff000);
    let a0 = a - a1;
    let b0 = b - b1;
    let p = a * b;
    let e = (((a1 * b1 - p) + a1 * b0) + a0 * b1) + a0 * b0;
    // The whole is v + (t + u).
    let s = c + e;
    let d = s - c;
    let t = (c - (s - d)) + (e - d);
    let v = p + s;
    let f = v - p;
    let u = (p - (v - f)) + (s - f);
    // The last sum but one is made odd where it is not exact, so that only the last one rounds.
    let z = bits(v + sum_to_odd(t, u));
    let zero = bits(p) & bits(c) & 0x80000000;
    float(select((z << 1) == 0, zero, z))
}

/// `a b + c`, correctly rounded.
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    if is_near(a, b, c) { fma_near(a, b, c) } else { fma_far(a, b, c) }
}

/// `a b + c`, correctly rounded, in integers.
pub fn fma_far(a: f32, b: f32, c: f32) -> f32 {
    let x = bits(a);
    let y = bits(b);
    let z = bits(c);
    let sign = (x ^ y) & 0x80000000;
    let opposite = (x ^ y ^ z) >> 31;
    let ma = significand(x) << 7;
    let mb = significand(y) << 7;
    let mc = significand(z) << 6;
    // Product and addend as 64-bit integers below 2^62, with their exponents; where there is nothing, a low one.
    let p1 = mulhi(ma, mb);
    let p0 = ma * mb;
    let ep = select(p1 == 0, I(-4096), exponent(x) + exponent(y) - 126);
    let ec = select(mc == 0, I(-4096), exponent(z));
    let swap = ep < ec;
    let e = imax(ep, ec);
    let far = umin(unsigned(e - imin(ep, ec)), U(63));
    let big1 = select(swap, mc, p1);
    let big0 = select(swap, U(0), p0);
    let low1 = select(swap, p1, mc);
    let low0 = select(swap, p0, U(0));
    // The lesser one goes down; that anything fell off is kept in its last bit.
    let wide = far > 31;
    let moved = low1 >> far;
    let off1 = (low1 << 1) << (U(31) - far);
    let off0 = (low0 << 1) << (U(31) - far);
    let small1 = select(wide, U(0), moved);
    let kept = select(wide, moved, (low0 >> far) | off1);
    let small0 = kept | flag(select(wide, off1 | low0, off0) != 0);
    // The sum or the difference, and its magnitude.
    let sum0 = big0 + small0;
    let sum1 = big1 + small1 + flag(sum0 < big0);
    let difference0 = big0 - small0;
    let difference1 = big1 - small1 - flag(big0 < small0);
    let t0 = select(opposite != 0, difference0, sum0);
    let t1 = select(opposite != 0, difference1, sum1);
    let negative = t1 >> 31;
    let r0 = select(negative != 0, -t0, t0);
    let r1 = select(negative != 0, !t1 + flag(t0 == 0), t1);
    // Its leading bit goes to bit 63; 24 bits, a half bit and a sticky bit remain.
    let high = r1 == 0;
    let n1 = select(high, r0, r1);
    let n0 = select(high, U(0), r0);
    let up = clz(n1);
    let s1 = (n1 << up) | ((n0 >> 1) >> (U(31) - up));
    let sig = (s1 >> 6) | flag(((s1 << 26) | (n0 << up)) != 0);
    let place = e + 2 - signed(up + select(high, U(32), U(0)));
    let flip = (opposite & select(swap, U(1), U(0))) ^ negative;
    let result = (sign ^ (flip << 31)) | round_to(place, sig, U(23), I(255));
    let nothing = select(opposite != 0, U(0), sign);
    float(fused_special(x, y, z, select(n1 == 0, nothing, result)))
}

/// `a b + c` of f16 values, rounded once to f16. The product is exact.
pub fn fma_f16(a: f32, b: f32, c: f32) -> f32 {
    f16_to_f32(f32_to_f16(sum_to_odd(a * b, c)))
}

/// `a b + c` of bf16 values, rounded once to bf16.
pub fn fma_bf16(a: f32, b: f32, c: f32) -> f32 {
    if is_near(a, b, c) { fma_bf16_near(a, b, c) } else { fma_bf16_far(a, b, c) }
}

/// `a b + c` of bf16 values, rounded once to bf16, of near numbers.
pub fn fma_bf16_near(a: f32, b: f32, c: f32) -> f32 {
    bf16_to_f32(f32_to_bf16(sum_to_odd(a * b, c)))
}

/// `a b + c` of bf16 values, rounded once to bf16, in integers.
pub fn fma_bf16_far(a: f32, b: f32, c: f32) -> f32 {
    let x = bits(a);
    let y = bits(b);
    let z = bits(c);
    let sign = (x ^ y) & 0x80000000;
    let opposite = (x ^ y ^ z) >> 31;
    // Product and addend as integers below 2^30, with their exponents.
    let p = (significand(x) >> 9) * (significand(y) >> 9);
    let m = significand(z) << 6;
    let ep = select(p == 0, I(-4096), exponent(x) + exponent(y) - 126);
    let ec = select(m == 0, I(-4096), exponent(z));
    let swap = ep < ec;
    let e = imax(ep, ec);
    let far = umin(unsigned(e - imin(ep, ec)), U(31));
    let big = select(swap, m, p);
    let low = select(swap, p, m);
    let kept = low >> far;
    let small = kept | flag((kept << far) != low);
    let t = select(opposite != 0, big - small, big + small);
    let negative = t >> 31;
    let r = select(negative != 0, -t, t);
    let up = clz(r);
    // Eight bits, a half bit and a sticky bit.
    let s = r << up;
    let sig = (s >> 22) | flag((s & 0x3fffff) != 0);
    let magnitude = round_to(e + 2 - signed(up), sig, U(7), I(255)) << 16;
    let flip = (opposite & select(swap, U(1), U(0))) ^ negative;
    let result = (sign ^ (flip << 31)) | magnitude;
    let nothing = select(opposite != 0, U(0), sign);
    float(fused_special(x, y, z, select(r == 0, nothing, result)))
}
