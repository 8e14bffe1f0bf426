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
use girih_term::{Body, Program};
use place::Edits;
use solve::Solution;
use std::collections::HashSet;

/// Checks a program: reports the errors in the types of its checked definitions, gives every definition its type, and every
/// literal its kind. Without `check_types` annotations are believed and literals take 24 bits; one that does not fit is
/// still an error.
pub fn check(program: &mut Program, diags: &mut Diagnostics, check_types: bool) {
    let solution = if check_types { solve::solve(program, diags) } else { believe(program) };
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
