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

/// The files of a new project. The name of the project replaces `NAME` in them.
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

/// Writes all files into a temporary folder and then gives it its name. An empty folder that exists gets the temporary one inside it, because its parent may
/// belong to somebody else or to another file system; the files are moved out of it, all or none.
fn write(folder: &Path) -> io::Result<()> {
    let exists = folder.is_dir();
    let folder = if exists { folder.canonicalize()? } else { folder.to_owned() };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy());
    if !exists {
        std::fs::create_dir_all(parent)?;
    }
    let made = tempfile::Builder::new().prefix(".new-").tempdir_in(if exists { &folder } else { parent })?;
    let project = made.path().join("project");
    std::fs::create_dir(&project)?;
    for (file, text) in FILES {
        std::fs::write(project.join(file), text.replace("NAME", &name))?;
    }
    if exists { move_all(&project, &folder) } else { std::fs::rename(&project, folder) }
}

/// Moves all files from one folder into another. If one cannot be moved, those before it are removed again.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    for (moved, (file, _)) in FILES.iter().enumerate() {
        if let Err(error) = std::fs::rename(from.join(file), to.join(file)) {
            for (file, _) in &FILES[..moved] {
                // What cannot be removed stays: the first error is the one to report.
                let _ = std::fs::remove_file(to.join(file));
            }
            return Err(error);
        }
    }
    Ok(())
}
