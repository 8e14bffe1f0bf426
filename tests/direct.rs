//! Compiles every program of `tests/bend` that can be run by value to functions of the IR. The verifier, which follows the ownership of
//! every word of the heap, takes each; and so it does what is read from their text.

mod support;

use girih::ir::tasks::Settings;
use girih::{Report, RunOptions, SystemHost};
use std::time::Duration;
use support::directives::Directives;
use support::watch;

use girih::core as girih_core;
use girih::core::direct;
use girih::core::span::SourceId;
use girih::core::term::code;
use girih::ir::{text, verify};
use girih::{Code, Diagnostic, Options, Program, on_big_stack};

/// Programs that come this far at least; those that have errors or need nets do not.
const COMPILED: usize = 500;

/// Compiles a program, and reads its text again. None if there is nothing to compile.
fn compile(path: &str) -> Option<Result<(), String>> {
    let program = Program::open(path, &Options::default());
    let program = program.core_program().ok()?;
    on_big_stack(|| {
        let code = code::Code::new(program).ok()?;
        Some(
            direct::compile(&code)
                .map_err(|errors| said(&errors))
                .and_then(|direct| read_again(&text::print(&direct.module))),
        )
    })
}

fn read_again(printed: &str) -> Result<(), String> {
    let parsed = text::parse(SourceId::new(0), printed).map_err(|errors| said(&errors))?;
    let module = verify(parsed.module).map_err(|errors| said(&errors))?;
    let again = text::print(&module);
    if again == printed { Ok(()) } else { Err("what is read from the text prints another text".to_owned()) }
}

fn said(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect::<Vec<_>>().join("; ")
}

#[test]
fn programs_become_functions_that_verify() {
    let mut compiled = 0;
    let mut failed = vec![];
    for path in support::bend_files(support::PROGRAMS) {
        match compile(&path) {
            None => {}
            Some(Ok(())) => compiled += 1,
            Some(Err(why)) => failed.push(format!("{path}: {why}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(compiled >= COMPILED, "only {compiled} programs were compiled");
}

/// Steps that the reference machine makes at most; programs that need more are left to faster ones.
const STEPS: u64 = 4_000_000;
/// How many programs need more.
const LONG: usize = 12;
/// How long the evaluator may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The value or the first error of a run.
fn outcome(run: Result<String, Report>) -> String {
    run.unwrap_or_else(|report| report.diagnostics.first().map_or("?".into(), |d| d.code.as_str().to_owned()))
}

/// What the evaluator gives, and what the compiled program gives on the reference machine. None if there is nothing to compare.
fn both(path: &str) -> Option<(String, String)> {
    let text = std::fs::read_to_string(path).ok()?;
    let expected = Directives::read(&text).ok()?;
    let (options, memory) = expected.options().ok()?;
    let program = Program::open(path, &options);
    code::Code::new(program.core_program().ok()?).ok()?;
    let one = |run: &dyn Fn(&mut SystemHost, &RunOptions) -> Result<String, Report>| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in &expected.files {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let alarm = watch::alarm(LIMIT);
        let mut options = RunOptions { interrupt: Some(alarm.flag.clone()), ..RunOptions::default() };
        options.memory = memory.unwrap_or(256 << 20);
        let mut host = SystemHost::new()
            .in_folder(folder.path())
            .with_stdin(std::io::Cursor::new(expected.stdin.clone().into_bytes()))
            .with_stdout(Box::new(std::io::sink()));
        outcome(run(&mut host, &options))
    };
    let evaluated = one(&|host, options| program.run(host, options).map(|o| o.text));
    let settings = Settings { checked: true, seed: None, fuel: Some(STEPS) };
    let compiled = if std::env::var_os("NATIVE").is_some() { let tasks = girih_core::runtime::TaskOptions { threads: std::env::var("NATIVE").unwrap().parse().unwrap(), ..Default::default()}; eprintln!("{path}"); one(&|host, options| program.run_natively(host, options, &tasks).map(|x|x.0)) } else { one(&|host, options| program.run_on_reference(host, options, &settings)) };
    Some((evaluated, compiled))
}

#[test]
fn compiled_programs_give_what_the_evaluator_gives() {
    let (mut same, mut long) = (0, 0);
    let mut different = vec![];
    for path in support::bend_files(support::PROGRAMS) {
        match both(&path) {
            None => {}
            Some((a, b)) if a == b => same += 1,
            // Too long for the reference machine.
            Some((_, b)) if b == Code::OutOfFuel.as_str() => long += 1,
            Some((a, b)) => different.push(format!("{path}: {a} / {b}")),
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= COMPILED && long <= LONG, "{same} are the same, {long} take too long");
}
