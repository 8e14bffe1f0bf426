//! The text of a random program: its main file, and perhaps one that it imports.

use girih::{Options, Program};
use girih_bend::loader::{File, LoadError, Loader};

/// A program as text.
#[derive(Clone)]
pub struct Source {
    /// The main file.
    pub main: String,
    /// The file `library.bend`.
    pub library: Option<String>,
}

impl Source {
    pub fn compile(&self) -> Program {
        Program::load(self, &Options::default())
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.main)?;
        self.library.iter().try_for_each(|text| write!(f, "### library.bend\n{text}"))
    }
}

impl Loader for Source {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "program.bend".to_owned(), text: self.main.clone() })
    }
    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let library = self.library.as_ref().filter(|_| path == "library" || path == "./library");
        Ok(library.map(|text| File { name: "library.bend".to_owned(), text: text.clone() }))
    }
    fn folder(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}
