//! Subgroups.
use super::Context;
use crate::diag::Diagnostic;
use crate::ir::Function;
pub(super) fn run(function: &Function, _cx: &mut Context<'_>) -> Result<Function, Diagnostic> {
    Ok(function.clone())
}
