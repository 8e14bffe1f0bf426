//! The tests of `girih-bend`, in one program.

mod analysis;
mod check;
#[path = "../../../../benches/constructs.rs"]
mod constructs;
mod format;
mod growth;
mod lower;
mod parse_errors;
mod parse_mutations;
mod parse_roundtrip;
mod parse_syntax;
mod prelude;
mod testing;
