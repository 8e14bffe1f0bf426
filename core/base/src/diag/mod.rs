//! Everything that can be said about a program: errors and warnings with a code, places in the sources and a hint.
//!
//! The table of codes is [`codes`]; [`render()`] draws a diagnostic for people. A diagnostic holds one plain sentence
//! (no code, no full stop at its end), labels that say what is at each place, and a hint that says what to do.

mod codes;
mod errors;
mod excerpt;
mod render;
mod suggest;

pub use codes::{Code, Stage};
pub use errors::Errors;
pub use render::{Style, render};
pub use suggest::did_you_mean;

use crate::span::Span;
use std::collections::HashSet;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is fine, something in it is probably not meant.
    Warning,
    /// The program cannot be run, or has failed.
    Error,
}

/// A place and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be said about it; may be empty.
    pub text: String,
}

/// A replacement of text that does what a hint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which row of the table it is.
    pub code: Code,
    /// The row's severity, unless `-W`, `-D` or `-A` said otherwise.
    pub severity: Severity,
    /// One plain sentence.
    pub message: String,
    /// Where: the first label is the place to blame, the others explain. Empty if there is no place.
    pub labels: Vec<Label>,
    /// What the user can do.
    pub hint: Option<String>,
    /// The hint as a change of the text, where it says exactly what to write. In a box, since parsers hand diagnostics through deep recursions.
    pub fix: Option<Box<Fix>>,
}

impl Diagnostic {
    /// A diagnostic about one place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        let labels = if span.is_none() { vec![] } else { vec![Label { span, text: String::new() }] };
        Diagnostic { code, severity: code.severity(), message: message.into(), labels, hint: None, fix: None }
    }

    /// Says something at the place to blame.
    pub fn at(mut self, text: impl Into<String>) -> Diagnostic {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Points at another place that explains the error.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        if !span.is_none() {
            self.labels.push(Label { span, text: text.into() });
        }
        self
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// Says what to write instead of the text at `span`, as the hint does.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.fix = Some(Box::new(Fix { span, text: text.into() }));
        self
    }

    /// The place to blame.
    pub fn span(&self) -> Span {
        self.labels.first().map_or(Span::NONE, |l| l.span)
    }
}

/// What `-W`, `-D` and `-A` say about each warning.
#[derive(Clone, Debug, Default)]
pub struct WarningLevels {
    set: Vec<(Code, Option<Severity>)>,
}

impl WarningLevels {
    /// Shows a warning (`Some(Warning)`), makes it an error (`Some(Error)`) or hides it (`None`). The last word counts.
    pub fn set(&mut self, code: Code, level: Option<Severity>) {
        self.set.push((code, level));
    }

    /// The level of `code`: what was set last, else the table's severity.
    pub fn level(&self, code: Code) -> Option<Severity> {
        match self.set.iter().rev().find(|(c, _)| *c == code) {
            Some((_, level)) => *level,
            None => Some(code.severity()),
        }
    }
}

/// The diagnostics of one compilation, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    levels: WarningLevels,
    found: Vec<Diagnostic>,
    /// What was said of each place.
    said: HashSet<(Code, Span, String)>,
    errors: usize,
}

impl Diagnostics {
    /// No diagnostics yet; warnings will be shown as `levels` says.
    pub fn new(levels: WarningLevels) -> Diagnostics {
        Diagnostics { levels, ..Diagnostics::default() }
    }

    /// Adds one. A hidden warning is dropped; a second error at the very same place with the same code is a cascade
    /// and is dropped too.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.code.warning_name().is_some() {
            match self.levels.level(diagnostic.code) {
                Some(level) => diagnostic.severity = level,
                None => return,
            }
        }
        if self.said.insert((diagnostic.code, diagnostic.span(), diagnostic.message.clone())) {
            self.errors += usize::from(diagnostic.severity == Severity::Error);
            self.found.push(diagnostic);
        }
    }

    /// Adds all of them.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for d in diagnostics {
            self.push(d);
        }
    }

    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All of them, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.found.iter()
    }

    /// All of them, sorted by place (file, then byte), those without a place last.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| d.span());
        self.found
    }
}
