//! Functions that give the fields of their result: the cell that they would make at the end is often taken apart at once by who called them.
//!
//! Such a function gives cells of one shape and no other value, and on each way it ends by making one, or with a call of another such
//! function. These are the greatest set of which that is true: what ends with a call of a function outside of the set is outside itself. So a
//! chain of calls at ends that has entered the set stays there, and takes no stack; who enters it from outside, and makes the cell of
//! the fields, does so at the end of the chain.
//!
//! A function that puts its own result into the cell that it gives, as one that inserts into a tree does, gives the cell itself: so it can become
//! a loop that fills one cell after the other ([`chains`](crate::loops::chains)).

use super::super::flow::{Instance, LambdaRef, Set, ShapeId, Site, What};
use super::{Lowering, Unit};
use girih_term::groups::leaves;
use girih_term::{Body, DefId, LocalId, Target, Term, TermKind};
use std::collections::HashMap;

/// Most fields that are given.
pub const MOST: usize = 4;

/// The functions and the shapes of what they give. What `kept` gives is wanted in one piece.
pub fn products(all: &Lowering<'_>, kept: &[DefId]) -> HashMap<Unit, ShapeId> {
    let mut found: HashMap<Unit, ShapeId> = HashMap::new();
    let mut bodies: Vec<(Unit, Instance, &Term)> = vec![];
    for &instance in all.flow.instances() {
        let def = &all.program.defs[instance.def];
        let Body::Term(body) = &def.body else { continue };
        let is_whole = def.params.is_empty() || kept.iter().any(|def| Instance::from(*def) == instance);
        if let (false, Some(shape)) = (is_whole, product(all, all.flow.result(instance))) {
            let unit = Unit::Definition(instance);
            if !grows(all, instance, body) {
                bodies.push((unit, instance, body));
                found.insert(unit, shape);
            }
        }
        for ordinal in 0..all.lambda_count(instance.def) {
            let lambda = LambdaRef { instance, ordinal };
            if let Some(shape) = product(all, all.flow.lambda_result(lambda)) {
                let unit = Unit::Lambda(lambda);
                bodies.push((unit, instance, all.lambda_parts(lambda).2));
                found.insert(unit, shape);
            }
        }
    }
    loop {
        let before = found.len();
        bodies.retain(|(unit, instance, body)| {
            let stays = makes(all, &found, *instance, body, found[unit]);
            if !stays {
                found.remove(unit);
            }
            stays
        });
        if found.len() == before {
            return found;
        }
    }
}

/// The shape of all values of a set, if it is that of a pair or a constructor with few fields.
fn product(all: &Lowering<'_>, set: &Set) -> Option<ShapeId> {
    let shape = set.shape()?;
    let row = &all.flow.shapes()[shape];
    match row.what {
        What::Pair | What::Ctor(_) => (1..=MOST).contains(&row.fields.len()).then_some(shape),
        What::Closure(_) | What::Partial(..) => None,
    }
}

/// Whether a term in tail position makes a cell of what one call of the function itself gives.
fn grows(all: &Lowering<'_>, instance: Instance, body: &Term) -> bool {
    let mut given: Vec<LocalId> = vec![];
    let mut todo = vec![body];
    let is_own = |term: &Term| match &term.kind {
        TermKind::Apply(function, args) => match function.kind {
            TermKind::Global(def) => {
                let callee = all.flow.callee(instance, term).unwrap_or(Instance::from(def));
                callee == instance && args.len() == all.program.defs[def].params.len()
            }
            _ => false,
        },
        _ => false,
    };
    while let Some(term) = todo.pop() {
        match &term.kind {
            TermKind::Let(binds, body) => {
                for bind in binds.iter().filter(|bind| is_own(&bind.value)) {
                    if let Target::Var(local) = bind.target {
                        given.push(local);
                    }
                }
                todo.push(body);
            }
            TermKind::Match(choice) => todo.extend(choice.arms.iter().map(|arm| &arm.body).chain(&choice.default)),
            TermKind::Switch(choice) => {
                todo.extend(choice.cases.iter().map(|(_, body)| body).chain([&choice.default]));
            }
            TermKind::Ctor(_, fields) => {
                let is_given = |term: &Term| matches!(term.kind, TermKind::Local(local) if given.contains(&local));
                if fields.iter().filter(|field| is_own(field) || is_given(field)).count() == 1 {
                    return true;
                }
            }
            leaves!()
            | TermKind::Tuple(_)
            | TermKind::Apply(..)
            | TermKind::Lambda(..)
            | TermKind::List(_)
            | TermKind::Op(..)
            | TermKind::Prim(..)
            | TermKind::Sup(_) => {}
        }
    }
    false
}

/// Whether a term in tail position makes a cell of the shape, or ends with a call of what gives the fields of one.
fn makes(all: &Lowering<'_>, found: &HashMap<Unit, ShapeId>, instance: Instance, body: &Term, shape: ShapeId) -> bool {
    let mut todo = vec![body];
    while let Some(term) = todo.pop() {
        let made = |site: Site<'_>| all.flow.shape(site) == Some(shape);
        let good = match &term.kind {
            // Nothing comes here.
            _ if all.flow.term(instance, term).is_empty() && !matches!(term.kind, TermKind::Local(_)) => true,
            TermKind::Let(_, body) => {
                todo.push(body);
                true
            }
            TermKind::Match(choice) => {
                todo.extend(choice.arms.iter().map(|arm| &arm.body).chain(&choice.default));
                true
            }
            TermKind::Switch(choice) => {
                todo.extend(choice.cases.iter().map(|(_, body)| body).chain([&choice.default]));
                true
            }
            TermKind::Ctor(_, fields) => !fields.is_empty() && made(Site::Term(instance, term)),
            TermKind::Tuple(parts) => parts.len() > 1 && made(Site::Pair(instance, term, 0)),
            TermKind::Apply(function, args) => match &function.kind {
                TermKind::Lambda(params, body) if params.len() == args.len() => {
                    todo.push(body);
                    true
                }
                TermKind::Global(def) if !args.is_empty() && args.len() == all.program.defs[*def].params.len() => {
                    let callee = all.flow.callee(instance, term).unwrap_or(Instance::from(*def));
                    found.get(&Unit::Definition(callee)) == Some(&shape)
                }
                _ => false,
            },
            leaves!()
            | TermKind::Lambda(..)
            | TermKind::List(_)
            | TermKind::Op(..)
            | TermKind::Prim(..)
            | TermKind::Sup(_) => false,
        };
        if !good {
            return false;
        }
    }
    true
}
