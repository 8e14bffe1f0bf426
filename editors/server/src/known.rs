//! What is known about a document, kept until the document or a file that it depends on changes.

use crate::documents::{Document, Documents, Language};
use crate::files::{Buffers, source_name};
use crate::positions::Lines;
use girih::devices::Profile;
use girih::kernels::Kernels;
use girih::nets::Nets;
use girih::{Code, Error, Options, Report, WarningLevels};
use girih_base::span::{SourceId, Sources, Span};
use girih_bend::analysis::{Analysis, MAIN, analyze};
use lsp_types::{Position, Range, Url};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The device for which kernels of the IR are looked at, as `girih check` does unless it is told otherwise.
const CAPS: &str = "sm_90";

/// What is known about a document.
#[derive(Debug)]
pub struct Known {
    /// What was found out about a Bend program; empty but for sources and diagnostics where the document is something else.
    pub analysis: Analysis,
    lines: Vec<Lines>,
    /// Whether a file was looked for that does not exist, so that any other file may matter.
    misses_files: bool,
}

impl Known {
    fn new(analysis: Analysis) -> Known {
        let lines = analysis.sources.iter().map(|source| Lines::new(&source.text)).collect();
        let missing = [Code::ImportNotFound, Code::ImportMissingName, Code::CannotRead];
        let misses_files = analysis.diagnostics.iter().any(|d| missing.contains(&d.code));
        Known { analysis, lines, misses_files }
    }

    /// The lines and columns of a place.
    pub fn range(&self, span: Span) -> Range {
        match (self.analysis.sources.get(span.source), self.lines.get(span.source.index())) {
            (Some(source), Some(lines)) => lines.range(&source.text, span.start as usize, span.end as usize),
            _none => Range::default(),
        }
    }

    /// The byte at a line and column of a source.
    pub fn byte(&self, source: SourceId, position: Position) -> usize {
        match (self.analysis.sources.get(source), self.lines.get(source.index())) {
            (Some(source), Some(lines)) => lines.byte(&source.text, position),
            _none => 0,
        }
    }

    /// The source of this name.
    pub fn source_named(&self, name: &str) -> Option<SourceId> {
        let at = self.analysis.sources.iter().position(|source| source.name == name)?;
        Some(SourceId::new(at as u32))
    }
}

/// What is known about all documents.
#[derive(Debug, Default)]
pub struct Knowledge {
    known: BTreeMap<Url, Rc<Known>>,
}

/// The options of `girih check`: a file that others import has no entry point, and nothing is wrong with that.
pub fn options() -> Options {
    let mut warnings = WarningLevels::default();
    warnings.set(Code::MissingMain, None);
    Options { warnings, ..Options::default() }
}

impl Knowledge {
    /// What is known about a document, found out if need be; none if there is no such document.
    pub fn of(&mut self, documents: &Documents, url: &Url) -> Option<Rc<Known>> {
        if let Some(known) = self.known.get(url) {
            return Some(Rc::clone(known));
        }
        let known = Rc::new(match documents.get(url) {
            Some(document) if document.language != Language::Bend => Known::new(not_bend(url, document)),
            _bend => Known::new(analyze(&Buffers::new(documents, url)?, &options(), None)),
        });
        self.known.insert(url.clone(), Rc::clone(&known));
        Some(known)
    }

    /// Forgets what may be different now that a document has changed, and returns of which documents that is so.
    pub fn forget(&mut self, changed: &Url) -> Vec<Url> {
        let name = source_name(changed);
        let depends =
            |url: &Url, known: &Known| url == changed || known.misses_files || known.source_named(&name).is_some();
        let stale: Vec<Url> =
            self.known.iter().filter(|(url, known)| depends(url, known)).map(|(url, _)| url.clone()).collect();
        stale.iter().for_each(|url| _ = self.known.remove(url));
        stale
    }

    /// Forgets everything: files have changed that no editor has open.
    pub fn clear(&mut self) {
        self.known.clear();
    }
}

/// What `girih check` says about kernels or a net.
fn not_bend(url: &Url, document: &Document) -> Analysis {
    let name = source_name(url);
    let report = match document.language {
        Language::Ir => kernels(&name, &document.text).unwrap_or_else(Error::into_report),
        Language::Net | Language::Bend => {
            Nets::from_text(&name, &document.text).err().map(Error::into_report).unwrap_or_default()
        }
    };
    let mut sources = report.sources;
    // A report without anything to say may have no sources.
    if sources.get(MAIN).is_none() {
        sources = Sources::default();
        sources.add(name, document.text.clone());
    }
    Analysis::of_diagnostics(sources, report.diagnostics)
}

fn kernels(name: &str, text: &str) -> Result<Report, Error> {
    let kernels = Kernels::from_text(name, text)?;
    let caps = Profile::parse(CAPS)?.caps();
    let mut report = Report { sources: kernels.sources.clone(), ..Report::default() };
    for id in kernels.module.kernels() {
        // What that device lacks is no mistake of a kernel, which may be for another one.
        let notes = kernels.notes(Some(&kernels.module.functions[id].name), &caps);
        report.diagnostics.extend(notes.into_iter().flat_map(|notes| notes.diagnostics));
    }
    Ok(report)
}
