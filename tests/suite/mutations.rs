//! Damaged programs: whatever is done to the text of a program, the compiler answers, and answers soon.
//!
//! 500 programs are tried, 4,000 with `GIRIH_TESTS=full`, or as many as `GIRIH_MUTATIONS` says; `GIRIH_MUTATION` picks a single one by the
//! number that a failure names.

use crate::support;
use crate::support::random::Random;
use crate::support::watch::{Ended, within};
use girih::{Options, Program};
use girih_workbench::{number, sample};
use std::time::Duration;

/// How long the compiler may take for one program. The slowest take some milliseconds; a machine may be busy.
const LIMIT: Duration = Duration::from_secs(20);

/// Pieces of Bend that are put into programs.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "`",
    "#",
    "#{",
    "}#",
    ":",
    ";",
    ",",
    "=",
    "==",
    "->",
    "<-",
    "~",
    "*",
    "**",
    "$",
    "$x",
    "λ",
    "@",
    "lambda x:",
    "![",
    "!",
    "+",
    "-",
    "/",
    "//",
    "%",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "!=",
    "\n",
    "\n  ",
    "\n\t",
    " ",
    ".",
    "..",
    "_",
    "__",
    "0",
    "0x",
    "0b12",
    "1.5",
    "+5",
    "-16777216",
    "99999999999",
    "4u32",
    "1.0f32",
    "'\\u{110000}'",
    "\"\\q\"",
    "é",
    "🌟",
    "\u{0}",
    "\u{feff}",
    "\r\n",
    "def ",
    "def f(x):",
    "type ",
    "type T:\n  A\n  B { ~x }\n",
    "object ",
    "hvm f:\n  (a a)\n",
    "return ",
    "if ",
    "elif ",
    "else:",
    "switch x:",
    "match x:",
    "case _:",
    "case List/Cons:",
    "fold ",
    "bend x = 0:",
    "when ",
    "fork(",
    "open T: x",
    "with IO:",
    "use x = 1",
    "let x = 1;",
    "ask x = y;",
    "from ",
    "import ",
    "as ",
    "checked ",
    "unchecked ",
    "main = ",
    "main",
    "List/Cons",
    "String/Nil",
    "Any",
    "u24",
    "x-1",
    "x.head",
    "{a b}",
    "#3",
];

#[test]
fn damaged_programs_get_answers() {
    let sources: Vec<String> = ["tests/bend", "shaders"]
        .into_iter()
        .filter(|folder| std::path::Path::new(folder).is_dir())
        .flat_map(support::bend_files)
        .map(|path| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")))
        .collect();
    assert!(!sources.is_empty(), "there are programs to damage");
    match number("GIRIH_MUTATION") {
        Some(one) => try_one(&sources, one),
        None => (0..sample("GIRIH_MUTATIONS", 500, 4_000)).for_each(|i| try_one(&sources, i)),
    }
}

fn try_one(sources: &[String], number: u64) {
    let text = damaged(sources, number);
    let program = text.clone();
    let work = move || {
        let program = Program::from_text("damaged.bend", &program, &Options::default());
        // What is said must be drawable, what was parsed printable, and what was compiled too.
        let _ = (program.report().to_string(), program.syntax(), program.core());
    };
    let failure = match within(LIMIT, work) {
        Ended::Well(()) => return,
        Ended::Panicked(message) => format!("panicked: {message}"),
        Ended::Late => format!("took more than {} s", LIMIT.as_secs()),
    };
    panic!("GIRIH_MUTATION={number}: the compiler {failure}, given:\n{text}");
}

/// The damaged program of this number.
fn damaged(sources: &[String], number: u64) -> String {
    let mut random = Random::new(number);
    let mut text: Vec<char> = random.pick(sources).chars().collect();
    for _ in 0..=random.below(4) {
        damage(&mut text, sources, &mut random);
    }
    text.into_iter().collect()
}

fn damage(text: &mut Vec<char>, sources: &[String], random: &mut Random) {
    let place = random.below(text.len() + 1);
    let most = if random.chance(80) { 8 } else { 200 };
    let length = random.below(most);
    let end = (place + length).min(text.len());
    match random.below(9) {
        0 => drop(text.drain(place..end)),
        1 => {
            let copy = text[place..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, copy);
        }
        2 | 3 => drop(text.splice(place..place, random.pick(PIECES).chars())),
        4 => drop(text.splice(place..end, random.pick(PIECES).chars())),
        5 => text.truncate(place),
        6 => {
            let other: Vec<char> = random.pick(sources).chars().collect();
            let from = random.below(other.len() + 1);
            let to = (from + length).min(other.len());
            text.splice(place..place, other[from..to].iter().copied());
        }
        7 => {
            let piece = random.pick(PIECES).repeat(1 + random.below(3_000));
            text.splice(place..place, piece.chars());
        }
        _ => swap_lines(text, random),
    }
}

fn swap_lines(text: &mut Vec<char>, random: &mut Random) {
    let whole: String = text.iter().collect();
    let mut lines: Vec<&str> = whole.lines().collect();
    if !lines.is_empty() {
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        lines.swap(a, b);
    }
    *text = lines.join("\n").chars().collect();
}
