//! The place in the tokens of one file, and what has been found wrong so far.
//!
//! Invariant: an `Err(Reported)` is only made where a diagnostic has been written, so that nothing fails without being said.

use crate::text::lexer::{Kind, Token};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::plural;
use girih_base::span::{SourceId, Span};

/// That a diagnostic has been written.
#[derive(Debug)]
pub struct Reported(());

/// A result whose error has been said already.
pub type Parse<T> = Result<T, Reported>;

/// After so many errors the rest of the text is not read: it is no IR, or the first ones have to be seen to first.
const MOST_ERRORS: usize = 64;

/// `no values`, `1 value`, `2 values`.
pub fn counted(n: usize, thing: &str) -> String {
    if n == 0 { format!("no {thing}s") } else { plural::counted(n, thing) }
}

/// What a statement that goes on too long is told that it should have come to.
pub const END_OF_LINE: &str = "the end of the line";

/// How deep regions and operands in parentheses may be nested.
pub const DEPTH: u32 = 128;

/// A place in the tokens.
#[derive(Debug)]
pub struct Cursor<'a> {
    source: SourceId,
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    end: usize,
    whole: &'static str,
    depth: u32,
    /// What is wrong, in the order in which it was found.
    pub errors: Vec<Diagnostic>,
}

impl<'a> Cursor<'a> {
    /// The first of some tokens, the last of which is [`Kind::End`]. `whole` says what they are: "text".
    pub fn new(source: SourceId, text: &'a str, tokens: &'a [Token], whole: &'static str) -> Cursor<'a> {
        Cursor { source, text, tokens, at: 0, end: tokens.len() - 1, whole, depth: 0, errors: vec![] }
    }

    /// The position among the tokens.
    pub fn position(&self) -> usize {
        self.at
    }
    /// Goes to a position; tokens from `end` on are not seen until the next call.
    pub fn restrict(&mut self, at: usize, end: usize) {
        (self.at, self.end) = (at, end.min(self.tokens.len() - 1));
    }
    /// The position behind the last token.
    pub fn all(&self) -> usize {
        self.tokens.len() - 1
    }

    /// The next token.
    pub fn peek(&self) -> Token {
        self.peek_at(0)
    }
    /// The token after so many others.
    pub fn peek_at(&self, ahead: usize) -> Token {
        let at = (self.at + ahead).min(self.end);
        let token = self.tokens[at];
        if at < self.end { token } else { Token { kind: Kind::End, first: true, end: token.start, ..token } }
    }
    /// The next token, which is taken.
    pub fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.end);
        token
    }
    /// Whether the next token is this sign.
    pub fn at_sign(&self, sign: u8) -> bool {
        self.peek().kind == Kind::Sign(sign)
    }
    /// Whether the next token is this word.
    pub fn at_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Word && self.slice(token) == word
    }
    /// Whether the next token stands on the same line.
    pub fn on_line(&self) -> bool {
        !self.peek().first
    }
    /// Takes this sign if it comes next.
    pub fn eat(&mut self, sign: u8) -> bool {
        let found = self.at_sign(sign);
        if found {
            self.next();
        }
        found
    }
    /// Takes this word if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.next();
        }
        found
    }

    /// The text of a token.
    pub fn slice(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }
    /// The place of a token.
    pub fn span(&self, token: Token) -> Span {
        Span { source: self.source, start: token.start, end: token.end }
    }
    /// From a token to the end of the last one that was taken.
    pub fn span_since(&self, start: Token) -> Span {
        let end = self.tokens[self.at.saturating_sub(1)].end.max(start.end);
        Span { source: self.source, start: start.start, end }
    }

    /// The place of the last token that was taken.
    pub fn span_before(&self) -> Span {
        self.span(self.tokens[self.at.saturating_sub(1)])
    }

    /// Takes a sign, or says that it is missing. `after` says where: "after the condition".
    pub fn expect(&mut self, sign: u8, after: &str) -> Parse<Token> {
        if self.at_sign(sign) {
            return Ok(self.next());
        }
        self.unexpected(&format!("`{}` {after}", sign as char))
    }
    /// Takes a word that may be anything.
    pub fn word(&mut self, what: &str) -> Parse<(&'a str, Span)> {
        let token = self.peek();
        if token.kind != Kind::Word {
            return self.unexpected(what);
        }
        self.next();
        Ok((self.slice(token), self.span(token)))
    }
    /// Takes a number without a sign that fits 32 bits.
    pub fn count(&mut self, what: &str) -> Parse<u32> {
        let (n, span) = self.count64(what)?;
        match u32::try_from(n) {
            Ok(n) => Ok(n),
            Err(_) => self.fail(Code::IrLiteral, span, format!("`{n}` is too large here"), ""),
        }
    }
    /// Takes a number without a sign that fits 64 bits.
    pub fn count64(&mut self, what: &str) -> Parse<(u64, Span)> {
        let token = self.peek();
        if token.kind != Kind::Number {
            return self.unexpected(what);
        }
        self.next();
        match crate::text::literal::count(self.slice(token)) {
            Ok(n) => Ok((n, self.span(token))),
            Err(misfit) => self.fail(Code::IrLiteral, self.span(token), misfit.message, ""),
        }
    }
    /// Takes the name of a value or function, without `%` or `@`, as it is written.
    pub fn name(&mut self, kind: Kind, what: &str) -> Parse<(&'a str, Span)> {
        let token = self.peek();
        if token.kind != kind {
            return self.unexpected(what);
        }
        self.next();
        Ok((&self.slice(token)[1..], self.span(token)))
    }
    /// Reads `item {"," item}`.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(b',') {
            items.push(item(self)?);
        }
        Ok(items)
    }
    /// Takes one of some words.
    pub fn one_of<T: Copy>(&mut self, words: &[(&str, T)], what: &str) -> Parse<T> {
        let (name, span) = self.word(what)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == name) {
            return Ok(*value);
        }
        let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        self.fail(Code::IrSyntax, span, format!("`{name}` is not {what}"), &format!("it can be {}", names.join(", ")))
    }

    /// Writes a diagnostic.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.errors.push(diagnostic);
        if self.errors.len() >= MOST_ERRORS {
            self.at = self.end;
        }
        Reported(())
    }
    /// What follows from something that is wrong and has been said: an error for which nothing new is written.
    pub fn reported(&mut self) -> Reported {
        debug_assert!(!self.errors.is_empty(), "something has been said");
        Reported(())
    }
    /// Whether so much is wrong that the rest is not read.
    pub fn gave_up(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }
    /// Writes an error with a hint, or without one if that is empty.
    pub fn fail<T>(&mut self, code: Code, span: Span, message: impl Into<String>, hint: &str) -> Parse<T> {
        let mut diagnostic = Diagnostic::new(code, span, message);
        if !hint.is_empty() {
            diagnostic = diagnostic.hint(hint);
        }
        Err(self.report(diagnostic))
    }
    /// Says that something unknown is named, and what may have been meant.
    pub fn unknown<'n, T>(
        &mut self,
        code: Code,
        span: Span,
        message: String,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
        prefix: &str,
    ) -> Parse<T> {
        let hint = did_you_mean(name, known).map_or(String::new(), |n| format!("did you mean `{prefix}{n}`?"));
        self.fail(code, span, message, &hint)
    }
    /// Says what was expected instead of the next token.
    pub fn unexpected<T>(&mut self, expected: &str) -> Parse<T> {
        let error = self.instead_of(expected);
        Err(self.report(error))
    }

    /// The error that the next token is not what was expected.
    pub fn instead_of(&self, expected: &str) -> Diagnostic {
        let token = self.peek();
        let found = match token.kind {
            Kind::End if self.end == self.all() => format!("the end of the {}", self.whole),
            Kind::End => "the end of the function".to_string(),
            _ => format!("`{}`", self.slice(token)),
        };
        let error = Diagnostic::new(Code::IrSyntax, self.span(token), format!("expected {expected}, found {found}"));
        if token.kind == Kind::Unclosed {
            return error.hint("close the quotes on the same line");
        }
        let may_be_comment = token.first || expected == END_OF_LINE;
        if may_be_comment && self.at_foreign_comment() { error.hint("a comment starts with `;`") } else { error }
    }

    /// Whether a comment comes next as other languages write it.
    fn at_foreign_comment(&self) -> bool {
        let (token, next) = (self.peek(), self.peek_at(1));
        let twice = self.slice(next) == "/" && next.start == token.end;
        match self.slice(token) {
            "#" => true,
            "/" => twice,
            _ => false,
        }
    }

    /// Does something one level deeper, if that is allowed.
    pub fn deeper(&mut self) -> Parse<()> {
        if self.depth == DEPTH {
            let span = self.span(self.peek());
            let hint = "give inner values a name, and move inner regions to functions of their own";
            return self.fail(Code::TooDeep, span, "this is nested too deeply", hint);
        }
        self.depth += 1;
        Ok(())
    }
    /// Back from one level deeper.
    pub fn shallower(&mut self) {
        self.depth -= 1;
    }

    /// Goes to where the next statement of the current region may start: the first token of a line, or the `}` that ends the region.
    /// `start` is the position where the broken statement starts. Braces that open on the way are closed on the way.
    pub fn skip_statement(&mut self, start: usize) {
        let mut open = 0usize;
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return,
                Kind::Sign(b'}') if open == 0 => return,
                _ if open == 0 && token.first && self.at > start => return,
                Kind::Sign(b'}') => open -= 1,
                Kind::Sign(b'{') => open += 1,
                _ => {}
            }
            self.next();
        }
    }
}
