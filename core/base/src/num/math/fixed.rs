//! Arithmetic on fractions: a word `n` stands for `n / 2^32`, a pair of words (a `u64`) for `n / 2^64`, times a power
//! of two that the user of these functions keeps in mind.
//!
//! Results are truncated. All operations are ones that two 32-bit words do plainly.

/// The whole product.
pub(super) fn mul_wide(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}

/// The upper word of the product: a fraction times a fraction.
pub(super) fn mul_high(a: u32, b: u32) -> u32 {
    high(mul_wide(a, b))
}

/// The upper word.
pub(super) fn high(a: u64) -> u32 {
    (a >> 32) as u32
}

/// The lower word.
pub(super) fn low(a: u64) -> u32 {
    a as u32
}

/// Two words times a fraction of one word.
pub(super) fn scale(a: u64, b: u32) -> u64 {
    mul_wide(high(a), b) + u64::from(mul_high(low(a), b))
}

/// Two words times a fraction of two words, up to two units too small.
pub(super) fn mul(a: u64, b: u64) -> u64 {
    scale(a, high(b)) + u64::from(mul_high(high(a), low(b)))
}

/// `c[0] - x * (c[1] - x * (c[2] - ..))`.
pub(super) fn alternating(x: u32, coefficients: &[u32]) -> u32 {
    coefficients.iter().rev().fold(0, |sum, c| c - mul_high(x, sum))
}

/// `c[0] + x * (c[1] + x * (c[2] + ..))`.
pub(super) fn ascending(x: u32, coefficients: &[u32]) -> u32 {
    coefficients.iter().rev().fold(0, |sum, c| c + mul_high(x, sum))
}

/// `2^63 / divisor`, a few units too small, for a divisor whose top bit is set.
fn reciprocal(divisor: u32) -> u32 {
    // With the divisor as a fraction d this is 1 / 2d. The line 24/17 - 16/17 d (its constant is above one, and the
    // subtraction wraps back into range) is right to one in 17, and Newton's step squares the error.
    let mut guess = 0x6969_6969_u32.wrapping_sub(mul_high(divisor, 0xF0F0_F0F0));
    for _ in 0..3 {
        guess = (mul_wide(guess, !mul_high(divisor, guess)) >> 31) as u32;
    }
    guess
}

/// `a / b * 2^63`, right to 52 bits, for two numbers whose top bits are set. A quotient is never taken to be two or
/// more.
pub(super) fn divide(a: u64, b: u64) -> u64 {
    let inverse = reciprocal(high(b));
    // The first word of the quotient, made certainly too small; the rest is the remainder times the inverse again.
    let first = mul_high(high(a), inverse) - 3;
    let rest = (a >> 1) - scale(b, first);
    let second = mul_wide((rest >> 8) as u32, inverse) >> 23;
    (u64::from(first) << 32).saturating_add(second)
}

#[cfg(test)]
mod tests {
    use super::{divide, mul, reciprocal, scale};

    /// Words all over the range whose top bit is set, the ends included.
    fn words() -> impl Iterator<Item = u64> {
        let ends = [1 << 63, (1 << 63) + 1, u64::MAX, u64::MAX - 1, 0xFFFF_FFFF_0000_0000, 0x8000_0000_FFFF_FFFF];
        ends.into_iter().chain((0..1500u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 63))
    }

    #[test]
    fn reciprocals_are_a_little_too_small() {
        for divisor in words().map(|word| (word >> 32) as u32) {
            let exact = ((1u64 << 63) / u64::from(divisor)).min(u64::from(u32::MAX));
            let error = exact - u64::from(reciprocal(divisor));
            assert!(error <= 4, "2^63 / {divisor} is off by {error}");
        }
    }

    #[test]
    fn quotients_are_right_to_52_bits() {
        for a in words() {
            for b in words() {
                let exact = ((u128::from(a) << 63) / u128::from(b)) as u64;
                assert!(divide(a, b).abs_diff(exact) <= 1 << 11, "{a:#x} / {b:#x} = {:#x}", divide(a, b));
            }
        }
    }

    #[test]
    fn products_are_truncated() {
        for a in words() {
            for b in words() {
                let exact = ((u128::from(a) * u128::from(b)) >> 64) as u64;
                assert!(exact - mul(a, b) <= 2);
                assert_eq!(u128::from(scale(a, b as u32)), (u128::from(a) * u128::from(b as u32)) >> 32);
            }
        }
    }
}
