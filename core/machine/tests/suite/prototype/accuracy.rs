//! How near the routines come to the true values. The bounds are what was found over all floats (all of `f32` for one
//! argument, 10^8 pairs for two), not what the table of operations promises; here a sample is held to them.

use super::ops::{U, bits};
use super::{convert, division, exponential, fma, inverse, logarithm, power, root, trigonometric};

/// Floats around which something changes: zeros, ends of ranges, powers of two, whole and half numbers, roots of two.
pub fn edges() -> Vec<f32> {
    let exponents = [0u32, 1, 2, 23, 24, 25, 63, 101, 102, 103, 113, 115, 120, 124, 126, 127, 128, 130, 138, 150, 151];
    let late = [152, 160, 190, 192, 253, 254, 255];
    let significands =
        [0u32, 1, 2, 0x1000, 0x2a_aaaa, 0x35_04f3, 0x35_04f4, 0x3f_ffff, 0x40_0000, 0x55_5555, 0x7f_ffff];
    let mut all = vec![];
    for e in exponents.into_iter().chain(late) {
        for m in significands {
            all.push(f32::from_bits((e << 23) | m));
            all.push(f32::from_bits((1 << 31) | (e << 23) | m));
        }
    }
    all
}

/// Patterns that look random, always the same.
#[derive(Clone, Debug)]
pub struct Patterns(pub u64);

impl Patterns {
    /// The next one, of 64 bits.
    pub fn wide(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 29);
        x.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (x >> 32)
    }
    /// The next one.
    pub fn word(&mut self) -> u32 {
        (self.wide() >> 16) as u32
    }
    /// A float of any exponent.
    pub fn any(&mut self) -> f32 {
        f32::from_bits(self.word())
    }
    /// A float whose exponent is near another's.
    pub fn near(&mut self, other: f32) -> f32 {
        let exponent = ((other.to_bits() >> 23) & 0xff) as i32 + (self.word() % 61) as i32 - 30;
        f32::from_bits((self.word() & 0x807f_ffff) | ((exponent.clamp(0, 255) as u32) << 23))
    }
}

/// The distance from the true value in units of the last place that the nearest float has.
fn ulps(got: f32, want: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if (want as f32).is_infinite() || got.is_infinite() {
        return if got == want as f32 { 0.0 } else { f64::INFINITY };
    }
    let exponent = ((want.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-126);
    (f64::from(got) - want).abs() / 2f64.powi(exponent - 23)
}

/// NaN, or the same pattern.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The most that a routine of one argument errs, in edges and in every `stride`th float.
fn worst(routine: fn(f32) -> f32, truth: fn(f64) -> f64, stride: usize) -> (f64, f32) {
    let sample = (0..=u32::MAX).step_by(stride).map(f32::from_bits).chain(edges());
    let mut worst = (0.0, 0.0);
    for x in sample {
        let error = ulps(routine(x), truth(f64::from(x)));
        if error > worst.0 {
            worst = (error, x);
        }
    }
    worst
}

type Unary = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);

/// Routines of one argument that are not correctly rounded, and the most that each errs.
const UNARY: &[Unary] = &[
    ("rsqrt", root::rsqrt, |x| 1.0 / x.sqrt(), 0.501),
    ("exp", exponential::exp, f64::exp, 0.891),
    ("exp2", exponential::exp2, f64::exp2, 0.8),
    ("log", logarithm::log, f64::ln, 0.801),
    ("log2", logarithm::log2, f64::log2, 0.8),
    ("tanh", exponential::tanh, f64::tanh, 1.7),
    ("sin", trigonometric::sin, f64::sin, 0.9),
    ("cos", trigonometric::cos, f64::cos, 0.9),
    ("tan", trigonometric::tan, f64::tan, 1.5),
    ("asin", inverse::asin, f64::asin, 0.75),
    ("acos", inverse::acos, f64::acos, 0.75),
    ("atan", inverse::atan, f64::atan, 0.8),
];

fn hold_unary(stride: usize) {
    for (name, routine, truth, bound) in UNARY {
        let (error, x) = worst(*routine, *truth, stride);
        assert!(error <= *bound, "{name}({x:e}): {error} units in the last place");
    }
}

#[test]
fn one_argument() {
    hold_unary(40_009);
}

#[test]
#[ignore = "an hour: all floats"]
fn one_argument_all_floats() {
    hold_unary(1);
}

#[test]
fn the_sign_of_zero_is_kept() {
    type Kept = fn(f32) -> f32;
    let odd: [Kept; 6] =
        [trigonometric::sin, trigonometric::tan, inverse::asin, inverse::atan, exponential::tanh, root::sqrt];
    for routine in odd {
        assert!(same(routine(-0.0), -0.0));
        assert!(same(routine(0.0), 0.0));
    }
}

#[test]
fn square_roots_are_correctly_rounded() {
    for x in (0..=u32::MAX).step_by(10_007).map(f32::from_bits).chain(edges()) {
        assert!(same(root::sqrt(x), x.sqrt()), "sqrt({x:e})");
    }
}

/// Edges with edges, and pairs of all kinds.
fn pairs(count: usize) -> impl Iterator<Item = (f32, f32)> {
    let edges = edges();
    let all = edges.clone().into_iter().flat_map(move |x| edges.clone().into_iter().map(move |y| (x, y)));
    let mut patterns = Patterns(7);
    all.chain((0..count).map(move |i| {
        let x = patterns.any();
        (x, if i % 2 == 0 { patterns.any() } else { patterns.near(x) })
    }))
}

#[test]
fn quotients_are_correctly_rounded() {
    for (x, y) in pairs(300_000) {
        assert!(same(division::div(x, y), x / y), "{x:e} / {y:e}");
    }
}

#[test]
fn angles() {
    for (y, x) in pairs(100_000) {
        let (got, want) = (inverse::atan2(y, x), f64::from(y).atan2(f64::from(x)));
        assert!(ulps(got, want) <= 0.8, "atan2({y:e}, {x:e}) = {got:e}, not {want:e}");
        assert!(got != 0.0 || got.is_sign_negative() == want.is_sign_negative(), "atan2({y:e}, {x:e})");
    }
}

#[test]
fn powers() {
    let mut patterns = Patterns(11);
    let bases: Vec<f32> = (0..100_000).map(|_| f32::from_bits(patterns.word() >> 1)).collect();
    // Exponents whose power is a float, besides those of any kind.
    let chosen = bases.into_iter().map(|x| {
        let place = f64::from(patterns.word()) / f64::from(u32::MAX) * 290.0 - 155.0;
        (x, (place / f64::from(x).log2()) as f32)
    });
    let whole = (-40..=40).flat_map(|n| edges().into_iter().map(move |x| (x, n as f32)));
    for (x, y) in pairs(100_000).chain(chosen.collect::<Vec<_>>()).chain(whole) {
        let (got, want) = (power::pow(x, y), f64::from(x).powf(f64::from(y)));
        assert!(ulps(got, want) <= 0.9, "pow({x:e}, {y:e}) = {got:e}, not {want:e}");
        assert!(got != 0.0 || got.is_sign_negative() == want.is_sign_negative(), "pow({x:e}, {y:e})");
    }
}

#[test]
fn fused_sums_are_rounded_once() {
    let mut patterns = Patterns(13);
    for (i, (x, y)) in pairs(300_000).enumerate() {
        let product = x * y;
        let z = match i % 4 {
            0 => patterns.any(),
            1 => -f32::from_bits(product.to_bits() ^ (patterns.word() >> (8 + i / 4 % 24))),
            _ => patterns.near(product),
        };
        assert!(same(fma::fma(x, y, z), x.mul_add(y, z)), "{x:e} * {y:e} + {z:e}");
    }
}

/// The sum of a product that is exact in `f64` and another number, its last bit set if it was not exact: so that rounding
/// it to a much shorter float rounds once.
fn sum_to_odd(product: f64, other: f64) -> f64 {
    let sum = product + other;
    let part = sum - product;
    let lost = (product - (sum - part)) + (other - part);
    if lost == 0.0 || !sum.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let outwards = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if outwards { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

/// The nearest float of `width` bits of significand and least exponent `least`; infinite beyond `largest`.
fn nearest(x: f64, width: i32, least: i32, largest: f64) -> f32 {
    if x == 0.0 || !x.is_finite() {
        return x as f32;
    }
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    let unit = 2f64.powi(exponent - width);
    let rounded = (x / unit).round_ties_even() * unit;
    if rounded.abs() > largest { f32::INFINITY.copysign(x as f32) } else { rounded as f32 }
}

#[test]
fn short_fused_sums_are_rounded_once() {
    let mut patterns = Patterns(17);
    for i in 0..300_000 {
        let mut words = [patterns.word() & 0xffff, patterns.word() & 0xffff, patterns.word() & 0xffff];
        let f16 = |w: u32| half::f16::from_bits(w as u16);
        let bf16 = |w: u32| half::bf16::from_bits(w as u16);
        let close = |w: u32, i: u32| w ^ 0x8000 ^ (0xffff >> (i % 17));
        if i % 2 == 1 {
            words[2] = close(u32::from((f16(words[0]) * f16(words[1])).to_bits()), i / 2);
        }
        let [a, b, c] = words.map(f16);
        let sum = sum_to_odd(a.to_f64() * b.to_f64(), c.to_f64());
        let want = nearest(sum, 10, -14, half::f16::MAX.to_f64());
        assert!(same(fma::fma_f16(a.to_f32(), b.to_f32(), c.to_f32()), want), "f16 {a} * {b} + {c}");
        if i % 2 == 1 {
            words[2] = close(u32::from((bf16(words[0]) * bf16(words[1])).to_bits()), i / 2);
        }
        let [a, b, c] = words.map(bf16);
        let sum = sum_to_odd(a.to_f64() * b.to_f64(), c.to_f64());
        let want = nearest(sum, 7, -126, half::bf16::MAX.to_f64());
        assert!(same(fma::fma_bf16(a.to_f32(), b.to_f32(), c.to_f32()), want), "bf16 {a} * {b} + {c}");
    }
}

#[test]
fn short_floats() {
    for x in (0..=u32::MAX).step_by(1_009).map(f32::from_bits).chain(edges()) {
        let (f16, bf16) = (convert::f32_to_f16(x), convert::f32_to_bf16(x));
        if x.is_nan() {
            assert_eq!((f16.0, bf16.0), (0x7fff, 0x7fff));
        } else {
            assert_eq!(f16.0, u32::from(half::f16::from_f32(x).to_bits()), "{x:e}");
            assert_eq!(bf16.0, u32::from(half::bf16::from_f32(x).to_bits()), "{x:e}");
        }
    }
    for word in 0..=0xffff {
        assert!(same(convert::f16_to_f32(U(word)), half::f16::from_bits(word as u16).to_f32()), "{word:x}");
        assert!(same(convert::bf16_to_f32(U(word)), half::bf16::from_bits(word as u16).to_f32()), "{word:x}");
    }
}

/// The magnitudes of an 8-bit float of `width` bits of significand, up to the largest pattern.
fn magnitudes(width: u32, bias: i32, largest: u32) -> Vec<f64> {
    let one = |word: u32| {
        let (field, part) = ((word >> width) as i32, f64::from(word & ((1 << width) - 1)) / f64::from(1 << width));
        if field == 0 { part * 2f64.powi(1 - bias) } else { (1.0 + part) * 2f64.powi(field - bias) }
    };
    (0..=largest).map(one).collect()
}

#[test]
fn floats_of_eight_bits() {
    type Kind = (fn(f32) -> U, fn(U) -> f32, Vec<f64>);
    let kinds: [Kind; 2] = [
        (convert::f32_to_e4m3, convert::e4m3_to_f32, magnitudes(3, 7, 0x7e)),
        (convert::f32_to_e5m2, convert::e5m2_to_f32, magnitudes(2, 15, 0x7b)),
    ];
    for (to, from, table) in kinds {
        for (word, value) in table.iter().enumerate() {
            assert_eq!(f64::from(from(U(word as u32))), *value);
            assert_eq!(f64::from(from(U(word as u32 | 0x80))), -*value);
        }
        assert_eq!(to(f32::NAN).0, 0x7f);
        assert!(from(U(0x7f)).is_nan());
        for x in (0..=u32::MAX).step_by(20_011).map(f32::from_bits).chain(edges()).filter(|x| !x.is_nan()) {
            let magnitude = f64::from(x.abs());
            let above = table.partition_point(|v| *v <= magnitude);
            let low = above - 1;
            let word = match table.get(above) {
                None => low,
                Some(high) if high - magnitude < magnitude - table[low] => above,
                Some(high) if high - magnitude > magnitude - table[low] => low,
                Some(_) => low + low % 2,
            };
            assert_eq!(to(x).0, word as u32 | (bits(x).0 >> 24 & 0x80), "{x:e}");
        }
    }
    // No conversion gives an infinity of e5m2, but it is one.
    assert_eq!(convert::e5m2_to_f32(U(0x7c)), f32::INFINITY);
    assert_eq!(convert::e5m2_to_f32(U(0xfc)), f32::NEG_INFINITY);
}
