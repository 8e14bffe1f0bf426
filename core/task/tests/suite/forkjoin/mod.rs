//! Tests of programs by fork-join.

mod liveness;
mod pace;
mod pointers;
