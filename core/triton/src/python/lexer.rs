//! Tokens of Python: names, numbers, strings, operators, and the lines and blocks that indentation makes.
//!
//! Invariant: tokens stand in order and the last is [`Kind::End`]; each [`Kind::Indent`] has its [`Kind::Dedent`].

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{SourceId, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Name,
    /// A number.
    Number,
    /// A string, with its prefix and quotes.
    String,
    /// An operator or a bracket.
    Op,
    /// The end of a logical line.
    Newline,
    /// A block begins.
    Indent,
    /// A block ends.
    Dedent,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Operators, the longest first.
const OPERATORS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "==",
    "<=", ">=", "**", "//", "<<", ">>", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+", "-", "*", "/", "%",
    "&", "|", "^", "~", "@", "<", ">",
];

/// Tabs count up to a multiple of this, as Python's own reader has it.
const TAB: usize = 8;

/// Cuts a part of a text into tokens. A part that is an expression has no lines of its own.
pub fn lex(source: SourceId, text: &str, range: std::ops::Range<usize>, lines: bool) -> Result<Vec<Token>, Diagnostic> {
    let open = usize::from(!lines);
    let mut lexer = Lexer {
        source,
        text: text.as_bytes(),
        at: range.start,
        end: range.end,
        tokens: vec![],
        indents: vec![0],
        open,
    };
    if lines {
        lexer.line_start()?;
    }
    while lexer.at < lexer.end {
        lexer.token(lines)?;
    }
    if lines {
        if lexer.tokens.last().is_some_and(|t| !matches!(t.kind, Kind::Newline | Kind::Dedent)) {
            lexer.push(Kind::Newline, lexer.end, lexer.end);
        }
        while lexer.indents.len() > 1 {
            lexer.indents.pop();
            lexer.push(Kind::Dedent, lexer.end, lexer.end);
        }
    }
    lexer.push(Kind::End, lexer.end, lexer.end);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    source: SourceId,
    text: &'a [u8],
    at: usize,
    end: usize,
    tokens: Vec<Token>,
    indents: Vec<usize>,
    /// How many brackets are open.
    open: usize,
}

impl Lexer<'_> {
    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.tokens.push(Token { kind, start, end });
    }
    fn byte(&self, at: usize) -> u8 {
        if at < self.end { self.text[at] } else { 0 }
    }
    fn fail<T>(&self, start: usize, end: usize, message: &str, hint: &str) -> Result<T, Diagnostic> {
        let span = Span::new(self.source, start, end.min(self.text.len()));
        Err(Diagnostic::new(Code::PythonSyntax, span, message).hint(hint))
    }

    /// The blank space at the beginning of a line: blocks that begin and end there.
    fn line_start(&mut self) -> Result<(), Diagnostic> {
        loop {
            let start = self.at;
            let mut width = 0;
            loop {
                match self.byte(self.at) {
                    b' ' => width += 1,
                    b'\t' => width = (width / TAB + 1) * TAB,
                    0x0c => width = 0,
                    _ => break,
                }
                self.at += 1;
            }
            match self.byte(self.at) {
                b'#' => self.comment(),
                b'\r' | b'\n' => {}
                _ if self.at >= self.end => return Ok(()),
                _ => return self.indentation(start, width),
            }
            while self.byte(self.at) == b'\r' {
                self.at += 1;
            }
            if self.byte(self.at) == b'\n' {
                self.at += 1;
            }
        }
    }

    fn indentation(&mut self, start: usize, width: usize) -> Result<(), Diagnostic> {
        let current = self.indents.last().copied().unwrap_or(0);
        if width > current {
            self.indents.push(width);
            self.push(Kind::Indent, start, self.at);
        }
        while self.indents.last().is_some_and(|indent| width < *indent) {
            self.indents.pop();
            self.push(Kind::Dedent, self.at, self.at);
        }
        if self.indents.last() != Some(&width) {
            return self.fail(
                start,
                self.at,
                "this line's indentation matches none of the blocks around it",
                "indent it like its block",
            );
        }
        Ok(())
    }

    fn comment(&mut self) {
        while self.at < self.end && self.text[self.at] != b'\n' {
            self.at += 1;
        }
    }

    fn token(&mut self, lines: bool) -> Result<(), Diagnostic> {
        let start = self.at;
        match self.byte(start) {
            b' ' | b'\t' | b'\r' | 0x0c => self.at += 1,
            b'#' => self.comment(),
            b'\\' if self.byte(start + 1) == b'\n' => self.at += 2,
            b'\\' if self.byte(start + 1) == b'\r' && self.byte(start + 2) == b'\n' => self.at += 3,
            b'\n' => {
                self.at += 1;
                if self.open == 0 && lines {
                    self.push(Kind::Newline, start, start + 1);
                    self.line_start()?;
                }
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(start + 1).is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.string(start)?,
            b if b.is_ascii_alphabetic() || b == b'_' || b >= 0x80 => self.name()?,
            _ => self.operator()?,
        }
        Ok(())
    }

    fn number(&mut self) {
        let start = self.at;
        let radix = self.byte(start) == b'0' && matches!(self.byte(start + 1), b'x' | b'X' | b'b' | b'B' | b'o' | b'O');
        loop {
            let b = self.byte(self.at);
            let sign =
                matches!(b, b'+' | b'-') && !radix && matches!(self.byte(self.at - 1), b'e' | b'E') && self.at > start;
            if !(b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || sign) {
                break;
            }
            self.at += 1;
        }
        self.push(Kind::Number, start, self.at);
    }

    fn name(&mut self) -> Result<(), Diagnostic> {
        let start = self.at;
        while self.byte(self.at).is_ascii_alphanumeric() || self.byte(self.at) == b'_' || self.byte(self.at) >= 0x80 {
            self.at += 1;
        }
        let prefix = &self.text[start..self.at];
        let is_prefix = prefix.len() <= 2 && prefix.iter().all(|b| b"rRbBfFuU".contains(b));
        if is_prefix && matches!(self.byte(self.at), b'"' | b'\'') {
            return self.string(start);
        }
        self.push(Kind::Name, start, self.at);
        Ok(())
    }

    /// A string whose prefix, if it has one, has been passed.
    fn string(&mut self, start: usize) -> Result<(), Diagnostic> {
        let quote = self.byte(self.at);
        let triple = self.byte(self.at + 1) == quote && self.byte(self.at + 2) == quote;
        self.at += if triple { 3 } else { 1 };
        while self.at < self.end {
            let b = self.text[self.at];
            if b == b'\\' {
                self.at += 2;
            } else if b == quote && (!triple || (self.byte(self.at + 1) == quote && self.byte(self.at + 2) == quote)) {
                self.at += if triple { 3 } else { 1 };
                self.push(Kind::String, start, self.at);
                return Ok(());
            } else if b == b'\n' && !triple {
                break;
            } else {
                self.at += 1;
            }
        }
        self.fail(
            start,
            self.at.min(self.end),
            "this string is not closed",
            "close it with the same quotes that open it",
        )
    }

    fn operator(&mut self) -> Result<(), Diagnostic> {
        let start = self.at;
        let rest = &self.text[start..self.end];
        let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(op.as_bytes())) else {
            return self.fail(start, start + 1, "this character has no meaning in Python", "remove it");
        };
        match *op {
            "(" | "[" | "{" => self.open += 1,
            ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.at += op.len();
        self.push(Kind::Op, start, self.at);
        Ok(())
    }
}
