//! Compiles every program of `tests/bend` that can be run by value to functions of the IR. The verifier, which follows the ownership of
//! every word of the heap, takes each; and so it does what is read from their text. The reference machine and native code give what the
//! evaluator gives.

mod support;

use girih::ir::tasks::Settings;
use girih::{Report, RunOptions, SystemHost};
use std::num::NonZeroUsize;
use std::time::Duration;
use support::directives::Directives;
use support::watch;

use girih::core::direct;
use girih::core::span::SourceId;
use girih::core::term::code;
use girih::ir::{text, verify};
use girih::{Code, Diagnostic, Options, Program, RunDevice, on_big_stack};

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

/// A way to run compiled programs.
struct Way {
    device: RunDevice,
    threads: usize,
    reuse: bool,
}

/// The reference machine with a look at every access, and native code.
fn ways() -> Vec<(&'static str, Way)> {
    let settings = Settings { checked: true, seed: None, fuel: Some(STEPS) };
    let native = |threads, reuse| Way { device: RunDevice::Cpu, threads, reuse };
    vec![
        ("reference machine", Way { device: RunDevice::Interpreter(settings), threads: 1, reuse: true }),
        ("native", native(1, true)),
        ("native on three threads", native(3, true)),
        ("native without reuse", native(1, false)),
    ]
}

/// What the evaluator gives, and what the compiled program gives in each way. None if there is nothing to compare.
fn all(path: &str, ways: &[(&'static str, Way)]) -> Option<(String, Vec<String>)> {
    let text = std::fs::read_to_string(path).ok()?;
    let expected = Directives::read(&text).ok()?;
    let (options, memory) = expected.options().ok()?;
    let program = Program::open(path, &options);
    code::Code::new(program.core_program().ok()?).ok()?;
    let run = |device: RunDevice, threads: usize, reuse: bool| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in &expected.files {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let alarm = watch::alarm(LIMIT);
        let options = RunOptions {
            device,
            threads: NonZeroUsize::new(threads),
            reuse,
            memory: memory.unwrap_or(256 << 20),
            interrupt: Some(alarm.flag.clone()),
            explain: false,
            ..RunOptions::default()
        };
        let mut host = SystemHost::new()
            .in_folder(folder.path())
            .with_stdin(std::io::Cursor::new(expected.stdin.clone().into_bytes()))
            .with_stdout(Box::new(std::io::sink()));
        outcome(program.run(&mut host, &options).map(|outcome| outcome.text))
    };
    let evaluated = run(RunDevice::Evaluator, 1, true);
    Some((evaluated, ways.iter().map(|(_, way)| run(way.device, way.threads, way.reuse)).collect()))
}

/// Whether two outcomes are the same. Calls that are nested too deeply take data of the evaluator, and stack of compiled code.
fn agree(a: &str, b: &str) -> bool {
    let depth = [Code::OutOfMemory.as_str(), Code::TooManyCalls.as_str()];
    a == b || depth.contains(&a) && depth.contains(&b)
}

#[test]
fn compiled_programs_give_what_the_evaluator_gives() {
    let ways = ways();
    let (mut same, mut long) = (vec![0; ways.len()], 0);
    let mut different = vec![];
    for path in support::bend_files(support::PROGRAMS) {
        let Some((expected, outcomes)) = all(&path, &ways) else { continue };
        for (i, (outcome, (name, _))) in outcomes.iter().zip(&ways).enumerate() {
            if agree(&expected, outcome) {
                same[i] += 1;
            } else if outcome == Code::OutOfFuel.as_str() {
                // Too long for the reference machine.
                long += 1;
            } else {
                different.push(format!("{path}, {name}: {expected} / {outcome}"));
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same.iter().all(|same| *same >= COMPILED) && long <= LONG, "{same:?} are the same, {long} take too long");
}
