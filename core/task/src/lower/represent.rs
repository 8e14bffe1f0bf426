//! How what may stand somewhere is held: a number of one kind as itself, anything else as a word.

use super::super::flow::{CellClass, Set, ShapeId};
use super::numbers::scalar;
use girih_base::num::NumKind;
use girih_ir::{Type, ValueId};

/// How a value is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// A number of this kind.
    Number(NumKind),
    /// A word of the heap, which the holder owns.
    Term,
}

impl Repr {
    /// Its type in the IR.
    pub fn ty(self) -> Type {
        match self {
            Repr::Number(kind) => Type::Scalar(scalar(kind)),
            Repr::Term => Type::Term,
        }
    }
}

/// How what a set describes is held.
pub fn of(set: &Set) -> Repr {
    set.number().map_or(Repr::Term, Repr::Number)
}

/// How a function gives its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Results {
    /// As one value.
    One(Repr),
    /// As the fields of a cell of this shape, which is never made.
    Parts(ShapeId, Vec<Repr>),
}

impl Results {
    /// How the values are held.
    pub fn reprs(&self) -> &[Repr] {
        match self {
            Results::One(repr) => std::slice::from_ref(repr),
            Results::Parts(_, reprs) => reprs,
        }
    }
    /// Their types.
    pub fn types(&self) -> Vec<Type> {
        self.reprs().iter().map(|repr| repr.ty()).collect()
    }
}

/// A value and how it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The value.
    pub id: ValueId,
    /// How it is held.
    pub repr: Repr,
}

/// How the fields of cells of a shape are stored.
pub fn stored(shape: &CellClass) -> Vec<Repr> {
    shape.fields.iter().map(|set| if shape.external { Repr::Term } else { of(set) }).collect()
}
