//! Broken texts: whatever is done to a text, it is read or refused, and what is read is printed and read again.

use super::{examples, read};
use girih_ir::text::print;

/// A generator of numbers: good enough to choose what to break.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Pieces that mean something somewhere.
const PIECES: &[&str] = &[
    "%",
    "@",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    "==",
    "->",
    ":",
    ";",
    "\n",
    " ",
    "%x",
    "%7",
    "@f",
    "-",
    "+",
    "~",
    "<",
    ">",
    "0",
    "1",
    "99999999999999999999",
    "1e400",
    "0x",
    "nan",
    "inf",
    "bits(0)",
    "true",
    "f32",
    "u64x2",
    "regs<f32, 8>",
    "if",
    "else",
    "loop",
    "while",
    "next",
    "switch",
    "case",
    "default",
    "call",
    "yield",
    "break",
    "continue",
    "return",
    "grid",
    "launch",
    "kernel",
    "fn",
    "shared %s: f32[4]",
    "const.f32 1.0",
    "add.f32 1.0, 2.0",
    "; run: @escape(1.0, 2.0, 3) == 4\n",
    "\"",
    "\\",
    "é",
    "\u{feff}",
    "\0",
    "unroll",
    "spec(",
    "u32.random(3, 4)",
    "coop<a, 16x16x16, f16>",
    ".",
    "code(7)",
];

fn broken(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.below(4) {
        let at = dice.below(chars.len() + 1);
        let length = dice.below(12).min(chars.len() - at);
        match dice.below(4) {
            0 => drop(chars.drain(at..at + length)),
            1 => drop(chars.splice(at..at, PIECES[dice.below(PIECES.len())].chars())),
            2 => drop(chars.splice(at..at + length, PIECES[dice.below(PIECES.len())].chars())),
            _ => {
                let from = dice.below(chars.len() + 1);
                let piece: Vec<char> = chars[from..].iter().take(1 + dice.below(40)).copied().collect();
                drop(chars.splice(at..at, piece));
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn broken_texts_are_refused_without_panic() {
    let mut dice = Dice(7);
    let mut accepted = 0;
    let rounds = 6000;
    for round in 0..rounds {
        let original = [examples::DESIGN, examples::EVERYTHING][round % 2];
        let text = broken(original, &mut dice);
        match read(&text) {
            Err(errors) => {
                assert!(!errors.is_empty(), "{text}");
                for span in errors.iter().flat_map(|e| e.labels.iter()).map(|l| l.span) {
                    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} of {text}");
                }
            }
            Ok(parsed) => {
                accepted += 1;
                let once = print(&parsed.module);
                let again = read(&once).unwrap_or_else(|e| panic!("{e:#?}\n{once}\nfrom\n{text}"));
                assert_eq!(print(&again.module), once);
                parsed.runs.iter().for_each(|run| assert!(run.span.end as usize <= text.len()));
            }
        }
    }
    assert!(accepted > rounds / 100 && accepted < rounds / 2, "the mutations are of some use: {accepted}");
}

#[test]
fn texts_of_pieces_are_refused_without_panic() {
    let mut dice = Dice(11);
    for _ in 0..20_000 {
        let text: Vec<&str> = (0..dice.below(30)).map(|_| PIECES[dice.below(PIECES.len())]).collect();
        let _ = read(&text.join(["", " ", "\n"][dice.below(3)]));
    }
}
