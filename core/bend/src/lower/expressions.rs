//! Expressions of both syntaxes.

use super::Lowering;
use super::definition_scope::Binding;
use super::literals::hidden;
use crate::ast::{Expr, ExprKind, FunBind, Ident, Pattern};
use girih_base::name::Name;
use girih_base::num::Num;
use girih_base::span::Span;
use girih_term::{Bind, Target, Term, TermKind};

impl Lowering<'_> {
    pub(super) fn expression(&mut self, expr: &Expr) -> Term {
        let span = expr.span;
        let kind = match &expr.node {
            ExprKind::Era => TermKind::Era,
            ExprKind::Var(name) => return self.name(name, span),
            ExprKind::Link(name) => TermKind::Link(name.clone()),
            ExprKind::Num(literal) => return self.number(literal, span),
            ExprKind::Char(c) => TermKind::Num(Num::U24(u32::from(*c))),
            ExprKind::Symbol(text) => TermKind::Num(Num::U24(Self::symbol(text))),
            ExprKind::Str(text) => TermKind::Str(Name::new(text)),
            ExprKind::List(items) => TermKind::List(self.expressions(items)),
            ExprKind::Tuple(parts) => TermKind::Tuple(self.expressions(parts)),
            ExprKind::Sup(parts) => TermKind::Sup(self.expressions(parts)),
            ExprKind::TreeNode(left, right) => {
                let children = vec![self.expression(left), self.expression(right)];
                return self.known_ctor(self.program.known.tree_node, children, span);
            }
            ExprKind::TreeLeaf(value) => {
                let value = vec![self.expression(value)];
                return self.known_ctor(self.program.known.tree_leaf, value, span);
            }
            ExprKind::Lambda(params, body) => return self.lambda(params, body, span),
            ExprKind::Call(function, args) => return self.call(function, args, span),
            ExprKind::Op(op, left, right) => {
                let left = self.expression(left);
                TermKind::Op(*op, Box::new(left), Box::new(self.expression(right)))
            }
            ExprKind::CallNamed(function, args, named) => return self.call_named(function, args, named, span),
            ExprKind::Record(ctor, fields) => return self.record(ctor, fields, span),
            ExprKind::Comprehension(comprehension) => return self.comprehension(comprehension, span),
            ExprKind::Map(entries) => return self.map(entries, span),
            ExprKind::MapGet(map, key) => return self.map_get(map, key, span),
            ExprKind::Nat(n) => return self.nat(*n, span),
            ExprKind::Let(binds, body) => return self.fun_binds(binds, body, span),
            ExprKind::If(i) => return self.fun_if(i, span),
            ExprKind::Match(m) => return self.fun_match(m, span),
            ExprKind::Switch(s) => return self.fun_switch(s, span),
            ExprKind::Fold(f) => return self.fun_fold(f, span),
            ExprKind::Bend(b) => return self.fun_bend(b, span),
            ExprKind::With(w) => return self.fun_with(w),
        };
        Term::new(kind, span)
    }

    fn expressions(&mut self, exprs: &[Expr]) -> Vec<Term> {
        exprs.iter().map(|expr| self.expression(expr)).collect()
    }

    /// `λp q body`.
    fn lambda(&mut self, params: &[Pattern], body: &Expr, span: Span) -> Term {
        let mark = self.enter();
        let (params, binds) = self.parameters(params);
        let body = self.expression(body);
        self.leave(mark);
        Term::new(TermKind::Lambda(params, Box::new(with_binds(binds, body))), span)
    }

    /// `m[k]`: the first part of what `Map/get` gives; the second is the same map.
    fn map_get(&mut self, map: &Ident, key: &Expr, span: Span) -> Term {
        let map = self.name(&map.node, map.span);
        let key = self.expression(key);
        let got = self.prelude_call("Map/get", vec![map, key], span);
        let value = self.local(hidden("value"), span);
        let bind = Bind { target: Target::Tuple(vec![Some(value), None]), value: got };
        Term::new(TermKind::Let(vec![bind], Box::new(Term::new(TermKind::Local(value), span))), span)
    }

    /// `let …; use …; ask …; body`: a loop, except that what follows an `ask` or `open` is lowered inside of it.
    fn fun_binds(&mut self, binds: &[FunBind], body: &Expr, span: Span) -> Term {
        let mark = self.enter();
        let term = self.fun_binds_inner(binds, body, span);
        self.leave(mark);
        term
    }

    fn fun_binds_inner(&mut self, binds: &[FunBind], body: &Expr, span: Span) -> Term {
        let mut lowered = vec![];
        for (i, bind) in binds.iter().enumerate() {
            let rest = &binds[i + 1..];
            match bind {
                FunBind::Let(pattern, value) => {
                    let value = self.expression(value);
                    self.bind_pattern(pattern, value, &mut lowered);
                }
                FunBind::Use(name, value) => self.use_bind(name, value, &mut lowered),
                FunBind::Def(def) => self.local_fun(def),
                FunBind::Ask(pattern, value) => {
                    let step = self.ask(pattern, value, span, |this| this.fun_binds_inner(rest, body, span));
                    return with_binds(lowered, step);
                }
                FunBind::Open(ty, var) => {
                    let opened = self.open(ty, var, span, |this| this.fun_binds_inner(rest, body, span));
                    return with_binds(lowered, opened);
                }
            }
        }
        let body = self.expression(body);
        with_binds(lowered, body)
    }

    /// `use x = e`: x stands for e itself. An atom is copied; anything else is delayed and computed at every use.
    pub(super) fn use_bind(&mut self, name: &Ident, value: &Expr, binds: &mut Vec<Bind>) {
        if let ExprKind::Var(other) = &value.node {
            if let Some(binding) = self.find(other) {
                self.note_use(other, value.span);
                return self.bind(name.node.clone(), name.span, binding);
            }
            if let Some(ctor) = self.find_ctor(other) {
                self.note_use(other, value.span);
                return self.bind(name.node.clone(), name.span, Binding::Ctor(ctor));
            }
        }
        let span = value.span;
        let value_term = self.expression(value);
        let is_atom =
            matches!(value_term.kind, TermKind::Global(_) | TermKind::Num(_) | TermKind::Literal(_) | TermKind::Era);
        if is_atom {
            return self.bind(name.node.clone(), name.span, Binding::Closed(value_term.kind));
        }
        let local = self.local(name.node.clone(), name.span);
        let delayed = Term::new(TermKind::Lambda(vec![], Box::new(value_term)), span);
        binds.push(Bind { target: Target::Var(local), value: delayed });
        self.bind(name.node.clone(), name.span, Binding::Delayed(local));
    }
}

/// Bindings in front of a body.
pub(super) fn with_binds(binds: Vec<Bind>, body: Term) -> Term {
    let Some(first) = binds.first() else { return body };
    let span = first.value.span.to(body.span);
    Term::new(TermKind::Let(binds, Box::new(body)), span)
}
