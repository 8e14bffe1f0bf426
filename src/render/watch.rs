//! Notices when a shader's files change.

use super::shader::Shader;
use crate::error::Error;
use crate::loader::FileLoader;
use crate::program::Program;
use girih_bend::loader::{File, LoadError, Loader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A shader's file, and all files and folders that it was compiled from, or would have been if they existed.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    stamps: BTreeMap<PathBuf, Option<Stamp>>,
}

/// What tells one content of a file from another, without reading it.
type Stamp = (Option<SystemTime>, u64);

impl Watched {
    /// Watches a file that has not been opened yet.
    pub fn new(path: impl Into<PathBuf>) -> Watched {
        Watched { path: path.into(), stamps: BTreeMap::new() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the shader as it is now; from here on, [`changed`](Watched::changed) looks for something newer.
    pub fn open(&mut self) -> Result<Shader, Error> {
        let loader = Recorder { files: FileLoader::new(&self.path), main: &self.path, asked: Mutex::default() };
        let program = Program::load(&loader, &Shader::options());
        self.stamps = loader.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        Shader::new(&program)
    }

    /// Whether a file has changed, appeared or vanished since the shader was opened.
    pub fn changed(&self) -> bool {
        self.stamps.iter().any(|(path, known)| stamp(path) != *known)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok(), data.len()))
}

/// Loads files and notes their stamps, each before the file is read: what changes meanwhile is noticed later.
struct Recorder<'a> {
    files: FileLoader,
    main: &'a Path,
    asked: Mutex<BTreeMap<PathBuf, Option<Stamp>>>,
}

impl Recorder<'_> {
    fn note(&self, path: PathBuf) {
        let stamp = stamp(&path);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert(stamp);
    }
}

impl Loader for Recorder<'_> {
    fn main(&self) -> Result<File, LoadError> {
        self.note(self.main.to_path_buf());
        self.files.main()
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        self.note(self.files.file_place(path));
        self.files.file(path)
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        self.note(self.files.place(path));
        self.files.folder(path)
    }
}
