//! Text with places where a line may end, and how it is laid out: a group stays on one line if it fits, otherwise all of
//! its own places end the line (the algorithm of Oppen and Wadler).
//!
//! The layout walks with a stack of its own, and looks ahead no further than the width of a line, so that it takes time
//! linear in the text however long a list is.
//!
//! A comment knows where it stood: on a line of its own, at the end of a line, or inside one. What comes after one of the first two starts a new line,
//! wherever that is, so a comment never swallows code.

use std::borrow::Cow;
use std::rc::Rc;
use std::slice;

/// How wide a line should be.
pub const WIDTH: usize = 120;

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
    /// Nothing; what is around it does not stay on one line.
    Break,
    /// Nothing; a blank line comes before what follows.
    Blank,
    /// Text where the piece around it stays on one line, nothing where it does not.
    Flat(&'static str),
    /// A comment.
    Comment(String, Place),
    /// What stands in two pieces of which one is laid out.
    Shared(Rc<Doc>),
    /// A call whose last argument may end lines while the call itself does not.
    Hug(Box<Hug>),
}

/// The two ways in which a call is laid out that does not fit on a line.
pub struct Hug {
    /// All before the last argument, which stays on one line.
    pub head: Doc,
    /// The last argument and what closes the call.
    pub last: Doc,
    /// The call with an argument a line.
    pub listed: Doc,
}

/// Where a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a line of its own.
    Line,
    /// Behind the code of a line, of which it is the end.
    End,
    /// Between the code of a line.
    Inside,
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
            Doc::Shared(doc) => return Pending::of(doc, indent, mode),
            Doc::Text(_)
            | Doc::Line
            | Doc::SoftLine
            | Doc::HardLine
            | Doc::Nest(_)
            | Doc::Group(..)
            | Doc::Break
            | Doc::Blank
            | Doc::Flat(_)
            | Doc::Comment(..)
            | Doc::Hug(_) => slice::from_ref(doc).iter(),
        };
        Pending { parts, indent, mode }
    }
}

/// The text that is laid out so far.
#[derive(Default)]
struct Output {
    text: String,
    column: usize,
    /// How many line ends must come before the next text: one behind a comment, two where a blank line is wanted.
    owed: usize,
    /// Whether a space comes before the next text, because a comment inside the line ended.
    gap: bool,
}

impl Output {
    /// Whether nothing but indentation stands on the line.
    fn is_fresh(&self) -> bool {
        self.text.trim_end_matches(' ').is_empty() || self.text.trim_end_matches(' ').ends_with('\n')
    }

    /// Ends the line. Lines do not end in spaces.
    fn end_line(&mut self, indent: usize) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.extend(std::iter::repeat_n('\n', self.owed.max(1)));
        self.text.extend(std::iter::repeat_n(' ', indent));
        (self.column, self.owed, self.gap) = (indent, 0, false);
    }

    /// Goes to a line on which nothing stands, behind the blank line that may be wanted.
    fn start_line(&mut self, indent: usize) {
        if !self.is_fresh() {
            self.end_line(indent);
        } else if self.owed > 1 && !self.text.is_empty() {
            self.owed -= 1;
            self.end_line(indent);
        }
        self.owed = 0;
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.column = match text.rfind('\n') {
            Some(end) => text[end + 1..].chars().count(),
            None => self.column + text.chars().count(),
        };
        self.gap = false;
    }

    fn code(&mut self, text: &str, indent: usize) {
        let text = if self.owed > 0 { text.trim_start_matches(' ') } else { text };
        if text.is_empty() {
            return;
        }
        if self.owed > 0 {
            self.start_line(indent);
        } else if self.gap && !text.starts_with([' ', ')', ']', '}', ',', ';', ':']) {
            self.push(" ");
        }
        self.push(text);
    }

    fn comment(&mut self, text: &str, place: Place, indent: usize) {
        if place == Place::Inside && self.owed == 0 {
            if !self.is_fresh() && !self.text.ends_with([' ', '(', '[', '{']) {
                self.push(" ");
            }
            self.push(text);
            self.gap = true;
            return;
        }
        if place != Place::End || self.owed > 0 || self.is_fresh() {
            self.start_line(indent);
        } else {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.push(if text.starts_with("#{") { " " } else { "  " });
        }
        self.push(text);
        match place {
            Place::Line | Place::End => self.owed = 1,
            Place::Inside => self.gap = true,
        }
    }
}

impl Doc {
    /// Whether lines end in it in any case.
    pub fn has_hard_line(&self) -> bool {
        match self {
            Doc::HardLine | Doc::Break | Doc::Blank | Doc::Comment(_, Place::Line | Place::End) => true,
            Doc::Comment(text, Place::Inside) => text.contains('\n'),
            Doc::Text(_) | Doc::Line | Doc::SoftLine | Doc::Flat(_) => false,
            Doc::Concat(parts) => parts.iter().any(Doc::has_hard_line),
            Doc::Nest(inner) => inner.has_hard_line(),
            Doc::Group(_, hard) => *hard,
            Doc::Shared(inner) => inner.has_hard_line(),
            Doc::Hug(hug) => hug.listed.has_hard_line(),
        }
    }

    /// The first character of the text.
    fn first_char(&self) -> Option<char> {
        match self {
            Doc::Text(text) => text.chars().next(),
            Doc::Flat(text) => text.chars().next(),
            Doc::Comment(..) => Some('#'),
            Doc::Line | Doc::SoftLine | Doc::HardLine | Doc::Break | Doc::Blank => None,
            Doc::Concat(parts) => parts.iter().find_map(Doc::first_char),
            Doc::Nest(inner) | Doc::Group(inner, _) => inner.first_char(),
            Doc::Shared(inner) => inner.first_char(),
            Doc::Hug(hug) => hug.head.first_char(),
        }
    }

    /// Lays the text out. Lines do not end in spaces.
    pub fn layout(&self) -> String {
        let mut out = Output::default();
        let mut stack = vec![Pending::of(self, 0, Mode::Broken)];
        while let Some(frame) = stack.last_mut() {
            let Pending { indent, mode, .. } = *frame;
            let Some(part) = frame.parts.next() else {
                stack.pop();
                continue;
            };
            let column = if out.owed > 0 { indent } else { out.column };
            match (part, mode) {
                (Doc::Text(text), _) => out.code(text, indent),
                (Doc::Flat(text), Mode::Flat) => out.code(text, indent),
                (Doc::Flat(_), Mode::Broken) | (Doc::Break, _) => {}
                (Doc::Blank, _) => out.owed = 2,
                (Doc::Comment(text, place), _) => out.comment(text, *place, indent),
                (Doc::Line, Mode::Flat) if out.owed == 0 => out.push(" "),
                (Doc::SoftLine, Mode::Flat) if out.owed == 0 => {}
                (Doc::Line | Doc::SoftLine | Doc::HardLine, _) => out.end_line(indent),
                (Doc::Concat(_) | Doc::Shared(_), _) => stack.push(Pending::of(part, indent, mode)),
                (Doc::Nest(inner), _) => stack.push(Pending::of(inner, indent + 2, mode)),
                (Doc::Group(inner, hard), _) => {
                    let flat = Pending::of(inner, indent, Mode::Flat);
                    let fits = mode == Mode::Flat || (!hard && fits(flat.clone(), &stack, column));
                    stack.push(Pending { mode: if fits { Mode::Flat } else { Mode::Broken }, ..flat });
                }
                (Doc::Hug(hug), Mode::Flat) => stack.push(Pending::of(&hug.listed, indent, Mode::Flat)),
                (Doc::Hug(hug), Mode::Broken) => {
                    let flat = Pending::of(&hug.listed, indent, Mode::Flat);
                    if !hug.listed.has_hard_line() && fits(flat, &stack, column) {
                        stack.push(Pending::of(&hug.listed, indent, Mode::Flat));
                        continue;
                    }
                    let last = Pending::of(&hug.last, indent, Mode::Broken);
                    let head = Pending::of(&hug.head, indent, Mode::Flat);
                    if !hug.head.has_hard_line() && hugs(head.clone(), last.clone(), column) {
                        stack.push(last);
                        stack.push(head);
                    } else {
                        stack.push(Pending::of(&hug.listed, indent, Mode::Broken));
                    }
                }
            }
        }
        out.text.truncate(out.text.trim_end_matches(' ').len());
        out.text
    }
}

/// How far a text reaches on the line on which it starts, and whether it ends that line.
fn first_line(text: &str) -> (usize, bool) {
    match text.find('\n') {
        Some(end) => (text[..end].chars().count(), true),
        None => (text.chars().count(), false),
    }
}

/// Whether `first`, and what follows it up to the next possible line end, fits on the line.
fn fits(first: Pending, rest: &[Pending], column: usize) -> bool {
    fits_with(first, rest.iter().rev(), column)
}

/// Whether the head of a call fits on the line together with the start of its last argument, which ends lines where it can.
fn hugs(head: Pending, last: Pending, column: usize) -> bool {
    fits_with(head, [last].iter(), column)
}

/// See [`fits`]. What follows ends its lines where it can, whether it has to or not: so what was laid out is laid out alike again.
fn fits_with<'p, 'd: 'p>(
    first: Pending<'d>,
    mut rest: impl Iterator<Item = &'p Pending<'d>>,
    mut column: usize,
) -> bool {
    let mut stack = vec![first];
    loop {
        let Some(frame) = stack.last_mut() else {
            match rest.next() {
                Some(frame) => stack.push(frame.clone()),
                None => return column <= WIDTH,
            }
            continue;
        };
        let Pending { indent, mode, .. } = *frame;
        let Some(part) = frame.parts.next() else {
            stack.pop();
            continue;
        };
        match (part, mode) {
            (Doc::Text(text), _) => {
                let (reach, ends) = first_line(text);
                column += reach;
                if ends {
                    return column <= WIDTH;
                }
            }
            (Doc::Comment(text, Place::Inside), _) => {
                let (reach, ends) = first_line(text);
                column += reach + 2;
                if ends {
                    return column <= WIDTH;
                }
            }
            (Doc::Comment(_, Place::Line | Place::End) | Doc::Blank, _) => return true,
            (Doc::Flat(text), Mode::Flat) => column += text.len(),
            (Doc::Flat(_), Mode::Broken) | (Doc::Break, _) => {}
            (Doc::Line, Mode::Flat) => column += 1,
            (Doc::SoftLine, Mode::Flat) => {}
            (Doc::Line | Doc::SoftLine, Mode::Broken) | (Doc::HardLine, _) => return true,
            (Doc::Concat(_) | Doc::Shared(_), _) => stack.push(Pending::of(part, indent, mode)),
            (Doc::Nest(inner), _) => stack.push(Pending::of(inner, indent, mode)),
            (Doc::Group(inner, _), _) => stack.push(Pending::of(inner, indent, mode)),
            (Doc::Hug(hug), _) => stack.push(Pending::of(&hug.listed, indent, mode)),
        }
        if column > WIDTH {
            return false;
        }
    }
}
