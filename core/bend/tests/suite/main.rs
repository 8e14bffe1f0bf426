//! The integration tests of `girih-bend`, in one program.

mod parse_errors;
mod parse_mutations;
mod parse_roundtrip;
mod parse_syntax;
