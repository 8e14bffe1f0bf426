//! The routines on pairs of words give what the integers of 64 bits give.

use super::accuracy::Patterns;
use super::ops::U;
use super::wide::*;

fn split(x: u64) -> (U, U) {
    (U(x as u32), U((x >> 32) as u32))
}

fn join((low, high): (U, U)) -> u64 {
    u64::from(low.0) | (u64::from(high.0) << 32)
}

/// Integers of all sizes, with long runs of equal bits.
pub fn integer(patterns: &mut Patterns) -> u64 {
    let (x, n) = (patterns.wide(), patterns.word() % 64);
    match patterns.word() % 7 {
        0 => x,
        1 => x >> n,
        2 => !(x >> n),
        3 => (1u64 << n).wrapping_add(x % 5).wrapping_sub(2),
        4 => (x % 7).wrapping_sub(3),
        5 => x | 0xffff_ffff,
        _ => x >> n << (x % 64),
    }
}

#[test]
fn pairs_of_words_are_integers() {
    let mut patterns = Patterns(3);
    for _ in 0..300_000 {
        let (x, y) = (integer(&mut patterns), integer(&mut patterns));
        let ((a, b), (c, d)) = (split(x), split(y));
        let (s, t) = (x as i64, y as i64);
        let quotient = if y == 0 { s } else { s.wrapping_div(t) };
        let remainder = if y == 0 { 0 } else { s.wrapping_rem(t) };
        let results: [(&str, u64, u64); 11] = [
            ("sub", join(sub64(a, b, c, d)), x.wrapping_sub(y)),
            ("mul", join(mul64(a, b, c, d)), x.wrapping_mul(y)),
            ("div u64", join(div_u64(a, b, c, d)), x.checked_div(y).unwrap_or(x)),
            ("rem u64", join(rem_u64(a, b, c, d)), x.checked_rem(y).unwrap_or(0)),
            ("div i64", join(div_i64(a, b, c, d)), quotient as u64),
            ("rem i64", join(rem_i64(a, b, c, d)), remainder as u64),
            ("shl", join(shl64(a, b, c)), x.wrapping_shl(y as u32)),
            ("shr u64", join(shr_u64(a, b, c)), x.wrapping_shr(y as u32)),
            ("clz", u64::from(clz64(a, b).0), u64::from(x.leading_zeros())),
            ("u64 to f32", u64::from(u64_to_f32(a, b).to_bits()), u64::from((x as f32).to_bits())),
            ("i64 to f32", u64::from(i64_to_f32(a, b).to_bits()), u64::from((s as f32).to_bits())),
        ];
        for (name, got, want) in results {
            assert_eq!(got, want, "{name} of {x:#x}, {y:#x}");
        }
        assert_eq!(lt_u64(a, b, c, d), x < y, "{x:#x}, {y:#x}");
    }
}

#[test]
fn floats_to_pairs_of_words() {
    for x in (0..=u32::MAX).step_by(10_007).map(f32::from_bits).chain(super::accuracy::edges()) {
        assert_eq!(join(f32_to_u64(x)), x as u64, "{x:e}");
        assert_eq!(join(f32_to_i64(x)), x as i64 as u64, "{x:e}");
    }
}
