//! Every Bend program of the repository.

use super::{deep, formatted, stable};
use girih_base::diag::Diagnostics;
use girih_base::span::SourceId;
use girih_bend::parser::{Dialect, parse_module};
use std::path::{Path, PathBuf};

/// The folders of the repository that hold programs.
const FOLDERS: [&str; 7] = ["benches", "core/bend/src/prelude", "demos", "docs", "examples", "shaders", "tests"];

/// Files of Bend in a folder and in those inside it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "bend") {
            found.push(path);
        }
    }
}

#[test]
fn programs_keep_their_tree_and_comments() {
    deep(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = vec![];
        FOLDERS.iter().for_each(|folder| files(&root.join(folder), &mut found));
        let mut parsed = 0;
        for file in &found {
            // Some programs are there because they are no text.
            let Ok(text) = std::fs::read_to_string(file) else { continue };
            let dialect = if file.to_string_lossy().contains("prelude/") && file.starts_with(root.join("core")) {
                Dialect::Prelude
            } else {
                Dialect::User
            };
            let mut diags = Diagnostics::default();
            let module = parse_module(SourceId::new(0), &text, dialect, &mut diags);
            if diags.has_errors() {
                let said = formatted(&text, dialect).expect_err("a program with errors is not formatted");
                assert!(!said.contains("B0699"), "{}:\n{said}", file.display());
                continue;
            }
            let out = stable(&text, dialect).unwrap_or_else(|said| panic!("{}:\n{said}", file.display()));
            let mut diags = Diagnostics::default();
            let again = parse_module(SourceId::new(0), &out, dialect, &mut diags);
            assert!(!diags.has_errors() && again == module, "{} is another program:\n{out}", file.display());
            assert_eq!(marks(&out), marks(&text), "{} has other comments:\n{out}", file.display());
            parsed += 1;
        }
        assert!(parsed > 500, "only {parsed} of {} programs parse", found.len());
    });
}

/// The words behind each `#`: also those in strings, which stay as well.
fn marks(text: &str) -> Vec<String> {
    text.split('#').skip(1).map(|rest| rest.lines().next().unwrap_or_default().trim().to_owned()).collect()
}
