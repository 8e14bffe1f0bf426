//! Task form as native code: functions that call each other, cells with counts, forked calls that idle threads take.
//!
//! | file | its idea |
//! |---|---|
//! | [`code`] | functions of the IR as Cranelift's |
//! | [`context`] | what code and runtime share: one for each thread |
//! | [`heap`] | cells in one reserved range of addresses |
//! | [`garbage`] | how cells are given back, and by whom |
//! | [`deferred`] | counts of cells that many threads share, changed later or not at all |
//! | [`virtual_memory`] | ranges of addresses |
//! | [`work_stealing`] | forked calls: the forking thread keeps them until another one lacks work |
//! | [`runtime_calls`] | functions of the runtime that code calls |
//! | [`worker`] | a thread's own large stack, and leaving it |
//! | [`shared`] | what threads share: queue, faults, globals |
//! | [`profile`] | where time and memory go |
//! | [`runner`] | all of it behind the interface that runs task form |
//!
//! Invariant: nothing with a destructor is live in a function of the runtime while code runs on top of it, because a run that ends early
//! leaves its stack without unwinding it.

mod code;
mod context;
mod deferred;
mod garbage;
mod heap;
mod profile;
mod runner;
mod runtime_calls;
mod shared;
#[cfg(test)]
mod tests;
mod virtual_memory;
mod work_stealing;
mod worker;

pub use runner::{Tasks, open};

use crate::host;
use girih_base::diag::Diagnostic;
use girih_ir::{Module, Verified};

/// Functions in task form in Cranelift's text.
pub fn emit(module: &Verified<Module>) -> Result<String, Diagnostic> {
    code::text(module, host::isa(host::Use::Tasks)?)
}
