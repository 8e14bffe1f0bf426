//! Where sources come from: files beside the main file, or a text in memory.

use girih_bend::loader::{File, LoadError, Loader};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Reads files. The main file is standard input if its path is `-`.
#[derive(Clone, Debug)]
pub struct FileLoader {
    main: PathBuf,
}

impl FileLoader {
    /// Loads the program whose main file is `main`.
    pub fn new(main: impl Into<PathBuf>) -> FileLoader {
        FileLoader { main: main.into() }
    }

    /// The place of a path that is relative to the main file's folder.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        let folder = self.main.parent().unwrap_or(Path::new(""));
        path.split('/').filter(|part| !part.is_empty()).fold(folder.to_path_buf(), |place, part| place.join(part))
    }

    /// The file of a path, whether it exists or not.
    pub fn file_place(&self, path: &str) -> PathBuf {
        let mut place = self.place(path).into_os_string();
        place.push(".bend");
        PathBuf::from(place)
    }
}

impl Loader for FileLoader {
    fn main(&self) -> Result<File, LoadError> {
        let (name, bytes) = if self.main == Path::new("-") {
            let mut bytes = Vec::new();
            ("<stdin>".to_owned(), std::io::stdin().read_to_end(&mut bytes).map(|_| bytes))
        } else {
            (shown(&self.main), std::fs::read(&self.main))
        };
        let bytes = bytes.map_err(|error| cannot_read(&name, &error))?;
        file(name, bytes)
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let place = self.file_place(path);
        match std::fs::read(&place) {
            Ok(bytes) => file(shown(&place), bytes).map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(_) if place.is_dir() => Ok(None),
            Err(error) => Err(cannot_read(&shown(&place), &error)),
        }
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        let mut place = self.place(path);
        if place.as_os_str().is_empty() {
            place.push(".");
        }
        let mut names: Vec<String> = std::fs::read_dir(place)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".bend").map(str::to_owned))
            .collect();
        names.sort();
        Some(names)
    }
}

/// A program that is one text, without files to import.
#[derive(Clone, Debug)]
pub struct TextLoader {
    name: String,
    text: String,
}

impl TextLoader {
    /// Loads `text`, shown to people as `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> TextLoader {
        TextLoader { name: name.into(), text: text.into() }
    }
}

impl Loader for TextLoader {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: self.name.clone(), text: self.text.clone() })
    }

    fn file(&self, _path: &str) -> Result<Option<File>, LoadError> {
        Ok(None)
    }

    fn folder(&self, _path: &str) -> Option<Vec<String>> {
        None
    }
}

/// A path as it is shown: with `/` on every system.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if std::path::MAIN_SEPARATOR == '/' { text } else { text.replace(std::path::MAIN_SEPARATOR, "/") }
}

fn file(name: String, bytes: Vec<u8>) -> Result<File, LoadError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(LoadError { message: format!("`{name}` is 4 GiB or larger") });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(File { name, text }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(LoadError { message: format!("`{name}` is not UTF-8 text: the byte {at} is wrong") })
        }
    }
}

fn cannot_read(name: &str, error: &std::io::Error) -> LoadError {
    let why = match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission is denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    };
    LoadError { message: format!("cannot read `{name}`: {why}") }
}
