//! The definitions of a session as one text, and back: from places of that text to places of what was typed.

use crate::error::Error;
use girih_base::diag::Diagnostic;
use girih_base::span::{SourceId, Sources, Span};
use girih_bend::analysis::MAIN;

/// A text that somebody has typed or loaded.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// What it is called in errors.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A part of the text that was typed.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Where its head starts, which nobody has typed.
    head: usize,
    /// Where it starts itself, and where it ends.
    start: usize,
    end: usize,
    /// Which text it comes from, and from which byte on.
    origin: usize,
    offset: usize,
}

/// The text of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionText {
    text: String,
    segments: Vec<Segment>,
}

impl SessionText {
    /// The same with another part, which is the byte `offset` on of an origin.
    pub fn with(mut self, head: &str, part: &str, origin: usize, offset: usize) -> SessionText {
        let start = self.text.len() + head.len();
        self.segments.push(Segment { head: self.text.len(), start, end: start + part.len(), origin, offset });
        self.text.extend([head, part, "\n\n"]);
        self
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a byte of an origin stands, if it is a part of the text.
    pub fn place(&self, origin: usize, at: usize) -> Option<usize> {
        let segments = self.segments.iter().filter(|segment| segment.origin == origin);
        let places = segments.map(|segment| (segment, segment.start + at.saturating_sub(segment.offset)));
        let mut places = places.filter(|(segment, place)| *place <= segment.end && at >= segment.offset);
        places.next().map(|(_, place)| place)
    }

    /// An error about this text as one about what was typed.
    pub fn placed(&self, error: Error, origins: &[Origin]) -> Error {
        let mut sources = error.sources().clone();
        let mut known: Vec<Option<SourceId>> = vec![None; origins.len()];
        let mut diagnostics: Vec<Diagnostic> = error.diagnostics().to_vec();
        let mut place = |span: &mut Span| {
            if span.is_none() || span.source != MAIN {
                return;
            }
            let Some(segment) = self.segment(span.start as usize) else { return };
            let source = *known[segment.origin].get_or_insert_with(|| add(&mut sources, &origins[segment.origin]));
            let within = |byte: u32| segment.offset + (byte as usize).clamp(segment.start, segment.end) - segment.start;
            *span = Span::new(source, within(span.start), within(span.end));
        };
        for diagnostic in &mut diagnostics {
            diagnostic.labels.iter_mut().for_each(|label| place(&mut label.span));
            if let Some(fix) = &mut diagnostic.fix {
                place(&mut fix.span);
            }
        }
        Error::new(sources, diagnostics)
    }

    /// The part that a byte is in, or that it stands before or behind.
    fn segment(&self, byte: usize) -> Option<&Segment> {
        let behind = self.segments.partition_point(|segment| segment.head <= byte);
        self.segments.get(behind.saturating_sub(1))
    }
}

fn add(sources: &mut Sources, origin: &Origin) -> SourceId {
    sources.add(origin.name.clone(), origin.text.clone())
}
