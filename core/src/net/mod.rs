//! Interaction nets.

pub mod ast;
pub mod parse;
mod print;
