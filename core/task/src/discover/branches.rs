//! Calls across choices: into the arms, where there are others to run beside them, and out of arms that all make them.
//!
//! Invariant: a call that is moved is computed in exactly those runs in which it was before, but for arms that do not need it.

use super::Part;
use super::items::{Item, Kind, Pattern, arms, arms_mut, bound, bound_inside, mention, scrutinee};
use super::take;
use girih_term::{Bind, LocalId, Target, Term, TermKind};
use std::collections::{HashMap, HashSet};

impl Part<'_> {
    /// Calls that all arms of a choice make, with the same arguments, are made before it, if something that takes long runs there beside them.
    pub(super) fn hoist(&mut self, items: &mut Vec<Item>) {
        let mut i = 0;
        while i < items.len() {
            if items[i].kind == Kind::Long {
                for call in self.common(&items[i].value) {
                    let call = Item::new(None, call, self.arities);
                    if has_partner(&items[..i], &call) {
                        self.hoist_one(items, i, call);
                        i += 1;
                    }
                }
            }
            i += 1;
        }
    }

    /// Makes a call before the choice at a position.
    fn hoist_one(&mut self, items: &mut Vec<Item>, i: usize, call: Item) {
        let local = self.local(call.value.span);
        let Item { target, mut value, .. } = items.remove(i);
        arms_mut(&mut value).into_iter().for_each(|arm| replace(arm, &call.value, local));
        items.insert(i, Item::new(target, value, self.arities));
        items.insert(i, Item { target: Some(Pattern::Target(Target::Var(local))), ..call });
    }

    /// The calls that all arms of a choice make for certain, and that use nothing of an arm.
    fn common(&self, choice: &Term) -> Vec<Term> {
        let arms = arms(choice);
        let Some((first, others)) = arms.split_first() else { return vec![] };
        let mut inner = HashSet::new();
        bound_inside(choice, &mut inner);
        let mut calls = vec![];
        self.certain(first, &mut calls);
        // What a variable stands for may not even be a function, where the choice is on something that has no arm.
        let is_definition = |call: &Term| match &call.kind {
            TermKind::Apply(function, _) => matches!(function.kind, TermKind::Global(_)),
            _other => false,
        };
        let is_common = |call: &&Term| {
            let mut mentions = HashSet::new();
            mention(call, &mut mentions);
            let elsewhere = others.iter().all(|arm| {
                let mut calls = vec![];
                self.certain(arm, &mut calls);
                calls.iter().any(|other| is_same(call, other))
            });
            is_definition(call) && mentions.is_disjoint(&inner) && has_plain_arguments(call) && elsewhere
        };
        let mut found: Vec<Term> = vec![];
        for call in calls.into_iter().filter(is_common) {
            if !found.iter().any(|other| is_same(call, other)) {
                found.push(call.clone());
            }
        }
        found
    }

    /// The lasting calls that a term makes for certain.
    pub(super) fn certain<'t>(&self, term: &'t Term, found: &mut Vec<&'t Term>) {
        if self.arities.is_call(term) {
            found.push(term);
        }
        match &term.kind {
            TermKind::Lambda(..) => {}
            TermKind::Match(_) | TermKind::Switch(_) => {
                scrutinee(term).into_iter().for_each(|term| self.certain(term, found));
            }
            _other => term.children().into_iter().for_each(|child| self.certain(child, found)),
        }
    }

    /// A call that has nothing to run beside it before a choice, but in one of its arms, goes there, and what needs it, too.
    pub(super) fn sink(&mut self, items: &mut Vec<Item>) {
        for i in (0..items.len().saturating_sub(1)).rev() {
            if items[i].kind == Kind::Call && has_plain_arguments(&items[i].value) && self.sinks(items, i) {
                self.sink_one(items, i);
            }
        }
    }

    /// Whether an item goes into the arms of the choice that ends the block.
    fn sinks(&self, items: &[Item], i: usize) -> bool {
        let Some((end, before)) = items.split_last() else { return false };
        let Some(inspected) = scrutinee(&end.value) else { return false };
        let dependents = dependents(items, i);
        let follow: Vec<LocalId> = dependents.iter().flat_map(|at| items[*at].binds()).collect();
        let behind = before.iter().enumerate().skip(i);
        let is_alone = !has_partner(&items[..i], &items[i])
            && behind.into_iter().all(|(at, item)| !item.is_lasting() || dependents.contains(&at));
        let is_plain = |item: &Item| matches!(item.target, Some(Pattern::Target(_)));
        let can_move = |item: &Item| item.kind == Kind::Short && is_plain(item) && !has_lambda(&item.value);
        let is_movable = dependents.iter().all(|at| *at == i || can_move(&items[*at]));
        let mut mentions = HashSet::new();
        mention(inspected, &mut mentions);
        let is_known = follow.iter().all(|local| !mentions.contains(local));
        let has_partner = arms(&end.value).iter().any(|arm| self.has_other(arm, &follow));
        is_alone && is_movable && is_known && has_partner
    }

    /// Whether an arm makes a lasting call that does not wait for these.
    fn has_other(&self, arm: &Term, follow: &[LocalId]) -> bool {
        let mut calls = vec![];
        self.reached(arm, &mut calls);
        calls.into_iter().any(|call| {
            let mut mentions = HashSet::new();
            mention(call, &mut mentions);
            follow.iter().all(|local| !mentions.contains(local))
        })
    }

    /// The lasting calls of a term, in arms, too.
    pub(super) fn reached<'t>(&self, term: &'t Term, found: &mut Vec<&'t Term>) {
        if self.arities.is_call(term) {
            found.push(term);
        }
        if !matches!(term.kind, TermKind::Lambda(..)) {
            term.children().into_iter().for_each(|child| self.reached(child, found));
        }
    }

    fn sink_one(&mut self, items: &mut Vec<Item>, i: usize) {
        let moved: Vec<usize> = dependents(items, i);
        let mut binds = vec![];
        for at in moved.into_iter().rev() {
            if let Item { target: Some(Pattern::Target(target)), value, .. } = items.remove(at) {
                binds.insert(0, Bind { target, value });
            }
        }
        let Some(end) = items.pop() else { return };
        let Item { target, mut value, .. } = end;
        for arm in arms_mut(&mut value) {
            let (span, body) = (arm.span, take(arm));
            let wanted = wanted(&binds, &body);
            if wanted.is_empty() {
                *arm = body;
                continue;
            }
            let mut renamed = HashMap::new();
            let binds = wanted.into_iter().map(|bind| self.copy(bind, &mut renamed)).collect();
            let mut inner = Term::new(TermKind::Let(binds, Box::new(body)), span);
            rename(&mut inner, &renamed);
            *arm = inner;
        }
        items.push(Item::new(target, value, self.arities));
    }

    /// A copy of a binding whose variables are new.
    fn copy(&mut self, bind: &Bind, renamed: &mut HashMap<LocalId, LocalId>) -> Bind {
        let mut new = |local: LocalId| {
            let copy = self.locals[local].clone();
            let copy = self.locals.push(copy);
            renamed.insert(local, copy);
            copy
        };
        let target = match &bind.target {
            Target::Var(local) => Target::Var(new(*local)),
            Target::Tuple(parts) => Target::Tuple(parts.iter().map(|part| part.map(&mut new)).collect()),
            Target::Dup(parts) => Target::Dup(parts.iter().map(|part| part.map(&mut new)).collect()),
            Target::Link(name) => Target::Link(name.clone()),
        };
        Bind { target, value: bind.value.clone() }
    }
}

/// Whether one of the items before a call takes long, and is not what the call waits for.
fn has_partner(before: &[Item], call: &Item) -> bool {
    let mut waits: Vec<&Item> = vec![call];
    before.iter().rev().any(|item| {
        let is_needed = waits.iter().any(|other| other.needs(&item.binds()));
        if is_needed {
            waits.push(item);
        }
        item.is_lasting() && !is_needed
    })
}

/// Whether a lambda stands in a term: such are not copied.
pub(super) fn has_lambda(term: &Term) -> bool {
    matches!(term.kind, TermKind::Lambda(..)) || term.children().into_iter().any(has_lambda)
}

/// An item, and those that need it, directly or not, but for the last one.
fn dependents(items: &[Item], i: usize) -> Vec<usize> {
    let mut locals = items[i].binds();
    let mut found = vec![i];
    for (at, item) in items.iter().enumerate().take(items.len() - 1).skip(i + 1) {
        if item.needs(&locals) {
            locals.extend(item.binds());
            found.push(at);
        }
    }
    found
}

/// The bindings that a body needs, directly or not.
fn wanted<'b>(binds: &'b [Bind], body: &Term) -> Vec<&'b Bind> {
    let mut mentions = HashSet::new();
    mention(body, &mut mentions);
    let mut found = vec![];
    for bind in binds.iter().rev() {
        if bound(&bind.target).iter().any(|local| mentions.contains(local)) {
            mention(&bind.value, &mut mentions);
            found.insert(0, bind);
        }
    }
    found
}

/// Whether the arguments of a call can be copied: variables, constants, and what is computed or made of these.
fn has_plain_arguments(call: &Term) -> bool {
    let mut todo = call.children();
    while let Some(term) = todo.pop() {
        match &term.kind {
            TermKind::Local(_) | TermKind::Global(_) | TermKind::Num(_) | TermKind::Era => {}
            TermKind::Op(..) | TermKind::Prim(..) | TermKind::Ctor(..) | TermKind::Tuple(_) | TermKind::List(_) => {
                todo.extend(term.children());
            }
            _other => return false,
        }
    }
    true
}

/// Whether two terms are the same but for their places.
fn is_same(a: &Term, b: &Term) -> bool {
    let parts = match (&a.kind, &b.kind) {
        (TermKind::Apply(..), TermKind::Apply(..)) => true,
        (TermKind::Op(a, ..), TermKind::Op(b, ..)) => a == b,
        (TermKind::Prim(a, _), TermKind::Prim(b, _)) => a == b,
        (a, b) => return a == b,
    };
    let (a, b) = (a.children(), b.children());
    parts && a.len() == b.len() && a.into_iter().zip(b).all(|(a, b)| is_same(a, b))
}

/// Replaces a call by a variable, wherever it is made.
pub(super) fn replace(term: &mut Term, call: &Term, local: LocalId) {
    if is_same(term, call) {
        term.kind = TermKind::Local(local);
        return;
    }
    if !matches!(term.kind, TermKind::Lambda(..)) {
        term.children_mut().into_iter().for_each(|child| replace(child, call, local));
    }
}

/// Gives variables other names, where they are bound and where they are used.
pub(super) fn rename(term: &mut Term, renamed: &HashMap<LocalId, LocalId>) {
    if let TermKind::Local(local) = &mut term.kind
        && let Some(new) = renamed.get(local)
    {
        *local = *new;
    }
    term.children_mut().into_iter().for_each(|child| rename(child, renamed));
}
