//! What is run, how often, and in which order.
//!
//! Contenders for one figure take turns, so that what else the machine does meets all of them. Each run of a Bend program
//! starts with a new heap, as a process of C does.

use super::figures::{Beside, Figures, Row, Run, Together, median};
use super::machine::{Machine, today};
use super::programs::{BENCHMARKS, Benchmark, Shelf, Size, lines};
use super::rivals::{Answer, CProgram, Cc, Upstream};
use crate::run::Work;
use crate::{Code, Diagnostic, Options, Program, Report, RunDevice, RunOptions, Span, SystemHost};
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
    /// Numbers of threads, ascending.
    pub threads: Vec<usize>,
    /// How many runs a figure is the median of; at least 1. One more comes before, which does not count.
    pub samples: usize,
    /// Whether C and upstream take part.
    pub rivals: bool,
    /// The device's name and the device.
    pub device: (String, RunDevice),
    /// Bytes that a program's data may take.
    pub memory: u64,
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
}

/// What there is to say while measuring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This program is being measured.
    Program(&'static str),
    /// A rival does not take part, in a sentence.
    Skipped(String),
}

/// Measures.
///
/// # Errors
/// If a program fails, or gives another value than it should.
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
    let together = if plan.only.is_empty() { Some(together(plan)?) } else { None };
    let mut rows = vec![];
    for benchmark in plan.benchmarks() {
        tell(Event::Program(benchmark.name));
        rows.push(row(plan, benchmark, &rivals, tell)?);
    }
    Ok(Figures {
        date: today(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::this(),
        device: plan.device.0.clone(),
        samples: plan.samples,
        cc: rivals.cc.map(|cc| cc.version),
        upstream: rivals.upstream.map(|upstream| upstream.version),
        together,
        rows,
    })
}

/// Compiles all programs as one.
fn together(plan: &Plan) -> Result<Together, Report> {
    let options = RunOptions { device: plan.device.1, memory: plan.memory, explain: false, ..RunOptions::default() };
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

fn row(plan: &Plan, benchmark: &Benchmark, rivals: &Rivals, tell: &mut dyn FnMut(Event)) -> Result<Row, Report> {
    let size = if plan.tiny { benchmark.tiny } else { benchmark.full };
    let mut skip = |reason: String| tell(Event::Skipped(format!("{}: {reason}", benchmark.name)));
    let rival = rivals.cc.as_ref().and_then(|cc| cc.compile(benchmark).map_err(&mut skip).ok());
    let mut times = Times::new(plan.threads.len());
    for round in 0..=plan.samples {
        times.counts = round > 0;
        for (i, threads) in plan.threads.iter().enumerate() {
            let run = bend(plan, benchmark, size, *threads, false)?;
            times.note(i, &run);
        }
        if let Some(program) = &rival {
            times.note_c(c(program, benchmark, size).map_err(failed)?);
        }
    }
    let counted = bend(plan, benchmark, size, 1, true)?;
    let upstream = match &rivals.upstream {
        Some(upstream) => beside(plan, benchmark, upstream, &mut skip)?,
        None => None,
    };
    let runs = plan.threads.iter().zip(&times.bend).filter_map(|(threads, seconds)| {
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

/// A run of a Bend program.
struct BendRun {
    compile: f64,
    seconds: f64,
    bytes: u64,
}

/// Compiles a program and runs it once; its value is compared with what it must be.
fn bend(plan: &Plan, benchmark: &Benchmark, size: Size, threads: usize, count: bool) -> Result<BendRun, Report> {
    let options = RunOptions {
        device: plan.device.1,
        memory: plan.memory,
        threads: NonZeroUsize::new(threads),
        interrupt: plan.interrupt.clone(),
        count,
        explain: false,
        ..RunOptions::default()
    };
    let arguments = vec![size.argument.to_string()];
    let name = format!("{}.bend", benchmark.name);
    let program = Program::from_text(&name, benchmark.bend, &Options { arguments, ..Options::default() });
    let mut executable = program.compile(&options)?;
    let value = executable.run(&mut SystemHost::new())?;
    if value != size.value {
        return Err(failed(wrong("Girih", benchmark, size, &value)));
    }
    let stats = executable.stats();
    let bytes = match stats.work {
        Work::Compiled(work) => work.most_bytes,
        Work::Evaluated(work) => work.largest_live,
    };
    Ok(BendRun { compile: stats.compile_seconds, seconds: stats.seconds, bytes })
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
    let threads = plan.threads.last().copied().unwrap_or(1);
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
        ours.push(bend(plan, benchmark, size, threads, false)?.seconds);
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
