//! Interaction nets.

pub mod ast;
