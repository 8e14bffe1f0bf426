//! Which functions may take long: those that call themselves, directly or through others, and those that call such. Flow analysis says which
//! functions a value may be that is applied.

use super::Lowering;
use crate::cycles::reaches_cycle;
use crate::flow::{Callee, Flow, Instance, Set, What};
use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_term::{Body, Term, TermKind};
use std::collections::{HashMap, HashSet};

index_type! {
    /// A function that can run.
    pub struct Number;
}

/// The functions whose calls may take long.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    long: HashSet<Callee>,
    /// Which functions call each other: those of one number.
    groups: HashMap<Callee, usize>,
    /// Those of these that make no more than one such call, whichever way they take: they go through a list, say, and not through a tree.
    linear: HashSet<Callee>,
}

impl Lasting {
    pub fn of(all: &Lowering<'_>) -> Lasting {
        let mut walk = Walk { all, numbers: HashMap::new(), found: IndexVec::new(), edges: IndexVec::new() };
        // Code that never runs is lowered, too.
        let first = all.program.defs.ids().map(Instance::from);
        for instance in first.chain(all.flow.instances().iter().copied()) {
            walk.number(Callee::Definition(instance));
        }
        while let Some(callee) = walk.found.get(Number::new(walk.edges.len() as u32)).copied() {
            let edges = walk.called(callee);
            walk.edges.push(edges);
        }
        let long = reaches_cycle(&walk.edges);
        let all = || walk.found.iter().copied();
        let groups = all().zip(cycles::groups(&walk.edges).iter().copied()).collect();
        let long = all().zip(long.iter()).filter(|(_, is_long)| **is_long).map(|(callee, _)| callee).collect();
        let found = Lasting { long, groups, linear: HashSet::new() };
        let linear = found.long.iter().filter(|callee| found.is_linear(walk.all, **callee)).copied().collect();
        Lasting { linear, ..found }
    }

    /// Whether a definition makes at most one call on each way that leads back to it.
    fn is_linear(&self, all: &Lowering<'_>, callee: Callee) -> bool {
        let Callee::Definition(instance) = callee else { return false };
        match &all.program.defs[instance.def].body {
            Body::Term(body) => self.recursive_calls(all, instance, body) <= 1,
            Body::Net(_) => false,
        }
    }

    /// How many calls of a term lead back to the definition that it stands in, on the way that makes most.
    fn recursive_calls(&self, all: &Lowering<'_>, here: Instance, term: &Term) -> usize {
        let calls = |term: &Term| self.recursive_calls(all, here, term);
        let most = |arms: &mut dyn Iterator<Item = &Term>| arms.map(calls).max().unwrap_or(0);
        match &term.kind {
            TermKind::Match(choice) => {
                calls(&choice.scrutinee) + most(&mut choice.arms.iter().map(|arm| &arm.body).chain(&choice.default))
            }
            TermKind::Switch(choice) => {
                let cases = choice.cases.iter().map(|(_, body)| body);
                calls(&choice.scrutinee) + most(&mut cases.chain([&choice.default]))
            }
            _others => {
                let called = match &term.kind {
                    TermKind::Apply(function, _) => match &function.kind {
                        TermKind::Global(def) => Some(all.flow.callee(here, term).unwrap_or((*def).into())),
                        _computed => None,
                    },
                    _no_call => None,
                };
                let is_own = |called| self.are_together(Callee::Definition(here), Callee::Definition(called));
                usize::from(called.is_some_and(is_own)) + term.children().into_iter().map(calls).sum::<usize>()
            }
        }
    }

    /// Whether calls of a function may take long.
    pub fn contains(&self, callee: Callee) -> bool {
        self.long.contains(&callee)
    }

    /// Whether a call goes on with the recursion through a list, or what is like one, that it stands in.
    pub fn goes_on(&self, here: Instance, callee: Instance) -> bool {
        let (here, callee) = (Callee::Definition(here), Callee::Definition(callee));
        self.linear.contains(&here) && self.are_together(here, callee)
    }

    /// Whether one function leads to another and back.
    fn are_together(&self, a: Callee, b: Callee) -> bool {
        self.groups.get(&a).is_some_and(|group| self.groups.get(&b) == Some(group))
    }

    /// Whether a call may take long of what a set holds.
    pub fn is_applied(&self, flow: &Flow, set: &Set) -> bool {
        let mut callees = vec![];
        applied(flow, set, &mut callees);
        callees.into_iter().any(|callee| self.contains(callee))
    }
}

/// A walk over all functions that can run.
struct Walk<'w, 'p> {
    all: &'w Lowering<'p>,
    numbers: HashMap<Callee, Number>,
    found: IndexVec<Number, Callee>,
    /// The functions that each calls, as far as it has been looked at.
    edges: IndexVec<Number, Vec<Number>>,
}

impl Walk<'_, '_> {
    fn number(&mut self, callee: Callee) -> Number {
        *self.numbers.entry(callee).or_insert_with(|| self.found.push(callee))
    }

    /// The functions that one calls.
    fn called(&mut self, callee: Callee) -> Vec<Number> {
        let mut callees = vec![];
        match callee {
            Callee::Definition(instance) => {
                if let Body::Term(body) = &self.all.program.defs[instance.def].body {
                    self.term(instance, body, &mut callees);
                }
            }
            Callee::Lambda(lambda) => self.term(lambda.instance, self.all.lambda_parts(lambda).2, &mut callees),
            Callee::Constructor(_) => {}
        }
        callees.into_iter().map(|callee| self.number(callee)).collect()
    }

    fn term(&self, instance: Instance, body: &Term, callees: &mut Vec<Callee>) {
        let flow = self.all.flow;
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            match &term.kind {
                // Its body runs when it is applied.
                TermKind::Lambda(..) => continue,
                TermKind::Global(def) if self.all.program.defs[*def].params.is_empty() => {
                    callees.push(Callee::Definition((*def).into()));
                }
                TermKind::Apply(function, args) => match &function.kind {
                    TermKind::Lambda(_, body) => {
                        todo.extend(args.iter().chain([&**body]));
                        continue;
                    }
                    TermKind::Global(def) => {
                        let called = flow.callee(instance, term).unwrap_or((*def).into());
                        let arity = self.all.program.defs[*def].params.len();
                        if args.len() >= arity {
                            callees.push(Callee::Definition(called));
                        }
                        if args.len() > arity {
                            applied(flow, flow.result(called), callees);
                        }
                    }
                    TermKind::Local(local) => applied(flow, flow.local(instance, *local), callees),
                    _computed => applied(flow, flow.term(instance, function), callees),
                },
                _other => {}
            }
            todo.extend(term.children());
        }
    }
}

/// The functions that may run when what a set holds is applied.
pub(super) fn applied(flow: &Flow, set: &Set, callees: &mut Vec<Callee>) {
    let set = flow.forced(set);
    callees.extend(set.functions.iter().map(|instance| Callee::Definition(*instance)));
    for shape in &set.shapes {
        match flow.shapes()[*shape].what {
            What::Closure(lambda) => callees.push(Callee::Lambda(lambda)),
            What::Partial(callee, _) => callees.push(callee),
            What::Ctor(_) | What::Pair => {}
        }
    }
}
