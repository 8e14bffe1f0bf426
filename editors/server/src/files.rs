//! Where sources come from: open buffers first, then files beside the main file.

use crate::documents::Documents;
use girih::FileLoader;
use girih_bend::loader::{File, LoadError, Loader};
use lsp_types::Url;
use std::path::Path;

/// Loads the program whose main file is a document.
pub struct Buffers<'d> {
    documents: &'d Documents,
    main: File,
    /// The files beside it; none if the document is not a file yet.
    files: Option<FileLoader>,
}

impl<'d> Buffers<'d> {
    /// The program of an open document, or of a file that is not open; none if it cannot be read.
    pub fn new(documents: &'d Documents, url: &Url) -> Option<Buffers<'d>> {
        let path = url.to_file_path().ok();
        let files = path.as_ref().map(FileLoader::new);
        let main = match (documents.get(url), &files) {
            (Some(document), _) => File { name: source_name(url), text: document.text.clone() },
            (None, Some(files)) => files.main().ok()?,
            (None, None) => return None,
        };
        Some(Buffers { documents, main, files })
    }
}

impl Loader for Buffers<'_> {
    fn main(&self) -> Result<File, LoadError> {
        Ok(self.main.clone())
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let Some(files) = &self.files else { return Ok(None) };
        let place = files.file_place(path);
        match Url::from_file_path(&place).ok().and_then(|url| self.documents.get(&url)) {
            Some(document) => Ok(Some(File { name: shown(&place), text: document.text.clone() })),
            None => files.file(path),
        }
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        self.files.as_ref()?.folder(path)
    }
}

/// The name of a document among the sources of a program: its path, with `/` on every system.
pub fn source_name(url: &Url) -> String {
    url.to_file_path().map_or_else(|()| url.to_string(), |path| shown(&path))
}

/// The document that a source is; none for what is neither a file nor a document, such as the prelude.
pub fn url_of(source_name: &str) -> Option<Url> {
    Url::from_file_path(source_name).ok().or_else(|| Url::parse(source_name).ok().filter(|url| url.scheme() != "file"))
}

fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if std::path::MAIN_SEPARATOR == '/' { text } else { text.replace(std::path::MAIN_SEPARATOR, "/") }
}
