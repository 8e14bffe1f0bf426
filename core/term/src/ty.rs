//! Types of the core: gradual Hindley-Milner over numbers, tuples, functions and data types.

use super::TypeId;
use girih_base::name::Name;
use girih_base::num::NumKind;

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
    /// What its parameters are called in the annotation; those that the checker found have letters.
    pub params: Vec<Name>,
    /// The type.
    pub ty: Type,
}

impl Scheme {
    /// A type without parameters.
    pub fn mono(ty: Type) -> Scheme {
        Scheme { params: vec![], ty }
    }
}

impl Type {
    /// `params[0] -> … -> ret`.
    pub fn function(params: impl IntoIterator<Item = Type, IntoIter: DoubleEndedIterator>, ret: Type) -> Type {
        params.into_iter().rev().fold(ret, |ret, p| Type::Arrow(Box::new(p), Box::new(ret)))
    }

    /// The type with these in the place of its parameters; a parameter without one can be anything.
    pub fn with(&self, arguments: &[Type]) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| ty.with(arguments)).collect();
        match self {
            Type::Any | Type::Hole | Type::None | Type::Num(_) | Type::Var(_) => self.clone(),
            Type::Param(i) => arguments.get(*i as usize).cloned().unwrap_or(Type::Any),
            Type::Data(id, inner) => Type::Data(*id, all(inner)),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::Arrow(from, to) => Type::Arrow(Box::new(from.with(arguments)), Box::new(to.with(arguments))),
        }
    }
}

/// A name for a type variable by its number: `a`, `b`, …, `z`, `a1`, ….
pub fn letter(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
