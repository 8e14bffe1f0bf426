//! Random programs that have every kind of node, in odd layouts: comments between any two tokens, blank lines, spaces, lines that end where they may.
//!
//! 600 programs are tried, 10,000 with `GIRIH_TESTS=full`, or as many as `GIRIH_LAYOUTS` says.

use super::stable;
use crate::parse_roundtrip::kinds::no_counts;
use crate::parse_roundtrip::parse;
use crate::parse_roundtrip::tape::Maker;
use girih_bend::parser::Dialect;
use girih_bend::printer::print_module;
use girih_workbench::sample;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

#[test]
fn random_programs_in_odd_layouts() {
    super::deep(|| {
        let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut with_comments = 0;
        for number in 0..sample("GIRIH_LAYOUTS", 600, 10_000) {
            let tape: Vec<u32> = (0..rng.next_u32() % 1200).map(|_| rng.next_u32() % (1 << 16)).collect();
            let module = Maker::new(&tape, no_counts()).module();
            let text = print_module(&module);
            if let Err(said) = same(&text, &text, &[]) {
                panic!("program {number}: {said}");
            }
            let mut layout = Layout { rng: &mut rng, comments: vec![] };
            let odd = layout.of(&text);
            with_comments += usize::from(layout.comments.len() > 3);
            if let Err(said) = same(&text, &odd, &layout.comments) {
                panic!("program {number}: {said}\nin\n{odd}");
            }
        }
        assert!(with_comments > 100, "only {with_comments} programs have comments");
    });
}

/// The program in an odd layout is formatted, says what it said, and has these comments in this order.
fn same(text: &str, odd: &str, comments: &[String]) -> Result<(), String> {
    let formatted = stable(odd, Dialect::Prelude)?;
    if parse(&formatted)? != parse(text)? {
        return Err(format!("another program:\n{formatted}"));
    }
    let mut rest = &formatted[..];
    for comment in comments {
        let Some(start) = rest.find(comment) else { return Err(format!("no `{comment}`:\n{formatted}")) };
        rest = &rest[start + comment.len()..];
    }
    let marks = |text: &str| text.matches('#').count();
    if marks(odd) == marks(&formatted) { Ok(()) } else { Err(format!("more comments:\n{formatted}")) }
}

/// Makes odd layouts.
struct Layout<'r> {
    rng: &'r mut TestRng,
    comments: Vec<String>,
}

impl Layout<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.next_u32() % 100 < percent
    }

    fn spaces(&mut self, least: u32, most: u32) -> String {
        " ".repeat((least + self.rng.next_u32() % (most - least + 1)) as usize)
    }

    /// A comment that is unlike all others.
    fn comment(&mut self) -> String {
        let number = self.comments.len();
        let comment = match self.rng.next_u32() % 8 {
            0 => format!("#{{ inside {number} #}}"),
            1 => format!("#{{ over\n two   lines {number}\n#}}"),
            _ => format!("# comment {number}."),
        };
        self.comments.push(comment.clone());
        comment
    }

    /// The text of a program with other space, and with comments.
    fn of(&mut self, text: &str) -> String {
        let percent = [2, 8, 30][self.rng.next_u32() as usize % 3];
        let mut out = String::new();
        let (mut depth, mut in_net, mut at_start) = (0, false, true);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' | '\'' => {
                    out.push(c);
                    while let Some(inside) = chars.next() {
                        out.push(inside);
                        if inside == '\\' {
                            out.extend(chars.next());
                        } else if inside == c {
                            break;
                        }
                    }
                }
                '\n' => {
                    let indented = chars.peek() == Some(&' ');
                    in_net &= indented || chars.peek() == Some(&'\n');
                    if depth > 0 && !in_net && self.chance(percent) {
                        out.push(' ');
                    } else if in_net {
                        out.push('\n');
                    } else {
                        self.line_end(percent, &mut out);
                    }
                }
                ' ' if !at_start && !in_net && self.chance(percent) => self.space(depth > 0, &mut out),
                _ => {
                    depth += usize::from(matches!(c, '(' | '[' | '{'));
                    depth -= usize::from(matches!(c, ')' | ']' | '}'));
                    out.push(c);
                }
            }
            in_net |= at_start && c == 'h' && out.ends_with("\nh") && text_is_net(&mut chars.clone());
            at_start = c == '\n' || (at_start && c == ' ');
        }
        out
    }

    /// The end of a line, perhaps with a comment, and with lines behind it that hold none or only a comment.
    fn line_end(&mut self, percent: u32, out: &mut String) {
        if self.chance(percent) {
            let comment = self.comment();
            out.push_str(&(self.spaces(0, 3) + &comment));
        }
        out.push_str(if self.chance(5) { "\r\n" } else { "\n" });
        while self.chance(percent) {
            if self.chance(60) {
                let comment = self.comment();
                out.push_str(&(self.spaces(0, 9) + &comment));
            }
            out.push('\n');
        }
    }

    /// The space between two tokens; a line may end there if a bracket is open.
    fn space(&mut self, free: bool, out: &mut String) {
        out.push_str(&self.spaces(1, 4));
        if free && self.chance(50) {
            self.line_end(30, out);
            out.push_str(&self.spaces(1, 12));
        } else if self.chance(50) {
            let comment = format!("#{{ {} #}}", self.comments.len());
            out.push_str(&(comment.clone() + " "));
            self.comments.push(comment);
        }
    }
}

/// Whether what follows an `h` at the start of a line is the rest of `hvm `.
fn text_is_net(rest: &mut impl Iterator<Item = char>) -> bool {
    rest.take(3).eq("vm ".chars())
}
