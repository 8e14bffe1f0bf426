//! The files of a program as they were found, which go with it to another process or machine.
//!
//! Invariant: a program that is compiled from what was recorded is the one that was recorded, whatever files there are by then.

use girih::{File, FileLoader, LoadError, Loader, TextLoader};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A file: the name shown to people, and its text.
type Named = (String, String);

/// What was found: the main file, others by their paths, and the names of the files in folders.
pub(crate) type Found = (Named, BTreeMap<String, Option<Named>>, BTreeMap<String, Option<Vec<String>>>);

/// Finds the files of a program, and records them.
pub(crate) struct Recorder {
    loader: Box<dyn Loader + Send + Sync>,
    found: Mutex<Found>,
}

impl Recorder {
    /// The file of this name; or the text, where there is one.
    pub fn new(name: &str, text: Option<&str>) -> Recorder {
        let loader: Box<dyn Loader + Send + Sync> = match text {
            Some(text) => Box::new(TextLoader::new(name, text)),
            None => Box::new(FileLoader::new(name)),
        };
        Recorder { loader, found: Mutex::default() }
    }

    /// What was found so far.
    pub fn found(self) -> Found {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, what: impl FnOnce(&mut Found)) {
        what(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Loader for Recorder {
    fn main(&self) -> Result<File, LoadError> {
        let file = self.loader.main()?;
        self.record(|found| found.0 = named(&file));
        Ok(file)
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let file = self.loader.file(path)?;
        self.record(|found| drop(found.1.insert(path.to_owned(), file.as_ref().map(named))));
        Ok(file)
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        let names = self.loader.folder(path);
        self.record(|found| drop(found.2.insert(path.to_owned(), names.clone())));
        names
    }
}

/// Finds again what was recorded.
pub(crate) struct Recorded<'a>(pub &'a Found);

impl Loader for Recorded<'_> {
    fn main(&self) -> Result<File, LoadError> {
        Ok(file(&self.0.0))
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        Ok(self.0.1.get(path).and_then(|known| known.as_ref().map(file)))
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        self.0.2.get(path).cloned().flatten()
    }
}

fn named(file: &File) -> Named {
    (file.name.clone(), file.text.clone())
}

fn file((name, text): &Named) -> File {
    File { name: name.clone(), text: text.clone() }
}
