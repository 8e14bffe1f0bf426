//! The heart of Girih: languages, the typed lambda core, the reference evaluators. No file, terminal or GPU is touched
//! here: sources come in through a loader trait and effects go out through a host trait, so that the crate compiles to
//! WebAssembly too.
//!
//! A folder is a stage of the data's way: [`bend`] reads text, [`term`] is what it means.

pub mod bend;
pub mod cycles;
pub mod diag;
pub mod direct;
pub mod hash;
pub mod idx;
pub mod ir;
pub mod lower;
pub mod name;
pub mod net;
pub mod num;
pub mod pack;
pub mod prim;
pub mod python;
pub mod runtime;
pub mod span;
pub mod term;
pub mod triton;

/// Names this compiler by its sources: two builds that may write different code have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");
