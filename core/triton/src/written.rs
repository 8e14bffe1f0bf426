//! Operations that are written in Triton's own Python: the table of them, and what their arguments become.
//!
//! The bounds of the functions stand in their files. A function of `fp32` takes shorter floats and integers as `fp32`, and refuses `fp64` by name.

use super::body::{Body, Made};
use super::builtins::{Arguments, Builtin, BuiltinWriter};
use super::value::{Dtype, Placed, Value};
use girih_base::diag::Code;
use girih_ir::Scalar;

/// What a function takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// What it is given.
    Any,
    /// `fp32`.
    Single,
    /// `fp32` or `fp64`.
    Float,
    /// Integers of 32 or 64 bits.
    Integer,
    /// This type.
    Type(Scalar),
}

/// A function of one of the [embedded](super::embedded) files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub file: &'static str,
    pub function: &'static str,
    pub takes: Takes,
    /// What it is given behind the arguments: a type.
    pub to: Option<Scalar>,
    /// And how it rounds.
    pub mode: Option<&'static str>,
}

const fn row(name: &'static str, parameters: &'static str, written: Written) -> Builtin {
    Builtin { name, parameters, writer: BuiltinWriter::Written(written) }
}
/// A function under its own name.
const fn own(name: &'static str, parameters: &'static str, file: &'static str, takes: Takes) -> Builtin {
    row(name, parameters, Written { file, function: name, takes, to: None, mode: None })
}

/// Rows that differ in the direction in which they round.
macro_rules! directions {
    ($(($name:literal, $parameters:literal, $function:literal, $takes:expr, $to:expr, [$($mode:literal),*]))*) => {
        &[$($(row(concat!($name, "_", $mode), $parameters, Written {
            file: "rounding",
            function: $function,
            takes: $takes,
            to: $to,
            mode: Some($mode),
        }),)*)*]
    };
}

use Scalar::{F32, F64, I32, I64, U32, U64};
use Takes::{Any, Float, Integer, Single, Type};

/// Sums, products and conversions that round in a direction.
static DIRECTED: &[Builtin] =
    directions![("add", "x, y", "plus", Single, None, ["rn", "rz", "rd", "ru"])(
        "sub",
        "x, y",
        "minus",
        Single,
        None,
        ["rn", "rz", "rd", "ru"]
    )("mul", "x, y", "times", Single, None, ["rn", "rz", "rd", "ru"])(
        "fma",
        "x, y, z",
        "fused",
        Single,
        None,
        ["rn", "rz", "rd", "ru"]
    )("div", "x, y", "over", Single, None, ["rz", "rd", "ru"])(
        "rcp",
        "x",
        "reciprocal",
        Single,
        None,
        ["rn", "rz", "rd", "ru"]
    )("sqrt", "x", "root", Single, None, ["rz", "rd", "ru"])(
        "double2float",
        "x",
        "narrow",
        Type(F64),
        None,
        ["rn", "rz", "rd", "ru"]
    )("double2int", "x", "to_int", Type(F64), Some(I32), ["rn", "rz", "rd", "ru"])(
        "double2uint",
        "x",
        "to_int",
        Type(F64),
        Some(U32),
        ["rn", "rz", "rd", "ru"]
    )("double2ll", "x", "to_int", Type(F64), Some(I64), ["rn", "rz", "rd", "ru"])(
        "double2ull",
        "x",
        "to_int",
        Type(F64),
        Some(U64),
        ["rn", "rz", "rd", "ru"]
    )("float2int", "x", "to_int", Single, Some(I32), ["rn", "rz", "rd", "ru"])(
        "float2uint",
        "x",
        "to_int",
        Single,
        Some(U32),
        ["rn", "rz", "rd", "ru"]
    )("float2ll", "x", "to_int", Single, Some(I64), ["rn", "rz", "rd", "ru"])(
        "float2ull",
        "x",
        "to_int",
        Single,
        Some(U64),
        ["rn", "rz", "rd", "ru"]
    )("int2float", "x", "of_int", Type(I32), Some(F32), ["rn", "rz", "rd", "ru"])(
        "uint2float",
        "x",
        "of_int",
        Type(U32),
        Some(F32),
        ["rn", "rz", "rd", "ru"]
    )("ll2float", "x", "of_int", Type(I64), Some(F32), ["rn", "rz", "rd", "ru"])(
        "ull2float",
        "x",
        "of_int",
        Type(U64),
        Some(F32),
        ["rn", "rz", "rd", "ru"]
    )("int2double", "x", "of_int", Type(I32), Some(F64), ["rn"])(
        "uint2double",
        "x",
        "of_int",
        Type(U32),
        Some(F64),
        ["rn"]
    )("ll2double", "x", "of_int", Type(I64), Some(F64), ["rn", "rz", "rd", "ru"])(
        "ull2double",
        "x",
        "of_int",
        Type(U64),
        Some(F64),
        ["rn", "rz", "rd", "ru"]
    )];

/// A view of bits as another type.
const fn view(name: &'static str, from: Scalar, to: Scalar) -> Builtin {
    row(name, "x", Written { file: "bits", function: "view", takes: Type(from), to: Some(to), mode: None })
}

/// All other functions.
static TABLE: &[Builtin] = &[
    own("sort", "x, dim=None, descending=False", "standard", Any),
    own("topk", "x, k, dim=None", "standard", Any),
    own("bitonic_merge", "x, dim=None, descending=False", "standard", Any),
    own("item", "x", "standard", Any),
    own("logical_and", "x, y", "standard", Any),
    own("logical_or", "x, y", "standard", Any),
    own(
        "dot_scaled",
        "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, rhs_k_pack=True, out_dtype=None",
        "scaled",
        Any,
    ),
    own("byte_perm", "x, y, s", "bits", Type(I32)),
    own("mul24", "x, y", "bits", Integer),
    own("sad", "x, y, z", "bits", Any),
    own("hadd", "x, y", "bits", Integer),
    own("rhadd", "x, y", "bits", Integer),
    own("ffs", "x", "bits", Integer),
    own("hiloint2double", "hi, lo", "bits", Type(I32)),
    own("double2loint", "x", "bits", Type(F64)),
    own("double2hiint", "x", "bits", Type(F64)),
    own("signbit", "x", "bits", Float),
    own("copysign", "x, y", "bits", Float),
    own("nextafter", "x, y", "bits", Float),
    own("ldexp", "x, n", "bits", Any),
    row("scalbn", "x, n", Written { file: "bits", function: "ldexp", takes: Any, to: None, mode: None }),
    own("ilogb", "x", "bits", Single),
    own("logb", "x", "bits", Single),
    view("int_as_float", I32, F32),
    view("uint_as_float", U32, F32),
    view("longlong_as_double", I64, F64),
    view("float_as_int", F32, I32),
    view("float_as_uint", F32, U32),
    view("double_as_longlong", F64, I64),
    own("rsqrt_rn", "x", "rounding", Single),
    own("rcp64h", "x", "rounding", Type(F64)),
    own("exp10", "x", "functions", Single),
    row("fast_exp10", "x", Written { file: "functions", function: "fast_exp10f", takes: Single, to: None, mode: None }),
    own("sinpi", "x", "functions", Single),
    own("cospi", "x", "functions", Single),
    own("acosh", "x", "functions", Single),
    own("asinh", "x", "functions", Single),
    own("atanh", "x", "functions", Single),
    own("hypot", "x, y", "functions", Single),
    own("rhypot", "x, y", "functions", Single),
    own("norm3d", "x, y, z", "functions", Single),
    own("rnorm3d", "x, y, z", "functions", Single),
    own("norm4d", "x, y, z, w", "functions", Single),
    own("rnorm4d", "x, y, z, w", "functions", Single),
    own("cbrt", "x", "functions", Single),
    own("rcbrt", "x", "functions", Single),
    own("fdim", "x, y", "functions", Float),
    own("saturatef", "x", "functions", Single),
    own("fmod", "x, y", "functions", Single),
    own("remainder", "x, y", "functions", Single),
    row("libdevice.round", "x", Written { file: "functions", function: "round", takes: Float, to: None, mode: None }),
    own("llround", "x", "functions", Float),
    own("llrint", "x", "functions", Float),
    own("j0", "x", "special", Single),
    own("j1", "x", "special", Single),
    own("y0", "x", "special", Single),
    own("y1", "x", "special", Single),
    own("jn", "n, x", "special", Any),
    own("yn", "n, x", "special", Any),
    own("cyl_bessel_i0", "x", "special", Single),
    own("cyl_bessel_i1", "x", "special", Single),
    own("erfc", "x", "special", Single),
    own("erfcx", "x", "special", Single),
    own("erfinv", "x", "special", Single),
    own("erfcinv", "x", "special", Single),
    own("normcdf", "x", "special", Single),
    own("normcdfinv", "x", "special", Single),
    own("lgamma", "x", "special", Single),
    own("tgamma", "x", "special", Single),
];

/// All rows.
pub(super) fn rows() -> impl Iterator<Item = &'static Builtin> {
    TABLE.iter().chain(DIRECTED)
}

impl Body<'_, '_> {
    /// Calls a function of the embedded files for a row.
    pub(super) fn written(&mut self, name: &str, written: Written, a: &Arguments) -> Made<Value> {
        let file = self.module.files.embedded(written.file)?;
        let Some(function) = self.global(file, written.function, a.call)? else {
            return self.fail(Code::Internal, a.call, format!("`{name}` is in no file"), "");
        };
        let mut given = vec![];
        for placed in a.all() {
            let value = self.taken(name, written.takes, placed)?;
            given.push(Placed { value, span: placed.span });
        }
        let to = written.to.map(|scalar| Value::Dtype(Dtype::of(scalar)));
        let extra = to.into_iter().chain(written.mode.map(Value::text));
        given.extend(extra.map(|value| Placed { value, span: a.call }));
        self.call(&function, given, vec![], a.call)
    }

    /// An argument as a function takes it.
    fn taken(&mut self, name: &str, takes: Takes, placed: &Placed) -> Made<Value> {
        let (is_float, bits, known) = match takes {
            Takes::Any => return Ok(placed.value.clone()),
            Takes::Type(scalar) => {
                if let Some(ty) = placed.value.dtype().filter(|ty| ty.scalar.is_float() && !scalar.is_float()) {
                    let message = format!("`{name}` is for integers, not for `{ty}`");
                    return self.fail(Code::KernelType, placed.span, message, "");
                }
                return self.tensor_as(&placed.value, scalar, placed.span).map(Value::Tensor);
            }
            Takes::Single | Takes::Float | Takes::Integer => {
                let x = self.tensor(&placed.value, placed.span)?;
                (x.element().is_float(), x.element().bits(), x)
            }
        };
        let to = match takes {
            Takes::Single if is_float && bits == 64 => {
                let message = format!("no device has `{name}` for `fp64`: it is computed in `fp32`");
                return self.fail(Code::KernelRefused, placed.span, message, "convert to `tl.float32`");
            }
            Takes::Float if is_float && bits >= 32 => known.element(),
            Takes::Integer if is_float => {
                let message = format!("`{name}` is for integers, not for {}", placed.value.kind());
                return self.fail(Code::KernelType, placed.span, message, "");
            }
            Takes::Integer if bits >= 32 => known.element(),
            Takes::Integer => I32,
            Takes::Any | Takes::Single | Takes::Float | Takes::Type(_) => F32,
        };
        Ok(Value::Tensor(self.cast(known, to)))
    }
}
