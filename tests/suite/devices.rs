//! Programs on devices hold what they promise: errors end them soon, with a place in the source, and leave the device as it was; memory grows
//! by need; nothing leaks; and random programs do what the evaluator does, however few lanes, steps and bytes they are given.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure. `GIRIH_DEVICE` names the device that stands for the adapters of this machine;
//! then `GIRIH_DEVICE_PROGRAMS` says how many random programs there are, and `GIRIH_DEVICE_FIRST` the number of the first one: so that thousands
//! of them can be tried on a card, in several calls.

use crate::support::driver::{Given, Use, Watch, watched};
use crate::support::generate::{self, Source};
use crate::support::machine;
use crate::support::random::Random;
use girih::devices::{self, Profile, Selector};
use girih::{Code, Diagnostic, Options, Program, RunDevice, RunOptions, Span, SystemHost, Work, on_big_stack};
use girih_runtime::driver::BlockId;
use girih_runtime::{Device, Runner, TaskOptions, TaskStats};
use girih_task::flow::Root;
use girih_task::forkjoin::Form;
use girih_task::forkjoin::runner::{ForkJoinOptions, ForkJoinRunner};
use girih_task::heap::{PARTS, Segmented};
use girih_task::lower::Direct;
use girih_term::code;
use girih_term::eval::{Limits, Machine};
use girih_workbench::{number, sample, share};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The device that a variable names, or the adapters of this machine.
fn adapters() -> Vec<Selector> {
    match std::env::var("GIRIH_DEVICE") {
        Ok(name) => vec![Selector::parse(&name).expect("a device's name")],
        Err(_) => machine::WGPU.some_devices(),
    }
}

fn open(selector: &Selector, profile: Option<Profile>) -> Device {
    devices::open(selector, profile).expect("the device is there")
}

fn program(text: &str) -> Program {
    Program::from_text("test.bend", text, &Options::default())
}

// Errors.

/// A program, its error, and what stands at the error's place.
struct Wrong {
    text: &'static str,
    code: Code,
    place: &'static str,
}

const WRONG: &[Wrong] = &[
    Wrong {
        text: "def grow(list, n):\n  if n:\n    return grow(List/Cons(n, list), n | 1)\n  else:\n    return list\n\ndef main():\n  return grow([], 1)\n",
        code: Code::OutOfMemory,
        place: "List/Cons(n, list)",
    },
    Wrong {
        text: "def leaf(n):\n  return 7 / n\n\ndef sum(d, n):\n  switch d:\n    case 0:\n      return leaf(n)\n    case _:\n      return sum(d-1, n) + sum(d-1, n - 1)\n\ndef main():\n  return sum(3, 3)\n",
        code: Code::DivisionByZero,
        place: "7 / n",
    },
    Wrong {
        text: "def f(x, n):\n  if n == 0:\n    return x\n  else:\n    return f([], n - 1)\n\ndef main():\n  match x = f(!1, 3):\n    case Tree/Leaf:\n      return 1\n    case Tree/Node:\n      return 2\n",
        code: Code::NoMatchingCase,
        place: "f(!1, 3)",
    },
    Wrong {
        text: "def deep(n):\n  if n == 16777215:\n    return 0\n  else:\n    return 1 + deep(n + 1) * 2\n\ndef main():\n  return deep(1)\n",
        code: Code::TooManyCalls,
        place: "deep",
    },
    Wrong { text: "x = (+ x 1)\nmain = x\n", code: Code::SelfDependent, place: "x" },
];

const RIGHT: &str = "def sum(d, n):\n  switch d:\n    case 0:\n      return n\n    case _:\n      return sum(d-1, n) + sum(d-1, n + 1)\n\ndef main():\n  return (sum(6, 0), [1, 2])\n";

fn options(device: &Selector, explain: bool) -> RunOptions {
    // What a lane makes by itself would take minutes to fill a card, and as long to fill a little on the reference machine.
    let heap = if matches!(device, Selector::Lowered(_)) { 2 << 20 } else { 64 << 20 };
    RunOptions { device: RunDevice::Device(device.clone()), explain, heap: Some(heap), ..RunOptions::default() }
}

/// How many kernels a program that fails may start at most.
const DISPATCHES: u64 = 20_000;

fn errors_end_soon(device: &Selector) {
    // In part, each error is explained or not, in turn.
    let share = share(2);
    for (number, Wrong { text, code, place }) in WRONG.iter().enumerate() {
        for explain in [false, true].into_iter().filter(|explain| share.has(number + usize::from(*explain))) {
            let mut executable = program(text).compile(&options(device, explain)).expect("it compiles");
            let report = executable.run(&mut SystemHost::new()).expect_err("it is wrong");
            let error = &report.diagnostics[0];
            assert_eq!(error.code, *code, "{device}: {report}");
            let span = error.span();
            assert!(!span.is_none(), "{device}: {report}");
            let found = &text[span.start as usize..span.end as usize];
            assert!(found.contains(place), "{device}: `{found}`: {report}");
            let dispatches = match executable.stats().work {
                Work::Compiled(TaskStats { steps: Some(steps), .. }) => steps.dispatches,
                work => panic!("{device} did {work:?}"),
            };
            println!("{device}: {dispatches} dispatches until {code}");
            assert!(dispatches < DISPATCHES, "{device}: {dispatches} dispatches until: {report}");
        }
        // The device works for the next one.
        let right = program(RIGHT).run(&mut SystemHost::new(), &options(device, true));
        assert_eq!(right.expect("it is right").text, "(192, [1, 2])");
    }
}

#[test]
fn errors_end_soon_with_their_place() {
    adapters().iter().for_each(errors_end_soon);
}

/// The same, with a look at every access: a lane that finds no memory writes nothing that another one sees.
#[test]
fn errors_end_well_on_the_reference_machine() {
    errors_end_soon(&Selector::Lowered(Profile::Cpu));
}

// A device that counts.

/// What a device has given out.
#[derive(Default)]
struct Counts {
    buffers: AtomicU64,
    bytes: AtomicU64,
    most_bytes: AtomicU64,
    programs: AtomicU64,
}

/// Who counts what a device gives out and gets back, and refuses more memory than there is.
struct Counting {
    counts: Arc<Counts>,
    sizes: Mutex<HashMap<BlockId, u64>>,
    /// Bytes that there are.
    most: u64,
}

impl Counting {
    fn over(device: &Device, most: u64) -> (Device, Arc<Counts>) {
        let counts = Arc::new(Counts::default());
        let counting = Counting { counts: Arc::clone(&counts), sizes: Mutex::default(), most };
        (watched(device, counting), counts)
    }
}

impl Watch for Counting {
    fn asked(&self, what: Use) -> Result<(), Diagnostic> {
        match what {
            Use::Allocate(bytes) if self.counts.bytes.load(Ordering::Relaxed) + bytes > self.most => {
                Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, "not that much"))
            }
            Use::Allocate(_) | Use::Load | Use::Work => Ok(()),
        }
    }

    fn given(&self, what: Given) {
        let sizes = || self.sizes.lock().expect("nobody panics meanwhile");
        match what {
            Given::Block(block, bytes) => {
                sizes().insert(block, bytes);
                self.counts.buffers.fetch_add(1, Ordering::Relaxed);
                let bytes = self.counts.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
                self.counts.most_bytes.fetch_max(bytes, Ordering::Relaxed);
            }
            Given::Released(block) => {
                let bytes = sizes().remove(&block).expect("a block is given back once");
                self.counts.buffers.fetch_sub(1, Ordering::Relaxed);
                self.counts.bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
            Given::Programs(count) => {
                self.counts.programs.fetch_add(count as u64, Ordering::Relaxed);
            }
            Given::Unloaded => {
                self.counts.programs.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

// Programs by fork-join.

/// A program, compiled.
struct Compiled {
    code: code::Code,
    direct: Direct,
}

impl Compiled {
    fn new(program: &Program) -> Compiled {
        Compiled::of(program).unwrap_or_else(|errors| panic!("it does not compile: {errors:?}"))
    }
    fn of(program: &Program) -> Result<Compiled, Vec<Diagnostic>> {
        let code = code::Code::new(program.core_program().expect("it is right")).expect("it can run");
        let roots: Vec<Root> = code.program().entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
        let direct = girih_task::compile_for_lanes(&code, &roots)?;
        Ok(Compiled { code, direct })
    }

    fn open(&self, device: Device, options: ForkJoinOptions) -> Result<ForkJoinRunner, Vec<Diagnostic>> {
        let Direct { module, entry, apply, force, .. } = &self.direct;
        ForkJoinRunner::open(module, &[*entry, *apply, *force], device, &TaskOptions::default(), options)
    }

    /// Fills the heap with about so many bytes that nobody needs: one cell, with many more fields than its layout has.
    fn fill(&self, runner: &mut dyn Runner, bytes: usize) {
        if let Some(layout) = self.direct.module.layouts.ids().next() {
            runner.new_cell(layout, &vec![0; bytes / 4]).expect("there is room");
        }
    }

    fn run(&self, runner: &mut dyn Runner) -> Result<String, Code> {
        let mut machine = Machine::new(&self.code, Limits::default());
        let mut host = SystemHost::new().with_stdout(Box::new(std::io::sink()));
        girih_task::run::run(&mut machine, &self.direct, runner, &mut host, None).map_err(|error| error.code)
    }
}

/// Few lanes, and a heap and a pool that begin small.
const SMALL: ForkJoinOptions = ForkJoinOptions {
    lanes: 64,
    frames: 1 << 9,
    most_frames: 1 << 16,
    heap: 2 << 10,
    most_heap: 16 << 20,
    steps: 2000,
    form: Form::SMALL,
    batch: 8,
};

/// Keeps a list of so many numbers and looks at it again and again, for each of several trees.
const KEEPS: &str = "\
def count(n, list):
  if n == 0:
    return list
  else:
    return count(n - 1, List/Cons(n, list))

def sum(list):
  match list:
    case List/Nil:
      return 0
    case List/Cons:
      return list.head + sum(list.tail)

def sums(d, list):
  switch d:
    case 0:
      return sum(list)
    case _:
      return sums(d-1, list) + sums(d-1, List/Cons(d, list))

kept = (count 500 [])

def main():
  return (sums(5, kept), sums(4, count(400, [])))
";

#[test]
fn memory_grows_by_need() {
    on_big_stack(|| {
        let program = program(KEEPS);
        let evaluator = RunOptions { device: RunDevice::Evaluator, ..RunOptions::default() };
        let expected = program.run(&mut SystemHost::new(), &evaluator).expect("it ends").text;
        let compiled = Compiled::new(&program);
        for selector in [Selector::Cpu, Selector::Lowered(Profile::Cpu)] {
            let (device, counts) = Counting::over(&open(&selector, None), u64::MAX);
            let mut runner = compiled.open(device, SMALL).expect("it loads");
            let small = counts.bytes.load(Ordering::Relaxed);
            for _ in 0..2 {
                assert_eq!(compiled.run(&mut runner).as_ref(), Ok(&expected), "{selector}");
                let options = runner.options();
                assert!(options.heap > SMALL.heap && options.heap <= SMALL.most_heap, "{options:?}");
                assert!(options.frames > SMALL.frames && options.frames <= SMALL.most_frames, "{options:?}");
                runner.renew().expect("it works");
            }
            // What was too small has been given back.
            drop(runner.close());
            let most = counts.most_bytes.load(Ordering::Relaxed);
            assert!(small < 1 << 20 && most < 8 << 20, "{small}, then {most} bytes");
            assert_eq!(counts.buffers.load(Ordering::Relaxed), 0);
        }
    });
}

#[test]
fn a_device_of_which_others_have_a_part_gives_what_it_has() {
    on_big_stack(|| {
        let compiled = Compiled::new(&program(WRONG[0].text));
        let (little, _) = Counting::over(&open(&Selector::Cpu, None), 4 << 20);
        let mut runner = compiled.open(little, SMALL).expect("it loads");
        assert_eq!(compiled.run(&mut runner), Err(Code::OutOfMemory));
        // Two heaps are there while one is copied.
        let options = runner.options();
        assert!(options.heap > 1 << 20 && options.heap < 4 << 20 && options.most_heap == options.heap, "{options:?}");
    });
}

/// How often it is looked whether a device has given back what was freed.
const LOOKS: usize = 1000;

/// Lets go of all that a device keeps for later. What work may still use goes when a wait has seen the end of that work. A card with much to do
/// says that a stream is idle some time before it says that the events in it were reached, so it is waited more than once.
fn emptied(device: &Device) {
    for _ in 0..LOOKS {
        device.wait().and_then(|()| device.trim()).and_then(|()| device.wait()).expect("it works");
        if device.figures().cached == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A hundred runs, with errors between, and loaded anew ten times: what the device has given out is what it had before.
#[test]
fn a_hundred_runs_leak_nothing() {
    on_big_stack(|| {
        let programs: Vec<Compiled> =
            [RIGHT, WRONG[0].text, WRONG[1].text, KEEPS].map(program).iter().map(Compiled::new).collect();
        for selector in adapters() {
            let (device, counts) = Counting::over(&open(&selector, None), u64::MAX);
            let mut ended = [0; 2];
            for _ in 0..3 {
                for compiled in &programs {
                    let options = ForkJoinOptions { most_heap: 1 << 20, ..SMALL };
                    let mut runner = compiled.open(device.clone(), options).expect("it loads");
                    let mut there = vec![];
                    for _ in 0..9 {
                        ended[usize::from(compiled.run(&mut runner).is_ok())] += 1;
                        runner.renew().expect("it works");
                        // What is only kept for later is not counted: when it is, depends on when work ends.
                        emptied(&device);
                        there.push((counts.buffers.load(Ordering::Relaxed), counts.bytes.load(Ordering::Relaxed)));
                    }
                    // The first run makes memory grow.
                    assert!(there.iter().all(|count| count == &there[0]), "{selector}: {there:?}");
                    drop(runner);
                    emptied(&device);
                    let left =
                        [&counts.buffers, &counts.bytes, &counts.programs].map(|count| count.load(Ordering::Relaxed));
                    assert_eq!(left, [0; 3], "{selector}");
                }
            }
            assert_eq!(ended, [54, 54], "{selector}");
        }
    });
}

// Random programs.

/// Random programs on each adapter, and as many within the limits of the web: in part, and in full.
const PROGRAMS: [u64; 2] = [6, 50];
/// And on machines that look at every access.
const CHECKED: [u64; 2] = [30, 100];
/// Of how many it is only looked at what the compiler makes of them.
const COMPILED: [u64; 2] = [500, 3000];
/// Larger kernels are left to cards, whose compilers are faster: their points where code is left.
const POINTS: usize = 14;

/// How random programs are tried.
#[derive(Clone, Copy)]
struct Trial {
    /// The device, and the limits that it is held to.
    profile: Option<Profile>,
    threads: usize,
    /// The most points that a program has where its code is left.
    most: usize,
    /// Whether the heap stands in several buffers, and the program finds some of them full.
    in_parts: bool,
}

impl Trial {
    fn new(profile: Option<Profile>, threads: usize, most: usize) -> Trial {
        Trial { profile, threads, most, in_parts: false }
    }

    fn open(&self, selector: &Selector) -> Device {
        let device = open(selector, self.profile);
        if self.in_parts { Segmented::with_parts(&device, WHOLE, PART) } else { device }
    }
}

/// Bytes of a buffer that is not split, where heaps stand in several, and of each part of one that is: lists of calls are smaller than this.
const WHOLE: u64 = 64 << 10;
const PART: u64 = 32 << 10;
/// Random programs with such heaps, on each adapter and on the processor.
const IN_PARTS: [u64; 2] = [4, 16];

/// How many programs there are of those.
fn count([part, full]: [u64; 2]) -> usize {
    sample("GIRIH_DEVICE_PROGRAMS", part, full) as usize
}

/// How a random program is run.
fn random_options(random: &mut Random, trial: &Trial) -> ForkJoinOptions {
    if trial.in_parts {
        let heap = *random.pick(&[16 << 10, 72 << 10, PARTS as u64 * PART]);
        let steps = *random.pick(&[3, 40, 500]);
        let most_heap = PARTS as u64 * PART;
        // Within the web's limits nothing else has a binding left.
        return ForkJoinOptions { lanes: 32, frames: 1 << 8, most_frames: 1 << 8, heap, most_heap, steps, ..SMALL };
    }
    let most = trial.most;
    let lanes = *random.pick(&[32, 64, 96, 256]);
    let steps = *random.pick(&[3, 40, 500, 4000]);
    // Artificially small: some programs need more than there is then.
    let most_heap = *random.pick(&[24, 256, 16 << 20]);
    let heap = most_heap.min(*random.pick(&[16, 256, 1 << 20]));
    let batch = *random.pick(&[1, 3, 16]);
    // Calls are gone into, where kernels may be large.
    let is_deep = most == usize::MAX && random.chance(50);
    let form = if is_deep { Form { workgroup: 32, stack: 16, ..Form::FAST } } else { Form::SMALL };
    ForkJoinOptions { lanes, frames: 1 << 9, most_frames: 1 << 16, heap, most_heap, steps, form, batch }
}

/// What came of random programs.
#[derive(Default)]
struct Totals {
    values: AtomicU64,
    /// Those that ended for lack of the little memory that they were given.
    short: AtomicU64,
    grown: AtomicU64,
}

/// Runs the program of a number on a device, which is given back.
fn try_one(number: u64, source: &Source, device: Device, trial: &Trial, totals: &Totals) -> Result<Device, String> {
    let program = source.compile();
    let evaluator = RunOptions { device: RunDevice::Evaluator, explain: false, ..RunOptions::default() };
    let expected = program.run(&mut SystemHost::new(), &evaluator);
    let expected = expected.map(|outcome| outcome.text).map_err(|report| report.diagnostics[0].code);
    let compiled = Compiled::of(&program).map_err(|errors| format!("it does not compile: {}", errors[0].message))?;
    let random = &mut Random::new(number);
    let options = random_options(random, trial);
    let mut runner = compiled.open(device, options).map_err(|errors| errors[0].message.clone())?;
    for _ in 0..2 {
        if trial.in_parts {
            compiled.fill(&mut runner, random.below((PARTS as u64 * PART) as usize - (16 << 10)));
        }
        let found = compiled.run(&mut runner);
        let lacks = matches!(found, Err(Code::OutOfMemory | Code::TooManyCalls));
        if lacks && options.most_heap < 16 << 20 {
            totals.short.fetch_add(1, Ordering::Relaxed);
        } else if found != expected {
            return Err(format!("{found:?} with {options:?}, not {expected:?}"));
        }
        totals.values.fetch_add(u64::from(found.is_ok()), Ordering::Relaxed);
        totals.grown.fetch_add(u64::from(runner.options().heap > options.heap), Ordering::Relaxed);
        runner.renew().map_err(|fault| format!("{fault:?}"))?;
    }
    Ok(runner.close())
}

/// About how many points there are where the code of a program is left.
fn points(direct: &Direct) -> usize {
    use girih_ir::Op;
    let mut points = 0;
    for function in direct.module.functions.iter() {
        points += 1;
        function.walk(function.body, &mut |_, inst| {
            points += usize::from(matches!(inst.op, Op::Call | Op::Fork | Op::Join | Op::GlobalGet | Op::Loop));
        });
    }
    points
}

/// So many programs from a number on, and their numbers; those with no more than `most` points.
fn sources(first: u64, count: usize, most: usize) -> Vec<(u64, Source)> {
    let source = |number: u64| {
        let size = if most < usize::MAX { number % 3 } else { number % 10 };
        (number, generate::program(number, generate::Limits { affine: false, size: size as usize }))
    };
    let is_small =
        |(_, source): &(u64, Source)| most == usize::MAX || points(&Compiled::new(&source.compile()).direct) <= most;
    on_big_stack(|| (first..).map(source).filter(is_small).take(count).collect())
}

/// Runs random programs on a device, on several threads.
fn try_all(selector: &Selector, trial: Trial, sources: &[(u64, Source)]) {
    let (next, totals, failed) = (AtomicU64::new(0), Totals::default(), Mutex::new(vec![]));
    let work = || {
        let mut device = None;
        while let Some((number, source)) = sources.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            let held = device.take().unwrap_or_else(|| trial.open(selector));
            match try_one(*number, source, held, &trial, &totals) {
                Ok(held) => device = Some(held),
                Err(why) => {
                    println!("program {number}: {why}");
                    let said = format!("program {number}: {why}\n{source}");
                    failed.lock().expect("no thread panics with it").push((source.main.len(), said));
                }
            }
        }
    };
    std::thread::scope(|scope| (0..trial.threads).for_each(|_| drop(scope.spawn(|| on_big_stack(work)))));
    let Totals { values, short, grown } = &totals;
    let [values, short, grown] = [values, short, grown].map(|count| count.load(Ordering::Relaxed));
    let total = sources.len() as u64;
    println!(
        "{selector}: of {total} programs, run twice, {values} runs end with a value, {short} lack memory, {grown} had it grow"
    );
    let failed = failed.into_inner().expect("all threads have ended");
    if let Some((_, smallest)) = failed.iter().min_by_key(|(size, _)| *size) {
        panic!("{} of {total} programs go wrong on {selector}; the smallest one is {smallest}", failed.len());
    }
    assert!(values + short >= total, "most programs end with a value");
    if trial.in_parts {
        assert!(2 * values > 3 * short, "a hundred KiB are enough for most");
    } else {
        assert!(total < 20 || short > 0 && grown > 0, "memory is small for some, and grows for others");
    }
}

/// The same with a look at every access, so that no two lanes meet, and as a reading of the text that CUDA's driver gets.
#[test]
fn random_programs_do_so_where_every_access_is_looked_at() {
    let sources = sources(10_000, count(CHECKED), usize::MAX);
    for name in ["lowered:web", "ptx"] {
        try_all(&Selector::parse(name).expect("a device's name"), Trial::new(None, 2, usize::MAX), &sources);
    }
}

#[test]
fn random_programs_do_what_the_evaluator_does() {
    let first = number("GIRIH_DEVICE_FIRST").unwrap_or(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if let Ok(name) = std::env::var("GIRIH_DEVICE") {
        let selector = Selector::parse(&name).expect("a device's name");
        let most = usize::MAX;
        try_all(
            &selector,
            Trial::new(None, threads, most),
            &sources(first, sample("GIRIH_DEVICE_PROGRAMS", 1000, 1000) as usize, most),
        );
        return;
    }
    let count = count(PROGRAMS);
    let sources = sources(first, 2 * count, POINTS);
    let (some, others) = sources.split_at(count);
    for selector in adapters() {
        try_all(&selector, Trial::new(None, threads.min(4), POINTS), some);
        // Held to what every browser has: 8 buffers of 128 MiB, 16 KiB of shared memory, workgroups of 256, no subgroups.
        try_all(&selector, Trial::new(Some(Profile::Web), threads.min(4), POINTS), others);
    }
}

/// The same with heaps of several buffers, of which a program finds so much taken that its cells may come into any of them.
#[test]
fn random_programs_do_so_where_the_heap_has_parts() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let parts = |profile| Trial { in_parts: true, ..Trial::new(profile, threads, POINTS) };
    let count = count(IN_PARTS);
    if let Ok(name) = std::env::var("GIRIH_DEVICE") {
        let selector = Selector::parse(&name).expect("a device's name");
        let sources = sources(number("GIRIH_DEVICE_FIRST").unwrap_or(22_000), 2 * count, POINTS);
        let (some, others) = sources.split_at(count);
        try_all(&selector, parts(None), some);
        try_all(&selector, parts(matches!(selector, Selector::Wgpu(_)).then_some(Profile::Web)), others);
        return;
    }
    try_all(&Selector::Cpu, parts(None), &sources(20_000, 4 * count, POINTS));
    try_all(&Selector::Interpreter(8), parts(None), &sources(21_000, count, POINTS));
    for selector in adapters() {
        try_all(&selector, parts(Some(Profile::Web)), &sources(22_000, count, POINTS));
    }
}

/// Far more programs than devices can try: what the compiler makes of them keeps to the rules.
#[test]
fn random_programs_compile() {
    let first = number("GIRIH_DEVICE_FIRST").unwrap_or(0);
    let last = first + count(COMPILED) as u64;
    let wrong = on_big_stack(|| {
        (first..last).find_map(|number| {
            let size = (number % 10) as usize;
            let source = generate::program(number, generate::Limits { affine: false, size });
            let errors = Compiled::of(&source.compile()).err()?;
            Some(format!("program {number}: {}\n{source}", errors[0].message))
        })
    });
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}
