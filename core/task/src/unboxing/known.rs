//! The shape of a term's value, where the term shows it.

use super::{Positions, Shape, call, made};
use girih_term::{Body, DefId, LocalId, Program, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// The definitions that end by making a value of one shape, on each way.
pub(super) type Givers = HashMap<DefId, Shape>;

/// The greatest set of definitions each of which makes its result, or ends with a call of another one of the set. A constructor that a call
/// gives is taken apart by a choice, around everything that follows; a call that may take long stays a binding, because only those are forked.
///
/// A choice on `*` gives `*`, which no end shows. So this is an assumption, and none is made of the definitions in `except`.
pub(super) fn givers(program: &Program, except: &HashSet<DefId>, is_long: &dyn Fn(DefId) -> bool) -> Givers {
    let mut ends: HashMap<DefId, Vec<&Term>> = HashMap::new();
    for (id, def) in program.defs.iter_enumerated() {
        if except.contains(&id) {
            continue;
        }
        if let (false, Body::Term(body)) = (def.params.is_empty(), &def.body) {
            ends.insert(id, last_terms(body));
        }
    }
    let mut found = Givers::new();
    // What some end gives.
    loop {
        let given = |terms: &Vec<&Term>| terms.iter().find_map(|term| shape_of_end(program, &found, term));
        let is_soon = |id: DefId, shape: Shape| matches!(shape, Shape::Tuple(_)) || !is_long(id);
        let new = ends.iter().filter(|(id, _)| !found.contains_key(id));
        let new: Givers = new.filter_map(|(id, terms)| Some((*id, given(terms)?))).collect();
        let new: Givers = new.into_iter().filter(|(id, shape)| is_soon(*id, *shape)).collect();
        if new.is_empty() {
            break;
        }
        found.extend(new);
    }
    // What all ends give.
    ends.retain(|id, _| found.contains_key(id));
    loop {
        let before = found.len();
        ends.retain(|id, last| {
            let shape = found[id];
            let stays = last.iter().all(|term| shape_of_end(program, &found, term) == Some(shape));
            if !stays {
                found.remove(id);
            }
            stays
        });
        if found.len() == before {
            return found;
        }
    }
}

/// The shape of what a term at an end gives.
fn shape_of_end(program: &Program, found: &Givers, term: &Term) -> Option<Shape> {
    match made(term) {
        Some((shape, _)) => Some(shape),
        None => call(program, term).and_then(|(def, _)| found.get(&def).copied()),
    }
}

/// The terms that a term ends with, one of which gives its value.
fn last_terms(term: &Term) -> Vec<&Term> {
    let (mut todo, mut found) = (vec![term], vec![]);
    while let Some(term) = todo.pop() {
        match &term.kind {
            TermKind::Let(_, body) => todo.push(body),
            TermKind::Match(choice) => {
                todo.extend(choice.arms.iter().map(|arm| &arm.body).chain(&choice.default));
            }
            TermKind::Switch(choice) => {
                todo.extend(choice.cases.iter().map(|(_, body)| body).chain([&choice.default]));
            }
            _end => found.push(term),
        }
    }
    found
}

/// The variables of one shape each.
#[derive(Debug, Default)]
pub(super) struct Scope {
    shapes: HashMap<LocalId, Shape>,
    /// What to put back where a scope ends.
    log: Vec<(LocalId, Option<Shape>)>,
}

impl Scope {
    pub fn insert(&mut self, local: LocalId, shape: Shape) {
        let before = self.shapes.insert(local, shape);
        self.log.push((local, before));
    }
    /// Where the scope that begins here is ended by [`Scope::leave`].
    pub fn enter(&self) -> usize {
        self.log.len()
    }
    pub fn leave(&mut self, entered: usize) {
        for (local, before) in self.log.drain(entered..).rev() {
            match before {
                Some(shape) => _ = self.shapes.insert(local, shape),
                None => _ = self.shapes.remove(&local),
            }
        }
    }
    /// The shape of a term's value.
    pub fn shape(&self, program: &Program, givers: &Givers, term: &Term) -> Option<Shape> {
        match &term.kind {
            TermKind::Local(local) => self.shapes.get(local).copied(),
            _other => shape_of_end(program, givers, term),
        }
    }
}

/// The parameters of a definition that are among the positions.
pub(super) fn params(program: &Program, positions: &Positions, def: DefId) -> Vec<(LocalId, Shape)> {
    let params = program.defs[def].params.iter().enumerate();
    params.filter_map(|(i, local)| Some((*local, *positions.get(&(def, i))?))).collect()
}
