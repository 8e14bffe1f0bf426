//! Floats taken apart and put together.

/// The absolute value of a finite float that is not zero: `significand * 2^(exponent - 31)`.
#[derive(Clone, Copy)]
pub(super) struct Magnitude {
    /// The exponent of the leading bit.
    pub exponent: i32,
    /// The leading bit is the top one; the lower 8 bits are zero.
    pub significand: u32,
}

/// Half of what one unit of a float's fraction is in a significand of 64 bits.
pub(super) const MIDDLE: u64 = 1 << 39;

/// Takes a finite float apart that is not zero.
pub(super) fn split(value: f32) -> Magnitude {
    let bits = value.to_bits() & 0x7FFF_FFFF;
    let exponent = (bits >> 23) as i32 - 127;
    if exponent > -127 {
        Magnitude { exponent, significand: (bits << 8) | 0x8000_0000 }
    } else {
        // A denormal value: bits * 2^-149.
        let zeros = bits.leading_zeros();
        Magnitude { exponent: -118 - zeros as i32, significand: bits << zeros }
    }
}

/// The float nearest to `significand * 2^(exponent - 63)`, ties to even.
pub(super) fn join(negative: bool, exponent: i32, significand: u64) -> f32 {
    let sign = u32::from(negative) << 31;
    if significand == 0 {
        return f32::from_bits(sign);
    }
    let zeros = significand.leading_zeros();
    let significand = significand << zeros;
    let exponent = exponent - zeros as i32;
    if exponent > 127 {
        return f32::from_bits(sign | 0x7F80_0000);
    }
    // Below the least normal exponent the leading bit moves down into the fraction; a lost bit leaves a trace.
    let surplus = (-126 - exponent).clamp(0, 63);
    let shifted = significand >> surplus;
    let lost = u64::from(shifted << surplus != significand);
    let biased = (exponent + 127).max(1) as u32;
    let kept = (shifted >> 40) as u32;
    let dropped = (shifted & (MIDDLE * 2 - 1)) | lost;
    let up = dropped > MIDDLE || (dropped == MIDDLE && kept & 1 == 1);
    // The leading bit of a normal value adds one to the exponent field, and so does a carry out of the fraction.
    f32::from_bits(sign | (((biased - 1) << 23) + kept + u32::from(up)))
}
