//! Values as the machine holds them: 8 bytes, copied freely, pointing into the heap by position.

use crate::code::{LambdaId, SmallCtor};
use crate::{DefId, TypeId};
use girih_base::num::Num;

/// A position in the heap, in words.
pub(crate) type Position = u32;

/// A value of a [`Machine`](super::Machine), or a word of its heap, taken apart.
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

/// A word as the stack and the heap hold it: 8 bytes that are copied in one piece. The lowest 8 bits say which form it
/// is, the next 16 and the upper 32 hold what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(u64);

/// Declares the tags of the forms, so that packing and unpacking agree.
macro_rules! tags {
    ($($name:ident = $tag:literal;)*) => { $(const $name: u8 = $tag;)* };
}

tags! {
    U24 = 0; I24 = 1; F24 = 2; U32 = 3; I32 = 4; F32 = 5; ERA = 6; GLOBAL = 7; LAMBDA = 8; UNIT = 9; MAKE = 10;
    SELECT = 11; DATA = 12; PAIR = 13; CLOSURE = 14; PARTIAL = 15; HEADER = 16; MOVED = 17;
}

impl Packed {
    /// `*`.
    pub(crate) const ERA: Packed = Packed(ERA as u64);

    #[inline(always)]
    fn new(tag: u8, small: u16, large: u32) -> Packed {
        Packed(u64::from(tag) | u64::from(small) << 16 | u64::from(large) << 32)
    }

    /// The word.
    #[inline(always)]
    pub(crate) fn word(self) -> Word {
        let small = (self.0 >> 16) as u16;
        let large = (self.0 >> 32) as u32;
        match self.0 as u8 {
            U24 => Word::U24(large),
            I24 => Word::I24(large as i32),
            F24 => Word::F24(f32::from_bits(large)),
            U32 => Word::U32(large),
            I32 => Word::I32(large as i32),
            F32 => Word::F32(f32::from_bits(large)),
            ERA => Word::Era,
            GLOBAL => Word::Global(DefId::new(large)),
            LAMBDA => Word::Lambda(LambdaId::new(large)),
            UNIT => Word::Unit(small),
            MAKE => Word::Make(small),
            SELECT => Word::Select(TypeId::new(large)),
            DATA => Word::Data(small, large),
            PAIR => Word::Pair(large),
            CLOSURE => Word::Closure(large),
            PARTIAL => Word::Partial(small, large),
            HEADER => Word::Header(LambdaId::new(large)),
            _ => Word::Moved(large),
        }
    }
}

impl From<Word> for Packed {
    #[inline(always)]
    fn from(word: Word) -> Packed {
        match word {
            Word::U24(x) => Packed::new(U24, 0, x),
            Word::I24(x) => Packed::new(I24, 0, x as u32),
            Word::F24(x) => Packed::new(F24, 0, x.to_bits()),
            Word::U32(x) => Packed::new(U32, 0, x),
            Word::I32(x) => Packed::new(I32, 0, x as u32),
            Word::F32(x) => Packed::new(F32, 0, x.to_bits()),
            Word::Era => Packed::ERA,
            Word::Global(def) => Packed::new(GLOBAL, 0, def.index() as u32),
            Word::Lambda(lambda) => Packed::new(LAMBDA, 0, lambda.index() as u32),
            Word::Unit(ctor) => Packed::new(UNIT, ctor, 0),
            Word::Make(ctor) => Packed::new(MAKE, ctor, 0),
            Word::Select(ty) => Packed::new(SELECT, 0, ty.index() as u32),
            Word::Data(ctor, cell) => Packed::new(DATA, ctor, cell),
            Word::Pair(cell) => Packed::new(PAIR, 0, cell),
            Word::Closure(cell) => Packed::new(CLOSURE, 0, cell),
            Word::Partial(count, cell) => Packed::new(PARTIAL, count, cell),
            Word::Header(lambda) => Packed::new(HEADER, 0, lambda.index() as u32),
            Word::Moved(to) => Packed::new(MOVED, 0, to),
        }
    }
}

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
