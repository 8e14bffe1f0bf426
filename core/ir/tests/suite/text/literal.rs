//! Literals are rounded once, and what is written is read back as it was.

use girih_base::span::Span;
use girih_ir::Scalar;
use girih_ir::text::literal::{Body, Literal, Misfit, write};

fn read(text: &str, ty: Scalar) -> Result<u64, Misfit> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let body = match rest {
        "inf" => Body::Inf,
        "nan" => Body::Nan,
        "true" => Body::Bool(true),
        "false" => Body::Bool(false),
        _ => match rest.strip_prefix("bits(0x").and_then(|r| r.strip_suffix(')')) {
            Some(hex) => Body::Bits(u64::from_str_radix(hex, 16).unwrap()),
            None => Body::Number(rest),
        },
    };
    Literal { negative, body, span: Span::NONE }.bits(ty)
}

#[test]
fn integers_are_held_to_their_range() {
    assert_eq!(read("-128", Scalar::I8), Ok(0x80));
    assert_eq!(read("0xff", Scalar::U8), Ok(255));
    assert_eq!(read("18446744073709551615", Scalar::U64), Ok(u64::MAX));
    assert_eq!(read("-9223372036854775808", Scalar::I64), Ok(1 << 63));
    for (text, ty) in [("128", Scalar::I8), ("-1", Scalar::U32), ("256", Scalar::U8), ("1.0", Scalar::U8)] {
        assert!(read(text, ty).is_err(), "{text} {ty}");
    }
    assert!(read(&"9".repeat(60), Scalar::U64).is_err());
    assert!(read("0xffffffff", Scalar::I32).unwrap_err().hint.is_some());
}

#[test]
fn every_short_float_is_written_and_read_back() {
    for ty in [Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F16, Scalar::Bf16] {
        for bits in 0..=ty.mask() {
            let text = write(bits, ty);
            assert_eq!(read(&text, ty), Ok(bits), "{ty} {bits:#x} {text}");
            assert!(text.len() <= 20, "{ty} {text}");
        }
    }
}

#[test]
fn words_are_written_and_read_back() {
    let mut bits = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..20_000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for ty in Scalar::ALL {
            let bits = (bits >> (64 - ty.bits())) & ty.mask();
            assert_eq!(read(&write(bits, *ty), *ty), Ok(bits), "{ty} {bits:#x}");
        }
    }
}

#[test]
fn decimals_are_rounded_once() {
    // 1 + 2^-11 lies between two f16; a digit far behind decides.
    let tie = "1.00048828125";
    assert_eq!(read(tie, Scalar::F16), Ok(0x3c00));
    assert_eq!(read(&format!("{tie}{}1", "0".repeat(40)), Scalar::F16), Ok(0x3c01));
    assert_eq!(read("1.0004882812499999999999999999999999", Scalar::F16), Ok(0x3c00));
    assert_eq!(read("65519.99999999999999999999999", Scalar::F16), Ok(0x7bff));
    assert!(read("65520", Scalar::F16).is_err());
    assert_eq!(read("448", Scalar::F8E4M3), Ok(0x7e));
    assert!(read("inf", Scalar::F8E4M3).is_err());
    assert!(read("1e39", Scalar::F32).is_err());
    assert_eq!(read("1e-400", Scalar::F64), Ok(0));
    assert_eq!(read("2", Scalar::F32), Ok(0x4000_0000));
}

#[test]
fn shortest_texts() {
    assert_eq!(write(0x3dcc_cccd, Scalar::F32), "0.1");
    assert_eq!(write(0x2e66, Scalar::F16), "0.1");
    assert_eq!(write(0x8000_0000, Scalar::F32), "-0.0");
    assert_eq!(write(0x7fc0_0000, Scalar::F32), "nan");
    assert_eq!(write(0x7fc0_0001, Scalar::F32), "bits(0x7fc00001)");
    assert_eq!(write(u64::MAX, Scalar::I64), "-1");
}
