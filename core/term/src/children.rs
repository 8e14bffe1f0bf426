//! The terms directly below a term: what a pass needs that looks for something anywhere.

use super::groups::leaves;
use super::{Arm, DefId, Match, Switch, Term, TermKind};
use std::collections::BTreeSet;

impl Term {
    /// All definitions that this term mentions, each once.
    pub fn globals(&self) -> Vec<DefId> {
        let mut found = BTreeSet::new();
        let mut pending = vec![self];
        while let Some(term) = pending.pop() {
            if let TermKind::Global(def) = term.kind {
                found.insert(def);
            }
            pending.extend(term.children());
        }
        found.into_iter().collect()
    }

    /// The terms directly below this one, in the order of evaluation.
    pub fn children(&self) -> Vec<&Term> {
        match &self.kind {
            leaves!() => vec![],
            TermKind::List(items)
            | TermKind::Ctor(_, items)
            | TermKind::Tuple(items)
            | TermKind::Prim(_, items)
            | TermKind::Sup(items) => items.iter().collect(),
            TermKind::Lambda(_, body) => vec![body],
            TermKind::Apply(function, args) => std::iter::once(&**function).chain(args).collect(),
            TermKind::Op(_, a, b) => vec![a, b],
            TermKind::Let(binds, body) => binds.iter().map(|b| &b.value).chain([&**body]).collect(),
            TermKind::Match(m) => {
                let Match { scrutinee, ty: _, arms, default } = &**m;
                let bodies = arms.iter().map(|Arm { body, .. }| body);
                std::iter::once(scrutinee).chain(bodies).chain(default).collect()
            }
            TermKind::Switch(s) => {
                let Switch { scrutinee, cases, pred: _, default } = &**s;
                std::iter::once(scrutinee).chain(cases.iter().map(|(_, body)| body)).chain([default]).collect()
            }
        }
    }

    /// The terms directly below this one, in the order of evaluation, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Term> {
        match &mut self.kind {
            leaves!() => vec![],
            TermKind::List(items)
            | TermKind::Ctor(_, items)
            | TermKind::Tuple(items)
            | TermKind::Prim(_, items)
            | TermKind::Sup(items) => items.iter_mut().collect(),
            TermKind::Lambda(_, body) => vec![body],
            TermKind::Apply(function, args) => std::iter::once(&mut **function).chain(args).collect(),
            TermKind::Op(_, a, b) => vec![a, b],
            TermKind::Let(binds, body) => binds.iter_mut().map(|b| &mut b.value).chain([&mut **body]).collect(),
            TermKind::Match(m) => {
                let Match { scrutinee, ty: _, arms, default } = &mut **m;
                let bodies = arms.iter_mut().map(|Arm { body, .. }| body);
                std::iter::once(scrutinee).chain(bodies).chain(default).collect()
            }
            TermKind::Switch(s) => {
                let Switch { scrutinee, cases, pred: _, default } = &mut **s;
                std::iter::once(scrutinee).chain(cases.iter_mut().map(|(_, body)| body)).chain([default]).collect()
            }
        }
    }
}
