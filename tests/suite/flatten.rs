//! Programs that are flattened: compiled programs whose functions have one exit each do what they did, and those that are flattened do what the evaluator
//! does, however they are spread.

use crate::support::case::{Case, Gave, LIMIT, agree};
use crate::support::driver::{Nobody, watched};
use crate::support::random::Random;
use crate::support::{trees, watch};
use girih::devices::{self, Selector};
use girih::{Diagnostic, RunDevice, SystemHost, on_big_stack};
use girih_ir::verify;
use girih_ir::{Function, Op};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};
use girih_task::Failure;
use girih_task::flatten::plan::Plan;
use girih_task::flatten::runner::FlattenedRunner;
use girih_task::flatten::{self, Options};
use girih_task::flow::Root;
use girih_task::lower::Direct;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_workbench::{sample, share};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Programs that agree at least.
const SAME: usize = 1000;
/// Programs that take too many steps for the reference machine at most.
const LONG: usize = 24;
/// Steps that the reference machine makes at most.
const STEPS: u64 = 4_000_000;

/// Compiles a program, with borrowed parameters or without.
fn compile(code: &Code, lends: bool) -> Result<Direct, Vec<Diagnostic>> {
    let entry = code.program().entry.iter();
    let roots: Vec<Root> = entry.map(|def| Root { def: *def, arguments: vec![] }).collect();
    if lends { girih_task::compile_for_threads(code, &roots) } else { girih_task::compile_for_lanes(code, &roots) }
}

/// Whether the only `return` is the last instruction of the body, and no call takes the function's place.
fn has_one_exit(function: &Function) -> bool {
    let mut exits = 0;
    function.walk(function.body, &mut |_, inst| exits += usize::from(matches!(inst.op, Op::Return | Op::Tail)));
    exits == 1 && function.terminator(function.body).is_some_and(|end| end.op == Op::Return)
}

/// Runs a program on the reference machine, changed or not.
fn run(case: &Case, lends: bool, changes: bool) -> Gave {
    let alarm = watch::alarm(LIMIT);
    case.with_host(|host| {
        let flag = alarm.flag.clone();
        on_big_stack(move || run_here(case, lends, changes, host, flag))
    })
}

fn run_here(
    case: &Case,
    lends: bool,
    changes: bool,
    host: &mut SystemHost,
    flag: Arc<AtomicBool>,
) -> Result<String, Vec<Diagnostic>> {
    let program = case.program.core_program().map_err(|error| error.into_report().diagnostics)?;
    let code = Code::new(program)?;
    let mut direct = compile(&code, lends)?;
    if changes {
        let changed = flatten::with_one_exit(&direct.module);
        for function in changed.functions.iter() {
            assert!(has_one_exit(function), "{}: `@{}`", case.path, function.name);
        }
        direct.module = verify(changed).unwrap_or_else(|errors| panic!("{}: {errors:#?}", case.path));
    }
    let settings = TaskSettings { checked: true, seed: None, fuel: Some(STEPS) };
    let interrupt = Some(flag);
    let options = TaskOptions {
        memory: case.most_memory(),
        stack: 1 << 30,
        interrupt: interrupt.clone(),
        ..TaskOptions::default()
    };
    let mut runner = TaskMachine::new(&direct.module, options, settings).map_err(|d| vec![d])?;
    let mut machine = Machine::new(&code, Limits { interrupt: interrupt.clone(), ..Limits::default() });
    girih_task::run::run(&mut machine, &direct, &mut runner, host, interrupt).map_err(|d| vec![d])
}

#[test]
fn programs_of_one_exit_do_what_they_did() {
    let (mut same, mut long) = (0, 0);
    let mut different = vec![];
    let share = share(32);
    for case in share.of(Case::all()) {
        for lends in [true, false] {
            let (before, after) = (run(&case, lends, false), run(&case, lends, true));
            let is_long = |gave: &Gave| matches!(gave.value, Err((girih::Code::OutOfFuel, _)));
            if is_long(&before) || is_long(&after) {
                long += 1;
            } else if agree(&case, &before, &after) {
                same += 1;
            } else {
                different.push(format!("{}: {before:?} / {after:?}", case.path));
            }
        }
    }
    eprintln!("{same} are the same, {long} take too long");
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= share.least(SAME) && long <= LONG, "{same} are the same, {long} take too long");
}

/// What came of a flattened program; none if it does not run so.
fn flattened_run(case: &Case, device: &str, options: Options, most: u64) -> Option<Gave> {
    let alarm = watch::alarm(LIMIT);
    let mut refused = false;
    let gave = case.with_host(|host| {
        let flag = alarm.flag.clone();
        let refused = &mut refused;
        on_big_stack(move || {
            let found = flattened_here(case, device, options, most, (host, flag));
            *refused = found.is_none();
            found.unwrap_or_else(|| Err(vec![]))
        })
    });
    (!refused).then_some(gave)
}

fn flattened_here(
    case: &Case,
    device: &str,
    options: Options,
    most: u64,
    (host, flag): (&mut SystemHost, Arc<AtomicBool>),
) -> Option<Result<String, Vec<Diagnostic>>> {
    let program = case.program.core_program().ok()?;
    let code = Code::new(program).ok()?;
    let direct = compile(&code, false).expect("what can run compiles");
    let flattened = match flatten::lower(&direct.module, direct.entry, &[], &options) {
        Ok(flattened) => flattened,
        Err(Failure::Refused(_)) => return None,
        Err(Failure::Wrong(errors)) => panic!("{}: {errors:#?}", case.path),
    };
    let work: u64 = flattened.plan.steps.iter().map(|step| 1 << step.level).sum();
    if work > most {
        return None;
    }
    let selector = Selector::parse(device).expect("a device's name");
    let mut device = devices::open(&selector, None).expect("a device");
    if matches!(selector, Selector::Cpu) {
        // There, too, later runs are made ready.
        device = watched(&device, Nobody);
    }
    let task = TaskOptions { interrupt: Some(flag.clone()), ..TaskOptions::default() };
    let opened = FlattenedRunner::open((&direct.module, direct.entry), flattened, device, &task, (options, 16 << 20));
    let mut runner = match opened {
        Ok(runner) => runner,
        Err(errors) => return Some(Err(errors)),
    };
    let mut machine = Machine::new(&code, Limits { interrupt: Some(flag.clone()), ..Limits::default() });
    let mut again = || {
        girih_task::run::run(&mut machine, &direct, &mut runner, &mut *host, Some(flag.clone())).map_err(|d| vec![d])
    };
    let gave = again();
    if let Ok(value) = &gave {
        for _ in 0..2 {
            assert_eq!(again().as_ref(), Ok(value), "{}: a later run", case.path);
        }
    }
    let stats = runner.stats();
    assert!(stats.live_bytes <= stats.most_bytes, "{stats:?}");
    Some(gave)
}

/// The options that make programs different: as on cards; all calls with frames; larger functions without; few lanes, with several instances each, and
/// with one; one lane a workgroup; without places.
fn forms() -> [Options; 7] {
    let card = Options::new(4, 3);
    let framed = Options { small: 1, large: 1, ..card };
    [
        card,
        Options { function: 0, ..framed },
        Options { function: 200, ..framed },
        Options { large: 2000, ..Options::new(1, 1) },
        Options { levels: 2, ..Options::new(1, 1) },
        Options::new(0, 1),
        Options { places: false, ..card },
    ]
    .map(|form| Options { narrowest: 1, ..form })
}

/// On the processor, or on the device that `GIRIH_FLATTEN_DEVICE` names.
#[test]
fn flattened_programs_do_what_the_evaluator_does() {
    let device = std::env::var("GIRIH_FLATTEN_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    let (mut same, mut different) = (0, vec![]);
    let share = share(32);
    for case in share.of(Case::all()) {
        let mut oracle = None;
        for (i, options) in forms().into_iter().enumerate() {
            let Some(found) = flattened_run(&case, &device, options, 1 << 22) else { continue };
            // Effects, and definitions that wait, are not done flattened.
            if matches!(found.value, Err((girih::Code::Internal, _))) {
                continue;
            }
            let oracle = oracle.get_or_insert_with(|| case.run(RunDevice::Evaluator, &|_| {}));
            if agree(&case, oracle, &found) {
                same += 1;
            } else {
                different.push(format!("{} ({i}): {oracle:?} / {found:?}", case.path));
            }
        }
    }
    eprintln!("{same} are the same on {device}");
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= share.least(50), "only {same} are the same");
}

/// Random programs on trees, on the processor or on the device that `GIRIH_FLATTEN_DEVICE` names, in one of the forms each; `GIRIH_FLATTEN_RANDOM` says how many.
#[test]
fn random_trees_do_what_the_evaluator_does() {
    let device = std::env::var("GIRIH_FLATTEN_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    let count = sample("GIRIH_FLATTEN_RANDOM", 75, 600);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut same = 0;
    for seed in 0..count {
        let text = trees::program(&mut Random::new(seed));
        let case = Case::random(folder.path(), &text);
        let form = forms()[seed as usize % forms().len()];
        let Some(found) = flattened_run(&case, &device, form, 1 << 22) else { continue };
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        assert!(agree(&case, &oracle, &found), "{seed}: {oracle:?} / {found:?}\n{text}");
        same += 1;
    }
    eprintln!("{same} of {count} are the same on {device}");
    assert!(same >= 2 * count / 3, "only {same} are the same");
}

/// With every access looked at: none is outside of its buffer, and no lanes meet in a phase.
#[test]
fn lanes_of_flattened_programs_do_not_meet() {
    let mut same = 0;
    let share = share(32);
    for case in share.of(Case::all()) {
        for options in forms() {
            let Some(found) = flattened_run(&case, "interpreter", options, 2000) else { continue };
            if matches!(found.value, Err((girih::Code::Internal, _))) {
                continue;
            }
            assert!(agree(&case, &case.run(RunDevice::Evaluator, &|_| {}), &found), "{}: {found:?}", case.path);
            same += 1;
        }
    }
    eprintln!("{same} are the same");
    assert!(same >= share.least(20), "only {same} are the same");
}

/// The places of a tree's cells are known, so a network on its leaves looks at nothing else.
#[test]
fn what_stands_where_is_known_is_not_looked_for() {
    let plans = [true, false].map(|places| {
        on_big_stack(move || {
            let program = girih::Program::open("tests/bend/trees/network.bend", &girih::Options::default());
            let code = Code::new(program.core_program().expect("it compiles")).expect("it compiles");
            let main = code.program().entry.iter().map(|def| Root { def: *def, arguments: vec![] });
            let direct = girih_task::compile_for_lanes(&code, &main.collect::<Vec<_>>()).expect("it compiles");
            let options = Options { places, ..Options::new(4, 3) };
            flatten::lower(&direct.module, direct.entry, &[], &options).expect("it is one").plan
        })
    });
    let [known, unknown] = plans.map(|plan| plan.phases.len());
    assert!(known * 3 < unknown * 2, "{known} and {unknown}");
}

/// The plan of a program, or why it is refused.
fn planned(name: &str, text: &str, options: Options) -> Result<Plan, String> {
    on_big_stack(|| {
        let program = girih::Program::from_text(name, text, &girih::Options::default());
        let code = Code::new(program.core_program().expect("it compiles")).expect("it compiles");
        let main = code.program().entry.iter().map(|def| Root { def: *def, arguments: vec![] });
        let direct = girih_task::compile_for_lanes(&code, &main.collect::<Vec<_>>()).expect("it compiles");
        match flatten::lower(&direct.module, direct.entry, &[], &options) {
            Err(Failure::Refused(refusal)) => Err(refusal.to_string()),
            Err(Failure::Wrong(errors)) => panic!("{errors:#?}"),
            Ok(flattened) => Ok(flattened.plan),
        }
    })
}

/// Why a program is refused.
fn refusal(name: &str, text: &str, options: Options) -> String {
    match planned(name, text, options) {
        Err(why) => why,
        Ok(plan) => panic!("it is flattened: {plan}"),
    }
}

/// A choice between the results of two calls waits with them, so that calls of other pairs are made together with these.
#[test]
fn choices_between_results_do_not_part_calls() {
    for better in ["if x > y:\n    return (x, m)\n  else:\n    return (y, n)", "return (x + y, m ^ n)"] {
        let text = format!(
            "\
def better(a, b):
  (x, m) = a
  (y, n) = b
  {better}

def search(depth, i):
  switch depth:
    case 0:
      return (i * 7919 % 10007, i)
    case _:
      return better(search(depth-1, i * 2), search(depth-1, i * 2 + 1))

def main():
  return search(14, 1)
"
        );
        let plan = planned("search.bend", &text, Options::new(5, 5)).expect("it is one");
        assert!(plan.phases.len() < 40 && plan.widest() >= 10, "{plan}");
    }
}

/// Three calls are made together as four are, while there are lanes: a recursion has as many phases as levels, and not two for each of their halves.
#[test]
fn calls_that_are_no_power_of_two_are_made_together() {
    let text = "\
def search(depth, i):
  switch depth:
    case 0:
      return i * 7919 % 10007
    case _:
      return search(depth-1, i * 3) ^ search(depth-1, i * 3 + 1) ^ search(depth-1, i * 3 + 2)

def main():
  return search(6, 1)
";
    let plan = planned("search.bend", text, Options::new(6, 6)).expect("it is one");
    assert!(plan.phases.len() < 20 && plan.widest() >= 8, "{plan}");
}

/// A program that needs nothing of the device to be known is not run as a whole to find out what it does.
#[test]
fn finding_out_what_is_done_has_an_end() {
    let text = "def fib(n):\n  if n < 2:\n    return n\n  else:\n    return fib(n - 1) + fib(n - 2)\n\ndef main():\n  return fib(60)\n";
    let why = refusal("fib.bend", text, Options::new(4, 3));
    assert!(why.contains("takes too long"), "{why}");
}

/// Steps that all differ make a kernel that no driver compiles in time.
#[test]
fn a_kernel_does_not_grow_beyond_all_bounds() {
    let nbody =
        girih_bench::programs::BENCHMARKS.iter().find(|benchmark| benchmark.name == "nbody").expect("it is there");
    let text = format!("{}\n\ndef entry():\n  return main(5000)\n", nbody.bend)
        .replace("main(", "steps(")
        .replace("entry(", "main(");
    let why = refusal("nbody.bend", &text, Options::new(8, 9));
    // Whichever limit is met first.
    assert!(["too much code", "too few lanes"].iter().any(|limit| why.contains(limit)), "{why}");
}

/// Sums over small trees, each of which needs the one before: the plan is long, and most of its phases have little to do.
#[test]
fn a_long_plan_in_which_few_lanes_have_work_is_refused() {
    let sums = "\
def sum(depth, x):
  switch depth:
    case 0:
      return x * x % 101
    case _:
      return sum(depth-1, x * 5 + 1) + sum(depth-1, x * 5 + 2)

def repeat(depth, x):
  switch depth:
    case 0:
      return sum(7, x)
    case _:
      return repeat(depth-1, repeat(depth-1, x) + 1)

def main():
  return repeat(12, 1)
";
    let why = refusal("sums.bend", sums, Options::new(8, 8));
    assert!(why.contains("too few lanes"), "{why}");
}
