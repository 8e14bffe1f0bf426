//! Tensors on devices: the interpreter of graphs is the oracle.

mod devices;
mod errors;
mod gradients;
mod onnx;
mod operations;
mod plans;
mod random;
mod training;
mod weights;
