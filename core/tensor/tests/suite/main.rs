//! Tests of graphs of tensors.

mod derivatives;
mod devices;
mod random;
mod samples;
mod shapes;
mod text;
mod values;
