//! Which language a file is in. Its name says so.

use girih_bend::loader::{self, LoadError, Loader};
use serde::Deserialize;

/// The files that a program can import: those beside the shaders.
const LIBRARY: &[(&str, &str)] = &[("lib/colour", include_str!("../../shaders/lib/colour.bend"))];

/// The languages that the playground runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// A Bend program, or an image shader in Bend.
    Bend,
    /// An interaction net.
    Hvm,
    /// Kernels of the IR.
    Gir,
    /// Triton kernels in Python.
    #[serde(rename = "py")]
    Python,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 4] = [Language::Bend, Language::Hvm, Language::Gir, Language::Python];

    /// The name that a text has in messages.
    pub fn file(self) -> &'static str {
        match self {
            Language::Bend => "main.bend",
            Language::Hvm => "main.hvm",
            Language::Gir => "main.gir",
            Language::Python => "main.py",
        }
    }
}

/// A text of the editor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct File {
    /// What it is written in.
    pub language: Language,
    /// The text.
    pub text: String,
    /// Bend expressions to which `main` is applied.
    #[serde(default)]
    pub arguments: Vec<String>,
}

impl File {
    /// A text without arguments.
    pub fn new(language: Language, text: impl Into<String>) -> File {
        File { language, text: text.into(), arguments: vec![] }
    }

    /// The program of a Bend file, which needs no `main` where it is looked at as a library or a shader.
    pub(crate) fn program(&self, needs_main: bool) -> girih::Program {
        let mut options = if needs_main { girih::Options::default() } else { girih::Options::library() };
        if needs_main {
            // A program that is being tried out has definitions in store, as for `girih run`.
            options.warnings.set(girih::Code::UnusedDefinition, None);
            options.arguments.clone_from(&self.arguments);
        }
        girih::Program::load(self, &options)
    }
}

impl Loader for File {
    fn main(&self) -> Result<loader::File, LoadError> {
        Ok(loader::File { name: self.language.file().to_owned(), text: self.text.clone() })
    }

    fn file(&self, path: &str) -> Result<Option<loader::File>, LoadError> {
        let found = LIBRARY.iter().find(|(name, _)| *name == path);
        Ok(found.map(|(name, text)| loader::File { name: format!("{name}.bend"), text: (*text).to_owned() }))
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        let inside = LIBRARY.iter().filter_map(|(name, _)| name.strip_prefix(path)?.strip_prefix('/'));
        let names: Vec<String> = inside.map(str::to_owned).collect();
        (!names.is_empty()).then_some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_library_is_that_of_the_shaders() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/lib");
        let entries = std::fs::read_dir(folder).expect("it is there");
        let mut there: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(|name| format!("lib/{name}")))
            .collect();
        there.sort();
        assert_eq!(there, LIBRARY.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
