//! Which variables statements assign, and where.
//!
//! Invariant: each name is found once, in the order in which it first stands there; also in branches that are not compiled.

use crate::python::ast::{Expr, ExprKind, Stmt, StmtKind};
use girih_base::span::Span;

/// Where statements last assign a name.
pub(super) fn last_assignment(list: &[Stmt], name: &str) -> Option<Span> {
    list.iter().rev().find_map(|s| match &s.kind {
        StmtKind::If(_, a, b) | StmtKind::While(_, a, b) | StmtKind::For(_, _, a, b) => {
            last_assignment(b, name).or_else(|| last_assignment(a, name))
        }
        _simple => {
            let mut own = vec![];
            assigned(std::slice::from_ref(s), &mut own);
            own.iter().any(|own| own == name).then_some(s.span)
        }
    })
}

/// Names that statements assign, each once.
pub(super) fn assigned(list: &[Stmt], out: &mut Vec<String>) {
    for s in list {
        match &s.kind {
            StmtKind::Assign(targets, _) => targets.iter().for_each(|t| names(t, out)),
            StmtKind::Annotated(t, _, Some(_)) | StmtKind::Augmented(t, ..) => names(t, out),
            StmtKind::If(_, a, b) | StmtKind::While(_, a, b) => {
                assigned(a, out);
                assigned(b, out);
            }
            StmtKind::For(t, _, a, b) => {
                names(t, out);
                assigned(a, out);
                assigned(b, out);
            }
            _no_variables => {}
        }
    }
}

/// The names that a target gives values to.
pub(super) fn names(target: &Expr, out: &mut Vec<String>) {
    match &target.kind {
        ExprKind::Name(name) if !out.contains(name) => out.push(name.clone()),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|t| names(t, out)),
        ExprKind::Starred(inner) => names(inner, out),
        _others => {}
    }
}
