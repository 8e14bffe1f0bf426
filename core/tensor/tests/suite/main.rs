//! Tests of graphs of tensors.

mod derivatives;
mod devices;
mod edges;
mod page;
mod random;
mod samples;
mod shapes;
mod sorting;
mod text;
mod values;
