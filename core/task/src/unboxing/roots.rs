//! What the host gets is made at the root alone: a root that ends with a call takes what that gives apart, and makes it again. So whoever is called need not
//! give values as the host reads them.

use super::known::Givers;
use super::positions::parts;
use super::rewrite::{apart, whole};
use super::{Shape, call, is_only};
use girih_base::idx::IndexVec;
use girih_term::simplify::simplify_total;
use girih_term::{Body, DefId, Local, LocalId, Program, Term, TermKind};
use std::collections::HashSet;

/// Does so for all roots. A root that calls itself is left alone: its last call would no longer be a tail call, and would take stack.
///
/// Bodies are moved and not copied: lambdas are known by where their bodies are in memory.
pub(super) fn make_at_roots(program: &mut Program, roots: &[DefId], givers: &Givers) {
    for root in roots {
        let root = *root;
        if calls_itself(program, root) {
            continue;
        }
        let def = &mut program.defs[root];
        let Body::Term(body) = &mut def.body else { continue };
        let mut body = std::mem::replace(body, Term::new(TermKind::Era, def.span));
        let mut locals = std::mem::take(&mut def.locals);
        let changed = at_ends(program, givers, &mut locals, &mut body);
        let def = &mut program.defs[root];
        (def.locals, def.body) = (locals, Body::Term(body));
        if changed {
            simplify_total(def);
        }
    }
}

/// Whether a definition is among those that it leads to.
fn calls_itself(program: &Program, root: DefId) -> bool {
    let (mut seen, mut todo) = (HashSet::new(), vec![root]);
    while let Some(def) = todo.pop() {
        let Body::Term(body) = &program.defs[def].body else { continue };
        for next in body.globals() {
            if next == root {
                return true;
            }
            if seen.insert(next) {
                todo.push(next);
            }
        }
    }
    false
}

/// Does so at each end of a term; whether there was one.
fn at_ends(program: &Program, givers: &Givers, locals: &mut IndexVec<LocalId, Local>, term: &mut Term) -> bool {
    match &mut term.kind {
        TermKind::Let(_, body) => at_ends(program, givers, locals, body),
        TermKind::Match(choice) => {
            let ends = choice.arms.iter_mut().map(|arm| &mut arm.body).chain(&mut choice.default);
            ends.fold(false, |changed, end| at_ends(program, givers, locals, end) | changed)
        }
        TermKind::Switch(choice) => {
            let ends = choice.cases.iter_mut().map(|(_, body)| body).chain([&mut choice.default]);
            ends.fold(false, |changed, end| at_ends(program, givers, locals, end) | changed)
        }
        _end => {
            let given = call(program, term).and_then(|(def, _)| givers.get(&def).copied());
            let is_sure = |shape: &Shape| match shape {
                Shape::Tuple(_) => true,
                Shape::Ctor(ctor) => is_only(&program.ctors, *ctor),
            };
            let Some(shape) = given.filter(is_sure) else { return false };
            let span = term.span;
            let name = |i: usize| Local { name: format!("result.{i}").into(), span };
            let own: Vec<LocalId> = (0..parts(program, shape)).map(|i| locals.push(name(i))).collect();
            let value = std::mem::replace(term, Term::new(TermKind::Era, span));
            let again = whole(shape, &own, span);
            *term = apart(&program.ctors, shape, own, value, again);
            true
        }
    }
}
