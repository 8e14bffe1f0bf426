//! For build scripts: computes a digest of a crate's sources, so that a build never takes another build's cached files for its own.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// Sets the variable `GIRIH_SOURCES` of the crate that is built to a digest of all files below its `src`.
pub fn of_sources() {
    println!("cargo::rerun-if-changed=src");
    let mut hasher = DefaultHasher::new();
    hash(Path::new("src"), &mut hasher);
    println!("cargo::rustc-env=GIRIH_SOURCES={:016x}", hasher.finish());
}

/// All files of a folder, in the order of their names.
fn hash(folder: &Path, hasher: &mut DefaultHasher) {
    let entries = std::fs::read_dir(folder).expect("the sources can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the sources can be read").path()).collect();
    // What only tests do changes no code.
    paths.retain(|path| path.file_stem().is_some_and(|name| name != "tests"));
    paths.sort();
    for path in paths {
        hasher.write(path.as_os_str().as_encoded_bytes());
        if path.is_dir() {
            hash(&path, hasher);
        } else {
            hasher.write(&std::fs::read(&path).expect("the sources can be read"));
        }
    }
}
