//! Types and literals: how those of the IR are said in naga.
//!
//! Invariant: a value of a vector or of `regs` is never one naga value: it is the list of its scalars.

use super::error;
use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::Scalar;
use naga::{Expression, Handle, Literal, Type, TypeInner, UniqueArena, VectorSize};

/// The naga scalar of an IR scalar, for those that naga has.
pub fn scalar(s: Scalar) -> Option<naga::Scalar> {
    use naga::Scalar as N;
    match s {
        Scalar::Bool => Some(N::BOOL),
        Scalar::I32 => Some(N::I32),
        Scalar::U32 => Some(N::U32),
        Scalar::F32 => Some(N::F32),
        Scalar::I64 => Some(N::I64),
        Scalar::U64 => Some(N::U64),
        Scalar::F16 => Some(N::F16),
        Scalar::F64 => Some(N::F64),
        Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 | Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => None,
    }
}

/// The same, with an error for what legalisation must not leave.
pub fn legal_scalar(s: Scalar, span: Span) -> Result<naga::Scalar, Diagnostic> {
    scalar(s).ok_or_else(|| error::illegal(span, format!("values of type `{s}`")))
}

/// The size of a naga vector of so many lanes.
pub fn vector_size(lanes: u32) -> Option<VectorSize> {
    match lanes {
        2 => Some(VectorSize::Bi),
        3 => Some(VectorSize::Tri),
        4 => Some(VectorSize::Quad),
        _ => None,
    }
}

/// A naga type, once.
pub fn intern(types: &mut UniqueArena<Type>, inner: TypeInner) -> Handle<Type> {
    types.insert(Type { name: None, inner }, naga::Span::UNDEFINED)
}

/// The type of a scalar, or of a vector of 2 to 4 lanes.
pub fn lanes_type(types: &mut UniqueArena<Type>, scalar: naga::Scalar, lanes: u32) -> Handle<Type> {
    let inner = match vector_size(lanes) {
        Some(size) => TypeInner::Vector { size, scalar },
        None => TypeInner::Scalar(scalar),
    };
    intern(types, inner)
}

/// How a constant is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// As a literal.
    Literal(Literal),
    /// As the bits of a literal: NaN and infinities, which no shading language can write.
    Bits(Literal, naga::ScalarKind),
    /// An `f16` that is not finite: the `f32` of these bits, narrowed.
    Narrowed(u32),
}

/// How the constant of a type with these bits is said.
pub fn constant(s: Scalar, bits: u64, span: Span) -> Result<Constant, Diagnostic> {
    use Constant::{Bits, Literal as L, Narrowed};
    let word = bits as u32;
    Ok(match s {
        Scalar::Bool => L(Literal::Bool(bits != 0)),
        Scalar::I32 => L(Literal::I32(word as i32)),
        Scalar::U32 => L(Literal::U32(word)),
        Scalar::I64 => L(Literal::I64(bits as i64)),
        Scalar::U64 => L(Literal::U64(bits)),
        // naga writes as few digits as lead to a number, and those of the greatest are above it: browsers refuse them.
        Scalar::F32 if f32::from_bits(word).abs() < f32::MAX => L(Literal::F32(f32::from_bits(word))),
        Scalar::F32 => Bits(Literal::U32(word), naga::ScalarKind::Float),
        Scalar::F64 if f64::from_bits(bits).is_finite() => L(Literal::F64(f64::from_bits(bits))),
        Scalar::F64 => Bits(Literal::U64(bits), naga::ScalarKind::Float),
        Scalar::F16 => {
            let value = half::f16::from_bits(bits as u16);
            if value.is_finite() { L(Literal::F16(value)) } else { Narrowed(value.to_f32().to_bits()) }
        }
        Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16 | Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => {
            return Err(error::illegal(span, format!("constants of type `{s}`")));
        }
    })
}

/// Whether an expression is known before the kernel runs: what compilers of shading languages would compute, and refuse if it
/// overflows.
pub fn is_constant(expression: &Expression) -> bool {
    matches!(expression, Expression::Literal(_) | Expression::ZeroValue(_) | Expression::Constant(_))
}
