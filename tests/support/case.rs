//! The programs of `tests/bend` that can be run by value, each with what it expects, and what comes of running them.

use super::directives::Directives;
use super::{PROGRAMS, Written, bend_files, watch};
use girih::{Code, Diagnostic, Program, RunDevice, RunOptions, Span, SystemHost};
use girih_term::code;
use std::path::Path;
use std::time::Duration;

/// How long a run may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What came of a run: the value, or the first error and its place; and what was written.
#[derive(Debug, PartialEq)]
pub struct Gave {
    pub value: Result<String, (Code, Span)>,
    pub written: String,
}

/// A program of `tests/bend` that can be run by value.
pub struct Case {
    pub path: String,
    pub program: Program,
    pub expected: Directives,
    /// What its `--memory` says.
    pub memory: Option<u64>,
}

impl Case {
    /// All of them.
    pub fn all() -> Vec<Case> {
        bend_files(PROGRAMS).into_iter().filter_map(Case::open).collect()
    }

    /// The program of a path; none if it cannot be run by value.
    pub fn open(path: String) -> Option<Case> {
        let text = std::fs::read_to_string(&path).ok()?;
        let expected = Directives::read(&text).ok()?;
        let (options, memory) = expected.options().ok()?;
        let program = Program::open(&path, &options);
        code::Code::new(program.core_program().ok()?).ok()?;
        Some(Case { path, program, expected, memory })
    }

    /// A random program, which is written into a folder; what comes of it the evaluator says.
    pub fn random(folder: &Path, text: &str) -> Case {
        let path = folder.join("random.bend");
        std::fs::write(&path, format!("#: result of the evaluator\n{text}")).expect("it can be written");
        Case::open(path.to_string_lossy().into_owned()).unwrap_or_else(|| panic!("it is no program:\n{text}"))
    }

    /// The bytes that it may take where the host runs it.
    pub fn most_memory(&self) -> u64 {
        self.memory.unwrap_or(256 << 20)
    }

    /// Runs it in a folder of its own.
    pub fn run(&self, device: RunDevice, change: &dyn Fn(&mut RunOptions)) -> Gave {
        let alarm = watch::alarm(LIMIT);
        let mut options = RunOptions {
            device,
            memory: self.most_memory(),
            heap: self.memory,
            // Enough for every program that ends; and what does not end is through with it soon.
            stack: 1 << 30,
            interrupt: Some(alarm.flag.clone()),
            explain: false,
            ..RunOptions::default()
        };
        change(&mut options);
        self.with_host(|host| {
            let outcome = self.program.run(host, &options);
            outcome.map(|outcome| outcome.text).map_err(|error| error.into_report().diagnostics)
        })
    }

    /// Runs something with the files and the input that the program expects.
    pub fn with_host(&self, run: impl FnOnce(&mut SystemHost) -> Result<String, Vec<Diagnostic>>) -> Gave {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in &self.expected.files {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let written = Written::default();
        let mut host = SystemHost::new()
            .in_folder(folder.path())
            .with_stdin(std::io::Cursor::new(self.expected.stdin.clone().into_bytes()))
            .with_stdout(Box::new(written.clone()));
        let outcome = run(&mut host);
        drop(host);
        let first =
            |errors: Vec<Diagnostic>| errors.first().map_or((Code::Internal, Span::NONE), |d| (d.code, d.span()));
        Gave { value: outcome.map_err(first), written: written.text() }
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
pub fn agree(case: &Case, oracle: &Gave, found: &Gave) -> bool {
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
