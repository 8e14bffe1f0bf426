//! The gradual Hindley-Milner checker: infers and checks the types of definitions, settles literals, inserts widenings.
//!
//! Invariant: after [`check`] no definition has a [`TermKind::Literal`](girih_term::TermKind::Literal) or a hole in its
//! type, whatever errors were found.
//!
//! The stages: [`solve`] takes the definitions group by group ([`groups`]), begins each with what its annotation says
//! ([`annotation`]), finds the types of its terms ([`infer`], [`cases`], [`numbers`]) over types that are solved in place
//! ([`types`], [`unify`]), and [`elaborate`] writes the result into the program. [`type_errors`], [`hints`] and [`show`] make
//! the messages.

mod annotation;
mod cases;
mod elaborate;
pub mod groups;
mod hints;
mod infer;
mod numbers;
mod place;
mod show;
mod solve;
mod type_errors;
mod types;
mod unify;

use elaborate::Elaborate;
use girih_base::diag::Diagnostics;
use girih_base::idx::IndexVec;
use girih_term::ty::{Scheme, Type};
use girih_term::{Body, DefId, Origin, Program};
pub use infer::Locals;
use place::Edits;
use solve::Solution;
use std::collections::{HashMap, HashSet};

/// Checks a program: reports the errors in the types of its checked definitions, gives every definition its type, and every
/// literal its kind. Without `check_types` annotations are believed and literals take 24 bits; one that does not fit is
/// still an error.
pub fn check(program: &mut Program, diags: &mut Diagnostics, check_types: bool) {
    let solution = if check_types { solve::solve(program, diags, None) } else { believe(program) };
    write(program, diags, solution);
}

/// What is known of the types of a program, beside its errors.
#[derive(Debug, Default)]
pub struct Types {
    /// The types of local variables.
    pub locals: Locals,
    /// The types of the definitions that nobody annotated, as far as they have one.
    pub inferred: HashMap<DefId, Scheme>,
}

/// Checks a program as [`check`] does, and finds out the types of what is not checked too.
pub fn check_with_types(program: &mut Program, diags: &mut Diagnostics) -> Types {
    let mut types = Types::default();
    let unannotated: Vec<DefId> = program.defs.ids().filter(|id| is_open_user(program, *id)).collect();
    if !unannotated.is_empty() {
        let checked: Vec<bool> = program.defs.iter().map(|def| def.check).collect();
        let annotations: Vec<Scheme> = unannotated.iter().map(|id| program.defs[*id].ty.clone()).collect();
        program.defs.iter_mut().for_each(|def| def.check = false);
        for id in &unannotated {
            let def = &mut program.defs[*id];
            (def.check, def.ty) = (true, Scheme::mono(Type::Hole));
        }
        let solution = solve::solve(program, &mut Diagnostics::default(), Some(&mut types.locals));
        for (id, annotation) in unannotated.into_iter().zip(annotations) {
            if !solution.failed.contains(&id) {
                types.inferred.insert(id, solution.types[id].scheme.clone());
            }
            program.defs[id].ty = annotation;
        }
        program.defs.iter_mut().zip(checked).for_each(|(def, check)| def.check = check);
    }
    let solution = solve::solve(program, diags, Some(&mut types.locals));
    write(program, diags, solution);
    types
}

/// Whether a definition belongs to the program itself and is not checked, so that nothing is known of its type.
fn is_open_user(program: &Program, id: DefId) -> bool {
    let mut at = id;
    while let Origin::Generated(parent) = program.defs[at].origin {
        at = parent;
    }
    let def = &program.defs[id];
    program.defs[at].origin == Origin::User && !def.check && matches!(def.body, Body::Term(_))
}

fn write(program: &mut Program, diags: &mut Diagnostics, solution: Solution) {
    for (id, global) in solution.types.iter_enumerated() {
        let def = &mut program.defs[id];
        def.ty = global.scheme.clone();
        if let Body::Term(term) = &mut def.body {
            let diags = (!solution.failed.contains(&id)).then_some(&mut *diags);
            Elaborate { edits: &solution.edits, diags }.term(term);
        }
    }
}

/// What is known of a program that is not checked.
fn believe(program: &Program) -> Solution {
    let types: IndexVec<_, _> = program.defs.iter().map(annotation::as_global).collect();
    Solution { types, edits: Edits::default(), failed: HashSet::new() }
}
