//! What a function makes at its end on each way, a number's word or a cell, is given in parts: the number, or the cell's fields. Who called it makes it, if it
//! is not taken apart at once. (*Constructed product results*; Baker-Finch, Glynn and Peyton Jones, 2004.)
//!
//! [`products`](super::products) does the same on terms, for the outermost cell alone; this does it to all that is left, from the outside in: the pair in a
//! triple, and numbers that become words only because they reach the host.
//!
//! A function that puts its own result into the cell that it gives stays as it is: so it can become a loop that fills one cell after the other
//! ([`chains`](crate::loops::chains)).
//!
//! Invariant: functions that the host or a global calls give what they gave; all others give the same in other forms.

mod expand;
mod forms;

use forms::{Forms, forms};
use girih_base::idx::IndexVec;
use girih_ir::{FunctionId, Module};

/// How many cells stand in one another, at most, of what is given in parts.
const DEPTH: usize = 4;

/// Changes all functions but those that the host calls.
pub(super) fn in_parts(module: &mut Module, exported: &[FunctionId]) {
    let mut is_outer: IndexVec<FunctionId, bool> = module.functions.iter().map(|f| f.launch.is_some()).collect();
    let globals: Vec<FunctionId> = module.globals.iter().map(|global| global.function).collect();
    exported.iter().chain(&globals).for_each(|id| is_outer[*id] = true);
    for _ in 0..DEPTH {
        let found: Forms = forms(module, &is_outer);
        if found.is_empty() {
            return;
        }
        expand::expand(module, &found);
    }
}
