//! Values as text, the way `girih run` prints them.
//!
//! Data is read from the machine's heap as it stands: numbers, `*`, strings, lists, nested pairs, `Type/Ctor(…)`. Functions
//! are shown in normal form: they are applied to fresh variables by [`normal`], which computes under binders. That
//! always ends: references to recursive definitions stay names inside the arms of a match that is stuck, and a function
//! that needs more than a fixed number of steps is shown as it stands, without computing under its binders.
//!
//! Nothing here recurses along data: [`write`] works on a list of pending pieces.

mod normal;
mod recursive;
mod settle;
mod write;

use crate::diag::Diagnostic;
use crate::term::eval::{Machine, Value};

/// The text of a value.
///
/// Definitions without parameters that stand in the value are computed first (unless they are recursive: these are shown
/// by name, because their value may be endless).
///
/// # Errors
/// If computing such a definition fails, as any evaluation may.
pub fn show(machine: &mut Machine, value: Value) -> Result<String, Diagnostic> {
    let code = machine.code().clone();
    let recursive = recursive::recursive_definitions(code.program());
    let value = settle::settle(machine, &recursive, value)?;
    Ok(write::write(&code, machine, &recursive, value))
}
