//! `girih man FOLDER`: a page for the command and one for each verb, made from the same definitions as `--help`.

use crate::args::Command;
use crate::console::Console;
use crate::exit::Exit;
use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;
use girih::{Code, atomic_file};
use girih_base::plural::counted;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih man ~/.local/share/man/man1     `man girih` and `man girih-run` show them from then on
  girih man pages && man pages/girih.1";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// The folder that the pages are written to; it is made if it does not exist
    folder: PathBuf,
}

impl Man {
    /// Writes the pages.
    pub fn run(&self, console: &Console) -> Exit {
        let pages = match write(&self.folder) {
            Ok(pages) => pages,
            Err(error) => {
                let message = format!("cannot write manual pages to `{}`: {error}", self.folder.display());
                return console.fail(Code::CannotWrite, message, None);
            }
        };
        let text = format!("{} in {}", counted(pages.len(), "page"), self.folder.display());
        console.result(&text, || json!({"kind": "man", "folder": self.folder, "pages": pages}));
        Exit::Ok
    }
}

/// Writes all pages into a folder, each complete or not at all; their names.
fn write(folder: &Path) -> io::Result<Vec<String>> {
    let mut command = Command::command().disable_help_subcommand(true);
    command.build();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let commands: Vec<clap::Command> = std::iter::once(command.clone()).chain(verbs).collect();
    std::fs::create_dir_all(folder)?;
    let mut names = vec![];
    for command in commands {
        let page = Page::new(command);
        let mut text = vec![];
        page.render(&mut text)?;
        atomic_file::write_bytes(&folder.join(page.get_filename()), &text)?;
        names.push(page.get_filename());
    }
    Ok(names)
}
