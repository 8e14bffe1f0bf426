//! How near the mathematical functions are to the exact values, which here are those of the f64 library.
//!
//! The strided forms run always; the ones over all f24 and over a large part of all f32 are long: run them with
//! `cargo test -p girih-base --test suite num -- --ignored --nocapture`.

use girih_base::num::{Num, math};
use proptest::prelude::*;

use super::model::{round_to_f24, same};

/// A function, its exact form, and how many of 10,000,000 f24 results may miss the rounded exact one (by one unit).
struct Case {
    name: &'static str,
    function: fn(f32) -> f32,
    exact: fn(f64) -> f64,
    misses: u64,
}

const CASES: &[Case] = &[
    Case { name: "sin", function: math::sin, exact: f64::sin, misses: 10 },
    Case { name: "cos", function: math::cos, exact: f64::cos, misses: 10 },
    Case { name: "tan", function: math::tan, exact: f64::tan, misses: 10 },
    Case { name: "ln", function: math::ln, exact: f64::ln, misses: 1 },
    Case { name: "atan2(x, 1)", function: |x| math::atan2(x, 1.0), exact: f64::atan, misses: 1 },
    Case { name: "atan2(3, x)", function: |x| math::atan2(3.0, x), exact: |x| 3f64.atan2(x), misses: 1 },
    Case {
        name: "atan2(x, -1e20)",
        function: |x| math::atan2(x, -1e20),
        exact: |x| x.atan2(f64::from(-1e20f32)),
        misses: 1,
    },
    Case { name: "x ** 3", function: |x| math::pow(x, 3.0), exact: |x| x.powf(3.0), misses: 10 },
    Case { name: "x ** -1", function: |x| math::pow(x, -1.0), exact: |x| x.powf(-1.0), misses: 10 },
    Case { name: "x ** -2.5", function: |x| math::pow(x, -2.5), exact: |x| x.powf(-2.5), misses: 10 },
    Case { name: "x ** 0.3", function: |x| math::pow(x, 0.3), exact: |x| x.powf(f64::from(0.3f32)), misses: 10 },
    Case { name: "2 ** x", function: |x| math::pow(2.0, x), exact: f64::exp2, misses: 10 },
    Case { name: "0.1 ** x", function: |x| math::pow(0.1, x), exact: |x| f64::from(0.1f32).powf(x), misses: 10 },
    Case {
        name: "1.0001 ** x",
        function: |x| math::pow(1.0001, x),
        exact: |x| f64::from(1.0001f32).powf(x),
        misses: 10,
    },
];

/// Position among all f24, so that neighbours differ by one.
fn rank(value: f32) -> i64 {
    let bits = i64::from(value.to_bits() >> 8);
    if bits < 0x80_0000 { bits } else { 0x80_0000 - bits }
}

/// Compares every `step`th f24, the rounding by way of f32 being part of what an f24 function is.
fn compare_f24(case: &Case, step: usize) {
    let (mut count, mut misses) = (0, 0);
    for bits in (0..1u32 << 24).step_by(step) {
        let x = f32::from_bits(bits << 8);
        let exact = round_to_f24((case.exact)(f64::from(x)) as f32);
        let Num::F24(result) = Num::f24((case.function)(x)) else { unreachable!("an f24") };
        count += 1;
        if !same(Num::F24(result), Num::F24(exact)) {
            misses += 1;
            assert!((rank(result) - rank(exact)).abs() == 1, "{} at {x:e}: {result:e}, not {exact:e}", case.name);
        }
    }
    println!("{}: {misses} of {count} f24 differ", case.name);
    assert!(misses * 10_000_000 <= case.misses * count, "{}: {misses} of {count} f24 differ", case.name);
}

/// Compares every `step`th f32: no result is off by more than 0.504 units in the last place.
fn compare_f32(case: &Case, step: usize) {
    let (mut worst, mut at) = (0f64, 0f32);
    for bits in (0..=u32::MAX).step_by(step) {
        let x = f32::from_bits(bits);
        let (result, exact) = ((case.function)(x), (case.exact)(f64::from(x)));
        if !exact.is_finite() || !(exact as f32).is_finite() || !result.is_finite() {
            assert!(
                same(Num::F32(result), Num::F32(exact as f32)),
                "{} at {x:e}: {result:e}, not {exact:e}",
                case.name
            );
            continue;
        }
        let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-126);
        let error = (f64::from(result) - exact).abs() / 2f64.powi(exponent - 23);
        if error > worst {
            (worst, at) = (error, x);
        }
    }
    println!("{}: at most {worst:.4} units off, at {at:e}", case.name);
    assert!(worst <= 0.504, "{}: {worst} units off at {at:e}", case.name);
}

#[test]
fn f24_results_are_rounded_exact_ones() {
    CASES.iter().for_each(|case| compare_f24(case, 257));
}

#[test]
#[ignore = "all f24: takes a minute"]
fn f24_results_are_rounded_exact_ones_everywhere() {
    CASES.iter().for_each(|case| compare_f24(case, 1));
}

#[test]
fn f32_results_are_near() {
    CASES.iter().for_each(|case| compare_f32(case, 65_521));
}

#[test]
#[ignore = "a 61st of all f32: takes minutes"]
fn f32_results_are_near_in_many_places() {
    CASES.iter().for_each(|case| compare_f32(case, 61));
}

#[test]
fn squares_roots_and_whole_powers_are_exact() {
    for bits in (0..1u32 << 31).step_by(32_749) {
        let x = f32::from_bits(bits);
        assert!(same(Num::F32(math::pow(x, 0.5)), Num::F32(x.sqrt())), "the root of {x:e}");
        assert!(same(Num::F32(math::pow(x, 1.0)), Num::F32(x)), "{x:e} ** 1");
    }
    for base in 2..5000u64 {
        for exponent in 2..16 {
            // Powers of 25 bits lie in the middle between two floats: they round to the even one.
            let Some(power) = base.checked_pow(exponent).filter(|power| *power < 1 << 25) else { break };
            assert_eq!(math::pow(base as f32, exponent as f32), power as f32, "{base} ** {exponent}");
            let fraction = (power as f64 / 64f64.powi(exponent as i32)) as f32;
            assert_eq!(math::pow(base as f32 / 64.0, exponent as f32), fraction, "({base} / 64) ** {exponent}");
        }
    }
    for root in 257..=322u32 {
        assert_eq!(math::pow((root * root) as f32, 1.5), root.pow(3) as f32, "{} ** 1.5", root * root);
    }
}

#[test]
fn huge_angles() {
    // Of all f32 from one up, 16367173 * 2^72 is the closest to a multiple of a quarter turn.
    for x in [16_367_173.0 * 2f32.powi(72), 8.3e37, f32::MAX, 16_777_216.0, 1e10, 710.0, 102_928.62] {
        for (function, exact) in
            [(math::sin as fn(f32) -> f32, f64::sin as fn(f64) -> f64), (math::cos, f64::cos), (math::tan, f64::tan)]
        {
            assert_eq!(function(x), exact(f64::from(x)) as f32, "at {x:e}");
        }
    }
}

/// Finite floats, most of them neither tiny nor huge.
fn float() -> impl Strategy<Value = f32> {
    prop_oneof![any::<f32>(), -1e3..1e3f32, -2.0..2.0f32]
}

fn is_near(result: f32, exact: f64) -> bool {
    let rounded = exact as f32;
    let units = i64::from(result.to_bits()) - i64::from(rounded.to_bits());
    (result.is_nan() && exact.is_nan()) || units.abs() <= 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn angles_are_near(y in float(), x in float()) {
        let exact = f64::from(y).atan2(f64::from(x));
        prop_assert!(is_near(math::atan2(y, x), exact), "atan2({}, {}) = {}, not {}", y, x, math::atan2(y, x), exact);
    }

    #[test]
    fn powers_are_near(x in float(), y in float()) {
        let exact = f64::from(x).powf(f64::from(y));
        prop_assert!(is_near(math::pow(x, y), exact), "pow({}, {}) = {}, not {}", x, y, math::pow(x, y), exact);
    }

    #[test]
    fn remainders_are_exact(a in float(), b in float()) {
        prop_assert!(same(Num::F32(math::remainder(a, b)), Num::F32(a % b)), "{} % {}", a, b);
    }

    #[test]
    fn remainders_of_any_bits_are_exact(a in any::<u32>(), b in any::<u32>()) {
        let (a, b) = (f32::from_bits(a), f32::from_bits(b));
        prop_assert!(same(Num::F32(math::remainder(a, b)), Num::F32(a % b)), "{:e} % {:e}", a, b);
    }

    #[test]
    fn logarithms_are_quotients(x in 1e-30..1e30f32, base in 1.5..100f32) {
        let exact = f64::from(x).ln() / f64::from(base).ln();
        prop_assert!((f64::from(math::log(x, base)) - exact).abs() <= exact.abs() * 2f64.powi(-22));
    }

    #[test]
    fn sines_are_odd_and_cosines_even(x in float()) {
        prop_assert_eq!(math::sin(-x).to_bits(), (-math::sin(x)).to_bits());
        prop_assert_eq!(math::cos(-x), math::cos(x));
        prop_assert_eq!(math::tan(-x).to_bits(), (-math::tan(x)).to_bits());
    }
}
