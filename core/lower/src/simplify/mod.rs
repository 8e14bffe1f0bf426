//! Simplification: fewer and cheaper instructions that mean the same.
//!
//! | pass | what it does |
//! |---|---|
//! | [`forward`] | folding, identities, common subexpressions, branches that are known, loads that are known, constant parts of indices, final values of [`final_values`] loops |
//! | [`dead`] | removes everything unused, including parameters and results of regions |
//! | [`invariant`] | computes before a loop what does not change in it |
//! | [`unroll`] | loops of constant trip count |
//! | [`vectorise`] | adjacent loads and stores become one |
//!
//! The passes repeat until nothing changes, a bounded number of times. Invariant: a module that was legal for the capabilities stays legal, and values of exact
//! numeric class have the same bits on every device.
//!
//! Induction variables do not become running addresses: drivers do that with knowledge about registers that is not
//! available here.

mod aggregates;
mod common_subexpressions;
mod conditions;
mod control;
pub(super) mod dead;
pub mod divide;
mod facts;
mod final_values;
mod floats;
mod forward;
mod identities;
mod inference;
mod integers;
pub(super) mod invariant;
pub(crate) mod memory;
pub mod merging;
pub mod sinking;
mod unroll;
mod vectorise;

pub use control::is_cheap;
use forward::{Forward, Memo};
use girih_ir::{Caps, Function, Module, task_form, tile_form};

/// Most repetitions; what is left then is right, too, only not as simple as it could be.
const ROUNDS: usize = 8;

/// Simplifies all functions of a module for a device. Those in task or tile form stay as they are: no device has them; terms have owners, and
/// what combines elements of tiles are regions of their own kind.
pub fn run(module: &mut Module, caps: &Caps) {
    all(module, &|function| function_to_fixpoint(function, caps, Accesses::Gathered));
}

/// The same, but accesses stay as they are: for what is made legal and simplified once more.
pub(super) fn before_legalisation(module: &mut Module, caps: &Caps) {
    all(module, &|function| function_to_fixpoint(function, caps, Accesses::Apart));
}

/// Whether adjacent accesses become one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Accesses {
    Apart,
    Gathered,
}

fn all(module: &mut Module, simplify: &dyn Fn(&mut Function)) {
    let (tasks, tiles) = (task_form(module), tile_form(module));
    let stays: Vec<bool> = tasks.iter().zip(tiles.iter()).map(|(task, tile)| *task || *tile).collect();
    for (function, _) in module.functions.iter_mut().zip(&stays).filter(|(_, stays)| !**stays) {
        simplify(function);
    }
    // What such a function calls keeps its parameters.
    if !stays.contains(&true) && dead::parameters(module) {
        module.functions.iter_mut().for_each(simplify);
    }
}

/// Simplifies one function, unless that has been done.
pub(super) fn function_to_fixpoint(function: &mut Function, caps: &Caps, accesses: Accesses) {
    if std::mem::replace(&mut function.simplified, true) {
        return;
    }
    let mut memo = Memo::default();
    for _ in 0..ROUNDS {
        let mut again = Forward::run(function, caps, &mut memo);
        dead::run(function);
        if memo.has_loops {
            again |= invariant::run(function);
            again |= !caps.rolled && unroll::run(function);
        }
        if !again {
            break;
        }
    }
    // What is gathered leaves the indices of its parts behind, and nothing for the other passes.
    if accesses == Accesses::Gathered && vectorise::run(function, caps, &memo) {
        Forward::run(function, caps, &mut memo);
        dead::run(function);
        if memo.has_loops {
            invariant::run(function);
        }
    }
}
