//! Interaction nets as text: every program of `tests/net` comes to the normal form, or the error, that its first lines tell, in every order
//! in which its redexes are taken; its text is read, printed and read again.
//!
//! `GIRIH_HVM` names upstream's command `hvm`, and `GIRIH_HVM_PROGRAMS` a folder of programs: they come to the normal form that it gives, by
//! as many interactions.

use girih::core::net::reduce::Limits;
use girih::core::net::rules::Rule;
use girih::nets::{NetForm, Nets, Reduced};
use girih::{Code, Report};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many orders each program is reduced in.
const ORDERS: u64 = 8;

fn programs(folder: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "hvm") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = format!("// {name}: ");
    text.lines().find_map(|line| line.strip_prefix(&start))
}

fn codes(report: &Report) -> Vec<Code> {
    report.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Wires named in the order in which they occur.
fn renamed(text: &str) -> String {
    let mut names: Vec<String> = vec![];
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || "@./_+-$[".contains(c) {
            word.push(c);
            continue;
        }
        if word.starts_with('v') && word[1..].chars().all(|c| c.is_ascii_hexdigit()) {
            let at = names.iter().position(|name| *name == word).unwrap_or_else(|| {
                names.push(word.clone());
                names.len() - 1
            });
            word = format!("v{at}");
        }
        out.push_str(&word);
        word.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}

fn reduce(nets: &Nets, limits: &Limits, seed: Option<u64>) -> Result<Reduced, Report> {
    nets.reduce_in_order(None, limits, seed)
}

#[test]
fn programs_come_to_what_they_tell() {
    let mut checked = 0;
    for path in programs("tests/net") {
        let text = std::fs::read_to_string(&path).expect("a program");
        let name = path.display().to_string();
        let memory = directive(&text, "memory").map_or(1 << 28, |size| size.parse().expect("a size"));
        let limits = Limits { memory, interactions: Some(10_000_000), interrupt: None };
        let expected = directive(&text, "result");
        let error = directive(&text, "error").and_then(Code::find);
        assert!(expected.is_some() != error.is_some(), "{name} tells a result or an error");
        let nets = match Nets::from_text(&name, &text) {
            Ok(nets) => nets,
            Err(report) => {
                assert_eq!(codes(&report), [error.unwrap_or_else(|| panic!("{report}"))], "{report}");
                assert!(!report.diagnostics[0].labels.is_empty(), "{name}: an error has a place");
                checked += 1;
                continue;
            }
        };
        let again = Nets::from_text(&name, &nets.emit(NetForm::Net)).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(again.emit(NetForm::Net), nets.emit(NetForm::Net), "{name}");
        let first = reduce(&nets, &limits, None);
        match (&first, expected, error) {
            (Ok(reduced), Some(expected), _) => assert_eq!(reduced.text, expected, "{name}"),
            (Err(report), _, Some(error)) => assert_eq!(codes(report), [error], "{report}"),
            (Ok(reduced), None, _) => panic!("{name} gave {}", reduced.text),
            (Err(report), _, None) => panic!("{report}"),
        }
        if let Ok(first) = &first {
            for seed in 0..ORDERS {
                let other = reduce(&nets, &limits, Some(seed)).unwrap_or_else(|report| panic!("{report}"));
                assert_eq!(other.text, first.text, "{name}, order {seed}");
                for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link) {
                    assert_eq!(other.counts.of(rule), first.counts.of(rule), "{name}, {}, order {seed}", rule.name());
                }
            }
        }
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} programs");
}

#[test]
fn programs_come_to_what_upstream_gives() {
    let (Ok(hvm), Ok(folder)) = (std::env::var("GIRIH_HVM"), std::env::var("GIRIH_HVM_PROGRAMS")) else { return };
    let mut wrong = vec![];
    let mut same = 0;
    for path in programs(&folder) {
        match beside_upstream(&hvm, &path) {
            Ok(()) => same += 1,
            Err(why) => wrong.push(format!("{}: {why}", path.display())),
        }
    }
    assert!(wrong.is_empty() && same > 0, "{same} are the same; not so\n{}", wrong.join("\n"));
}

fn beside_upstream(hvm: &str, path: &Path) -> Result<(), String> {
    let nets = Nets::open(path).map_err(|report| report.to_string())?;
    let again = Nets::from_text("again", &nets.emit(NetForm::Net)).map_err(|report| report.to_string())?;
    if again.emit(NetForm::Net) != nets.emit(NetForm::Net) {
        return Err("what is read again prints another text".to_owned());
    }
    let output = Command::new(hvm).arg("run").arg(path).output().map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |start: &str| output.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    let ours = reduce(&nets, &Limits::default(), None);
    match (line("Result:"), ours) {
        (Some(theirs), Ok(ours)) => {
            let (theirs, text) = (renamed(theirs), renamed(&ours.text));
            let count = line("- ITRS:").unwrap_or_default();
            if theirs != text {
                return Err(format!("{text}\nupstream: {theirs}"));
            }
            if count != ours.counts.total().to_string() {
                return Err(format!("{} interactions, upstream {count}", ours.counts.total()));
            }
            Ok(())
        }
        (None, Err(_)) => Ok(()),
        (Some(theirs), Err(report)) => Err(format!("{report}upstream: {theirs}")),
        (None, Ok(ours)) => Err(format!("{}, upstream fails: {output}", ours.text)),
    }
}
