//! The routines of the math library as plain functions, made of the same operations in the same order as the text of
//! the IR beside them: what was measured over all floats, and what the text is held to.

// Constants are parts of numbers, as exact as the text has them.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

pub mod accuracy;
pub mod convert;
pub mod division;
pub mod exponential;
pub mod fma;
pub mod integers;
pub mod inverse;
pub mod logarithm;
pub mod ops;
pub mod power;
pub mod root;
pub mod trigonometric;
pub mod wide;
