//! Functions that end by applying a function that is a value, and come back to themselves that way: continuation-passing style, and
//! interpreters whose steps are closures.
//!
//! What applies any word gives a word, so a function that gave a bare number would have something left to do behind such a call, and each
//! would take stack. These functions give words themselves: then all of these calls are tail calls. Numbers of 24 bits are words without a
//! cell; others are made cells only in such functions.

use super::Lowering;
use super::lasting::applied;
use crate::flow::{Callee, Instance, Set, What};
use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_term::groups::{leaves, made_of_values};
use girih_term::{Body, Term, TermKind};
use std::collections::{HashMap, HashSet};

index_type! {
    /// A function that can run.
    pub struct Number;
}

/// The functions that come back to themselves by calls at their ends, one of which applies a value.
pub(super) fn going_on(all: &Lowering<'_>) -> HashSet<Callee> {
    let mut walk =
        Walk { all, numbers: HashMap::new(), found: IndexVec::new(), edges: IndexVec::new(), unknown: vec![] };
    for instance in all.flow.instances() {
        walk.number(Callee::Definition(*instance));
    }
    while let Some(callee) = walk.found.get(Number::new(walk.edges.len() as u32)).copied() {
        let edges = walk.ends(callee);
        walk.edges.push(edges);
    }
    let groups = cycles::groups(&walk.edges);
    let inside = walk.unknown.iter().filter(|(from, to)| groups[*from] == groups[*to]);
    let going_on: HashSet<usize> = inside.map(|(from, _)| groups[*from]).collect();
    let members = walk.found.iter_enumerated().filter(|(number, _)| going_on.contains(&groups[*number]));
    members.map(|(_, callee)| *callee).collect()
}

/// Whether all that a set holds are functions of so many parameters at least, none of which waits to be computed. What applies them to so
/// many arguments finds nothing that is no function.
pub(super) fn only_functions(all: &Lowering<'_>, set: &Set, count: usize) -> bool {
    let arity = |callee: Callee| match callee {
        Callee::Definition(instance) => all.program.defs[instance.def].params.len(),
        Callee::Lambda(lambda) => all.lambda_parts(lambda).0.len(),
        Callee::Constructor(ctor) => all.program.ctors[ctor].fields.len(),
    };
    let takes_all = |shape: &super::ShapeId| match all.flow.shapes()[*shape].what {
        What::Closure(lambda) => arity(Callee::Lambda(lambda)) >= count,
        What::Partial(callee, given) => arity(callee) >= given as usize + count,
        What::Ctor(_) | What::Pair => false,
    };
    let Set { numbers, era, units, shapes, functions, thunks, makers, selectors, external } = set;
    let others = *era || *external || !numbers.is_empty() || !units.is_empty() || !thunks.is_empty();
    let is_any = !shapes.is_empty() || !functions.is_empty();
    let all_take =
        shapes.iter().all(takes_all) && functions.iter().all(|instance| arity(Callee::Definition(*instance)) >= count);
    !others && makers.is_empty() && selectors.is_empty() && is_any && all_take
}

/// A walk over the ends of all functions that can run.
struct Walk<'w, 'p> {
    all: &'w Lowering<'p>,
    numbers: HashMap<Callee, Number>,
    found: IndexVec<Number, Callee>,
    /// The functions that each calls at an end, as far as it has been looked at.
    edges: IndexVec<Number, Vec<Number>>,
    /// Those of these calls that apply a value.
    unknown: Vec<(Number, Number)>,
}

impl Walk<'_, '_> {
    fn number(&mut self, callee: Callee) -> Number {
        *self.numbers.entry(callee).or_insert_with(|| self.found.push(callee))
    }

    /// The functions that one calls at its ends.
    fn ends(&mut self, callee: Callee) -> Vec<Number> {
        let (mut known, mut unknown) = (vec![], vec![]);
        match callee {
            Callee::Definition(instance) => {
                if let Body::Term(body) = &self.all.program.defs[instance.def].body {
                    self.ends_of(instance, body, &mut known, &mut unknown);
                }
            }
            Callee::Lambda(lambda) => {
                self.ends_of(lambda.instance, self.all.lambda_parts(lambda).2, &mut known, &mut unknown);
            }
            Callee::Constructor(_) => {}
        }
        let own = self.number(callee);
        let mut all: Vec<Number> = known.into_iter().map(|callee| self.number(callee)).collect();
        for callee in unknown {
            let number = self.number(callee);
            self.unknown.push((own, number));
            all.push(number);
        }
        all
    }

    fn ends_of(&self, instance: Instance, body: &Term, known: &mut Vec<Callee>, unknown: &mut Vec<Callee>) {
        let flow = self.all.flow;
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            match &term.kind {
                TermKind::Let(_, body) => todo.push(body),
                TermKind::Match(m) => todo.extend(m.arms.iter().map(|arm| &arm.body).chain(&m.default)),
                TermKind::Switch(s) => todo.extend(s.cases.iter().map(|(_, body)| body).chain([&s.default])),
                TermKind::Apply(function, args) => match &function.kind {
                    TermKind::Lambda(params, body) if params.len() == args.len() => todo.push(body),
                    TermKind::Global(def) if !self.all.program.defs[*def].params.is_empty() => {
                        let called = flow.callee(instance, term).unwrap_or((*def).into());
                        let arity = self.all.program.defs[*def].params.len();
                        if args.len() == arity {
                            known.push(Callee::Definition(called));
                        } else if args.len() > arity {
                            applied(flow, flow.result(called), unknown);
                        }
                    }
                    TermKind::Local(local) => applied(flow, flow.local(instance, *local), unknown),
                    _computed => applied(flow, flow.term(instance, function), unknown),
                },
                leaves!() | made_of_values!() | TermKind::Lambda(..) => {}
            }
        }
    }
}
