//! A compiled program on a [`Runner`]: its value, its effects, its faults as errors of the program.

use super::lower::Direct;
use super::readback;
use crate::diag::Diagnostic;
use crate::runtime::{Fault, Runner};
use crate::term::eval::Machine;
use crate::term::io::{Host, run_io};
use crate::term::readback::show;

/// Computes the entry of a program, performs the effects that its value asks for, and prints what is left. The `machine` has the
/// same program; it performs the effects.
///
/// # Errors
/// If the program fails, needs too much memory, or is interrupted.
pub fn run(
    machine: &mut Machine,
    direct: &Direct,
    runner: &mut dyn Runner,
    host: &mut dyn Host,
) -> Result<String, Diagnostic> {
    let words = runner.call(direct.entry, &[]).map_err(|fault| diagnostic(direct, &fault))?;
    let word = words.first().copied().unwrap_or_default();
    let value = readback::value(machine, direct, runner, word);
    runner.drop(word);
    let value = run_io(machine, value?, host);
    let _ = host.flush(1);
    show(machine, value?)
}

/// A fault of a run in terms of the program.
pub fn diagnostic(direct: &Direct, fault: &Fault) -> Diagnostic {
    match fault {
        Fault::Trap(code) => match direct.traps.get((*code as usize).wrapping_sub(1)) {
            Some(trap) => trap.diagnostic(),
            None => fault.diagnostic(&direct.module),
        },
        Fault::SelfDependent(_)
        | Fault::Memory { .. }
        | Fault::Stack { .. }
        | Fault::Interrupted
        | Fault::Device(_) => fault.diagnostic(&direct.module),
    }
}
