//! Compiles every program of `tests/bend` that can be run by value to functions of the IR. The verifier, which follows the ownership of
//! every word of the heap, takes each; and so it does what is read from their text.

mod support;

use girih::ir::tasks::Settings;
use girih::{Report, RunDevice, RunOptions, Span, SystemHost, Work};
use std::num::NonZeroUsize;
use std::time::Duration;
use support::directives::Directives;
use support::{Written, watch};

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
/// How long a run may take.
const LIMIT: Duration = Duration::from_secs(20);

/// What came of a run: the value, or the first error and its place; and what was written.
#[derive(Debug, PartialEq)]
struct Gave {
    value: Result<String, (Code, Span)>,
    written: String,
}

/// A program of `tests/bend` that can be run by value.
struct Case {
    path: String,
    program: Program,
    expected: Directives,
    memory: u64,
}

impl Case {
    /// All of them.
    fn all() -> Vec<Case> {
        support::bend_files(support::PROGRAMS).into_iter().filter_map(Case::open).collect()
    }

    fn open(path: String) -> Option<Case> {
        let text = std::fs::read_to_string(&path).ok()?;
        let expected = Directives::read(&text).ok()?;
        let (options, memory) = expected.options().ok()?;
        let program = Program::open(&path, &options);
        code::Code::new(program.core_program().ok()?).ok()?;
        Some(Case { path, program, expected, memory: memory.unwrap_or(256 << 20) })
    }

    /// Runs it in a folder of its own.
    fn run(&self, device: RunDevice, change: &dyn Fn(&mut RunOptions)) -> Gave {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in &self.expected.files {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let alarm = watch::alarm(LIMIT);
        let mut options = RunOptions {
            device,
            memory: self.memory,
            interrupt: Some(alarm.flag.clone()),
            explain: false,
            ..RunOptions::default()
        };
        change(&mut options);
        let written = Written::default();
        let mut host = SystemHost::new()
            .in_folder(folder.path())
            .with_stdin(std::io::Cursor::new(self.expected.stdin.clone().into_bytes()))
            .with_stdout(Box::new(written.clone()));
        let outcome = self.program.run(&mut host, &options);
        drop(host);
        let first =
            |report: Report| report.diagnostics.first().map_or((Code::Internal, Span::NONE), |d| (d.code, d.span()));
        Gave { value: outcome.map(|outcome| outcome.text).map_err(first), written: written.text() }
    }

    /// Whether a program knows the time, so that no two runs agree.
    fn tells_the_time(&self) -> bool {
        self.path.ends_with("time_passes.bend")
    }
}

/// Calls that are nested too deeply take data of the evaluator, and stack of compiled code.
/// The same error at another place is another error, except where the place depends on what is left of memory, and where it
/// stands in the prelude: there the evaluator, which knows the calls, blames the program. Of a definition that needs itself, compiled
/// code knows the name.
fn agree(case: &Case, oracle: &Gave, found: &Gave) -> bool {
    let values = match (&oracle.value, &found.value) {
        (Err((a, at)), Err((b, place))) => {
            let is_here = |span: Span| {
                !span.is_none()
                    && case.program.report().sources.get(span.source).is_some_and(|file| file.name == case.path)
            };
            let full = [Code::OutOfMemory, Code::TooManyCalls];
            let is_named = *a == Code::SelfDependent;
            full.contains(a) && full.contains(b) || a == b && (at == place || is_named || !is_here(*place))
        }
        (a, b) => a == b || case.tells_the_time(),
    };
    values && oracle.written == found.written
}

#[test]
fn compiled_programs_do_what_the_evaluator_does() {
    let settings = Settings { checked: true, seed: None, fuel: Some(STEPS) };
    let one = NonZeroUsize::MIN;
    let three = one.saturating_add(2);
    type Change<'c> = &'c dyn Fn(&mut RunOptions);
    let ways: [(&str, RunDevice, Change<'_>); 4] = [
        ("interpreter", RunDevice::Interpreter(settings), &|_| {}),
        ("one thread", RunDevice::Cpu, &|options| options.threads = Some(one)),
        ("three threads", RunDevice::Cpu, &|options| options.threads = Some(three)),
        ("without reuse", RunDevice::Cpu, &|options| (options.threads, options.reuse) = (Some(one), false)),
    ];
    let (mut same, mut long) = (0, 0);
    let mut different = vec![];
    for case in Case::all() {
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        for (way, device, change) in &ways {
            match case.run(*device, change) {
                found if agree(&case, &oracle, &found) => same += 1,
                // Too long for the reference machine.
                Gave { value: Err((Code::OutOfFuel, _)), .. } => long += 1,
                found => different.push(format!("{}, {way}: {oracle:?} / {found:?}", case.path)),
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= COMPILED * ways.len() - LONG && long <= LONG, "{same} are the same, {long} take too long");
}

/// A loop of a million effects needs no more memory than one effect does.
#[test]
fn effects_leave_nothing_behind() {
    let text = "def loop(n):\n  switch n:\n    case 0:\n      return IO/wrap(42)\n    case _:\n      with IO:\n        time <- IO/get_time()\n        return loop(n-1)\n\ndef main():\n  return loop(1000000)\n";
    let program = Program::from_text("loop.bend", text, &Options::default());
    let options = RunOptions { memory: 1 << 20, count: true, ..RunOptions::default() };
    let outcome = program.run(&mut SystemHost::new(), &options).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(outcome.text, "IO/Done(IO/MAGIC, 42)");
    let Work::Compiled(work) = outcome.stats.work else { panic!("it was compiled") };
    assert!(work.most_bytes <= 1 << 20 && work.allocated > 1_000_000 && work.live < 100, "{work:?}");
}
