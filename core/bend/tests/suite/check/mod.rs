//! Tests of the checker.

mod builder;
mod groups;
mod terms;
mod text;
