//! The parts of *task form* besides functions: layouts of cells, globals, and the tags of words.
//!
//! Invariant: the meaning of a word's tag is the same for every runner; how a cell lies in memory is the runner's own matter.

use super::function::FunctionId;
use super::types::Type;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::span::Span;

index_type! {
    /// A layout of a module.
    pub struct LayoutId;
}
index_type! {
    /// A global of a module.
    pub struct GlobalId;
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its name, without `@`.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Types of its fields, in order: `term`, `u32`, `i32` or `f32`.
    pub fields: Vec<Type>,
}

/// A value that is computed at most once in a run, when it is needed first, and lives as long as the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name, without `@`.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// The function that computes it: no parameters, one result, a `term`.
    pub function: FunctionId,
}

/// Units of 8 bytes of a cell with so many fields on the host: one for its count and its layout, and one for two fields each.
pub const fn host_units(fields: usize) -> u32 {
    1 + fields.div_ceil(2) as u32
}

/// Types that fields of cells, and parameters and results of functions that are called from outside, may have: all of 32 bits.
pub const FIELDS: [Type; 4] = [Type::Term, Type::U32, Type::I32, Type::F32];

/// The tag of a 24-bit unsigned number.
pub const U24: u32 = 0;
/// The tag of a 24-bit signed number; the payload is its 24 bits.
pub const I24: u32 = 1;
/// The tag of a 24-bit float; the payload is the upper 24 bits of the `f32`.
pub const F24: u32 = 2;
/// The tag of small things that need no cell: constructors without fields, functions without captures, ..
pub const IMMEDIATE: u32 = 3;
/// The tag of a cell; the payload is its place in units of 8 bytes, never 0.
pub const CELL: u32 = 4;
/// The reuse token that is none: what `cell.open` gives for a cell that others still own.
pub const NO_REUSE_TOKEN: u32 = CELL;
/// The chain without cells. Of others the word is that of the last cell, whose open field holds the word of the first one: so a chain is one
/// word, and whoever looks for cells comes from it to all of its cells.
pub const NO_CHAIN: u32 = CELL;
/// Bits of a word that the tag takes.
const TAG_BITS: u32 = 3;

/// The word of a tag and a payload; bits above 3 and 29 are dropped.
pub const fn pack(tag: u32, payload: u32) -> u32 {
    payload << TAG_BITS | tag & ((1 << TAG_BITS) - 1)
}
/// The tag of a word.
pub const fn tag(word: u32) -> u32 {
    word & ((1 << TAG_BITS) - 1)
}
/// The payload of a word.
pub const fn payload(word: u32) -> u32 {
    word >> TAG_BITS
}
