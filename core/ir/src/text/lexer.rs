//! Tokens of `.gir` text.
//!
//! Invariant: tokens stand in the text's order, do not overlap, start and end at characters' borders, and the last one is
//! [`Kind::End`]. A token knows whether it is the first of its line, because a statement ends with its line unless a comma or a
//! bracket says that it goes on.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `%name`, `%7` or `%"any text"`.
    Value,
    /// `@name` or `@"any text"`.
    Function,
    /// `add.f32`, `readonly`.
    Word,
    /// `42`, `0xff`, `1.5e-3`, `64x256x16`; whether it is a number is found where it is used.
    Number,
    /// `->`.
    Arrow,
    /// `==`.
    Same,
    /// One of `( ) { } [ ] < > , : = + - ~`.
    Sign(u8),
    /// A character that has no place in the text.
    Unknown,
    /// A name in quotes that are not closed on its line.
    Unclosed,
    /// The end of the text.
    End,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Whether it is the first of its line.
    pub first: bool,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// What a text is made of.
#[derive(Debug)]
pub struct Lexed {
    /// The tokens outside of comments, ended by [`Kind::End`].
    pub tokens: Vec<Token>,
    /// Byte ranges of what follows `; run:` on a line.
    pub runs: Vec<(usize, usize)>,
    /// Byte ranges of what starts a comment and is nearly `run:`: who wrote it meant a run line.
    pub nearly_runs: Vec<(usize, usize)>,
}

/// What starts a run line, behind the `;`.
const RUN: &str = "run:";

/// Whether a byte may stand in a name.
pub fn is_name_byte(b: u8) -> bool {
    is_word_byte(b) || matches!(b, b'/' | b'$')
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')
}

/// Cuts `text[start..end]`, both borders of characters, into tokens.
pub fn lex(text: &str, start: usize, end: usize) -> Lexed {
    let mut lexer = Lexer { bytes: text.as_bytes(), at: start, end, first: true };
    let mut out = Lexed { tokens: Vec::with_capacity((end - start) / 4 + 1), runs: vec![], nearly_runs: vec![] };
    while lexer.at < end {
        match lexer.bytes[lexer.at] {
            b'\n' => {
                lexer.first = true;
                lexer.at += 1;
            }
            b' ' | b'\t' | b'\r' => lexer.at += 1,
            b';' => lexer.comment(&mut out),
            _ => out.tokens.push(lexer.token()),
        }
    }
    out.tokens.push(Token { kind: Kind::End, first: true, start: end as u32, end: end as u32 });
    out
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    first: bool,
}

impl Lexer<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes[..self.end].get(at).copied()
    }

    /// How far bytes of a kind reach from a place on.
    fn while_byte(&self, mut at: usize, is: impl Fn(u8) -> bool) -> usize {
        while self.byte(at).is_some_and(&is) {
            at += 1;
        }
        at
    }

    /// Skips a comment; notes the range of a run line's text.
    fn comment(&mut self, out: &mut Lexed) {
        let is_blank = |b| b == b' ' || b == b'\t';
        let body = self.while_byte(self.at, |b| b == b';');
        self.at = self.while_byte(body, |b| b != b'\n');
        let start = self.while_byte(body, is_blank);
        if self.bytes[start..self.at].starts_with(RUN.as_bytes()) {
            return out.runs.push((start + RUN.len(), self.at));
        }
        let word = self.while_byte(start, is_word_byte);
        let behind = self.byte(self.while_byte(word, is_blank)).filter(|b| matches!(b, b':' | b'@'));
        if self.bytes[start..word].eq_ignore_ascii_case(b"run") && behind.is_some() {
            out.nearly_runs.push((start, word));
        }
    }

    fn token(&mut self) -> Token {
        let start = self.at;
        let (kind, end) = self.shape();
        self.at = end;
        Token { kind, first: std::mem::take(&mut self.first), start: start as u32, end: end as u32 }
    }

    /// The kind and the end of the token at the current byte, which is no space.
    fn shape(&self) -> (Kind, usize) {
        let at = self.at;
        let next = self.byte(at + 1);
        match self.bytes[at] {
            b'%' => self.name(Kind::Value),
            b'@' => self.name(Kind::Function),
            b'-' if next == Some(b'>') => (Kind::Arrow, at + 2),
            b'=' if next == Some(b'=') => (Kind::Same, at + 2),
            b @ (b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b',' | b':' | b'=' | b'+' | b'-' | b'~') => {
                (Kind::Sign(b), at + 1)
            }
            b'0'..=b'9' => (Kind::Number, self.number()),
            b if b.is_ascii_alphabetic() || b == b'_' => (Kind::Word, self.while_byte(at, is_word_byte)),
            // All bytes of a character, and of those that follow it.
            b if b >= 0x80 => (Kind::Unknown, self.while_byte(at, |b| b >= 0x80)),
            _ => (Kind::Unknown, at + 1),
        }
    }

    fn name(&self, kind: Kind) -> (Kind, usize) {
        let start = self.at + 1;
        if self.byte(start) != Some(b'"') {
            let end = self.while_byte(start, is_name_byte);
            return if end == start { (Kind::Unknown, start) } else { (kind, end) };
        }
        let mut at = start + 1;
        loop {
            match self.byte(at) {
                Some(b'"') => return (kind, at + 1),
                // A backslash is one byte and so is what it may stand before; a longer character goes on behind it.
                Some(b'\\') if self.byte(at + 1).is_some_and(|b| b != b'\n') => at += 2,
                Some(b'\n') | None => return (Kind::Unclosed, at),
                Some(_) => at += 1,
            }
        }
    }

    /// A number's end: letters, digits and dots, and a sign behind the `e` of a decimal exponent.
    fn number(&self) -> usize {
        let hex = matches!(self.byte(self.at + 1), Some(b'x' | b'X'));
        let mut at = self.at;
        loop {
            at = self.while_byte(at, is_word_byte);
            let exponent = !hex && matches!(self.bytes[at - 1], b'e' | b'E');
            if !exponent || !matches!(self.byte(at), Some(b'+' | b'-')) {
                return at;
            }
            at += 1;
        }
    }
}
