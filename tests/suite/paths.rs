//! The documents name files and folders of the project that exist.

use std::path::{Path, PathBuf};

/// Where paths of the project begin.
const ROOMS: &[&str] = &[
    ".ci/",
    "backend-",
    "benches/",
    "cache/",
    "cli/",
    "conform/",
    "core/",
    "demos/",
    "derive/",
    "docs/",
    "examples/",
    "shaders/",
    "src/",
    "tests/",
    "workbench/",
];

#[test]
fn documents_name_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = vec![];
    let mut paths = 0;
    for page in pages(root) {
        let text = std::fs::read_to_string(&page).expect("a document is text");
        for path in named(&text) {
            paths += 1;
            if !root.join(path).exists() {
                missing.push(format!("{}: {path}", page.strip_prefix(root).unwrap_or(&page).display()));
            }
        }
    }
    assert!(paths > 100, "only {paths} paths were found");
    assert!(missing.is_empty(), "these are not there:\n{}", missing.join("\n"));
}

/// The documents: those of the root and all in `docs/`.
fn pages(root: &Path) -> Vec<PathBuf> {
    let inside = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).expect("a folder of the project can be read");
        entries.map(|entry| entry.expect("a folder of the project can be read").path())
    };
    let folders = [root.to_owned(), root.join("docs"), root.join("docs/architecture")];
    folders.into_iter().flat_map(inside).filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// The paths of the project in the code spans of a text, outside of blocks of code.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split("```").step_by(2);
    let spans = outside.flat_map(|part| part.lines().flat_map(|line| line.split('`').skip(1).step_by(2)));
    spans.filter(|span| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        ROOMS.iter().any(|room| span.starts_with(room)) && span.contains('/') && span.chars().all(is_plain)
            // Words in capitals stand for names of the reader's own.
            && !span.split(['/', '.']).any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()))
    })
}

#[test]
fn paths_are_found_in_code_spans() {
    let text =
        "See `core/ir/src/ops.rs`, `tests/ir/FILE.gir`, `girih run`.\n```\n`docs/none.md`\n```\nAnd `docs/ir.md`.";
    assert_eq!(named(text).collect::<Vec<_>>(), ["core/ir/src/ops.rs", "docs/ir.md"]);
}
