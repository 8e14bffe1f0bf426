//! The Bend language: text to syntax tree to [`crate::term`].

pub mod ast;
pub mod lexer;
pub mod parser;
pub mod printer;
