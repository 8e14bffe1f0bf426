//! Expressions of the imperative syntax.
//!
//! A line may end between brackets only, so what stands outside of them stays on one line.

use super::lists::{Brackets, Separator};
use super::types::Syntax;
use super::walker::Walker;
use crate::ast::{BinOp, Expr, ExprKind, Ident, Pattern};
use crate::doc::{Doc, Hug, concat, group, nest, nothing, text};
use std::rc::Rc;

/// Whether a line may end in an expression: a bracket is open around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// It may.
    Free,
    /// It may not.
    Fixed,
}

impl Walker<'_> {
    /// An expression, with the brackets around it.
    pub fn expression(&mut self, expr: &Expr, lines: Lines) -> Doc {
        let doc = if self.comes("(") && self.is_bracketed_expression(expr) {
            self.enclosed(Brackets::ROUND, |walker| match &expr.node {
                ExprKind::Op(op, left, right) if !(walker.comes("(") && walker.is_bracketed_expression(expr)) => {
                    walker.operation(*op, left, right, Lines::Free)
                }
                _ => walker.expression(expr, Lines::Free),
            })
        } else {
            self.bare_expression(expr, lines)
        };
        // A call without arguments is no call, and not in the tree.
        let mut docs = vec![doc];
        while self.comes("(") && self.comes_empty() {
            docs.extend([self.token("("), self.token(")")]);
        }
        concat(docs)
    }

    fn comes_empty(&self) -> bool {
        let (next, behind) = (self.next_at(), self.behind_next());
        self.next().get(behind - next..).is_some_and(|rest| rest.starts_with(')'))
    }

    fn bare_expression(&mut self, expr: &Expr, lines: Lines) -> Doc {
        let inner = |walker: &mut Self, part: &Expr| walker.expression(part, Lines::Free);
        match &expr.node {
            ExprKind::List(parts) => self.list(Brackets::SQUARE, parts, inner),
            ExprKind::Tuple(parts) if self.comes("(") && !self.starts_with(parts.first()) => {
                self.list(Brackets::ROUND, parts, inner)
            }
            ExprKind::Tuple(parts) => {
                let mut docs = vec![];
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        docs.extend([self.separator(Separator::Comma), text(" ")]);
                    }
                    docs.push(self.expression(part, lines));
                }
                docs.push(self.drop_token(","));
                concat(docs)
            }
            ExprKind::Sup(parts) => self.list(Brackets::CURLY, parts, inner),
            ExprKind::TreeNode(left, right) => {
                self.list(Brackets::TREE, &[left, right], |walker, part| walker.expression(part, Lines::Free))
            }
            ExprKind::TreeLeaf(value) => {
                let mark = self.leaf_mark();
                concat([mark, self.expression(value, lines)])
            }
            ExprKind::Lambda(patterns, body) => self.lambda(patterns, body, lines),
            ExprKind::Call(callee, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(|argument| (None, argument)).collect();
                self.imp_call(callee, &arguments, expr, lines)
            }
            ExprKind::CallNamed(callee, positional, named) => {
                let named = named.iter().map(|(name, value)| (Some(name), value));
                let arguments: Vec<_> = positional.iter().map(|argument| (None, argument)).chain(named).collect();
                self.imp_call(callee, &arguments, expr, lines)
            }
            ExprKind::Op(op, left, right) => group(nest(self.operation(*op, left, right, lines))),
            ExprKind::Record(constructor, fields) => {
                let constructor = self.token(&constructor.node);
                let fields = self.list(Brackets::FIELDS, fields, |walker, (name, value)| {
                    let name = walker.token(&name.node);
                    concat([name, walker.token(":"), text(" "), walker.expression(value, Lines::Free)])
                });
                concat([constructor, text(" "), fields])
            }
            ExprKind::Comprehension(_) => self.comprehension(expr),
            ExprKind::Map(entries) => self.list(Brackets::CURLY, entries, |walker, (key, value)| {
                let key = walker.expression(key, Lines::Free);
                concat([key, walker.token(":"), text(" "), walker.expression(value, Lines::Free)])
            }),
            ExprKind::MapGet(map, key) => self.map_slot(map, key),
            ExprKind::Era
            | ExprKind::Var(_)
            | ExprKind::Link(_)
            | ExprKind::Num(_)
            | ExprKind::Char(_)
            | ExprKind::Symbol(_)
            | ExprKind::Str(_)
            | ExprKind::Nat(_) => self.atom(expr),
            ExprKind::Let(..)
            | ExprKind::If(_)
            | ExprKind::Match(_)
            | ExprKind::Switch(_)
            | ExprKind::Fold(_)
            | ExprKind::Bend(_)
            | ExprKind::With(_) => self.term(expr),
        }
    }

    /// An expression that is one token, the same in both syntaxes.
    pub fn atom(&mut self, expr: &Expr) -> Doc {
        match &expr.node {
            ExprKind::Era => self.token("*"),
            ExprKind::Var(name) => self.token(name),
            ExprKind::Link(name) => concat([self.token("$"), self.token(name)]),
            ExprKind::Num(literal) => self.token(&literal.text),
            ExprKind::Symbol(symbol) => self.token(&format!("`{symbol}`")),
            ExprKind::Str(_) | ExprKind::Char(_) => self.quoted(),
            _ => self.natural(),
        }
    }

    /// The `!` of a leaf; `![` would be a node of a tree instead of a leaf that holds a list.
    pub fn leaf_mark(&mut self) -> Doc {
        let mark = self.token("!");
        let space = if self.comes("[") { text(" ") } else { nothing() };
        concat([mark, space])
    }

    /// `m[k]`.
    pub fn map_slot(&mut self, map: &Ident, key: &Expr) -> Doc {
        let map = self.token(&map.node);
        concat([map, self.token("["), self.expression(key, Lines::Free), self.token("]")])
    }

    fn lambda(&mut self, patterns: &[Pattern], body: &Expr, lines: Lines) -> Doc {
        let word = if self.comes("λ") { self.token("λ") } else { concat([self.token("lambda"), text(" ")]) };
        let mut docs = vec![word];
        for (i, pattern) in patterns.iter().enumerate() {
            if i > 0 {
                docs.extend([self.separator(Separator::Comma), text(" ")]);
            }
            docs.push(self.pattern(pattern, Syntax::Imperative));
        }
        docs.extend([self.drop_token(","), self.token(":"), text(" "), self.expression(body, lines)]);
        concat(docs)
    }

    fn comprehension(&mut self, expr: &Expr) -> Doc {
        let ExprKind::Comprehension(parts) = &expr.node else { return nothing() };
        self.enclosed(Brackets::SQUARE, |walker| {
            let mut docs = vec![walker.expression(&parts.element, Lines::Free), walker.line(Doc::Line)];
            docs.extend([walker.token("for"), text(" "), walker.token(&parts.var.node), text(" ")]);
            docs.extend([walker.token("in"), text(" "), walker.expression(&parts.list, Lines::Free)]);
            if let Some(condition) = &parts.condition {
                docs.extend([walker.line(Doc::Line), walker.token("if"), text(" ")]);
                docs.push(walker.expression(condition, Lines::Free));
            }
            concat(docs)
        })
    }

    fn imp_call(&mut self, callee: &Expr, arguments: &[(Option<&Ident>, &Expr)], call: &Expr, lines: Lines) -> Doc {
        let callee = self.expression(callee, lines);
        let hugs = arguments.last().is_some_and(|(_, last)| hugs(last) && self.hugs(last, call));
        let callee = concat([callee, self.comments()]);
        let mut parts = vec![];
        let listed = self.list(Brackets::ROUND, arguments, |walker, (name, value)| {
            let name = name.map(|name| concat([walker.token(&name.node), text(" "), walker.token("="), text(" ")]));
            let value = walker.expression(value, Lines::Free);
            let argument = Rc::new(concat([name.unwrap_or_else(nothing), value]));
            parts.push(argument.clone());
            Doc::Shared(argument)
        });
        hugged(callee, text("("), parts, || text(", "), listed, hugs)
    }

    /// Whether of the call whose bracket comes next only the last argument was written on several lines.
    pub fn hugs(&self, last: &Expr, call: &Expr) -> bool {
        let (start, end) = (last.span.start as usize, last.span.end as usize);
        let head = self.next().get(..start.saturating_sub(self.next_at()));
        head.is_some_and(|head| !head.contains(['\n', '#']))
            && self.text(start, end).contains('\n')
            && !self.text(end, call.span.end as usize).contains('#')
    }

    /// Operands and operators of one precedence stand in one group, so that all of their lines end or none does.
    fn operation(&mut self, op: BinOp, left: &Expr, right: &Expr, lines: Lines) -> Doc {
        let bracketed = self.comes("(") && self.is_bracketed_expression(left);
        let left = match &left.node {
            ExprKind::Op(inner, a, b) if inner.precedence() == op.precedence() && !bracketed => {
                self.operation(*inner, a, b, lines)
            }
            _ => self.expression(left, lines),
        };
        let symbol = concat([text(" "), self.token(op.symbol())]);
        let after = if lines == Lines::Free { self.line(Doc::Line) } else { text(" ") };
        concat([left, symbol, after, self.expression(right, lines)])
    }

    fn starts_with(&self, part: Option<&Expr>) -> bool {
        part.is_some_and(|part| part.span.start as usize == self.next_at())
    }

    /// Whether the bracket that comes next was put around the whole of an expression that needs none.
    fn is_bracketed_expression(&self, expr: &Expr) -> bool {
        match &expr.node {
            ExprKind::Op(_, first, _) | ExprKind::Call(first, _) | ExprKind::CallNamed(first, ..) => {
                !self.starts_with(Some(first))
            }
            ExprKind::Tuple(parts) => {
                let inside = parts.first().map(|first| first.span.start as usize);
                !self.starts_with(parts.first()) && inside != Some(self.behind_next())
            }
            _ => true,
        }
    }
}

/// Whether an argument may end lines while the call in which it is the last does not.
fn hugs(argument: &Expr) -> bool {
    match &argument.node {
        ExprKind::Lambda(_, body) => hugs(body),
        ExprKind::List(_)
        | ExprKind::Call(..)
        | ExprKind::CallNamed(..)
        | ExprKind::Record(..)
        | ExprKind::Comprehension(_)
        | ExprKind::Map(_) => true,
        _ => false,
    }
}

/// A call with its arguments listed, or with the last one behind the others if that is wanted.
pub fn hugged(
    callee: Doc,
    open: Doc,
    mut arguments: Vec<Rc<Doc>>,
    separator: impl Fn() -> Doc,
    listed: Doc,
    wanted: bool,
) -> Doc {
    let last = arguments.pop().filter(|_| wanted);
    let Some(last) = last else { return concat([callee, listed]) };
    let mut head = vec![open];
    for argument in arguments {
        head.extend([Doc::Shared(argument), separator()]);
    }
    let last = concat([Doc::Shared(last), text(")")]);
    concat([callee, Doc::Hug(Box::new(Hug { head: concat(head), last, listed }))])
}
