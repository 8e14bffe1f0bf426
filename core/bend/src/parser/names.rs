//! Names and what is not allowed in them.

use super::{Parsed, Parser};
use crate::ast::{Ident, Node};
use girih_base::diag::Code;
use girih_base::name::Name;

impl Parser<'_, '_> {
    /// A name of anything but a variable. `what` says of what, for example "a type name".
    pub(super) fn name(&mut self, what: &str) -> Parsed<Ident> {
        self.skip();
        let start = self.cursor.at();
        let word = self.cursor.word();
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.cursor.advance(word.len());
        let span = self.cursor.span_from(start);
        if word.contains("__") {
            return Err(self.error_with_hint(
                Code::BadName,
                span,
                format!("`{word}` contains `__`, which is reserved for names that the compiler makes"),
                "use a single `_`",
            ));
        }
        if word.starts_with("//") || (word.starts_with("--") && word.bytes().all(|b| b == b'-')) {
            return Err(self.error_with_hint(
                Code::BadName,
                span,
                format!("`{word}` is not a name"),
                "a comment starts with `#`; a name starts with a letter, `_`, `.` or one `/`",
            ));
        }
        Ok(Node::new(Name::new(word), span))
    }

    /// The name of a variable where it is bound. One that starts like a number could never be used.
    pub(super) fn variable(&mut self, what: &str) -> Parsed<Ident> {
        let name = self.name(what)?;
        if name.node.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Err(self.error_with_hint(
                Code::BadName,
                name.span,
                format!("expected {what}, found `{}`", name.node),
                "the name of a variable does not start with a digit or a sign, because it would be read as a number",
            ));
        }
        Ok(name)
    }
}
