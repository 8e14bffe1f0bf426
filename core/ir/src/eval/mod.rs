//! What one scalar operation gives: the meaning of arithmetic, shared by the interpreter and constant folding.
//!
//! A value is its bits in a `u64`, zero above the type's width; `bool` is 0 or 1. Every function here is total, keeps
//! that invariant, and gives the same bits on every host: arithmetic always makes the same NaN.

mod convert;
mod float;
mod integer;

pub use convert::{int_value, signed};
pub use float::{narrow, tf32, widen};

use super::ops::{Op, Suffix};
use super::types::Scalar;

/// The meaning of an operation at a type: bits in, bits out.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// Of one operand.
    Unary(fn(u64) -> u64),
    /// Of two.
    Binary(fn(u64, u64) -> u64),
    /// Of three.
    Ternary(fn(u64, u64, u64) -> u64),
}

impl Function {
    /// Applies it; `None` if there are not as many operands as it takes.
    pub fn apply(self, operands: &[u64]) -> Option<u64> {
        match (self, operands) {
            (Function::Unary(f), [a]) => Some(f(*a)),
            (Function::Binary(f), [a, b]) => Some(f(*a, *b)),
            (Function::Ternary(f), [a, b, c]) => Some(f(*a, *b, *c)),
            (Function::Unary(_) | Function::Binary(_) | Function::Ternary(_), _) => None,
        }
    }
}

/// A function pointer from a closure without captures, by its number of operands.
macro_rules! meaning {
    (|$a:ident| $body:expr) => {
        Some($crate::eval::Function::Unary(|$a| $body))
    };
    (|$a:ident, $b:ident| $body:expr) => {
        Some($crate::eval::Function::Binary(|$a, $b| $body))
    };
    (|$a:ident, $b:ident, $c:ident| $body:expr) => {
        Some($crate::eval::Function::Ternary(|$a, $b, $c| $body))
    };
}
use meaning;

/// What a pure scalar operation gives: `ty` is the scalar of its suffix, `source` that of its operand for `convert` and
/// `bitcast` (for others the same as `ty`). `None` for operations that are not pure scalar arithmetic, for the math
/// library, and for types that the operation's row does not have.
pub fn scalar(op: Op, ty: Scalar, source: Scalar, operands: &[u64]) -> Option<u64> {
    function(op, ty, source)?.apply(operands)
}

/// The same before it is applied: what the interpreter looks up once an instruction.
pub fn function(op: Op, ty: Scalar, source: Scalar) -> Option<Function> {
    let (Suffix::Lanes(set) | Suffix::Scalar(set)) = op.row().suffix else { return None };
    if !set.has(ty) {
        None
    } else if op == Op::Convert {
        Some(Function::Unary(convert::converter(source, ty)))
    } else if op == Op::Bitcast {
        (source.bits() == ty.bits()).then_some(Function::Unary(|bits| bits))
    } else if op == Op::Select {
        meaning!(|condition, a, b| if condition != 0 { a } else { b })
    } else {
        arithmetic(op, ty)
    }
}

fn arithmetic(op: Op, ty: Scalar) -> Option<Function> {
    match ty {
        Scalar::Bool => integer::of_bool(op),
        Scalar::I8 => integer::of::<i8>(op),
        Scalar::I16 => integer::of::<i16>(op),
        Scalar::I32 => integer::of::<i32>(op),
        Scalar::I64 => integer::of::<i64>(op),
        Scalar::U8 => integer::of::<u8>(op),
        Scalar::U16 => integer::of::<u16>(op),
        Scalar::U32 => integer::of::<u32>(op),
        Scalar::U64 => integer::of::<u64>(op),
        Scalar::F16 => float::of::<float::F16>(op),
        Scalar::Bf16 => float::of::<float::Bf16>(op),
        Scalar::F32 => float::of::<float::F32>(op),
        Scalar::F64 => float::of::<float::F64>(op),
        Scalar::F8E4M3 | Scalar::F8E5M2 => None,
    }
}

/// A lane of a mask.
fn ones(holds: bool) -> u64 {
    if holds { Scalar::U32.mask() } else { 0 }
}

/// The operations that are no arithmetic on numbers: control, memory, communication, and those that other code has the
/// meaning of. Spelt out, so that a new row asks for its meaning.
macro_rules! not_evaluated {
    () => {
        $crate::control!()
            | $crate::aggregates!()
            | $crate::memory!()
            | $crate::of_kernels!()
            | $crate::task_form!()
            | $crate::tile_operations!()
            | $crate::conversions!()
    };
}
use not_evaluated;

/// The math library and the native functions that are compared with it: [`crate::math`] has their meaning.
macro_rules! by_routine {
    () => {
        $crate::library!()
            | Op::ExpApprox
            | Op::Exp2Approx
            | Op::LogApprox
            | Op::Log2Approx
            | Op::SinApprox
            | Op::CosApprox
            | Op::TanhApprox
    };
}
use by_routine;
