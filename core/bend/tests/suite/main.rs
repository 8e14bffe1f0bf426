//! The tests of `girih-bend`, in one program.

mod analysis;
mod check;
mod format;
mod lower;
mod parse_errors;
mod parse_mutations;
mod parse_roundtrip;
mod parse_syntax;
mod prelude;
