//! Tests of graphs of tensors.

mod derivatives;
mod random;
mod samples;
mod shapes;
mod text;
mod values;
