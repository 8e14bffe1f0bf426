//! 64-bit integers as pairs of words, the lower one first.

use super::division::*;
use super::ops::*;

/// The difference.
pub fn sub64(x0: U, x1: U, y0: U, y1: U) -> (U, U) {
    (x0 - y0, x1 - y1 - flag(x0 < y0))
}

/// The lower half of the product.
pub fn mul64(x0: U, x1: U, y0: U, y1: U) -> (U, U) {
    (x0 * y0, mulhi(x0, y0) + x0 * y1 + x1 * y0)
}

/// Shift left; the count is taken modulo 64.
pub fn shl64(x0: U, x1: U, count: U) -> (U, U) {
    let n = count & 31;
    let far = (count & 32) != 0;
    let z0 = x0 << n;
    let z1 = (x1 << n) | ((x0 >> 1) >> (U(31) - n));
    (select(far, U(0), z0), select(far, z0, z1))
}

/// Shift right with zeros; the count is taken modulo 64.
pub fn shr_u64(x0: U, x1: U, count: U) -> (U, U) {
    let n = count & 31;
    let far = (count & 32) != 0;
    let z1 = x1 >> n;
    let z0 = (x0 >> n) | ((x1 << 1) << (U(31) - n));
    (select(far, z1, z0), select(far, U(0), z1))
}

/// Whether the first unsigned number is less.
pub fn lt_u64(x0: U, x1: U, y0: U, y1: U) -> bool {
    (x1 < y1) | ((x1 == y1) & (x0 < y0))
}

/// The number of leading zeros, 64 for zero.
pub fn clz64(x0: U, x1: U) -> U {
    select(x1 == 0, clz(x0) + 32, clz(x1))
}

/// The quotient and the remainder of `u1 u0` by `v`, where u1 is less than v, so that the quotient is a word.
pub fn divide_short(u0: U, u1: U, v: U) -> (U, U) {
    // The divisor's leading bit goes to bit 31; then two digits of 16 bits, each guessed from the divisor's upper
    // half and at most two too great (Knuth's algorithm D).
    let up = clz(v);
    let d = v << up;
    let d1 = d >> 16;
    let d0 = d & 0xffff;
    let n1 = (u1 << up) | ((u0 >> 1) >> (U(31) - up));
    let n0 = u0 << up;
    let (q1, r1) = digit(n1, n0 >> 16, d, d1, d0);
    let (q0, r0) = digit(r1, n0 & 0xffff, d, d1, d0);
    ((q1 << 16) | q0, r0 >> up)
}

/// A digit of 16 bits of the quotient of `n` and the 16 bits `next` by `d = d1 d0`, and the remainder.
pub fn digit(n: U, next: U, d: U, d1: U, d0: U) -> (U, U) {
    let q = udiv(n, d1);
    let r = n - q * d1;
    let over = (q > 0xffff) | (q * d0 > ((r << 16) | next));
    let s = r + d1;
    let p = q - 1;
    let again = over & (s <= 0xffff) & ((p > 0xffff) | (p * d0 > ((s << 16) | next)));
    let digit = q - flag(over) - flag(again);
    (digit, ((n << 16) | next) - digit * d)
}

/// The quotient and the remainder of unsigned numbers. Division by zero gives the dividend and zero.
pub fn divide_u64(x0: U, x1: U, y0: U, y1: U) -> (U, U, U, U) {
    // A divisor of one word: its quotient's upper word first. One of two words: both are shortened until the divisor
    // is one word, and the quotient is one too great at most after it was made one less.
    let short = y1 == 0;
    let q1 = udiv(x1, y0);
    let up = clz(y1);
    let v1 = (y1 << up) | ((y0 >> 1) >> (U(31) - up));
    let n0 = select(short, x0, (x0 >> 1) | (x1 << 31));
    let n1 = select(short, x1 - q1 * y0, x1 >> 1);
    let (g, rest) = divide_short(n0, n1, select(short, y0, v1));
    let h = g >> (U(31) - up);
    let q = h - flag(h != 0);
    let (p0, p1) = mul64(q, U(0), y0, y1);
    let (r0, r1) = sub64(x0, x1, p0, p1);
    let more = !lt_u64(r0, r1, y0, y1);
    let (s0, s1) = sub64(r0, r1, y0, y1);
    let none = (y0 | y1) == 0;
    let long0 = select(more, s0, r0);
    let long1 = select(more, s1, r1);
    (
        select(none, x0, select(short, g, q + flag(more))),
        select(none, x1, select(short, q1, U(0))),
        select(none, U(0), select(short, rest, long0)),
        select(none, U(0), select(short, U(0), long1)),
    )
}

/// The quotient of unsigned numbers.
pub fn div_u64(x0: U, x1: U, y0: U, y1: U) -> (U, U) {
    let (q0, q1, _, _) = divide_u64(x0, x1, y0, y1);
    (q0, q1)
}

/// The remainder of unsigned numbers.
pub fn rem_u64(x0: U, x1: U, y0: U, y1: U) -> (U, U) {
    let (_, _, r0, r1) = divide_u64(x0, x1, y0, y1);
    (r0, r1)
}

/// The negation where the word `sign` is all ones, the number itself where it is zero.
pub fn negate_if(x0: U, x1: U, sign: U) -> (U, U) {
    sub64(x0 ^ sign, x1 ^ sign, sign, sign)
}

/// The quotient of signed numbers, towards zero. Division by zero gives the dividend.
pub fn div_i64(x0: U, x1: U, y0: U, y1: U) -> (U, U) {
    let sx = unsigned(signed(x1) >> 31);
    let sy = unsigned(signed(y1) >> 31);
    let (a0, a1) = negate_if(x0, x1, sx);
    let (b0, b1) = negate_if(y0, y1, sy);
    let (q0, q1, _, _) = divide_u64(a0, a1, b0, b1);
    negate_if(q0, q1, sx ^ sy)
}

/// The remainder of signed numbers, with the dividend's sign. Division by zero gives zero.
pub fn rem_i64(x0: U, x1: U, y0: U, y1: U) -> (U, U) {
    let sx = unsigned(signed(x1) >> 31);
    let sy = unsigned(signed(y1) >> 31);
    let (a0, a1) = negate_if(x0, x1, sx);
    let (b0, b1) = negate_if(y0, y1, sy);
    let (_, _, r0, r1) = divide_u64(a0, a1, b0, b1);
    negate_if(r0, r1, sx)
}

/// The nearest float, ties to even.
pub fn u64_to_f32(x0: U, x1: U) -> f32 {
    // 24 bits, a half bit and a sticky bit.
    let n = clz64(x0, x1);
    let (z0, z1) = shl64(x0, x1, n);
    let sig = (z1 >> 6) | flag(((z1 << 26) | z0) != 0);
    let result = round_to(I(190) - signed(n), sig, U(23), I(255));
    float(select(z1 == 0, U(0), result))
}

/// The nearest float, ties to even.
pub fn i64_to_f32(x0: U, x1: U) -> f32 {
    let sign = unsigned(signed(x1) >> 31);
    let (a0, a1) = negate_if(x0, x1, sign);
    float(bits(u64_to_f32(a0, a1)) | (sign & 0x80000000))
}

/// The magnitude of a float as an integer, towards zero, where it is below 2^64.
pub fn magnitude64(x: U) -> (U, U) {
    let e = (x >> 23) & 0xff;
    let m = ((x & 0x7fffff) | 0x800000) << 8;
    // The significand stands at the top and goes down.
    let (z0, z1) = shr_u64(U(0), m, U(190) - e);
    let none = e < 127;
    (select(none, U(0), z0), select(none, U(0), z1))
}

/// The unsigned integer next to a float towards zero; beyond the range its end, for NaN zero.
pub fn f32_to_u64(a: f32) -> (U, U) {
    let x = bits(a);
    let (z0, z1) = magnitude64(x);
    let zero = (x >= 0x80000000) | ((x & 0x7fffffff) > 0x7f800000);
    let full = x >= 0x5f800000;
    let ones = select(full, U(0xffffffff), U(0));
    (select(zero, U(0), z0 | ones), select(zero, U(0), z1 | ones))
}

/// The signed integer next to a float towards zero; beyond the range its end, for NaN zero.
pub fn f32_to_i64(a: f32) -> (U, U) {
    let x = bits(a);
    let ax = x & 0x7fffffff;
    let sign = unsigned(signed(x) >> 31);
    let (a0, a1) = magnitude64(x);
    let (z0, z1) = negate_if(a0, a1, sign);
    let full = ax >= 0x5f000000;
    let none = ax > 0x7f800000;
    let end0 = select(full, !sign, z0);
    let end1 = select(full, sign ^ 0x7fffffff, z1);
    (select(none, U(0), end0), select(none, U(0), end1))
}
