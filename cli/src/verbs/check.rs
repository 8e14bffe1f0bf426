//! `girih check FILE...`: parse, resolve, type-check.

use crate::console::Console;
use crate::exit::Exit;
use crate::optimizations::{self, Optimization};
use crate::warnings::WarningFlags;
use clap::Args;
use girih::{Code, Options, Program, WarningLevels};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  girih check sort.bend                         one program
  girih check examples/*.bend --json            many, for another program to read
  girih check sort.bend -Dall                   every warning is an error
  girih check sort.bend -A unused-definition    without this warning";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Start at this definition instead of `main`
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    #[command(flatten)]
    warnings: WarningFlags,
    /// Switches of `bend`: `no-type-check` leaves types unchecked, the others have no effect here
    #[arg(short = 'O', value_name = "SWITCH", value_delimiter = ' ', value_parser = optimizations::parse)]
    optimizations: Vec<Optimization>,
}

impl Check {
    /// Checks the files one after the other; one with errors does not keep the others from being checked.
    pub fn run(&self, console: &Console) -> Exit {
        let (mut errors, mut warnings) = (0, 0);
        for file in &self.files {
            let started = std::time::Instant::now();
            let program = Program::open(file, &self.options());
            let report = program.report();
            console.report(&report);
            console.detail(|| format!("{}: {:.1} ms", file.display(), started.elapsed().as_secs_f64() * 1e3));
            errors += report.errors();
            warnings += report.warnings();
        }
        let files = self.files.len();
        console.object(&json!({"kind": "summary", "files": files, "errors": errors, "warnings": warnings}));
        console.note(&format!("{}: {}, {}", count(files, "file"), count(errors, "error"), count(warnings, "warning")));
        if errors > 0 { Exit::Failed } else { Exit::Ok }
    }

    fn options(&self) -> Options {
        let mut levels = WarningLevels::default();
        // A file that others import has no entry point, and nothing is wrong with that.
        if self.entrypoint.is_none() {
            levels.set(Code::MissingMain, None);
        }
        self.warnings.apply(&mut levels);
        Options {
            warnings: levels,
            check_types: optimizations::type_check(&self.optimizations),
            entry: self.entrypoint.as_deref().map(Into::into),
            arguments: vec![],
        }
    }
}

/// `1 file`, `2 files`.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}
