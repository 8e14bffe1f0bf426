//! Calls that run at the same time.
//!
//! Of independent calls that may take long one is made and the others are forked before it, the last one first. It is the first of them, so that who makes
//! them all by himself does so in the order of the program, which is the order of what they leave in memory. In a recursion through a list a thread makes the
//! call that goes on with it: it goes through the list first, and leaves a call for each element. If these were made on the way, there would never be more than one call to
//! take from it, all the rest of the list. A lane of a device has no room for so many; there, lanes hand the rest of a list on. The arguments of all calls are there before;
//! variables are used up where liveness says.
//!
//! Calls that come before one whose arguments take long themselves are forked at once, so that they run beside those.

use super::super::flow::{Callee, Site};
use super::Unit;
use super::calls::{Beside, Passed};
use super::operands::Operator;
use super::represent::Held;
use super::writer::{Goal, TermWriter};
use girih_base::span::Span;
use girih_ir::ValueId;
use girih_term::groups::leaves;
use girih_term::{Bind, LocalId, Target, Term, TermKind};

/// Calls that do not wait for each other.
struct Calls<'p> {
    /// All of them, in the order of the program.
    terms: Vec<&'p Term>,
    /// All that is computed meanwhile; the calls stand in it.
    group: Vec<&'p Term>,
    /// How many of the first are forked at once.
    early: usize,
    /// Those whose arguments are there.
    ready: Vec<Call<'p>>,
    /// What each has given, when all have ended.
    given: Vec<Vec<Held>>,
}

/// A call whose arguments are there.
struct Call<'p> {
    term: &'p Term,
    passed: Passed,
    /// How its value is wanted.
    goal: Goal,
    /// What it was forked as, if it has been.
    token: Option<ValueId>,
}

/// A value that is there, or that waits for calls.
enum Part<'p> {
    There(Held),
    /// What the call of this position gives.
    Called(usize),
    /// A variable that is bound when calls have ended.
    Pending(&'p Term),
    /// A term whose children are these.
    Of(&'p Term, Vec<Part<'p>>),
}

/// Values that are computed together.
enum Group {
    /// So many of the first.
    Binds(usize),
    /// All of them, with calls that what is made of them waits for.
    WithBody,
}

impl<'p> TermWriter<'_, 'p> {
    /// The values of terms, in order. Calls that may take long run at the same time.
    pub(super) fn values(&mut self, terms: &[&'p Term]) -> Vec<Held> {
        let mut found = vec![];
        terms.iter().for_each(|term| self.find_calls(term, &mut found));
        if found.len() < 2 {
            return terms.iter().map(|term| self.value(term)).collect();
        }
        let mut calls = self.calls(found, 0, terms.to_vec());
        let parts: Vec<Part<'p>> = terms.iter().map(|term| self.begin(term, &mut calls, &[])).collect();
        parts.into_iter().map(|part| self.complete(part, &calls.given)).collect()
    }

    /// Whether a term is a call that may take long.
    fn is_worth_a_fork(&self, term: &Term) -> bool {
        let TermKind::Apply(function, _) = &term.kind else { return false };
        match &function.kind {
            TermKind::Global(_) => match self.called_unit(term) {
                Some(Unit::Definition(instance)) => self.all.lasting.contains(Callee::Definition(instance)),
                _fewer_or_more => false,
            },
            TermKind::Local(local) => {
                self.all.lasting.is_applied(self.all.flow, self.all.flow.local(self.instance, *local))
            }
            _computed => false,
        }
    }

    /// The calls that a term makes for certain that may take long, those of their arguments apart.
    fn find_calls(&self, term: &'p Term, found: &mut Vec<&'p Term>) {
        if self.is_worth_a_fork(term) {
            return found.push(term);
        }
        waits_for(term).into_iter().for_each(|child| self.find_calls(child, found));
    }
    fn has_calls(&self, term: &Term) -> bool {
        self.is_worth_a_fork(term) || waits_for(term).into_iter().any(|child| self.has_calls(child))
    }

    /// Calls of which so many of the first, or more, are forked at once.
    fn calls(&self, terms: Vec<&'p Term>, early: usize, group: Vec<&'p Term>) -> Calls<'p> {
        let takes_long = |call: &&Term| call.children().into_iter().any(|child| self.reaches_call(child));
        let early = terms.iter().rposition(takes_long).unwrap_or(0).max(early);
        Calls { terms, group, early, ready: vec![], given: vec![] }
    }
    /// Whether a call that may take long stands anywhere in a term.
    fn reaches_call(&self, term: &Term) -> bool {
        self.is_worth_a_fork(term) || term.children().into_iter().any(|child| self.reaches_call(child))
    }

    /// Computes the arguments of the next call; of the last one, all are made then.
    fn prepare(&mut self, term: &'p Term, goal: Goal, calls: &mut Calls<'p>) -> usize {
        let TermKind::Apply(function, args) = &term.kind else { unreachable!("only calls are worth a fork") };
        let position = calls.ready.len();
        let is_last = position + 1 == calls.terms.len();
        // The last one is made when the arguments of all are there.
        let beside = Beside(if is_last { &[] } else { &calls.group });
        let passed = match self.called_unit(term) {
            Some(Unit::Definition(instance)) => self.arguments(instance, args, Goal::Value, beside),
            _variable => self.function_and_arguments(function, args, Goal::Value, beside),
        };
        let mut call = Call { term, passed, goal, token: None };
        if position < calls.early {
            self.fork(&mut call);
        }
        calls.ready.push(call);
        if is_last {
            self.make(calls);
        }
        position
    }

    fn fork(&mut self, call: &mut Call<'p>) {
        self.b.span = call.term.span;
        call.token = Some(self.b.fork(self.all.unit(call.passed.unit), &call.passed.values));
    }

    /// Makes all calls, now that their arguments are there.
    fn make(&mut self, calls: &mut Calls<'p>) {
        let Calls { early, ready, given, .. } = calls;
        let next = (*early..ready.len()).find(|i| self.all.for_threads && self.goes_on(&ready[*i]));
        let own = next.unwrap_or(*early);
        let others = |i: &usize| *i != own;
        (*early..ready.len()).filter(others).rev().for_each(|i| self.fork(&mut ready[i]));
        given.resize(ready.len(), vec![]);
        // What was forked last is joined first.
        for i in [own].into_iter().chain((*early..ready.len()).filter(others)).chain((0..*early).rev()) {
            let Call { term, passed, goal, token } = &ready[i];
            let held = match token {
                Some(token) => self.join(passed, term.span, *token, *goal),
                None => self.call_with(passed, term.span, *goal),
            };
            given[i] = held.unwrap_or_default();
        }
    }

    /// Whether a call goes on with the recursion through a list that it stands in.
    fn goes_on(&self, call: &Call<'p>) -> bool {
        match call.passed.unit {
            Unit::Definition(callee) => self.all.lasting.goes_on(self.instance, callee),
            _function => false,
        }
    }

    fn join(&mut self, passed: &Passed, span: Span, token: ValueId, goal: Goal) -> Option<Vec<Held>> {
        let results = self.all.results(passed.unit);
        let ids = self.b.join(self.all.unit(passed.unit), &results.types(), token);
        self.given(passed, &ids, span, goal)
    }

    /// Begins to compute a term.
    fn begin(&mut self, term: &'p Term, calls: &mut Calls<'p>, pending: &[LocalId]) -> Part<'p> {
        if self.is_worth_a_fork(term) {
            Part::Called(self.prepare(term, Goal::Value, calls))
        } else if is_one_of(term, pending) {
            Part::Pending(term)
        } else if self.has_calls(term) || uses(term, pending) {
            Part::Of(term, waits_for(term).into_iter().map(|child| self.begin(child, calls, pending)).collect())
        } else {
            Part::There(self.value(term))
        }
    }

    fn complete(&mut self, part: Part<'p>, called: &[Vec<Held>]) -> Held {
        match part {
            Part::There(held) => held,
            Part::Called(position) => only(&called[position]),
            Part::Pending(term) => self.value(term),
            Part::Of(term, parts) => only(&self.complete_for(term, parts, called, Goal::Value).unwrap_or_default()),
        }
    }

    /// Computes a term from its parts.
    fn complete_for(
        &mut self,
        term: &'p Term,
        parts: Vec<Part<'p>>,
        called: &[Vec<Held>],
        goal: Goal,
    ) -> Option<Vec<Held>> {
        let values: Vec<Held> = parts.into_iter().map(|part| self.complete(part, called)).collect();
        self.b.span = term.span;
        let value = match &term.kind {
            TermKind::Op(op, a, b) => self.operate_on_values(term, Operator::Binary(*op), &[a, b], &values),
            TermKind::Prim(prim, args) => {
                let args: Vec<&Term> = args.iter().collect();
                self.operate_on_values(term, Operator::Primitive(*prim), &args, &values)
            }
            TermKind::Tuple(_) => return self.tuple(term, &values, goal),
            _constructor => return self.made(Site::Term(self.instance, term), values, goal),
        };
        self.b.span = term.span;
        self.finish(value, goal)
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
            match self.group(&all[next..], body) {
                Some(Group::WithBody) => return self.end_group(&all[next..], body, goal),
                Some(Group::Binds(count)) => {
                    let binds = &all[next..next + count];
                    let group = binds.iter().map(|bind| &bind.value).collect();
                    let mut calls = self.calls(self.calls_of(binds), self.early(binds), group);
                    self.prepare_binds(binds, &mut calls);
                    self.bind_calls(binds, &calls.given);
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

    /// Which values are computed together: calls that may take long, with others between them, none of which needs what a call before it
    /// gives. None if there is but one call.
    fn group(&self, binds: &[&'p Bind], body: &'p Term) -> Option<Group> {
        let mut pending: Vec<LocalId> = vec![];
        let mut count = None;
        for (i, Bind { target, value }) in binds.iter().enumerate() {
            let call = self.is_worth_a_fork(value);
            if (i == 0 && !call) || uses(value, &pending) {
                return count.filter(|count| *count > 1).map(Group::Binds);
            }
            if call {
                pending.extend(bound(target));
                count = Some(i + 1);
            }
        }
        if !self.is_worth_a_fork(body) && self.has_calls(body) && self.can_wait(body, &pending) {
            return Some(Group::WithBody);
        }
        count.filter(|count| *count > 1).map(Group::Binds)
    }

    /// Whether a term waits for its parts before it needs these variables, and its calls do not need them at all.
    fn can_wait(&self, term: &Term, pending: &[LocalId]) -> bool {
        if is_one_of(term, pending) || !uses(term, pending) {
            return true;
        }
        let parts = waits_for(term);
        !self.is_worth_a_fork(term) && !parts.is_empty() && parts.into_iter().all(|part| self.can_wait(part, pending))
    }

    /// The values that are calls that may take long.
    fn calls_of(&self, binds: &[&'p Bind]) -> Vec<&'p Term> {
        binds.iter().map(|bind| &bind.value).filter(|value| self.is_worth_a_fork(value)).collect()
    }

    /// How many calls stand before a value that is none and that may take long.
    fn early(&self, binds: &[&'p Bind]) -> usize {
        let is_call = |bind: &&&Bind| self.is_worth_a_fork(&bind.value);
        let long = binds.iter().rposition(|bind| !is_call(&bind) && self.reaches_call(&bind.value));
        binds[..long.unwrap_or(0)].iter().filter(is_call).count()
    }

    /// Computes the arguments of calls, and binds what is no call.
    fn prepare_binds(&mut self, binds: &[&'p Bind], calls: &mut Calls<'p>) {
        for Bind { target, value } in binds {
            if self.is_worth_a_fork(value) {
                let goal = self.goal_of(target, value);
                self.prepare(value, goal, calls);
            } else {
                self.bind_target(target, value);
            }
        }
    }

    /// Binds what calls have given.
    fn bind_calls(&mut self, binds: &[&'p Bind], given: &[Vec<Held>]) {
        let calls: Vec<&Bind> = binds.iter().copied().filter(|bind| self.is_worth_a_fork(&bind.value)).collect();
        for (Bind { target, value }, given) in calls.into_iter().zip(given) {
            self.bind_given(target, value, self.goal_of(target, value), given);
        }
    }

    /// Computes values together with the calls of what is made of them.
    fn end_group(&mut self, binds: &[&'p Bind], body: &'p Term, goal: Goal) -> Option<Vec<Held>> {
        let mut found = self.calls_of(binds);
        self.find_calls(body, &mut found);
        let calls = binds.iter().filter(|bind| self.is_worth_a_fork(&bind.value));
        let pending: Vec<LocalId> = calls.flat_map(|bind| bound(&bind.target)).collect();
        let group = binds.iter().map(|bind| &bind.value).chain([body]).collect();
        let mut calls = self.calls(found, self.early(binds), group);
        self.prepare_binds(binds, &mut calls);
        let parts = waits_for(body).into_iter().map(|part| self.begin(part, &mut calls, &pending)).collect();
        self.bind_calls(binds, &calls.given);
        self.complete_for(body, parts, &calls.given, goal)
    }
}

/// The one value that was wanted.
fn only(given: &[Held]) -> Held {
    match given {
        [held, ..] => *held,
        [] => unreachable!("a wanted value is given"),
    }
}

fn is_one_of(term: &Term, locals: &[LocalId]) -> bool {
    matches!(term.kind, TermKind::Local(local) if locals.contains(&local))
}

/// The children that a term needs the values of, whatever they are, and does nothing before.
fn waits_for(term: &Term) -> Vec<&Term> {
    match &term.kind {
        TermKind::Op(_, a, b) => vec![a, b],
        TermKind::Prim(_, args) => args.iter().collect(),
        TermKind::Tuple(parts) => parts.iter().collect(),
        TermKind::Ctor(_, fields) => fields.iter().collect(),
        leaves!()
        | TermKind::List(_)
        | TermKind::Lambda(..)
        | TermKind::Apply(..)
        | TermKind::Let(..)
        | TermKind::Match(_)
        | TermKind::Switch(_)
        | TermKind::Sup(_) => vec![],
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
