//! Tests of the numbers: every operator on every kind, conversions, text, and the mathematical functions.

mod conversions;
mod functions;
mod model;
mod operators;
mod special;
mod text;
mod upstream;
