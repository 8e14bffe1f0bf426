//! Patterns in both syntaxes.

use super::lists::{Brackets, Separator};
use super::types::Syntax;
use super::walker::Walker;
use crate::ast::{Pattern, PatternKind};
use crate::doc::{Doc, concat, text};

impl Walker<'_> {
    /// A pattern.
    pub fn pattern(&mut self, pattern: &Pattern, syntax: Syntax) -> Doc {
        if self.comes("(") && self.is_bracketed_pattern(pattern) {
            return self.enclosed(Brackets::ROUND, |walker| walker.pattern(pattern, syntax));
        }
        let inner = |walker: &mut Self, part: &Pattern| walker.pattern(part, syntax);
        match &pattern.node {
            PatternKind::Wild => self.token("*"),
            PatternKind::Var(name) => self.token(name),
            PatternKind::Link(name) => concat([self.token("$"), self.token(name)]),
            PatternKind::Tuple(parts) if self.comes("(") && !self.starts_with_part(parts) => {
                self.list(Brackets::ROUND, parts, inner)
            }
            PatternKind::Tuple(parts) => {
                let mut docs = vec![];
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        docs.extend([self.separator(Separator::Comma), text(" ")]);
                    }
                    docs.push(self.pattern(part, syntax));
                }
                docs.push(self.drop_token(","));
                concat(docs)
            }
            PatternKind::Sup(parts) => {
                let brackets = match syntax {
                    Syntax::Imperative => Brackets::CURLY,
                    Syntax::Functional => Brackets::SUPERPOSED,
                };
                self.list(brackets, parts, inner)
            }
            PatternKind::Ctor(name, parts) => self.list_of(Brackets::SPACED, parts.len() + 1, |walker, i| {
                match i.checked_sub(1).and_then(|i| parts.get(i)) {
                    Some(part) => walker.pattern(part, syntax),
                    None => walker.token(&name.node),
                }
            }),
            PatternKind::List(parts) => self.list(Brackets::SQUARE, parts, inner),
            PatternKind::Str(_) | PatternKind::Char(_) => self.quoted(),
            PatternKind::Num(_) => self.natural(),
        }
    }

    /// Whether the next token is the first one of the first part of a tuple: the tuple has no brackets.
    fn starts_with_part(&self, parts: &[Pattern]) -> bool {
        parts.first().is_some_and(|first| first.span.start as usize == self.next_at())
    }

    /// Whether the bracket that comes next was only put around a pattern.
    fn is_bracketed_pattern(&self, pattern: &Pattern) -> bool {
        match &pattern.node {
            PatternKind::Tuple(parts) => {
                let inside = parts.first().map(|first| first.span.start as usize);
                !self.starts_with_part(parts) && inside != Some(self.behind_next())
            }
            PatternKind::Ctor(..) => false,
            PatternKind::Wild
            | PatternKind::Var(_)
            | PatternKind::Link(_)
            | PatternKind::Sup(_)
            | PatternKind::List(_)
            | PatternKind::Str(_)
            | PatternKind::Num(_)
            | PatternKind::Char(_) => true,
        }
    }
}
