//! Comments stay at their statement: each line of 200 programs gets one above it and one behind it, and still has them when the program is formatted.
//!
//! `commented.txt` names the programs.

use super::{deep, stable};
use girih_bend::parser::Dialect;
use std::fmt::Write;
use std::path::Path;

/// The programs, by their paths in the repository.
fn programs() -> impl Iterator<Item = (&'static str, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    include_str!("commented.txt").lines().map(move |path| {
        let text = std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        (path, stable(&text, Dialect::User).unwrap_or_else(|said| panic!("{path}:\n{said}")))
    })
}

/// The text with a comment above and behind each of its lines that has none.
fn commented(text: &str) -> String {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.contains('#') {
            writeln!(out, "{line}").expect("a text takes text");
            continue;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        writeln!(out, "{indentation}# above {number}\n{line}  # behind {number}").expect("a text takes text");
    }
    out
}

/// A line without what its columns are filled with, which a comment between rules changes.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_stay_at_their_statement() {
    deep(|| {
        let mut count = 0;
        for (path, text) in programs() {
            let formatted = stable(&commented(&text), Dialect::User).unwrap_or_else(|said| panic!("{path}:\n{said}"));
            let lines: Vec<String> = formatted.lines().map(words).collect();
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.contains('#')) {
                let behind = words(&format!("{line}  # behind {number}"));
                let at = lines.iter().position(|found| *found == behind);
                let at = at.unwrap_or_else(|| panic!("{path}: there is no `{behind}` in\n{formatted}"));
                let above = at.checked_sub(1).map(|above| &lines[above]);
                assert_eq!(above, Some(&format!("# above {number}")), "{path}:\n{formatted}");
            }
            count += 1;
        }
        assert!(count >= 200, "only {count} programs");
    });
}

#[test]
fn commented_programs() {
    deep(|| {
        let mut all = String::new();
        for (path, text) in programs() {
            let formatted = stable(&commented(&text), Dialect::User).unwrap_or_else(|said| panic!("{path}:\n{said}"));
            writeln!(all, "── {path}\n{formatted}").expect("a text takes text");
        }
        insta::assert_snapshot!(all);
    });
}
