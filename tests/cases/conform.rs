//! The conformance suite as tests: every group of cases on the reference machine as lowered for several devices, and on
//! the adapters of this machine.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure, `GIRIH_REQUIRE_CUDA=1` a missing card. `GIRIH_RANDOM` sets the number of random
//! kernels on each device.

use crate::support::machine::Interface;
use girih::devices::{self, Profile, Selector};
use girih_base::diag::{Code, Diagnostic};
use girih_conform::{Place, Suite};
use girih_ir::{Module, Verified};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Device, DeviceKind, Runner, TaskOptions};
use girih_workbench::{sample, share};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Random kernels on each device: in part, and in full.
const PART: u64 = 40;
const FULL: u64 = 500;
/// How many tests the table is spread over, so that they run side by side.
const SHARDS: usize = 8;

/// Each so many-th group of a suite, beginning with one of them.
#[derive(Clone, Copy)]
struct Shard {
    first: usize,
    stride: usize,
}

/// All tests.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![];
    for (i, (name, selector, profile)) in configurations().into_iter().enumerate() {
        trials.extend(trials_on(&name, &selector, profile, i));
    }
    trials.extend(apart());
    trials.extend(tasks());
    trials.extend(missing());
    trials
}

/// Where the suite runs: name, device, profile.
fn configurations() -> Vec<(String, Selector, Option<Profile>)> {
    let mut all = vec![
        ("lowered for the web".to_owned(), Selector::Lowered(Profile::Web), None),
        ("lowered for sm_75".to_owned(), Selector::Lowered(Profile::Cuda(75)), None),
        ("lowered for sm_90".to_owned(), Selector::Lowered(Profile::Cuda(90)), None),
        ("lowered for cpu".to_owned(), Selector::Lowered(Profile::Cpu), None),
        ("interpreter of width 1".to_owned(), Selector::Interpreter(1), None),
        ("interpreter of width 4".to_owned(), Selector::Interpreter(4), None),
        ("interpreter of width 64".to_owned(), Selector::Interpreter(64), None),
    ];
    for name in ["ptx:sm_75", "ptx:sm_80", "ptx:sm_90a"] {
        all.push((name.to_owned(), Selector::parse(name).expect("it is a device's name"), None));
    }
    let (found, _) = devices::find();
    for device in found.into_iter().filter(|d| d.problem.is_none() && d.info.kind != DeviceKind::Interpreter) {
        let Ok(selector) = Selector::parse(&device.name) else { continue };
        if device.info.kind != DeviceKind::Cuda {
            all.push((format!("{} within the web's limits", device.name), selector.clone(), Some(Profile::Web)));
        }
        all.push((device.name, selector, None));
    }
    all
}

fn trials_on(name: &str, selector: &Selector, profile: Option<Profile>, number: usize) -> Vec<Trial> {
    let mut trials = vec![];
    let mut trial = |what: String, suite: Suite, shard: Option<Shard>| {
        let selector = selector.clone();
        let run = move || run(&selector, profile, &suite, shard);
        trials.push(Trial::test(format!("conform/{name}: {what}"), run));
    };
    // In part, one shard of the table is run on each configuration.
    let share = share(SHARDS);
    for first in (0..SHARDS).filter(|shard| share.has(shard + number)) {
        trial(format!("table {first}"), Suite::default(), Some(Shard { first, stride: SHARDS }));
    }
    // In part, each program is run on every third configuration. Beside the programs that are there for this: the kernels of benchmarks,
    // and the one that walks over the trees of pictures.
    let share = girih_workbench::share(3);
    let shard = Shard { first: share.offset(number), stride: share.stride() };
    for (what, folder, shard) in [
        ("programs", "tests/ir", Some(shard)),
        ("benchmarks", "benches/ir", None),
        ("pixels", "core/task/src/heap", None),
    ] {
        let programs = Suite { table: false, programs: Some(folder.into()), ..Suite::default() };
        trial(what.to_owned(), programs, shard);
    }
    // Seeds are fixed, so that a failure is the same tomorrow.
    let wanted = sample("GIRIH_RANDOM", PART, FULL) as usize;
    for half in 0..2 {
        let suite = Suite { table: false, random: wanted / 2, seed: 100 + half, ..Suite::default() };
        trial(format!("random {half}"), suite, None);
    }
    // Software devices compile slowly.
    let tiles = if matches!(selector, Selector::Wgpu(_)) { wanted / 25 } else { wanted / 5 };
    trial("tiles".to_owned(), Suite { table: false, tiles, seed: 102, pack: 4, ..Suite::default() }, None);
    trials
}

fn run(selector: &Selector, profile: Option<Profile>, suite: &Suite, shard: Option<Shard>) -> Result<(), Failed> {
    let mut devices: Vec<Device> = vec![devices::open(selector, profile).map_err(|e| e.message().to_owned())?];
    let mut failures = vec![];
    let (mut passed, mut refused) = (0, 0);
    let groups = suite.groups().map_err(|report| report.to_string())?;
    for (i, (_, group)) in groups.enumerate() {
        if shard.is_some_and(|Shard { first, stride }| i % stride != first) {
            continue;
        }
        for score in girih_conform::run_on(&group, &mut devices, &mut |failure| failures.push(failure)) {
            passed += score.passed;
            refused += score.refused;
        }
    }
    if !failures.is_empty() {
        let shown: Vec<String> = failures.iter().take(30).map(|f| format!("{}: {}", f.case, f.what)).collect();
        return Err(format!("{} cases failed\n{}", failures.len(), shown.join("\n")).into());
    }
    // A device that refuses everything conforms to nothing.
    if passed <= refused {
        return Err(format!("only {passed} cases ran, {refused} were refused").into());
    }
    Ok(())
}

/// The programs of a folder.
fn programs(folder: &str) -> Vec<PathBuf> {
    girih_conform::program_files(Path::new(folder)).unwrap_or_else(|report| panic!("{report}"))
}

/// Run lines that are not for all devices: those that must end with an error, those that are for the reference machine alone, and those
/// that call functions as they are.
fn apart() -> Vec<Trial> {
    let mut trials = vec![];
    for path in programs("tests/ir") {
        let name = format!("lines for some of {}", path.display());
        for machine in ["ptx:sm_80", "ptx:sm_90a"] {
            let path = path.clone();
            trials.push(Trial::test(format!("conform/{machine}: {name}"), move || faults_of(&path, machine)));
        }
        trials.push(Trial::test(format!("conform/{name}"), move || {
            let program = girih_conform::program_group(&path).map_err(|report| report.to_string())?;
            for (name, result) in girih_conform::run_apart(&program, Place::Reference) {
                result.map_err(|what| format!("{name}: {what}"))?;
            }
            Ok(())
        }));
    }
    trials
}

/// Run lines that must end with an error, as far as the reading of PTX looks for such errors.
fn faults_of(path: &Path, machine: &str) -> Result<(), Failed> {
    let program = girih_conform::program_group(path).map_err(|report| report.to_string())?;
    let is_found = |code: Code| matches!(code, Code::OutOfBounds | Code::Deadlock);
    let selector = Selector::parse(machine).expect("it is a device's name");
    for (case, code) in program.faults.iter().filter(|(_, code)| is_found(*code)) {
        let device = devices::open(&selector, None).map_err(|e| e.message().to_owned())?;
        let result = girih_conform::run_fault(&program.group, case, *code, &device);
        result.map_err(|what| format!("{}: {what}", case.name))?;
    }
    Ok(())
}

/// A way to run functions in task form.
type Open = dyn Fn(&Verified<Module>) -> Result<Box<dyn Runner>, Diagnostic> + Send + Sync;

/// On the reference machine: as fast as it can, without reuse, with forked calls in several orders, and checked. As native code: on one
/// thread and on several, counting, without reuse, and with each cell asked of the runtime.
fn ways() -> Vec<(String, bool, Arc<Open>)> {
    let plain = TaskSettings::default();
    let mut ways: Vec<(String, bool, Arc<Open>)> = vec![];
    let mut reference = |name: String, options: TaskOptions, settings: TaskSettings| {
        let open = move |module: &Verified<Module>| -> Result<Box<dyn Runner>, Diagnostic> {
            Ok(Box::new(TaskMachine::new(module, options.clone(), settings)?))
        };
        ways.push((name, settings.checked, Arc::new(open)));
    };
    let usual = TaskOptions::default;
    reference("plain".to_owned(), usual(), plain);
    reference("without reuse".to_owned(), TaskOptions { reuse: false, ..usual() }, plain);
    reference("checked".to_owned(), usual(), TaskSettings { checked: true, ..plain });
    for seed in 1..=3 {
        let settings = TaskSettings { seed: Some(seed), checked: seed == 3, ..plain };
        reference(format!("forks in order {seed}"), usual(), settings);
    }
    let mut native = |name: &str, options: TaskOptions| {
        let open = move |module: &Verified<Module>| -> Result<Box<dyn Runner>, Diagnostic> {
            Ok(Box::new(girih_cpu::tasks::open(module, &options)?))
        };
        ways.push((format!("native, {name}"), false, Arc::new(open)));
    };
    native("one thread", usual());
    native("counting", TaskOptions { count: true, ..usual() });
    native("without reuse", TaskOptions { count: true, reuse: false, ..usual() });
    native("careful", TaskOptions { fail_each: Some(u64::MAX), ..usual() });
    native("two threads", TaskOptions { threads: 2, ..usual() });
    native("five threads, counting", TaskOptions { threads: 5, count: true, ..usual() });
    ways
}

/// Functions in task form.
fn tasks() -> Vec<Trial> {
    let mut trials = vec![];
    for path in programs("tests/ir/tasks") {
        for (way, checked, open) in ways() {
            let path = path.clone();
            trials.push(Trial::test(format!("conform/task form of {}: {way}", path.display()), move || {
                let program = girih_conform::program_group(&path).map_err(|report| report.to_string())?;
                if program.tasks.lines.is_empty() {
                    return Err("the file has no run lines of functions in task form".into());
                }
                let wrong =
                    girih_conform::run_tasks(&program.tasks, checked, &mut |module: &Verified<Module>| open(module));
                if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
            }));
        }
    }
    trials
}

/// A test for each interface, that there is a device of it: it fails where there has to be one.
fn missing() -> Vec<Trial> {
    let there = |interface: Interface| {
        let look = move || {
            interface.some_devices();
            Ok(())
        };
        Trial::test(format!("conform/there is a {}", interface.what), look)
    };
    Interface::ALL.into_iter().map(there).collect()
}
