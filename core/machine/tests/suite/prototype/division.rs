//! Division: the quotient of two floats, correctly rounded, without a division.

use super::ops::*;

/// The significand of a number, its leading bit at bit 23, also when the number is below the normal ones; zero of zero.
pub fn significand(x: U) -> U {
    let m = x & 0x7fffff;
    let normal = (x & 0x7f800000) != 0;
    let shift = select(normal, U(0), clz(m) - 8);
    select(normal, m | 0x800000, m << shift)
}

/// The biased exponent that goes with `significand`.
pub fn exponent(x: U) -> I {
    let e = (x >> 23) & 0xff;
    let low = U(9) - clz(x & 0x7fffff);
    signed(select(e == 0, low, e))
}

/// Rounds to nearest, ties to even, and packs: the magnitude pattern of a float with `width` bits of significand whose
/// infinity has the exponent `top`. `sig` has its leading bit at bit `width + 2`, below it the bits to keep, a half bit,
/// and a bit that tells whether anything is below; `e` is the biased exponent of the leading bit, of any size.
pub fn round_to(e: I, sig: U, width: U, top: I) -> U {
    let below = unsigned(imin(imax(I(1) - e, I(0)), I(26)));
    let kept = sig >> below;
    let s = kept | flag((kept << below) != sig);
    // Up where the half bit is set, and the bit below or the one above it.
    let up = (U(0xc8) >> (s & 7)) & 1;
    let magnitude = (unsigned(imax(e, I(1)) - 1) << width) + (s >> 2) + up;
    select(e >= top, unsigned(top) << width, magnitude)
}

/// `1 / b` for b from 1 to 2, to 2^-22.
pub fn reciprocal(b: f32) -> f32 {
    // A parabola that is off by 1 % at most, then Newton's iteration twice.
    let r0 = 2.1212122 - b * (1.4545455 - b * 0.32323232);
    let r1 = r0 * (2.0 - b * r0);
    r1 + r1 * (1.0 - b * r1)
}

/// `1 / b` for b from 2^-60 to 2^60, to 2^-22.
pub fn inverse(b: f32) -> f32 {
    // The pattern negated is off by 12 %; Newton's iteration, its first step evened out, makes that 2^-22 in three.
    let r0 = float(U(0x7ef311c7) - bits(b));
    let r1 = r0 * (2.0 - b * r0);
    let r2 = r1 * (2.0 - b * r1);
    r2 + r2 * (1.0 - b * r2)
}

/// `n / (d + c)` in two floats, c a rounding error of d and d of moderate size.
pub fn quotient(n: f32, d: f32, c: f32) -> (f32, f32) {
    // The upper bits of a guess, and the rest by the remainder, whose first two differences are exact.
    let g = inverse(d);
    let q = float(bits(n * g) & 0xfffff000);
    let u = float(bits(d) & 0xfffff000);
    let rest = (((n - q * u) - q * (d - u)) - q * c) * g;
    let t = q + rest;
    (t, (q - t) + rest)
}

/// The quotient of `n` by `d` times 2^23, a word from 2^23 to 2^24, and what decides its rounding: 0 if nothing remains,
/// 1 if less than half of the divisor, 3 if more; half never does. Both are significands, `n` doubled if it was less.
pub fn divide_significands(n: U, d: U, less: U) -> (U, U) {
    let r = reciprocal(float(d + 0x3f000000));
    let guess = float((n >> less) + (less << 23) + 0x3f000000) * r;
    let q0 = bits(guess) - 0x3f000000;
    // The remainder of the guess is exact in a word, since the guess is off by a few units at most.
    let rest0 = signed((n << 23) - q0 * d);
    let off = bits(i_to_f(rest0) * r * 1.1920929e-7 + 12582912.0) - 0x4b400000;
    let q1 = q0 + off;
    let rest1 = signed((n << 23) - q1 * d);
    let over = rest1 < 0;
    let rest = unsigned(rest1) + select(over, d, U(0));
    (q1 - flag(over), select(rest + rest > d, U(3), flag(rest != 0)))
}

/// `a / b`, correctly rounded, for normal numbers whose quotient is one.
pub fn div_near(x: U, y: U) -> f32 {
    let ma = (x & 0x7fffff) | 0x800000;
    let mb = (y & 0x7fffff) | 0x800000;
    let less = flag(ma < mb);
    let (q, rest) = divide_significands(ma << less, mb, less);
    let e = ((x >> 23) & 0xff) - ((y >> 23) & 0xff) + 126 - less;
    float(((x ^ y) & 0x80000000) | ((e << 23) + q + (rest >> 1)))
}

/// `a / b`, correctly rounded, for all numbers.
pub fn div_far(x: U, y: U) -> f32 {
    let sign = (x ^ y) & 0x80000000;
    let ax = x & 0x7fffffff;
    let ay = y & 0x7fffffff;
    let ma = significand(ax);
    let mb = significand(ay);
    let less = flag(ma < mb);
    let (q, rest) = divide_significands(ma << less, mb, less);
    let e = exponent(ax) - exponent(ay) + 127 - signed(less);
    let normal = sign | round_to(e, (q << 2) + rest, U(23), I(255));
    // Infinity over a number, and a number over zero; zero over a number, and a number over infinity; and what has no
    // answer.
    let infinite = (ax == 0x7f800000) | (ay == 0);
    let zero = (ax == 0) | (ay == 0x7f800000);
    let invalid = (infinite & zero) | (ax > 0x7f800000) | (ay > 0x7f800000);
    let special = select(infinite, sign | 0x7f800000, select(zero, sign, normal));
    float(select(invalid, U(0x7fc00000), special))
}

/// `a / b`, correctly rounded.
pub fn div(a: f32, b: f32) -> f32 {
    let x = bits(a);
    let y = bits(b);
    let ex = (x >> 23) & 0xff;
    let ey = (y >> 23) & 0xff;
    let normal = ((ex - 1) < 254) & ((ey - 1) < 254);
    // The quotient's biased exponent is this difference with 127 added, or one less.
    if normal & ((ex - ey + 125) < 252) { div_near(x, y) } else { div_far(x, y) }
}
