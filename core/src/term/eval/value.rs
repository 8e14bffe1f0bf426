//! Values as the machine holds them: 8 bytes, copied freely, pointing into the heap by position.

use crate::num::Num;
use crate::term::code::{LambdaId, SmallCtor};
use crate::term::{DefId, TypeId};

/// A position in the heap, in words.
pub(crate) type Position = u32;

/// A value of a [`Machine`](super::Machine), or a word of its heap.
///
/// The cells behind the pointers have no header: the pointer says how long the cell is, with the tables of the code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Word {
    U24(u32),
    I24(i32),
    F24(f32),
    U32(u32),
    I32(i32),
    F32(f32),
    /// `*`.
    Era,
    /// A definition: a function, or a value that is computed when it is inspected.
    Global(DefId),
    /// A lambda that captures nothing.
    Lambda(LambdaId),
    /// A constructor without fields.
    Unit(SmallCtor),
    /// A constructor as a function of its fields.
    Make(SmallCtor),
    /// The function that a match applies to a value that is a function: it takes a tag, then the fields of that
    /// constructor of the type.
    Select(TypeId),
    /// A constructor; its cell holds its fields.
    Data(SmallCtor, Position),
    /// A pair; its cell holds its parts.
    Pair(Position),
    /// A closure; its cell holds a [`Word::Header`] and the captured values.
    Closure(Position),
    /// A function and this number of arguments, fewer than it has parameters; its cell holds the function, then them.
    Partial(u16, Position),
    /// The first word of a closure's cell.
    Header(LambdaId),
    /// During a collection: what was here is there now.
    Moved(Position),
}

const _: () = assert!(size_of::<Word>() == 8);

impl Word {
    /// The number, if it is one.
    #[inline]
    pub(crate) fn num(self) -> Option<Num> {
        match self {
            Word::U24(x) => Some(Num::U24(x)),
            Word::I24(x) => Some(Num::I24(x)),
            Word::F24(x) => Some(Num::F24(x)),
            Word::U32(x) => Some(Num::U32(x)),
            Word::I32(x) => Some(Num::I32(x)),
            Word::F32(x) => Some(Num::F32(x)),
            _ => None,
        }
    }
}

impl From<Num> for Word {
    #[inline]
    fn from(number: Num) -> Word {
        match number {
            Num::U24(x) => Word::U24(x),
            Num::I24(x) => Word::I24(x),
            Num::F24(x) => Word::F24(x),
            Num::U32(x) => Word::U32(x),
            Num::I32(x) => Word::I32(x),
            Num::F32(x) => Word::F32(x),
        }
    }
}

/// A value of a machine.
///
/// It is valid for the machine that made it, until the next of its methods that runs code
/// ([`call`](super::Machine::call), [`apply`](super::Machine::apply), [`force`](super::Machine::force)): these may move
/// the heap. A value that is needed longer is kept with [`Machine::keep`](super::Machine::keep).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value(pub(crate) Word);

impl Value {
    /// The erased value `*`.
    pub const ERA: Value = Value(Word::Era);

    /// The number, if it is one.
    pub fn num(self) -> Option<Num> {
        self.0.num()
    }

    /// Where the value's cell stands in the heap, if it has one: values with the same cell are shared.
    pub fn cell(self) -> Option<u32> {
        match self.0 {
            Word::Data(_, cell) | Word::Pair(cell) | Word::Closure(cell) | Word::Partial(_, cell) => Some(cell),
            _ => None,
        }
    }
}

impl From<Num> for Value {
    fn from(number: Num) -> Value {
        Value(Word::from(number))
    }
}
