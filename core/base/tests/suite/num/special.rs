//! Special values of the mathematical functions, and of the primitives that give them to programs.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use girih_base::num::math::{atan2, cos, ln, log, pow, remainder, sin, tan};
use girih_base::num::{Num, NumError, NumKind};
use girih_base::prim::Prim;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
const LEAST: f32 = 1e-45;

fn assert_same(what: &str, result: f32, expected: f32) {
    let same = result.to_bits() == expected.to_bits() || (result.is_nan() && expected.is_nan());
    assert!(same, "{what} is {result:e}, not {expected:e}");
}

#[test]
fn of_one_argument() {
    for (name, function, rows) in [
        ("sin", sin as fn(f32) -> f32, [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (LEAST, LEAST)]),
        ("cos", cos, [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (LEAST, 1.0)]),
        ("tan", tan, [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (-LEAST, -LEAST)]),
        ("ln", ln, [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (NAN, NAN), (1.0, 0.0)]),
    ] {
        for (x, expected) in rows {
            assert_same(&format!("{name}({x:e})"), function(x), expected);
        }
    }
    assert_same("ln(-1)", ln(-1.0), NAN);
}

#[test]
fn of_log() {
    for (x, base, expected) in [
        (8.0, 2.0, 3.0),
        (100.0, 10.0, 2.0),
        (0.5, 2.0, -1.0),
        (1.0, 5.0, 0.0),
        (1.0, 1.0, NAN),
        (2.0, 1.0, INF),
        (0.0, 2.0, -INF),
        (-1.0, 2.0, NAN),
        (2.0, -1.0, NAN),
        (2.0, 0.0, -0.0),
        (INF, 2.0, INF),
    ] {
        assert_same(&format!("log({x}, {base})"), log(x, base), expected);
    }
}

#[test]
fn of_atan2() {
    for (y, x, expected) in [
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (0.0, 0.0, 0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (1.0, 0.0, FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (1.0, 1.0, FRAC_PI_4),
        (-1.0, 1.0, -FRAC_PI_4),
        (1.0, -1.0, 3.0 * FRAC_PI_4),
        (INF, 1.0, FRAC_PI_2),
        (-INF, -1.0, -FRAC_PI_2),
        (1.0, INF, 0.0),
        (-1.0, INF, -0.0),
        (1.0, -INF, PI),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (-INF, -INF, -3.0 * FRAC_PI_4),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (LEAST, 1.0, LEAST),
        (LEAST, f32::MAX, 0.0),
        (f32::MAX, LEAST, FRAC_PI_2),
        (LEAST, -f32::MAX, PI),
        (LEAST, LEAST, FRAC_PI_4),
    ] {
        assert_same(&format!("atan2({y:e}, {x:e})"), atan2(y, x), expected);
    }
}

#[test]
fn of_pow() {
    for (x, y, expected) in [
        (2.0, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (NAN, -0.0, 1.0),
        (1.0, NAN, 1.0),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (-1.0, 3.0, -1.0),
        (-1.0, 1e30, 1.0),
        (0.5, INF, 0.0),
        (0.5, -INF, INF),
        (-2.0, INF, INF),
        (-2.0, -INF, 0.0),
        (0.0, 2.0, 0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, 3.0, -0.0),
        (0.0, -1.0, INF),
        (-0.0, -1.0, -INF),
        (-0.0, -2.0, INF),
        (-0.0, 0.5, 0.0),
        (0.0, 0.5, 0.0),
        (0.0, INF, 0.0),
        (0.0, -INF, INF),
        (INF, 2.0, INF),
        (INF, -2.0, 0.0),
        (INF, 0.5, INF),
        (-INF, 0.5, INF),
        (-INF, 3.0, -INF),
        (-INF, -3.0, -0.0),
        (-INF, 2.0, INF),
        (-2.0, 0.5, NAN),
        (-2.0, 3.0, -8.0),
        (-2.0, 4.0, 16.0),
        (-2.0, -3.0, -0.125),
        (10.0, 38.0, 1e38),
        (10.0, 39.0, INF),
        (-10.0, 39.0, -INF),
        (10.0, -45.0, 1e-45),
        (10.0, -46.0, 0.0),
        (2.0, 127.0, 1.7014118e38),
        (2.0, 128.0, INF),
        (2.0, -149.0, LEAST),
        (2.0, -150.0, 0.0),
        (2.0, -126.0, f32::MIN_POSITIVE),
        (LEAST, -1.0, INF),
        (LEAST, 0.25, 6.1183268e-12),
        (1.5, 1e-30, 1.0),
        (1.5, 1e30, INF),
        (1.5, -1e30, 0.0),
        (0.5, 1e30, 0.0),
    ] {
        assert_same(&format!("pow({x:e}, {y:e})"), pow(x, y), expected);
    }
}

#[test]
fn of_remainder() {
    for (a, b, expected) in [
        (5.5, 2.0, 1.5),
        (-5.5, 2.0, -1.5),
        (4.0, 2.0, 0.0),
        (-4.0, 2.0, -0.0),
        (-0.0, 2.0, -0.0),
        (1.0, 0.0, NAN),
        (INF, 1.0, NAN),
        (1.0, INF, 1.0),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (f32::MAX, LEAST, 0.0),
        (f32::MAX, 3.0, 0.0),
        (LEAST, f32::MAX, LEAST),
        (1e-40, 4e-45, 1e-45),
    ] {
        assert_same(&format!("remainder({a:e}, {b:e})"), remainder(a, b), expected);
    }
}

#[test]
fn primitives_take_floats_of_their_number() {
    let (half, wide, integer) = (Num::f24(0.5), Num::F32(0.5), Num::U24(1));
    for prim in [Prim::Sin, Prim::Cos, Prim::Tan] {
        assert_eq!(prim.apply(&[half]).map(Num::kind), Ok(NumKind::F24));
        assert_eq!(prim.apply(&[wide]).map(Num::kind), Ok(NumKind::F32));
        assert_eq!(prim.apply(&[integer]), Err(NumError::NotFloat(NumKind::U24)));
        assert_eq!(prim.apply(&[half, half]), Err(NumError::ArgumentCount(2)));
    }
    for prim in [Prim::Log, Prim::Atan2] {
        assert_eq!(prim.apply(&[half, half]).map(Num::kind), Ok(NumKind::F24));
        assert_eq!(prim.apply(&[half, wide]).map(Num::kind), Ok(NumKind::F32));
        assert_eq!(prim.apply(&[wide, half]).map(Num::kind), Ok(NumKind::F32));
        assert_eq!(prim.apply(&[half, integer]), Err(NumError::NotFloat(NumKind::U24)));
        assert_eq!(prim.apply(&[Num::I32(1), half]), Err(NumError::NotFloat(NumKind::I32)));
        assert_eq!(prim.apply(&[half]), Err(NumError::ArgumentCount(1)));
    }
    for kind in NumKind::ALL {
        assert_eq!(Prim::To(kind).apply(&[integer]), Ok(integer.to(kind)));
    }
}

#[test]
fn the_f24_sine_of_minus_zero_is_zero() {
    for prim in [Prim::Sin, Prim::Tan] {
        assert_eq!(prim.apply(&[Num::F24(-0.0)]).map(Num::bits), Ok(0));
        assert_eq!(prim.apply(&[Num::F32(-0.0)]).map(Num::bits), Ok(1 << 31));
    }
}
