//! A report of what is wrong with a program: the diagnostics, together with the sources that they point into.

use girih_base::diag::{Diagnostic, Severity, Style, render};
use girih_base::span::Sources;
use std::fmt;

/// Diagnostics and the sources that they point into. A report may have nothing to say, or warnings alone: what fails gives an [`Error`](crate::Error), which is a
/// report of it.
#[derive(Clone, Default)]
pub struct Report {
    /// The files.
    pub sources: Sources,
    /// Errors and warnings, sorted by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.count(Severity::Error)
    }

    /// How many warnings there are.
    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning)
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == severity).count()
    }

    /// All of it, drawn for people.
    pub fn render(&self, style: Style) -> String {
        self.diagnostics.iter().map(|d| render(d, &self.sources, style)).collect()
    }
}

/// The same as for people, so that `expect` shows what is wrong and not all the sources.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}
