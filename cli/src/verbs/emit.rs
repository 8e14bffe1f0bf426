//! `girih emit FILE --as FORM`: a program as the compiler sees it.

use crate::console::Console;
use crate::exit::Exit;
use crate::optimizations::{self, Optimization};
use crate::warnings::WarningFlags;
use clap::{Args, ValueEnum};
use girih::{Code, Options, Program, WarningLevels};
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih emit sort.bend --as ast                 the program, formatted, without its comments
  girih emit sort.bend --as term                what is left when names are resolved and sugar is gone
  girih emit sort.bend --as term -o sort.txt    the same, into a file";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Emit {
    /// The file
    file: PathBuf,
    /// The form
    #[arg(long = "as", value_name = "FORM")]
    form: Form,
    /// Write into a file, all or nothing, instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Start at this definition instead of `main`
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    #[command(flatten)]
    warnings: WarningFlags,
    /// Switches of `bend`: `no-type-check` leaves types unchecked, the others have no effect here
    #[arg(short = 'O', value_name = "SWITCH", value_delimiter = ' ', value_parser = optimizations::parse)]
    optimizations: Vec<Optimization>,
}

/// A form of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The syntax tree of this file, printed as Bend
    Ast,
    /// The lambda core of the whole program, after type checking
    Term,
}

impl Emit {
    /// Prints the form.
    pub fn run(&self, console: &Console) -> Exit {
        let program = Program::open(&self.file, &self.options());
        let text = match self.form {
            Form::Ast => program.syntax(),
            Form::Term => program.core(),
        };
        let text = match text {
            Ok(text) => text,
            Err(report) => {
                console.report(&report);
                return Exit::Failed;
            }
        };
        match &self.output {
            None => {
                let form = self.form.to_possible_value().map(|v| v.get_name().to_owned());
                console.result(text.trim_end(), || json!({"kind": "emit", "as": form, "text": text}));
                Exit::Ok
            }
            Some(path) => match write_whole(path, text.as_bytes()) {
                Ok(()) => Exit::Ok,
                Err(error) => {
                    let why = match error.kind() {
                        ErrorKind::NotFound => "there is no such folder".to_owned(),
                        ErrorKind::PermissionDenied => "permission is denied".to_owned(),
                        ErrorKind::IsADirectory => "it is a folder".to_owned(),
                        kind => kind.to_string(), // The error itself speaks of a temporary file.
                    };
                    console.fail(Code::CannotWrite, format!("cannot write `{}`: {why}", path.display()), None)
                }
            },
        }
    }

    fn options(&self) -> Options {
        let mut levels = WarningLevels::default();
        if self.form == Form::Ast {
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

/// Writes a file so that it is never seen half written: into a new file beside it, which then takes its place.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    if let Ok(old) = std::fs::metadata(path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}
