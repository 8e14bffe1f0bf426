//! Shapes: the classes of cells that have one layout.
//!
//! Two terms that make cells are of one shape if what they make can meet where it is inspected: at a match, where a tuple
//! is taken apart, or where a function is applied. So whoever inspects a value knows one layout for each constructor.

use super::Callee;
use super::LambdaRef;
use super::set::Set;
use girih_base::index_type;
use girih_term::CtorId;

index_type! {
    /// A shape of a [`Flow`](super::Flow).
    pub struct ShapeId;
}

/// A class of cells that have one layout.
#[derive(Clone, Debug)]
pub struct CellClass {
    /// What the cells are.
    pub what: What,
    /// What each field may hold, in any of the cells.
    pub fields: Vec<Set>,
    /// Whether the host may see the cells, or make such ones: then all fields are stored as terms.
    pub external: bool,
}

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// A constructor with its fields.
    Ctor(CtorId),
    /// A pair.
    Pair,
    /// A closure. Its fields are the captured variables, in the order in which the evaluator captures them.
    Closure(LambdaRef),
    /// A function with this number of arguments, fewer than it has parameters. Its fields are the function, if that is a
    /// closure, and the arguments.
    Partial(Callee, u32),
}
