//! Tensors on devices: a [`Tensor`] is an array of numbers, or a computation that will give one, with derivatives, modules, optimisers and losses.
//!
//! Operations write a graph ([`girih_tensor`]); nothing is computed until elements are read. Then the device gets fused kernels, which are compiled once for each
//! graph with its shapes.
//!
//! Invariant: no operation panics. A mistake is kept in the tensor that it gives, with the caller's line, and is returned where elements are read.
//!
//! | to .. | see |
//! |---|---|
//! | make tensors | [`Device`], [`Random`] |
//! | compute with them | [`Tensor`] |
//! | take derivatives | [`Tensor::grad`], [`value_and_grad`] |
//! | trace a function once | [`compile`](compile::compile) |
//! | build a network | [`nn`] |
//! | train it | [`optim`], [`loss`], [`schedule`] |
//! | save and load it | [`weights`] |
//! | run an ONNX model | [`onnx`] |
//! | write and run a graph of one's own | [`graph`] |

mod compile;
mod device;
mod error;
mod gradient;
pub mod graph;
pub mod loss;
pub mod nn;
pub mod onnx;
pub mod optim;
mod plan;
mod random;
pub mod schedule;
mod tensor;
mod trace;
pub mod weights;

pub use compile::{Compiled, compile};
pub use device::{Device, WeakDevice};
pub use girih_base::diag::{Code, Diagnostic};
pub use girih_ir::Scalar;
pub use girih_runtime::Element;
pub use gradient::value_and_grad;
pub use graph::Graph;
pub use random::Random;
pub use tensor::{Operand, Tensor, concat, stack};

/// What reading a tensor gives, or why it has no elements.
pub type Result<T> = std::result::Result<T, Diagnostic>;
