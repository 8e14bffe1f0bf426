//! `girih check FILE...`: parse, resolve, type-check.

use crate::console::Console;
use crate::exit::Exit;
use crate::optimizations::{self, Optimization};
use crate::verbs::{kernel, net};
use crate::warnings::WarningFlags;
use clap::Args;
use girih::kernels::Kernels;
use girih::nets::Nets;
use girih::{Code, Options, Program, Report, WarningLevels};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih check sort.bend                         one program
  girih check examples/*.bend --json            many, for another program to read
  girih check sort.bend -Dall                   every warning is an error
  girih check sort.bend -A unused-definition    without this warning
  girih check scale.gir sum.hvm                 kernels of the IR, and an interaction net";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// The files: Bend programs; FILE.gir, kernels of the IR; FILE.hvm, an interaction net
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Start at this definition instead of `main`
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    #[command(flatten)]
    warnings: WarningFlags,
    /// Switches of `bend`: `no-type-check` leaves types unchecked; the others have no effect here
    #[arg(short = 'O', value_name = "SWITCH", value_delimiter = ' ', value_parser = optimizations::parse)]
    optimizations: Vec<Optimization>,
}

impl Check {
    /// Checks the files one after the other; one with errors does not keep the others from being checked.
    pub fn run(&self, console: &Console) -> Exit {
        let (mut errors, mut warnings) = (0, 0);
        for file in &self.files {
            let started = std::time::Instant::now();
            let report = self.report(file);
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

    /// What is wrong with a file, which is read as its name says.
    fn report(&self, file: &Path) -> Report {
        if let Some((path, kernel)) = file.to_str().and_then(kernel::split) {
            let kernels = Kernels::open(Path::new(path));
            let named = |kernels: Kernels| kernel.map_or(Ok(()), |name| kernels.kernel(Some(name)).map(drop));
            return kernels.and_then(named).err().unwrap_or_default();
        }
        if net::is_net(file) {
            return Nets::open(file).err().unwrap_or_default();
        }
        Program::open(file, &self.options()).report()
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
