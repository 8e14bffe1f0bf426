//! The text under construction: lines, each with the place in the source that it comes from.

use girih_base::span::Span;
use std::fmt::{Arguments, Write};

use super::registers::Reg;

/// A label of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(pub u32);

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "$L{}", self.0)
    }
}

/// Lines and where they come from.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
    /// One a line of `text`.
    spans: Vec<Span>,
    /// The place that new lines are said to come from.
    pub span: Option<Span>,
    /// A predicate under which new instructions run, and the value that it must have.
    pub guard: Option<(Reg, bool)>,
}

impl Text {
    /// Writes an instruction under the current guard.
    pub fn instruction(&mut self, instruction: Arguments<'_>) {
        self.text.push_str("  ");
        if let Some((predicate, wanted)) = self.guard {
            self.put(format_args!("@{}{predicate} ", if wanted { "" } else { "!" }));
        }
        self.put(instruction);
        self.end(";\n");
    }
    /// Writes a line as it is.
    pub fn line(&mut self, line: Arguments<'_>) {
        self.put(line);
        self.end("\n");
    }
    /// Writes a label. No guard holds there: what is guarded has no labels.
    pub fn label(&mut self, label: Label) {
        debug_assert!(self.guard.is_none(), "a label under a guard");
        self.line(format_args!("{label}:"));
    }
    /// Appends another text.
    pub fn append(&mut self, other: Text) {
        self.text.push_str(&other.text);
        self.spans.extend(other.spans);
    }
    /// The whole text, and the place of each line.
    pub fn finish(self) -> (String, Vec<Span>) {
        (self.text, self.spans)
    }

    fn put(&mut self, arguments: Arguments<'_>) {
        self.text.write_fmt(arguments).expect("writing to a string does not fail");
    }
    fn end(&mut self, end: &str) {
        self.text.push_str(end);
        self.spans.push(self.span.unwrap_or(Span::NONE));
    }
}
