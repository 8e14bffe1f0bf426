//! ONNX models as graphs of tensor operations.
//!
//! A [`Model`] is read from the bytes of a file. Its operators have shapes as values and lengths that are known only when it runs, and a [`Graph`](girih_tensor::Graph) has
//! neither: [`Model::graph`] is therefore told the types of the inputs, and writes the graph for these. What depends on no input is a constant, and is computed while the graph is
//! written where an operator has to know it. An input whose elements decide about shapes is asked for, and is then part of the graph.
//!
//! | to .. | see |
//! |---|---|
//! | read a file | [`Model::read`] |
//! | write the graph | [`Model::graph`], `import`, and `call`, which is what an operator sees |
//! | compute once what no input leads to | [`Imported::prepare`] |
//! | say no to a size that no tensor has, or to too much of anything | `size` |
//! | find what becomes of an operator | [`operators`], the table; the files beside it |
//!
//! Invariant: an operator becomes what the standard says, or is refused by name. Nothing here does input or output.

mod call;
mod constant;
mod error;
mod foreign;
mod import;
mod model;
pub mod operators;
mod prepare;
pub mod proto;
mod size;

pub use constant::{Constant, External};
pub use import::Imported;
pub use model::{Dimension, Input, Model};
pub use prepare::Prepared;
