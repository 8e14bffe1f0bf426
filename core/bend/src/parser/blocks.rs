//! Blocks: what indentation means. A block stands two spaces deeper than the line that opens it.

use super::{Failed, Parsed, Parser};
use crate::ast::Block;
use girih_base::diag::Code;

/// How much deeper a block stands.
pub(super) const INDENTATION: usize = 2;

impl Parser<'_, '_> {
    /// The block behind a colon; its statements stand in `column`.
    pub(super) fn block(&mut self, column: usize) -> Parsed<Block> {
        self.start_block(column, "a block")?;
        self.nested(|p| {
            let mut block = vec![];
            while p.column == Some(column) {
                block.push(p.statement(column)?);
            }
            match p.column {
                Some(found) if found > column => Err(p.wrong_column(found, &format!("{column} spaces or fewer"))),
                Some(_) | None => Ok(block),
            }
        })
    }

    /// Goes from behind a colon to the first line of its block, which is `what`.
    pub(super) fn start_block(&mut self, column: usize, what: &str) -> Parsed<()> {
        self.cursor.skip_inline();
        if !self.cursor.is_at_line_end() {
            let hint = match crate::habits::NUMBERS.contains(&self.cursor.word()) {
                true => "the type of a result stands before the `:`, as in `def f(x: u24) -> u24:`",
                false => "a block starts on a line of its own",
            };
            return Err(self.expected_with_hint("the end of the line", hint));
        }
        self.next_line()?;
        let expected = format!("{what} indented by {column} spaces");
        match self.column {
            Some(found) if found == column => Ok(()),
            Some(found) => Err(self.wrong_column(found, &expected)),
            None => Err(self.expected(&expected)),
        }
    }

    /// Finishes a line and goes to the next; `otherwise` says what could have stood there.
    pub(super) fn end_of_line(&mut self, otherwise: &str) -> Parsed<()> {
        self.cursor.skip_inline();
        if self.cursor.is_at_line_end() { self.next_line() } else { Err(self.expected(otherwise)) }
    }

    /// Goes to the first token of the next line that has one, and measures its column.
    fn next_line(&mut self) -> Parsed<()> {
        while self.cursor.skip_line_end() {
            self.cursor.skip_inline();
        }
        self.column = None;
        if self.cursor.is_at_end() {
            return Ok(());
        }
        let line_start = self.cursor.line_start();
        let before = &self.cursor.text()[line_start..self.cursor.at()];
        if let Some(tab) = before.find('\t') {
            let span = self.cursor.span(line_start + tab, line_start + tab + 1);
            let message = "this line is indented by a tab";
            return Err(self.error_with_hint(Code::TabIndentation, span, message, "indent by two spaces"));
        }
        self.column = Some(before.chars().count());
        Ok(())
    }

    /// Takes a keyword that goes on with a construct, such as `else`, if it stands in its column. In another column it is
    /// an error: nothing else could be meant.
    pub(super) fn continues(&mut self, column: usize, keyword: &str) -> Parsed<bool> {
        match self.column.filter(|_| self.cursor.at_keyword(keyword)) {
            Some(found) if found != column => {
                Err(self.wrong_column(found, &format!("{column} spaces before this `{keyword}`")))
            }
            Some(_) => Ok(self.cursor.eat_keyword(keyword)),
            None => Ok(false),
        }
    }

    /// The error that a line starts in the wrong column.
    pub(super) fn wrong_column(&mut self, found: usize, expected: &str) -> Failed {
        let at = self.cursor.at();
        let span = self.cursor.span(at - found.min(at), at);
        let found = match found {
            0 => "none".to_owned(),
            1 => "1 space".to_owned(),
            _ => format!("{found} spaces"),
        };
        let hint = "a block is indented by two spaces more than the line that opens it, which ends with `:`";
        self.error_with_hint(Code::Indentation, span, format!("expected {expected}, found {found}"), hint)
    }
}
