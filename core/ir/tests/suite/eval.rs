//! Scalar arithmetic against formulations that share nothing with it: integers in `i128`, short floats by search among
//! all numbers of the type with exact comparisons, `f32` by the host's own instructions.

use girih_ir::eval::{function, int_value, narrow, scalar, widen};
use girih_ir::ops::{Class, Pattern, Suffix};
use girih_ir::{Op, Scalar};
use std::cmp::Ordering;

const INTEGERS: [Scalar; 8] =
    [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64];

fn of(op: Op, ty: Scalar, operands: &[u64]) -> u64 {
    scalar(op, ty, ty, operands).unwrap_or_else(|| panic!("{} has no meaning at {ty}", op.name()))
}
fn convert(source: Scalar, target: Scalar, bits: u64) -> u64 {
    scalar(Op::Convert, target, source, &[bits]).expect("every pair converts")
}

/// Numbers without end: xorshift.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// What an integer operation gives, in `i128`.
fn integer_model(op: Op, ty: Scalar, a: u64, b: u64) -> u64 {
    let (x, y, width) = (int_value(a, ty), int_value(b, ty), ty.bits());
    let bit = |i: u32| a >> i & 1 == 1;
    let result = match op {
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => return (a as u128 * b as u128) as u64 & ty.mask(),
        Op::Div => {
            if y == 0 {
                x
            } else {
                x / y
            }
        }
        Op::Rem => {
            if y == 0 {
                0
            } else {
                x % y
            }
        }
        Op::MulHi => {
            if ty.is_signed() {
                (x * y) >> width
            } else {
                ((x as u128 * y as u128) >> width) as i128
            }
        }
        Op::Neg => -x,
        Op::Abs => {
            if x < 0 {
                -x
            } else {
                x
            }
        }
        Op::Min => {
            if x < y {
                x
            } else {
                y
            }
        }
        Op::Max => {
            if x > y {
                x
            } else {
                y
            }
        }
        Op::And => x & y,
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::Not => -1 - x,
        Op::Shl => x << y.rem_euclid(width.into()),
        Op::Shr => x.div_euclid(1 << y.rem_euclid(width.into())),
        Op::Clz => (0..width).rev().take_while(|i| !bit(*i)).count() as i128,
        Op::Ctz => (0..width).take_while(|i| !bit(*i)).count() as i128,
        Op::Popc => (0..width).filter(|i| bit(*i)).count() as i128,
        Op::ReverseBits => (0..width).filter(|i| bit(*i)).map(|i| 1 << (width - 1 - i)).sum(),
        Op::Eq => (x == y).into(),
        Op::Ne => (x != y).into(),
        Op::Lt => (x < y).into(),
        Op::Le => (x <= y).into(),
        Op::Gt => (x > y).into(),
        Op::Ge => (x >= y).into(),
        other => panic!("{other:?} is not modelled"),
    };
    result as u64 & ty.mask()
}

const UNARY: [Op; 7] = [Op::Neg, Op::Abs, Op::Not, Op::Clz, Op::Ctz, Op::Popc, Op::ReverseBits];
const BINARY: [Op; 19] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Div,
    Op::Rem,
    Op::MulHi,
    Op::Min,
    Op::Max,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Shl,
    Op::Shr,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
    Op::Ge,
];

fn check_integers(ty: Scalar, a: u64, b: u64) {
    for op in UNARY.into_iter().filter(|op| ty.is_signed() || !matches!(op, Op::Neg | Op::Abs)) {
        assert_eq!(of(op, ty, &[a]), integer_model(op, ty, a, 0), "{}.{ty} {a:#x}", op.name());
    }
    for op in BINARY {
        assert_eq!(of(op, ty, &[a, b]), integer_model(op, ty, a, b), "{}.{ty} {a:#x}, {b:#x}", op.name());
    }
}

#[test]
fn integers_of_8_bits_in_all_pairs() {
    for ty in [Scalar::I8, Scalar::U8] {
        (0..256).for_each(|a| (0..256).for_each(|b| check_integers(ty, a, b)));
    }
}

#[test]
fn wider_integers_at_edges_and_at_random() {
    let mut state = 7;
    for ty in INTEGERS {
        let edges = [0, 1, 2, 7, 8, 31, 32, 63, 64, ty.mask() >> 1, (ty.mask() >> 1) + 1, ty.mask() - 1, ty.mask()];
        for a in edges {
            for b in edges {
                check_integers(ty, a & ty.mask(), b & ty.mask());
            }
        }
        for _ in 0..20_000 {
            let (a, b) = (random(&mut state) & ty.mask(), random(&mut state) & ty.mask());
            check_integers(ty, a, b);
            check_integers(ty, a, b >> (ty.bits() / 2));
            let c = random(&mut state) & ty.mask();
            let sum = (a as u128 * b as u128 + c as u128) as u64 & ty.mask();
            assert_eq!(of(Op::Mad, ty, &[a, b, c]), sum);
        }
    }
}

#[test]
fn integers_of_16_bits_one_by_one() {
    for ty in [Scalar::I16, Scalar::U16] {
        (0..=0xffff).for_each(|a| check_integers(ty, a, a.rotate_left(5) & 0xffff));
    }
}

#[test]
fn truth_values() {
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert_eq!(of(Op::And, Scalar::Bool, &[a, b]), a * b);
        assert_eq!(of(Op::Or, Scalar::Bool, &[a, b]), a.max(b));
        assert_eq!(of(Op::Xor, Scalar::Bool, &[a, b]), (a + b) % 2);
        assert_eq!(of(Op::Eq, Scalar::Bool, &[a, b]), u64::from(a == b));
        assert_eq!(of(Op::Ne, Scalar::Bool, &[a, b]), u64::from(a != b));
        assert_eq!(of(Op::Not, Scalar::Bool, &[a]), 1 - a);
        assert_eq!(of(Op::Select, Scalar::U8, &[a, 3, 4]), 4 - a);
    }
}

const SHORT: [Scalar; 4] = [Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F16, Scalar::Bf16];

/// A short float by its definition: (mantissa bits, bias, bits of the first number that is not finite, whether that stands for
/// infinity).
fn shape(ty: Scalar) -> (u32, i32, u64, bool) {
    match ty {
        Scalar::F8E4M3 => (3, 7, 0x7f, false),
        Scalar::F8E5M2 => (2, 15, 0x7c, false),
        Scalar::F16 => (10, 15, 0x7c00, true),
        _ => (7, 127, 0x7f80, true),
    }
}

/// The value that positive bits would have if no exponent were kept for infinities.
fn by_definition(bits: u64, ty: Scalar) -> f64 {
    let (mantissa, bias, ..) = shape(ty);
    let (field, fraction) = ((bits >> mantissa) as i32, (bits % (1 << mantissa)) as f64 / (1u64 << mantissa) as f64);
    if field == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(field - bias) }
}

#[test]
fn short_floats_mean_what_their_definition_says() {
    for ty in SHORT {
        let (.., end, infinite) = shape(ty);
        let sign = 1 << (ty.bits() - 1);
        for bits in 0..end {
            assert_eq!(widen(bits, ty), by_definition(bits, ty), "{ty} {bits:#x}");
            assert_eq!(widen(bits | sign, ty).to_bits(), (-by_definition(bits, ty)).to_bits(), "{ty} -{bits:#x}");
        }
        assert_eq!(widen(end, ty) == f64::INFINITY, infinite || ty == Scalar::F8E5M2);
        (end + 1..sign).for_each(|bits| assert!(widen(bits, ty).is_nan(), "{ty} {bits:#x}"));
    }
    for bits in 0..=0xffff_u16 {
        let (a, b) = (half::f16::from_bits(bits).to_f64(), half::bf16::from_bits(bits).to_f64());
        assert!(widen(bits.into(), Scalar::F16) == a || a.is_nan());
        assert!(widen(bits.into(), Scalar::Bf16) == b || b.is_nan());
    }
}

#[test]
fn rounding_around_every_midpoint() {
    for ty in SHORT {
        let (.., end, infinite) = shape(ty);
        let sign = 1 << (ty.bits() - 1);
        let beyond = if infinite { end } else { end - 1 };
        for low in 0..end {
            let high = (low + 1).min(beyond);
            let middle = (by_definition(low, ty) + by_definition(low + 1, ty)) / 2.0;
            let near = |up: bool| f64::from_bits(if up { middle.to_bits() + 1 } else { middle.to_bits() - 1 });
            assert_eq!(narrow(middle, ty), if low % 2 == 0 { low } else { high }, "{ty} half above {low:#x}");
            assert_eq!(narrow(near(false), ty), low, "{ty} below half above {low:#x}");
            assert_eq!(narrow(near(true), ty), high, "{ty} above half above {low:#x}");
            assert_eq!(narrow(-near(true), ty), high | sign);
            assert_eq!(narrow(by_definition(low, ty), ty), low);
        }
        for large in [1e39, f64::MAX, f64::INFINITY] {
            assert_eq!((narrow(large, ty), narrow(-large, ty)), (beyond, beyond | sign), "{ty} {large}");
        }
        assert!(widen(narrow(f64::NAN, ty), ty).is_nan());
        for tiny in [f64::from_bits(1), f64::MIN_POSITIVE, 1e-60] {
            assert_eq!((narrow(tiny, ty), narrow(-tiny, ty)), (0, sign));
        }
    }
}

/// The f16 nearest to an exact magnitude, which is compared with doubled midpoints (in units of 2^-25) by `compare`.
fn nearest_f16(compare: impl Fn(i128) -> Ordering) -> u64 {
    let unit = |bits: u64| (by_definition(bits, Scalar::F16) * 16_777_216.0) as i128;
    let (mut low, mut high) = (0, 0x7c00);
    while low < high {
        let middle = (low + high) / 2;
        let up = match compare(unit(middle) + unit(middle + 1)) {
            Ordering::Greater => true,
            Ordering::Equal => middle % 2 == 1,
            Ordering::Less => false,
        };
        if up { low = middle + 1 } else { high = middle }
    }
    low
}
/// The nearest to a signed number of units of 2^-`scale`, with the sign of a zero left open.
fn nearest_scaled(value: i128, scale: u32) -> u64 {
    let magnitude = nearest_f16(|m| value.abs().cmp(&(m << (scale - 25))));
    if value < 0 { magnitude | 0x8000 } else { magnitude }
}
/// Equal, a zero's sign aside.
fn same(a: u64, b: u64, sign: u64) -> bool {
    a == b || (a | b) & !sign == 0
}
/// The value in units of 2^-24.
fn units(bits: u64) -> i128 {
    (widen(bits, Scalar::F16) * 16_777_216.0) as i128
}

#[test]
fn f16_arithmetic_is_rounded_once_from_the_exact_result() {
    let mut state = 3;
    let edges = [0, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x4000, 0x7bff, 0x6400, 0x1400, 0x2e66];
    let mut triples: Vec<[u64; 3]> = vec![];
    for a in edges {
        for b in edges {
            triples.extend(edges.iter().flat_map(|c| [[a, b, *c], [a, b, c | 0x8000], [a | 0x8000, b, *c]]));
        }
    }
    let mut finite = || loop {
        let bits = random(&mut state) & 0xffff;
        if bits & 0x7c00 != 0x7c00 {
            return bits;
        }
    };
    triples.extend((0..100_000).map(|_| [finite(), finite(), finite()]));
    for [a, b, c] in triples {
        let (x, y, z) = (units(a), units(b), units(c));
        let check = |op: Op, operands: &[u64], expected: u64| {
            let found = of(op, Scalar::F16, operands);
            assert!(same(found, expected, 0x8000), "{} {operands:x?}: {found:x} is not {expected:x}", op.name());
        };
        check(Op::Add, &[a, b], nearest_scaled(2 * (x + y), 25));
        check(Op::Sub, &[a, b], nearest_scaled(2 * (x - y), 25));
        check(Op::Mul, &[a, b], nearest_scaled(x * y, 48));
        check(Op::Fma, &[a, b, c], nearest_scaled(x * y + (z << 24), 48));
        if y != 0 {
            let magnitude = nearest_f16(|m| (x.abs() << 25).cmp(&(m * y.abs())));
            check(Op::Div, &[a, b], magnitude | (a ^ b) & 0x8000);
        }
    }
}

#[test]
fn f16_functions_of_one_number_in_full() {
    for bits in 0..0x7c00 {
        let x = units(bits);
        let root = nearest_f16(|m| (x << 26).cmp(&(m * m)));
        assert_eq!(of(Op::Sqrt, Scalar::F16, &[bits]), root, "sqrt {bits:#x}");
        let one = 1 << 24;
        let (floor, rest) = (x / one * one, x % one);
        let ceil = if rest == 0 { floor } else { floor + one };
        let even = match (2 * rest).cmp(&one) {
            Ordering::Less => floor,
            Ordering::Equal => {
                if floor / one % 2 == 0 {
                    floor
                } else {
                    ceil
                }
            }
            Ordering::Greater => ceil,
        };
        for (op, positive, negative) in
            [(Op::Floor, floor, ceil), (Op::Ceil, ceil, floor), (Op::Trunc, floor, floor), (Op::Round, even, even)]
        {
            assert_eq!(units(of(op, Scalar::F16, &[bits])), positive, "{} {bits:#x}", op.name());
            assert_eq!(units(of(op, Scalar::F16, &[bits | 0x8000])), -negative, "{} -{bits:#x}", op.name());
        }
        for target in INTEGERS {
            let (least, most) = (
                int_value(target.mask() / 2 + 1, target).min(0),
                int_value(target.mask() >> u32::from(target.is_signed()), target),
            );
            let expected = |v: i128| v.clamp(least, most) as u64 & target.mask();
            assert_eq!(convert(Scalar::F16, target, bits), expected(x / one), "f16 {bits:#x} to {target}");
            assert_eq!(convert(Scalar::F16, target, bits | 0x8000), expected(-x / one), "f16 -{bits:#x} to {target}");
        }
        assert_eq!(convert(Scalar::F16, Scalar::Bool, bits), u64::from(bits != 0));
    }
}

/// A number of bits of `ty` that is often an edge.
fn operand(state: &mut u64, ty: Scalar) -> u64 {
    let bits = random(state);
    let exponents = [0, 1, 0x7f, 0x7e, 0x80, 0x67, 0xff, 0xfe, 0x97];
    match bits >> 60 {
        0..4 => bits & ty.mask(),
        4..8 => narrow(f64::from(bits as i32 % 1000) / 8.0, ty),
        8..12 => (exponents[(bits % 9) as usize] << 23 | bits >> 20 & 0x8000_000f) >> (32 - ty.bits().min(32)),
        _ => (bits >> 8 & 0x83ff_ffff | 0x3e00_0000) >> (32 - ty.bits().min(32)),
    }
}

#[test]
fn f32_agrees_with_the_host() {
    let mut state = 11;
    let float = |bits: u64| f32::from_bits(bits as u32);
    for _ in 0..400_000 {
        let [a, b, c] = [0; 3].map(|_| operand(&mut state, Scalar::F32));
        let (x, y, z) = (float(a), float(b), float(c));
        let check = |op: Op, operands: &[u64], expected: f32| {
            let found = float(of(op, Scalar::F32, operands));
            let equal = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(equal, "{} {operands:x?}: {found:e} is not {expected:e}", op.name());
        };
        check(Op::Add, &[a, b], x + y);
        check(Op::Sub, &[a, b], x - y);
        check(Op::Mul, &[a, b], x * y);
        check(Op::Div, &[a, b], x / y);
        check(Op::Fma, &[a, b, c], x.mul_add(y, z));
        check(Op::Mad, &[a, b, c], x * y + z);
        check(Op::Sqrt, &[a], x.sqrt());
        check(Op::Floor, &[a], x.floor());
        check(Op::Round, &[a], x.round_ties_even());
        check(Op::Neg, &[a], -x);
        assert_eq!(of(Op::Lt, Scalar::F32, &[a, b]), u64::from(x < y));
        assert_eq!(of(Op::Ne, Scalar::F32, &[a, b]), u64::from(x != y));
        assert_eq!(convert(Scalar::F32, Scalar::I32, a), u64::from(x as i32 as u32));
        assert_eq!(convert(Scalar::F32, Scalar::U64, a), x as u64);
    }
}

#[test]
fn fused_products_next_to_midpoints() {
    // c is a number, the product half a unit of it and a little more or less, far below what f64 holds beside c.
    let one = |e: i32| u64::from(2f32.powi(e).to_bits());
    let eps = u64::from((1.0 + f32::EPSILON).to_bits());
    for (a, b, c) in
        [(eps, one(-24), one(0)), (eps, one(-60), one(37)), (one(-24), one(0), one(0)), (eps, eps, one(24))]
    {
        for sign in [0, 1 << 31] {
            let float = |bits: u64| f32::from_bits(bits as u32);
            let expected = float(a ^ sign).mul_add(float(b), float(c));
            assert_eq!(of(Op::Fma, Scalar::F32, &[a ^ sign, b, c]), u64::from(expected.to_bits()));
        }
    }
    // 2^-24 + 2^-48 beside 65504: the product of 2^-24 and 1 + 2^-10 is lost without care.
    assert_eq!(of(Op::Fma, Scalar::F16, &[0x0001, 0x3c01, 0x7bff]), 0x7bff);
    // 1 + 2^-8 (half a bf16 unit) + 2^-100: rounds up, though f64 cannot hold the sum.
    let bf16 = |e: i32| u64::from((2f32).powi(e).to_bits() >> 16);
    let half = of(Op::Add, Scalar::Bf16, &[bf16(-8), 0]);
    assert_eq!(of(Op::Fma, Scalar::Bf16, &[half, bf16(0), bf16(0)]), 0x3f80);
    let more = half + 1;
    assert_eq!(of(Op::Fma, Scalar::Bf16, &[more, bf16(0), bf16(0)]), 0x3f81);
}

#[test]
fn bf16_products_and_sums_by_search() {
    let mut state = 5;
    for _ in 0..60_000 {
        let [a, b, c] = [0; 3].map(|_| (0x3400 + random(&mut state) % 0x1800) | random(&mut state) & 0x8000);
        // Exponents of 2^-23 to 2^25: exact in i128 at units of 2^-30 each.
        let unit = |bits: u64| (widen(bits, Scalar::Bf16) * 2f64.powi(30)) as i128;
        let (x, y, z) = (unit(a), unit(b), unit(c));
        for (op, exact) in [(Op::Add, (x + y) << 30), (Op::Mul, x * y), (Op::Fma, x * y + (z << 30))] {
            let operands = if op == Op::Fma { &[a, b, c][..] } else { &[a, b][..] };
            let found = of(op, Scalar::Bf16, operands);
            // Scaled by 2^60, exact values stay below 2^112. Neighbours of a nearest number are not nearer.
            let value = |bits: u64| (widen(bits, Scalar::Bf16) * 2f64.powi(60)) as i128;
            let distance = |bits: u64| (exact - value(bits)).abs();
            for other in [found + 1, found.wrapping_sub(1)] {
                if found & 0x7fff != 0 {
                    let nearer = distance(found).cmp(&distance(other));
                    let right = nearer == Ordering::Less || nearer == Ordering::Equal && found & 1 == 0;
                    assert!(right, "{} {operands:x?} gives {found:x}, {other:x} is nearer", op.name());
                }
            }
        }
    }
}

#[test]
fn integers_to_floats_are_rounded_once() {
    let mut state = 9;
    let edges = [0, 1, 2047, 2048, 2049, 2051, 65504, 65519, 65520, 65535, 65536, (1 << 53) + 1, u64::MAX, 1 << 63];
    let numbers = (0..40_000).map(|i| random(&mut state) >> (i % 64)).chain(edges).collect::<Vec<_>>();
    for source in INTEGERS {
        for bits in &numbers {
            let bits = bits & source.mask();
            let value = int_value(bits, source);
            assert_eq!(convert(source, Scalar::F16, bits), nearest_scaled(value << 25, 25), "{source} {bits:#x}");
            assert_eq!(convert(source, Scalar::F32, bits), u64::from((value as f32).to_bits()), "{source} {bits:#x}");
            assert_eq!(convert(source, Scalar::F64, bits), (value as f64).to_bits(), "{source} {bits:#x}");
            for target in INTEGERS {
                assert_eq!(convert(source, target, bits), value as u64 & target.mask());
            }
        }
    }
    // Between two bf16 midpoints by one in 2^62: f64 alone would round twice.
    let tie = (1 << 62) + (1 << 54);
    assert_eq!(convert(Scalar::U64, Scalar::Bf16, tie), 0x5e80);
    assert_eq!(convert(Scalar::U64, Scalar::Bf16, tie + 1), 0x5e81);
    assert_eq!(convert(Scalar::I64, Scalar::Bf16, (tie + 1).wrapping_neg()), 0xde81);
    assert_eq!(convert(Scalar::U32, Scalar::F8E4M3, 1000), 0x7e);
    assert_eq!(convert(Scalar::I32, Scalar::F8E5M2, 0xffff_ffff), 0xbc);
}

#[test]
fn not_a_number_and_zeros() {
    let (nan, infinity) = (0x7fc1_2345, u64::from(f32::INFINITY.to_bits()));
    let (zero, minus_zero, one) = (0, 0x8000_0000, u64::from(1f32.to_bits()));
    for op in [Op::Min, Op::Max] {
        assert_eq!(of(op, Scalar::F32, &[nan, one]), one);
        assert_eq!(of(op, Scalar::F32, &[one, nan]), one);
        assert_eq!(of(op, Scalar::F32, &[nan, nan]), 0x7fc0_0000);
    }
    assert_eq!(of(Op::Min, Scalar::F32, &[zero, minus_zero]), minus_zero);
    assert_eq!(of(Op::Min, Scalar::F32, &[minus_zero, zero]), minus_zero);
    assert_eq!(of(Op::Max, Scalar::F32, &[zero, minus_zero]), zero);
    assert_eq!(of(Op::Max, Scalar::F32, &[minus_zero, zero]), zero);
    assert_eq!(of(Op::Sub, Scalar::F32, &[infinity, infinity]), 0x7fc0_0000);
    assert_eq!(of(Op::Ne, Scalar::F32, &[nan, nan]), 1);
    assert_eq!(of(Op::Eq, Scalar::F32, &[nan, nan]), 0);
    assert_eq!(of(Op::Eq, Scalar::F32, &[zero, minus_zero]), 1);
    for target in INTEGERS {
        assert_eq!(convert(Scalar::F32, target, nan), 0);
        assert_eq!(
            convert(Scalar::F32, target, infinity),
            if target.is_signed() { target.mask() >> 1 } else { target.mask() }
        );
    }
    assert_eq!(convert(Scalar::F32, Scalar::Bool, nan), 1);
    assert_eq!(convert(Scalar::F32, Scalar::Bool, minus_zero), 0);
    assert_eq!(convert(Scalar::Bool, Scalar::F16, 1), 0x3c00);
}

#[test]
fn every_row_that_says_so_has_a_meaning() {
    for op in Op::ALL {
        let row = op.row();
        let (Suffix::Lanes(set) | Suffix::Scalar(set)) = row.suffix else { continue };
        let scalars = row.operands.iter().all(|p| matches!(p, Pattern::T | Pattern::Bool | Pattern::Source));
        if !op.is_pure()
            || !scalars
            || row.operands.is_empty()
            || matches!(row.class, Class::Library(_) | Class::Bounded(5.., _))
        {
            continue;
        }
        for ty in Scalar::ALL {
            assert_eq!(function(*op, *ty, *ty).is_some(), set.has(*ty), "{}.{ty}", op.name());
        }
    }
}

#[test]
fn formats_are_those_of_the_numbers() {
    for ty in Scalar::ALL.iter().copied().filter(|ty| ty.is_float()) {
        let format = ty.float_format().expect("it is a float");
        assert_eq!(1 + format.exponent + format.mantissa, ty.bits(), "{ty}");
        assert_eq!(ty.one_bits(), narrow(1.0, ty), "{ty}");
        assert_eq!(format.sign(), narrow(-0.0, ty), "{ty}");
        if ty != Scalar::F8E4M3 {
            assert!(widen(format.infinity(), ty).is_infinite(), "{ty}");
        }
    }
    assert!(Scalar::ALL.iter().all(|ty| ty.is_float() || ty.float_format().is_none() && ty.one_bits() == 1));
}
