//! Types as kernels speak of them: their attributes, and questions about them.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Dtype, Value};
use girih_base::diag::Code;
use girih_ir::{Scalar, Shape};

/// An attribute of a type; none if it has none of that name.
pub(super) fn attribute(ty: Dtype, name: &str) -> Option<Value> {
    let int = |n: u32| Value::Int(i128::from(n));
    let float = float_format(ty.scalar);
    Some(match name {
        "value" => Value::Dtype(ty),
        "element_ty" | "scalar" => Value::Dtype(Dtype { pointer: false, shape: None, ..ty }),
        "primitive_bitwidth" => int(ty.scalar.bits()),
        "int_bitwidth" if float.is_none() => int(ty.scalar.bits()),
        "int_signedness" if float.is_none() => Value::text(if ty.scalar.is_signed() { "SIGNED" } else { "UNSIGNED" }),
        "fp_mantissa_width" => int(float?.0),
        "exponent_bias" => int(float?.1),
        "itemsize" => int(ty.scalar.bytes()),
        "name" => Value::text(&ty.to_string()),
        "numel" => Value::Int(ty.shape.map_or(1, |shape| i128::from(shape.elements()))),
        "shape" => shape_value(ty.shape),
        _ => return None,
    })
}

/// Bits of a float's significand that are stored, and what its exponent is counted from.
fn float_format(scalar: Scalar) -> Option<(u32, u32)> {
    match scalar {
        Scalar::F8E4M3 => Some((3, 7)),
        Scalar::F8E5M2 => Some((2, 15)),
        Scalar::F16 => Some((10, 15)),
        Scalar::Bf16 => Some((7, 127)),
        Scalar::F32 => Some((23, 127)),
        Scalar::F64 => Some((52, 1023)),
        _integer => None,
    }
}

/// The lengths of a shape, as a tuple.
pub(super) fn shape_value(shape: Option<Shape>) -> Value {
    Value::Tuple(shape.map_or(vec![], |s| s.lengths().map(|n| Value::Int(i128::from(n))).collect()))
}

/// The least and the greatest number of an integer type.
pub(super) fn int_range(scalar: Scalar) -> Option<(i128, i128)> {
    if scalar.is_float() {
        return None;
    }
    let bits = if scalar == Scalar::Bool { 1 } else { scalar.bits() };
    Some(if scalar.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) })
}

/// The type that is asked about: the argument, or that of a value.
fn asked(body: &Body<'_, '_>, a: &Arguments) -> Made<Dtype> {
    match a.value(0).dtype() {
        Some(ty) => Ok(ty),
        None => body.dtype_of(a.value(0), a.span(0)),
    }
}

macro_rules! questions {
    ($($name:ident: |$ty:ident| $answer:expr;)*) => {
        $(pub(super) fn $name(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
            let $ty = asked(body, a)?;
            Ok(Value::Bool($answer))
        })*
    };
}

/// Whether a type is this scalar.
fn is(ty: Dtype, scalar: Scalar) -> bool {
    !ty.pointer && ty.scalar == scalar
}

questions! {
    is_floating: |ty| !ty.pointer && ty.scalar.is_float();
    is_standard_floating: |ty| !ty.pointer && ty.scalar.is_float() && ty.scalar.bits() > 8;
    is_fp8: |ty| !ty.pointer && ty.scalar.is_float() && ty.scalar.bits() == 8;
    is_fp8e4nv: |ty| is(ty, Scalar::F8E4M3);
    is_fp8e5: |ty| is(ty, Scalar::F8E5M2);
    // Types that do not exist here.
    is_other_fp8: |_ty| false;
    is_fp16: |ty| is(ty, Scalar::F16);
    is_bf16: |ty| is(ty, Scalar::Bf16);
    is_fp32: |ty| is(ty, Scalar::F32);
    is_fp64: |ty| is(ty, Scalar::F64);
    is_int: |ty| !ty.pointer && !ty.scalar.is_float();
    is_int_signed: |ty| !ty.pointer && ty.scalar.is_signed();
    is_int_unsigned: |ty| !ty.pointer && !ty.scalar.is_float() && !ty.scalar.is_signed();
    is_int8: |ty| is(ty, Scalar::I8);
    is_int16: |ty| is(ty, Scalar::I16);
    is_int32: |ty| is(ty, Scalar::I32);
    is_int64: |ty| is(ty, Scalar::I64);
    is_uint8: |ty| is(ty, Scalar::U8);
    is_uint16: |ty| is(ty, Scalar::U16);
    is_uint32: |ty| is(ty, Scalar::U32);
    is_uint64: |ty| is(ty, Scalar::U64);
    is_bool: |ty| is(ty, Scalar::Bool);
    is_ptr: |ty| ty.pointer && ty.shape.is_none();
    is_block: |ty| ty.shape.is_some();
}

/// `type.kind()`.
pub(super) fn kind(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::text(match asked(body, a)?.scalar {
        Scalar::Bool => "BOOLEAN",
        scalar if scalar.is_float() => "FLOATING",
        _integer => "INTEGRAL",
    }))
}

fn limit(body: &Body<'_, '_>, a: &Arguments) -> Made<(i128, i128)> {
    let ty = asked(body, a)?;
    match int_range(ty.scalar) {
        Some(range) if !ty.pointer => Ok(range),
        _ => body.fail(Code::KernelType, a.call, format!("`{ty}` is no integer"), ""),
    }
}

/// `type.get_int_min_value()`.
pub(super) fn int_min(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    limit(body, a).map(|(min, _)| Value::Int(min))
}

/// `type.get_int_max_value()`.
pub(super) fn int_max(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    limit(body, a).map(|(_, max)| Value::Int(max))
}

/// `tl.core.get_int_dtype(bitwidth, signed)`.
pub(super) fn get_int_dtype(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let bits = body.constant_int(a.value(0), "the width of a type", a.span(0))?;
    let signed = a.flag(body, 1, "`signed`")?;
    let scalar = match (bits, signed) {
        (1, _) => Scalar::Bool,
        (8, true) => Scalar::I8,
        (8, false) => Scalar::U8,
        (16, true) => Scalar::I16,
        (16, false) => Scalar::U16,
        (32, true) => Scalar::I32,
        (32, false) => Scalar::U32,
        (64, true) => Scalar::I64,
        (64, false) => Scalar::U64,
        (_, _) => {
            let message = format!("no integer has {bits} bits");
            return body.fail(Code::KernelArgument, a.span(0), message, "they have 1, 8, 16, 32 or 64");
        }
    };
    Ok(Value::Dtype(Dtype::of(scalar)))
}

/// `tl.pointer_type(element)`.
pub(super) fn pointer_type(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let ty = body.dtype_of(a.value(0), a.span(0))?;
    Ok(Value::Dtype(Dtype { pointer: true, ..ty }))
}
