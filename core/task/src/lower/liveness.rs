//! Which use of a variable is its last on the way to the end of a function, and where variables die unused.
//!
//! Found in one walk against the order of evaluation. Invariant: on every path through a body each variable is used for the last time exactly
//! once, or it is listed exactly once among those that die at an arm or at their binder: what owns a cell is given on or dropped
//! exactly once.

use girih_term::groups::{closed_leaves, made_of_values};
use girih_term::{Arm, Bind, LocalId, Target, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// A term of the program that is lowered, by its place in memory.
type Place = *const Term;

/// What is known of the variables of one function: a definition's or a lambda's body.
#[derive(Debug, Default)]
pub struct Liveness {
    last: HashSet<Place>,
    dying: HashMap<Place, Vec<LocalId>>,
    consumed: HashMap<Place, Vec<LocalId>>,
    unused: HashSet<LocalId>,
    captures: HashMap<Place, Vec<Capture>>,
}

/// A variable that a lambda captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The variable.
    pub local: LocalId,
    /// Whether the function does not use it after the closure is made.
    pub last: bool,
}

impl Liveness {
    /// Walks the body of a function whose variables are `bound` at its start. `captures` says what a lambda captures.
    pub fn of(body: &Term, bound: &[LocalId], captures: &dyn Fn(&Term) -> Vec<LocalId>) -> Liveness {
        let mut walk = Walk { found: Liveness::default(), captures };
        let mut live = HashSet::new();
        walk.term(body, &mut live);
        bound.iter().for_each(|local| walk.bind(*local, &mut live));
        walk.found
    }

    /// Whether a use of a variable is the last.
    pub fn is_last(&self, term: &Term) -> bool {
        self.last.contains(&std::ptr::from_ref(term))
    }
    /// Variables that are used in other arms of a choice, but neither in this one nor after it.
    pub fn dying(&self, arm: &Term) -> &[LocalId] {
        self.dying.get(&std::ptr::from_ref(arm)).map_or(&[], |v| v)
    }
    /// Variables that whichever arm of a choice runs uses up, by the choice's first arm.
    pub fn consumed(&self, first: &Term) -> &[LocalId] {
        self.consumed.get(&std::ptr::from_ref(first)).map_or(&[], |v| v)
    }
    /// Whether a variable is never used.
    pub fn is_unused(&self, local: LocalId) -> bool {
        self.unused.contains(&local)
    }
    /// What a lambda captures, in the order of its captured values.
    pub fn captures(&self, lambda: &Term) -> &[Capture] {
        self.captures.get(&std::ptr::from_ref(lambda)).map_or(&[], |v| v)
    }
}

struct Walk<'a> {
    found: Liveness,
    captures: &'a dyn Fn(&Term) -> Vec<LocalId>,
}

type Live = HashSet<LocalId>;

impl Walk<'_> {
    /// Goes over a term, the last evaluated part first. `live` is what is used after it, then what is used from it on.
    fn term(&mut self, term: &Term, live: &mut Live) {
        match &term.kind {
            TermKind::Local(local) => {
                if live.insert(*local) {
                    self.found.last.insert(std::ptr::from_ref(term));
                }
            }
            TermKind::Lambda(..) => {
                let captured = (self.captures)(term).into_iter();
                let captures = captured.map(|local| Capture { local, last: live.insert(local) }).collect();
                self.found.captures.insert(std::ptr::from_ref(term), captures);
            }
            TermKind::Apply(function, args) => match &function.kind {
                // Bound like variables; there is no closure.
                TermKind::Lambda(params, body) if params.len() == args.len() => {
                    self.term(body, live);
                    for (param, arg) in params.iter().zip(args).rev() {
                        self.bind(*param, live);
                        self.term(arg, live);
                    }
                }
                _ => self.children(term, live),
            },
            TermKind::Let(binds, body) => {
                self.term(body, live);
                for Bind { target, value } in binds.iter().rev() {
                    match target {
                        Target::Var(local) => self.bind(*local, live),
                        Target::Tuple(parts) => parts.iter().flatten().for_each(|local| self.bind(*local, live)),
                        Target::Dup(copies) => copies.iter().flatten().for_each(|local| self.bind(*local, live)),
                        Target::Link(_) => {}
                    }
                    self.term(value, live);
                }
            }
            TermKind::Match(choice) => {
                let mut arms = vec![];
                for Arm { whole, fields, body, .. } in &choice.arms {
                    let mut inside = live.clone();
                    self.term(body, &mut inside);
                    fields.iter().chain(whole).for_each(|local| self.bind(*local, &mut inside));
                    arms.push((body, inside));
                }
                if let Some(body) = &choice.default {
                    let mut inside = live.clone();
                    self.term(body, &mut inside);
                    arms.push((body, inside));
                }
                self.choice(arms, live);
                self.term(&choice.scrutinee, live);
            }
            TermKind::Switch(choice) => {
                let mut arms = vec![];
                for (_, body) in &choice.cases {
                    let mut inside = live.clone();
                    self.term(body, &mut inside);
                    arms.push((body, inside));
                }
                let mut inside = live.clone();
                self.term(&choice.default, &mut inside);
                choice.pred.iter().for_each(|local| self.bind(*local, &mut inside));
                arms.push((&choice.default, inside));
                self.choice(arms, live);
                self.term(&choice.scrutinee, live);
            }
            closed_leaves!() | made_of_values!() => self.children(term, live),
        }
    }

    fn children(&mut self, term: &Term, live: &mut Live) {
        term.children().into_iter().rev().for_each(|child| self.term(child, live));
    }

    fn bind(&mut self, local: LocalId, live: &mut Live) {
        if !live.remove(&local) {
            self.found.unused.insert(local);
        }
    }

    /// What is used from a choice on, and what dies in which arm.
    fn choice(&mut self, arms: Vec<(&Term, Live)>, live: &mut Live) {
        let after = live.clone();
        for (_, inside) in &arms {
            live.extend(inside);
        }
        if let Some((first, _)) = arms.first() {
            let mut consumed: Vec<LocalId> = live.difference(&after).copied().collect();
            consumed.sort_unstable();
            self.found.consumed.insert(std::ptr::from_ref(*first), consumed);
        }
        for (body, inside) in arms {
            let mut dying: Vec<LocalId> = live.difference(&inside).copied().collect();
            dying.sort_unstable();
            if !dying.is_empty() {
                self.found.dying.insert(std::ptr::from_ref(body), dying);
            }
        }
    }
}
