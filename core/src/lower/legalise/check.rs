//! What legal means.
use crate::diag::Diagnostic;
use crate::ir::{Caps, Module};
/// The rules.
pub fn check(_module: &Module, _caps: &Caps) -> Vec<Diagnostic> {
    vec![]
}
