//! Conversions between f32 and the narrow floats, each as a word of its pattern. Integers only: nothing is flushed.

use super::ops::*;

/// The magnitude pattern of a float with `width` bits of significand, whose exponent is biased by 127 less `rebias`,
/// nearest to the magnitude pattern `x` of a finite f32, ties to even. What is too great gives a greater pattern.
pub fn narrow(x: U, width: U, rebias: U) -> U {
    let e = signed(x >> 23) - signed(rebias);
    let m = (x & 0x7fffff) | 0x800000;
    // Below the normal numbers the exponent stays and the significand goes down.
    let below = unsigned(imin(imax(I(1) - e, I(0)), signed(width) + 2));
    let shift = U(23) - width + below;
    let odd = (m >> shift) & 1;
    let kept = (m + ((U(1) << (shift - 1)) - 1 + odd)) >> shift;
    (unsigned(imax(e, I(1)) - 1) << width) + kept
}

/// The f32 of a magnitude pattern with `width` bits of significand, infinities and NaNs aside.
pub fn widen(x: U, width: U, rebias: U) -> U {
    let m = x << (U(23) - width);
    let unit = (rebias + 1) << 23;
    // Below the normal numbers the leading one is not implied: it is added, and taken away in floats.
    let low = bits(float(m + unit) - float(unit));
    select(m < 0x800000, low, m + (rebias << 23))
}

/// The f16 nearest to a float, ties to even. NaN gives `7fff`.
pub fn f32_to_f16(a: f32) -> U {
    let x = bits(a);
    let magnitude = x & 0x7fffffff;
    let word = umin(narrow(magnitude, U(10), U(112)), U(0x7c00)) | ((x >> 16) & 0x8000);
    select(magnitude > 0x7f800000, U(0x7fff), word)
}

/// The bf16 nearest to a float, ties to even. NaN gives `7fff`.
pub fn f32_to_bf16(a: f32) -> U {
    let x = bits(a);
    let word = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
    select((x & 0x7fffffff) > 0x7f800000, U(0x7fff), word)
}

/// The fp8 of the kind e4m3fn nearest to a float, ties to even. What is greater than 448, infinity too, gives 448; NaN
/// gives `7f`.
pub fn f32_to_e4m3(a: f32) -> U {
    let x = bits(a);
    let magnitude = x & 0x7fffffff;
    let word = umin(narrow(magnitude, U(3), U(120)), U(0x7e)) | ((x >> 24) & 0x80);
    select(magnitude > 0x7f800000, U(0x7f), word)
}

/// The fp8 of the kind e5m2 nearest to a float, ties to even. What is greater than 57344, infinity too, gives 57344;
/// NaN gives `7f`.
pub fn f32_to_e5m2(a: f32) -> U {
    let x = bits(a);
    let magnitude = x & 0x7fffffff;
    let word = umin(narrow(magnitude, U(2), U(112)), U(0x7b)) | ((x >> 24) & 0x80);
    select(magnitude > 0x7f800000, U(0x7f), word)
}

/// The float of an f16.
pub fn f16_to_f32(word: U) -> f32 {
    let x = word & 0x7fff;
    let finite = widen(x, U(10), U(112));
    let magnitude = select(x >= 0x7c00, (x << 13) + 0x70000000, finite);
    float(magnitude | ((word & 0x8000) << 16))
}

/// The float of a bf16.
pub fn bf16_to_f32(word: U) -> f32 {
    float(word << 16)
}

/// The float of an fp8 of the kind e4m3fn.
pub fn e4m3_to_f32(word: U) -> f32 {
    let x = word & 0x7f;
    let magnitude = select(x == 0x7f, U(0x7fc00000), widen(x, U(3), U(120)));
    float(magnitude | ((word & 0x80) << 24))
}

/// The float of an fp8 of the kind e5m2.
pub fn e5m2_to_f32(word: U) -> f32 {
    f16_to_f32((word & 0xff) << 8)
}
