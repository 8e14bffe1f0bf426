//! Products with the multipliers are quotients, for all that may be divided.

use girih_lower::simplify::divide::{multiplier, wide_multiplier};

/// The largest numbers, those around multiples of d, and some between.
fn dividends(d: u64, bits: u32) -> Vec<u64> {
    let max = u64::MAX >> (64 - bits);
    let near = |x: u64| [x.wrapping_sub(1) & max, x & max, x.wrapping_add(1) & max];
    let multiples =
        [1, 2, 3, 1000, max / d / 2, max / d - 1, max / d].into_iter().flat_map(|q| near(q.wrapping_mul(d)));
    multiples.chain(near(0)).chain(near(max / 2)).chain([max]).collect()
}

#[test]
fn multipliers_are_exact() {
    for bits in [32, 64] {
        for d in (3..2000).chain([(1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1, u64::MAX >> (64 - bits)]) {
            if d.is_power_of_two() {
                continue;
            }
            for x in dividends(d, bits) {
                if let Some((m, k)) = multiplier(bits, bits, d) {
                    let high = ((u128::from(x) * u128::from(m)) >> bits) as u64;
                    assert_eq!(high >> k, x / d, "{x} / {d}, {bits} bits");
                }
                if d % 2 == 1
                    && let Some((m, k)) = wide_multiplier(bits, d)
                    && multiplier(bits, bits, d).is_none()
                {
                    let high = ((u128::from(x) * u128::from(m)) >> bits) as u64;
                    assert_eq!((((x - high) >> 1) + high) >> (k - 1), x / d, "{x} / {d}, {bits} bits");
                }
            }
        }
    }
}
