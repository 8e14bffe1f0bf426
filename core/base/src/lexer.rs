//! The cursor over the text of one file, with the tokens of Bend on demand.
//!
//! Bend has no token stream: whether `-` belongs to a name, a number or an operator depends on what may stand at that
//! place, and only the parser knows that. So the parser asks the cursor for what it needs. The cursor moves forwards
//! (only recovery from an error may jump back to a line's start); it is `Copy`, and looking ahead is done on a copy. `end`
//! is always the end of the last token that was taken, so that the span of a node never includes the space after it.

use crate::num::BinOp;
use crate::span::{SourceId, Span};

/// Whether a character may stand in a name.
pub fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')
}

/// How a `#{` comment is closed.
pub const COMMENT_END: &str = "#}";

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    source: SourceId,
    text: &'t str,
    at: usize,
    end: usize,
    open_comment: Option<usize>,
    nats: bool,
}

impl<'t> Cursor<'t> {
    /// The start of a text, behind its byte order mark if it has one.
    pub fn new(source: SourceId, text: &'t str) -> Cursor<'t> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Cursor { source, text, at, end: at, open_comment: None, nats: false }
    }

    /// Leaves `#3` to be read as a literal: a `#` before a digit does not start a comment.
    pub fn with_nat_literals(mut self) -> Cursor<'t> {
        self.nats = true;
        self
    }

    /// The byte that comes next.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The text that is still to be read.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The whole text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether everything is read.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The start of the comment that the text ends in without closing it.
    pub fn open_comment(&self) -> Option<usize> {
        self.open_comment
    }

    /// From a byte to the end of the last token.
    pub fn span_from(&self, start: usize) -> Span {
        Span::new(self.source, start, self.end.max(start))
    }

    /// A range of bytes of this file.
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source, start, end)
    }

    /// Takes `bytes` bytes as (a part of) a token. They must end at a character's boundary.
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.end = self.at;
    }

    /// Takes the next character.
    pub fn next_char(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.advance(c.len_utf8());
        Some(c)
    }

    /// Takes `symbol` if it comes next.
    pub fn eat(&mut self, symbol: &str) -> bool {
        let found = self.starts_with(symbol);
        if found {
            self.advance(symbol.len());
        }
        found
    }

    /// Whether `symbol` comes next.
    pub fn starts_with(&self, symbol: &str) -> bool {
        self.rest().starts_with(symbol)
    }

    /// Takes the characters as long as they are wanted.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.advance(length);
        &rest[..length]
    }

    /// The characters of a name that come next; may be empty.
    pub fn word(&self) -> &'t str {
        let rest = self.rest();
        &rest[..rest.find(|c| !is_name_char(c)).unwrap_or(rest.len())]
    }

    /// Whether `keyword` comes next and is not the start of a longer name.
    pub fn at_keyword(&self, keyword: &str) -> bool {
        self.rest().strip_prefix(keyword).is_some_and(|after| !after.starts_with(is_name_char))
    }

    /// Takes `keyword` if it comes next and is not the start of a longer name.
    pub fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance(keyword.len());
        }
        found
    }

    /// The operator that comes next, if any; the longest one that fits.
    pub fn operator(&self) -> Option<BinOp> {
        let rest = self.rest();
        BinOp::ALL.into_iter().filter(|op| rest.starts_with(op.symbol())).max_by_key(|op| op.symbol().len())
    }

    /// Skips space, line ends and comments.
    pub fn skip_trivia(&mut self) {
        self.skip_inline();
        while self.skip_line_end() {
            self.skip_inline();
        }
    }

    /// Skips space and comments up to the end of the line. A `#{ #}` comment counts as space of the line on which it
    /// ends.
    pub fn skip_inline(&mut self) {
        loop {
            let before = self.at;
            let spaces = |c: char| c.is_ascii_whitespace() && c != '\n';
            self.at += self.rest().len() - self.rest().trim_start_matches(spaces).len();
            self.skip_comment();
            if self.at == before {
                return;
            }
        }
    }

    fn skip_comment(&mut self) {
        let rest = self.rest();
        if self.nats && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
            return;
        }
        if let Some(comment) = rest.strip_prefix("#{") {
            let length = match comment.find(COMMENT_END) {
                Some(length) => "#{".len() + length + COMMENT_END.len(),
                None => {
                    self.open_comment = Some(self.at);
                    rest.len()
                }
            };
            self.at += length;
        } else if rest.starts_with('#') {
            self.skip_line();
        }
    }

    /// Skips the rest of the line.
    pub fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Goes over the end of the line. Returns whether there was one.
    pub fn skip_line_end(&mut self) -> bool {
        let found = self.starts_with("\n");
        if found {
            self.at += 1;
        }
        found
    }

    /// The space and comments between the last token and the cursor.
    pub fn skipped(&self) -> &'t str {
        &self.text[self.end.min(self.at)..self.at]
    }

    /// Whether nothing but the line's end comes next.
    pub fn is_at_line_end(&self) -> bool {
        self.is_at_end() || self.starts_with("\n")
    }

    /// How many characters stand before the cursor in its line.
    pub fn column(&self) -> usize {
        self.text[self.line_start()..self.at].chars().count()
    }

    /// The first byte of the cursor's line.
    pub fn line_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Moves to the start of a line. Nothing is taken.
    pub fn jump(&mut self, line_start: usize) {
        self.at = line_start;
        self.end = line_start;
        self.open_comment = None;
    }
}
