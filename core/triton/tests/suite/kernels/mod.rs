//! Triton kernels: what they compute, and what is said about those that are wrong.

mod errors;
mod host;
mod run;
mod semantics;
mod shaders;
