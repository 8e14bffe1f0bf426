//! `girih fmt FILE...`: lays programs out in one style.
//!
//! Invariant: a file is replaced as a whole by what says the same, or left as it is.

use crate::console::Console;
use crate::exit::Exit;
use crate::files::{cannot_read, failure, files};
use clap::Args;
use girih::format::{Language, format};
use girih::{Code, Error, atomic_file};
use girih_base::plural::counted;
use serde_json::json;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih fmt sort.bend                      one file
  girih fmt shaders tests                  all files of Bend and of the IR in two folders
  girih fmt --check .                      which files would change; fails if one would
  girih fmt - < sort.bend                  from standard input to standard output, for editors
  girih fmt - --stdin-name scale.gir       the same for the IR";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Fmt {
    /// The files, FILE.bend and FILE.gir; folders, whose files are meant; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing: list the files that would change, and fail if there are any
    #[arg(long)]
    check: bool,
    /// The name of what `-` reads, whose end says which language it is
    #[arg(long, value_name = "NAME", default_value = "stdin.bend")]
    stdin_name: PathBuf,
}

/// How many files there were of each kind.
#[derive(Default)]
struct Counts {
    files: usize,
    changed: usize,
    failed: usize,
}

impl Fmt {
    /// Formats the files one after the other; one that cannot be formatted does not keep the others from it.
    pub fn run(&self, console: &Console) -> Exit {
        let mut counts = Counts::default();
        for named in &self.files {
            if named.as_os_str() == "-" {
                self.count(console, &mut counts, self.standard_input(console));
                continue;
            }
            for file in files(named, |file| Language::of(file).is_some(), "files of Bend or of the IR") {
                let changed = file.and_then(|file| self.file(console, &file));
                self.count(console, &mut counts, changed);
            }
        }
        let Counts { files, changed, failed } = counts;
        console.object(&json!({"kind": "summary", "files": files, "changed": changed, "errors": failed}));
        if self.files.iter().any(|named| named.as_os_str() != "-") {
            let would = if self.check { "would change" } else { "changed" };
            console.note(&format!("{}: {changed} {would}, {failed} failed", counted(files, "file")));
        }
        if failed > 0 || (self.check && changed > 0) { Exit::Failed } else { Exit::Ok }
    }

    fn count(&self, console: &Console, counts: &mut Counts, changed: Result<bool, Error>) {
        counts.files += 1;
        match changed {
            Ok(changed) => counts.changed += usize::from(changed),
            Err(error) => {
                counts.failed += 1;
                console.report(&error.into_report());
            }
        }
    }

    /// Formats a file. Returns whether it changes.
    fn file(&self, console: &Console, file: &Path) -> Result<bool, Error> {
        let name = file.display().to_string();
        let language = language(file)?;
        let text = std::fs::read_to_string(file).map_err(|error| cannot_read(&name, &error))?;
        let formatted = format(&name, &text, language)?;
        if formatted == text {
            return Ok(false);
        }
        if self.check {
            console.result(&name, || json!({"kind": "would change", "file": name}));
            return Ok(true);
        }
        write(file, &formatted).map_err(|error| {
            let message = format!("cannot write `{name}`: {error}");
            failure(Code::CannotWrite, message, "the file is left as it was")
        })?;
        console.detail(|| format!("{name}: changed"));
        Ok(true)
    }

    /// Formats standard input to standard output. Returns whether it changes.
    fn standard_input(&self, console: &Console) -> Result<bool, Error> {
        let name = self.stdin_name.display().to_string();
        let language = language(&self.stdin_name)?;
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| cannot_read("standard input", &error))?;
        let formatted = format(&name, &text, language)?;
        let changes = formatted != text;
        if self.check && changes {
            console.result(&name, || json!({"kind": "would change", "file": name}));
        } else if !self.check
            && let Some(text) = formatted.strip_suffix('\n')
        {
            console.result(text, || json!({"kind": "formatted", "file": name, "text": formatted}));
        }
        Ok(changes)
    }
}

/// Replaces a file that may be written to.
fn write(file: &Path, text: &str) -> io::Result<()> {
    if std::fs::metadata(file)?.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is write-protected"));
    }
    atomic_file::write_bytes(file, text)
}

fn language(file: &Path) -> Result<Language, Error> {
    Language::of(file).ok_or_else(|| {
        let message = format!("`{}` is in no language that can be formatted", file.display());
        failure(Code::CannotRead, message, "files of Bend end with `.bend`, files of the IR with `.gir`")
    })
}
