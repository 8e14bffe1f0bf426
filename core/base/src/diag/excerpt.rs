//! The part of long lines that a diagnostic shows.
//!
//! A line can be as long as a file, and an error is drawn with the whole of its line. With many errors in one line, what is drawn would grow with the
//! square of the file, and nobody could read it. So of a long line only what stands around the labels is drawn, between `…`.

use super::Label;
use crate::span::{SourceId, Sources};
use std::collections::BTreeMap;
use std::ops::Range;

/// The longest line that is drawn whole, in bytes.
const LONG: usize = 400;

/// How much of a long line is drawn on each side of the labels, in bytes.
const AROUND: usize = 60;

/// What is drawn where a part of a line is left out.
const GAP: &str = "…";

/// A line of an excerpt.
struct Line {
    /// Its number in the file, from 0; none for an empty line that keeps two lines apart.
    number: Option<usize>,
    /// Where its text stands in the excerpt, the end of the line included.
    place: Range<usize>,
    /// Where what it shows begins in the excerpt, and in the file.
    shown: (usize, usize),
}

/// The lines of a file that labels stand in, long ones in part.
#[derive(Default)]
pub(super) struct Excerpt {
    pub(super) text: String,
    lines: Vec<Line>,
}

impl Excerpt {
    /// The line of a byte of the excerpt.
    pub(super) fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|line| line.place.start <= byte).saturating_sub(1)
    }

    /// The bytes of a line.
    pub(super) fn line(&self, index: usize) -> Option<Range<usize>> {
        self.lines.get(index).map(|line| line.place.clone())
    }

    /// The number of a line in the file, from 0.
    pub(super) fn number(&self, index: usize) -> Option<usize> {
        self.lines.get(index)?.number
    }

    /// The byte of the file that a byte of the excerpt shows.
    pub(super) fn origin(&self, byte: usize) -> Option<usize> {
        let (start, origin) = self.lines.get(self.line_of(byte))?.shown;
        Some(origin + byte.saturating_sub(start))
    }

    /// A range of bytes of line `number` of the file, in the excerpt; what is left out is cut off.
    fn place(&self, number: usize, range: Range<usize>) -> Option<Range<usize>> {
        let line = self.lines.iter().find(|line| line.number == Some(number))?;
        let (start, origin) = line.shown;
        let end = line.place.end - 1;
        let at = |byte: usize| (start + byte.saturating_sub(origin)).min(end);
        Some(at(range.start)..at(range.end))
    }

    fn push(&mut self, number: Option<usize>, text: &str, shown: Range<usize>, whole: &Range<usize>) {
        let start = self.text.len();
        self.text.push_str(if shown.start > whole.start { GAP } else { "" });
        let shows = (self.text.len(), shown.start);
        self.text.push_str(text.get(shown.clone()).unwrap_or_default().trim_end_matches(['\n', '\r']));
        self.text.push_str(if shown.end < whole.end { GAP } else { "" });
        self.text.push('\n');
        self.lines.push(Line { number, place: start..self.text.len(), shown: shows });
    }
}

/// The excerpts of files.
pub(super) type Excerpts = BTreeMap<SourceId, Excerpt>;

/// The excerpts of the files that labels stand in, and the places of the labels there; none if all lines are short, or a label has several lines.
pub(super) fn excerpts(labels: &[&Label], sources: &Sources) -> Option<(Excerpts, Vec<Range<usize>>)> {
    let mut wanted: BTreeMap<SourceId, BTreeMap<usize, Range<usize>>> = BTreeMap::new();
    let mut numbers = vec![];
    let mut is_long = false;
    for label in labels {
        let source = sources.get(label.span.source)?;
        let range = label.span.start as usize..label.span.end as usize;
        let number = source.line_of(range.start);
        if source.line_of(range.end.max(range.start)) != number {
            return None;
        }
        is_long |= source.line(number)?.len() > LONG;
        numbers.push(number);
        let line = wanted.entry(label.span.source).or_default().entry(number).or_insert(range.clone());
        *line = line.start.min(range.start)..line.end.max(range.end);
    }
    if !is_long {
        return None;
    }
    let mut excerpts = BTreeMap::new();
    for (id, lines) in wanted {
        let source = sources.get(id)?;
        let mut excerpt = Excerpt::default();
        let mut before: Option<usize> = None;
        for (number, labelled) in lines {
            if before.is_some_and(|before| before + 1 < number) {
                // Two lines between are drawn as a gap.
                (0..2).for_each(|_| excerpt.push(None, "", 0..0, &(0..0)));
            }
            before = Some(number);
            let whole = source.line(number)?;
            excerpt.push(Some(number), &source.text, part(&source.text, &whole, &labelled), &whole);
        }
        excerpts.insert(id, excerpt);
    }
    let place = |(label, number): (&&Label, usize)| {
        let range = label.span.start as usize..label.span.end as usize;
        excerpts.get(&label.span.source)?.place(number, range)
    };
    let places = labels.iter().zip(numbers).map(place).collect::<Option<Vec<_>>>()?;
    Some((excerpts, places))
}

/// What is drawn of a line: all of a short one, else what stands around the labels, up to the length that is drawn.
fn part(text: &str, line: &Range<usize>, labelled: &Range<usize>) -> Range<usize> {
    if line.len() <= LONG {
        return line.clone();
    }
    let start = line.start.max(labelled.start.saturating_sub(AROUND));
    let end = line.end.min(labelled.end + AROUND).min(start + LONG);
    boundary(text, start)..boundary(text, end)
}

/// The last start of a character that is not behind `byte`.
fn boundary(text: &str, byte: usize) -> usize {
    (0..=byte).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::diag::{Code, Diagnostic, Style, render};
    use crate::span::{Sources, Span};

    #[test]
    fn of_a_long_line_the_part_around_the_labels_is_drawn() {
        let mut sources = Sources::default();
        let line = format!("{}name{}", "ä, ".repeat(1000), ", b".repeat(1000));
        let id = sources.add("a", format!("first\n{line}\nthird\nfourth\nlast\n"));
        let start = 6 + 4000;
        let error = Diagnostic::new(Code::UnboundName, Span::new(id, start, start + 4), "it is not defined");
        let drawn = render(&error.label(Span::new(id, start + 3018, start + 3022), "there"), &sources, Style::Plain);
        assert!(drawn.len() < 1000, "{drawn}");
        assert!(
            drawn.contains("a:2:3001")
                && drawn.contains("2 │ …")
                && drawn.contains("name, b, b")
                && drawn.contains("^^^^"),
            "{drawn}"
        );
        assert!(drawn.contains("5 │ last") && drawn.contains("---- there"), "{drawn}");
    }
}
