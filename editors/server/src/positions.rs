//! Bytes of a text, and lines with columns in UTF-16 units, as the protocol counts.
//!
//! A line ends with `\n`, `\r\n` or `\r`. A column beyond the end of a line is the end, and one inside a character is its start.

use lsp_types::{Position, Range};

/// The lines of a text.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The first byte of each line.
    starts: Vec<usize>,
}

impl Lines {
    /// The lines of a text.
    pub fn new(text: &str) -> Lines {
        let bytes = text.as_bytes();
        let ends_line = |at: usize| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _other => false,
        };
        let starts = (0..bytes.len()).filter(|at| ends_line(*at)).map(|at| at + 1);
        Lines { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// The place of a byte of the text.
    pub fn position(&self, text: &str, byte: usize) -> Position {
        let byte = byte.min(text.len());
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let before = text.get(self.starts[line]..byte).unwrap_or_default();
        Position::new(line as u32, before.encode_utf16().count() as u32)
    }

    /// The places of a range of bytes.
    pub fn range(&self, text: &str, start: usize, end: usize) -> Range {
        Range::new(self.position(text, start), self.position(text, end))
    }

    /// The byte at a place.
    pub fn byte(&self, text: &str, position: Position) -> usize {
        let line = position.line as usize;
        let Some(&start) = self.starts.get(line) else { return text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\n', '\r']);
        let mut units = position.character as usize;
        for (at, c) in content.char_indices() {
            if units < c.len_utf16() {
                return start + at;
            }
            units -= c.len_utf16();
        }
        start + content.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let text = "a😀b\r\nλx\rz\n";
        let lines = Lines::new(text);
        let places = [(0, (0, 0)), (1, (0, 1)), (5, (0, 3)), (8, (1, 0)), (10, (1, 1)), (12, (2, 0)), (14, (3, 0))];
        for (byte, (line, character)) in places {
            assert_eq!(lines.position(text, byte), Position::new(line, character), "of the byte {byte}");
            assert_eq!(lines.byte(text, Position::new(line, character)), byte);
        }
    }

    #[test]
    fn columns_that_do_not_exist_are_the_nearest_that_do() {
        let text = "a😀b\r\nλx";
        let lines = Lines::new(text);
        assert_eq!(lines.byte(text, Position::new(0, 2)), 1, "inside the emoji");
        assert_eq!(lines.byte(text, Position::new(0, 99)), 6, "before the line's end");
        assert_eq!(lines.byte(text, Position::new(1, 99)), text.len());
        assert_eq!(lines.byte(text, Position::new(9, 0)), text.len());
    }
}
