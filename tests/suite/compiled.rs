//! Random well-typed programs, compiled: what runners of the compiled code give is what the evaluator gives. Cells are reused
//! or not, memory fails at one allocation after the other, and what is live at the end is what the globals keep.
//!
//! The programs have every kind of node of the syntax tree, but those that need interaction nets.
//!
//! 100 programs are tried, 2,000 with `GIRIH_TESTS=full`, or as many as `GIRIH_PROGRAMS` says; `GIRIH_PROGRAM` picks a single one.

use crate::support::census::{self, Census};
use crate::support::generate::{self, Limits, Source};
use crate::support::random::Random;
use crate::support::watch::{self, Ended};
use girih::{Code, Diagnostic, RunDevice, RunOptions, SystemHost, on_big_stack};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions, TaskStats};
use girih_task::lower::Direct;
use girih_term::code;
use girih_term::eval::{Limits as Memory, Machine};
use girih_workbench::{number, sample};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// No program of the generator is meant to take this long.
const LIMIT: Duration = Duration::from_secs(120);
/// Steps of the reference machine; the few programs that need more are left to the other runners.
const STEPS: u64 = 2_000_000;

/// Kinds of nodes that no program of the generator has, and why.
const ABSENT: &[(&str, &str)] = &[
    ("item: hvm", "interaction nets"),
    ("pattern: scopeless variable", "needs interaction nets"),
    ("expression: scopeless variable", "needs interaction nets"),
    ("expression: superposition", "needs interaction nets"),
    ("expression: natural number", "stands in the prelude and in program arguments only"),
];

#[test]
fn every_kind_of_node_is_generated() {
    let mut all = Census::default();
    (0..PROGRAMS).for_each(|number| all.program(&source(number).main));
    let mut wrong = vec![];
    for kind in census::kinds() {
        let count = all.of(kind);
        println!("{count:8} {kind}");
        let is_absent = ABSENT.iter().any(|(absent, _)| *absent == kind);
        if is_absent != (count == 0) {
            wrong.push(format!("{kind}: {count}"));
        }
    }
    assert!(wrong.is_empty(), "kinds that never occur, or should not: {wrong:?}");
}

/// How many programs have every kind of node.
const PROGRAMS: u64 = 500;

fn source(number: u64) -> Source {
    generate::program(number, Limits { affine: false, size: (number % 10) as usize })
}

/// Makes a runner for a program.
type Open = fn(&Direct, TaskOptions) -> Result<Box<dyn Runner>, Diagnostic>;

/// What runs a module.
struct Kind {
    name: &'static str,
    open: Open,
    threads: usize,
    /// It runs each program whose number is a multiple of this.
    each: u64,
    /// How many allocations fail at most, of one program.
    failures: u64,
}

/// All runners. The first one looks at every access, and counts the owners of every cell at the end.
const RUNNERS: &[Kind] = &[
    Kind { name: "the reference machine", open: reference, threads: 1, each: 1, failures: 24 },
    Kind { name: "native code", open: native, threads: 1, each: 1, failures: 4 },
    Kind { name: "native code on three threads", open: native, threads: 3, each: 4, failures: 1 },
];

fn reference(direct: &Direct, options: TaskOptions) -> Result<Box<dyn Runner>, Diagnostic> {
    let settings = TaskSettings { checked: true, seed: None, fuel: Some(STEPS) };
    Ok(Box::new(TaskMachine::new(&direct.module, options, settings)?))
}

fn native(direct: &Direct, options: TaskOptions) -> Result<Box<dyn Runner>, Diagnostic> {
    Ok(Box::new(girih_cpu::tasks::open(&direct.module, &options)?))
}

/// What came of the programs.
#[derive(Default)]
struct Totals {
    values: AtomicU64,
    /// Programs that take too many steps for the reference machine.
    long: AtomicU64,
    runs: AtomicU64,
    /// Runs that ended for lack of memory, as they should.
    short: AtomicU64,
    /// Cells that were made in the memory of others.
    reused: AtomicU64,
}

impl Totals {
    fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

#[test]
fn compiled_programs_give_what_the_evaluator_gives() {
    static TOTALS: Totals = Totals {
        values: AtomicU64::new(0),
        long: AtomicU64::new(0),
        runs: AtomicU64::new(0),
        short: AtomicU64::new(0),
        reused: AtomicU64::new(0),
    };
    if let Some(one) = number("GIRIH_PROGRAM") {
        try_one(one, &TOTALS).unwrap_or_else(|wrong| panic!("{}", wrong.said));
        return;
    }
    let total = sample("GIRIH_PROGRAMS", 100, 2000);
    let next = AtomicU64::new(0);
    let failed = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        return;
                    }
                    if let Err(wrong) = try_one(number, &TOTALS) {
                        println!("{}", wrong.said.lines().next().unwrap_or_default());
                        failed.lock().expect("no thread panics with it").push(wrong);
                    }
                }
            });
        }
    });
    let [values, long, runs, short, reused] =
        [&TOTALS.values, &TOTALS.long, &TOTALS.runs, &TOTALS.short, &TOTALS.reused]
            .map(|count| count.load(Ordering::Relaxed));
    println!(
        "{values} of {total} programs end with a value, {long} take long; {runs} runs, {short} of them short of memory; \
         {reused} cells in the memory of others"
    );
    let failed = failed.into_inner().expect("all threads have ended");
    if let Some(smallest) = failed.iter().min_by_key(|wrong| wrong.size) {
        panic!("{} of {total} programs go wrong; the smallest one is {}", failed.len(), smallest.said);
    }
    assert!(values >= total / 2, "most programs end with a value");
    assert!(long <= total / 20, "most programs are for every runner");
    assert!(short >= total && reused >= total, "programs use memory, again and again");
}

/// A program that went wrong.
struct Wrong {
    said: String,
    /// How long its text is.
    size: usize,
}

fn try_one(number: u64, totals: &'static Totals) -> Result<(), Wrong> {
    let text = source(number);
    let program = text.clone();
    let why = match watch::within(LIMIT, move || compare(number, &program, totals)) {
        Ended::Well(Ok(())) => return Ok(()),
        Ended::Well(Err(said)) => said,
        Ended::Panicked(message) => format!("a panic: {message}"),
        Ended::Late => "it did not end".to_owned(),
    };
    Err(Wrong { said: format!("GIRIH_PROGRAM={number}: {why}\n{text}"), size: text.main.len() })
}

fn compare(number: u64, text: &Source, totals: &Totals) -> Result<(), String> {
    let program = text.compile();
    let core = program.core_program().map_err(|report| report.to_string())?;
    let evaluator = RunOptions { device: RunDevice::Evaluator, explain: false, ..RunOptions::default() };
    let expected = program.run(&mut SystemHost::new(), &evaluator);
    let expected = expected.map(|outcome| outcome.text).map_err(|report| report.diagnostics[0].code);
    if expected.is_ok() {
        Totals::add(&totals.values, 1);
    }
    on_big_stack(|| {
        let code = code::Code::new(core).map_err(|errors| said(&errors))?;
        let direct = girih_task::compile(&code).map_err(|errors| said(&errors))?;
        let mut compared = Compared { code: &code, direct: &direct, expected, kept: None };
        for kind in RUNNERS.iter().filter(|kind| number.is_multiple_of(kind.each)) {
            compared.on(kind, &mut Random::new(number), totals).map_err(|said| format!("{}: {said}", kind.name))?;
        }
        Ok(())
    })
}

fn said(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect::<Vec<_>>().join("; ")
}

/// A compiled program, and what it has to give.
struct Compared<'c> {
    code: &'c code::Code,
    direct: &'c Direct,
    /// The value as text, or the code of the error.
    expected: Result<String, Code>,
    /// How many cells the globals keep when it has ended, by the first runner that has run it.
    kept: Option<u64>,
}

/// How a run ended.
struct Run {
    outcome: Result<String, Code>,
    stats: TaskStats,
    /// What the same machine has after it has run the program again.
    again: TaskStats,
}

impl Compared<'_> {
    fn on(&mut self, kind: &Kind, random: &mut Random, totals: &Totals) -> Result<(), String> {
        for reuse in [true, false] {
            let options = TaskOptions { reuse, threads: kind.threads, count: true, ..TaskOptions::default() };
            let run = self.run(kind, &options, totals)?;
            if run.outcome == Err(Code::OutOfFuel) {
                Totals::add(&totals.long, 1);
                return Ok(());
            }
            self.is_right(&run, &options)?;
            if *self.kept.get_or_insert(run.stats.live) != run.stats.live && run.outcome.is_ok() {
                return Err(format!("{:?} cells are kept, not {:?}", run.stats.live, self.kept));
            }
            Totals::add(&totals.reused, run.stats.reused);
            if !reuse && run.stats.reused > 0 {
                return Err("memory is used again though it must not be".to_owned());
            }
            for n in failures(run.stats.allocated, kind.failures, random) {
                let short = TaskOptions { fail_each: Some(n), ..options.clone() };
                self.is_short(kind, &self.run(kind, &short, totals)?, n, &run)?;
                Totals::add(&totals.short, 1);
            }
            // There are no more allocations than that.
            let enough = TaskOptions { fail_each: Some(run.again.allocated + 1), ..options };
            if kind.threads == 1 {
                self.is_right(&self.run(kind, &enough, totals)?, &enough)?;
            }
        }
        Ok(())
    }

    /// Runs the program, and once more on the same heap.
    fn run(&self, kind: &Kind, options: &TaskOptions, totals: &Totals) -> Result<Run, String> {
        let mut runner = (kind.open)(self.direct, options.clone()).map_err(|error| said(&[error]))?;
        Totals::add(&totals.runs, 1);
        let outcome = self.once(&mut *runner);
        let stats = runner.stats();
        let again = match outcome {
            // After a fault, the heap can only be asked for its statistics.
            Err(_) => stats,
            Ok(_) => {
                let again = self.once(&mut *runner);
                // A shortage of memory may come only now.
                if again != outcome && options.fail_each.is_none() {
                    return Err(format!("{again:?} when it is run again with {options:?}, not {outcome:?}"));
                }
                runner.stats()
            }
        };
        Ok(Run { outcome, stats, again })
    }

    fn once(&self, runner: &mut dyn Runner) -> Result<String, Code> {
        let mut machine = Machine::new(self.code, Memory::default());
        let mut host = SystemHost::new().with_stdout(Box::new(std::io::sink()));
        girih_task::run::run(&mut machine, self.direct, runner, &mut host, None).map_err(|error| error.code)
    }

    /// A run that has all the memory that it needs.
    fn is_right(&self, run: &Run, options: &TaskOptions) -> Result<(), String> {
        if run.outcome != self.expected {
            return Err(format!("{:?} with {options:?}, not {:?}", run.outcome, self.expected));
        }
        is_sound(&run.stats)?;
        is_sound(&run.again)?;
        // What the globals keep is computed in the first run; the result is dropped.
        if run.stats.live != run.again.live || run.stats.live_bytes != run.again.live_bytes {
            return Err(format!("a leak with {options:?}: {:?}, then {:?}", run.stats, run.again));
        }
        Ok(())
    }

    /// A run whose n-th allocation fails; `whole` is one where none does. Threads count their allocations as they come.
    fn is_short(&self, kind: &Kind, run: &Run, n: u64, whole: &Run) -> Result<(), String> {
        is_sound(&run.stats)?;
        let is_exact = kind.threads > 1 || run.stats.allocated + 1 == n;
        if run.outcome != Err(Code::OutOfMemory) || !is_exact {
            return Err(format!("{:?} when allocation {n} fails: {:?}, not {:?}", run.outcome, run.stats, whole.stats));
        }
        Ok(())
    }
}

/// What must hold of the counts of every heap at any time.
fn is_sound(stats: &TaskStats) -> Result<(), String> {
    let TaskStats { allocated, freed, live, most_live, live_bytes, most_bytes, .. } = *stats;
    let most = most_live.unwrap_or(live);
    let is_sound = live + freed <= allocated && live <= most && live_bytes <= most_bytes && live * 8 <= live_bytes;
    if is_sound { Ok(()) } else { Err(format!("counts that cannot be: {stats:?}")) }
}

/// Which allocations are to fail: all of them, or the first ones, the last one and some others.
fn failures(allocated: u64, most: u64, random: &mut Random) -> Vec<u64> {
    if allocated <= most {
        return (1..=allocated).collect();
    }
    let some = [1, allocated, 2, 3]
        .into_iter()
        .chain(std::iter::from_fn(|| Some(random.below(allocated as usize) as u64 + 1)));
    some.take(most.min(8) as usize).collect()
}
