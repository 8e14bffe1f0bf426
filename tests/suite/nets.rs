//! The net tier: Bend programs as interaction nets give what the calculus says, and those that have nets in them what their files tell, on the host and on
//! devices, there by as many interactions.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure, `GIRIH_REQUIRE_CUDA=1` a missing card.

use crate::support;
use crate::support::case::{Case, Gave};
use crate::support::directives::Directives;
use crate::support::machine;
use girih::devices::Selector;
use girih::{Code, Options, Program, RunDevice, RunOptions, Span, SystemHost, Tier, Work};
use girih_net::reduce::Counts;
use girih_net::rules::Rule;
use girih_workbench::share;

/// Mistakes of programs without types that a net does not see, because data is made of the same nodes as functions and pairs.
const UNSEEN: &[&str] = &["errors/run/calls_a_pair.bend", "errors/run/error_inside_the_prelude.bend"];

/// How many programs of `tests/bend` there are at least that can be run by value.
const PROGRAMS: usize = 500;

fn by_net(options: &mut RunOptions) {
    (options.tier, options.explain) = (Tier::Net, true);
    // Nets copy where others share.
    options.memory *= 2;
}

#[test]
fn programs_give_what_the_evaluator_gives() {
    let (mut same, mut different) = (0, vec![]);
    let share = share(32);
    for case in share.of(Case::all()) {
        if UNSEEN.iter().any(|path| case.path.ends_with(path)) {
            continue;
        }
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        let found = case.run(RunDevice::Cpu, &by_net);
        if agree(&case, &oracle, &found) {
            same += 1
        } else {
            different.push(format!("{}: {oracle:?} / {found:?}", case.path))
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= share.least(PROGRAMS), "only {same} programs");
}

/// A net calls where others nest calls, so that it needs memory for both; and where an error is, the evaluator knows.
fn agree(case: &Case, oracle: &Gave, found: &Gave) -> bool {
    use girih::Code::{OutOfMemory, TooManyCalls};
    let values = match (&oracle.value, &found.value) {
        (Err((OutOfMemory | TooManyCalls, _)), Err((OutOfMemory | TooManyCalls, _))) => true,
        (Err((a, _)), Err((b, _))) => a == b,
        (a, b) => a == b || case.path.ends_with("time_passes.bend"),
    };
    values && oracle.written == found.written
}

/// The most interactions of a program that is given to devices made of software.
const FEW: u64 = 20_000;
/// Bytes of memory on devices.
const MEMORY: u64 = 4 << 20;

/// What came of a run as a net, and what was counted.
fn counted(case: &Case, device: RunDevice) -> (Gave, Counts) {
    let mut counts = Counts::default();
    let alarm = support::watch::alarm(support::case::LIMIT);
    let mut options = RunOptions {
        device,
        memory: case.most_memory(),
        heap: Some(MEMORY),
        interrupt: Some(alarm.flag.clone()),
        ..RunOptions::default()
    };
    by_net(&mut options);
    let gave = case.with_host(|host| {
        let mut executable = case.program.compile(&options).map_err(|error| error.into_report().diagnostics)?;
        let result = executable.run(host);
        if let Work::Net(work, _) = executable.stats().work {
            counts = work;
        }
        result.map_err(|error| error.into_report().diagnostics)
    });
    (gave, counts)
}

/// The rules that are counted the same in whatever order a net is reduced.
fn rules() -> impl Iterator<Item = Rule> {
    Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link)
}

/// Runs each so many-th program on a device: it gives what it gives on the host, errors with their places included.
fn on_device(name: &str, each: usize, least: usize) {
    if machine::open(name).is_none() {
        return;
    }
    let device = RunDevice::from(Selector::parse(name).expect("a device's name"));
    let (mut same, mut different) = (0, vec![]);
    let share = share(32);
    for case in share.of(Case::all().into_iter().step_by(each)) {
        let (oracle, counts) = counted(&case, RunDevice::Cpu);
        let full = matches!(oracle.value, Err((Code::OutOfMemory | Code::TooManyCalls | Code::Interrupted, _)));
        if counts.total() > FEW || full {
            continue;
        }
        let (found, on_device) = counted(&case, device.clone());
        let is_free = case.path.ends_with("time_passes.bend") || oracle.value.is_err();
        let counts_agree = is_free || rules().all(|rule| counts.of(rule) == on_device.of(rule));
        let place = |gave: &Gave| gave.value.as_ref().map_or_else(|(_, span)| *span, |_| Span::NONE);
        if agree(&case, &oracle, &found) && place(&oracle) == place(&found) && counts_agree {
            same += 1;
        } else {
            different.push(format!("{}: {oracle:?} / {found:?}, {counts:?} / {on_device:?}", case.path));
        }
    }
    assert!(different.is_empty(), "{name}: {} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= share.least(least), "{name}: only {same} programs");
}

#[test]
fn lowered_kernels_give_what_the_host_gives() {
    on_device("lowered:web", 1, 400);
}

#[test]
fn ptx_gives_what_the_host_gives() {
    on_device("ptx:sm_75", 4, 100);
}

#[test]
fn graphics_adapters_give_what_the_host_gives() {
    on_device("wgpu:lavapipe", 16, 25);
}

#[test]
fn cards_give_what_the_host_gives() {
    // Both at once: most of the time goes into compiling kernels.
    std::thread::scope(|scope| {
        scope.spawn(|| on_device("cuda", 4, 100));
        scope.spawn(|| on_device("wgpu", 4, 100));
    });
}

#[test]
fn programs_that_need_nets_run_as_nets() {
    let mut run = 0;
    for path in support::bend_files(support::PROGRAMS) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let expected = Directives::read(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let Some(value) = expected.nets else { continue };
        let program = Program::open(&path, &Options::default());
        let mut counts: Option<Counts> = None;
        for name in ["auto", "cpu", "interpreter", "lowered:web", "ptx:sm_90a"] {
            let device = Selector::parse(name).expect("a device's name").into();
            let options = RunOptions { device, heap: Some(MEMORY), ..RunOptions::default() };
            let mut executable = program.compile(&options).unwrap_or_else(|report| panic!("{report}"));
            assert_eq!(executable.choice().tier, Some("net"), "{path}");
            let text = executable.run(&mut SystemHost::new()).unwrap_or_else(|report| panic!("{report}"));
            assert_eq!(text, value, "{path}, {name}");
            let Work::Net(work, _) = executable.stats().work else { panic!("{path}: it ran as a net") };
            assert!(work.total() > 0, "{path}");
            let others = counts.get_or_insert(work);
            for rule in rules() {
                assert_eq!(work.of(rule), others.of(rule), "{path}, {name}: {}", rule.name());
            }
        }
        run += 1;
    }
    assert!(run >= 10, "only {run} programs");
}
