//! How numbers are printed.

use girih_base::num::{Num, NumError, NumKind};
use proptest::prelude::*;

#[test]
fn as_bend_prints_them() {
    for (number, expected) in [
        (Num::U24(5), "5"),
        (Num::U24(16_777_215), "16777215"),
        (Num::I24(5), "+5"),
        (Num::I24(-5), "-5"),
        (Num::I24(0), "+0"),
        (Num::I24(-8_388_608), "-8388608"),
        (Num::f24(1.0), "1.000"),
        (Num::f24(-2.5), "-2.500"),
        (Num::f24(2.7182817), "2.718"),
        (Num::f24(0.0004), "0.000"),
        (Num::F24(-0.0), "-0.000"),
        (Num::f24(1e10), "10000007168.000"),
        (Num::F24(f32::INFINITY), "inf"),
        (Num::F24(f32::NEG_INFINITY), "-inf"),
        (Num::F24(f32::NAN), "NaN"),
        (Num::U32(4_294_967_295), "4294967295"),
        (Num::I32(7), "+7"),
        (Num::I32(-2_147_483_648), "-2147483648"),
        (Num::F32(1.0), "1.0"),
        (Num::F32(0.1), "0.1"),
        (Num::F32(-0.0), "-0.0"),
        (Num::F32(16_777_216.0), "16777216.0"),
        (Num::F32(1e20), "100000000000000000000.0"),
        (Num::F32(1e-7), "0.0000001"),
        (Num::F32(f32::NEG_INFINITY), "-inf"),
        (Num::F32(f32::NAN), "NaN"),
    ] {
        assert_eq!(number.to_string(), expected);
    }
}

#[test]
fn errors_name_what_is_wrong() {
    use girih_base::num::BinOp;
    assert_eq!(NumError::DivisionByZero.to_string(), "division by zero");
    assert_eq!(
        NumError::Mixed(NumKind::U24, NumKind::F24).to_string(),
        "a number of kind `u24` meets one of kind `f24`"
    );
    assert_eq!(
        NumError::Unsupported(BinOp::Shl, NumKind::I24).to_string(),
        "numbers of kind `i24` have no operator `<<`"
    );
}

proptest! {
    #[test]
    fn an_f32_reads_back(bits in any::<u32>()) {
        let value = f32::from_bits(bits);
        let text = Num::F32(value).to_string();
        if value.is_finite() {
            prop_assert!(text.contains('.'), "{}", text);
            prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits);
        }
    }

    #[test]
    fn kinds_are_found_by_name(kind in super::model::kind()) {
        prop_assert_eq!(NumKind::find(kind.name()), Some(kind));
    }
}
