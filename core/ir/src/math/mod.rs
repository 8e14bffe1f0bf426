//! The math library: functions of the IR, in its text, that give the same bits on every device.
//!
//! They use only operations that are exact or correctly rounded everywhere: sums, differences and products of `f32`, never
//! contracted; words and their bits; comparisons, selections, bitcasts, and integers to floats. There is no `fma`, no division,
//! no root, nothing of 64 bits. A device may flush denormal numbers: denormal arguments and results are handled as
//! integers, and no denormal intermediate matters, so that results do not depend on it either.
//!
//! | file | routines |
//! |---|---|
//! | `division.gir` | quotients, and the packing of floats that others share |
//! | `root.gir` | square root, reciprocal square root |
//! | `fma.gir` | fused product and sum |
//! | `convert.gir` | `f16`, `bf16` and the 8-bit floats |
//! | `exponential.gir`, `logarithm.gir`, `power.gir` | powers and logarithms, hyperbolic tangent |
//! | `trigonometric.gir`, `inverse.gir` | sine, cosine, tangent and their inverses |
//! | `wide.gir` | quotients and conversions of 64-bit integers as pairs of words, the lower one first |
//!
//! Each routine is also a plain Rust function in the tests of the reference machine (`core/machine/tests/suite/prototype`). These functions were checked on all `f32` (the
//! comments say with which result), and the tests compare the text with them.

use super::function::Module;
use super::ops::Op;
use super::text;
use super::types::Scalar;
use girih_base::span::Span;
use std::sync::OnceLock;

/// The library's files: name and text. Together they are one module; every function's name starts with `math.`.
pub const FILES: &[(&str, &str)] = &[
    ("division.gir", include_str!("division.gir")),
    ("root.gir", include_str!("root.gir")),
    ("fma.gir", include_str!("fma.gir")),
    ("convert.gir", include_str!("convert.gir")),
    ("exponential.gir", include_str!("exponential.gir")),
    ("logarithm.gir", include_str!("logarithm.gir")),
    ("power.gir", include_str!("power.gir")),
    ("trigonometric.gir", include_str!("trigonometric.gir")),
    ("inverse.gir", include_str!("inverse.gir")),
    ("wide.gir", include_str!("wide.gir")),
];

/// All functions of the library, read once.
pub fn library() -> &'static Module {
    static LIBRARY: OnceLock<Module> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let texts: Vec<&str> = FILES.iter().map(|(_, text)| *text).collect();
        let parsed = text::parse(Span::NONE.source, &texts.concat());
        parsed.expect("the math library is read in tests").module
    })
}

/// Which function stands for an operation on numbers of a type.
///
/// Its parameters and results are the operation's, with these representations: an `f16` or a `bf16` is the `f32` of the
/// same value; an `i64` or a `u64` is two `u32`, the lower one first. Arithmetic on `f16` and `bf16` other than [`Op::Fma`]
/// needs no function of its own: it is that on `f32`, rounded once more.
pub const ROUTINES: &[(Op, &[Scalar], &str)] = &[
    (Op::Div, &[Scalar::F32], "math.div"),
    (Op::Sqrt, &[Scalar::F32], "math.sqrt"),
    (Op::Rsqrt, &[Scalar::F32], "math.rsqrt"),
    (Op::Fma, &[Scalar::F32], "math.fma"),
    (Op::Fma, &[Scalar::F16], "math.fma_f16"),
    (Op::Fma, &[Scalar::Bf16], "math.fma_bf16"),
    (Op::Exp, &[Scalar::F32], "math.exp"),
    (Op::Exp2, &[Scalar::F32], "math.exp2"),
    (Op::Log, &[Scalar::F32], "math.log"),
    (Op::Log2, &[Scalar::F32], "math.log2"),
    (Op::Sin, &[Scalar::F32], "math.sin"),
    (Op::Cos, &[Scalar::F32], "math.cos"),
    (Op::Tan, &[Scalar::F32], "math.tan"),
    (Op::Asin, &[Scalar::F32], "math.asin"),
    (Op::Acos, &[Scalar::F32], "math.acos"),
    (Op::Atan, &[Scalar::F32], "math.atan"),
    (Op::Atan2, &[Scalar::F32], "math.atan2"),
    (Op::Tanh, &[Scalar::F32], "math.tanh"),
    (Op::Pow, &[Scalar::F32], "math.pow"),
    (Op::Div, &[Scalar::U64], "math.div_u64"),
    (Op::Div, &[Scalar::I64], "math.div_i64"),
    (Op::Rem, &[Scalar::U64], "math.rem_u64"),
    (Op::Rem, &[Scalar::I64], "math.rem_i64"),
];

/// Which function stands for a conversion, the source first. Short floats are their patterns in a `u32`; 64-bit integers
/// are two `u32`, the lower one first.
pub const CONVERSIONS: &[(Scalar, Scalar, &str)] = &[
    (Scalar::F32, Scalar::F16, "math.f32_to_f16"),
    (Scalar::F32, Scalar::Bf16, "math.f32_to_bf16"),
    (Scalar::F32, Scalar::F8E4M3, "math.f32_to_e4m3"),
    (Scalar::F32, Scalar::F8E5M2, "math.f32_to_e5m2"),
    (Scalar::F16, Scalar::F32, "math.f16_to_f32"),
    (Scalar::Bf16, Scalar::F32, "math.bf16_to_f32"),
    (Scalar::F8E4M3, Scalar::F32, "math.e4m3_to_f32"),
    (Scalar::F8E5M2, Scalar::F32, "math.e5m2_to_f32"),
    (Scalar::U64, Scalar::F32, "math.u64_to_f32"),
    (Scalar::I64, Scalar::F32, "math.i64_to_f32"),
    (Scalar::F32, Scalar::U64, "math.f32_to_u64"),
    (Scalar::F32, Scalar::I64, "math.f32_to_i64"),
];

/// The function that stands for an operation on numbers of this type, if the library has one.
pub fn routine(op: Op, scalar: Scalar) -> Option<&'static str> {
    ROUTINES.iter().find(|(o, scalars, _)| *o == op && scalars.contains(&scalar)).map(|(_, _, name)| *name)
}

/// The function that stands for a conversion, if the library has one.
pub fn conversion(from: Scalar, to: Scalar) -> Option<&'static str> {
    CONVERSIONS.iter().find(|(f, t, _)| *f == from && *t == to).map(|(_, _, name)| *name)
}
