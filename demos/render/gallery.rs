//! The shaders that the demo shows, and which of them it is at.

use crate::Failure;
use girih::Watched;
use std::path::{Path, PathBuf};

/// Some shaders, at least one, in the order of their names.
pub struct Gallery {
    shaders: Vec<Watched>,
    current: usize,
}

impl Gallery {
    /// The files that were named, or those of the folder `shaders`.
    pub fn find(files: &[PathBuf]) -> Result<Gallery, Failure> {
        let files = if files.is_empty() { files_of(&folder())? } else { files.to_vec() };
        Ok(Gallery { shaders: files.into_iter().map(Watched::new).collect(), current: 0 })
    }

    /// All of them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.shaders.iter().map(Watched::path)
    }

    /// The one that is shown.
    pub fn current(&mut self) -> &mut Watched {
        &mut self.shaders[self.current]
    }

    /// The name of the one that is shown.
    pub fn name(&self) -> String {
        name(self.shaders[self.current].path())
    }

    /// Goes on by so many, around the end.
    pub fn step(&mut self, by: isize) {
        self.current = (self.current as isize + by).rem_euclid(self.shaders.len() as isize) as usize;
    }

    /// Goes to a shader by its number from 0; stays if there is none. Says whether it went.
    pub fn go_to(&mut self, number: usize) -> bool {
        let exists = number < self.shaders.len() && number != self.current;
        if exists {
            self.current = number;
        }
        exists
    }
}

/// The name of a shader: its file's name without the ending.
pub fn name(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}

/// The folder of the shaders: below the package when it is run by cargo, else below the current folder.
fn folder() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from).join("shaders")
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |what: &str| {
        let advice = "name the shaders to show, or run from the folder of the project";
        Failure::Failed(format!("error: {what} `{}`; {advice}", folder.display()))
    };
    let entries = std::fs::read_dir(folder).map_err(|_| failed("there is no folder"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "bend"))
        .collect();
    files.sort();
    if files.is_empty() { Err(failed("there are no shaders in")) } else { Ok(files) }
}
