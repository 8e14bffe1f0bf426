//! The reference machine for task form: one thread, an explicit stack, a heap of counted cells. Every runner
//! of task form is compared with its results.
//!
//! | what | see |
//! |---|---|
//! | functions made ready: steps, places of values | [`code`] |
//! | cells: sizes, reuse tokens, counts, deep drops | [`heap`] |
//! | who owns what after a call, in checked mode | [`reference_counts`] |
//! | calls, tail calls, globals, steps | [`machine`] |
//! | forked calls and when they run | [`forks`] |
//! | run lines, on any runner | [`run_lines`] |
//!
//! Invariant: every module that the verifier accepts ends with results or a [`Fault`](girih_runtime::Fault), never with a panic or an
//! overflow of the host's own stack; without `fuel` it may run forever. *Checked* mode always finds a use of a freed cell or of a cell of another
//! layout, because it never reuses memory; there every call also ends with a count of all owners.

mod code;
mod forks;
mod heap;
mod machine;
mod reference_counts;
mod run_lines;

pub use machine::{Elsewhere, TaskMachine};
pub use run_lines::check_line;

/// How the reference machine runs, besides what all runners know.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskSettings {
    /// Whether faults are looked for.
    pub checked: bool,
    /// Forked calls run at once, or some time before they are joined, as this number chooses; at once without it.
    pub seed: Option<u64>,
    /// Steps that a call may make; any number without it.
    pub fuel: Option<u64>,
}
