//! Bend's mathematical functions, its rounding to f24 and the conversions between its kinds of numbers, as functions of
//! the IR: bit for bit those of [`girih_base::num`], with which the tests compare them.
//!
//! | file | functions |
//! |---|---|
//! | `fixed.gir` | fractions of one and two words, reciprocals and quotients |
//! | `float.gir` | floats taken apart, put together, rounded; `bend.round24` |
//! | `convert.gir` | conversions between kinds of numbers, and to and from bits |
//! | `logarithm.gir`, `power.gir` | logarithms and powers |
//! | `trigonometry.gir`, `arc_tangent.gir` | sine, cosine, tangent; the angle of a point |
//! | `remainder.gir` | the remainder of a division of floats |
//!
//! Invariant: of operations on floats there are only bitcasts, conversions, one division (in `bend.log`) and one square
//! root (in `bend.sqrt`), all of which are the same everywhere; the arguments and the results of these two are no
//! denormal numbers. Everything else works on words and pairs of words, and comparisons are those of patterns. So
//! devices that fuse, reorder or flush give the same bits, too.
//!
//! Special arguments take the same path as all others, which computes nothing useful for them, and the right value
//! is selected at the end. So invocations that run in step do not wait for each other. There is a branch only where it saves
//! much.

use std::sync::OnceLock;

use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_ir::{Module, text};

/// The library's files: name and text. Together they are one module; every function's name starts with `bend.`.
pub const FILES: &[(&str, &str)] = &[
    ("fixed.gir", include_str!("fixed.gir")),
    ("float.gir", include_str!("float.gir")),
    ("convert.gir", include_str!("convert.gir")),
    ("logarithm.gir", include_str!("logarithm.gir")),
    ("power.gir", include_str!("power.gir")),
    ("trigonometry.gir", include_str!("trigonometry.gir")),
    ("arc_tangent.gir", include_str!("arc_tangent.gir")),
    ("remainder.gir", include_str!("remainder.gir")),
];

/// All functions of the library, read once.
pub fn library() -> &'static Module {
    static LIBRARY: OnceLock<Module> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let texts: Vec<&str> = FILES.iter().map(|(_, text)| *text).collect();
        let parsed = text::parse(Span::NONE.source, &texts.concat());
        parsed.expect("Bend's functions are read in tests").module
    })
}

/// A mathematical function of Bend on f32. On f24 it is the same function, its result rounded by [`ROUND24`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MathFunction {
    /// `a % b`.
    Remainder,
    /// `a ** b`.
    Pow,
    /// The logarithm of the first argument to the base that is the second.
    Log,
    /// The angle of the point (x, y); y comes first.
    Atan2,
    /// The sine of an angle in radians.
    Sin,
    /// The cosine of an angle in radians.
    Cos,
    /// The tangent of an angle in radians.
    Tan,
}

impl MathFunction {
    /// All functions.
    pub const ALL: [MathFunction; 7] = {
        use MathFunction::*;
        [Remainder, Pow, Log, Atan2, Sin, Cos, Tan]
    };

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            MathFunction::Remainder | MathFunction::Pow | MathFunction::Log | MathFunction::Atan2 => 2,
            MathFunction::Sin | MathFunction::Cos | MathFunction::Tan => 1,
        }
    }
}

/// The name of a mathematical function in [`library`]; it takes one or two f32 and gives one.
pub fn function(function: MathFunction) -> &'static str {
    match function {
        MathFunction::Remainder => "bend.remainder",
        MathFunction::Pow => "bend.pow",
        MathFunction::Log => "bend.log",
        MathFunction::Atan2 => "bend.atan2",
        MathFunction::Sin => "bend.sin",
        MathFunction::Cos => "bend.cos",
        MathFunction::Tan => "bend.tan",
    }
}

/// The name of the function in [`library`] that rounds an f32 to the nearest f24.
pub const ROUND24: &str = "bend.round24";

/// The name of the function in [`library`] that gives the power to one half, as [`MathFunction::Pow`] does.
pub const ROOT: &str = "bend.root";

/// How a number becomes another one. A number stands in the IR as the 32-bit type of its family: a u24 is a u32 below
/// 2^24, an i24 an i32 from -2^23 to 2^23 - 1, an f24 an f32 whose low 8 bits are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Nothing is to be done.
    Same,
    /// By `convert` to the type of the target's family.
    Convert,
    /// By `bitcast` to that type.
    Bitcast,
    /// By a call of this function of [`library`].
    Call(&'static str),
}

/// How a number of one kind becomes one of another: [`girih_base::num::Num::to`].
pub fn conversion(from: NumKind, to: NumKind) -> Conversion {
    use NumKind::{F24, F32, I24, I32, U24, U32};
    match (from, to) {
        (U24 | U32, U32) | (I24 | I32, I32) | (F24 | F32, F32) | (U24, U24) | (I24, I24) | (F24, F24) => {
            Conversion::Same
        }
        (I24 | I32, U32) | (U24 | U32, I32) => Conversion::Bitcast,
        (F24 | F32, U32 | I32) | (U24 | U32 | I24 | I32, F32) => Conversion::Convert,
        (U32, U24) => Conversion::Call("bend.u32_to_u24"),
        (U24 | U32, I24) => Conversion::Call("bend.u32_to_i24"),
        (U24 | U32, F24) => Conversion::Call("bend.u32_to_f24"),
        (I24 | I32, U24) => Conversion::Call("bend.i32_to_u24"),
        (I32, I24) => Conversion::Call("bend.i32_to_i24"),
        (I24 | I32, F24) => Conversion::Call("bend.i32_to_f24"),
        (F24 | F32, U24) => Conversion::Call("bend.f32_to_u24"),
        (F24 | F32, I24) => Conversion::Call("bend.f32_to_i24"),
        (F32, F24) => Conversion::Call(ROUND24),
    }
}

/// How a number becomes its bits, a u32: [`girih_base::num::Num::bits`].
pub fn to_bits(kind: NumKind) -> Conversion {
    match kind {
        NumKind::U24 | NumKind::U32 => Conversion::Same,
        NumKind::I24 => Conversion::Call("bend.i32_to_u24"),
        NumKind::I32 => Conversion::Bitcast,
        NumKind::F24 => Conversion::Call("bend.f24_to_bits"),
        NumKind::F32 => Conversion::Call("bend.f32_to_bits"),
    }
}

/// How bits, a u32 of which those beyond the kind's 24 are ignored, become a number: [`girih_base::num::Num::from_bits`].
pub fn from_bits(kind: NumKind) -> Conversion {
    match kind {
        NumKind::U24 => Conversion::Call("bend.u32_to_u24"),
        NumKind::I24 => Conversion::Call("bend.u32_to_i24"),
        NumKind::F24 => Conversion::Call("bend.bits_to_f24"),
        NumKind::U32 => Conversion::Same,
        NumKind::I32 | NumKind::F32 => Conversion::Bitcast,
    }
}
