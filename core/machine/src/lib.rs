//! The reference machines, with which every device is compared.
//!
//! [`interp`] runs all invocations of a kernel in step, and finds races and out-of-bounds accesses. [`tasks`] runs functions in task form, and finds leaks,
//! uses after release and forks that are not joined. Both are written to be obviously correct, not to be fast.

pub mod interp;
pub mod tasks;
