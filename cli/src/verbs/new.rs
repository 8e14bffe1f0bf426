//! `girih new NAME`: a folder with a program and its tests, an image shader, and the commands for them.
//!
//! Invariant: the folder appears with all its files or not at all, and nothing that exists is changed.

use crate::console::Console;
use crate::exit::Exit;
use clap::Args;
use girih::Code;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih new primes && cd primes
  girih run main.bend                       runs the program
  girih test .                              runs its tests
  girih render shader.bend -o shader.gif    draws the shader";

/// The files of a new project. In the last one, the project's name is filled in.
const FILES: [(&str, &str); 3] = [
    ("main.bend", include_str!("new/main.bend")),
    ("shader.bend", include_str!("new/shader.bend")),
    ("README.md", include_str!("new/README.md")),
];

/// What is said once they are there.
const COMMANDS: [&str; 3] = ["girih run main.bend", "girih test .", "girih render shader.bend -o shader.gif"];

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct New {
    /// The folder, which is made; one that exists must be empty
    #[arg(value_name = "NAME")]
    folder: PathBuf,
}

impl New {
    /// Makes the folder.
    pub fn run(&self, console: &Console) -> Exit {
        let shown = self.folder.display();
        if self.folder.symlink_metadata().is_ok() && !is_empty_folder(&self.folder) {
            let message = format!("`{shown}` is there already");
            return console.fail(Code::CannotWrite, message, Some("take a name that nothing has, or an empty folder"));
        }
        if let Err(error) = write(&self.folder) {
            return console.fail(Code::CannotWrite, format!("cannot make the folder `{shown}`: {error}"), None);
        }
        let files = FILES.map(|(name, _)| name);
        let text = format!("{shown} has {}. Try it:\n  cd {shown}\n  {}", files.join(", "), COMMANDS.join("\n  "));
        console.result(&text, || json!({"kind": "new", "folder": self.folder, "files": files}));
        Exit::Ok
    }
}

fn is_empty_folder(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Writes all files into a folder beside the one that is wanted, and then gives it its name. Where there is an empty folder, the written files are moved into it.
fn write(folder: &Path) -> io::Result<()> {
    let exists = folder.is_dir();
    let folder = if exists { folder.canonicalize()? } else { folder.to_owned() };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let name = folder.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy());
    let made = tempfile::Builder::new().prefix(".new-").tempdir_in(parent)?;
    let project = made.path().join("project");
    std::fs::create_dir(&project)?;
    for (file, text) in FILES {
        std::fs::write(project.join(file), text.replace("NAME", &name))?;
    }
    if exists {
        return FILES.iter().try_for_each(|(file, _)| std::fs::rename(project.join(file), folder.join(file)));
    }
    std::fs::rename(&project, folder)
}
