//! Graphs of tensor operations: what they mean, their derivatives, and the kernels that they become.
//!
//! A [`Graph`] is a list of nodes, each of which computes one tensor from earlier ones by an operation of the one table ([`ops`]).
//! Passes make graphs of graphs: [`decompose`](mod@decompose) replaces what the table defines by other operations, [`differentiate`](mod@differentiate) adds derivatives.
//! [`share`](mod@share) computes nothing twice, `partial` splits long reductions and `joins` concatenations of many tensors, [`schedule`](mod@schedule) says which nodes one kernel computes together, and [`lower`] writes these kernels in tile form. The interpreter is the oracle:
//! every other way to compute a graph is compared with it. Nothing here does input or output.
//!
//! | to .. | see |
//! |---|---|
//! | find what an operation means, needs and becomes | [`ops`] |
//! | write a graph | [`Graph`]; `construct` has a method for each way to write a node |
//! | read and print one | [`text`] |
//! | compute one | [`interpret`](mod@interpret) |
//! | get kernels | [`lower`] |

mod attrs;
mod construct;
pub mod decompose;
mod derivatives;
pub mod differentiate;
mod graph;
mod infer;
mod integer;
pub mod interpret;
mod joins;
pub mod lower;
pub mod ops;
mod partial;
mod row;
mod scatter;
pub mod schedule;
pub mod share;
mod size;
mod sort;
pub mod text;
mod windows;

pub use attrs::{Attr, AttrKind, Holds, Number};
pub use construct::promote;
pub use decompose::decompose;
pub use differentiate::{differentiate, vector_jacobian};
pub use graph::{Graph, Node, NodeId};
pub use interpret::{Data, interpret};
pub use ops::Op;
pub use scatter::Meeting;
pub use share::share;
pub use size::{Shape, Size, TensorType};

/// What a step that may fail gives.
pub type Made<T> = Result<T, girih_base::diag::Diagnostic>;
