//! The net tier: Bend programs as interaction nets give what the calculus says, and those that have nets in them what their files tell.

mod support;

use girih::{Options, Program, RunDevice, RunOptions, SystemHost, Tier, Work};
use support::case::{Case, Gave};
use support::directives::Directives;

/// Mistakes of programs without types that a net does not see, because data is made of the same nodes as functions and pairs.
const UNSEEN: &[&str] = &["errors/run/calls_a_pair.bend", "errors/run/error_inside_the_prelude.bend"];

/// Programs whose long texts are used several times in each step: nets copy them each time.
const TOO_LONG: &[&str] = &["depth/long_text.bend"];

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
    for case in Case::all() {
        if UNSEEN.iter().chain(TOO_LONG).any(|path| case.path.ends_with(path)) {
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
    assert!(same >= PROGRAMS, "only {same} programs");
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

#[test]
fn programs_that_need_nets_run_as_nets() {
    let mut run = 0;
    for path in support::bend_files(support::PROGRAMS) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let expected = Directives::read(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let Some(value) = expected.nets else { continue };
        let program = Program::open(&path, &Options::default());
        let mut executable = program.compile(&RunOptions::default()).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(executable.choice().tier, Some("net"), "{path}");
        let text = executable.run(&mut SystemHost::new()).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(text, value, "{path}");
        let Work::Net(counts) = executable.stats().work else { panic!("{path}: it ran as a net") };
        assert!(counts.total() > 0, "{path}");
        run += 1;
    }
    assert!(run >= 10, "only {run} programs");
}
