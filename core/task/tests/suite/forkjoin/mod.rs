//! Tests of programs by fork-join.

mod liveness;
mod loop_exits;
mod pace;
mod pointers;
