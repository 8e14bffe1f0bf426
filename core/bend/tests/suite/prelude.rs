//! The files of the prelude: all of them are listed, and all parse.

use girih_base::diag::Diagnostics;
use girih_base::span::SourceId;
use girih_bend::parser::{Dialect, parse_module};
use girih_bend::prelude::FILES;
use std::path::Path;

#[test]
fn every_file_parses() {
    for (name, text) in FILES {
        let mut diags = Diagnostics::default();
        let module = parse_module(SourceId::new(0), text, Dialect::Prelude, &mut diags);
        assert!(!module.items.is_empty());
        assert!(diags.iter().next().is_none(), "{name}: {:?}", diags.iter().next());
    }
}

fn names_in(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder of the prelude") {
        let path = entry.expect("an entry of the prelude's folder").path();
        let stem = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            names_in(&path, &format!("{prefix}{stem}/"), found);
        } else {
            found.push(format!("{prefix}{stem}"));
        }
    }
}

#[test]
fn every_file_of_the_folder_is_in_the_list() {
    let mut found = Vec::new();
    names_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prelude"), "", &mut found);
    let mut listed: Vec<String> = FILES.iter().map(|(name, _)| name.to_string()).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}
