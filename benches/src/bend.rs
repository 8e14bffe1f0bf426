//! The suites `bend` and `corpus`: compiled programs at several sizes, in which order they run, and what counts.
//!
//! Contenders for one figure take turns, so that other work of the machine affects all of them. Each run of a Bend program
//! starts with a new heap, as a process of C or Haskell does. On a device, a program is compiled and loaded once and then run many times, because drivers
//! take up to seconds for that.

use super::figures::{Calls, Peer, Rival, Row, Run, Size, Way};
use super::programs::{BENCHMARKS, Benchmark, CORPUS, Job, Shelf, lines};
use super::rivals::{Answer, Cc, Ghc, Process, Upstream};
use super::spread::{Spread, median};
use super::suite::{Bench, Event, Scale, Selection, Session, card, one};
use girih::Work;
use girih::{Code, Contest, Diagnostic, Executable, Options, Program, Report, RunOptions, Span, SystemHost};
use girih_runtime::TaskStats;
use std::num::NonZeroUsize;

/// Most runs of upstream's runtime, which take long.
const UPSTREAM_SAMPLES: usize = 3;
/// Who takes part beside Girih.
const C: &str = "C";
const GHC: &str = "GHC";
const RUN_C: &str = "bend run-c";

/// Gets the suite `bend` ready.
pub(super) fn open(bench: &mut Bench) -> Result<Box<dyn Session>, Report> {
    let compilation = (!bench.plan.is_on_device()).then_some(Item::Compilation);
    session(bench, "bend", BENCHMARKS, compilation)
}

/// Gets the suite `corpus` ready.
pub(super) fn open_corpus(bench: &mut Bench) -> Result<Box<dyn Session>, Report> {
    session(bench, "corpus", CORPUS, None)
}

/// Looks for rivals, and lists programs and sizes.
fn session(
    bench: &mut Bench,
    suite: &'static str,
    programs: &'static [Benchmark],
    compilation: Option<Item>,
) -> Result<Box<dyn Session>, Report> {
    let mut jobs = jobs(programs, bench.program_scale()?);
    jobs.extend(compilation);
    let mut session = Programs { suite, cc: None, ghc: None, upstream: None, jobs, slow: vec![] };
    if bench.plan.rivals {
        session.find_rivals(bench, programs);
    }
    Ok(Box::new(session))
}

/// What is measured.
enum Item {
    /// A program: the job, whether C or Haskell does it too, and whether upstream does.
    Program { benchmark: &'static Benchmark, job: Job, beside_compiled: bool, beside_upstream: bool },
    /// How long the compilation of all programs as one takes.
    Compilation,
}

fn jobs(programs: &'static [Benchmark], scale: Scale) -> Vec<Item> {
    let mut items = vec![];
    for benchmark in programs {
        let all = [benchmark.tiny, benchmark.upstream, benchmark.full];
        let jobs = &all[..=scale as usize];
        for (i, job) in jobs.iter().enumerate() {
            let is_last = i + 1 == jobs.len();
            // Upstream takes minutes for the largest.
            let beside_upstream = benchmark.c.is_some() && (i == 1 || (is_last && i == 0));
            items.push(Item::Program { benchmark, job: *job, beside_compiled: is_last, beside_upstream });
        }
    }
    items
}

struct Programs {
    /// The suite's name.
    suite: &'static str,
    cc: Option<Cc>,
    ghc: Option<Ghc>,
    upstream: Option<Upstream>,
    jobs: Vec<Item>,
    /// Programs that took too long at a size: they are not tried at a larger one.
    slow: Vec<&'static str>,
}

impl Programs {
    /// Looks for those that do some of the programs.
    fn find_rivals(&mut self, bench: &mut Bench, programs: &[Benchmark]) {
        let mut found = |name: &str, rival: Result<String, String>| match rival {
            Ok(what) => bench.rivals.push(Rival { name: name.to_owned(), what }),
            Err(reason) => (bench.tell)(Event::Skipped(reason)),
        };
        let compiler = |version: &str| format!("{version}, -O2, the whole process");
        if programs.iter().any(|benchmark| benchmark.c.is_some()) {
            let cc = Cc::find().map(|cc| compiler(&self.cc.insert(cc).version));
            found(C, cc);
            let upstream = Upstream::find()
                .map(|upstream| format!("{}, all cores, by its own count", self.upstream.insert(upstream).version));
            found(RUN_C, upstream);
        }
        if programs.iter().any(|benchmark| benchmark.haskell.is_some()) {
            let ghc = Ghc::find().map(|ghc| compiler(&self.ghc.insert(ghc).version));
            found(GHC, ghc);
        }
    }

    /// The program in the languages in which it has been written too and whose compilers are there.
    fn compiled(&self, benchmark: &Benchmark, skip: &mut dyn FnMut(String)) -> Vec<Opponent> {
        let c = self.cc.as_ref().filter(|_| benchmark.c.is_some()).map(|cc| (C, cc.compile(benchmark)));
        let ghc = self.ghc.as_ref().filter(|_| benchmark.haskell.is_some()).map(|ghc| (GHC, ghc.compile(benchmark)));
        let opponent = |(name, process): (&'static str, Result<Process, String>)| {
            let process = process.map_err(&mut *skip).ok()?;
            Some(Opponent { name, process, times: vec![] })
        };
        c.into_iter().chain(ghc).filter_map(opponent).collect()
    }

    fn program(&self, bench: &mut Bench, benchmark: &Benchmark, job: Job, rivals: (bool, bool)) -> Result<Row, Report> {
        let plan = bench.plan;
        let tell = &mut bench.tell;
        let mut skip = |reason: String| tell(Event::Skipped(format!("{}: {reason}", benchmark.name)));
        let mut opponents = if rivals.0 { self.compiled(benchmark, &mut skip) } else { vec![] };
        let mut contenders = contenders(plan);
        let mut times = Times::new(contenders.len());
        let mut found = None;
        for round in 0..=plan.samples {
            if round > 1 && bench.patience.is_short() {
                break;
            }
            times.counts = round > 0;
            for (i, contender) in contenders.iter_mut().enumerate() {
                let run = bend(plan, benchmark, job, contender, false)?;
                times.note(i, &run);
                found = run.card;
            }
            for opponent in &mut opponents {
                let seconds = opponent.run(benchmark, job).map_err(failed)?;
                opponent.times.extend(times.counts.then_some(seconds));
            }
        }
        // A device says what it took in any run.
        let one = &mut Contender { threads: Some(1), loaded: None };
        let counted = bend(plan, benchmark, job, if plan.is_on_device() { &mut contenders[0] } else { one }, true)?;
        let upstream = self.upstream.as_ref().filter(|_| rivals.1);
        let upstream = upstream.and_then(|upstream| beside(plan, benchmark, job, upstream, &mut skip));
        bench.card = found.or(bench.card.take());
        let runs = contenders.iter().zip(&times.bend);
        Ok(Row {
            suite: self.suite.to_owned(),
            name: benchmark.name.to_owned(),
            size: Size::one(job.argument),
            compile: median(&times.compile),
            runs: runs.filter_map(|(c, s)| Some(Run { threads: c.threads, time: Spread::of(s)? })).collect(),
            bytes: Some(counted.bytes),
            way: counted.way,
            calls: Some(calls(benchmark, job)?),
            work: None,
            peers: opponents.iter().filter_map(Opponent::peer).chain(upstream).collect(),
        })
    }
}

impl Session for Programs {
    fn titles(&self) -> Vec<String> {
        let title = |item: &Item| match item {
            Item::Program { benchmark, job, .. } => format!("{} {}", benchmark.name, job.argument),
            Item::Compilation => format!("compilation {}", lines()),
        };
        self.jobs.iter().map(title).collect()
    }

    fn row(&mut self, bench: &mut Bench, position: usize) -> Result<Row, Report> {
        match &self.jobs[position] {
            Item::Program { benchmark, .. } if self.slow.contains(&benchmark.name) => {
                Err(failed("it took too long at a smaller size".to_owned()))
            }
            Item::Program { benchmark, job, beside_compiled, beside_upstream } => {
                let (benchmark, job, rivals) = (*benchmark, *job, (*beside_compiled, *beside_upstream));
                let row = self.program(bench, benchmark, job, rivals);
                if row.is_err() && bench.patience.over().is_some() {
                    self.slow.push(benchmark.name);
                }
                row
            }
            Item::Compilation => compilation(bench.plan),
        }
    }
}

/// Compiles all programs as one: the size is the number of lines.
fn compilation(plan: &Selection) -> Result<Row, Report> {
    let options =
        RunOptions { device: plan.device.clone(), memory: plan.memory, explain: false, ..RunOptions::default() };
    let mut samples = vec![];
    for _ in 0..=plan.samples {
        let executable = Program::load(&Shelf, &Options::default()).compile(&options)?;
        samples.push(executable.stats().compile_seconds);
    }
    let time = Spread::of(&samples[1..]);
    Ok(Row {
        suite: "bend".to_owned(),
        name: "compilation".to_owned(),
        size: Size::one(lines() as u64),
        compile: None,
        runs: time.into_iter().map(|time| Run { threads: Some(1), time }).collect(),
        bytes: None,
        way: None,
        calls: None,
        work: None,
        peers: vec![],
    })
}

fn contenders(plan: &Selection) -> Vec<Contender> {
    let threads = plan.threads.iter().map(|n| Contender { threads: Some(*n), loaded: None });
    if plan.threads.is_empty() { vec![Contender::default()] } else { threads.collect() }
}

/// The same job, compiled from another language.
struct Opponent {
    name: &'static str,
    process: Process,
    /// The samples.
    times: Vec<f64>,
}

impl Opponent {
    /// Runs it; its value is compared with what it must be.
    fn run(&self, benchmark: &Benchmark, job: Job) -> Result<f64, String> {
        let Answer { value, seconds } = self.process.run(job.argument)?;
        if value == job.value { Ok(seconds) } else { Err(wrong(self.name, benchmark, job, &value)) }
    }

    fn peer(&self) -> Option<Peer> {
        Some(Peer { name: self.name.to_owned(), seconds: median(&self.times)?, on_all_cores: false })
    }
}

/// The samples of one program.
struct Times {
    counts: bool,
    compile: Vec<f64>,
    bend: Vec<Vec<f64>>,
}

impl Times {
    fn new(threads: usize) -> Times {
        Times { counts: false, compile: vec![], bend: vec![vec![]; threads] }
    }

    fn note(&mut self, position: usize, run: &BendRun) {
        if self.counts {
            self.compile.push(run.compile);
            self.bend[position].push(run.seconds);
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
    way: Option<Way>,
}

/// Compiles a program, if it is not loaded, and runs it once; its value is compared with what it must be.
fn bend(
    plan: &Selection,
    benchmark: &Benchmark,
    job: Job,
    contender: &mut Contender,
    count: bool,
) -> Result<BendRun, Report> {
    let mut executable = match contender.loaded.take() {
        Some(loaded) => loaded,
        None => compiled(plan, benchmark, job, contender.threads, count)?,
    };
    // What it prints is no report.
    let value = executable.run(&mut SystemHost::new().with_stdout(Box::new(std::io::sink())))?;
    if value != job.value {
        return Err(failed(wrong("Girih", benchmark, job, &value)));
    }
    let stats = executable.stats();
    let bytes = memory_of(&stats.work);
    let card = executable.choice().card.as_ref().map(|(info, _)| card(info));
    let way = plan.is_on_device().then(|| way(&executable));
    let run = BendRun { compile: stats.compile_seconds, seconds: stats.seconds, bytes, card, way };
    contender.loaded = plan.is_on_device().then_some(executable);
    Ok(run)
}

/// The most bytes that a program's data took.
pub(super) fn memory_of(work: &Work) -> u64 {
    match work {
        Work::Compiled(work) => work.most_bytes,
        Work::Net(work, _) => work.bytes,
        Work::Evaluated(work) => work.largest_live,
    }
}

/// How a program has run.
fn way(executable: &Executable) -> Way {
    match executable.stats().work {
        Work::Compiled(TaskStats { steps: Some(work), .. }) => {
            Way { name: work.schedule.name().to_owned(), lanes: Some(work.lanes), steps: Some(work.steps) }
        }
        Work::Compiled(_) | Work::Net(..) | Work::Evaluated(_) => {
            Way { name: executable.choice().device.clone(), lanes: None, steps: None }
        }
    }
}

fn compiled(
    plan: &Selection,
    benchmark: &Benchmark,
    job: Job,
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
        contest: (!plan.alone).then(Contest::default),
        ..RunOptions::default()
    };
    Ok(program(benchmark, job).compile(&options)?)
}

fn program(benchmark: &Benchmark, job: Job) -> Program {
    let arguments = vec![job.argument.to_string()];
    let name = format!("{}.bend", benchmark.name);
    Program::from_text(&name, benchmark.bend, &Options { arguments, ..Options::default() })
}

/// Which calls of a program run at the same time, and which wait for others.
fn calls(benchmark: &Benchmark, job: Job) -> Result<Calls, Report> {
    let found = program(benchmark, job).parallelism()?;
    let together = found.together.iter().map(ToString::to_string).collect();
    Ok(Calls { together, in_order: found.in_order.iter().map(ToString::to_string).collect() })
}

/// Upstream's runtime on all cores. One that fails or is wrong does not take part.
fn beside(
    plan: &Selection,
    benchmark: &Benchmark,
    job: Job,
    upstream: &Upstream,
    skip: &mut dyn FnMut(String),
) -> Option<Peer> {
    let mut theirs = vec![];
    for _ in 0..plan.samples.min(UPSTREAM_SAMPLES) {
        let answer = upstream.run(benchmark, job.argument).and_then(|answer| {
            let is_right = answer.value == job.value || benchmark.floats;
            if is_right { Ok(answer) } else { Err(wrong("upstream", benchmark, job, &answer.value)) }
        });
        theirs.push(answer.map_err(&mut *skip).ok()?.seconds);
    }
    Some(Peer { name: RUN_C.to_owned(), seconds: median(&theirs)?, on_all_cores: true })
}

fn wrong(who: &str, benchmark: &Benchmark, job: Job, value: &str) -> String {
    format!("{who} computes {value} for `{} {}`, which gives {}", benchmark.name, job.argument, job.value)
}

fn failed(message: String) -> Report {
    one(Diagnostic::new(Code::BenchmarkFailed, Span::NONE, message))
}
