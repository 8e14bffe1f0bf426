//! The lambdas of a definition and what they capture.
//!
//! A lambda captures the variables that its body uses and does not bind. All lambdas of a definition are found in one
//! walk whose order is fixed: a lambda is known by its position in that order.

use std::collections::HashSet;

use crate::{Arm, Local, LocalId, Target, Term, TermKind};
use girih_base::idx::IndexVec;

/// A lambda of a definition.
pub struct Lambda<'p> {
    /// Its parameters.
    pub params: &'p [LocalId],
    /// Its body.
    pub body: &'p Term,
    /// The lambda around it, by position.
    parent: Option<usize>,
    /// What it captures, in the order of the captured values: by the variables' numbers.
    pub captures: Vec<LocalId>,
}

/// What is known of the variables and lambdas of a definition.
pub struct Scopes<'p> {
    /// All lambdas.
    pub lambdas: Vec<Lambda<'p>>,
    /// For each variable, whether it is used.
    pub(crate) used: Vec<bool>,
    /// For each variable, the lambda that binds it, by position.
    binder: Vec<Option<usize>>,
    captured: HashSet<(usize, LocalId)>,
}

/// The terms below a term, and the variables that the term binds in them.
///
/// A lambda that is applied to all its arguments where it stands is no lambda here: it binds its parameters as `let`
/// does.
fn below(term: &Term) -> (Vec<&Term>, Vec<LocalId>) {
    match &term.kind {
        TermKind::Apply(function, args) => match &function.kind {
            TermKind::Lambda(params, body) if params.len() == args.len() => {
                (args.iter().chain([&**body]).collect(), params.clone())
            }
            _ => (term.children(), vec![]),
        },
        TermKind::Lambda(params, _) => (term.children(), params.clone()),
        TermKind::Let(binds, _) => (term.children(), binds.iter().flat_map(|bind| targets(&bind.target)).collect()),
        TermKind::Match(m) => {
            let locals = m.arms.iter().flat_map(|Arm { whole, fields, .. }| fields.iter().chain(whole));
            (term.children(), locals.copied().collect())
        }
        TermKind::Switch(s) => (term.children(), s.pred.into_iter().collect()),
        _ => (term.children(), vec![]),
    }
}

fn targets(target: &Target) -> Vec<LocalId> {
    match target {
        Target::Var(local) => vec![*local],
        Target::Tuple(parts) | Target::Dup(parts) => parts.iter().flatten().copied().collect(),
        Target::Link(_) => vec![],
    }
}

/// The parameters and the body of the lambda at a position in the walk.
pub(super) fn find(body: &Term, position: usize) -> Option<(&[LocalId], &Term)> {
    let mut left = position;
    let mut todo = vec![body];
    while let Some(term) = todo.pop() {
        if let TermKind::Lambda(params, body) = &term.kind {
            if left == 0 {
                return Some((params, body));
            }
            left -= 1;
        }
        todo.extend(below(term).0);
    }
    None
}

impl<'p> Scopes<'p> {
    /// Walks the body of a definition.
    pub fn of(body: &'p Term, locals: &IndexVec<LocalId, Local>) -> Scopes<'p> {
        let mut scopes = Scopes {
            lambdas: vec![],
            used: vec![false; locals.len()],
            binder: vec![None; locals.len()],
            captured: HashSet::new(),
        };
        let mut uses = vec![];
        let mut todo = vec![(body, None)];
        while let Some((term, mut inside)) = todo.pop() {
            match &term.kind {
                TermKind::Local(local) => uses.push((*local, inside)),
                TermKind::Lambda(params, body) => {
                    scopes.lambdas.push(Lambda { params, body, parent: inside, captures: vec![] });
                    inside = Some(scopes.lambdas.len() - 1);
                }
                _ => {}
            }
            let (terms, locals) = below(term);
            locals.iter().for_each(|local| scopes.binder[local.index()] = inside);
            todo.extend(terms.into_iter().map(|term| (term, inside)));
        }
        for (local, inside) in uses {
            scopes.used[local.index()] = true;
            scopes.capture(local, inside);
        }
        scopes.lambdas.iter_mut().for_each(|lambda| lambda.captures.sort());
        scopes
    }

    /// Adds a variable to what the lambdas between its use and its binder capture.
    fn capture(&mut self, local: LocalId, mut inside: Option<usize>) {
        while inside != self.binder[local.index()]
            && let Some(lambda) = inside
            && self.captured.insert((lambda, local))
        {
            self.lambdas[lambda].captures.push(local);
            inside = self.lambdas[lambda].parent;
        }
    }
}
