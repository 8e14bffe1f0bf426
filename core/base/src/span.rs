//! Where things stand in the sources: byte ranges of files that have been loaded.
//!
//! A [`Span`] is valid for the [`Sources`] that issued its [`SourceId`]; nothing else in the crate keeps source text.

use crate::idx::IndexVec;
use crate::index_type;

index_type! {
    /// A source file among the loaded [`Sources`].
    pub struct SourceId;
}

/// A half-open byte range `start..end` of one source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of text that was made up by the compiler or by a test.
    pub const NONE: Span = Span { source: SourceId::new(u32::MAX), start: 0, end: 0 };

    /// A span of `source`, in bytes.
    pub fn new(source: SourceId, start: usize, end: usize) -> Span {
        Span { source, start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both. A span without a place is covered by any other.
    pub fn to(self, other: Span) -> Span {
        if self.is_none() {
            other
        } else if other.is_none() || other.source != self.source {
            self
        } else {
            Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
        }
    }

    /// Whether the span has no place in a source.
    pub fn is_none(self) -> bool {
        self.source == Span::NONE.source
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() { write!(f, "-") } else { write!(f, "{}:{}..{}", self.source.index(), self.start, self.end) }
    }
}

/// A loaded file.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name shown to people, usually the path as it was given.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// All files of a program, in the order in which they were loaded.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: IndexVec<SourceId, Source>,
}

impl Sources {
    /// Adds a file. Files of 4 GiB or more cannot be addressed; the loader refuses them.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.files.push(Source { name: name.into(), text: text.into() })
    }

    /// The file of `id`, if it has one.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.files.get(id)
    }

    /// All files, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    /// The text under a span; empty for a span without a place.
    pub fn snippet(&self, span: Span) -> &str {
        self.get(span.source).and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub fn line_column(&self, source: SourceId, byte: u32) -> (usize, usize) {
        let Some(file) = self.get(source) else { return (1, 1) };
        let before = file.text.get(..byte as usize).unwrap_or(&file.text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}
