//! Runs every program of `tests/bend` by the evaluator and compares what comes out with what its `#:` lines expect; what is said about a
//! program with errors or warnings is compared with a snapshot. `tests/support/directives.rs` lists the lines.

use crate::support::directives::Directives;
use crate::support::{self, Written, watch};
use girih::{Code, Error, Program, RunDevice, RunOptions, Severity, SystemHost};
use libtest_mimic::{Failed, Trial};
use std::time::Duration;

/// No test program is meant to run this long.
const LIMIT: Duration = Duration::from_secs(60);

/// A test for each program.
pub fn trials() -> Vec<Trial> {
    let trials = support::bend_files(support::PROGRAMS).into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let name =
            path.trim_start_matches(support::PROGRAMS).trim_start_matches('/').trim_end_matches(".bend").to_owned();
        match Directives::read(&text) {
            Ok(expected) if !expected.expects_something() => None,
            Ok(expected) => Some(Trial::test(format!("bend/{name}"), move || test(&path, &name, &expected))),
            Err(error) => Some(Trial::test(format!("bend/{name}"), move || Err(error.into()))),
        }
    });
    trials.collect()
}

fn test(path: &str, name: &str, expected: &Directives) -> Result<(), Failed> {
    let (options, memory) = expected.options()?;
    let program = Program::open(path, &options);
    let mut report = program.report();
    let mut result = None;
    let mut written = None;
    if program.check().is_ok() {
        let (outcome, stdout) = run(&program, expected, memory)?;
        match outcome {
            Ok(text) => result = Some(text),
            Err(failure) => report.diagnostics.extend(failure.into_report().diagnostics),
        }
        written = Some(stdout);
    }
    let found = |severity| -> Vec<Code> {
        report.diagnostics.iter().filter(|d| d.severity == severity).map(|d| d.code).collect()
    };
    let said = report.to_string();
    same("errors", &codes(&expected.errors), &codes(&found(Severity::Error)), &said)?;
    same("result", &expected.result.clone().unwrap_or_default(), &result.unwrap_or_default(), &said)?;
    same("warnings", &codes(&expected.warnings), &codes(&found(Severity::Warning)), &said)?;
    if let Some(stdout) = &expected.stdout {
        same("standard output", stdout.trim_end(), written.unwrap_or_default().trim_end(), &said)?;
    }
    if !report.diagnostics.is_empty() {
        compare_with_snapshot(name, &said);
    }
    Ok(())
}

/// Runs a program in a folder of its own; its value or what went wrong, and what it wrote.
fn run(
    program: &Program,
    expected: &Directives,
    memory: Option<u64>,
) -> Result<(Result<String, Error>, String), Failed> {
    let folder = tempfile::tempdir()?;
    for (name, text) in &expected.files {
        std::fs::write(folder.path().join(name), text)?;
    }
    let written = Written::default();
    let alarm = watch::alarm(LIMIT);
    let interrupt = Some(alarm.flag.clone());
    let mut options = RunOptions { interrupt, device: RunDevice::Evaluator, ..RunOptions::default() };
    options.memory = memory.unwrap_or(options.memory);
    let mut host = SystemHost::new()
        .in_folder(folder.path())
        .with_stdin(std::io::Cursor::new(expected.stdin.clone().into_bytes()))
        .with_stdout(Box::new(written.clone()));
    let outcome = program.run(&mut host, &options).map(|outcome| outcome.text);
    drop(host);
    Ok((outcome, written.text()))
}

fn same(what: &str, expected: &str, found: &str, said: &str) -> Result<(), Failed> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what} expected:\n{expected}\nfound:\n{found}\n\n{said}").into())
}

fn codes(codes: &[Code]) -> String {
    codes.iter().map(|c| c.as_str()).collect::<Vec<_>>().join(" ")
}

fn compare_with_snapshot(name: &str, said: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../bend/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name.replace('/', "__"), said));
}
