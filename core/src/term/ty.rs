//! Types of the core: gradual Hindley-Milner over numbers, tuples, functions and data types.

use super::TypeId;
use crate::num::NumKind;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Fits everything; nothing is known.
    Any,
    /// `_` in an annotation: to be inferred.
    Hole,
    /// The type of `*`.
    None,
    /// A number.
    Num(NumKind),
    /// The variable `i` of the enclosing [`Scheme`] or data type.
    Param(u32),
    /// A variable of the checker; never in a finished program.
    Var(u32),
    /// A data type with its arguments.
    Data(TypeId, Vec<Type>),
    /// Two or more parts.
    Tuple(Vec<Type>),
    /// A function of one argument; several arguments are nested arrows.
    Arrow(Box<Type>, Box<Type>),
}

/// A type that holds for every choice of its `params` parameters ([`Type::Param`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// How many parameters the type has.
    pub params: u32,
    /// The type.
    pub ty: Type,
}

impl Scheme {
    /// A type without parameters.
    pub fn mono(ty: Type) -> Scheme {
        Scheme { params: 0, ty }
    }
}

impl Type {
    /// `params[0] -> … -> ret`.
    pub fn function(params: impl IntoIterator<Item = Type, IntoIter: DoubleEndedIterator>, ret: Type) -> Type {
        params.into_iter().rev().fold(ret, |ret, p| Type::Arrow(Box::new(p), Box::new(ret)))
    }
}
