//! The tests of `girih-ir`, in one program.

mod bad;
mod eval;
mod exhaustive;
mod kernel;
mod nvidia;
mod ops;
mod predicates;
mod reference;
mod text;
mod tile;
mod uniformity;
