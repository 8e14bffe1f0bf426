//! Conversions between all kinds.

use girih_base::num::{Num, NumKind};
use proptest::prelude::*;

use super::model::{bits, kind, read, round_to_f24, same, value};

/// A number, and what it becomes as u24, i24, f24, u32, i32, f32.
const TABLE: &[(NumKind, &str, [&str; 6])] = {
    use NumKind::*;
    &[
        (U24, "0", ["0", "0", "0.0", "0", "0", "0.0"]),
        (U24, "16777215", ["16777215", "-1", "16777216.0", "16777215", "16777215", "16777215.0"]),
        (U24, "8388608", ["8388608", "-8388608", "8388608.0", "8388608", "8388608", "8388608.0"]),
        // In the middle between two f24: once to the even one below, once above.
        (U24, "65537", ["65537", "65537", "65536.0", "65537", "65537", "65537.0"]),
        (U24, "65539", ["65539", "65539", "65540.0", "65539", "65539", "65539.0"]),
        (I24, "-1", ["16777215", "-1", "-1.0", "4294967295", "-1", "-1.0"]),
        (I24, "-8388608", ["8388608", "-8388608", "-8388608.0", "4286578688", "-8388608", "-8388608.0"]),
        (I24, "8388607", ["8388607", "8388607", "8388608.0", "8388607", "8388607", "8388607.0"]),
        (F24, "2.75", ["2", "2", "2.75", "2", "2", "2.75"]),
        (F24, "-2.75", ["0", "-2", "-2.75", "0", "-2", "-2.75"]),
        (F24, "-0.0", ["0", "0", "-0.0", "0", "0", "-0.0"]),
        (F24, "1e30", ["16777215", "8388607", "1e30", "4294967295", "2147483647", "1.0000041e30"]),
        (F24, "-1e30", ["0", "-8388608", "-1e30", "0", "-2147483648", "-1.0000041e30"]),
        (F24, "16777216.0", ["16777215", "8388607", "16777216.0", "16777216", "16777216", "16777216.0"]),
        (F24, "inf", ["16777215", "8388607", "inf", "4294967295", "2147483647", "inf"]),
        (F24, "-inf", ["0", "-8388608", "-inf", "0", "-2147483648", "-inf"]),
        (F24, "NaN", ["0", "0", "NaN", "0", "0", "NaN"]),
        (U32, "4294967295", ["16777215", "-1", "4294967296.0", "4294967295", "-1", "4294967296.0"]),
        (U32, "16777217", ["1", "1", "16777216.0", "16777217", "16777217", "16777216.0"]),
        (U32, "25165824", ["8388608", "-8388608", "25165824.0", "25165824", "25165824", "25165824.0"]),
        (I32, "-1", ["16777215", "-1", "-1.0", "4294967295", "-1", "-1.0"]),
        (I32, "-2147483648", ["0", "0", "-2147483648.0", "2147483648", "-2147483648", "-2147483648.0"]),
        (I32, "2147483647", ["16777215", "-1", "2147483648.0", "2147483647", "2147483647", "2147483648.0"]),
        (F32, "0.1", ["0", "0", "0.1", "0", "0", "0.1"]),
        (F32, "3.4e38", ["16777215", "8388607", "3.4e38", "4294967295", "2147483647", "3.4e38"]),
        (F32, "3.4028235e38", ["16777215", "8388607", "inf", "4294967295", "2147483647", "3.4028235e38"]),
        (F32, "-1e-45", ["0", "0", "-0.0", "0", "0", "-1e-45"]),
        (F32, "8388607.5", ["8388607", "8388607", "8388608.0", "8388607", "8388607", "8388607.5"]),
        (F32, "NaN", ["0", "0", "NaN", "0", "0", "NaN"]),
    ]
};

#[test]
fn table_holds() {
    for (kind, text, results) in TABLE {
        let number = read(*kind, text);
        for (target, expected) in NumKind::ALL.into_iter().zip(results) {
            let result = number.to(target);
            assert!(same(result, read(target, expected)), "{number:?} as {target:?} is {result:?}, not {expected}");
        }
    }
}

#[test]
fn bits_of_f24_are_the_upper_ones() {
    assert_eq!(Num::f24(1.0).bits(), 0x3F_8000);
    assert_eq!(Num::from_bits(NumKind::F24, 0xBF_8000), Num::F24(-1.0));
    assert_eq!(Num::I24(-1).bits(), 0xFF_FFFF);
    assert_eq!(Num::from_bits(NumKind::I24, 0xFF_FFFF), Num::I24(-1));
    assert_eq!(Num::from_bits(NumKind::U24, 0x0100_0005), Num::U24(5));
    assert_eq!(Num::F32(-f32::NAN).bits(), Num::F32(f32::NAN).bits());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn bits_and_back(kind in kind(), bits in bits()) {
        let number = Num::from_bits(kind, bits);
        prop_assert_eq!(number.kind(), kind);
        prop_assert!(same(Num::from_bits(kind, number.bits()), number));
        prop_assert!(same(number.to(kind), number));
    }

    #[test]
    fn conversions_agree_with_doubles(from in kind(), to in kind(), bits in bits()) {
        let number = Num::from_bits(from, bits);
        let exact = value(number);
        let expected = match to {
            NumKind::F32 => Num::F32(exact as f32),
            NumKind::F24 => Num::F24(round_to_f24(exact as f32)),
            _ if from.is_float() => {
                let (least, most) = match to {
                    NumKind::U24 => (0.0, 16_777_215.0),
                    NumKind::I24 => (-8_388_608.0, 8_388_607.0),
                    NumKind::U32 => (0.0, 4_294_967_295.0),
                    _ => (-2_147_483_648.0, 2_147_483_647.0),
                };
                Num::from_bits(to, exact.trunc().clamp(least, most) as i64 as u32)
            }
            _ => Num::from_bits(to, exact as i64 as u32),
        };
        let result = number.to(to);
        prop_assert!(same(result, expected), "{:?} as {:?}: {:?}, not {:?}", number, to, result, expected);
    }
}
