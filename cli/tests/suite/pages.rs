//! Pages whose programs and commands are run: the tutorial, and the page of the examples.
//!
//! A block `python` or `bend` whose first line is `# NAME.bend` is that file from there on. A block `console` holds commands, each behind `$ `, and what
//! they print; ends of lines may differ in spaces. A block of another kind is only read.

use std::path::Path;
use std::process::Command;

/// Blocks of a page: the kind and the text of each.
fn blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

/// The words of a command line; what stands between quotes is one.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// What a command prints: its results, and what it says besides.
fn printed(folder: &Path, command: &str) -> String {
    let words = words(command);
    assert_eq!(words.first().map(String::as_str), Some("girih"), "{command}");
    let output = Command::new(env!("CARGO_BIN_EXE_girih")).current_dir(folder).args(&words[1..]).output();
    let output = output.expect("the command was built with this test");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Writes the programs of a page into a folder and runs its commands there; how many there were.
fn run(page: &str, folder: &Path) -> usize {
    let mut commands = 0;
    for (kind, text) in blocks(page) {
        let name = text.lines().next().and_then(|line| line.strip_prefix("# ")).filter(|name| name.ends_with(".bend"));
        match (kind, name) {
            ("python" | "bend", Some(name)) => std::fs::write(folder.join(name), text).expect("there is room"),
            ("console", _) => {
                for transcript in text.split("$ ").skip(1) {
                    let (command, expected) = transcript.split_once('\n').unwrap_or((transcript, ""));
                    let found = printed(folder, command);
                    assert_eq!(trimmed(&found), trimmed(expected), "$ {command}");
                    commands += 1;
                }
            }
            (_, _) => {}
        }
    }
    commands
}

#[test]
fn the_tutorial_does_what_it_says() {
    let folder = tempfile::tempdir().expect("there is room");
    let commands = run(include_str!("../../../docs/tutorial.md"), folder.path());
    assert!(commands >= 20, "{commands}");
}

#[test]
fn the_examples_do_what_their_page_says() {
    let page = include_str!("../../../examples/bend/README.md");
    let folder = tempfile::tempdir().expect("there is room");
    let mut programs = 0;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/bend");
    for entry in std::fs::read_dir(examples).expect("it is a folder") {
        let path = entry.expect("it is a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("it has a name");
        if name.ends_with(".bend") {
            let text = std::fs::read_to_string(&path).expect("it is text");
            let about = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("it says what it shows");
            assert!(page.contains(&format!("## [{name}]({name})\n\n{about}\n")), "{name} is not on the page as it is");
            std::fs::copy(&path, folder.path().join(name)).expect("there is room");
            programs += 1;
        }
    }
    assert_eq!(run(page, folder.path()), programs);
}
