//! The Bend language: text to syntax tree to [`crate::term`].

pub mod ast;
pub mod check;
pub mod lexer;
pub mod parser;
pub mod prelude;
pub mod printer;
