//! Random well-typed programs: the checker accepts them, and the evaluator ends with a value or with an error that a typed
//! program may have.
//!
//! 250 programs are tried, 2,000 with `GIRIH_TESTS=full`, or as many as `GIRIH_PROGRAMS` says; `GIRIH_PROGRAM` picks a single one.

use crate::support::generate::{self, Limits, Source};
use crate::support::watch::{self, Ended};
use girih::{Code, RunOptions, Severity, SystemHost};
use girih_workbench::{number, sample};
use std::time::Duration;

/// No program of the generator is meant to run this long.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn well_typed_programs_do_not_go_wrong() {
    if let Some(one) = number("GIRIH_PROGRAM") {
        try_one(one);
        return;
    }
    let total = sample("GIRIH_PROGRAMS", 250, 2000);
    let ended = (0..total).filter(|&number| try_one(number)).count();
    println!("{ended} of {total} programs end with a value, the others divide by zero");
    assert!(ended as u64 >= total / 2, "most programs end with a value");
}

/// Whether the program ends with a value.
fn try_one(number: u64) -> bool {
    let text = generate::program(number, Limits { affine: false, size: (number % 10) as usize });
    let program = text.clone();
    match watch::within(LIMIT * 2, move || run(&program)) {
        Ended::Well(Ok(ended)) => ended,
        Ended::Well(Err(said)) => panic!("GIRIH_PROGRAM={number}: {said}\n{text}"),
        Ended::Panicked(message) => panic!("GIRIH_PROGRAM={number} panicked: {message}\n{text}"),
        Ended::Late => panic!("GIRIH_PROGRAM={number} did not end\n{text}"),
    }
}

/// Whether it ends with a value, not with an error that a well-typed program may have.
fn run(text: &Source) -> Result<bool, String> {
    let program = text.compile();
    program.check().map_err(|report| report.to_string())?;
    let alarm = watch::alarm(LIMIT);
    let options = RunOptions { interrupt: Some(alarm.flag.clone()), ..RunOptions::default() };
    let Err(report) = program.run(&mut SystemHost::new(), &options) else { return Ok(true) };
    let allowed = |code| matches!(code, Code::DivisionByZero);
    if report.diagnostics.iter().all(|d| d.severity == Severity::Warning || allowed(d.code)) {
        return Ok(false);
    }
    Err(report.to_string())
}
