//! Running programs: chooses what runs a program, compiles the program for it, and performs its effects.
//!
//! | what | see |
//! |---|---|
//! | how a program is run: tier, device, limits | [`options`] |
//! | a program ready to run | [`Executable`] |
//! | which tier and which device are chosen, and why | [`select`] |
//! | a program run on the processor and on a card at the same time; the first result counts | [`device_race`], [`rivalry`] |
//! | effects of such a program, each of which is performed once | [`effects`] |
//! | compiled code on the host | [`runner`] |
//! | compiled code on a device | [`on_device`], [`device_sizes`] |
//! | programs as nets, on the host or on a device | [`net`] |
//! | how much time and memory a run took | [`stats`] |
//! | errors of compiled programs, with the calls that led to them | [`mod@explain`] |

mod device_race;
mod device_sizes;
mod effects;
mod explain;
#[cfg_attr(not(feature = "net"), path = "absent/net.rs")]
mod net;
mod on_device;
mod options;
mod rivalry;
mod runner;
mod select;
mod stats;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::stack::on_big_stack;
pub(crate) use device_sizes::{open_roots, open_roots_by_fork_join};
use explain::Recorder;
pub(crate) use explain::explain;
use girih_base::diag::Diagnostic;
use girih_base::span::Sources;
use girih_runtime::Timeline;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_term::io::Host;
use girih_term::readback;
use girih_term::{DefId, Program};
pub(crate) use on_device::{DeviceRunner, kernels_of_call};
use rivalry::Rivalry;
pub(crate) use runner::open;
pub(crate) use select::tasks as task_options;
pub(crate) use select::{CompiledFunction, function};
use select::{Engine, Ready, engine};
use web_time::Instant;

pub use device_race::Contest;
pub use options::{RunDevice, RunOptions, Tier};
pub use select::Choice;
pub use stats::{Stats, Work};

/// A program that is ready to run.
pub struct Executable {
    sources: Sources,
    /// None if the program needs nets.
    code: Option<Code>,
    entry: DefId,
    engine: Engine,
    options: RunOptions,
    choice: Choice,
    stats: Stats,
    /// Who runs it at the same time; then `options` has a flag of its own.
    rivalry: Option<Rivalry>,
    /// Whether it has run in a contest.
    has_run: bool,
}

impl Executable {
    /// Compiles a program that has no errors; `seconds` were spent on it before.
    pub(crate) fn new(
        program: &Program,
        sources: Sources,
        options: &RunOptions,
        seconds: f64,
    ) -> Result<Executable, Error> {
        let started = Instant::now();
        let compiled = on_big_stack(|| {
            let (code, ready) = engine(program, options)?;
            // There is an entry, or there would be no code.
            let entry = program.entry.ok_or_else(Vec::new)?;
            Ok((code, ready, entry))
        });
        let (code, ready, entry) = match compiled {
            Ok(compiled) => compiled,
            Err(diagnostics) => return Err(Error::new(sources, diagnostics)),
        };
        let seconds = seconds + started.elapsed().as_secs_f64();
        let program = (sources, code, entry);
        Ok(Executable::ready(program, ready, seconds, options))
    }

    /// What is ready to run, with those who run it, too.
    fn ready(program: (Sources, Option<Code>, DefId), ready: Ready, seconds: f64, options: &RunOptions) -> Executable {
        let Ready { choice, engine, flag, helper } = ready;
        let ((sources, code, entry), stats) = (program, Stats::new(seconds, &choice));
        let mut options = options.clone();
        let contest = options.contest.take();
        let rivalry = flag.map(|flag| {
            let user = options.interrupt.replace(flag);
            let helper = helper.map(|helper| {
                let options = RunOptions { interrupt: None, ..options.clone() };
                Executable::ready((sources.clone(), code.clone(), entry), *helper, seconds, &options)
            });
            Rivalry::new(user, contest.unwrap_or_default(), helper)
        });
        Executable { sources, code, entry, engine, options, choice, stats, rivalry, has_run: false }
    }

    /// What runs it, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// What has answered instead of the device that was named, because it finished first.
    pub fn helper(&self) -> Option<&str> {
        let is_helped = self.rivalry.as_ref().is_some_and(Rivalry::is_of_a_named_device);
        Some(&*self.choice.device).filter(|_| is_helped && self.choice.card.is_none())
    }

    /// Runs the program, and gives its value as `girih run` prints it. Its effects go through `host`. It may be run again.
    ///
    /// # Errors
    /// If the program fails, needs too much memory, or is interrupted.
    pub fn run(&mut self, host: &mut (dyn Host + Send)) -> Result<String, Error> {
        match self.rivalry.take() {
            Some(rivalry) => self.run_in_contest(rivalry, host),
            None => self.run_alone(host),
        }
    }

    /// Whether a driver may still be at work for it, on a thread, although it has ended: see [`leave`](crate::leave()).
    pub fn was_in_contest(&self) -> bool {
        self.rivalry.is_some()
    }

    /// Runs the program where it is ready.
    fn run_alone(&mut self, host: &mut (dyn Host + Send)) -> Result<String, Error> {
        let result = on_big_stack(|| {
            self.renew()?;
            let started = Instant::now();
            let result = self.run_here(host);
            self.stats.seconds = started.elapsed().as_secs_f64();
            result
        });
        result.map_err(|error| Error::new(self.sources.clone(), vec![error]))
    }

    /// Forgets what an earlier run has left.
    fn renew(&mut self) -> Result<(), Diagnostic> {
        match &mut self.engine {
            Engine::Evaluator | Engine::Net(_) => Ok(()),
            Engine::Away => Err(gone()),
            Engine::Compiled(direct, runner) => {
                runner.renew().map_err(|fault| girih_task::run::diagnostic(direct, &fault))
            }
        }
    }

    fn run_here(&mut self, host: &mut dyn Host) -> Result<String, Diagnostic> {
        let RunOptions { memory, interrupt, explain: wanted, .. } = &self.options;
        let limits = Limits { memory: *memory, interrupt: interrupt.clone(), ..Limits::default() };
        let mut recorder = Recorder::new(host, *wanted && self.code.is_some());
        let result = match (&mut self.engine, &self.code) {
            (Engine::Net(net), code) => {
                let (result, counts, device) = net.run(code.as_ref(), &self.options, &mut recorder);
                self.stats.work = Work::Net(counts, device);
                result
            }
            (Engine::Evaluator, Some(code)) => {
                let mut machine = Machine::new(code, limits);
                let result = evaluate(&mut machine, self.entry, &mut recorder);
                self.stats.work = Work::Evaluated(machine.stats());
                return result;
            }
            (Engine::Compiled(direct, runner), Some(code)) => {
                let mut machine = Machine::new(code, limits);
                let result =
                    girih_task::run::run(&mut machine, direct, &mut **runner, &mut recorder, interrupt.clone());
                self.stats.work = Work::Compiled(runner.stats());
                result
            }
            (Engine::Away, _) => Err(gone()),
            (Engine::Evaluator | Engine::Compiled(..), None) => Err(no_code()),
        };
        let log = recorder.log();
        result.map_err(|error| match (log, &self.code) {
            (Some(log), Some(code)) => {
                explain(code, *memory, error, |machine| explain::replay(machine, self.entry, log))
            }
            (None, _) | (_, None) => error,
        })
    }

    /// What the device did while time went on, if [`RunOptions::timeline`] asked for it and it has run by fork-join.
    pub fn timeline(&self) -> Option<Timeline> {
        match &self.engine {
            Engine::Compiled(_, runner) => runner.timeline(),
            Engine::Evaluator | Engine::Net(_) | Engine::Away => None,
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

/// What an `IO` ends with, of its text; none if the text is that of another value.
pub(crate) fn value_of_io(text: &str) -> Option<&str> {
    text.strip_prefix("IO/Done(IO/MAGIC, ")?.strip_suffix(')')
}

/// What a program ran on has panicked.
#[cold]
fn gone() -> Diagnostic {
    let message = "what the program ran on is gone";
    Diagnostic::new(girih_base::diag::Code::Internal, girih_base::span::Span::NONE, message)
}

/// Whoever evaluates or compiles a program has code of it.
#[cold]
fn no_code() -> Diagnostic {
    let message = "the program has no code";
    Diagnostic::new(girih_base::diag::Code::Internal, girih_base::span::Span::NONE, message)
}

/// Runs the entry of a program by the evaluator, its effects, and prints its value.
fn evaluate(machine: &mut Machine, entry: DefId, host: &mut dyn Host) -> Result<String, Diagnostic> {
    let value = machine.call(entry, &[]).and_then(|value| machine.run_io(value, host));
    // What the program has written comes before its value, and before what is said of its failure. A reader that has gone
    // away is none of the program's mistakes.
    let _ = host.flush(1);
    readback::show(machine, value?)
}
