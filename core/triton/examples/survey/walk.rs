//! All expressions of a function, the outer ones first.
//!
//! Invariant: every expression that stands in a list of statements is seen once, in the order of the text.

use girih_triton::python::ast::{Expr, ExprKind, FormatPart, Stmt, StmtKind};

/// Shows each expression of a list of statements, those within other statements included.
pub fn expressions<'a>(list: &'a [Stmt], see: &mut dyn FnMut(&'a Expr)) {
    statements(list, &mut |statement| own(statement, see));
}

/// Shows each statement of a list, those within others included.
pub fn statements<'a>(list: &'a [Stmt], see: &mut dyn FnMut(&'a Stmt)) {
    for statement in list {
        see(statement);
        match &statement.kind {
            StmtKind::If(_, one, other) | StmtKind::For(_, _, one, other) | StmtKind::While(_, one, other) => {
                statements(one, see);
                statements(other, see);
            }
            StmtKind::Function(def) => statements(&def.body, see),
            StmtKind::Class(def) => statements(&def.body, see),
            StmtKind::With(_, body) => statements(body, see),
            StmtKind::Try(body, others) => {
                statements(body, see);
                others.iter().for_each(|other| statements(other, see));
            }
            StmtKind::Expr(_)
            | StmtKind::Assign(..)
            | StmtKind::Annotated(..)
            | StmtKind::Augmented(..)
            | StmtKind::Return(_)
            | StmtKind::Pass
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Import(_)
            | StmtKind::ImportFrom(..)
            | StmtKind::Assert(..)
            | StmtKind::Global(_)
            | StmtKind::Other(_) => {}
        }
    }
}

/// Shows the expressions of a statement itself.
fn own<'a>(statement: &'a Stmt, see: &mut dyn FnMut(&'a Expr)) {
    match &statement.kind {
        StmtKind::Expr(e) | StmtKind::Return(Some(e)) | StmtKind::If(e, ..) | StmtKind::While(e, ..) => each(e, see),
        StmtKind::Assign(targets, value) => {
            each(value, see);
            targets.iter().for_each(|target| each(target, see));
        }
        StmtKind::Annotated(target, _, value) => {
            each(target, see);
            value.iter().for_each(|value| each(value, see));
        }
        StmtKind::Augmented(one, _, other) | StmtKind::For(one, other, ..) => {
            each(one, see);
            each(other, see);
        }
        StmtKind::Assert(one, other) => std::iter::once(one).chain(other).for_each(|e| each(e, see)),
        StmtKind::With(entered, _) => entered.iter().for_each(|(e, _)| each(e, see)),
        StmtKind::Function(_)
        | StmtKind::Class(..)
        | StmtKind::Return(None)
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Import(_)
        | StmtKind::ImportFrom(..)
        | StmtKind::Try(..)
        | StmtKind::Global(_)
        | StmtKind::Other(_) => {}
    }
}

/// Shows an expression, and what it is made of.
pub fn each<'a>(e: &'a Expr, see: &mut dyn FnMut(&'a Expr)) {
    see(e);
    match &e.kind {
        ExprKind::Format(parts) => {
            let values = parts.iter().filter_map(|part| match part {
                FormatPart::Value(value, ..) => Some(value),
                FormatPart::Text(_) => None,
            });
            values.for_each(|value| each(value, see));
        }
        ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Boolean(_, items) => {
            items.iter().for_each(|item| each(item, see));
        }
        ExprKind::Dict(items) => {
            for (key, value) in items {
                key.iter().for_each(|key| each(key, see));
                each(value, see);
            }
        }
        ExprKind::Comprehension(of) => {
            each(&of.element, see);
            of.value.iter().for_each(|value| each(value, see));
            for clause in &of.clauses {
                each(&clause.iterable, see);
                clause.conditions.iter().for_each(|condition| each(condition, see));
            }
        }
        ExprKind::Attribute(of, _) | ExprKind::Unary(_, of) | ExprKind::Starred(of) | ExprKind::Named(_, of) => {
            each(of, see);
        }
        ExprKind::Subscript(one, other) | ExprKind::Binary(_, one, other) => {
            each(one, see);
            each(other, see);
        }
        ExprKind::Slice(one, two, three) => {
            [one, two, three].into_iter().flatten().for_each(|part| each(part, see));
        }
        ExprKind::Call(callee, arguments) => {
            each(callee, see);
            arguments.iter().for_each(|argument| each(&argument.value, see));
        }
        ExprKind::Compare(first, others) => {
            each(first, see);
            others.iter().for_each(|(_, other)| each(other, see));
        }
        ExprKind::Conditional(one, two, three) => [one, two, three].into_iter().for_each(|part| each(part, see)),
        ExprKind::Lambda(_, body) => each(body, see),
        ExprKind::Name(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Str(_)
        | ExprKind::Bool(_)
        | ExprKind::None
        | ExprKind::Ellipsis
        | ExprKind::Other(_) => {}
    }
}
