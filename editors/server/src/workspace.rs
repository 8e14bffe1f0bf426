//! The Bend files under the folders of the workspace: which there are, and what each of them defines.
//!
//! Invariant: what a file defines is read from its text alone, and read again only when the file's time of change or its length is another.

use crate::positions::Lines;
use girih_bend::analysis::MAIN;
use girih_bend::analysis::outline::{Kind, Symbol, outline_of};
use lsp_types::{Location, Url};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// Files that are looked at, so that a folder that is not a project does not hold an editor up.
pub const FILES_LIMIT: usize = 2_000;

/// The folders of the workspace.
#[derive(Debug, Default)]
pub struct Workspace {
    roots: Vec<PathBuf>,
    outlines: BTreeMap<PathBuf, Outline>,
}

/// The Bend files of a workspace.
#[derive(Debug, Default)]
pub struct Files {
    /// Their paths, in the order of the alphabet.
    pub paths: BTreeSet<PathBuf>,
    /// Whether there are more than [`FILES_LIMIT`], of which only so many are here.
    pub is_cut: bool,
}

/// A name that a file defines: a function, a type or a constructor.
#[derive(Clone, Debug)]
pub struct Defined {
    /// What it is.
    pub symbol: Symbol,
    /// Where its name stands.
    pub location: Location,
}

/// What a file defines, as it was at a time.
#[derive(Debug)]
struct Outline {
    changed: Option<SystemTime>,
    length: u64,
    defined: Rc<[Defined]>,
}

impl Workspace {
    /// The workspace of these folders.
    pub fn new(roots: Vec<PathBuf>) -> Workspace {
        Workspace { roots, outlines: BTreeMap::new() }
    }

    /// Its Bend files, without those in hidden folders and in what builds leave behind.
    pub fn files(&self) -> Files {
        let mut files = Files::default();
        let mut pending: VecDeque<PathBuf> = self.roots.iter().cloned().collect();
        while let Some(folder) = pending.pop_front() {
            for (path, is_folder) in entries(&folder) {
                if is_folder {
                    pending.push_back(path);
                } else if files.paths.len() == FILES_LIMIT {
                    return Files { is_cut: true, ..files };
                } else {
                    files.paths.insert(path);
                }
            }
        }
        files
    }

    /// What a file defines; nothing if it cannot be read.
    pub fn defined(&mut self, path: &Path) -> Rc<[Defined]> {
        let about = std::fs::metadata(path).ok();
        let (changed, length) = about.map_or((None, 0), |about| (about.modified().ok(), about.len()));
        let is_same = |old: &&Outline| old.changed == changed && old.length == length && changed.is_some();
        if let Some(known) = self.outlines.get(path).filter(is_same) {
            return Rc::clone(&known.defined);
        }
        let read = Url::from_file_path(path).ok().zip(std::fs::read_to_string(path).ok());
        let defined: Rc<[Defined]> = read.map_or(vec![], |(url, text)| defined_in(&url, &text)).into();
        self.outlines.insert(path.to_owned(), Outline { changed, length, defined: Rc::clone(&defined) });
        defined
    }
}

/// What a text defines.
pub fn defined_in(url: &Url, text: &str) -> Vec<Defined> {
    let lines = Lines::new(text);
    let place = |symbol: &Symbol| {
        let span = symbol.name_span;
        Location::new(url.clone(), lines.range(text, span.start as usize, span.end as usize))
    };
    let mut defined = vec![];
    for symbol in outline_of(MAIN, text) {
        let inner = symbol.children.iter().filter(|child| child.kind == Kind::Constructor).cloned();
        let all: Vec<Symbol> = std::iter::once(symbol.clone()).chain(inner).collect();
        defined.extend(all.into_iter().map(|symbol| Defined { location: place(&symbol), symbol }));
    }
    defined
}

/// The Bend files of a folder, and its folders, in the order of their names. A folder that cannot be read has none.
fn entries(folder: &Path) -> BTreeMap<PathBuf, bool> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wanted = entries.filter_map(|entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let is_folder = entry.file_type().ok()?.is_dir();
        let is_hidden = name.to_string_lossy().starts_with('.') || name == "target" || name == "node_modules";
        let is_wanted = if is_folder { !is_hidden } else { path.extension().is_some_and(|ending| ending == "bend") };
        is_wanted.then_some((path, is_folder))
    });
    wanted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(defined: &[Defined]) -> Vec<&str> {
        defined.iter().map(|defined| defined.symbol.name.as_str()).collect()
    }

    #[test]
    fn a_file_is_read_again_when_it_has_changed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.bend");
        std::fs::write(&path, "type T:\n  A\n  B\n\ndef f(x):\n  return x\n").expect("it can be written");
        let mut workspace = Workspace::new(vec![folder.path().to_owned()]);
        let first = workspace.defined(&path);
        assert_eq!(names(&first), ["T", "A", "B", "f"]);
        assert!(Rc::ptr_eq(&first, &workspace.defined(&path)), "it is not parsed again");
        std::fs::write(&path, "def other(x):\n  return x\n").expect("it can be written");
        assert_eq!(names(&workspace.defined(&path)), ["other"]);
        std::fs::remove_file(&path).expect("it is there");
        assert!(workspace.defined(&path).is_empty());
    }

    #[test]
    fn files_beyond_the_limit_are_left_out_and_missed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inner = folder.path().join("inner");
        for hidden in [&inner, &folder.path().join(".git"), &folder.path().join("target")] {
            std::fs::create_dir(hidden).expect("it can be made");
            std::fs::write(hidden.join("z.bend"), "").expect("it can be written");
        }
        let workspace = Workspace::new(vec![folder.path().to_owned()]);
        let few = workspace.files();
        assert_eq!((few.paths.iter().collect::<Vec<_>>(), few.is_cut), (vec![&inner.join("z.bend")], false));
        for number in 1..FILES_LIMIT {
            std::fs::write(folder.path().join(format!("{number}.bend")), "").expect("it can be written");
        }
        assert_eq!((workspace.files().paths.len(), workspace.files().is_cut), (FILES_LIMIT, false));
        std::fs::write(folder.path().join("0.bend"), "").expect("it can be written");
        let many = workspace.files();
        assert!(many.is_cut && many.paths.len() == FILES_LIMIT && !many.paths.contains(&inner.join("z.bend")));
    }
}
