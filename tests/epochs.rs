//! Programs in epochs: the kernels that graphics cards run, on devices that every machine has.

mod support;

use girih::core::direct::{self, flow::Root};
use girih::core::lower::epochs::Form;
use girih::core::runtime::epochs::{EpochOptions, EpochRunner};
use girih::core::runtime::{Runner, TaskOptions};
use girih::core::term::code::Code;
use girih::core::term::eval::{Limits, Machine};
use girih::devices::{self, Selector};
use girih::{Diagnostic, RunDevice, on_big_stack};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::case::{Case, Gave, LIMIT, agree};
use support::watch;

/// Programs that agree at least.
const SAME: usize = 500;

/// Runs a program in epochs.
fn run(case: &Case, device: &str, options: EpochOptions) -> Gave {
    let alarm = watch::alarm(LIMIT);
    case.with_host(|host| {
        let flag = alarm.flag.clone();
        on_big_stack(move || run_here(case, device, options, host, flag))
    })
}

fn run_here(
    case: &Case,
    device: &str,
    options: EpochOptions,
    host: &mut girih::SystemHost,
    flag: Arc<AtomicBool>,
) -> Result<String, Vec<Diagnostic>> {
    let program = case.program.core_program().map_err(|report| report.diagnostics)?;
    let code = Code::new(program)?;
    let roots: Vec<Root> = program.entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
    let direct = direct::compile_without_loans(&code, &roots)?;
    let device = devices::open(&Selector::parse(device).expect("a device"), None).map_err(|d| vec![d])?;
    let task = TaskOptions { interrupt: Some(flag.clone()), ..TaskOptions::default() };
    let called = [direct.entry, direct.apply, direct.force];
    let mut runner = EpochRunner::open(&direct.module, &called, device, &task, options)?;
    let mut machine = Machine::new(&code, Limits { interrupt: Some(flag.clone()), ..Limits::default() });
    let text = direct::run::run(&mut machine, &direct, &mut runner, host, Some(flag)).map_err(|d| vec![d]);
    let stats = runner.stats();
    assert!(stats.live_bytes <= stats.most_bytes, "{stats:?}");
    text
}

/// What is in a program that is not done in epochs yet: a definition that needs itself is found by its endless recursion.
fn is_known(case: &Case) -> bool {
    case.path.ends_with("errors/run/needs_itself.bend")
}

/// The programs whose number is `of` modulo `each`, on a device.
fn compare(device: &str, options: EpochOptions, each: usize, of: usize) -> usize {
    let mut same = 0;
    let mut different = vec![];
    for (_, case) in Case::all().iter().enumerate().filter(|(i, case)| i % each == of && !is_known(case)) {
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        // Deep recursion takes frames of the pool.
        let frames = if case.path.contains("/depth/") { 1 << 20 } else { options.frames };
        let found = run(case, device, EpochOptions { frames, ..options });
        match agree(case, &oracle, &found) {
            true => same += 1,
            false => different.push(format!("{}: {oracle:?} / {found:?}", case.path)),
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    same
}

/// Few lanes with small stacks, and epochs that are over soon: everything that can be interrupted is.
const SMALL: EpochOptions =
    EpochOptions { lanes: 96, frames: 1 << 16, heap: 64 << 20, steps: 2000, form: Form::SMALL, batch: 64 };

#[test]
fn programs_do_what_the_evaluator_does() {
    let same = compare("cpu", SMALL, 1, 0);
    assert!(same >= SAME, "only {same} are the same");
}

/// With every access looked at: none is outside of its buffer, and none meets one of another lane in the same epoch.
#[test]
fn lanes_do_not_meet() {
    let options = EpochOptions { lanes: 64, frames: 1 << 10, heap: 1 << 20, steps: 200, form: Form::SMALL, batch: 16 };
    let programs = ["trees/bitonic_sort", "closures/church_numerals", "depth/counted"];
    for case in Case::all().iter().filter(|case| programs.iter().any(|name| case.path.contains(name))) {
        let found = run(case, "interpreter", options);
        assert!(agree(case, &case.run(RunDevice::Evaluator, &|_| {}), &found), "{}: {found:?}", case.path);
    }
}
