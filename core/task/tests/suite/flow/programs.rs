//! Programs to analyse: texts, and the files of the conformance suite.

use std::path::{Path, PathBuf};

use girih_bend::loader::{File, LoadError, Loader};
use girih_bend::{Options, compile};
use girih_term::Program;
use girih_term::simplify::simplify;

/// The programs of the conformance suite.
pub(super) fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bend")
}

/// All Bend files below a folder, in order.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "bend") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs something on a stack that is large enough for deep terms and deep recursion.
pub(super) fn on_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(4 << 30).spawn_scoped(scope, run);
        match thread.expect("a thread").join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The program in a file, as it is run; none if it is refused.
pub(super) fn load(path: &Path) -> Option<Program> {
    load_with(path, None)
}

/// The same with an argument in front of those that the file names.
pub(super) fn load_with(path: &Path, argument: Option<&str>) -> Option<Program> {
    let main = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = main.lines().filter_map(|line| line.trim_start().strip_prefix("#: "));
    let words = |key: &'static str| lines.clone().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(' '));
    let flags: Vec<&str> = words("flags").flat_map(str::split_whitespace).collect();
    let entry = flags.iter().position(|&flag| flag == "-e").map(|at| flags[at + 1].into());
    let options = Options {
        check_types: !flags.contains(&"-Ono-type-check"),
        entry,
        // Quoted arguments have no spaces outside of the quotes here; one with spaces is one argument.
        arguments: argument.map(str::to_string).into_iter().chain(words("args").flat_map(arguments)).collect(),
        ..Options::default()
    };
    prepared(compile(&Folder(path), &options).program?)
}

fn arguments(line: &str) -> Vec<String> {
    let quoted = line.split('\'').enumerate();
    let words = quoted.flat_map(|(position, part)| match position % 2 {
        0 => part.split_whitespace().map(str::to_string).collect(),
        _ => vec![part.to_string()],
    });
    words.collect()
}

/// The program as the evaluator runs it; none if it needs nets or has no entry.
pub(super) fn prepared(mut program: Program) -> Option<Program> {
    let entry = program.entry?;
    program.defs.iter_mut().for_each(simplify);
    girih_term::reachability::reach(&program, &[entry]).ok()?;
    Some(program)
}

/// The program of a text, as it is run.
pub(super) fn of_text(text: &str) -> Program {
    let compilation = compile(&Text(text), &Options::default());
    let program = compilation.program.unwrap_or_else(|| panic!("{:?}\n{text}", compilation.diagnostics));
    prepared(program).expect("a program without nets")
}

/// A program that is one text.
struct Text<'t>(&'t str);

impl Loader for Text<'_> {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "program.bend".to_string(), text: self.0.to_string() })
    }
    fn file(&self, _: &str) -> Result<Option<File>, LoadError> {
        Ok(None)
    }
    fn folder(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}

/// The file of a program and those around it.
struct Folder<'p>(&'p Path);

impl Folder<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.0.parent().expect("a file has a folder").join(path)
    }
}

impl Loader for Folder<'_> {
    fn main(&self) -> Result<File, LoadError> {
        let text = std::fs::read_to_string(self.0).map_err(|error| LoadError { message: error.to_string() })?;
        Ok(File { name: self.0.display().to_string(), text })
    }
    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let path = self.path(&format!("{path}.bend"));
        Ok(std::fs::read_to_string(&path).ok().map(|text| File { name: path.display().to_string(), text }))
    }
    fn folder(&self, path: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(self.path(path)).ok()?;
        let names = entries.filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".bend").map(str::to_string)
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        Some(names)
    }
}
