//! Where things stand in the sources: byte ranges of files that have been loaded.
//!
//! A [`Span`] is valid for the [`Sources`] that issued its [`SourceId`]; nothing else in the crate keeps source text.

use crate::idx::IndexVec;
use crate::index_type;
use std::ops::Range;
use std::sync::OnceLock;

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
    /// Where each line starts; found when it is first asked for.
    lines: OnceLock<Vec<usize>>,
}

impl Source {
    fn new(name: String, text: String) -> Source {
        Source { name, text, lines: OnceLock::new() }
    }

    /// The first byte of each line. A text has one line more than line ends.
    fn lines(&self) -> &[usize] {
        let ends = || self.text.match_indices('\n').map(|(end, _)| end + 1);
        self.lines.get_or_init(|| std::iter::once(0).chain(ends()).collect())
    }

    /// The line of a byte, counted from 0. What stands behind the text is in the last line.
    pub fn line_of(&self, byte: usize) -> usize {
        self.lines().partition_point(|start| *start <= byte) - 1
    }

    /// The bytes of a line, its end included; none if there are fewer lines.
    pub fn line(&self, number: usize) -> Option<Range<usize>> {
        let lines = self.lines();
        let start = *lines.get(number)?;
        Some(start..lines.get(number + 1).copied().unwrap_or(self.text.len()))
    }
}

/// All files of a program, in the order in which they were loaded.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: IndexVec<SourceId, Source>,
}

impl Sources {
    /// Adds a file. Files of 4 GiB or more cannot be addressed; the loader refuses them.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.files.push(Source::new(name.into(), text.into()))
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
        let byte = (byte as usize).min(file.text.len());
        let line = file.line_of(byte);
        let start = file.line(line).map_or(0, |line| line.start);
        (line + 1, file.text.get(start..byte).map_or(0, |before| before.chars().count()) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_the_end_has_a_place() {
        let mut sources = Sources::default();
        let id = sources.add("a", "x\näb\n");
        let places: Vec<(usize, usize)> = [0, 1, 2, 4, 5, 6, 99].map(|byte| sources.line_column(id, byte)).to_vec();
        assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 1)]);
        let source = &sources.files[id];
        assert_eq!([0, 1, 2, 3].map(|line| source.line(line)), [Some(0..2), Some(2..6), Some(6..6), None]);
    }
}
