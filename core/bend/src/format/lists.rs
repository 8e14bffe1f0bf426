//! Lists between brackets, in both syntaxes: on one line if they fit and were not written on several, otherwise an element a line.

use super::walker::Walker;
use crate::doc::{Doc, concat, group, nest, nothing, text};

/// How the elements of a list are separated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// By commas.
    Comma,
    /// By space; a comma means nothing.
    Space,
}

/// What stands around a list.
#[derive(Clone, Copy)]
pub struct Brackets {
    open: &'static str,
    close: &'static str,
    separator: Separator,
    /// What stands behind the opening bracket and before the closing one if the list stays on one line.
    padding: fn() -> Doc,
    /// Whether elements that were written on one line stay together where the list has several.
    rows: bool,
}

impl Brackets {
    /// `(a, b)`.
    pub const ROUND: Brackets =
        Brackets { open: "(", close: ")", separator: Separator::Comma, padding: || Doc::SoftLine, rows: false };
    /// `[a, b]`.
    pub const SQUARE: Brackets = Brackets { open: "[", close: "]", rows: true, ..Brackets::ROUND };
    /// `{a, b}`.
    pub const CURLY: Brackets = Brackets { open: "{", close: "}", ..Brackets::ROUND };
    /// `{ a, b }`.
    pub const FIELDS: Brackets = Brackets { padding: || Doc::Line, ..Brackets::CURLY };
    /// `{a b}`.
    pub const SUPERPOSED: Brackets = Brackets { separator: Separator::Space, ..Brackets::CURLY };
    /// `![a, b]`.
    pub const TREE: Brackets = Brackets { open: "![", close: "]", ..Brackets::ROUND };
    /// `(a b)`.
    pub const SPACED: Brackets = Brackets { separator: Separator::Space, ..Brackets::ROUND };
}

impl Walker<'_> {
    /// A list.
    pub fn list<T>(&mut self, brackets: Brackets, parts: &[T], mut each: impl FnMut(&mut Self, &T) -> Doc) -> Doc {
        self.list_of(brackets, parts.len(), |walker, i| match parts.get(i) {
            Some(part) => each(walker, part),
            None => nothing(),
        })
    }

    /// A list of so many elements.
    pub fn list_of(&mut self, brackets: Brackets, count: usize, mut each: impl FnMut(&mut Self, usize) -> Doc) -> Doc {
        let open = self.token(brackets.open);
        if count == 0 {
            let inside = nest(concat([self.trailing(), self.comments_below(0)]));
            return concat([open, inside, self.token(brackets.close)]);
        }
        let mut has_lines = self.breaks();
        let forced = if has_lines { Doc::Break } else { nothing() };
        self.open();
        let first = [self.line((brackets.padding)()), each(self, 0)];
        let mut others = vec![];
        for i in 1..count {
            let separator = self.separator(brackets.separator);
            let starts_row = self.breaks();
            has_lines |= starts_row;
            let line = self.line_or_blank(Doc::Line);
            others.push((separator, starts_row, concat([line, each(self, i)])));
        }
        let mut inside = Vec::from(first);
        for (separator, starts_row, next) in others {
            let next = if brackets.rows && has_lines && !starts_row { group(next) } else { next };
            inside.extend([separator, next]);
        }
        inside.extend([self.drop_token(","), self.trailing(), self.comments_below(0)]);
        let end = (brackets.padding)();
        group(concat([open, forced, nest(concat(inside)), end, self.token(brackets.close)]))
    }

    /// What stands between two elements, and behind it the comments that stood before it.
    pub fn separator(&mut self, separator: Separator) -> Doc {
        let comments = self.drop_token(",");
        match separator {
            Separator::Comma => concat([text(","), comments]),
            Separator::Space => comments,
        }
    }

    /// One thing between brackets.
    pub fn enclosed(&mut self, brackets: Brackets, inner: impl FnOnce(&mut Self) -> Doc) -> Doc {
        let mut inner = Some(inner);
        self.list_of(brackets, 1, |walker, _| inner.take().map_or(nothing(), |inner| inner(walker)))
    }
}
