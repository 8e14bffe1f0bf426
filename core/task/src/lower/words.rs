//! How values of Bend stand in words of the heap.
//!
//! A word is a tag of 3 bits below a payload of 29 bits (`Type::Term`; see docs/ir.md). Numbers of 24 bits stand in the word itself; those of
//! 32 bits, where it is not known what a word holds, in a cell of their own. What has no parts is an *immediate*, whose payload is
//! again a kind and an index.

use super::Tables;
use girih_base::num::NumKind;
use girih_term::{CtorId, DefId, TypeId};

/// Tags of words.
pub mod tag {
    /// A `u24`.
    pub const U24: u32 = 0;
    /// The 24 bits of an `i24`.
    pub const I24: u32 = 1;
    /// The upper 24 bits of an `f24`.
    pub const F24: u32 = 2;
    /// Something without parts.
    pub const IMMEDIATE: u32 = 3;
    /// A cell.
    pub const CELL: u32 = 4;
}

/// The tag of a number of 24 bits; none for those that need a cell.
pub fn tag_of(kind: NumKind) -> Option<u32> {
    match kind {
        NumKind::U24 => Some(tag::U24),
        NumKind::I24 => Some(tag::I24),
        NumKind::F24 => Some(tag::F24),
        NumKind::U32 | NumKind::I32 | NumKind::F32 => None,
    }
}

/// What has no parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// `*`.
    Era,
    /// A constructor without fields.
    Unit(CtorId),
    /// A constructor with fields, as a function of them.
    Make(CtorId),
    /// A definition: a function, or a value that is computed when it is inspected.
    Definition(DefId),
    /// A lambda that captures nothing, by its number in [`Tables::lambdas`].
    Lambda(u32),
    /// What a match applies to a function that stands for a constructor.
    Select(TypeId),
}

/// The form of words that say why there is no value (see `dynamic::reason`); they are never seen by a program.
pub const REASON: u32 = 7;

/// Whether a word says why there is no value.
pub fn is_reason(word: u32) -> bool {
    word & ((1 << (3 + FORM_BITS)) - 1) == REASON << 3 | tag::IMMEDIATE
}

/// Bits of the payload that say which form an immediate has.
pub const FORM_BITS: u32 = 3;

impl Immediate {
    /// Which form it has.
    pub fn form(self) -> u32 {
        match self {
            Immediate::Era => 0,
            Immediate::Unit(_) => 1,
            Immediate::Make(_) => 2,
            Immediate::Definition(_) => 3,
            Immediate::Lambda(_) => 4,
            Immediate::Select(_) => 5,
        }
    }

    /// The payload of its word.
    pub fn payload(self) -> u32 {
        let index = match self {
            Immediate::Era => 0,
            Immediate::Unit(ctor) | Immediate::Make(ctor) => ctor.index() as u32,
            Immediate::Definition(def) => def.index() as u32,
            Immediate::Lambda(number) => number,
            Immediate::Select(ty) => ty.index() as u32,
        };
        index << FORM_BITS | self.form()
    }

    /// Its word.
    pub fn word(self) -> u32 {
        self.payload() << 3 | tag::IMMEDIATE
    }

    /// The immediate of a payload, if it is one of the program's.
    pub fn of(payload: u32, tables: &Tables) -> Option<Immediate> {
        let index = payload >> FORM_BITS;
        let below = |count: usize| (index as usize) < count;
        match payload & ((1 << FORM_BITS) - 1) {
            0 => (index == 0).then_some(Immediate::Era),
            1 => below(tables.ctors).then(|| Immediate::Unit(CtorId::new(index))),
            2 => below(tables.ctors).then(|| Immediate::Make(CtorId::new(index))),
            3 => below(tables.definitions).then(|| Immediate::Definition(DefId::new(index))),
            4 => below(tables.lambdas.len()).then_some(Immediate::Lambda(index)),
            5 => below(tables.types).then(|| Immediate::Select(TypeId::new(index))),
            _ => None,
        }
    }
}
