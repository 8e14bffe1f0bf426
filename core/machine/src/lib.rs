//! The reference machines: what every device is held to.
//!
//! [`interp`] runs kernels in step and finds races and accesses out of bounds; [`tasks`] runs functions in task form and finds leaks,
//! uses after release and forks that are not joined. They are written to be read and believed, not to be fast.

pub mod interp;
pub mod tasks;
