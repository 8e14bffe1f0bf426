//! The operators on numbers.
//!
//! An operation on a 24-bit kind is the operation on the 32-bit kind of its family, brought back into range: the low 24
//! bits of an integer, the nearest f24 of a float. Everything is total but integer division and remainder by zero.

use std::fmt;

use super::{BinOp, Num, NumKind, math};

/// Why an operation on numbers has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumError {
    /// An integer divided by zero, or its remainder.
    DivisionByZero,
    /// Operands of two kinds that do not widen to a common one.
    Mixed(NumKind, NumKind),
    /// An operator that numbers of the kind do not have.
    Unsupported(BinOp, NumKind),
    /// An integer where a mathematical function takes floats.
    NotFloat(NumKind),
    /// A primitive given this many arguments, which is not how many it takes.
    ArgumentCount(usize),
}

impl fmt::Display for NumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NumError::DivisionByZero => write!(f, "division by zero"),
            NumError::Mixed(left, right) => {
                write!(f, "a number of kind `{}` meets one of kind `{}`", left.name(), right.name())
            }
            NumError::Unsupported(op, kind) => {
                write!(f, "numbers of kind `{}` have no operator `{}`", kind.name(), op.symbol())
            }
            NumError::NotFloat(kind) => write!(f, "a float is needed, and this is of kind `{}`", kind.name()),
            NumError::ArgumentCount(count) => write!(f, "a primitive does not take {count} arguments"),
        }
    }
}

impl std::error::Error for NumError {}

impl Num {
    /// The result of an operator. Operands of one family but different width are widened to 32 bits first.
    #[inline(always)]
    pub fn apply(op: BinOp, a: Num, b: Num) -> Result<Num, NumError> {
        match (a, b) {
            (Num::U24(a), Num::U24(b)) => unsigned(op, a, b, NumKind::U24, Num::u24),
            (Num::I24(a), Num::I24(b)) => signed(op, a, b, NumKind::I24, Num::i24),
            (Num::F24(a), Num::F24(b)) => float24(op, a, b),
            (Num::U32(a), Num::U32(b)) => unsigned(op, a, b, NumKind::U32, Num::U32),
            (Num::I32(a), Num::I32(b)) => signed(op, a, b, NumKind::I32, Num::I32),
            (Num::F32(a), Num::F32(b)) => float32(op, a, b),
            (a, b) => mixed(op, a, b),
        }
    }
}

/// Operands of different kinds. Programs that pass the checker get here only from unchecked code.
#[cold]
fn mixed(op: BinOp, a: Num, b: Num) -> Result<Num, NumError> {
    match a.kind().join(b.kind()) {
        Some(kind) => Num::apply(op, a.to(kind), b.to(kind)),
        None => Err(NumError::Mixed(a.kind(), b.kind())),
    }
}

#[inline(always)]
fn truth(value: bool) -> Result<Num, NumError> {
    Ok(Num::U24(u32::from(value)))
}

#[inline(always)]
fn unsigned(op: BinOp, a: u32, b: u32, kind: NumKind, number: impl Fn(u32) -> Num) -> Result<Num, NumError> {
    match op {
        BinOp::Add => Ok(number(a.wrapping_add(b))),
        BinOp::Sub => Ok(number(a.wrapping_sub(b))),
        BinOp::Mul => Ok(number(a.wrapping_mul(b))),
        BinOp::Div => a.checked_div(b).map(number).ok_or(NumError::DivisionByZero),
        BinOp::Rem => a.checked_rem(b).map(number).ok_or(NumError::DivisionByZero),
        BinOp::Eq => truth(a == b),
        BinOp::Ne => truth(a != b),
        BinOp::Lt => truth(a < b),
        BinOp::Le => truth(a <= b),
        BinOp::Gt => truth(a > b),
        BinOp::Ge => truth(a >= b),
        BinOp::And => Ok(number(a & b)),
        BinOp::Or => Ok(number(a | b)),
        BinOp::Xor => Ok(number(a ^ b)),
        // A wrapping shift takes the count modulo 32, also for the 24-bit kind: 1 << 24 is 0 there, and 1 << 32 is 1.
        BinOp::Shl => Ok(number(a.wrapping_shl(b))),
        BinOp::Shr => Ok(number(a.wrapping_shr(b))),
        BinOp::Pow => Err(NumError::Unsupported(op, kind)),
    }
}

#[inline(always)]
fn signed(op: BinOp, a: i32, b: i32, kind: NumKind, number: impl Fn(i32) -> Num) -> Result<Num, NumError> {
    match op {
        BinOp::Add => Ok(number(a.wrapping_add(b))),
        BinOp::Sub => Ok(number(a.wrapping_sub(b))),
        BinOp::Mul => Ok(number(a.wrapping_mul(b))),
        BinOp::Div | BinOp::Rem if b == 0 => Err(NumError::DivisionByZero),
        BinOp::Div => Ok(number(a.wrapping_div(b))),
        BinOp::Rem => Ok(number(a.wrapping_rem(b))),
        BinOp::Eq => truth(a == b),
        BinOp::Ne => truth(a != b),
        BinOp::Lt => truth(a < b),
        BinOp::Le => truth(a <= b),
        BinOp::Gt => truth(a > b),
        BinOp::Ge => truth(a >= b),
        BinOp::And => Ok(number(a & b)),
        BinOp::Or => Ok(number(a | b)),
        BinOp::Xor => Ok(number(a ^ b)),
        BinOp::Shl | BinOp::Shr | BinOp::Pow => Err(NumError::Unsupported(op, kind)),
    }
}

#[inline(always)]
fn float24(op: BinOp, a: f32, b: f32) -> Result<Num, NumError> {
    match op {
        BinOp::Add => Ok(Num::f24(a + b)),
        BinOp::Sub => Ok(Num::f24(a - b)),
        BinOp::Mul => Ok(Num::f24(a * b)),
        BinOp::Div => Ok(Num::f24(a / b)),
        BinOp::Rem => Ok(Num::f24(math::remainder(a, b))),
        BinOp::Pow => Ok(Num::f24(math::pow(a, b))),
        BinOp::Eq => truth(a == b),
        BinOp::Ne => truth(a != b),
        BinOp::Lt => truth(a < b),
        BinOp::Gt => truth(a > b),
        // For f24 these two are the negations of `>` and `<`, which differs where an operand is NaN: then they hold.
        BinOp::Le => truth(a <= b || a.is_nan() || b.is_nan()),
        BinOp::Ge => truth(a >= b || a.is_nan() || b.is_nan()),
        BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => Ok(Num::f24(reused24(op, a, b))),
    }
}

/// Upstream's f24 has its mathematical functions under the symbols of the bit operators. Checked code may not use them.
#[cold]
fn reused24(op: BinOp, a: f32, b: f32) -> f32 {
    match op {
        BinOp::And => math::atan2(a, b),
        BinOp::Or => math::log(b, a),
        BinOp::Shl => math::sin(a + b),
        BinOp::Shr => math::tan(a + b),
        _ => math::pow(a, b),
    }
}

#[inline(always)]
fn float32(op: BinOp, a: f32, b: f32) -> Result<Num, NumError> {
    match op {
        BinOp::Add => Ok(Num::F32(a + b)),
        BinOp::Sub => Ok(Num::F32(a - b)),
        BinOp::Mul => Ok(Num::F32(a * b)),
        BinOp::Div => Ok(Num::F32(a / b)),
        BinOp::Rem => Ok(Num::F32(math::remainder(a, b))),
        BinOp::Pow => Ok(Num::F32(math::pow(a, b))),
        BinOp::Eq => truth(a == b),
        BinOp::Ne => truth(a != b),
        BinOp::Lt => truth(a < b),
        BinOp::Le => truth(a <= b),
        BinOp::Gt => truth(a > b),
        BinOp::Ge => truth(a >= b),
        BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr => Err(NumError::Unsupported(op, NumKind::F32)),
    }
}
