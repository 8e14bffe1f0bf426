//! Draws diagnostics for people: code and sentence, the source lines with their spans underlined, the hint.

use super::{Diagnostic, Severity};
use crate::span::{SourceId, Sources};
use codespan_reporting::diagnostic as cs;
use codespan_reporting::files::{Error, Files, line_starts};
use codespan_reporting::term;

/// How a diagnostic is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// With ANSI colours.
    Coloured,
}

/// Draws one diagnostic, ending with an empty line.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, style: Style) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => cs::Severity::Error,
        Severity::Warning => cs::Severity::Warning,
    };
    let labels = diagnostic
        .labels
        .iter()
        .enumerate()
        .filter(|(_, label)| sources.get(label.span.source).is_some())
        .map(|(i, label)| {
            let style = if i == 0 { cs::LabelStyle::Primary } else { cs::LabelStyle::Secondary };
            cs::Label::new(style, label.span.source, label.span.start as usize..label.span.end as usize)
                .with_message(&label.text)
        })
        .collect();
    let notes = diagnostic.hint.iter().map(|h| format!("hint: {h}")).collect();
    let drawn = cs::Diagnostic::new(severity)
        .with_code(diagnostic.code.as_str())
        .with_message(&diagnostic.message)
        .with_labels(labels)
        .with_notes(notes);
    emit(&drawn, sources, style).unwrap_or_else(|_| format!("{}: {}\n", diagnostic.code, diagnostic.message))
}

fn emit(drawn: &cs::Diagnostic<SourceId>, sources: &Sources, style: Style) -> Result<String, Error> {
    let config = term::Config::default();
    match style {
        Style::Plain => {
            let mut out = String::new();
            term::emit_to_string(&mut out, &config, &Lookup(sources), drawn)?;
            Ok(out)
        }
        Style::Coloured => {
            let mut out = term::termcolor::Ansi::new(Vec::new());
            term::emit_to_write_style(&mut out, &config, &Lookup(sources), drawn)?;
            Ok(String::from_utf8_lossy(&out.into_inner()).into_owned())
        }
    }
}

/// [`Sources`] as the drawing library wants to see them.
struct Lookup<'a>(&'a Sources);

impl<'a> Files<'a> for Lookup<'a> {
    type FileId = SourceId;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: SourceId) -> Result<&'a str, Error> {
        Ok(&self.0.get(id).ok_or(Error::FileMissing)?.name)
    }

    fn source(&'a self, id: SourceId) -> Result<&'a str, Error> {
        Ok(&self.0.get(id).ok_or(Error::FileMissing)?.text)
    }

    fn line_index(&'a self, id: SourceId, byte: usize) -> Result<usize, Error> {
        let text = self.source(id)?;
        Ok(text.as_bytes()[..byte.min(text.len())].iter().filter(|b| **b == b'\n').count())
    }

    fn line_range(&'a self, id: SourceId, line: usize) -> Result<std::ops::Range<usize>, Error> {
        let text = self.source(id)?;
        let mut starts = line_starts(text).skip(line);
        let start = starts.next().ok_or(Error::LineTooLarge { given: line, max: text.lines().count() })?;
        Ok(start..starts.next().unwrap_or(text.len()))
    }
}
