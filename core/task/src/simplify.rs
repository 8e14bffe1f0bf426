//! What is written for people, as the passes behind it look for it: a function `max(a, b)` is an operation, and no call and no choice.
//!
//! | file | what it changes |
//! |---|---|
//! | [`leaves`] | calls of small functions of numbers become what these do |
//! | [`extremes`] | choices of the larger or the smaller of two numbers become `max` and `min` |
//!
//! Invariant: functions give what they gave, and run into what they ran into.

mod extremes;
mod leaves;

use girih_base::diag::Diagnostic;
use girih_ir::Module;

/// Changes all functions in task form.
///
/// # Errors
/// If a function would become too large.
pub(crate) fn simplify(module: &mut Module) -> Result<(), Diagnostic> {
    // Before it as well: a copy of a function that ends in two places is no choice of two numbers any more.
    all_extremes(module);
    leaves::leaves(module)?;
    all_extremes(module);
    Ok(())
}

fn all_extremes(module: &mut Module) {
    module.functions.iter_mut().filter(|function| function.launch.is_none()).for_each(extremes::extremes);
}
