//! Programs by fork-join: the kernels that graphics cards run, on devices that every machine has; and some programs on every card that this
//! one has, a software adapter among them.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure, `GIRIH_REQUIRE_CUDA=1` a missing card. On the device that `GIRIH_DEVICE` names all
//! programs are run.

use crate::support::case::{Case, Gave, LIMIT, agree};
use crate::support::driver::{Use, Watch, watched};
use crate::support::{machine, watch};
use girih::devices::{self, Profile, Selector};
use girih::kernels::KernelForm;
use girih::{Diagnostic, Options, Program, RunDevice, Span, on_big_stack};
use girih_runtime::{Device, Runner, TaskOptions};
use girih_task::flow::Root;
use girih_task::forkjoin::Form;
use girih_task::forkjoin::runner::{ForkJoinOptions, ForkJoinRunner};
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_workbench::{missing, share};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Programs that agree at least.
const SAME: usize = 500;

/// The kernels that a card runs for a program are shown, whichever schedule it has there.
#[test]
fn kernels_of_every_schedule_are_emitted() {
    let kernels = |text: &str, argument: &str| {
        let options = Options { arguments: vec![argument.to_owned()], ..Options::default() };
        let (kernels, about) = Program::from_text("shown.bend", text, &options).kernels().expect("kernels");
        let ptx = kernels.emit(KernelForm::Ptx, Profile::Cuda(90)).expect("PTX");
        (String::from_utf8(ptx).expect("text").matches(".visible .entry").count(), about)
    };
    let (count, about) = kernels(include_str!("../../benches/corpus/coin_change.bend"), "150");
    assert!(count >= 2 && about.starts_with("as a reducer, because "), "{count}: {about}");
    let (count, about) = kernels(include_str!("../../benches/corpus/edit_distance.bend"), "11");
    assert!(count == 2 && about.starts_with("by fork-join, because "), "{count}: {about}");
}

/// Runs a program by fork-join.
fn run(case: &Case, device: &str, options: ForkJoinOptions) -> Gave {
    run_on(case, open(device, None), options, LIMIT)
}

fn open(device: &str, profile: Option<Profile>) -> Device {
    devices::open(&Selector::parse(device).expect("a device's name"), profile).expect("a device")
}

fn run_on(case: &Case, device: Device, options: ForkJoinOptions, limit: Duration) -> Gave {
    let alarm = watch::alarm(limit);
    case.with_host(|host| {
        let flag = alarm.flag.clone();
        on_big_stack(move || run_here(case, device, options, host, flag))
    })
}

fn run_here(
    case: &Case,
    device: Device,
    options: ForkJoinOptions,
    host: &mut girih::SystemHost,
    flag: Arc<AtomicBool>,
) -> Result<String, Vec<Diagnostic>> {
    let program = case.program.core_program().map_err(|error| error.into_report().diagnostics)?;
    let code = Code::new(program)?;
    let roots: Vec<Root> = program.entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
    let direct = girih_task::compile_for_lanes(&code, &roots)?;
    let task = TaskOptions { interrupt: Some(flag.clone()), ..TaskOptions::default() };
    let called = [direct.entry, direct.apply, direct.force];
    let mut runner = ForkJoinRunner::open(&direct.module, &called, device, &task, options)?;
    let mut machine = Machine::new(&code, Limits { interrupt: Some(flag.clone()), ..Limits::default() });
    let text = girih_task::run::run(&mut machine, &direct, &mut runner, host, Some(flag)).map_err(|d| vec![d]);
    let stats = runner.stats();
    assert!(stats.live_bytes <= stats.most_bytes, "{stats:?}");
    text
}

/// Programs on a device, and how many do what they should.
fn compare<'c>(device: &str, options: ForkJoinOptions, cases: impl Iterator<Item = &'c Case>) -> usize {
    let mut same = 0;
    let mut different = vec![];
    for case in cases {
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        // Deep recursion takes frames of the pool.
        let most_frames = if case.path.contains("/depth/") { 1 << 20 } else { options.most_frames };
        let found = run(case, device, ForkJoinOptions { most_frames, ..options });
        match agree(case, &oracle, &found) {
            true => same += 1,
            false => different.push(format!("{}: {oracle:?} / {found:?}", case.path)),
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    same
}

/// Few lanes with small stacks, and supersteps that are over soon: everything that can be interrupted is.
const SMALL: ForkJoinOptions = ForkJoinOptions {
    lanes: 96,
    frames: 1 << 16,
    most_frames: 1 << 16,
    heap: 64 << 20,
    most_heap: 64 << 20,
    steps: 2000,
    form: Form::SMALL,
    batch: 64,
};

#[test]
fn programs_do_what_the_evaluator_does() {
    let share = share(32);
    let same = compare("cpu", SMALL, share.of(&Case::all()));
    assert!(same >= share.least(SAME), "only {same} are the same");
}

/// Calls are gone into, more lanes than one workgroup's share the work, and few workgroups begin with any.
#[test]
fn segments_that_go_into_calls() {
    let form = Form { workgroup: 32, stack: 16, ..Form::FAST };
    let options = ForkJoinOptions { lanes: 256, frames: 1 << 14, form, steps: 400, ..SMALL };
    let share = share(32);
    let same = compare("cpu", options, share.of(Case::all().iter().skip(1).step_by(3)));
    assert!(same >= share.least(SAME / 3), "only {same} are the same");
}

/// How many supersteps a program takes on many workgroups of the form that cards have.
fn supersteps(name: &str, argument: u32, device: &str) -> (String, u64) {
    let given = girih::Options { arguments: vec![argument.to_string()], ..girih::Options::default() };
    let program = girih::Program::open(format!("benches/{name}"), &given);
    on_big_stack(|| {
        let core = program.core_program().expect("it is right");
        let code = Code::new(core).expect("it needs no nets");
        let roots: Vec<Root> = core.entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
        let direct = girih_task::compile_for_lanes(&code, &roots).expect("it compiles");
        let options = ForkJoinOptions {
            lanes: 1 << 12,
            steps: 1 << 14,
            frames: 1 << 17,
            most_frames: 1 << 17,
            form: Form::FAST,
            ..SMALL
        };
        let called = [direct.entry, direct.apply, direct.force];
        let task = TaskOptions::default();
        let mut runner = ForkJoinRunner::open(&direct.module, &called, open(device, None), &task, options)
            .expect("the device takes the kernels");
        let mut machine = Machine::new(&code, Limits::default());
        let host = &mut girih::SystemHost::new();
        let text = girih_task::run::run(&mut machine, &direct, &mut runner, host, None).expect("it ends");
        (text, runner.stats().steps.expect("it runs by fork-join").steps)
    })
}

/// A superstep costs as much as hundreds of steps of a lane: where work does not spread there are few.
#[test]
fn a_program_whose_forks_are_small_takes_few_supersteps() {
    // Eight bodies; each step forks eight short calls, and waits for them before the next one.
    let (_, steps) = supersteps("bend/nbody.bend", 100, "cpu");
    assert!(steps <= 16, "{steps} supersteps");
    let (_, steps) = supersteps("corpus/permutations.bend", 6, "cpu");
    assert!(steps <= 20, "{steps} supersteps");
}

/// A recursion that forks at each of hundreds of levels: what a full stack has spilled is shared, too.
#[test]
fn forks_that_nest_deeper_than_a_stack_are_shared() {
    let (text, steps) = supersteps("corpus/coprimes.bend", 200, "interpreter");
    let gcd = |mut a: u32, mut b: u32| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let coprimes: usize = (1..=200).map(|a| (1..=a).filter(|b| gcd(a, *b) == 1).count()).sum();
    assert_eq!(text, coprimes.to_string());
    assert!(steps <= 12, "{steps} supersteps");
}

/// With every access looked at: none is outside of its buffer, and none meets one of another lane in the same superstep.
#[test]
fn lanes_do_not_meet() {
    let options = ForkJoinOptions { lanes: 64, frames: 1 << 14, heap: 1 << 20, steps: 200, batch: 16, ..SMALL };
    let programs = ["trees/bitonic_sort", "closures/church_numerals", "depth/counted"];
    for case in Case::all().iter().filter(|case| programs.iter().any(|name| case.path.contains(name))) {
        let found = run(case, "interpreter", options);
        assert!(agree(case, &case.run(RunDevice::Evaluator, &|_| {}), &found), "{}: {found:?}", case.path);
    }
}

/// Programs that drivers compile in seconds: forks, cells, calls, closures, effects, errors.
const FEW: &[&str] = &[
    "trees/bitonic_sort",
    "depth/counted",
    "closures/church_numerals",
    "io/write_to_standard_output",
    "errors/run/division_by_zero",
    "errors/run/memory",
];
/// How long a program may take, the driver's compiler included.
const PATIENCE: Duration = Duration::from_secs(240);

fn case(name: &str) -> Case {
    Case::open(format!("tests/bend/{name}.bend")).unwrap_or_else(|| panic!("{name} cannot be run"))
}

/// Runs the few programs on cards as people do.
fn compare_on(cards: Vec<Selector>) {
    for card in cards {
        for name in FEW {
            let case = case(name);
            let alarm = watch::alarm(PATIENCE);
            let found = case.run(RunDevice::Device(card.clone()), &|options| {
                options.interrupt = Some(alarm.flag.clone());
                options.heap = Some(32 << 20);
            });
            let oracle = case.run(RunDevice::Evaluator, &|_| {});
            assert!(agree(&case, &oracle, &found), "{name} on {card}: {oracle:?} / {found:?}");
        }
    }
}

#[test]
fn adapters_do_what_the_evaluator_does() {
    compare_on(machine::WGPU.some_devices());
}

#[test]
fn cuda_does_what_the_evaluator_does() {
    compare_on(machine::CUDA.some_devices());
}

/// Which part of all programs a process runs, as `3/16`.
const PART: &str = "GIRIH_PART";

/// All programs, as people run them, on the device that `GIRIH_DEVICE` names: flattened, as reducers or by fork-join. Each core has a process of its
/// own, as programs have that people run.
#[test]
fn a_named_device_does_all_that_the_evaluator_does() {
    let Ok(name) = std::env::var("GIRIH_DEVICE") else {
        return missing("device in `GIRIH_DEVICE`, on which all programs run", "GIRIH_REQUIRE_DEVICE");
    };
    if let Ok(part) = std::env::var(PART) {
        let (of, each) = part.split_once('/').expect("a part is written 3/16");
        return one_part(&name, of.parse().expect("a number"), each.parse().expect("a number"));
    }
    let each = std::thread::available_parallelism().map_or(1, usize::from);
    let start = |of: usize| {
        let mut command = Command::new(std::env::current_exe().expect("this process has a file"));
        command.args(["--exact", "forkjoin::a_named_device_does_all_that_the_evaluator_does", "--nocapture"]);
        command.env(PART, format!("{of}/{each}")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a process can be started")
    };
    let parts: Vec<_> = (0..each).map(start).collect();
    let ended: Vec<_> = parts.into_iter().map(|part| part.wait_with_output().expect("a process ends")).collect();
    for output in ended.iter().filter(|output| !output.status.success()) {
        print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    let failed = ended.iter().filter(|output| !output.status.success()).count();
    assert_eq!(failed, 0, "{failed} of {each} processes found differences");
    let same = |output: &std::process::Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().filter_map(|line| line.strip_suffix(SAME_HERE)?.trim().parse::<usize>().ok()).sum::<usize>()
    };
    let all = Case::all().len();
    assert_eq!(ended.iter().map(same).sum::<usize>(), all, "the processes have run all programs");
    println!("{all} programs on {name}, none differs");
}

/// What a process says after the number of programs that it has run.
const SAME_HERE: &str = " programs are the same here";

/// The programs whose number is `of` modulo `each`.
fn one_part(name: &str, of: usize, each: usize) {
    let device = Selector::parse(name).expect("a device's name");
    let (mut different, mut same) = (vec![], 0);
    for case in Case::all().iter().skip(of).step_by(each) {
        let alarm = watch::alarm(PATIENCE);
        let found = case.run(RunDevice::Device(device.clone()), &|options| {
            options.interrupt = Some(alarm.flag.clone());
        });
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        match agree(case, &oracle, &found) {
            true => same += 1,
            false => different.push(format!("{}: {oracle:?} / {found:?}", case.path)),
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    println!("\n{same}{SAME_HERE}");
}

/// Held to what every browser has: 8 buffers of 128 MiB, 16 KiB of shared memory, workgroups of 256, no subgroups.
#[test]
fn adapters_within_the_limits_of_the_web_do_too() {
    for card in machine::WGPU.some_devices() {
        let case = case("equations/ackermann");
        let found = run_on(&case, open(&card.to_string(), Some(Profile::Web)), SMALL, PATIENCE);
        assert!(agree(&case, &case.run(RunDevice::Evaluator, &|_| {}), &found), "{card}: {found:?}");
    }
}

/// Who loses a device after so many uses.
struct Mortal {
    left: Arc<AtomicUsize>,
}

impl Watch for Mortal {
    fn asked(&self, _what: Use) -> Result<(), Diagnostic> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        let lost = || Diagnostic::new(girih::Code::DeviceLost, Span::NONE, "the device was lost");
        left.map(|_| ()).map_err(|_| lost())
    }
}

/// Whenever a device is lost, that is what the program ends with: never another value, never a mistake of the compiler.
#[test]
fn a_device_that_is_lost_is_an_error() {
    let options = ForkJoinOptions { lanes: 64, frames: 1 << 14, heap: 1 << 20, ..SMALL };
    let share = share(3);
    for name in ["trees/bitonic_sort", "io/input_lines"] {
        let case = case(name);
        let expected = run(&case, "interpreter", options);
        assert!(expected.value.is_ok(), "{expected:?}");
        let mut uses = 0;
        loop {
            let left = Arc::new(AtomicUsize::new(uses));
            let device = watched(&open("interpreter", None), Mortal { left: Arc::clone(&left) });
            let found = run_on(&case, device, options, LIMIT);
            if left.load(Ordering::Relaxed) > 0 {
                assert_eq!(found.value, expected.value, "{name} after {uses}");
                break;
            }
            match &found.value {
                Ok(_) => assert_eq!(found, expected, "{name} after {uses}"),
                Err((code, _)) => assert_eq!(*code, girih::Code::DeviceLost, "{name} after {uses}"),
            }
            assert!(expected.written.starts_with(&found.written), "{name} after {uses}: {found:?}");
            uses += share.stride();
        }
        assert!(uses > 20, "{name} uses the device only {uses} times");
    }
}
