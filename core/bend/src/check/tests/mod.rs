//! Tests of the checker.

mod builder;
mod terms;
mod text;
