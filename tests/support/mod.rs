//! What the test programs share.
#![allow(dead_code, missing_docs)] // Every test program uses a part of it, and none of it is seen outside.

pub mod case;
pub mod census;
pub mod directives;
pub mod driver;
pub mod generate;
pub mod machine;
pub mod places;
pub mod random;
pub mod trees;

pub use girih_workbench::work as watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The folder of the project's own Bend programs, relative to the folder in which tests run.
pub const PROGRAMS: &str = "tests/bend";

/// All `.bend` files below a folder, sorted, with `/` between the parts of their paths.
pub fn bend_files(folder: &str) -> Vec<String> {
    let mut files = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "bend") {
                files.push(slashed(&path));
            }
        }
    }
    files.sort();
    files
}

fn slashed(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Standard output of a program under test.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// What was written so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no writer panics")).into_owned()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
