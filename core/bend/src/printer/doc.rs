//! Text with places where a line may end, and how it is laid out: a group stays on one line if it fits, otherwise all of
//! its own places end the line (the algorithm of Oppen and Wadler).
//!
//! The layout walks with a stack of its own, and looks ahead no further than the width of a line, so that it takes time
//! linear in the text however long a list is.

use std::borrow::Cow;
use std::slice;

/// How wide a line should be.
const WIDTH: usize = 100;

/// A piece of text that is not laid out yet.
pub enum Doc {
    /// Text without a line end.
    Text(Cow<'static, str>),
    /// A space, or the end of the line.
    Line,
    /// Nothing, or the end of the line.
    SoftLine,
    /// The end of the line.
    HardLine,
    /// Pieces one after the other.
    Concat(Vec<Doc>),
    /// Lines that end inside start two columns further to the right.
    Nest(Box<Doc>),
    /// Stays on one line if it can. The flag says that it cannot because it has a hard line.
    Group(Box<Doc>, bool),
}

/// A piece of text.
pub fn text(text: impl Into<Cow<'static, str>>) -> Doc {
    Doc::Text(text.into())
}

/// Pieces one after the other.
pub fn concat(parts: impl IntoIterator<Item = Doc>) -> Doc {
    Doc::Concat(parts.into_iter().collect())
}

/// A piece whose lines are indented.
pub fn nest(doc: Doc) -> Doc {
    Doc::Nest(Box::new(doc))
}

/// A piece that stays on one line if it can.
pub fn group(doc: Doc) -> Doc {
    let hard = doc.has_hard_line();
    Doc::Group(Box::new(doc), hard)
}

/// Nothing.
pub fn nothing() -> Doc {
    concat([])
}

/// Pieces with a separator between any two.
pub fn join(parts: impl IntoIterator<Item = Doc>, separator: impl Fn() -> Doc) -> Doc {
    let mut joined = vec![];
    for part in parts {
        if !joined.is_empty() {
            joined.push(separator());
        }
        joined.push(part);
    }
    Doc::Concat(joined)
}

/// `!x`; `![` would be a node of a tree instead of a leaf that holds a list.
pub fn leaf(value: Doc) -> Doc {
    let space = if value.first_char() == Some('[') { " " } else { "" };
    concat([text("!"), text(space), value])
}

/// A list between brackets, with commas.
pub fn bracketed(open: impl Into<Cow<'static, str>>, parts: Vec<Doc>, close: &'static str) -> Doc {
    enclosed(open, parts, || concat([text(","), Doc::Line]), close)
}

/// A list between brackets.
pub fn enclosed(
    open: impl Into<Cow<'static, str>>,
    parts: Vec<Doc>,
    separator: impl Fn() -> Doc,
    close: &'static str,
) -> Doc {
    if parts.is_empty() {
        return concat([text(open), text(close)]);
    }
    let inside = nest(concat([Doc::SoftLine, join(parts, separator)]));
    group(concat([text(open), inside, Doc::SoftLine, text(close)]))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Broken,
}

/// Pieces that are still to be laid out.
#[derive(Clone)]
struct Pending<'d> {
    parts: slice::Iter<'d, Doc>,
    indent: usize,
    mode: Mode,
}

impl<'d> Pending<'d> {
    fn of(doc: &'d Doc, indent: usize, mode: Mode) -> Pending<'d> {
        let parts = match doc {
            Doc::Concat(parts) => parts.iter(),
            Doc::Text(_) | Doc::Line | Doc::SoftLine | Doc::HardLine | Doc::Nest(_) | Doc::Group(..) => {
                slice::from_ref(doc).iter()
            }
        };
        Pending { parts, indent, mode }
    }
}

impl Doc {
    fn has_hard_line(&self) -> bool {
        match self {
            Doc::HardLine => true,
            Doc::Text(_) | Doc::Line | Doc::SoftLine => false,
            Doc::Concat(parts) => parts.iter().any(Doc::has_hard_line),
            Doc::Nest(inner) => inner.has_hard_line(),
            Doc::Group(_, hard) => *hard,
        }
    }

    /// The first character of the text.
    fn first_char(&self) -> Option<char> {
        match self {
            Doc::Text(text) => text.chars().next(),
            Doc::Line | Doc::SoftLine | Doc::HardLine => None,
            Doc::Concat(parts) => parts.iter().find_map(Doc::first_char),
            Doc::Nest(inner) | Doc::Group(inner, _) => inner.first_char(),
        }
    }

    /// Lays the text out. Lines do not end in spaces.
    pub fn layout(&self) -> String {
        let mut out = String::new();
        let mut column = 0;
        let mut stack = vec![Pending::of(self, 0, Mode::Broken)];
        while let Some(frame) = stack.last_mut() {
            let Pending { indent, mode, .. } = *frame;
            let Some(part) = frame.parts.next() else {
                stack.pop();
                continue;
            };
            match (part, mode) {
                (Doc::Text(text), _) => {
                    column += text.chars().count();
                    out.push_str(text);
                }
                (Doc::Line, Mode::Flat) => {
                    column += 1;
                    out.push(' ');
                }
                (Doc::SoftLine, Mode::Flat) => {}
                (Doc::Line | Doc::SoftLine, Mode::Broken) | (Doc::HardLine, _) => {
                    out.truncate(out.trim_end_matches(' ').len());
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                }
                (Doc::Concat(_), _) => stack.push(Pending::of(part, indent, mode)),
                (Doc::Nest(inner), _) => stack.push(Pending::of(inner, indent + 2, mode)),
                (Doc::Group(inner, hard), _) => {
                    let flat = Pending::of(inner, indent, Mode::Flat);
                    let fits = mode == Mode::Flat || (!hard && fits(flat.clone(), &stack, column));
                    stack.push(Pending { mode: if fits { Mode::Flat } else { Mode::Broken }, ..flat });
                }
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    }
}

/// Whether `first`, and what follows it up to the next possible line end, fits on the line.
fn fits(first: Pending, rest: &[Pending], mut column: usize) -> bool {
    let mut stack = vec![first];
    let mut rest = rest.iter().rev();
    loop {
        let Some(frame) = stack.last_mut() else {
            match rest.next() {
                Some(frame) => stack.push(frame.clone()),
                None => return true,
            }
            continue;
        };
        let Pending { indent, mode, .. } = *frame;
        let Some(part) = frame.parts.next() else {
            stack.pop();
            continue;
        };
        match (part, mode) {
            (Doc::Text(text), _) => column += text.chars().count(),
            (Doc::Line, Mode::Flat) => column += 1,
            (Doc::SoftLine, Mode::Flat) => {}
            (Doc::Line | Doc::SoftLine, Mode::Broken) | (Doc::HardLine, _) => return true,
            (Doc::Concat(_), _) => stack.push(Pending::of(part, indent, mode)),
            (Doc::Nest(inner), _) => stack.push(Pending::of(inner, indent, mode)),
            (Doc::Group(inner, hard), _) => {
                let mode = if *hard { mode } else { Mode::Flat };
                stack.push(Pending::of(inner, indent, mode));
            }
        }
        if column > WIDTH {
            return false;
        }
    }
}
