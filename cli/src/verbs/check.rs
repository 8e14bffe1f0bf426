//! `girih check FILE...`: parse, resolve, type-check.

use crate::console::Console;
use crate::exit::Exit;
use crate::launch::{self, Named};
use crate::optimizations::{self, Optimization};
use crate::verbs::launch::argument;
use crate::verbs::{kernel, net};
use crate::warnings::WarningFlags;
use clap::Args;
use girih::devices::Profile;
use girih::kernels::Kernels;
use girih::nets::Nets;
use girih::triton::{KernelFile, Request};
use girih::{Code, Diagnostic, Error, Options, Program, Report, Sources, Span, WarningLevels};
use girih_base::plural::counted;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih check sort.bend                         one program
  girih check examples/*.bend --json            many, for another program to read
  girih check sort.bend -Dall                   every warning is an error
  girih check sort.bend -A unused-definition    without this warning
  girih check scale.gir sum.hvm                 kernels of the IR, and an interaction net
  girih check softmax.py                        a file of Triton kernels
  girih check softmax.py::softmax --arg x_ptr=zeros(f32,1) .. --caps sm_90    a kernel for what it is given: also what makes it slow there";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// The files: Bend programs; FILE.gir, kernels of the IR; FILE.hvm, an interaction net; FILE.py or FILE.py::KERNEL, Triton kernels
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
    /// Of a Triton kernel: a parameter's value, as `girih launch` has it; the kernel is compiled for these
    #[arg(long, value_name = "NAME=VALUE", value_parser = launch::named)]
    arg: Vec<Named>,
    /// Of a kernel: the device that it is compiled for: web, web-extended, cpu, sm_75 or later
    #[arg(long, value_name = "PROFILE", value_parser = crate::device::profile, default_value = "sm_90")]
    caps: Profile,
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
        let (found, warned) = (counted(errors, "error"), counted(warnings, "warning"));
        console.note(&format!("{}: {found}, {warned}", counted(files, "file")));
        if errors > 0 { Exit::Failed } else { Exit::Ok }
    }

    /// What is wrong with a file, which is read as its name says.
    fn report(&self, file: &Path) -> Report {
        if let Some((path, kernel)) = file.to_str().and_then(kernel::split) {
            return self.kernels(path, kernel).unwrap_or_else(Error::into_report);
        }
        if let Some((path, kernel)) = file.to_str().and_then(python) {
            return self.triton(path, kernel).unwrap_or_else(|report| report);
        }
        if net::is_net(file) {
            return Nets::open(file).err().map(Error::into_report).unwrap_or_default();
        }
        Program::open(file, &self.options()).report()
    }

    /// What is to be said of a file of the IR, or of one of its kernels: its mistakes, and what makes a kernel in tile form slow on the device of `--caps`.
    fn kernels(&self, path: &str, kernel: Option<&str>) -> Result<Report, Error> {
        let kernels = Kernels::open(Path::new(path))?;
        let ids = match kernel {
            Some(name) => vec![kernels.kernel(Some(name))?],
            None => kernels.module.kernels().collect(),
        };
        let mut report = Report { sources: kernels.sources.clone(), ..Report::default() };
        for id in ids {
            // What that device lacks is no mistake of a kernel, which may be for another one.
            let notes = kernels.notes(Some(&kernels.module.functions[id].name), &self.caps.caps());
            report.diagnostics.extend(notes.into_iter().flat_map(|notes| notes.diagnostics));
        }
        self.set_levels(&mut report);
        Ok(report)
    }

    /// Gives warnings the levels that the options say.
    fn set_levels(&self, report: &mut Report) {
        let levels = self.options().warnings;
        report.diagnostics.retain_mut(|d| match d.code.warning_name().map(|_| levels.level(d.code)) {
            Some(Some(level)) => {
                d.severity = level;
                true
            }
            Some(None) => false,
            None => true,
        });
    }

    /// What is to be said of a file of Triton kernels: what is no Python, and of a kernel whose arguments are given all that compiling it for a device
    /// says.
    fn triton(&self, path: &str, kernel: Option<&str>) -> Result<Report, Report> {
        let file = KernelFile::open(path)?;
        let kernels = file.kernels()?;
        let wrong = |message: String, hint: String| {
            let error = Diagnostic::new(Code::KernelEntry, Span::NONE, message).hint(hint);
            Report { sources: Sources::default(), diagnostics: vec![error] }
        };
        let listed = || kernels.iter().map(|k| format!("`{}`", k.name)).collect::<Vec<_>>().join(", ");
        let found = match (kernel, &kernels[..]) {
            (Some(name), all) => Some(all.iter().find(|k| k.name == name).ok_or_else(|| {
                wrong(format!("`{path}` has no kernel `{name}`"), format!("its kernels are {}", listed()))
            })?),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        if self.arg.is_empty() {
            return Ok(Report::default());
        }
        let Some(kernel) = found else {
            let message = format!("`{path}` has {} kernels, and arguments belong to one", kernels.len());
            return Err(wrong(message, format!("name one after `::`: {}", listed())));
        };
        let mut request = Request { kernel: kernel.name.clone(), ..Request::default() };
        for given in &self.arg {
            let value = argument(given, &kernel.parameters);
            let value =
                value.map_err(|message| wrong(message, "`girih launch --help` says how values are written".into()))?;
            request.arguments.push((given.name.clone(), value));
        }
        let mut report = file.notes(&self.caps.caps(), &request)?;
        self.set_levels(&mut report);
        Ok(report)
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

/// The file and the kernel of `FILE.py` and `FILE.py::KERNEL`.
fn python(name: &str) -> Option<(&str, Option<&str>)> {
    let (path, kernel) = name.split_once("::").map_or((name, None), |(path, kernel)| (path, Some(kernel)));
    path.ends_with(".py").then_some((path, kernel))
}
