//! Types in both syntaxes.

use super::lists::Brackets;
use super::walker::Walker;
use crate::ast::{TypeExpr, TypeKind};
use crate::doc::{Doc, concat, text};

/// In which of the two syntaxes something is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// The imperative one.
    Imperative,
    /// The functional one.
    Functional,
}

impl Walker<'_> {
    /// A type.
    pub fn ty(&mut self, ty: &TypeExpr, syntax: Syntax) -> Doc {
        if self.comes("(") && self.has_own_parentheses(ty, syntax) {
            return self.enclosed(Brackets::ROUND, |walker| walker.ty(ty, syntax));
        }
        let inner = |walker: &mut Self, part: &TypeExpr| walker.ty(part, syntax);
        match &ty.node {
            TypeKind::Any => self.token("Any"),
            TypeKind::Hole => self.token("_"),
            TypeKind::None => self.token("None"),
            TypeKind::Number(kind) => self.token(kind.name()),
            TypeKind::Name(name) => self.token(name),
            TypeKind::Apply(constructor, arguments) => match syntax {
                Syntax::Imperative => {
                    let constructor = self.token(&constructor.node);
                    concat([constructor, self.list(Brackets::ROUND, arguments, inner)])
                }
                Syntax::Functional => self.list_of(Brackets::SPACED, arguments.len() + 1, |walker, i| {
                    match i.checked_sub(1).and_then(|i| arguments.get(i)) {
                        Some(argument) => walker.ty(argument, syntax),
                        None => walker.token(&constructor.node),
                    }
                }),
            },
            TypeKind::Tuple(parts) => self.list(Brackets::ROUND, parts, inner),
            TypeKind::Arrow(from, to) => {
                let from = self.ty(from, syntax);
                concat([from, text(" "), self.token("->"), text(" "), self.ty(to, syntax)])
            }
        }
    }

    /// Whether the bracket that comes next was only put around a type.
    fn has_own_parentheses(&self, ty: &TypeExpr, syntax: Syntax) -> bool {
        let at = |other: usize, part: &TypeExpr| other == part.span.start as usize;
        match &ty.node {
            TypeKind::Arrow(from, _) => !at(self.next_at(), from),
            TypeKind::Tuple(parts) => !parts.first().is_some_and(|first| at(self.behind_next(), first)),
            TypeKind::Apply(constructor, _) => match syntax {
                Syntax::Imperative => true,
                Syntax::Functional => self.behind_next() != constructor.span.start as usize,
            },
            TypeKind::Any | TypeKind::Hole | TypeKind::None | TypeKind::Number(_) | TypeKind::Name(_) => true,
        }
    }
}
