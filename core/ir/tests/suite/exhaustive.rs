//! Reads the sources: a match over operations names all of them, so that a new one is decided upon everywhere.
//!
//! A rest arm is right where it refuses, and where it is spelled `_no_rule`: there nothing is known of an operation, and to say so is
//! always sound. It is a rest arm, too, if a condition narrows it, or the other elements of a tuple. The schedules of functional programs
//! are not looked at.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What an arm that refuses has in its body.
const REFUSALS: [&str; 7] = ["Err(", "refuse(", "refused(", "unreachable!(", "panic!(", "error::", "not_legal("];
/// Folders whose matches are not looked at: what is no source, and the schedules of functional programs.
const LEFT_OUT: [&str; 5] =
    ["target", ".git", "core/task/src/flatten", "core/task/src/forkjoin", "core/task/src/reducer"];

/// A text in which comments and what stands in quotes are blank; as long as the text.
fn blank(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = if rest.starts_with(b"//") {
            at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest[0] == b'"' {
            let mut end = at + 1;
            while bytes.get(end).is_some_and(|b| *b != b'"') {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            end + 1
        } else if rest.len() > 3 && rest[0] == b'\'' && (rest[1] == b'\\' || rest[2] == b'\'') {
            let from = if rest[1] == b'\\' { 3 } else { 2 };
            at + from + rest[from..].iter().position(|b| *b == b'\'').unwrap_or(0) + 1
        } else {
            at += 1;
            continue;
        };
        let end = end.min(bytes.len());
        out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        at = end;
    }
    out
}

/// Where the brackets that open at a place close.
fn closed(text: &[u8], open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in text.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _other => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The first place from one on, outside of brackets, where something holds; brackets that close end it.
fn outside(text: &[u8], range: Range<usize>, holds: impl Fn(&[u8]) -> bool) -> usize {
    let mut at = range.start;
    while at < range.end && !holds(&text[at..]) {
        at = if matches!(text[at], b'(' | b'[' | b'{') { closed(text, at) } else { at } + 1;
    }
    at.min(range.end)
}

/// The arms of a match: patterns and bodies.
fn arms(text: &[u8], body: Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = vec![];
    let mut at = body.start;
    while at < body.end {
        let arrow = outside(text, at..body.end, |rest| rest.starts_with(b"=>"));
        if arrow == body.end {
            break;
        }
        let start = (arrow + 2..body.end).find(|i| !text[*i].is_ascii_whitespace()).unwrap_or(body.end);
        let mut end = outside(text, start..body.end, |rest| rest[0] == b',');
        if text.get(start) == Some(&b'{') {
            // A block needs no comma behind it.
            end = end.min(closed(text, start) + 1);
        }
        found.push((at..arrow, start..end));
        at = end + usize::from(text.get(end) == Some(&b','));
    }
    found
}

fn word(text: &[u8], range: Range<usize>) -> String {
    String::from_utf8_lossy(&text[range]).trim().to_owned()
}

/// The parts of a range between bytes outside of brackets.
fn parts(text: &[u8], range: Range<usize>, separator: u8) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut at = range.start;
    while at < range.end {
        let end = outside(text, at..range.end, |rest| rest[0] == separator);
        found.push(at..end);
        at = end + 1;
    }
    found.retain(|part| !word(text, part.clone()).is_empty());
    found
}

/// The elements of a tuple, if a range is one.
fn elements(text: &[u8], range: Range<usize>) -> Option<Vec<Range<usize>>> {
    let open = range.clone().find(|at| !text[*at].is_ascii_whitespace()).filter(|at| text[*at] == b'(')?;
    let close = closed(text, open);
    let is_all = close < range.end && text[close + 1..range.end].trim_ascii().is_empty();
    is_all.then(|| parts(text, open + 1..close, b','))
}

/// What a match is on.
#[derive(Clone, Copy)]
enum Scrutinee {
    Operation,
    /// A tuple whose element of this number is an operation.
    Tuple(usize),
}

impl Scrutinee {
    fn of(text: &[u8], range: Range<usize>) -> Option<Scrutinee> {
        let is_operation = |range: Range<usize>| {
            let text = word(text, range);
            let text = text.trim_start_matches(['*', '&']);
            text == "op" || text == "self" || text.ends_with(".op")
        };
        match elements(text, range.clone()) {
            Some(elements) => elements.into_iter().position(is_operation).map(Scrutinee::Tuple),
            None => is_operation(range).then_some(Scrutinee::Operation),
        }
    }

    /// What each alternative of a pattern says of the operation.
    fn operations(self, text: &[u8], pattern: Range<usize>) -> Vec<String> {
        let is_guard = |rest: &[u8]| rest[0].is_ascii_whitespace() && rest[1..].trim_ascii_start().starts_with(b"if ");
        let end = outside(text, pattern.clone(), is_guard);
        let operation = |alternative: Range<usize>| match self {
            Scrutinee::Operation => alternative,
            Scrutinee::Tuple(i) => {
                elements(text, alternative.clone()).and_then(|all| all.get(i).cloned()).unwrap_or(alternative)
            }
        };
        parts(text, pattern.start..end, b'|').into_iter().map(|part| word(text, operation(part))).collect()
    }
}

fn names_operations(pattern: &str) -> bool {
    let mut paths = pattern.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    paths.any(|path| path.starts_with("Op::") || path.contains("::Op::")) || pattern.contains("!()")
}

/// Whether a pattern takes any operation and is not `_no_rule`.
fn takes_any(pattern: &str) -> bool {
    let name = pattern.strip_suffix("@ _").map_or(pattern, str::trim);
    name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') && name != "_no_rule"
}

/// The lines of rest arms that decide something.
fn deciding(text: &str) -> Vec<usize> {
    let blank = blank(text);
    let is_letter = |at: usize| blank.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut found = vec![];
    for at in 0..blank.len() {
        let keyword = blank[at..].starts_with(b"match") && !is_letter(at + 5) && (at == 0 || !is_letter(at - 1));
        if !keyword {
            continue;
        }
        let open = outside(&blank, at..blank.len(), |rest| rest[0] == b'{');
        let Some(scrutinee) = Scrutinee::of(&blank, at + 5..open) else { continue };
        let arms = arms(&blank, open + 1..closed(&blank, open));
        let operations = |pattern: &Range<usize>| scrutinee.operations(&blank, pattern.clone());
        if !arms.iter().any(|(pattern, _)| operations(pattern).iter().any(|one| names_operations(one))) {
            continue;
        }
        for (pattern, body) in arms {
            let refuses = || REFUSALS.iter().any(|refusal| text[body.clone()].contains(refusal));
            if operations(&pattern).iter().any(|one| takes_any(one)) && !refuses() {
                let first = pattern.end - blank[pattern.clone()].trim_ascii_start().len();
                found.push(text[..first].matches('\n').count() + 1);
            }
        }
    }
    found
}

/// The sources in a folder, which has this path from the root.
fn sources(folder: &Path, root: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a folder can be listed").path();
        let is_left_out = LEFT_OUT.iter().any(|left_out| path == root.join(left_out));
        if path.is_dir() && !is_left_out {
            sources(&path, root, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn matches_over_operations_name_all() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.lines().any(|line| line == "[workspace]"))
    };
    let root = manifest.ancestors().find(is_root).expect("the workspace has a root");
    let mut files = vec![];
    sources(root, root, &mut files);
    let mut failures = vec![];
    for file in &files {
        let text = fs::read_to_string(file).expect("a source is text");
        for line in deciding(&text) {
            failures.push(format!("{}:{line}", file.strip_prefix(root).unwrap_or(file).display()));
        }
    }
    assert!(files.len() > 300, "only {} sources were found", files.len());
    assert!(
        failures.is_empty(),
        "rest arms that decide something: name the operations by their groups (ir/groups.rs), refuse, or write `_no_rule` if \
         nothing is known of what is left\n{}",
        failures.join("\n")
    );
}

#[test]
fn rest_arms_are_found() {
    let decides = "fn f(op: Op) -> bool {\n    match inst.op {\n        Op::Add => true, // _ => {}\n        _ => false,\n    }\n}\n";
    assert_eq!(deciding(decides), [4]);
    let nested =
        "match op {\n    Op::Loop => { match inner.op { Op::If => {} other => go(other) } }\n    Op::If => {}\n}";
    assert_eq!(deciding(nested), [2]);
    for (decides, lines) in [
        ("match op { Op::Add => true, _ if a => false, _no_rule => true }", &[1][..]),
        (
            "match op {\n    Op::Add => true,\n    other\n        if is(other) =>\n    {\n        false\n    }\n    all!() => true }",
            &[3],
        ),
        ("match op { Op::Add => true, Op::Sub | _ => false }", &[1]),
        ("match *op { Op::Add => true, other @ _ => go(other) }", &[1]),
        ("match self { Op::Add => true, _ => false }", &[1]),
        ("match (op, x) { (Op::Add, 1) => 1, _ => 2 }", &[1]),
        ("match (op, x) {\n(Op::Add, 1) => 1,\n(_, 2) => 2,\n(other, _) => 3 }", &[3, 4]),
        ("match (x, inst.op) {\n(1, Op::Add) => 1,\n(1, Op::Sub) | (_, _any) => 2 }", &[3]),
    ] {
        assert_eq!(deciding(decides), lines, "{decides}");
    }
    for fine in [
        "match op { Op::Add => true, _no_rule => false }",
        "match inst.op { Op::Add => Ok(1), other => Err(wrong(other)) }",
        "match inst.op { Op::Add if a => 1, Op::Add | not_control!() => 2 }",
        "match op { Op::Add => 1, _no_rule if a => 2, other if b => unreachable!(), not_control!() => 3 }",
        "match (op, x) { (Op::Add, 1) => 1, (Op::Sub | all!(), _) => 2, (_no_rule, 3) => 4, _no_rule => 5 }",
        "match (op, x) { (Op::Add, 1) => Ok(1), (_, 2) => Err(2), _ => Err(3) }",
        "match (a, b) { (Op::Add, 1) => 1, _ => 2 }",
        "match shape { Some(op) => 1, _ => \"match op { _ => 1 }\".len() }",
    ] {
        assert_eq!(deciding(fine), [0; 0], "{fine}");
    }
}
