//! Cases from `.gir` programs: each `; run:` line is one.
//!
//! A function's run line gets a kernel of its own that passes the arguments as parameters, so that the compiler cannot compute anything
//! before the device does. Lines of functions in task form are for runners of task form, because devices have no heap. Lines of functions in tile form are
//! for the reference machine, because such a kernel would itself have to be in tile form.

use super::compare::{Agreement, Expectation};
use super::{Case, CaseArgument, Check, Group};
use girih::Report;
use girih::kernels::Kernels;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::ops::Class;
use girih_ir::text::RunLine;
use girih_ir::text::run_lines::{self, Outcome, RunArgument};
use girih_ir::{
    Builder, Function, FunctionId, Launch, Module, Op, ParamAttrs, Scalar, Space, Type, Verified, task_form, tile_form,
    verify,
};
use girih_machine::tasks;
use girih_runtime::{Constant, Runner};
use std::path::Path;

/// What the run lines of a file say.
#[derive(Debug)]
pub struct Program {
    /// Cases for devices.
    pub group: Group,
    /// Cases that must fail on the checked reference machine.
    pub faults: Vec<(Case, Code)>,
    /// Cases for the checked reference machine alone.
    pub checked: Vec<Case>,
    /// Calls of functions in tile form, each with a name; they are functions of the module of `tasks`.
    pub tiles: Vec<(String, RunLine)>,
    /// Calls of functions in task form.
    pub tasks: TaskCalls,
}

/// Calls of functions in task form, and what must come of each.
#[derive(Debug)]
pub struct TaskCalls {
    /// The functions.
    pub module: Verified<Module>,
    /// Each with a name.
    pub lines: Vec<(String, RunLine)>,
}

/// Makes what runs the functions of a module.
type MakeRunner<'a> = dyn FnMut(&Verified<Module>) -> Result<Box<dyn Runner>, Diagnostic> + 'a;

/// Makes the calls, each on a runner of its own; says what came out wrong. Lines for the checked reference machine alone are left out
/// unless the runner is one.
pub fn run_tasks(calls: &TaskCalls, checked: bool, runner: &mut MakeRunner<'_>) -> Vec<String> {
    let mut wrong = vec![];
    for (name, line) in calls.lines.iter().filter(|(_, line)| checked || !line.checked) {
        if let Err(what) = run_task(calls, line, runner) {
            wrong.push(format!("{name}: {what}"));
        }
    }
    wrong
}

/// Makes one call on a runner of its own; says what came out wrong.
pub(super) fn run_task(calls: &TaskCalls, line: &RunLine, runner: &mut MakeRunner<'_>) -> Result<(), String> {
    let mut runner = runner(&calls.module).map_err(|error| format!("{}: {}", error.code, error.message))?;
    tasks::check_line(&mut *runner, &calls.module, line)
}

/// Which functions have tiles in them or call one that has: a kernel that calls such a function is in tile form.
fn with_tiles(module: &Module) -> IndexVec<FunctionId, bool> {
    let mut functions = module.clone();
    // A function without tiles that a kernel in tile form calls is none of them.
    functions.functions.iter_mut().for_each(|function| function.launch = None);
    tile_form(&functions)
}

/// The program of a file with its run lines.
pub fn program_group(path: &Path) -> Result<Program, Report> {
    let kernels = Kernels::open(path)?;
    let mut module: Module = (*kernels.module).clone();
    let mut cases = vec![];
    let (mut faults, mut checked, mut tiles) = (vec![], vec![], vec![]);
    let (task_form, with_tiles) = (task_form(&module), with_tiles(&module));
    let mut lines = vec![];
    for line in &kernels.runs {
        let text = kernels.sources.snippet(line.span).split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = text.chars().take(70).collect();
        let is_kernel = module.functions[line.function].launch.is_some();
        let (number, _) = kernels.sources.line_column(line.span.source, line.span.start);
        let name = format!("line {number}: {short}");
        if task_form[line.function] {
            lines.push((name, line.clone()));
            continue;
        }
        if with_tiles[line.function] && !is_kernel {
            tiles.push((name, line.clone()));
            continue;
        }
        let case = if is_kernel { kernel_case(name, line) } else { function_case(name, line, &mut module) };
        match line.outcome {
            Outcome::Fails(code) => faults.push((case, code)),
            Outcome::Ends | Outcome::Gives(_) | Outcome::Traps(_) if line.checked => checked.push(case),
            Outcome::Ends | Outcome::Gives(_) | Outcome::Traps(_) => cases.push(case),
        }
    }
    let name = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let module = verify(module).map_err(|errors| kernels.report(errors))?;
    let tasks = TaskCalls { module: kernels.module.clone(), lines };
    Ok(Program { group: Group { name, module, cases }, faults, checked, tiles, tasks })
}

fn traps(line: &RunLine) -> Option<u32> {
    if let Outcome::Traps(code) = line.outcome { Some(code) } else { None }
}

fn kernel_case(name: String, line: &RunLine) -> Case {
    let mut case = Case::new(name, line.function, vec![], line.grid);
    case.specialisations = line.specialisations.clone();
    case.traps = traps(line);
    for (position, argument) in line.arguments.iter().enumerate() {
        case.arguments.push(match argument {
            RunArgument::Scalar(scalar, bits) => CaseArgument::Scalar(Constant { ty: (*scalar).into(), bits: *bits }),
            RunArgument::Memory { initial, expected } => {
                let agreement = match expected {
                    Some(expected) if expected.tolerance > 0.0 => Agreement::Relative(expected.tolerance),
                    Some(_) | None => Agreement::Class(Class::Rounded),
                };
                if let Some(expected) = expected {
                    case.checks.push(Check { argument: position, expected: expected.clone() });
                }
                let output = expected.as_ref().and_then(|e| e.values.first()).map_or(initial.scalar, |(s, _)| *s);
                CaseArgument::Buffer(initial.bytes(), Expectation { input: Some(initial.scalar), output, agreement })
            }
        });
    }
    case
}

/// Writes a kernel that calls the function once and stores its results, each in a buffer of its own.
fn function_case(name: String, line: &RunLine, module: &mut Module) -> Case {
    let callee = &module.functions[line.function];
    let results = callee.results.clone();
    let mut function = Function::new(format!("run_{}", module.functions.len()), Span::NONE);
    function.launch = Some(Launch { workgroup: [1, 1, 1], ..Launch::default() });
    let mut b = Builder::new(function);
    let mut case = Case::new(name, line.function, vec![], None);
    let mut operands = vec![];
    for (i, argument) in line.arguments.iter().enumerate() {
        let RunArgument::Scalar(scalar, bits) = argument else { continue };
        // A truth value is no parameter of a kernel.
        let passed = if *scalar == Scalar::Bool { Scalar::U32 } else { *scalar };
        case.arguments.push(CaseArgument::Scalar(Constant { ty: passed.into(), bits: *bits }));
        let value = b.function.param(format!("a{i}"), passed.into(), ParamAttrs::default());
        operands.push(if passed == *scalar { value } else { b.op(Op::Convert, *scalar, &[value]) });
    }
    let values = b.call(line.function, &results, &operands);
    let zero = b.u32(0);
    for (i, (value, ty)) in values.into_iter().zip(&results).enumerate() {
        let scalar = ty.element().unwrap_or(Scalar::U32);
        let (stored, value) = match scalar {
            Scalar::Bool => (Scalar::U32, b.op(Op::Convert, Scalar::U32, &[value])),
            other => (other, value),
        };
        let attrs = ParamAttrs { align: 16, noalias: true, ..ParamAttrs::default() };
        let memory = b.function.param(format!("result_{i}"), Type::Memory(Space::Global), attrs);
        b.store(ty.with_element(stored), memory, zero, value);
        let lanes = ty.lanes().max(1) as usize;
        let mut agreement = Agreement::Class(Class::Rounded);
        if let Outcome::Gives(expected) = &line.outcome {
            let bits = expected.values.get(i).map_or(0, |(_, bits)| *bits);
            let expected = run_lines::Expectation { values: vec![(stored, bits)], tolerance: expected.tolerance };
            if expected.tolerance > 0.0 {
                agreement = Agreement::Relative(expected.tolerance);
            }
            case.checks.push(Check { argument: case.arguments.len(), expected });
        }
        let empty = vec![0x5a; stored.bytes() as usize * lanes];
        case.arguments.push(CaseArgument::Buffer(empty, Expectation { input: None, output: stored, agreement }));
    }
    b.end(Op::Return, &[]);
    case.kernel = module.functions.push(b.function);
    case.grid = Some([1, 1, 1]);
    case.traps = traps(line);
    case
}
