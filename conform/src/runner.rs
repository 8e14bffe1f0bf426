//! Runs groups of cases on the reference machine and on devices.

use super::compare::{self, Mismatch};
use super::{Case, CaseArgument, Group};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Caps, FunctionId};
use girih_runtime::{Argument, Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program};
use std::collections::HashMap;

/// What came of a case on a device.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It gave what the reference gives.
    Passed,
    /// The device lacks something that the case needs.
    Refused(String),
    /// It gave something else.
    Different(usize, Mismatch),
    /// It failed.
    Failed(Diagnostic),
}

/// How many cases came out in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Gave the reference's result.
    pub passed: usize,
    /// Need what the device lacks.
    pub refused: usize,
    /// Gave something else or failed.
    pub failed: usize,
}

impl Score {
    /// Counts one more.
    pub fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Different(..) | Outcome::Failed(_) => self.failed += 1,
        }
    }
    /// Adds another score.
    pub fn add(&mut self, other: Score) {
        self.passed += other.passed;
        self.refused += other.refused;
        self.failed += other.failed;
    }
}

/// What the reference gives: contents of all buffers, for the inputs as they are and for flushed ones.
type Expected = Result<[Vec<Vec<u8>>; 2], Diagnostic>;

/// The reference for a group's cases. Each result is computed once, for each width of subgroups that is asked for.
pub struct Oracle<'a> {
    group: &'a Group,
    machine: &'a mut dyn FnMut(u32) -> Device,
    known: HashMap<(usize, u32), Expected>,
}

impl<'a> Oracle<'a> {
    /// `machine` makes a reference machine whose subgroups have a width.
    pub fn new(group: &'a Group, machine: &'a mut dyn FnMut(u32) -> Device) -> Oracle<'a> {
        Oracle { group, machine, known: HashMap::new() }
    }

    /// What a case must give on a device whose subgroups have this width.
    pub fn expect(&mut self, case: usize, width: u32) -> &Expected {
        let (group, machine) = (self.group, &mut self.machine);
        self.known.entry((case, width)).or_insert_with(|| {
            let machine = machine(width);
            let mut launcher = Launcher { group, programs: HashMap::new() };
            let case = &group.cases[case];
            let plain = launcher.launch(&machine, case)?;
            let flushed = launcher.launch(&machine, &case.flushed())?;
            Ok([plain, flushed])
        })
    }
}

/// The width that cases without subgroup operations are given.
const ANY_WIDTH: u32 = 32;

/// Runs the cases of a group on a device, in order.
pub fn run_group(oracle: &mut Oracle<'_>, device: &Device) -> Vec<Outcome> {
    let group = oracle.group;
    let mut launcher = Launcher::new(group, device);
    let mut outcomes = vec![];
    for (i, case) in group.cases.iter().enumerate() {
        outcomes.push(match launcher.launch(device, case) {
            Ok(found) => match oracle.expect(i, width(case, &found)) {
                Ok(expected) => judge(case, expected, &found),
                Err(error) => Outcome::Failed(error.clone()),
            },
            Err(error) => failure(error, group, case, device.caps()),
        });
    }
    outcomes
}

/// The width of subgroups that a case reported.
fn width(case: &Case, found: &[Vec<u8>]) -> u32 {
    let buffers = case.arguments.iter().take(case.width.unwrap_or(0));
    let position = buffers.filter(|a| matches!(a, CaseArgument::Buffer(..))).count();
    let reported = case.width.and_then(|_| found.get(position)?.first_chunk::<4>());
    reported.map_or(ANY_WIDTH, |word| u32::from_le_bytes(*word)).clamp(1, 128)
}

/// What an error is: a refusal if the kernel needs what the device's capabilities lack, or more than it has. No back end refuses of its own accord.
fn failure(error: Diagnostic, group: &Group, case: &Case, caps: &Caps) -> Outcome {
    let lacking = || {
        let options = LoadOptions { specialisations: case.specialisations.clone(), ..LoadOptions::default() };
        let lowered = girih_lower::compile(&group.module, &[case.kernel], caps, &options);
        lowered.is_err_and(|errors| refusal(errors).code == Code::NeedsFeature)
    };
    match error.code {
        Code::OverLimit => Outcome::Refused(error.message),
        Code::NeedsFeature if lacking() => Outcome::Refused(error.message),
        _ => Outcome::Failed(error),
    }
}

fn judge(case: &Case, expected: &[Vec<Vec<u8>>; 2], found: &[Vec<u8>]) -> Outcome {
    let [plain, flushed] = expected;
    let mut buffer = 0;
    for (position, argument) in case.arguments.iter().enumerate() {
        if let CaseArgument::Buffer(_, expectation) = argument {
            if let Err(m) = compare::compare(expectation, &plain[buffer], &flushed[buffer], &found[buffer]) {
                return Outcome::Different(position, m);
            }
            if let Some(wrong) = stated(case, position, &found[buffer]) {
                return Outcome::Different(position, wrong);
            }
            buffer += 1;
        }
    }
    Outcome::Passed
}

/// A kernel and the values of its specialisation constants.
type Variant = (FunctionId, Vec<(String, u64)>);

/// Where a buffer differs from what the case states.
fn stated(case: &Case, position: usize, found: &[u8]) -> Option<Mismatch> {
    let check = case.checks.iter().find(|check| check.argument == position)?;
    let index = check.expected.mismatch_in(found)?;
    let (scalar, expected) = check.expected.values.get(index).copied()?;
    let found = super::unpack(scalar, found).get(index).copied().unwrap_or_default();
    Some(Mismatch { index, expected: compare::show(scalar, expected), found: compare::show(scalar, found), count: 1 })
}

/// Runs a case that must end with an error; says what came instead.
pub fn run_fault(group: &Group, case: &Case, code: Code, machine: &Device) -> Result<(), String> {
    let mut launcher = Launcher { group, programs: HashMap::new() };
    match launcher.launch(machine, case) {
        Err(error) if error.code == code => Ok(()),
        Err(error) => Err(format!("{} instead of {code}: {}", error.code, error.message)),
        Ok(_) => Err(format!("it ended well, but {code} was expected")),
    }
}

/// Runs a case on a machine and compares what it leaves with what the case states; says what is different.
pub fn run_stated(group: &Group, case: &Case, machine: &Device) -> Result<(), String> {
    let mut launcher = Launcher { group, programs: HashMap::new() };
    let found = launcher.launch(machine, case).map_err(|error| format!("{}: {}", error.code, error.message))?;
    let buffers = case.arguments.iter().enumerate().filter(|(_, a)| matches!(a, CaseArgument::Buffer(..)));
    for ((position, _), found) in buffers.zip(&found) {
        if let Some(Mismatch { index, expected, found, .. }) = stated(case, position, found) {
            return Err(format!("argument {position}, element {index}: {found} instead of {expected}"));
        }
    }
    Ok(())
}

/// The group's kernels on one device: loaded together, or one by one where some are refused.
struct Launcher<'a> {
    group: &'a Group,
    programs: HashMap<Variant, Result<Program, Diagnostic>>,
}

impl<'a> Launcher<'a> {
    fn new(group: &'a Group, device: &Device) -> Launcher<'a> {
        let mut kernels: Vec<FunctionId> = vec![];
        for case in group.cases.iter().filter(|case| case.specialisations.is_empty()) {
            if !kernels.contains(&case.kernel) {
                kernels.push(case.kernel);
            }
        }
        let mut programs = HashMap::new();
        if let Ok(loaded) = device.load(&group.module, &kernels, &LoadOptions::default()) {
            programs.extend(kernels.into_iter().zip(loaded).map(|(kernel, program)| ((kernel, vec![]), Ok(program))));
        }
        Launcher { group, programs }
    }

    fn program(&mut self, device: &Device, case: &Case) -> Result<Program, Diagnostic> {
        let key = (case.kernel, case.specialisations.clone());
        let load = || {
            let options = LoadOptions { specialisations: case.specialisations.clone(), ..LoadOptions::default() };
            let programs = device.load(&self.group.module, &[case.kernel], &options);
            programs.map(|mut programs| programs.swap_remove(0)).map_err(refusal)
        };
        self.programs.entry(key).or_insert_with(load).clone()
    }

    /// Launches a case; gives the contents of its buffers afterwards.
    fn launch(&mut self, device: &Device, case: &Case) -> Result<Vec<Vec<u8>>, Diagnostic> {
        let program = self.program(device, case)?;
        launch_with(device, case, program)
    }
}

/// The error that says most: a lacking feature is a refusal only if nothing worse was found.
fn refusal(errors: Vec<Diagnostic>) -> Diagnostic {
    let refused = |d: &Diagnostic| matches!(d.code, Code::NeedsFeature | Code::OverLimit);
    let worst = errors.iter().find(|d| !refused(d)).or(errors.first());
    worst.cloned().unwrap_or_else(|| {
        Diagnostic::new(Code::DeviceCompiler, girih_base::span::Span::NONE, "the device gave no reason")
    })
}

fn launch_with(device: &Device, case: &Case, program: Program) -> Result<Vec<Vec<u8>>, Diagnostic> {
    let (mut arguments, mut buffers): (Vec<Argument>, Vec<(Buffer, usize)>) = (vec![], vec![]);
    for argument in &case.arguments {
        arguments.push(match argument {
            CaseArgument::Scalar(constant) => Argument::Scalar(*constant),
            CaseArgument::Buffer(bytes, _) => {
                let buffer = device.allocate(Memory::of(bytes.len() as u64))?;
                device.write(&buffer, 0, bytes)?;
                buffers.push((buffer.clone(), bytes.len()));
                Argument::Buffer(buffer)
            }
        });
    }
    let grid = case.grid.map_or(Grid::Own, Grid::Workgroups);
    let submitted = device.submit(&[Command::Dispatch(Dispatch { program, arguments, grid })]);
    trapped(case, submitted.and_then(|()| device.wait()))?;
    let mut contents = vec![];
    for (buffer, length) in buffers {
        let mut bytes = vec![0; length];
        device.read(&buffer, 0, &mut bytes)?;
        contents.push(bytes);
    }
    Ok(contents)
}

/// A case that must trap does, with that code.
fn trapped(case: &Case, result: Result<(), Diagnostic>) -> Result<(), Diagnostic> {
    let span = girih_base::span::Span::NONE;
    match (case.traps, result) {
        (None, result) => result,
        (Some(code), Err(error)) if error.code == Code::Trap && error.message.ends_with(&format!(" {code}")) => Ok(()),
        (Some(code), Ok(())) => {
            Err(Diagnostic::new(Code::Trap, span, format!("nothing was reported instead of trap {code}")))
        }
        (Some(_), Err(error)) => Err(error),
    }
}
