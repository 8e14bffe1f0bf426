//! `if`, `switch` and `match` over bodies of either syntax.

use super::Lowering;
use super::definition_scope::Binding;
use super::expressions::with_binds;
use super::literals::hidden;
use crate::ast::{Expr, ExprKind, Ident, If, Match as MatchSyntax, Switch as SwitchSyntax};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{Bind, LocalId, Switch, Target, Term, TermKind};

/// Lowers a body of the syntax at hand.
pub(super) type LowerBody<'b, 'l, B> = &'b mut dyn FnMut(&mut Lowering<'l>, &B) -> Term;

impl<'l> Lowering<'l> {
    pub(super) fn fun_if(&mut self, i: &If<Expr>, span: Span) -> Term {
        self.if_(i, span, &mut |this, body| this.expression(body))
    }

    pub(super) fn fun_match(&mut self, m: &MatchSyntax<Expr>, span: Span) -> Term {
        self.match_(m, span, &mut |this, body| this.expression(body))
    }

    pub(super) fn fun_switch(&mut self, s: &SwitchSyntax<Expr>, span: Span) -> Term {
        self.switch_(s, span, &mut |this, body| this.expression(body))
    }

    /// `if`: a switch on the condition, in which 0 is false.
    pub(super) fn if_<B>(&mut self, i: &If<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let mut branches = vec![];
        for (condition, then) in &i.branches {
            branches.push((self.expression(condition), self.scoped(then, body)));
        }
        let otherwise = self.scoped(&i.otherwise, body);
        branches
            .into_iter()
            .rfold(otherwise, |otherwise, (condition, then)| condition_term(condition, then, otherwise, span))
    }

    fn scoped<B>(&mut self, body: &B, lower: LowerBody<'_, 'l, B>) -> Term {
        let mark = self.enter();
        let term = lower(self, body);
        self.leave(mark);
        term
    }

    /// The name under which arms see what is inspected: `x` of `match x = e`, or the variable that is inspected.
    pub(super) fn bound_name(bind: &Option<Ident>, arg: &Expr) -> Option<Ident> {
        match (bind, &arg.node) {
            (Some(bind), _) => Some(bind.clone()),
            (None, ExprKind::Var(name)) => Some(Ident::new(name.clone(), arg.span)),
            (None, _) => None,
        }
    }

    /// `with a, b = e`: bindings that the arms see.
    pub(super) fn with_clause(&mut self, with: &[(Ident, Option<Expr>)], binds: &mut Vec<Bind>) {
        let values: Vec<Option<Term>> =
            with.iter().map(|(_, value)| value.as_ref().map(|value| self.expression(value))).collect();
        for ((name, _), value) in with.iter().zip(values) {
            if let Some(value) = value {
                let local = self.bind_local(&name.node, name.span);
                binds.push(Bind { target: Target::Var(local), value });
            }
        }
    }

    /// What is inspected as a variable, bound in front if it is not one already.
    pub(super) fn as_local(&mut self, term: Term, name: Option<&Ident>, binds: &mut Vec<Bind>) -> LocalId {
        if let TermKind::Local(local) = term.kind {
            return local;
        }
        let local = match name {
            Some(name) => self.local(name.node.clone(), name.span),
            None => self.local(hidden("arg"), term.span),
        };
        binds.push(Bind { target: Target::Var(local), value: term });
        local
    }

    pub(super) fn switch_<B>(&mut self, s: &SwitchSyntax<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let mark = self.enter();
        let mut binds = vec![];
        let name = Self::bound_name(&s.bind, &s.arg);
        let number = self.expression(&s.arg);
        let number = self.as_local(number, name.as_ref(), &mut binds);
        self.with_clause(&s.with, &mut binds);
        if let Some(name) = &name {
            self.bind(name.node.clone(), name.span, Binding::Local(number));
        }
        let mut cases = vec![];
        for (i, case) in s.cases.iter().enumerate() {
            cases.push((i as u32, self.scoped(case, body)));
        }
        let inner = self.enter();
        let pred = name.as_ref().map(|name| {
            let pred = Name::from(format!("{}-{}", name.node, s.cases.len()));
            self.uses.part(&pred, name.span, (name.span, name.node.clone()), None);
            self.bind_local(&pred, name.span)
        });
        let default = body(self, &s.default);
        self.leave(inner);
        self.leave(mark);
        let scrutinee = self.local_term(number, s.arg.span);
        with_binds(binds, Term::new(TermKind::Switch(Box::new(Switch { scrutinee, cases, pred, default })), span))
    }

    pub(super) fn match_<B>(&mut self, m: &MatchSyntax<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let mark = self.enter();
        let mut binds = vec![];
        let name = Self::bound_name(&m.bind, &m.arg);
        let scrutinee = self.expression(&m.arg);
        self.with_clause(&m.with, &mut binds);
        let chosen = self.arms(m, name.as_ref(), scrutinee, span, body, None);
        self.leave(mark);
        with_binds(binds, chosen)
    }
}

/// `then` unless the condition is 0.
pub(super) fn condition_term(condition: Term, then: Term, otherwise: Term, span: Span) -> Term {
    let switch = Switch { scrutinee: condition, cases: vec![(0, otherwise)], pred: None, default: then };
    Term::new(TermKind::Switch(Box::new(switch)), span)
}
