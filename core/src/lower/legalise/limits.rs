//! Limits.
use crate::diag::Diagnostic;
use crate::ir::{Caps, Function};
pub(super) fn check(_kernel: &Function, _caps: &Caps) -> Vec<Diagnostic> {
    vec![]
}
pub(super) fn check_legal(_kernel: &Function, _caps: &Caps) -> Vec<Diagnostic> {
    vec![]
}
