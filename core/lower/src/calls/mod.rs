//! Calls: which of them become copies of the callee, and which functions are left.

pub(crate) mod early_exit;
pub mod inline;
mod single_exit;
pub(crate) mod unused;
