//! The run lines of all files give the same before and after.

use super::{devices, files, parse, simplified};
use girih_base::diag::Diagnostic;
use girih_ir::text::run_lines::{Outcome, RunArgument, RunLine};
use girih_ir::{FunctionId, Module, Scalar, Type, Verified, task_form, verify};
use girih_machine::interp::{self, Interpreter, Options};
use girih_machine::tasks::{self, TaskMachine, TaskSettings};
use girih_runtime::{Argument, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, TaskOptions};
use std::fs;

/// What a run gives: a function's results, or what the buffers hold.
pub type Given = Result<Vec<Vec<u8>>, String>;

/// An argument of a kernel.
pub enum Argued {
    Number(Scalar, u64),
    Bytes(Vec<u8>),
}

fn said(d: Diagnostic) -> String {
    format!("{}: {}", d.code, d.message)
}

/// Runs a kernel once.
pub fn launch(
    module: &Verified<Module>,
    kernel: FunctionId,
    settings: Options,
    options: &LoadOptions,
    grid: Grid,
    given: &[Argued],
) -> Given {
    let device = Device::new(Interpreter::new(settings));
    let program = device.load(module, &[kernel], options).map_err(|mut found| said(found.remove(0)))?.swap_remove(0);
    let mut arguments = vec![];
    let mut buffers = vec![];
    for argument in given {
        arguments.push(match argument {
            Argued::Number(ty, bits) => Argument::Scalar(Constant { ty: Type::Scalar(*ty), bits: *bits }),
            Argued::Bytes(bytes) => {
                let buffer = device.zeroed(Memory::of(bytes.len() as u64)).map_err(said)?;
                device.write(&buffer, 0, bytes).map_err(said)?;
                buffers.push((buffer.clone(), bytes.len()));
                Argument::Buffer(buffer)
            }
        });
    }
    let dispatch = Dispatch { program, arguments, grid };
    device.submit(&[Command::Dispatch(dispatch)]).and_then(|()| device.wait()).map_err(said)?;
    buffers
        .into_iter()
        .map(|(buffer, len)| {
            let mut bytes = vec![0; len];
            device.read(&buffer, 0, &mut bytes).map_err(said)?;
            Ok(bytes)
        })
        .collect()
}

fn run(module: &Verified<Module>, line: &RunLine) -> Given {
    if module.functions[line.function].launch.is_none() {
        let scalar = |a: &RunArgument| if let RunArgument::Scalar(_, bits) = a { Some(*bits) } else { None };
        if task_form(module)[line.function] {
            let settings = TaskSettings { checked: true, ..TaskSettings::default() };
            let mut machine = TaskMachine::new(module, TaskOptions::default(), settings).map_err(said)?;
            return tasks::check_line(&mut machine, module, line).map(|()| vec![]);
        }
        let scalars: Vec<u64> = line.arguments.iter().filter_map(scalar).collect();
        let bits = interp::call(module, line.function, &scalars).map_err(said)?;
        return Ok(vec![bits.iter().flat_map(|b| b.to_le_bytes()).collect()]);
    }
    let given = line.arguments.iter().map(|argument| match argument {
        RunArgument::Scalar(ty, bits) => Argued::Number(*ty, *bits),
        RunArgument::Memory { initial, .. } => {
            let mut bytes = initial.bytes();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            Argued::Bytes(bytes)
        }
    });
    let options = LoadOptions { specialisations: line.specialisations.clone(), ..LoadOptions::default() };
    let settings = Options { fuel: Some(1 << 28), ..Options::default() };
    let grid = line.grid.map_or(Grid::Own, Grid::Workgroups);
    launch(module, line.function, settings, &options, grid, &given.collect::<Vec<_>>())
}

#[test]
fn run_lines_give_the_same() {
    let mut lines = 0;
    for path in files() {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).expect("a text file");
        let (_, parsed) = parse(&name, &text);
        let before = verify(parsed.module.clone()).expect("a right module");
        let runs: Vec<&RunLine> =
            parsed.runs.iter().filter(|line| !line.checked && line.outcome == ends(line)).collect();
        for caps in devices() {
            let after = simplified(&name, &parsed.module, &caps);
            for line in &runs {
                let called = &parsed.module.functions[line.function];
                // A function that is called has lost the parameters that it does not use.
                if called.params.len() != after.functions[line.function].params.len() {
                    continue;
                }
                let what = &text[line.span.start as usize..line.span.end as usize];
                assert_eq!(run(&before, line), run(&after, line), "{name} for {}: {what}", caps.name);
                lines += 1;
            }
        }
    }
    assert!(lines > 100, "only {lines} lines have run");
}

/// The outcome itself, unless the line is there to fail.
fn ends(line: &RunLine) -> Outcome {
    match &line.outcome {
        Outcome::Ends | Outcome::Gives(_) => line.outcome.clone(),
        Outcome::Traps(_) | Outcome::Fails(_) => Outcome::Ends,
    }
}
