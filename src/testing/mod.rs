//! Runs the tests of a program: functions `test_*` and examples in comments, as [`girih_bend::testing`] finds them.
//!
//! Tests run at the same time, each on a machine of its own. Invariant: what one test does, nobody else sees. Its effects are captured ([`host`]), and one that fails or does
//! not end leaves the others as they are.

mod host;
mod verdict;

use crate::error::Error;
use crate::loader::FileLoader;
use crate::program::Program;
use crate::run::{Executable, RunOptions};
use crate::stack::on_big_stack;
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::num::BinOp;
use girih_bend::loader::Loader;
use girih_bend::{Options, compile_tests};
use host::CapturedHost;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use web_time::Instant;

pub use girih_bend::testing::{Passes, Side, Test};

/// How often a test that runs is looked at: whether its time is over, and whether somebody wants all to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The tests of a program that has no errors.
#[derive(Debug)]
pub struct Tests {
    program: Program,
    tests: Vec<Test>,
}

/// How a test went.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Nothing if it passed, or why it failed.
    pub result: Result<(), Error>,
    /// What it wrote to its standard output and to its standard error.
    pub output: String,
}

/// How tests are run.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// How each is run; `interrupt` stops all.
    pub run: RunOptions,
    /// How many run at the same time.
    pub jobs: usize,
    /// How long one may run.
    pub timeout: Duration,
}

impl Tests {
    /// Finds the tests of a file.
    ///
    /// # Errors
    /// If the program or an example has errors.
    pub fn open(path: impl AsRef<Path>) -> Result<Tests, Error> {
        Tests::load(&FileLoader::new(path.as_ref()))
    }

    /// Finds the tests of a program from anywhere.
    ///
    /// # Errors
    /// If the program or an example has errors.
    pub fn load(loader: &(dyn Loader + Sync)) -> Result<Tests, Error> {
        let started = Instant::now();
        let (compilation, tests) = on_big_stack(|| compile_tests(loader, &Options::library()));
        let program = Program::of(compilation, started.elapsed().as_secs_f64());
        program.check().map(|()| Tests { program, tests })
    }

    /// The tests in the order of the text.
    pub fn list(&self) -> &[Test] {
        &self.tests
    }

    /// The line of a test, from 1.
    pub fn line(&self, test: &Test) -> usize {
        self.program.sources().line_column(test.span.source, test.span.start).0
    }

    /// Runs tests, and gives each verdict to `done` with the test's number, in the order in which they end.
    pub fn run(&self, tests: &[&Test], options: &TestOptions, mut done: impl FnMut(usize, Verdict)) {
        let next = AtomicUsize::new(0);
        let (told, verdicts) = channel();
        std::thread::scope(|scope| {
            for _ in 0..options.jobs.min(tests.len()) {
                let (told, next) = (told.clone(), &next);
                scope.spawn(move || {
                    while let Some((number, test)) = take(tests, next) {
                        // Who does not listen any more has stopped.
                        let _ = told.send((number, self.run_one(test, options)));
                    }
                });
            }
            drop(told);
            for (number, verdict) in verdicts {
                done(number, verdict);
            }
        });
    }

    /// Runs a test.
    fn run_one(&self, test: &Test, options: &TestOptions) -> Verdict {
        let mut host = CapturedHost::default();
        let flag = Arc::new(AtomicBool::new(false));
        let run = RunOptions { interrupt: Some(Arc::clone(&flag)), ..options.run.clone() };
        let (end, ended) = channel::<()>();
        let (result, is_late) = std::thread::scope(|scope| {
            let watched = Arc::clone(&flag);
            let watch = scope.spawn(move || watch(&ended, &watched, options));
            let result = self.judge(test, &run, &mut host);
            drop(end);
            (result, watch.join().unwrap_or(false))
        });
        let result = if is_late && result.is_err() {
            let message = format!("the test ran longer than {} seconds", options.timeout.as_secs_f64());
            let hint = "`--timeout SECONDS` gives it more time";
            Err(self.program.error(vec![Diagnostic::new(Code::Interrupted, test.span, message).hint(hint)]))
        } else {
            result
        };
        Verdict { result, output: host.into_text() }
    }

    /// Computes what a test looks at.
    fn judge(&self, test: &Test, run: &RunOptions, host: &mut CapturedHost) -> Result<(), Error> {
        let mut value = |def: &Name| self.value(def, run, host);
        let failure = match &test.passes {
            Passes::True(def) => verdict::truth(test, &value(def)?),
            Passes::Compares { whole, op: op @ (BinOp::Eq | BinOp::Ne), sides } => {
                let values = [value(&sides[0].def)?, value(&sides[1].def)?];
                // Floats are printed with three decimals, so numbers are compared as the program does.
                let holds = if values.iter().all(|value| verdict::is_number(value)) {
                    verdict::truth(test, &value(whole)?).is_none()
                } else {
                    (values[0] == values[1]) == (*op == BinOp::Eq)
                };
                (!holds).then(|| verdict::comparison(*op, sides, &values))
            }
            Passes::Compares { whole, op, sides } => match verdict::truth(test, &value(whole)?) {
                Some(_) => Some(verdict::comparison(*op, sides, &[value(&sides[0].def)?, value(&sides[1].def)?])),
                None => None,
            },
            Passes::Shows { def, expected, at } => verdict::shown_value(test, &value(def)?, expected, *at),
        };
        failure.map_or(Ok(()), |failure| Err(self.program.error(vec![failure])))
    }

    /// The value of a definition as text.
    fn value(&self, def: &Name, run: &RunOptions, host: &mut CapturedHost) -> Result<String, Error> {
        let mut program = self.program.core_program()?.clone();
        program.entry = program.def_named(def);
        Executable::new(&program, self.program.sources().clone(), run, 0.0)?.run(host)
    }
}

/// The next test that nobody has taken.
fn take<'t>(tests: &[&'t Test], next: &AtomicUsize) -> Option<(usize, &'t Test)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    tests.get(number).map(|test| (number, *test))
}

/// Raises the flag of a test when its time is over or all are to stop. Returns whether its time was over before it ended.
fn watch(ended: &Receiver<()>, flag: &AtomicBool, options: &TestOptions) -> bool {
    let started = Instant::now();
    let stop_all = || options.run.interrupt.as_ref().is_some_and(|all| all.load(Ordering::Relaxed));
    let mut is_late = false;
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        is_late |= started.elapsed() >= options.timeout;
        if is_late || stop_all() {
            flag.store(true, Ordering::Relaxed);
        }
    }
    is_late
}
