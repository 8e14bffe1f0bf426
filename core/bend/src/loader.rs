//! Where sources come from. The core reads no files; whoever calls it brings a [`Loader`].

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The name shown to people.
    pub name: String,
    /// Its whole text.
    pub text: String,
}

/// Why a file that exists cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// One plain sentence without a full stop.
    pub message: String,
}

/// Finds the files of a program. Paths are separated by `/`, relative to the main file's folder, and without `.bend`.
pub trait Loader {
    /// The main file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn main(&self) -> Result<File, LoadError>;

    /// The file at a path; none if there is no such file.
    ///
    /// # Errors
    /// If there is one that cannot be read.
    fn file(&self, path: &str) -> Result<Option<File>, LoadError>;

    /// The names of the Bend files in a folder (`""` is the main file's), sorted, without `.bend`; none if there is no such
    /// folder.
    fn folder(&self, path: &str) -> Option<Vec<String>>;
}
