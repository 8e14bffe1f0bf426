//! The foundation of every stage: places in the sources, diagnostics, typed indices, and numbers that are the same on every machine, bit for
//! bit. This crate knows no language and no device, and does no input or output.

pub mod cycles;
pub mod diag;
pub mod hash;
pub mod idx;
pub mod lexer;
pub mod name;
pub mod num;
pub mod pack;
pub mod plural;
pub mod prim;
pub mod span;
pub mod words;

/// Names this crate by its sources.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");
