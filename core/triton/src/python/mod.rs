//! Python's syntax: text to a tree that says nothing about meaning. Kernels are written in it; [`crate`] knows what they mean.
//!
//! The whole grammar of Python 3.12 is read, because a kernel's file holds ordinary code as well. What no kernel can contain is kept
//! as [`ast::Other`], with its name, so that whoever meets it can say so.
//!
//! | file | what |
//! |---|---|
//! | [`ast`] | the tree |
//! | [`lexer`] | tokens, indentation |
//! | [`strings`] | what string literals say |
//! | [`parser`] | statements; [`expressions`](mod@expressions) beside it |

pub mod ast;
mod expressions;
mod lexer;
mod parser;
mod strings;
#[cfg(test)]
mod tests;

pub use parser::parse;
