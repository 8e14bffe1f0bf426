//! A compiled program on a [`Runner`]: its value, its effects, its faults as errors of the program.

use super::data::{Datum, Words, broken};
use super::lower::Direct;
use super::lower::words::Immediate;
use super::readback;
use girih_base::diag::Diagnostic;
use girih_runtime::{Fault, Runner};
use girih_term::eval::Machine;
use girih_term::io::{Host, run_io};
use girih_term::readback::show_with;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Computes the entry of a program, performs the effects that its value asks for, and prints what is left. The `machine` has the
/// same program; it prints, and runs nothing.
///
/// # Errors
/// If the program fails, needs too much memory, or is interrupted.
pub fn run(
    machine: &mut Machine,
    direct: &Direct,
    runner: &mut dyn Runner,
    host: &mut dyn Host,
    interrupt: Option<Arc<AtomicBool>>,
) -> Result<String, Diagnostic> {
    let code = machine.code().clone();
    let mut words = Words { program: code.program(), direct, runner, interrupt };
    let value = words.call(direct.entry, &[]).and_then(|word| run_io(&mut words, Datum::Word(word), host));
    // What the program has written comes before its value, and before what is said of its failure. A reader that has gone
    // away is none of the program's mistakes.
    let _ = host.flush(1);
    let text = value.and_then(|value| print(machine, &mut words, value));
    // What could not be read looks like a mistake of the compiler.
    words.runner.trouble().map_or(text, Err)
}

/// Prints a value, which is given back.
fn print(machine: &mut Machine, words: &mut Words<'_>, value: Datum) -> Result<String, Diagnostic> {
    let Datum::Word(word) = value else { return Err(broken()) };
    let direct = words.direct;
    let value = readback::value(machine, direct, words.runner, word)?;
    let text = show_with(machine, value, &mut |machine, def| {
        let waiting = Immediate::Definition(def).word();
        let word = words.call(direct.force, &[waiting])?;
        if word == waiting {
            return Err(broken());
        }
        let value = readback::value(machine, direct, words.runner, word)?;
        words.runner.drop(word);
        machine.supply(def, value);
        Ok(())
    })?;
    words.runner.drop(word);
    Ok(text)
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
