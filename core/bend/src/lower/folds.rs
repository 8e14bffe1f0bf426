//! `fold`: a function of the value and the state that matches the value.
//!
//! In its arms a recursive field is what the function makes of it: a value, or with a state a function of the next state.
//! The arms are lowered with a variable for that, which [`place`] replaces.

use super::choices::LowerBody;
use super::definition_scope::{apply, partial};
use super::expressions::with_binds;
use super::literals::hidden;
use super::{Lowering, invalid};
use crate::ast::{Expr, Match as MatchSyntax};
use girih_base::span::Span;
use girih_term::{Bind, DefId, LocalId, Target, Term, TermKind};

/// The fold whose arms are being lowered.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    def: DefId,
    has_state: bool,
}

impl<'l> Lowering<'l> {
    pub(super) fn fun_fold(&mut self, f: &MatchSyntax<Expr>, span: Span) -> Term {
        self.fold_(f, span, &mut |this, body| this.expression(body))
    }

    /// `fold x = e with s: …`.
    pub(super) fn fold_<B>(&mut self, f: &MatchSyntax<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let name = Self::bound_name(&f.bind, &f.arg);
        let mut args = vec![self.expression(&f.arg)];
        args.extend(self.initial_state(&f.with));
        let (def, captured) = self.generate("fold", span, |this, def| {
            let param = match &name {
                Some(name) => this.local(name.node.clone(), name.span),
                None => this.local(hidden("arg"), f.arg.span),
            };
            this.innermost().params.push(param);
            for (state, _) in &f.with {
                this.bind_param(&state.node, state.span);
            }
            let scrutinee = this.local_term(param, f.arg.span);
            let fold = Fold { def, has_state: !f.with.is_empty() };
            this.arms(f, name.as_ref(), scrutinee, span, body, Some(fold))
        });
        apply(Term::new(partial(def, captured, span), span), args, span)
    }
}

impl Fold {
    /// What the fold makes of a field.
    pub(super) fn of(self, field: LocalId, span: Span) -> Term {
        apply(Term::new(TermKind::Global(self.def), span), vec![Term::new(TermKind::Local(field), span)], span)
    }

    /// Gives the variable `folded` of an arm its meaning: the fold of `field`.
    pub(super) fn place(self, body: &mut Term, folded: LocalId, field: LocalId) {
        let value = |span| self.of(field, span);
        match self.has_state {
            // A function, which costs nothing to make wherever it is mentioned.
            true => replace(body, folded, &value),
            false => place(body, folded, &value),
        }
    }
}

/// Gives a variable of an arm its value. If it is needed at most once, whichever way the arm goes, the value is computed
/// where the variable is mentioned, else at the start of the arm.
pub(super) fn place(body: &mut Term, local: LocalId, value: &impl Fn(Span) -> Term) {
    match uses(body, local) {
        0 => {}
        1 => replace(body, local, value),
        _ => {
            let span = body.span;
            let inner = std::mem::replace(body, invalid(span));
            *body = with_binds(vec![Bind { target: Target::Var(local), value: value(span) }], inner);
        }
    }
}

/// The most times that a variable is used on one way through the body of an arm. A function that the arm returns counts as
/// a part of the arm; any other may be called often, so that a use inside counts as two.
pub(super) fn uses(body: &Term, local: LocalId) -> usize {
    count_uses(body, local, true)
}

fn count_uses(term: &Term, local: LocalId, is_returned: bool) -> usize {
    let returned = |term: &Term| count_uses(term, local, is_returned);
    let inner = |term: &Term| count_uses(term, local, false);
    match &term.kind {
        TermKind::Local(found) => usize::from(*found == local),
        TermKind::Lambda(_, body) if is_returned => returned(body),
        TermKind::Lambda(_, body) => inner(body).saturating_mul(2),
        TermKind::Let(binds, body) => {
            binds.iter().map(|bind| inner(&bind.value)).fold(returned(body), usize::saturating_add)
        }
        TermKind::Match(m) => {
            let bodies = m.arms.iter().map(|arm| &arm.body).chain(&m.default);
            inner(&m.scrutinee).saturating_add(bodies.map(returned).max().unwrap_or(0))
        }
        TermKind::Switch(s) => {
            let bodies = s.cases.iter().map(|(_, body)| body).chain([&s.default]);
            inner(&s.scrutinee).saturating_add(bodies.map(returned).max().unwrap_or(0))
        }
        _ => term.children().into_iter().map(inner).fold(0, usize::saturating_add),
    }
}

fn replace(term: &mut Term, local: LocalId, by: &impl Fn(Span) -> Term) {
    let span = term.span;
    match &mut term.kind {
        TermKind::Local(found) if *found == local => *term = by(span),
        TermKind::Apply(function, args) if matches!(function.kind, TermKind::Local(found) if found == local) => {
            args.iter_mut().for_each(|arg| replace(arg, local, by));
            let args = std::mem::take(args);
            *term = apply(by(span), args, span);
        }
        _ => term.children_mut().into_iter().for_each(|child| replace(child, local, by)),
    }
}
