//! What is run, how often, and in which order.
//!
//! Contenders for one figure take turns, so that what else the machine does meets all of them. Each run of a Bend program
//! starts with a new heap, as a process of C does. On a device a program is compiled and loaded once and then run many times: drivers
//! take up to seconds for that.

use super::figures::{Beside, Failed, Figures, Row, Run, Together, median};
use super::machine::{Machine, today};
use super::programs::{BENCHMARKS, Benchmark, Shelf, Size, lines};
use super::rivals::{Answer, CProgram, Cc, Upstream};
use crate::run::Work;
use crate::{Code, Diagnostic, Executable, Options, Program, Report, RunDevice, RunOptions, Span, SystemHost};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Most runs of upstream's runtime, which take long.
const UPSTREAM_SAMPLES: usize = 3;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Programs whose names contain one of these; all if there are none.
    pub only: Vec<String>,
    /// Numbers of threads, ascending; none for a device, which has lanes.
    pub threads: Vec<usize>,
    /// How many runs a figure is the median of; at least 1. One more comes before, which does not count.
    pub samples: usize,
    /// Whether C and upstream take part.
    pub rivals: bool,
    /// What runs the programs.
    pub device: RunDevice,
    /// Bytes that a program's data may take on the host.
    pub memory: u64,
    /// Bytes that it may take on a device; what the device has room for if none.
    pub heap: Option<u64>,
    /// Programs at their smallest sizes: quick, and of no use as figures.
    pub tiny: bool,
    /// Raised to stop.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Plan {
    /// The programs that are measured.
    pub fn benchmarks(&self) -> Vec<&'static Benchmark> {
        let named = |b: &&Benchmark| self.only.is_empty() || self.only.iter().any(|name| b.name.contains(&**name));
        BENCHMARKS.iter().filter(named).collect()
    }

    /// Whether programs run on a device that has to be loaded.
    fn is_on_device(&self) -> bool {
        matches!(self.device, RunDevice::Device(_))
    }

    fn contenders(&self) -> Vec<Contender> {
        let threads = self.threads.iter().map(|n| Contender { threads: Some(*n), loaded: None });
        if self.threads.is_empty() { vec![Contender::default()] } else { threads.collect() }
    }
}

/// What there is to say while measuring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This program is being measured.
    Program(&'static str),
    /// A rival does not take part, in a sentence.
    Skipped(String),
    /// A program failed, in a sentence.
    Failed(String),
}

/// Measures.
///
/// # Errors
/// If it is stopped, or there is no such device. A program that fails has no figures.
pub fn measure(plan: &Plan, tell: &mut dyn FnMut(Event)) -> Result<Figures, Report> {
    let mut found = |rival: Result<(), String>| {
        if let Err(reason) = rival {
            tell(Event::Skipped(reason));
        }
    };
    let mut rivals = Rivals::default();
    if plan.rivals {
        found(Cc::find().map(|cc| rivals.cc = Some(cc)));
        found(Upstream::find().map(|upstream| rivals.upstream = Some(upstream)));
    }
    let together = if plan.only.is_empty() && !plan.is_on_device() { Some(together(plan)?) } else { None };
    let (mut rows, mut failed, mut card) = (vec![], vec![], None);
    for benchmark in plan.benchmarks() {
        tell(Event::Program(benchmark.name));
        match row(plan, benchmark, &rivals, &mut card, tell) {
            Ok(row) => rows.push(row),
            Err(report) if ends(&report) => return Err(report),
            Err(report) => {
                let why = report.diagnostics.first().map_or_else(String::new, |d| d.message.clone());
                tell(Event::Failed(format!("{}: {why}", benchmark.name)));
                failed.push(Failed { name: benchmark.name.to_owned(), why });
            }
        }
    }
    Ok(Figures {
        date: today(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::this(),
        device: plan.device.to_string(),
        card,
        samples: plan.samples,
        cc: rivals.cc.map(|cc| cc.version),
        upstream: rivals.upstream.map(|upstream| upstream.version),
        together,
        rows,
        failed,
    })
}

/// Whether the same would happen to all programs.
fn ends(report: &Report) -> bool {
    let all = [Code::Interrupted, Code::NoDevice, Code::BadArguments];
    report.diagnostics.iter().any(|diagnostic| all.contains(&diagnostic.code))
}

/// Compiles all programs as one.
fn together(plan: &Plan) -> Result<Together, Report> {
    let options =
        RunOptions { device: plan.device.clone(), memory: plan.memory, explain: false, ..RunOptions::default() };
    let mut samples = vec![];
    for _ in 0..plan.samples {
        let executable = Program::load(&Shelf, &Options::default()).compile(&options)?;
        samples.push(executable.stats().compile_seconds);
    }
    Ok(Together { lines: lines(), compile: median(&samples).unwrap_or_default() })
}

#[derive(Default)]
struct Rivals {
    cc: Option<Cc>,
    upstream: Option<Upstream>,
}

fn row(
    plan: &Plan,
    benchmark: &Benchmark,
    rivals: &Rivals,
    card: &mut Option<String>,
    tell: &mut dyn FnMut(Event),
) -> Result<Row, Report> {
    let size = if plan.tiny { benchmark.tiny } else { benchmark.full };
    let mut skip = |reason: String| tell(Event::Skipped(format!("{}: {reason}", benchmark.name)));
    let rival = rivals.cc.as_ref().and_then(|cc| cc.compile(benchmark).map_err(&mut skip).ok());
    let mut contenders = plan.contenders();
    let mut times = Times::new(contenders.len());
    for round in 0..=plan.samples {
        times.counts = round > 0;
        for (i, contender) in contenders.iter_mut().enumerate() {
            let run = bend(plan, benchmark, size, contender, false)?;
            times.note(i, &run);
            *card = run.card;
        }
        if let Some(program) = &rival {
            times.note_c(c(program, benchmark, size).map_err(failed)?);
        }
    }
    // A device says what it took in any run.
    let one = &mut Contender { threads: Some(1), loaded: None };
    let counted = bend(plan, benchmark, size, if plan.is_on_device() { &mut contenders[0] } else { one }, true)?;
    let upstream = match &rivals.upstream {
        Some(upstream) => beside(plan, benchmark, upstream, &mut skip)?,
        None => None,
    };
    let runs = contenders.iter().zip(&times.bend).filter_map(|(Contender { threads, .. }, seconds)| {
        let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Run { threads: *threads, seconds: median(seconds)?, least })
    });
    Ok(Row {
        name: benchmark.name.to_owned(),
        size: size.argument,
        compile: median(&times.compile).unwrap_or_default(),
        runs: runs.collect(),
        bytes: counted.bytes,
        c: median(&times.c),
        upstream,
    })
}

/// The samples of one program.
struct Times {
    counts: bool,
    compile: Vec<f64>,
    bend: Vec<Vec<f64>>,
    c: Vec<f64>,
}

impl Times {
    fn new(threads: usize) -> Times {
        Times { counts: false, compile: vec![], bend: vec![vec![]; threads], c: vec![] }
    }

    fn note(&mut self, position: usize, run: &BendRun) {
        if self.counts {
            self.compile.push(run.compile);
            self.bend[position].push(run.seconds);
        }
    }

    fn note_c(&mut self, answer: Answer) {
        if self.counts {
            self.c.push(answer.seconds);
        }
    }
}

/// What runs a Bend program.
#[derive(Default)]
struct Contender {
    threads: Option<usize>,
    /// The program on a device.
    loaded: Option<Executable>,
}

/// A run of a Bend program.
struct BendRun {
    compile: f64,
    seconds: f64,
    bytes: u64,
    card: Option<String>,
}

/// Compiles a program, if it is not loaded, and runs it once; its value is compared with what it must be.
fn bend(
    plan: &Plan,
    benchmark: &Benchmark,
    size: Size,
    contender: &mut Contender,
    count: bool,
) -> Result<BendRun, Report> {
    let mut executable = match contender.loaded.take() {
        Some(loaded) => loaded,
        None => compiled(plan, benchmark, size, contender.threads, count)?,
    };
    let value = executable.run(&mut SystemHost::new())?;
    if value != size.value {
        return Err(failed(wrong("Girih", benchmark, size, &value)));
    }
    let stats = executable.stats();
    let bytes = match stats.work {
        Work::Compiled(work) => work.most_bytes,
        Work::Net(work) => work.bytes,
        Work::Evaluated(work) => work.largest_live,
    };
    let card = executable.choice().card.as_ref().map(|(info, _)| [&*info.name, &info.backend, &info.driver].join(", "));
    let run = BendRun { compile: stats.compile_seconds, seconds: stats.seconds, bytes, card };
    contender.loaded = plan.is_on_device().then_some(executable);
    Ok(run)
}

fn compiled(
    plan: &Plan,
    benchmark: &Benchmark,
    size: Size,
    threads: Option<usize>,
    count: bool,
) -> Result<Executable, Report> {
    let options = RunOptions {
        device: plan.device.clone(),
        memory: plan.memory,
        heap: plan.heap,
        threads: threads.and_then(NonZeroUsize::new),
        interrupt: plan.interrupt.clone(),
        count,
        explain: false,
        ..RunOptions::default()
    };
    let arguments = vec![size.argument.to_string()];
    let name = format!("{}.bend", benchmark.name);
    let program = Program::from_text(&name, benchmark.bend, &Options { arguments, ..Options::default() });
    program.compile(&options)
}

fn c(program: &CProgram, benchmark: &Benchmark, size: Size) -> Result<Answer, String> {
    let answer = program.run(size.argument)?;
    if answer.value == size.value { Ok(answer) } else { Err(wrong("C", benchmark, size, &answer.value)) }
}

/// Upstream's runtime and ours in turn, on all threads.
fn beside(
    plan: &Plan,
    benchmark: &Benchmark,
    upstream: &Upstream,
    skip: &mut dyn FnMut(String),
) -> Result<Option<Beside>, Report> {
    let size = if plan.tiny { benchmark.tiny } else { benchmark.upstream };
    let mut contender = Contender { threads: plan.threads.last().copied(), loaded: None };
    let (mut theirs, mut ours) = (vec![], vec![]);
    for _ in 0..plan.samples.min(UPSTREAM_SAMPLES) {
        match upstream.run(benchmark, size.argument) {
            Ok(answer) if answer.value == size.value || benchmark.floats => theirs.push(answer.seconds),
            Ok(answer) => {
                skip(wrong("upstream", benchmark, size, &answer.value));
                return Ok(None);
            }
            Err(reason) => {
                skip(reason);
                return Ok(None);
            }
        }
        ours.push(bend(plan, benchmark, size, &mut contender, false)?.seconds);
    }
    let both = median(&theirs).zip(median(&ours));
    Ok(both.map(|(theirs, ours)| Beside { size: size.argument, theirs, ours }))
}

fn wrong(who: &str, benchmark: &Benchmark, size: Size, value: &str) -> String {
    format!("{who} computes {value} for `{} {}`, which gives {}", benchmark.name, size.argument, size.value)
}

fn failed(message: String) -> Report {
    let diagnostic = Diagnostic::new(Code::BenchmarkFailed, Span::NONE, message);
    Report { diagnostics: vec![diagnostic], ..Report::default() }
}
