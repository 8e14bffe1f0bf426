//! Tests of programs that are flattened.

mod exits;
mod known;
mod place;
