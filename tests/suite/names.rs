//! The field's names: words that Girih once had of its own for what has a name already are gone from code and documents.
//!
//! The glossary says which name stands for what. The insides of three folders keep the words until they are built anew.

use std::path::{Path, PathBuf};

/// Words that nobody has to learn.
const GONE: &[&str] =
    &["sweep", "sweeps", "swept", "tally", "tallies", "epoch", "epochs", "steer", "steers", "steering"];

/// Where they may stand.
const KEPT: &[&str] = &[
    "core/task/src/flatten",
    "core/task/src/reducer",
    "core/task/src/forkjoin",
    "docs/glossary.md",
    "tests/suite/names.rs",
];

/// What people read.
const READ: &[&str] = &["rs", "md", "gir", "bend", "hvm", "py", "snap", "toml", "sh", "yml"];

#[test]
fn the_fields_names_are_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![];
    let mut folders = vec![PathBuf::new()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root.join(&folder)).expect("a folder of the project can be read");
        for entry in entries.map(|entry| entry.expect("a folder of the project can be read")) {
            let path = folder.join(entry.file_name());
            let name = entry.file_name().to_string_lossy().into_owned();
            let kept = KEPT.iter().any(|kept| path == Path::new(kept));
            if kept || ["target", ".git", "node_modules"].contains(&&*name) {
                continue;
            }
            found.extend(words(&name).map(|(_, word)| format!("{}: {word}", path.display())));
            if entry.file_type().expect("a file has a type").is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| READ.iter().any(|read| end == *read)) {
                files += 1;
                let text = std::fs::read_to_string(root.join(&path)).expect("what people read is text");
                found.extend(words(&text).map(|(line, word)| format!("{}:{line}: {word}", path.display())));
            }
        }
    }
    assert!(files > 500, "only {files} files were found");
    assert!(found.is_empty(), "the glossary has other names for these:\n{}", found.join("\n"));
}

/// The words that are gone, and the lines on which they stand. The parts of a name in snake case or camel case are words, too.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.lines().enumerate().flat_map(|(i, line)| {
        let words = line.split(|c: char| !c.is_alphanumeric()).flat_map(humps);
        words.map(move |word| (i + 1, word))
    });
    parts.filter(|(_, word)| GONE.iter().any(|gone| word.eq_ignore_ascii_case(gone)) && *word != "EPOCH")
}

/// The parts of a name in camel case; a name without lower case is one part.
fn humps(name: &str) -> Vec<&str> {
    let mut parts = vec![];
    let mut from = 0;
    for (at, _) in name.match_indices(char::is_uppercase) {
        if name[..at].ends_with(char::is_lowercase) {
            parts.push(&name[from..at]);
            from = at;
        }
    }
    parts.push(&name[from..]);
    parts
}

#[test]
fn words_are_found_within_names() {
    let found: Vec<_> = words("let in_sweeps = 1;\n// An epoch.\nsweeping\nTallyRunner, newEpoch").collect();
    assert_eq!(found, [(1, "sweeps"), (2, "epoch"), (4, "Tally"), (4, "Epoch")]);
}
