//! Terms: expressions of the functional syntax, in which a line may end between any two tokens.
//!
//! What was written on one line stays on one line if it fits.

use super::expressions::hugged;
use super::lists::Brackets;
use super::types::Syntax;
use super::walker::Walker;
use crate::ast::*;
use crate::doc::{Doc, concat, group, nest, nothing, text};
use std::rc::Rc;

impl Walker<'_> {
    /// A term, with the brackets around it.
    pub fn term(&mut self, expr: &Expr) -> Doc {
        if self.comes("(") && self.is_bracketed_term(expr) {
            return self.enclosed(Brackets::ROUND, |walker| walker.term(expr));
        }
        let inner = |walker: &mut Self, part: &Expr| walker.term(part);
        match &expr.node {
            ExprKind::List(parts) => self.list(Brackets::SQUARE, parts, inner),
            ExprKind::Tuple(parts) => self.list(Brackets::ROUND, parts, inner),
            ExprKind::Sup(parts) => self.list(Brackets::SUPERPOSED, parts, inner),
            ExprKind::TreeNode(left, right) => {
                self.list(Brackets::TREE, &[left, right], |walker, part| walker.term(part))
            }
            ExprKind::TreeLeaf(value) => {
                let mark = self.leaf_mark();
                concat([mark, self.term(value)])
            }
            ExprKind::Lambda(patterns, body) => self.fun_lambda(patterns, body),
            ExprKind::Call(callee, arguments) => self.fun_call(callee, arguments, expr),
            ExprKind::Op(op, left, right) => {
                let mut docs = vec![self.token("("), self.token(op.symbol()), text(" ")];
                let mut operands = vec![self.term(left), self.line(Doc::Line), self.term(right)];
                operands.push(self.trailing());
                operands.push(self.comments_below(0));
                docs.extend([nest(concat(operands)), self.token(")")]);
                group(concat(docs))
            }
            ExprKind::Let(bindings, body) => self.bindings(bindings, body),
            ExprKind::If(parts) => self.fun_if(parts),
            ExprKind::Match(parts) => self.fun_match("match", parts),
            ExprKind::Fold(parts) => self.fun_match("fold", parts),
            ExprKind::Switch(parts) => self.fun_switch(parts),
            ExprKind::Bend(parts) => self.fun_bend(parts),
            ExprKind::With(parts) => {
                let head = [self.token("with"), text(" "), self.token(&parts.monad.node), text(" ")];
                concat([concat(head), self.braced_term(&parts.body)])
            }
            ExprKind::Era
            | ExprKind::Var(_)
            | ExprKind::Link(_)
            | ExprKind::Num(_)
            | ExprKind::Char(_)
            | ExprKind::Symbol(_)
            | ExprKind::Str(_)
            | ExprKind::Nat(_) => self.atom(expr),
            ExprKind::CallNamed(..)
            | ExprKind::Record(..)
            | ExprKind::Comprehension(_)
            | ExprKind::Map(_)
            | ExprKind::MapGet(..) => self.expression(expr, super::expressions::Lines::Free),
        }
    }

    /// Whether the bracket that comes next was put around a term that needs none.
    fn is_bracketed_term(&self, expr: &Expr) -> bool {
        let inside = |first: Option<&Expr>| first.map(|first| first.span.start as usize) == Some(self.behind_next());
        match &expr.node {
            ExprKind::Call(callee, _) => !inside(Some(callee)),
            ExprKind::Tuple(parts) => !inside(parts.first()),
            ExprKind::Op(..) => self.text(self.behind_next(), self.behind_next() + 1) == "(",
            _ => true,
        }
    }

    /// A term behind something that opens a place for it. It starts on the same line if it was written so and has brackets of its own,
    /// between which its lines end.
    pub fn hanging(&mut self, expr: &Expr) -> Doc {
        let on_next_line = self.breaks();
        let (trailing, before) = (self.trailing(), self.comments());
        let term = self.term(expr);
        let lines_end_inside = match expr.node {
            ExprKind::Match(_)
            | ExprKind::Fold(_)
            | ExprKind::Switch(_)
            | ExprKind::Bend(_)
            | ExprKind::With(_)
            | ExprKind::If(_)
            | ExprKind::List(_)
            | ExprKind::Lambda(..) => true,
            ExprKind::Let(..) => false,
            _ => term.has_hard_line(),
        };
        if lines_end_inside && !on_next_line {
            return concat([trailing, text(" "), before, term]);
        }
        let forced = if on_next_line { Doc::Break } else { nothing() };
        concat([trailing, group(nest(concat([forced, Doc::Line, before, term])))])
    }

    /// `λx λy e`, of which a part may stand in brackets.
    fn fun_lambda(&mut self, patterns: &[Pattern], body: &Expr) -> Doc {
        let mut docs = vec![];
        let mut open = 0;
        for (i, pattern) in patterns.iter().enumerate() {
            if i > 0 {
                docs.push(text(" "));
            }
            while self.comes("(") {
                open += 1;
                docs.push(self.token("("));
            }
            docs.push(self.token(if self.comes("@") { "@" } else { "λ" }));
            docs.push(self.pattern(pattern, Syntax::Functional));
        }
        docs.push(self.hanging(body));
        docs.extend((0..open).map(|_| self.token(")")));
        concat(docs)
    }

    fn fun_call(&mut self, callee: &Expr, arguments: &[Expr], call: &Expr) -> Doc {
        let wanted = arguments.last().is_some_and(|last| ends_lines(last) && self.hugs(last, call));
        let mut parts = vec![];
        // The bracket is a part of both ways to lay the call out, the comments before it are not.
        let before = self.comments();
        let open = Rc::new(self.token("("));
        let callee = Rc::new(self.term(callee));
        let forced = if self.breaks() { Doc::Break } else { nothing() };
        let mut inside = vec![];
        for argument in arguments {
            inside.push(self.line(Doc::Line));
            let argument = Rc::new(self.term(argument));
            parts.push(argument.clone());
            inside.push(Doc::Shared(argument));
        }
        inside.push(self.trailing());
        inside.push(self.comments_below(0));
        let head = concat([Doc::Shared(open.clone()), Doc::Shared(callee.clone())]);
        let listed = group(concat([head, forced, nest(concat(inside)), self.token(")")]));
        let mut all = vec![callee];
        all.append(&mut parts);
        hugged(before, Doc::Shared(open), all, || text(" "), listed, wanted)
    }

    /// A chain of bindings and what they scope over, of which a part may stand in brackets.
    fn bindings(&mut self, bindings: &[FunBind], body: &Expr) -> Doc {
        let mut docs = vec![];
        let mut open = 0;
        for (i, binding) in bindings.iter().enumerate() {
            while i > 0 && self.comes("(") {
                open += 1;
                docs.push(self.token("("));
            }
            docs.push(self.binding(binding));
            let broken = if i == 0 && self.breaks() { Doc::Break } else { nothing() };
            docs.extend([broken, self.line_or_blank(Doc::Line)]);
        }
        docs.push(self.term(body));
        docs.extend((0..open).map(|_| self.token(")")));
        group(concat(docs))
    }

    fn binding(&mut self, binding: &FunBind) -> Doc {
        let (word, bound, value) = match binding {
            FunBind::Let(pattern, value) => {
                let word = concat([self.token("let"), text(" ")]);
                (word, self.pattern(pattern, Syntax::Functional), value)
            }
            FunBind::Ask(pattern, value) => {
                let word = concat([self.token("ask"), text(" ")]);
                (word, self.pattern(pattern, Syntax::Functional), value)
            }
            FunBind::Use(name, value) => {
                let word = concat([self.token("use"), text(" ")]);
                (word, self.token(&name.node), value)
            }
            FunBind::Open(ty, var) => {
                let head = [self.token("open"), text(" "), self.token(&ty.node), text(" "), self.token(&var.node)];
                return concat([concat(head), self.semicolon()]);
            }
            FunBind::Def(def) => {
                let head = concat([self.token("def"), text(" ")]);
                let def = nest(self.equations(def));
                return concat([head, def, self.semicolon()]);
            }
        };
        concat([word, bound, self.equals(value), self.semicolon()])
    }

    /// The semicolon behind a binding, if there is one. Behind rules, it may say that what follows is no further rule.
    fn semicolon(&mut self) -> Doc {
        if !self.comes(";") {
            return nothing();
        }
        let comments = self.drop_token(";");
        concat([text(";"), comments])
    }

    /// ` = e`.
    pub fn equals(&mut self, value: &Expr) -> Doc {
        concat([text(" "), self.token("="), self.hanging(value)])
    }

    /// `{ e }`.
    fn braced_term(&mut self, body: &Expr) -> Doc {
        self.enclosed(Brackets::FIELDS, |walker| walker.term(body))
    }

    /// All branches stand on one line, or each has lines of its own.
    fn fun_if(&mut self, parts: &If<Expr>) -> Doc {
        let mut docs = vec![];
        for (i, (condition, body)) in parts.branches.iter().enumerate() {
            docs.push(if i == 0 { self.token("if") } else { concat([text(" "), self.token("elif")]) });
            docs.extend([text(" "), self.term(condition), text(" "), self.branch(body)]);
        }
        docs.extend([text(" "), self.token("else"), text(" "), self.branch(&parts.otherwise)]);
        group(concat(docs))
    }

    /// `{ e }` of which the lines end with those of what is around it.
    fn branch(&mut self, body: &Expr) -> Doc {
        let open = self.token("{");
        let forced = if self.breaks() { Doc::Break } else { nothing() };
        self.open();
        let mut inside = vec![self.line(Doc::Line), self.term(body)];
        inside.extend([self.trailing(), self.comments_below(0)]);
        concat([open, forced, nest(concat(inside)), Doc::Line, self.token("}")])
    }

    /// `x = e with a, b = c {` behind the word of a `match`, `switch` or `fold`.
    fn fun_head(&mut self, word: &str, bind: &Option<Ident>, arg: &Expr, with: &[(Ident, Option<Expr>)]) -> Doc {
        let mut docs = vec![self.token(word), text(" ")];
        if let Some(bind) = bind {
            docs.extend([self.token(&bind.node), text(" "), self.token("="), text(" ")]);
        }
        docs.push(self.term(arg));
        if !with.is_empty() {
            docs.extend([text(" "), self.token("with"), text(" "), self.state(with, Syntax::Functional)]);
        }
        concat(docs)
    }

    /// Arms between braces; those on one line have semicolons between them.
    fn arms<T>(&mut self, head: Doc, arms: &[T], mut each: impl FnMut(&mut Self, &T) -> Doc) -> Doc {
        let open = self.token("{");
        let forced = if self.breaks() { Doc::Break } else { nothing() };
        self.open();
        let mut inside = vec![self.line(Doc::Line)];
        for (i, arm) in arms.iter().enumerate() {
            inside.extend([self.drop_token("|"), each(self, arm)]);
            let comments = self.drop_token(";");
            if i + 1 < arms.len() {
                inside.extend([Doc::Flat(";"), comments, self.line_or_blank(Doc::Line)]);
            } else {
                inside.extend([comments, self.trailing(), self.comments_below(0)]);
            }
        }
        group(concat([head, text(" "), open, forced, nest(concat(inside)), Doc::Line, self.token("}")]))
    }

    fn fun_match(&mut self, word: &str, parts: &Match<Expr>) -> Doc {
        let head = self.fun_head(word, &parts.bind, &parts.arg, &parts.with);
        self.arms(head, &parts.arms, |walker, arm| {
            let label = match &arm.name {
                Some(name) => walker.token(&name.node),
                None if walker.comes("*") => walker.token("*"),
                None => walker.token("_"),
            };
            concat([label, walker.token(":"), walker.hanging(&arm.body)])
        })
    }

    fn fun_switch(&mut self, parts: &Switch<Expr>) -> Doc {
        let head = self.fun_head("switch", &parts.bind, &parts.arg, &parts.with);
        let bodies: Vec<&Expr> = parts.cases.iter().chain([&parts.default]).collect();
        self.arms(head, &bodies, |walker, body| {
            let label = walker.label();
            concat([label, walker.token(":"), walker.hanging(body)])
        })
    }

    fn fun_bend(&mut self, parts: &Bend<Expr>) -> Doc {
        let mut head = vec![self.token("bend")];
        if !parts.state.is_empty() {
            head.extend([text(" "), self.state(&parts.state, Syntax::Functional)]);
        }
        let branches = [("when", Some(&parts.condition), &parts.step), ("else", None, &parts.base)];
        self.arms(concat(head), &branches, |walker, (word, condition, body)| {
            let mut docs = vec![walker.token(word)];
            if let Some(condition) = condition {
                docs.extend([text(" "), walker.term(condition)]);
            }
            docs.extend([walker.token(":"), walker.hanging(body)]);
            concat(docs)
        })
    }
}

/// Whether an argument may end lines while the call in which it is the last does not.
fn ends_lines(argument: &Expr) -> bool {
    match &argument.node {
        ExprKind::Lambda(_, body) => ends_lines(body) || matches!(body.node, ExprKind::Let(..)),
        ExprKind::List(_)
        | ExprKind::Call(..)
        | ExprKind::Match(_)
        | ExprKind::Switch(_)
        | ExprKind::Fold(_)
        | ExprKind::Bend(_)
        | ExprKind::With(_) => true,
        _ => false,
    }
}
