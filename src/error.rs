//! The one error type of the library: diagnostics, each with a code, a message and often a place, and the sources
//! that these places are in.
//!
//! Invariant: an error contains at least one diagnostic of severity [`Severity::Error`], unless the code that made the error had none.

use crate::report::Report;
use girih_base::diag::{Code, Diagnostic, Errors, Severity, Style};
use girih_base::span::{Sources, Span};
use std::fmt;
use std::ops::Deref;

/// Why something could not be done.
///
/// `{}` says what is wrong in a line for each error; `{:#}`, `{:?}` and [`render`](Error::render) show it as the command line does, with
/// source lines and hints.
///
/// ```
/// use girih::{Code, Error, Options, Program};
///
/// let program = Program::from_text("half.bend", "def half(n: u24) -> f24:\n  return n / 2\n", &Options::library());
/// let error: Error = program.check().unwrap_err();
/// assert_eq!(error.code(), Some(Code::TypeMismatch));
/// assert!(error.to_string().starts_with("B0301: "));
/// assert!(format!("{error:#}").contains("half.bend:2:"));
/// ```
#[derive(Clone)]
pub struct Error {
    report: Box<Report>,
}

impl Error {
    /// An error about these sources.
    pub fn new(sources: Sources, diagnostics: Vec<Diagnostic>) -> Error {
        Error::from(Report { sources, diagnostics })
    }

    /// All that is said, warnings included, in the order of their places.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report.diagnostics
    }

    /// The sources that the diagnostics point into.
    pub fn sources(&self) -> &Sources {
        &self.report.sources
    }

    /// The code of the first error.
    pub fn code(&self) -> Option<Code> {
        self.first().map(|error| error.code)
    }

    /// The sentence of the first error.
    pub fn message(&self) -> &str {
        self.first().map_or("", |error| &error.message)
    }

    /// What can be done about the first error, if that is known.
    pub fn hint(&self) -> Option<&str> {
        self.first()?.hint.as_deref()
    }

    /// The place of the first error, if it has one.
    pub fn span(&self) -> Option<Span> {
        self.first().map(Diagnostic::span).filter(|span| !span.is_none())
    }

    /// All of it as the command line shows it: source lines with the places underlined, hints.
    pub fn render(&self, style: Style) -> String {
        self.report.render(style)
    }

    /// The same as a report.
    pub fn into_report(self) -> Report {
        *self.report
    }

    fn first(&self) -> Option<&Diagnostic> {
        let diagnostics = self.diagnostics();
        diagnostics.iter().find(|d| d.severity == Severity::Error).or(diagnostics.first())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.write_str(self.render(Style::Plain).trim_end());
        }
        let errors = || self.diagnostics().iter().filter(|d| d.severity == Severity::Error);
        for (number, error) in errors().enumerate() {
            write!(f, "{}{}: {}", if number == 0 { "" } else { "\n" }, error.code, error.message)?;
        }
        Ok(())
    }
}

/// As for people: `expect` and `?` in `main` show what is wrong and not how it is stored.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self:#}")
    }
}

impl std::error::Error for Error {}

/// An error is a report of what went wrong.
impl Deref for Error {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.report
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Error {
        Error { report: Box::new(report) }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error::from(vec![diagnostic])
    }
}

impl From<Errors> for Error {
    fn from(errors: Errors) -> Error {
        Error::from(Vec::from(errors))
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(diagnostics: Vec<Diagnostic>) -> Error {
        Error::new(Sources::default(), diagnostics)
    }
}

impl From<Error> for Report {
    fn from(error: Error) -> Report {
        error.into_report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong() -> Error {
        let mut sources = Sources::default();
        let source = sources.add("a.bend", "one two\n");
        let warning = Diagnostic::new(Code::UnusedDefinition, Span::NONE, "nobody needs it");
        let error =
            Diagnostic::new(Code::UnboundName, Span::new(source, 4, 7), "`two` is not defined").hint("define it");
        Error::new(sources, vec![warning, error])
    }

    #[test]
    fn it_goes_wherever_errors_go() {
        fn goes<E: std::error::Error + Send + Sync + 'static>(error: E) -> Box<dyn std::error::Error + Send + Sync> {
            error.into()
        }
        assert_eq!(goes(wrong()).to_string(), "B0201: `two` is not defined");
    }

    #[test]
    fn the_first_error_speaks_for_all() {
        let error = wrong();
        assert_eq!((error.code(), error.message()), (Some(Code::UnboundName), "`two` is not defined"));
        assert_eq!(error.span().map(|span| error.sources().snippet(span).to_owned()), Some("two".to_owned()));
        let shown = format!("{error:#}");
        assert!(
            shown.contains("one two") && shown.contains("define it") && shown.contains("nobody needs it"),
            "{shown}"
        );
        assert_eq!(format!("{error:?}"), format!("\n{shown}"));
    }
}
