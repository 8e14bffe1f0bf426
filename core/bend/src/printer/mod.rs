//! The syntax tree as text in the formatter's layout: what [`super::parser`] reads back is the same tree.
//!
//! Comments and blank lines are not in the tree; a blank line separates items.

mod expressions;
mod items;
mod patterns;
mod statements;
mod terms;
mod types;

use super::ast::{Expr, Item, Module};

/// A module as text, ending with a line end.
pub fn print_module(module: &Module) -> String {
    items::module(module).layout()
}

/// An expression in the functional syntax.
pub fn print_expr(expr: &Expr) -> String {
    terms::term(expr).layout()
}

/// The head of an item: a definition without its body, a type with all its constructors.
pub fn print_header(item: &Item) -> String {
    items::header(item).layout()
}
