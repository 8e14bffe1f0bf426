//! Numbers of Rust as operands: each becomes a constant of what the other operand consists of.

use super::Block;
use crate::eval;
use crate::types::Scalar;
use std::fmt;

/// A number that is written down in Rust.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// An integer, which every float has too, rounded.
    Int(i128),
    /// A float, which only floats have.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

impl Literal {
    /// The bits that it has in a type; none if the type has no such number.
    pub fn bits(self, scalar: Scalar) -> Option<u64> {
        match self {
            Literal::Int(n) if scalar.is_float() => Some(eval::narrow(n as f64, scalar)),
            Literal::Float(x) if scalar.is_float() => Some(eval::narrow(x, scalar)),
            Literal::Int(n) if scalar.is_integer() => {
                let width = scalar.bits();
                let (least, most) = match scalar.is_signed() {
                    true => (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1),
                    false => (0, (1_i128 << width) - 1),
                };
                (least..=most).contains(&n).then_some(n as u64 & scalar.mask())
            }
            Literal::Bool(truth) => (scalar == Scalar::Bool).then_some(truth.into()),
            Literal::Int(_) | Literal::Float(_) => None,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Int(n) => n.fmt(f),
            Literal::Float(x) => write!(f, "{x:?}"),
            Literal::Bool(truth) => truth.fmt(f),
        }
    }
}

/// What an operation takes beside a block: another block, or a number.
pub trait Operand<'k> {
    /// A block of the kernel of `beside`; a number becomes what that consists of.
    #[track_caller]
    fn beside(self, beside: Block<'k>) -> Block<'k>;
}

impl<'k> Operand<'k> for Block<'k> {
    #[track_caller]
    fn beside(self, beside: Block<'k>) -> Block<'k> {
        beside.kernel.own(self)
    }
}

macro_rules! literals {
    ($($rust:ty: $variant:ident;)*) => {$(
        impl From<$rust> for Literal {
            fn from(number: $rust) -> Literal {
                Literal::$variant(number.into())
            }
        }
        impl<'k> Operand<'k> for $rust {
            #[track_caller]
            fn beside(self, beside: Block<'k>) -> Block<'k> {
                beside.constant(self)
            }
        }
    )*};
}

literals! {
    i32: Int; i64: Int; u32: Int; u64: Int;
    f32: Float; f64: Float;
    bool: Bool;
}
