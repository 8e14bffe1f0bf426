//! Notices when the files of a program or of a shader change.

use crate::error::Error;
use crate::loader::FileLoader;
use crate::program::Program;
use crate::render::Shader;
use girih_bend::Options;
use girih_bend::loader::{File, LoadError, Loader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The main file of a program, and all files and folders that it was compiled from, or would have been if they existed.
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

    /// Opens the program as it is now; from here on, [`changed`](Watched::changed) looks for something newer.
    pub fn open_program(&mut self, options: &Options) -> Program {
        let loader = Recorder { files: FileLoader::new(&self.path), main: &self.path, asked: Mutex::default() };
        let program = Program::load(&loader, options);
        self.stamps = loader.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        program
    }

    /// The same for a shader.
    ///
    /// # Errors
    /// If the program has errors or is no shader.
    pub fn open_shader(&mut self) -> Result<Shader, Error> {
        Shader::new(&self.open_program(&Shader::options()))
    }

    /// A file that has changed, appeared or vanished since the program was opened.
    pub fn changed(&self) -> Option<&Path> {
        self.stamps.iter().find(|(path, known)| stamp(path) != **known).map(|(path, _)| path.as_path())
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
