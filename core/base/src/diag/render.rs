//! Draws diagnostics for people: code and sentence, the source lines with their spans underlined, the hint.

use super::excerpt::{Excerpts, excerpts};
use super::{Diagnostic, Label, Severity};
use crate::span::{Source, SourceId, Sources};
use codespan_reporting::diagnostic as cs;
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term;
use std::ops::Range;

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
    let labels: Vec<&Label> =
        diagnostic.labels.iter().filter(|label| sources.get(label.span.source).is_some()).collect();
    let (excerpts, places) = match excerpts(&labels, sources) {
        Some((excerpts, places)) => (excerpts, places),
        None => {
            let whole = labels.iter().map(|label| label.span.start as usize..label.span.end as usize);
            (Excerpts::new(), whole.collect())
        }
    };
    let drawn_labels = labels.iter().zip(places).enumerate().map(|(i, (label, place))| {
        let style = if i == 0 { cs::LabelStyle::Primary } else { cs::LabelStyle::Secondary };
        cs::Label::new(style, label.span.source, place).with_message(&label.text)
    });
    let notes = diagnostic.hint.iter().map(|h| format!("hint: {h}")).collect();
    let drawn = cs::Diagnostic::new(severity)
        .with_code(diagnostic.code.as_str())
        .with_message(&diagnostic.message)
        .with_labels(drawn_labels.collect())
        .with_notes(notes);
    emit(&drawn, &Lookup { sources, excerpts }, style)
        .unwrap_or_else(|_| format!("{}: {}\n", diagnostic.code, diagnostic.message))
}

fn emit(drawn: &cs::Diagnostic<SourceId>, files: &Lookup<'_>, style: Style) -> Result<String, Error> {
    let config = term::Config::default();
    match style {
        Style::Plain => {
            let mut out = String::new();
            term::emit_to_string(&mut out, &config, files, drawn)?;
            Ok(out)
        }
        Style::Coloured => {
            let mut out = term::termcolor::Ansi::new(Vec::new());
            term::emit_to_write_style(&mut out, &config, files, drawn)?;
            Ok(String::from_utf8_lossy(&out.into_inner()).into_owned())
        }
    }
}

/// [`Sources`] as the drawing library wants to see them, or excerpts of them.
struct Lookup<'a> {
    sources: &'a Sources,
    excerpts: Excerpts,
}

impl<'a> Lookup<'a> {
    fn file(&'a self, id: SourceId) -> Result<&'a Source, Error> {
        self.sources.get(id).ok_or(Error::FileMissing)
    }
}

impl<'a> Files<'a> for Lookup<'a> {
    type FileId = SourceId;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: SourceId) -> Result<&'a str, Error> {
        Ok(&self.file(id)?.name)
    }

    fn source(&'a self, id: SourceId) -> Result<&'a str, Error> {
        match self.excerpts.get(&id) {
            Some(excerpt) => Ok(&excerpt.text),
            None => Ok(&self.file(id)?.text),
        }
    }

    fn line_index(&'a self, id: SourceId, byte: usize) -> Result<usize, Error> {
        match self.excerpts.get(&id) {
            Some(excerpt) => Ok(excerpt.line_of(byte)),
            None => Ok(self.file(id)?.line_of(byte)),
        }
    }

    fn line_number(&'a self, id: SourceId, line: usize) -> Result<usize, Error> {
        Ok(self.excerpts.get(&id).and_then(|excerpt| excerpt.number(line)).unwrap_or(line) + 1)
    }

    fn line_range(&'a self, id: SourceId, line: usize) -> Result<Range<usize>, Error> {
        let source = self.file(id)?;
        let range = match self.excerpts.get(&id) {
            Some(excerpt) => excerpt.line(line),
            None => source.line(line),
        };
        range.ok_or_else(|| Error::LineTooLarge { given: line, max: source.line_of(source.text.len()) })
    }

    fn column_number(&'a self, id: SourceId, _line: usize, byte: usize) -> Result<usize, Error> {
        let origin = self.excerpts.get(&id).and_then(|excerpt| excerpt.origin(byte)).unwrap_or(byte);
        let origin = u32::try_from(origin).unwrap_or(u32::MAX); // Sources are smaller than 4 GiB.
        Ok(self.sources.line_column(id, origin).1)
    }
}
