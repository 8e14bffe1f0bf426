//! Run lines of functions in task form, on any runner.

use girih_base::diag::Diagnostic;
use girih_ir::Module;
use girih_ir::text::RunLine;
use girih_ir::text::run_lines::{Outcome, RunArgument};
use girih_runtime::{Fault, Runner};

/// Calls the function of a run line and compares what comes of it with what is written there; says what is different.
pub fn check_line(runner: &mut dyn Runner, module: &Module, line: &RunLine) -> Result<(), String> {
    let number = |argument: &RunArgument| match argument {
        RunArgument::Scalar(_, bits) => Some(*bits as u32),
        RunArgument::Memory { .. } => None,
    };
    let arguments: Vec<u32> = line.arguments.iter().filter_map(number).collect();
    let found = runner.call(line.function, &arguments);
    let told = |fault: &Fault| {
        let Diagnostic { code, message, .. } = fault.diagnostic(module);
        format!("{code}: {message}")
    };
    match (&line.outcome, found) {
        (Outcome::Ends, Ok(_)) => Ok(()),
        (Outcome::Gives(expected), Ok(found)) => {
            let found: Vec<u64> = found.into_iter().map(u64::from).collect();
            match expected.mismatch(&found) {
                None => Ok(()),
                Some(position) => Err(format!("result {position} is {found:?}, not {:?}", expected.values)),
            }
        }
        (Outcome::Traps(code), Err(Fault::Trap(found))) if *code == found => Ok(()),
        (Outcome::Fails(code), Err(fault)) if fault.diagnostic(module).code == *code => Ok(()),
        (Outcome::Traps(code), Ok(_)) => Err(format!("it ended instead of trap {code}")),
        (Outcome::Fails(code), Ok(_)) => Err(format!("it ended instead of {code}")),
        (_, Err(fault)) => Err(told(&fault)),
    }
}
