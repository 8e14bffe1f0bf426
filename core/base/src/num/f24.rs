//! The rounding that makes an f32 an f24.
//!
//! Every operation on f24 is the f32 operation on the same values, rounded to f32 and then rounded once more to the 16
//! bits of an f24's significand, ties to even both times. The two roundings are part of the meaning: a sum, a quotient
//! or a sine that the first one moves onto the middle between two f24 is then rounded to the even one of them, which
//! need not be the f24 nearest to the exact result.

use super::Num;

/// The bits of an f32 that an f24 does not have.
const DROPPED: u32 = 0xFF;

/// The f24 nearest to `value`, ties to even. A value beyond the largest f24 becomes an infinity, denormal values are
/// kept with the bits that remain, and every NaN becomes the same one.
#[inline]
pub(super) fn round(value: f32) -> f32 {
    if value.is_nan() {
        return f32::NAN;
    }
    let bits = value.to_bits();
    // Half of the dropped bits' range less one, plus one where the last kept bit is odd: what carries into the kept
    // bits exactly where rounding goes up. The carry of the largest values makes an infinity; an infinity has no bits
    // that could carry.
    let odd = (bits >> 8) & 1;
    f32::from_bits((bits + 0x7F + odd) & !DROPPED)
}

impl Num {
    /// The u24 of the low 24 bits.
    #[inline]
    pub fn u24(bits: u32) -> Num {
        Num::U24(bits & 0xFF_FFFF)
    }

    /// The i24 of the low 24 bits.
    #[inline]
    pub fn i24(bits: i32) -> Num {
        Num::I24(bits << 8 >> 8)
    }

    /// The f24 nearest to `value`, ties to even.
    #[inline]
    pub fn f24(value: f32) -> Num {
        Num::F24(round(value))
    }
}
