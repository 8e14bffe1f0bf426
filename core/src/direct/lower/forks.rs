//! Calls that run at the same time.
//!
//! Of independent calls that may take long all but the last are forked. Everything is still computed in the order of the program, only the
//! results of forks are waited for when all calls of the group have begun; so variables are used up where liveness says.

use super::super::flow::Site;
use super::Unit;
use super::calls::Passed;
use super::operands::Operator;
use super::represent::{Held, Results};
use super::writer::{Goal, Writer};
use crate::ir::{FunctionId, ValueId};
use crate::term::{Bind, LocalId, Target, Term, TermKind};

/// A call that was forked.
struct Forked {
    token: ValueId,
    callee: FunctionId,
    results: Results,
    /// Words that are lent to it.
    kept: Vec<ValueId>,
}

/// A value that is there, or that waits for forked calls.
enum Part<'p> {
    There(Held),
    Forked(Forked),
    /// A term whose children are these.
    Of(&'p Term, Vec<Part<'p>>),
}

impl<'p> Writer<'_, 'p> {
    /// The values of terms, in order. Calls that may take long run at the same time.
    pub(super) fn values(&mut self, terms: &[&'p Term]) -> Vec<Held> {
        let mut left: usize = terms.iter().map(|term| self.calls_in(term)).sum();
        if left < 2 {
            return terms.iter().map(|term| self.value(term)).collect();
        }
        let parts: Vec<Part<'p>> = terms.iter().map(|term| self.begin(term, &mut left)).collect();
        parts.into_iter().map(|part| self.complete(part)).collect()
    }

    /// Whether a term is a call that may take long.
    fn is_worth_a_fork(&self, term: &Term) -> bool {
        matches!(self.called_unit(term), Some(Unit::Definition(instance)) if self.all.is_lasting(instance.def))
    }

    /// How many calls a term makes for certain that may take long, those of its arguments apart.
    fn calls_in(&self, term: &Term) -> usize {
        if self.is_worth_a_fork(term) {
            return 1;
        }
        waits_for(term).iter().map(|child| self.calls_in(child)).sum()
    }

    /// Begins to compute a term; `left` calls are still to be begun.
    fn begin(&mut self, term: &'p Term, left: &mut usize) -> Part<'p> {
        if self.is_worth_a_fork(term) {
            *left -= 1;
            if *left > 0 {
                return Part::Forked(self.fork(term));
            }
        } else if self.calls_in(term) > 0 {
            return Part::Of(term, waits_for(term).into_iter().map(|child| self.begin(child, left)).collect());
        }
        Part::There(self.value(term))
    }

    fn complete(&mut self, part: Part<'p>) -> Held {
        match part {
            Part::There(held) => held,
            Part::Forked(forked) => match self.join(&forked, Goal::Value)[..] {
                [held, ..] => held,
                [] => unreachable!("a wanted value is given"),
            },
            Part::Of(term, parts) => {
                let values: Vec<Held> = parts.into_iter().map(|part| self.complete(part)).collect();
                self.b.span = term.span;
                let given = match &term.kind {
                    TermKind::Op(op, a, b) => {
                        return self.operate_on_values(term, Operator::Binary(*op), &[a, b], &values);
                    }
                    TermKind::Prim(prim, args) => {
                        let args: Vec<&Term> = args.iter().collect();
                        return self.operate_on_values(term, Operator::Primitive(*prim), &args, &values);
                    }
                    TermKind::Tuple(_) => self.tuple(term, &values, Goal::Value),
                    _constructor => self.made(Site::Term(self.instance, term), values, Goal::Value),
                };
                match given.as_deref() {
                    Some([held]) => *held,
                    _ => unreachable!("a wanted value is given"),
                }
            }
        }
    }

    fn fork(&mut self, term: &'p Term) -> Forked {
        let (Some(Unit::Definition(instance)), TermKind::Apply(_, args)) = (self.called_unit(term), &term.kind) else {
            unreachable!("only calls of definitions are worth a fork")
        };
        let Passed { unit, values, kept } = self.arguments(instance, args, Goal::Value, true);
        let callee = self.all.unit(unit);
        self.b.span = term.span;
        Forked { token: self.b.fork(callee, &values), callee, results: self.all.results(unit), kept }
    }

    fn join(&mut self, forked: &Forked, goal: Goal) -> Vec<Held> {
        let ids = self.b.join(forked.callee, &forked.results.types(), forked.token);
        forked.kept.iter().for_each(|word| self.b.drop(*word));
        self.finish_call(&forked.results, &ids, goal).unwrap_or_default()
    }

    /// Values that are given names, and what is made of them.
    pub(super) fn sequence(&mut self, binds: &'p [Bind], body: &'p Term, goal: Goal) -> Option<Vec<Held>> {
        let (mut all, mut body): (Vec<&'p Bind>, &'p Term) = (binds.iter().collect(), body);
        while let TermKind::Let(more, next) = &body.kind {
            all.extend(more);
            body = next;
        }
        let mut next = 0;
        while let Some(Bind { target, value }) = all.get(next) {
            match self.group(&all[next..]) {
                Some(count) => {
                    self.bind_group(&all[next..next + count]);
                    next += count;
                }
                None => {
                    self.bind_target(target, value);
                    next += 1;
                }
            }
        }
        self.term(body, goal)
    }

    /// How many of the first values are computed together: calls that may take long, with others between them, none of which needs what a
    /// call before it gives. None if there is but one call.
    fn group(&self, binds: &[&'p Bind]) -> Option<usize> {
        let mut pending: Vec<LocalId> = vec![];
        let mut count = None;
        for (i, Bind { target, value }) in binds.iter().enumerate() {
            let call = self.is_worth_a_fork(value);
            if (i == 0 && !call) || uses(value, &pending) {
                break;
            }
            if call {
                pending.extend(bound(target));
                count = Some(i + 1);
            }
        }
        count.filter(|count| *count > 1)
    }

    /// Binds a group, whose last value is a call.
    fn bind_group(&mut self, binds: &[&'p Bind]) {
        let mut forked = vec![];
        let Some((Bind { target: last, value }, first)) = binds.split_last() else { return };
        for Bind { target, value } in first {
            if self.is_worth_a_fork(value) {
                forked.push((target, value, self.fork(value)));
            } else {
                self.bind_target(target, value);
            }
        }
        let goal = self.goal_of(last, value);
        let given = self.term(value, goal).unwrap_or_default();
        for (target, value, fork) in forked {
            let goal = self.goal_of(target, value);
            let given = self.join(&fork, goal);
            self.bind_given(target, value, goal, &given);
        }
        self.bind_given(last, value, goal, &given);
    }
}

/// The children that a term needs the values of, whatever they are, and does nothing before.
fn waits_for(term: &Term) -> Vec<&Term> {
    match &term.kind {
        TermKind::Op(_, a, b) => vec![a, b],
        TermKind::Prim(_, args) => args.iter().collect(),
        TermKind::Tuple(parts) => parts.iter().collect(),
        TermKind::Ctor(_, fields) => fields.iter().collect(),
        TermKind::Local(_)
        | TermKind::Global(_)
        | TermKind::Num(_)
        | TermKind::Literal(_)
        | TermKind::Str(_)
        | TermKind::List(_)
        | TermKind::Era
        | TermKind::Lambda(..)
        | TermKind::Apply(..)
        | TermKind::Let(..)
        | TermKind::Match(_)
        | TermKind::Switch(_)
        | TermKind::Sup(_)
        | TermKind::Link(_)
        | TermKind::Invalid => vec![],
    }
}

/// The variables that a target binds.
fn bound(target: &Target) -> Vec<LocalId> {
    match target {
        Target::Var(local) => vec![*local],
        Target::Tuple(parts) => parts.iter().flatten().copied().collect(),
        Target::Dup(copies) => copies.iter().flatten().copied().collect(),
        Target::Link(_) => vec![],
    }
}

/// Whether a term uses one of these variables.
pub(super) fn uses(term: &Term, locals: &[LocalId]) -> bool {
    let mut todo = vec![term];
    while let Some(term) = todo.pop() {
        if matches!(term.kind, TermKind::Local(local) if locals.contains(&local)) {
            return true;
        }
        todo.extend(term.children());
    }
    false
}
