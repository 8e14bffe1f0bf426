//! Interaction nets as text: the syntax tree of `.hvm` files and of Bend's `hvm` definitions, read and printed.

pub mod ast;
pub mod function;
pub mod parse;
mod print;
