//! `girih test FILE...`: runs the tests of programs at the same time.
//!
//! Verdicts are printed in the order of the files and of their text, whichever test ends first; what is wrong with the failing ones comes after them.

use crate::console::Console;
use crate::device::{self, Device};
use crate::exit::Exit;
use crate::files::files;
use crate::interrupt::{self, Interrupt};
use crate::memory;
use clap::Args;
use girih::testing::{Test as Case, TestOptions, Tests, Verdict};
use girih::{Code, Error, RunOptions};
use girih_base::plural::counted;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
A test is a function without parameters whose name begins with `test_`. It passes if it gives a number other
than 0. If it ends with a comparison, `==` and `!=` also compare lists, texts and other data:

  def test_sort():
    return sort([3, 1, 2]) == [1, 2, 3]

An example in a comment is a test, too: the next line is what the expression gives, as `girih run` prints it:

  # >>> sort([3, 1, 2])
  # [1, 2, 3]

What a test writes is shown if it fails. It has no files, its input is empty, and it sleeps in no time.

Examples:
  girih test sort.bend                   all tests of a file
  girih test .                           those of all files of Bend in this folder and in those inside it
  girih test sort.bend --filter empty    those whose name contains `empty`
  girih test sort.bend --timeout 5       a test may take five seconds
  girih test sort.bend --device cuda     on the first NVIDIA card";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Test {
    /// The programs; folders, whose files of Bend are meant
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Run the tests whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run nothing: list the tests
    #[arg(long)]
    list: bool,
    /// The most seconds that a test may run
    #[arg(long, value_name = "SECONDS", value_parser = interrupt::seconds, default_value = "60")]
    timeout: Duration,
    /// The most memory for a test's data, for example 512M or 4G [default: 3/4 of the machine's for all that run at the same time]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// How many tests run at the same time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = crate::args::count)]
    threads: Option<NonZeroUsize>,
    /// Where tests run: cpu; wgpu, cuda, or wgpu:N, cuda:N, a graphics card; evaluator; interpreter
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Device,
}

/// How many tests there were of each kind.
#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    filtered: usize,
    /// Errors because of which a file's tests are not known.
    errors: usize,
}

impl Test {
    /// Runs the tests of one file after the other. Errors of a file do not keep those of the others from being run.
    pub fn run(&self, console: &Console) -> Exit {
        let interrupt = Interrupt::new(None, console);
        let options = self.options(&interrupt);
        let mut counts = Counts::default();
        let is_program = |file: &Path| file.extension().is_some_and(|end| end == "bend");
        for named in &self.files {
            for file in files(named, is_program, "files of Bend") {
                let tested = file.and_then(|file| Tests::open(&file).map(|tests| (file, tests)));
                match tested {
                    Ok((file, tests)) => self.file(console, &file.display().to_string(), &tests, &options, &mut counts),
                    Err(error) => {
                        counts.errors += error.diagnostics().len();
                        console.report(&error.into_report());
                    }
                }
                if interrupt.is_raised() {
                    return interrupt.exit();
                }
            }
        }
        self.end(console, &counts)
    }

    fn options(&self, interrupt: &Interrupt) -> TestOptions {
        let jobs = self.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let memory = self.memory.unwrap_or_else(|| memory::default_limit() / jobs as u64);
        let run = RunOptions {
            device: self.device.for_programs(),
            memory,
            heap: self.memory,
            stack: memory.min(RunOptions::default().stack),
            // The tests share the cores.
            threads: Some(NonZeroUsize::MIN),
            interrupt: Some(interrupt.flag()),
            ..RunOptions::default()
        };
        TestOptions { run, jobs, timeout: self.timeout }
    }

    /// Runs or lists the tests of a file.
    fn file(&self, console: &Console, file: &str, tests: &Tests, options: &TestOptions, counts: &mut Counts) {
        let is_wanted = |test: &&Case| self.filter.as_ref().is_none_or(|text| test.name.contains(text));
        let wanted: Vec<&Case> = tests.list().iter().filter(is_wanted).collect();
        counts.filtered += tests.list().len() - wanted.len();
        let name = |test: &Case| format!("{file}:{} {}", tests.line(test), test.name);
        if self.list {
            for test in &wanted {
                let object = || json!({"kind": "test", "file": file, "line": tests.line(test), "name": test.name});
                console.result(&name(test), object);
            }
            counts.passed += wanted.len();
            return;
        }
        let mut verdicts: Vec<Option<Verdict>> = wanted.iter().map(|_| None).collect();
        let mut printed = 0;
        tests.run(&wanted, options, |number, verdict| {
            verdicts[number] = Some(verdict);
            while let Some(Some(verdict)) = verdicts.get(printed) {
                let (test, passed) = (wanted[printed], verdict.result.is_ok());
                let text = format!("test {} ... {}", name(test), if passed { "ok" } else { "FAILED" });
                console.result(&text, || {
                    json!({"kind": "test", "file": file, "line": tests.line(test), "name": test.name, "passed": passed, "output": verdict.output})
                });
                printed += 1;
            }
        });
        let verdicts = wanted.iter().zip(verdicts.into_iter().flatten());
        for (test, verdict) in verdicts {
            match verdict.result {
                Ok(()) => counts.passed += 1,
                Err(error) => {
                    counts.failed += 1;
                    self.failure(console, &name(test), &verdict.output, error);
                }
            }
        }
    }

    /// Says why a test has failed, and what it wrote.
    fn failure(&self, console: &Console, name: &str, output: &str, error: Error) {
        console.note(name);
        if !output.is_empty() {
            console.note(&format!("it wrote:\n{}", output.trim_end_matches('\n')));
        }
        console.report(&error.into_report());
    }

    /// Says how many there were. Where there are none, nothing was tested, which is no success.
    fn end(&self, console: &Console, counts: &Counts) -> Exit {
        let Counts { passed, failed, filtered, errors } = *counts;
        if passed + failed + errors == 0 {
            let (message, hint) = match (&self.filter, filtered) {
                (Some(text), 1..) => {
                    (format!("no test has `{text}` in its name"), "`girih test --list FILE` shows the names")
                }
                (_, _) => (
                    "there are no tests".to_owned(),
                    "write a function without parameters whose name begins with `test_`: `girih test --help` shows one",
                ),
            };
            return console.fail(Code::BadArguments, message, Some(hint));
        }
        if !self.list {
            let left_out = if filtered > 0 { format!(", {filtered} left out") } else { String::new() };
            let files = if errors > 0 { format!(", {}", counted(errors, "error")) } else { String::new() };
            let text = format!("{passed} passed, {failed} failed{files}{left_out}");
            console.result(&text, || {
                json!({"kind": "summary", "passed": passed, "failed": failed, "errors": errors, "left_out": filtered})
            });
        }
        if failed + errors > 0 { Exit::Failed } else { Exit::Ok }
    }
}
