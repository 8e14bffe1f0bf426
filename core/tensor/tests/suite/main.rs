//! Tests of graphs of tensors.

mod derivatives;
mod devices;
mod page;
mod random;
mod samples;
mod shapes;
mod text;
mod values;
