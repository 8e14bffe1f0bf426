//! Every command that `girih new` prints, and every one of the README that it writes, does what is said.

use std::path::Path;
use std::process::{Command, Output};

fn girih(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_girih")).current_dir(folder).args(words).output().expect("the command was built")
}

/// The commands of some lines, without `girih` and what stands behind a backquote.
fn commands(text: &str) -> Vec<Vec<&str>> {
    let said = text.lines().filter_map(|line| line.trim_start_matches([' ', '|', '`']).strip_prefix("girih "));
    said.map(|rest| rest.split('`').next().unwrap_or_default().split_whitespace().collect()).collect()
}

#[test]
fn every_command_of_a_new_project_works() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = girih(folder.path(), &["new", "project"]);
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8(made.stdout).expect("it is text");
    let project = folder.path().join("project");
    let readme = std::fs::read_to_string(project.join("README.md")).expect("it was written");
    assert!(readme.starts_with("# project\n"), "{readme}");
    let (printed, written) = (commands(&said), commands(&readme));
    assert_eq!((printed.len(), written.len()), (3, 6), "{said}\n{readme}");
    let all = printed.iter().chain(written.iter().filter(|words| !printed.contains(words)));
    // The one that watches does not end: `processes` tests it.
    for words in all.filter(|words| !words.contains(&"--watch")) {
        let output = girih(&project, words);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
    assert!(project.join("shader.gif").exists());
    // What was written is laid out as it should be.
    assert!(girih(&project, &["fmt", "--check", "."]).status.success());
}

#[test]
fn a_folder_with_anything_in_it_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let full = folder.path().join("full");
    std::fs::create_dir(&full).expect("it can be made");
    std::fs::write(full.join("main.bend"), "kept").expect("it can be written");
    assert_eq!(girih(folder.path(), &["new", "full"]).status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(full.join("main.bend")).expect("it is there"), "kept");
    assert_eq!(std::fs::read_dir(&full).expect("it is there").count(), 1);
    // An empty one, even the current one, is filled, and nothing is left beside it.
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).expect("it can be made");
    assert!(girih(&empty, &["new", "."]).status.success());
    assert_eq!(std::fs::read_dir(&empty).expect("it is there").count(), 3);
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 2);
}
