//! What tests could not do, and what they did in part only. They note it in a file, for the test harness hides what a test prints that passes; the
//! program that cargo runs last reads the file and says it all in one place.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

/// Something that a test notes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// It was skipped, for want of something.
    Without(String),
    /// It tried a part of its cases.
    InPart,
}

const IN_PART: &str = "in part";

/// A test goes without `thing`, or is a failure where `variable` is set: to something that is neither empty nor 0.
///
/// # Panics
/// If the variable is set.
pub fn missing(thing: &str, variable: &str) {
    let required = is_required(variable);
    assert!(!required, "{variable} is set, but there is no {thing}");
    eprintln!("skipped: there is no {thing}");
    take(&Note::Without(thing.to_owned()));
}

/// Whether a variable asks that something be there.
pub fn is_required(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Notes something for the summary, beside the name of the test, which is that of its thread.
pub fn take(note: &Note) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let what = match note {
        Note::Without(thing) => thing,
        Note::InPart => IN_PART,
    };
    let Some(path) = file() else { return };
    // A folder that cannot be written takes nothing from the test but its line in the summary.
    let _ = std::fs::create_dir_all(path.parent().unwrap_or(&path));
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{test}\t{what}\n").as_bytes());
    }
}

/// What all tests of this run have noted, which is forgotten then: the note, and the tests.
pub fn give() -> BTreeMap<Note, BTreeSet<String>> {
    let text = file().and_then(|path| {
        let text = std::fs::read_to_string(&path).ok();
        let _ = std::fs::remove_file(path);
        text
    });
    read(&text.unwrap_or_default())
}

fn read(text: &str) -> BTreeMap<Note, BTreeSet<String>> {
    let mut notes: BTreeMap<Note, BTreeSet<String>> = BTreeMap::new();
    for (test, what) in text.lines().filter_map(|line| line.split_once('\t')) {
        let note = if what == IN_PART { Note::InPart } else { Note::Without(what.to_owned()) };
        notes.entry(note).or_default().insert(test.to_owned());
    }
    notes
}

/// The summary of notes in one line; none if there are none.
pub fn summary(notes: &BTreeMap<Note, BTreeSet<String>>) -> Option<String> {
    let tests = |count: usize| if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
    let mut parts = vec![];
    let skipped: Vec<String> = notes
        .iter()
        .filter_map(|(note, names)| match note {
            Note::Without(thing) => Some(format!("{} without {thing}", tests(names.len()))),
            Note::InPart => None,
        })
        .collect();
    if !skipped.is_empty() {
        parts.push(format!("skipped: {}", skipped.join(", ")));
    }
    if let Some(names) = notes.get(&Note::InPart) {
        parts.push(format!("in part: {}, in full with {}=full", tests(names.len()), crate::extent::EXTENT));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The file of this run of cargo, which is the parent of all test programs. Where a process does not know its parent all runs share a file.
fn file() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    // Test programs lie in `deps` of the profile's folder.
    let folder = program.ancestors().nth(2)?.join("test-notes");
    #[cfg(unix)]
    let run = std::os::unix::process::parent_id().to_string();
    #[cfg(not(unix))]
    let run = "run".to_owned();
    Some(folder.join(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_one_line() {
        assert_eq!(summary(&read("")), None);
        let notes = read("a\tCUDA card\nb\tCUDA card\nb\tCUDA card\nc\tin part\nd\t`bend` of upstream\n");
        let said = "skipped: 2 tests without CUDA card, 1 test without `bend` of upstream; in part: 1 test, in full with GIRIH_TESTS=full";
        assert_eq!(summary(&notes).as_deref(), Some(said));
    }

    #[test]
    #[should_panic(expected = "PATH is set, but there is no moon")]
    fn what_is_required_is_not_skipped() {
        missing("moon", "PATH");
    }
}
