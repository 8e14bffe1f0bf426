//! Every operator on every kind: a table of edge values, and properties against the model.

use girih_base::num::{BinOp, Num, NumError, NumKind};
use proptest::prelude::*;

use super::model::{bits, kind, number, read, round_to_f24, same};

/// Kind, left operand, operator, right operand, result: `zero` is a division by zero, `none` an operator that the kind
/// does not have.
const TABLE: &str = include_str!("operators.txt");

#[test]
fn table_holds_and_covers_every_operator_of_every_kind() {
    let mut missing: Vec<(BinOp, NumKind)> =
        BinOp::ALL.into_iter().flat_map(|op| NumKind::ALL.map(|kind| (op, kind))).collect();
    for row in TABLE.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let [kind, left, symbol, right, "=", expected] = row.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("`{row}` is not a row");
        };
        let kind = NumKind::find(kind).expect(row);
        let op = BinOp::ALL.into_iter().find(|op| op.symbol() == symbol).expect(row);
        let result = Num::apply(op, read(kind, left), read(kind, right));
        match expected {
            "zero" => assert_eq!(result, Err(NumError::DivisionByZero), "{row}"),
            "none" => assert_eq!(result, Err(NumError::Unsupported(op, kind)), "{row}"),
            _ => {
                let kind = if op.is_comparison() { NumKind::U24 } else { kind };
                let result = result.expect(row);
                assert!(same(result, read(kind, expected)), "{row}, but it is {result:?}");
            }
        }
        missing.retain(|pair| *pair != (op, kind));
    }
    assert_eq!(missing, [], "operators without a row");
}

#[test]
fn kinds_mix_within_a_family_only() {
    let of = |kind| Num::U24(5).to(kind);
    for left in NumKind::ALL {
        for right in NumKind::ALL {
            for op in BinOp::ALL {
                let result = Num::apply(op, of(left), of(right));
                match left.join(right) {
                    None => assert_eq!(result, Err(NumError::Mixed(left, right))),
                    Some(kind) if op.is_defined_on(kind) => {
                        assert_eq!(result, Num::apply(op, of(kind), of(kind)));
                        let expected = if op.is_comparison() { NumKind::U24 } else { kind };
                        assert_eq!(result.map(Num::kind), Ok(expected), "{left:?} {op:?} {right:?}");
                    }
                    Some(kind) => assert_eq!(result, Err(NumError::Unsupported(op, kind))),
                }
            }
        }
    }
}

#[test]
fn joined_kinds() {
    use NumKind::*;
    for (left, right, expected) in [
        (U24, U24, Some(U24)),
        (U24, U32, Some(U32)),
        (I32, I24, Some(I32)),
        (F24, F32, Some(F32)),
        (F24, F24, Some(F24)),
        (U24, I24, None),
        (U32, I24, None),
        (F24, U24, None),
        (F32, I32, None),
    ] {
        assert_eq!(left.join(right), expected);
        assert_eq!(right.join(left), expected);
    }
}

/// The result by 64-bit integers, before it is brought into range.
fn wide(op: BinOp, a: i64, b: i64) -> Option<i64> {
    Some(match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::Div => a.checked_div(b)?,
        BinOp::Rem => a.checked_rem(b)?,
        BinOp::Eq => i64::from(a == b),
        BinOp::Ne => i64::from(a != b),
        BinOp::Lt => i64::from(a < b),
        BinOp::Le => i64::from(a <= b),
        BinOp::Gt => i64::from(a > b),
        BinOp::Ge => i64::from(a >= b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << (b % 32),
        BinOp::Shr => a >> (b % 32),
        BinOp::Pow => unreachable!("powers are for floats"),
    })
}

fn wide_float(op: BinOp, a: f64, b: f64) -> f32 {
    (match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Rem => a % b,
        _ => unreachable!("not arithmetic of floats"),
    }) as f32
}

fn integer_kind() -> impl Strategy<Value = NumKind> {
    kind().prop_filter("an integer", |kind| !kind.is_float())
}

fn float_kind() -> impl Strategy<Value = NumKind> {
    kind().prop_filter("a float", |kind| kind.is_float())
}

fn exact(number: Num) -> i64 {
    match number {
        Num::U24(value) | Num::U32(value) => i64::from(value),
        Num::I24(value) | Num::I32(value) => i64::from(value),
        Num::F24(_) | Num::F32(_) => unreachable!("an integer"),
    }
}

fn single(number: Num) -> f32 {
    match number {
        Num::F24(value) | Num::F32(value) => value,
        _ => unreachable!("a float"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn integers_agree_with_wide_integers(kind in integer_kind(), a in bits(), b in bits(), op in 0..BinOp::ALL.len()) {
        let op = BinOp::ALL[op];
        let (a, b) = (Num::from_bits(kind, a), Num::from_bits(kind, b));
        let expected = if !op.supports(kind) {
            Err(NumError::Unsupported(op, kind))
        } else {
            let kind = if op.is_comparison() { NumKind::U24 } else { kind };
            wide(op, exact(a), exact(b)).map(|wide| Num::from_bits(kind, wide as u32)).ok_or(NumError::DivisionByZero)
        };
        prop_assert_eq!(Num::apply(op, a, b), expected);
    }

    #[test]
    fn floats_agree_with_doubles(kind in float_kind(), a in bits(), b in bits(), op in 0..5usize) {
        let op = [BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Div, BinOp::Rem][op];
        let (a, b) = (Num::from_bits(kind, a), Num::from_bits(kind, b));
        // The double has more than twice the bits, so that rounding it gives the correctly rounded f32.
        let exact = wide_float(op, f64::from(single(a)), f64::from(single(b)));
        let expected = if kind == NumKind::F24 { Num::F24(round_to_f24(exact)) } else { Num::F32(exact) };
        let result = Num::apply(op, a, b).unwrap();
        prop_assert!(same(result, expected), "{:?} {} {:?} = {:?}, not {:?}", a, op.symbol(), b, result, expected);
    }

    #[test]
    fn float_comparisons(kind in float_kind(), a in bits(), b in bits()) {
        let (x, y) = (Num::from_bits(kind, a), Num::from_bits(kind, b));
        let (a, b) = (single(x), single(y));
        // An f24 is at most another where it is not greater, and so for NaN; an f32 compares as IEEE 754 says.
        let unordered = kind == NumKind::F24 && (a.is_nan() || b.is_nan());
        for (op, expected) in [
            (BinOp::Eq, a == b), (BinOp::Ne, a != b), (BinOp::Lt, a < b), (BinOp::Gt, a > b),
            (BinOp::Le, a <= b || unordered), (BinOp::Ge, a >= b || unordered),
        ] {
            prop_assert_eq!(Num::apply(op, x, y), Ok(Num::U24(u32::from(expected))), "{} {} {}", a, op.symbol(), b);
        }
    }

    #[test]
    fn results_are_in_range(kind in kind(), a in bits(), b in bits(), op in 0..BinOp::ALL.len()) {
        let result = Num::apply(BinOp::ALL[op], Num::from_bits(kind, a), Num::from_bits(kind, b));
        if let Ok(result) = result {
            prop_assert!(same(Num::from_bits(result.kind(), result.bits()), result), "{:?}", result);
        }
    }

    #[test]
    fn rounding_to_f24(value in any::<u32>().prop_map(f32::from_bits)) {
        prop_assert!(same(Num::f24(value), Num::F24(round_to_f24(value))));
    }

    #[test]
    fn widening_is_exact_where_the_result_is_small(a in number(NumKind::U24), b in 0..1000u32) {
        let narrow = Num::apply(BinOp::Rem, a, Num::U24(b + 1)).unwrap();
        let wide = Num::apply(BinOp::Rem, a, Num::U32(b + 1)).unwrap();
        prop_assert_eq!(wide, narrow.to(NumKind::U32));
    }
}
