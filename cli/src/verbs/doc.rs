//! `girih doc [FILE...] --out FOLDER`: the documentation of programs and of the prelude as HTML.

use crate::console::Console;
use crate::exit::Exit;
use clap::Args;
use girih::{Code, atomic_file, doc};
use girih_base::plural::counted;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  girih doc --out docs                  the prelude: what every program can use
  girih doc sort.bend --out docs        also this program, with the files that it imports

A comment directly above a definition documents it: `# ...`, or `#{ ... #}`. Between backquotes stands Bend.";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Doc {
    /// The programs
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder for the pages; it is made if it is not there
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
}

impl Doc {
    /// Writes the pages. A program with errors has none: then nothing is written.
    pub fn run(&self, console: &Console) -> Exit {
        let pages = match doc::pages(&self.files) {
            Ok(pages) => pages,
            Err(error) => {
                console.report(&error);
                return Exit::Failed;
            }
        };
        let written = std::fs::create_dir_all(&self.out).and_then(|()| {
            pages.iter().try_for_each(|page| atomic_file::write_bytes(&self.out.join(&page.file), &page.text))
        });
        if let Err(error) = written {
            return console.fail(Code::CannotWrite, format!("{}: {error}", self.out.display()), None);
        }
        let index = self.out.join("index.html");
        console.object(&json!({"kind": "doc", "pages": pages.len(), "index": index.display().to_string()}));
        console.note(&format!("{}; begin with `{}`", counted(pages.len(), "page"), index.display()));
        Exit::Ok
    }
}
