//! Python's syntax: text to a tree, without meaning. Kernels are written in it; [`crate`] knows what they mean.
//!
//! The parser reads the whole grammar of Python 3.12, because a kernel's file contains ordinary code as well. It keeps constructs that no kernel can contain
//! as [`ast::Other`], with their names, so that an error can name them.
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
