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

#[cfg(test)]
mod tests {
    use super::{join, split};

    #[test]
    fn parts_make_the_float_again() {
        for bits in (1..0x7F80_0000u32).step_by(4099) {
            let parts = split(f32::from_bits(bits));
            assert!(parts.significand >> 31 == 1);
            assert_eq!(join(true, parts.exponent, u64::from(parts.significand) << 32).to_bits(), bits | 1 << 31);
        }
    }

    #[test]
    fn joining_rounds_once() {
        // A significand of 53 bits is a double, whose conversion rounds in the same way.
        for step in 0..200_000u64 {
            let significand = step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11 << (step % 12);
            let exponent = (step % 300) as i32 - 160;
            let exact = significand as f64 * 2f64.powi(exponent + 60) * 2f64.powi(-123);
            assert_eq!(join(false, exponent, significand), exact as f32, "{significand:#x} * 2^({exponent} - 63)");
        }
    }

    #[test]
    fn ties_go_to_even() {
        let one = 1u64 << 63;
        for (significand, expected) in [
            (one + (1 << 39), 1.0),
            (one + (1 << 39) + 1, 1.0 + f32::EPSILON),
            (one + (3 << 39), 1.0 + 2.0 * f32::EPSILON),
            (u64::MAX, 2.0),
        ] {
            assert_eq!(join(false, 0, significand), expected);
        }
        assert_eq!(join(false, -150, one), 0.0);
        assert_eq!(join(false, -150, one + 1), 1e-45);
        assert_eq!(join(false, 127, u64::MAX), f32::INFINITY);
        assert_eq!(join(true, 128, one), f32::NEG_INFINITY);
        assert_eq!(join(true, 5, 0).to_bits(), 1 << 31);
    }
}
