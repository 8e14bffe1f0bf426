//! Running programs: what runs them is chosen, they are compiled for it, and their effects are performed.
//!
//! | what | see |
//! |---|---|
//! | how a program is run: tier, device, limits | [`RunOptions`] |
//! | a program ready to run | [`Executable`] |
//! | what compiled code runs on | [`runner`] |
//! | what a run took | [`stats`] |
//! | errors of compiled programs, with the calls that led there | [`mod@explain`] |

mod explain;
mod runner;
mod stats;

use crate::report::Report;
use crate::stack::on_big_stack;
use explain::Recorder;
pub(crate) use explain::explain;
use girih_core::diag::{Code as ErrorCode, Diagnostic};
use girih_core::direct::{self, lower::Direct};
use girih_core::ir::tasks::Settings;
use girih_core::runtime::{Runner, TaskOptions};
use girih_core::span::{Sources, Span};
use girih_core::term::code::Code;
use girih_core::term::eval::{Limits, Machine};
use girih_core::term::io::Host;
use girih_core::term::readback;
use girih_core::term::{DefId, Program};
pub(crate) use runner::open;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use stats::{Stats, Work};

/// How a program is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The way in which it is compiled.
    pub tier: Tier,
    /// What runs it.
    pub device: RunDevice,
    /// The most bytes that its data may take.
    pub memory: u64,
    /// The most bytes that nested calls may take, on each thread. The evaluator keeps them within `memory`.
    pub stack: u64,
    /// How many threads run it; as many as there are cores if none.
    pub threads: Option<NonZeroUsize>,
    /// Raised from outside to stop it.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Whether the memory of a cell that is taken apart is used for the next one at once.
    pub reuse: bool,
    /// An artificial shortage of memory: see [`TaskOptions::fail_each`].
    pub fail_each: Option<u64>,
    /// Whether cells, forks and calls are counted: see [`TaskOptions::count`].
    pub count: bool,
    /// Whether the evaluator goes the way to an error again, if it gets there soon, to tell which calls led there.
    pub explain: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            tier: Tier::Auto,
            device: RunDevice::Auto,
            memory: 4 << 30,
            stack: 4 << 30,
            threads: None,
            interrupt: None,
            reuse: true,
            fail_each: None,
            count: false,
            explain: true,
        }
    }
}

/// The way in which a program is compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// The best that can run the program.
    #[default]
    Auto,
    /// By value, as functions that work on a heap. Superpositions, scopeless variables and `hvm` definitions are refused.
    Direct,
    /// As an interaction net, which this version cannot.
    Net,
}

/// What runs a program.
#[derive(Clone, Copy, Debug, Default)]
pub enum RunDevice {
    /// The best that there is: the processor.
    #[default]
    Auto,
    /// Native code on the cores of the processor.
    Cpu,
    /// The reference machine of the IR: slowly, and with a look at every access if its settings say so.
    Interpreter(Settings),
    /// The evaluator, which compiles nothing. What it gives is what programs mean.
    Evaluator,
}

/// What was chosen to run a program, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// `direct`, or none for the evaluator.
    pub tier: Option<&'static str>,
    /// The device, as the command line names it.
    pub device: &'static str,
    /// How many threads there are.
    pub threads: usize,
    /// Why.
    pub why: &'static str,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.threads == 1 { "" } else { "s" };
        let Choice { device, threads, why, .. } = self;
        match self.tier {
            Some(tier) => write!(f, "{tier} tier on the {device}, {threads} thread{plural}: {why}"),
            None => write!(f, "{device}, {threads} thread{plural}: {why}"),
        }
    }
}

/// A program that is ready to run.
pub struct Executable {
    sources: Sources,
    code: Code,
    entry: DefId,
    engine: Engine,
    options: RunOptions,
    choice: Choice,
    stats: Stats,
}

/// What runs it.
enum Engine {
    Compiled(Box<Direct>, Box<dyn Runner + Send>),
    Evaluator,
}

impl Executable {
    /// Compiles a program that has no errors; `seconds` were spent on it before.
    pub(crate) fn new(
        program: &Program,
        sources: Sources,
        options: &RunOptions,
        seconds: f64,
    ) -> Result<Executable, Report> {
        let started = Instant::now();
        let compiled = on_big_stack(|| {
            if options.tier == Tier::Net {
                return Err(vec![no_nets()]);
            }
            let code = Code::new(program)?;
            let (choice, engine) = engine(&code, options)?;
            // There is an entry, or there would be no code.
            let entry = program.entry.ok_or_else(Vec::new)?;
            Ok((code, choice, engine, entry))
        });
        let (code, choice, engine, entry) = match compiled {
            Ok(compiled) => compiled,
            Err(diagnostics) => return Err(Report { sources, diagnostics }),
        };
        let stats = Stats::new(seconds + started.elapsed().as_secs_f64(), &choice);
        Ok(Executable { sources, code, entry, engine, options: options.clone(), choice, stats })
    }

    /// What runs it, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Runs the program, and gives its value as `girih run` prints it. Its effects go through `host`.
    ///
    /// # Errors
    /// If the program fails, needs too much memory, or is interrupted.
    pub fn run(&mut self, host: &mut (dyn Host + Send)) -> Result<String, Report> {
        let started = Instant::now();
        let result = on_big_stack(|| self.run_here(host));
        self.stats.seconds = started.elapsed().as_secs_f64();
        result.map_err(|error| Report { sources: self.sources.clone(), diagnostics: vec![error] })
    }

    fn run_here(&mut self, host: &mut dyn Host) -> Result<String, Diagnostic> {
        let RunOptions { memory, interrupt, .. } = &self.options;
        let limits = Limits { memory: *memory, interrupt: interrupt.clone(), ..Limits::default() };
        let mut machine = Machine::new(&self.code, limits);
        match &mut self.engine {
            Engine::Evaluator => {
                let result = evaluate(&mut machine, self.entry, host);
                self.stats.work = Work::Evaluated(machine.stats());
                result
            }
            Engine::Compiled(direct, runner) => {
                let mut recorder = Recorder::new(host, self.options.explain);
                let result = direct::run::run(&mut machine, direct, &mut **runner, &mut recorder, interrupt.clone());
                self.stats.work = Work::Compiled(runner.stats());
                let log = recorder.log();
                result.map_err(|error| match log {
                    Some(log) => {
                        explain(&self.code, *memory, error, |machine| explain::replay(machine, self.entry, log))
                    }
                    None => error,
                })
            }
        }
    }

    /// What it took so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable").field("choice", &self.choice).field("stats", &self.stats).finish_non_exhaustive()
    }
}

/// Chooses what runs a program and makes it ready. Whoever has code has nothing in it that needs nets.
fn engine(code: &Code, options: &RunOptions) -> Result<(Choice, Engine), Vec<Diagnostic>> {
    let device = match options.device {
        RunDevice::Evaluator if options.tier == Tier::Auto => {
            let choice = Choice { tier: None, device: "evaluator", threads: 1, why: "the device was named" };
            return Ok((choice, Engine::Evaluator));
        }
        RunDevice::Evaluator => {
            let message = "the evaluator compiles nothing, so it has no tiers";
            let hint = "leave out `--tier`, or use `--device cpu`";
            return Err(vec![Diagnostic::new(ErrorCode::BadArguments, Span::NONE, message).hint(hint)]);
        }
        device @ (RunDevice::Auto | RunDevice::Cpu | RunDevice::Interpreter(_)) => device,
    };
    let direct = direct::compile(code)?;
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let tasks = TaskOptions {
        memory: options.memory,
        stack: options.stack,
        interrupt: options.interrupt.clone(),
        reuse: options.reuse,
        fail_each: options.fail_each,
        threads: options.threads.unwrap_or(cores).get(),
        count: options.count,
    };
    let opened = runner::open(&device, &direct.module, &tasks).map_err(|error| vec![error])?;
    let why = match options.tier {
        Tier::Auto => "nothing that runs needs nets",
        Tier::Direct | Tier::Net => "the tier was named",
    };
    let choice = Choice { tier: Some("direct"), device: opened.name, threads: opened.threads, why };
    Ok((choice, Engine::Compiled(Box::new(direct), opened.runner)))
}

fn no_nets() -> Diagnostic {
    let message = "this version cannot compile programs to interaction nets";
    let hint = "leave out `--tier net`: what needs no superpositions, scopeless variables or `hvm` definitions runs without nets";
    Diagnostic::new(ErrorCode::NeedsNets, Span::NONE, message).hint(hint)
}

/// Runs the entry of a program by the evaluator, its effects, and prints its value.
fn evaluate(machine: &mut Machine, entry: DefId, host: &mut dyn Host) -> Result<String, Diagnostic> {
    let value = machine.call(entry, &[]).and_then(|value| machine.run_io(value, host));
    // What the program has written comes before its value, and before what is said of its failure. A reader that has gone
    // away is none of the program's mistakes.
    let _ = host.flush(1);
    readback::show(machine, value?)
}
