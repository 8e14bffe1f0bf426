//! What is said when something else should stand at the cursor: what was found, what may stand there, and a hint where
//! the mistake has a usual reason.

use super::habits::exact;
use super::{Failed, Parser};
use girih_base::diag::{Code, Diagnostic};
use girih_base::lexer::{COMMENT_END, is_name_char};
use girih_base::span::Span;

impl Parser<'_, '_> {
    /// The error that something else than `what` comes next.
    pub(super) fn expected(&mut self, what: &str) -> Failed {
        let diagnostic = self.expectation(what);
        self.fail(diagnostic)
    }

    /// Like [`expected`](Parser::expected), with a hint for this place.
    pub(super) fn expected_with_hint(&mut self, what: &str, hint: &str) -> Failed {
        let diagnostic = self.expectation(what).hint(hint);
        self.fail(diagnostic)
    }

    /// The error that a bracket is not closed where it could be. `otherwise` could have stood there too.
    pub(super) fn unclosed(&mut self, otherwise: &str) -> Failed {
        self.unclosed_with_hint(otherwise, None)
    }

    fn unclosed_with_hint(&mut self, otherwise: &str, hint: Option<String>) -> Failed {
        let Some(bracket) = self.brackets.last().copied() else { return self.expected(otherwise) };
        let or = if otherwise.is_empty() { "" } else { " or " };
        let mut diagnostic = self.expectation(&format!("{otherwise}{or}`{}`", bracket.close));
        if diagnostic.labels.len() == 1 {
            diagnostic = diagnostic.label(bracket.opened, "to close this");
        }
        if bracket.close == ")" && self.cursor.at_keyword("for") {
            diagnostic = diagnostic.hint("a list of this kind stands in brackets: `[x + 1 for x in xs]`");
        }
        if let Some(hint) = hint {
            diagnostic = diagnostic.hint(hint);
        }
        self.fail(diagnostic)
    }

    /// The error that no comma stands behind an element.
    pub(super) fn unseparated(&mut self) -> Failed {
        let hint = self.missing_comma();
        self.unclosed_with_hint("`,`", hint)
    }

    /// The error at a place that is known.
    pub(super) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> Failed {
        self.fail(Diagnostic::new(code, span, message))
    }

    /// The error at a place that is known, with a hint.
    pub(super) fn error_with_hint(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Failed {
        self.fail(Diagnostic::new(code, span, message).hint(hint))
    }

    pub(super) fn expectation(&mut self, what: &str) -> Diagnostic {
        self.skip();
        if self.cursor.is_at_end()
            && let Some(comment) = self.open_comment()
        {
            return comment;
        }
        let (span, found) = self.found();
        let mut diagnostic = Diagnostic::new(Code::UnexpectedText, span, format!("expected {what}, found {found}"));
        let ended = self.cursor.is_at_end()
            || self.cursor.line_start() == self.cursor.at()
            || self.cursor.starts_with("=")
            || self.cursor.starts_with(":")
            || self.brackets.last().is_some_and(|bracket| self.at_other_close(bracket.close));
        if let Some(bracket) = self.brackets.last().filter(|_| ended) {
            diagnostic = diagnostic.label(bracket.opened, "this is still open");
        }
        if let Some((code, comment, hint)) = self.misread_comment() {
            return Diagnostic { code, ..diagnostic.label(comment, "this is a comment").hint(hint) };
        }
        match self.habit() {
            Some((symbol, hint)) => {
                let diagnostic = diagnostic.hint(hint);
                match exact(hint).filter(|_| !symbol.is_empty()) {
                    Some(replacement) => {
                        let start = self.cursor.at();
                        diagnostic.fix(self.cursor.span(start, start + symbol.len()), replacement)
                    }
                    None => diagnostic,
                }
            }
            None => diagnostic,
        }
    }

    fn at_other_close(&self, close: &str) -> bool {
        [")", "]", "}"].into_iter().any(|other| other != close && self.cursor.starts_with(other))
    }

    /// A comment behind the last token that was probably meant as a tag or a natural number.
    fn misread_comment(&self) -> Option<(Code, Span, &'static str)> {
        let skipped = self.cursor.skipped();
        let before = skipped.find('#')?;
        let comment = skipped[before..].lines().next().unwrap_or_default();
        let word = comment[1..].split([' ', ')', '(', '{', '[', ']', ',']).next().unwrap_or_default();
        let behind = comment[1 + word.len()..].trim_start();
        let (code, hint) = if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) {
            (Code::UnexpectedText, "`#` starts a comment; a natural number is written with `Nat/Succ` and `Nat/Zero`")
        } else if word.bytes().all(|b| b.is_ascii_alphanumeric()) && behind.starts_with(['{', '(', 'λ', '@']) {
            (
                Code::TaggedTerm,
                "`#` starts a comment; tags of an earlier Bend are gone, and all superpositions share one label",
            )
        } else {
            return None;
        };
        let start = self.cursor.at() - skipped.len() + before;
        Some((code, self.cursor.span(start, start + comment.len()), hint))
    }

    /// What comes next, in words, and its place.
    pub(super) fn found(&self) -> (Span, String) {
        let cursor = &self.cursor;
        let start = cursor.at();
        let behind = cursor.span_from(start - cursor.skipped().len());
        let Some(first) = cursor.peek() else { return (behind, "the end of the file".to_owned()) };
        if first == '\n' {
            return (behind, "the end of the line".to_owned());
        }
        let length = if let Some((symbol, _)) = self.foreign_symbol() {
            symbol.len()
        } else if is_name_char(first) && cursor.operator().is_none() {
            cursor.word().len()
        } else if let Some(operator) = cursor.operator() {
            operator.symbol().len()
        } else {
            first.len_utf8()
        };
        let token = &cursor.rest()[..length];
        let found = match first {
            '"' => "a string".to_owned(),
            '\'' => "a character".to_owned(),
            '`' => "a symbol".to_owned(),
            c if c.is_control() => format!("a control character (U+{:04X})", u32::from(c)),
            _ if length > 60 => "a long name".to_owned(),
            _ => format!("`{token}`"),
        };
        (cursor.span(start, start + length), found)
    }

    fn open_comment(&self) -> Option<Diagnostic> {
        let start = self.cursor.open_comment()?;
        let span = self.cursor.span(start, start + "#{".len());
        let hint = format!("a comment that starts with `#{{` ends with `{COMMENT_END}`");
        Some(Diagnostic::new(Code::UnexpectedText, span, "this comment is never closed").hint(hint))
    }

    /// Reports the comment in which the text ends, if there is one.
    pub(super) fn report_open_comment(&mut self) {
        if let Some(diagnostic) = self.open_comment() {
            self.diags.push(diagnostic);
        }
    }
}
