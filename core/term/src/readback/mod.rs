//! Values as text, the way `girih run` prints them.
//!
//! Data is read directly from the machine's heap: numbers, `*`, strings, lists, nested pairs, `Type/Ctor(…)`. Functions
//! are shown in normal form: they are applied to fresh variables by [`normal`], which computes under binders. That
//! always ends: references to recursive definitions stay names inside the arms of a stuck match, and a function
//! that needs more than a fixed number of steps is shown as it is, without computing under its binders.
//!
//! Nothing here recurses along data: [`mod@write`] works on a list of pending pieces.

mod force;
mod normal;
mod write;

use crate::DefId;
use crate::eval::{Machine, Value};
use girih_base::diag::Diagnostic;

/// Computes a definition without parameters, and has the machine know its value.
pub type Compute<'c> = dyn FnMut(&mut Machine, DefId) -> Result<(), Diagnostic> + 'c;

/// The text of a value.
///
/// Definitions without parameters that stand in the value are computed first (unless they are recursive: these are shown
/// by name, because their value may be endless).
///
/// # Errors
/// If computing such a definition fails, as any evaluation may.
pub fn show(machine: &mut Machine, value: Value) -> Result<String, Diagnostic> {
    show_with(machine, value, &mut |machine, def| machine.call(def, &[]).map(|_| ()))
}

/// As [`show`]; what is still to be computed is computed by `compute`, after which the machine [knows](Machine::computed) it.
///
/// # Errors
/// If `compute` fails.
pub fn show_with(machine: &mut Machine, value: Value, compute: &mut Compute<'_>) -> Result<String, Diagnostic> {
    let code = machine.code().clone();
    let recursive = code.recursive();
    let value = force::settle(machine, recursive, value, compute)?;
    Ok(write::write(&code, machine, recursive, value))
}
