//! A second definition of the numbers for comparison: slow, by wide integers and f64.

use girih_base::num::{Num, NumKind};
use proptest::prelude::*;

/// The f24 nearest to `value`, ties to even, by counting units of the last place.
pub fn round_to_f24(value: f32) -> f32 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = ((value.to_bits() >> 23 & 0xFF) as i32).max(1) - 127;
    let unit = 2f64.powi(exponent - 15);
    // Units are powers of two and counts have 17 bits, so both are exact; too large a product becomes an infinity.
    ((f64::from(value) / unit).round_ties_even() * unit) as f32
}

/// Whether two numbers are the same: of one kind and with the same bits, so that -0.0 is not 0.0, and NaN is NaN.
pub fn same(a: Num, b: Num) -> bool {
    a.kind() == b.kind() && a.bits() == b.bits()
}

/// Reads `12` as a number of this kind; `inf`, `-inf` and `NaN` are floats.
pub fn read(kind: NumKind, text: &str) -> Num {
    let integer = || text.parse::<i64>().unwrap_or_else(|e| panic!("`{text}`: {e}"));
    let float = || text.parse::<f32>().unwrap_or_else(|e| panic!("`{text}`: {e}"));
    match kind {
        NumKind::U24 | NumKind::U32 | NumKind::I24 | NumKind::I32 => {
            let number = Num::from_bits(kind, integer() as u32);
            assert_eq!(value(number), integer() as f64, "`{text}` is out of range");
            number
        }
        NumKind::F24 => Num::f24(float()),
        NumKind::F32 => Num::F32(float()),
    }
}

/// The value of a number.
pub fn value(number: Num) -> f64 {
    match number {
        Num::U24(value) | Num::U32(value) => f64::from(value),
        Num::I24(value) | Num::I32(value) => f64::from(value),
        Num::F24(value) | Num::F32(value) => f64::from(value),
    }
}

/// Words in which small numbers, numbers at the ends of ranges, and special floats are frequent.
pub fn bits() -> impl Strategy<Value = u32> {
    let integers = [0, 1, 2, 23, 24, 31, 32, 0x7F_FFFF, 0x80_0000, 0xFF_FFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];
    // One, minus one, the infinities, NaN, 2^23, 2^24, 2^32 and the least normal number.
    let floats: [u32; 9] = [
        0x3F80_0000,
        0xBF80_0000,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0x4B00_0000,
        0x4B80_0000,
        0x4F80_0000,
        0x0080_0000,
    ];
    let edges: Vec<u32> = integers.into_iter().chain(floats).chain(floats.map(|bits| bits >> 8)).collect();
    let ordinary = 0x3E00_0000..0x4300_0000u32;
    prop_oneof![3 => any::<u32>(), 1 => 0..100u32, 1 => ordinary, 1 => proptest::sample::select(edges)]
}

/// Numbers of a kind.
pub fn number(kind: NumKind) -> impl Strategy<Value = Num> {
    bits().prop_map(move |bits| Num::from_bits(kind, bits))
}

/// Any kind.
pub fn kind() -> impl Strategy<Value = NumKind> {
    proptest::sample::select(NumKind::ALL.to_vec())
}
