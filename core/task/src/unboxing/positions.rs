//! Which parameters are replaced by their parts: the greatest set of parameters for which every caller has the parts of the argument, all
//! arguments are of one shape, and the function needs the argument only in parts.

use super::known::{Givers, Scope, params};
use super::{MOST_PARAMS, Position, Positions, Shape, call, is_only};
use crate::discover::mention;
use girih_term::groups::leaves;
use girih_term::reachability::reach;
use girih_term::{Bind, Body, DefId, LocalId, Program, Target, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// The parameters, each with the shape of its values.
pub(super) fn positions(program: &Program, roots: &[DefId], givers: &Givers) -> Positions {
    // What only nets can run is reported later.
    let reached = reach(program, roots).unwrap_or_default();
    let mut found = candidates(program, roots, givers, &reached);
    loop {
        let mut refused = HashSet::new();
        for id in &reached {
            let mut walk = Walk::new(program, givers, &found);
            walk.definition(*id);
            refused.extend(walk.refused);
            let params = program.defs[*id].params.iter().enumerate();
            refused.extend(params.filter(|(_, local)| walk.whole.contains(local)).map(|(i, _)| (*id, i)));
        }
        let before = found.len();
        found.retain(|position, _| !refused.contains(position));
        if found.len() == before {
            break;
        }
    }
    // What would have too many parameters stays as it is.
    let mut counts: HashMap<DefId, usize> = HashMap::new();
    for ((def, _), shape) in &found {
        *counts.entry(*def).or_insert(program.defs[*def].params.len()) += parts(program, *shape) - 1;
    }
    found.retain(|(def, _), _| counts[def] <= MOST_PARAMS);
    found
}

/// How many parts a value has.
pub(super) fn parts(program: &Program, shape: Shape) -> usize {
    match shape {
        Shape::Tuple(parts) => parts,
        Shape::Ctor(ctor) => program.ctors[ctor].fields.len(),
    }
}

/// The positions that get values of one shape wherever it is seen what they get, of functions that are only called.
fn candidates(program: &Program, roots: &[DefId], givers: &Givers, reached: &[DefId]) -> Positions {
    let mut found = Positions::new();
    let mut values: HashSet<DefId> = roots.iter().copied().collect();
    loop {
        let mut given: HashMap<Position, HashSet<Shape>> = HashMap::new();
        for id in reached {
            let mut walk = Walk::new(program, givers, &found);
            walk.definition(*id);
            values.extend(walk.values);
            walk.given.into_iter().for_each(|(position, shape)| _ = given.entry(position).or_default().insert(shape));
        }
        let before = found.len();
        for (position, shapes) in given {
            if let ([shape], false) = (&shapes.into_iter().collect::<Vec<_>>()[..], values.contains(&position.0)) {
                found.entry(position).or_insert(*shape);
            }
        }
        if found.len() == before {
            found.retain(|(def, _), _| !values.contains(def));
            return found;
        }
    }
}

/// A walk over a definition.
struct Walk<'p> {
    program: &'p Program,
    givers: &'p Givers,
    positions: &'p Positions,
    scope: Scope,
    /// The definitions that are used otherwise than by a call with all arguments.
    values: HashSet<DefId>,
    /// What positions get, where that is known.
    given: Vec<(Position, Shape)>,
    /// The positions that get something else than they should.
    refused: HashSet<Position>,
    /// The variables that are needed in one piece.
    whole: HashSet<LocalId>,
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program, givers: &'p Givers, positions: &'p Positions) -> Walk<'p> {
        Walk {
            program,
            givers,
            positions,
            scope: Scope::default(),
            values: HashSet::new(),
            given: vec![],
            refused: HashSet::new(),
            whole: HashSet::new(),
        }
    }

    /// Walks over a definition; its parameters among the positions are known.
    fn definition(&mut self, id: DefId) {
        for (local, shape) in params(self.program, self.positions, id) {
            self.scope.insert(local, shape);
        }
        if let Body::Term(body) = &self.program.defs[id].body {
            self.term(body);
        }
    }

    fn term(&mut self, term: &'p Term) {
        match &term.kind {
            TermKind::Local(local) => _ = self.whole.insert(*local),
            TermKind::Global(def) => _ = self.values.insert(*def),
            leaves!() => {}
            TermKind::Let(binds, body) => {
                let entered = self.scope.enter();
                binds.iter().for_each(|bind| self.bind(bind));
                self.term(body);
                self.scope.leave(entered);
            }
            TermKind::Match(choice) => {
                let inspected = match &choice.scrutinee.kind {
                    TermKind::Local(local) => Some(*local),
                    _computed => None,
                };
                if inspected.is_none() {
                    self.term(&choice.scrutinee);
                }
                for arm in &choice.arms {
                    let entered = self.scope.enter();
                    if let Some(local) = inspected {
                        self.scope.insert(local, Shape::Ctor(arm.ctor));
                    }
                    self.term(&arm.body);
                    self.scope.leave(entered);
                    // The name of the whole is another one of what is inspected.
                    if let (Some(local), Some(whole)) = (inspected, arm.whole)
                        && self.whole.contains(&whole)
                    {
                        self.whole.insert(local);
                    }
                }
                choice.default.iter().for_each(|default| self.term(default));
            }
            TermKind::Apply(function, args) => match call(self.program, term) {
                Some((def, args)) => self.call(def, args),
                None => {
                    self.term(function);
                    args.iter().for_each(|arg| self.term(arg));
                }
            },
            // What a function captures, it captures as it is.
            TermKind::Lambda(_, body) => {
                let outside = std::mem::take(&mut self.scope);
                self.term(body);
                self.scope = outside;
                mention(body, &mut self.whole);
            }
            TermKind::List(_)
            | TermKind::Ctor(..)
            | TermKind::Tuple(_)
            | TermKind::Op(..)
            | TermKind::Prim(..)
            | TermKind::Switch(_)
            | TermKind::Sup(_) => term.children().into_iter().for_each(|child| self.term(child)),
        }
    }

    fn bind(&mut self, bind: &'p Bind) {
        let shape = self.scope.shape(self.program, self.givers, &bind.value);
        match (&bind.target, &bind.value.kind) {
            (Target::Tuple(targets), TermKind::Local(local)) => {
                let is_apart = shape.is_none_or(|shape| shape == Shape::Tuple(targets.len()));
                if !is_apart {
                    self.whole.insert(*local);
                }
                if shape.is_none() && targets.iter().all(Option::is_some) {
                    self.scope.insert(*local, Shape::Tuple(targets.len()));
                }
            }
            _other => self.term(&bind.value),
        }
        let is_kept = |shape: &Shape| match &bind.value.kind {
            TermKind::Apply(..) => match shape {
                Shape::Tuple(_) => true,
                Shape::Ctor(ctor) => is_only(&self.program.ctors, *ctor),
            },
            _made_here => true,
        };
        if let (Target::Var(local), Some(shape)) = (&bind.target, shape.filter(is_kept)) {
            self.scope.insert(*local, shape);
        }
    }

    fn call(&mut self, def: DefId, args: &'p [Term]) {
        for (i, arg) in args.iter().enumerate() {
            let shape = self.scope.shape(self.program, self.givers, arg);
            let wanted = self.positions.get(&(def, i)).copied();
            self.given.extend(shape.map(|shape| ((def, i), shape)));
            if wanted != shape {
                self.refused.insert((def, i));
            }
            let is_apart = wanted.is_some() && wanted == shape && matches!(arg.kind, TermKind::Local(_));
            if !is_apart {
                self.term(arg);
            }
        }
    }
}
