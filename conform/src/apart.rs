//! Run lines that do not run on devices: lines with an error that the reference machine must find, lines that are only for its checked
//! mode, and functions in tile form and in task form, which are called directly.

use super::programs::{Program, TaskCalls, run_task};
use super::{reference, run_fault, run_stated};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::text::RunLine;
use girih_ir::text::run_lines::{Outcome, RunArgument};
use girih_ir::{Module, Verified, tile_form};
use girih_machine::interp;
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};

/// Who runs such lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The reference machine with all its checks, and the one for task form: they run all of them.
    Reference,
    /// Native code: functions in task form, in files without tiles.
    Processor,
}

/// The width of the reference machine's subgroups.
const WIDTH: u32 = 32;

/// Runs them; says of each what is wrong with it, if anything is.
pub fn run_apart(program: &Program, place: Place) -> Vec<(String, Result<(), String>)> {
    match place {
        Place::Reference => on_reference(program),
        // Native code is made of a file as a whole, and none is made of tiles.
        Place::Processor if tile_form(&program.tasks.module).iter().any(|tiles| *tiles) => vec![],
        Place::Processor => {
            let lines = program.tasks.lines.iter().filter(|(_, line)| !line.checked);
            lines.map(|(name, line)| (name.clone(), run_task(&program.tasks, line, &mut native))).collect()
        }
    }
}

fn on_reference(program: &Program) -> Vec<(String, Result<(), String>)> {
    let Program { group, faults, checked, tiles, tasks } = program;
    let faults =
        faults.iter().map(|(case, code)| (case.name.clone(), run_fault(group, case, *code, &reference(WIDTH))));
    let checked = checked.iter().map(|case| (case.name.clone(), run_stated(group, case, &reference(WIDTH))));
    let tiles = tiles.iter().map(|(name, line)| (name.clone(), call(&tasks.module, line)));
    let tasks = tasks.lines.iter().map(|(name, line)| (name.clone(), run_task(tasks, line, &mut careful)));
    faults.chain(checked).chain(tiles).chain(tasks).collect()
}

fn native(module: &Verified<Module>) -> Result<Box<dyn Runner>, Diagnostic> {
    Ok(Box::new(girih_cpu::tasks::open(module, &TaskOptions::default())?))
}

fn careful(module: &Verified<Module>) -> Result<Box<dyn Runner>, Diagnostic> {
    let settings = TaskSettings { checked: true, ..TaskSettings::default() };
    Ok(Box::new(TaskMachine::new(module, TaskOptions::default(), settings)?))
}

/// Calls a function with numbers and compares what comes of it with what is written.
fn call(module: &Verified<Module>, line: &RunLine) -> Result<(), String> {
    let number = |argument: &RunArgument| match argument {
        RunArgument::Scalar(_, bits) => Some(*bits),
        RunArgument::Memory { .. } => None,
    };
    let arguments: Vec<u64> = line.arguments.iter().filter_map(number).collect();
    if arguments.len() < line.arguments.len() {
        return Err("a function in tile form is called with numbers only".into());
    }
    match (&line.outcome, interp::call(module, line.function, &arguments)) {
        (Outcome::Ends, Ok(_)) => Ok(()),
        (Outcome::Gives(expected), Ok(found)) => match expected.mismatch(&found) {
            None => Ok(()),
            Some(position) => Err(format!("result {position} is {found:?}, not {:?}", expected.values)),
        },
        (Outcome::Traps(code), Err(e)) if e.code == Code::Trap && e.message.ends_with(&format!(" {code}")) => Ok(()),
        (Outcome::Fails(code), Err(error)) if error.code == *code => Ok(()),
        (Outcome::Traps(code), Ok(_)) => Err(format!("it ended instead of trap {code}")),
        (Outcome::Fails(code), Ok(_)) => Err(format!("it ended instead of {code}")),
        (Outcome::Ends | Outcome::Gives(_) | Outcome::Traps(_) | Outcome::Fails(_), Err(error)) => {
            Err(format!("{}: {}", error.code, error.message))
        }
    }
}

impl Program {
    /// How many run lines it has.
    pub fn lines(&self) -> usize {
        let Program { group, faults, checked, tiles, tasks: TaskCalls { lines, .. } } = self;
        group.cases.len() + faults.len() + checked.len() + tiles.len() + lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::program_group;
    use super::*;
    use std::io::Write;

    /// The names of lines that do not come out as a text says.
    fn wrong(text: &str, place: Place) -> (usize, Vec<String>) {
        let mut file = tempfile::Builder::new().suffix(".gir").tempfile().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("it can be written");
        let program = program_group(file.path()).unwrap_or_else(|report| panic!("{report}"));
        let run = run_apart(&program, place);
        (run.len(), run.into_iter().filter_map(|(name, result)| result.err().map(|_| name)).collect())
    }

    const TILES: &str = "fn @twice(%n: i32) -> i32 {
  %x = mul (tile.splat.tile<8xi32> %n), (tile.splat.tile<8xi32> 2)
  %all = tile.reduce %x (%a: i32, %b: i32) {
    yield (max %a, %b)
  }
  return %all
}
; run: @twice(3) == 6
; run: @twice(3) == 7
";
    const TASKS: &str = "fn @depth(%n: u32) -> u32 {
  if (eq %n, 0) {
    return 0
  }
  %rest = call @depth((sub %n, 1))
  return (add %rest, 1)
}
; run: @depth(3) == 3
; run: @depth(3) == 4
";
    const FAULTS: &str = "kernel @copy(%x: buffer, %i: u32) workgroup(1) {
  store.u32 %x[0], (load.u32 %x[%i])
}
; run: @copy grid(1) (u32[1, 2], 7) error B0780
; run: @copy grid(1) (u32[1, 2], 1) error B0780
; run: @copy grid(1) (u32[1, 2] -> u32[2, 2], 1) checked
; run: @copy grid(1) (u32[1, 2] -> u32[1, 2], 1) checked
; run: @copy grid(1) (u32[1, 2] -> u32[2, 2], 1)
";

    #[test]
    fn each_line_is_run_and_can_fail() {
        let reference = |text| wrong(text, Place::Reference);
        assert_eq!(reference(TILES), (2, vec!["line 9: @twice(3) == 7".to_owned()]));
        assert_eq!(reference(TASKS), (2, vec!["line 9: @depth(3) == 4".to_owned()]));
        assert_eq!(wrong(TASKS, Place::Processor), (2, vec!["line 9: @depth(3) == 4".to_owned()]));
        let (run, failed) = reference(FAULTS);
        assert_eq!((run, failed.len()), (4, 2), "{failed:?}");
        assert!(failed[0].starts_with("line 5") && failed[1].starts_with("line 7"), "{failed:?}");
        assert_eq!(wrong(FAULTS, Place::Processor), (0, vec![]));
    }
}
