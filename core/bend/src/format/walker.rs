//! The way through the text: takes its tokens one after the other, and with each the comments before it.
//!
//! Invariant: a token or a comment is taken once, and in order. A token that is not where the tree says is a bug, which
//! [`Walker::is_lost`] remembers.

use super::comments::{Comment, Gap, clean, net_end, skip_quoted};
use crate::doc::{Doc, Place, concat, nothing, text};
use crate::parser::Dialect;
use girih_base::lexer::Cursor;
use girih_base::span::SourceId;

/// A place in the text of a file, behind the token that was taken last.
pub struct Walker<'t> {
    cursor: Cursor<'t>,
    dialect: Dialect,
    /// Whether a block or a bracket was just opened: a blank line there means nothing.
    opened: bool,
    lost: bool,
}

impl<'t> Walker<'t> {
    /// The start of a text that parses.
    pub fn new(source: SourceId, text: &'t str, dialect: Dialect) -> Walker<'t> {
        Walker { cursor: Cursor::new(source, text), dialect, opened: true, lost: false }
    }

    /// Whether a token was not where it should have been.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    fn gap(&self) -> Gap {
        Gap::at(self.cursor.text(), self.cursor.at(), self.dialect)
    }

    /// The byte at which the next token starts.
    pub fn next_at(&self) -> usize {
        self.gap().end
    }

    /// The byte and the column at which the next token starts.
    pub fn next_place(&self) -> (usize, usize) {
        let at = self.next_at();
        (at, self.column(at))
    }

    /// Whether a comment stands before the next token.
    pub fn comment_comes(&self) -> bool {
        !self.gap().comments.is_empty()
    }

    /// The text from the next token on.
    pub fn next(&self) -> &'t str {
        &self.cursor.text()[self.next_at()..]
    }

    /// Whether a symbol comes next.
    pub fn comes(&self, symbol: &str) -> bool {
        self.next().starts_with(symbol)
    }

    /// The byte at which the token behind the next one, which is one character, starts.
    pub fn behind_next(&self) -> usize {
        Gap::at(self.cursor.text(), self.next_at() + 1, self.dialect).end
    }

    /// Whether the next token stands on a further line.
    pub fn breaks(&self) -> bool {
        let gap = self.gap();
        gap.lines_after > 0 || gap.comments.iter().any(|comment| comment.lines_before > 0)
    }

    /// The text between two bytes.
    pub fn text(&self, start: usize, end: usize) -> &'t str {
        self.cursor.text().get(start..end).unwrap_or_default()
    }

    /// Says that the token that was taken last opens a block or a bracket.
    pub fn open(&mut self) {
        self.opened = true;
    }

    /// The next token, which is `token`, and the comments before it.
    pub fn token(&mut self, token: &str) -> Doc {
        let before = self.comments();
        if self.cursor.eat(token) {
            return concat([before, text(token.to_owned())]);
        }
        self.lost = true;
        before
    }

    /// Takes a token that means nothing if it comes next. What is left are the comments before it.
    pub fn drop_token(&mut self, token: &str) -> Doc {
        if !self.comes(token) {
            return nothing();
        }
        let before = self.comments();
        self.cursor.eat(token);
        before
    }

    /// The token that starts here and ends where `end` says, as it is written.
    fn written(&mut self, end: impl FnOnce(&mut Cursor)) -> Doc {
        let before = self.comments();
        let start = self.cursor.at();
        end(&mut self.cursor);
        self.lost |= self.cursor.at() == start;
        concat([before, text(self.cursor.text()[start..self.cursor.at()].to_owned())])
    }

    /// A string or a character.
    pub fn quoted(&mut self) -> Doc {
        self.written(skip_quoted)
    }

    /// A number without a sign, behind a `#` or alone.
    pub fn natural(&mut self) -> Doc {
        self.written(|cursor| {
            cursor.eat("#");
            cursor.advance(cursor.word().len());
        })
    }

    /// All of a net, whose last token ends at a byte.
    pub fn net(&mut self, end: usize) -> &'t str {
        let start = self.cursor.at();
        let text = self.cursor.text();
        let end = net_end(text, end, self.dialect);
        self.lost |= end < start;
        self.cursor.jump(end.max(start));
        self.opened = false;
        &text[start..end.max(start)]
    }

    /// The comments at the end of the line on which the last token stands.
    pub fn trailing(&mut self) -> Doc {
        let gap = self.gap();
        let ending = gap.comments.iter().take_while(|comment| comment.lines_before == 0 && comment.ends_line);
        let ending: Vec<Comment> = ending.copied().collect();
        if self.cursor.at() == 0 {
            return nothing();
        }
        self.take(&ending, Place::End)
    }

    /// The comments before the next token.
    pub fn comments(&mut self) -> Doc {
        self.comments_before(Place::Inside)
    }

    /// The comments before the next token, which starts a line.
    pub fn comments_above(&mut self) -> Doc {
        self.comments_before(Place::Line)
    }

    fn comments_before(&mut self, inside: Place) -> Doc {
        let mut docs = vec![self.trailing()];
        let gap = self.gap();
        let lines_after = gap.lines_after;
        let mut place = inside;
        for comment in &gap.comments {
            place = if comment.ends_line { Place::Line } else { inside };
            if place == Place::Line && comment.lines_before > 1 && !self.opened {
                docs.push(Doc::Blank);
            }
            docs.push(self.take(std::slice::from_ref(comment), place));
        }
        if !gap.comments.is_empty() && place == Place::Line && lines_after > 1 {
            docs.push(Doc::Blank);
        }
        self.cursor.jump(gap.end);
        self.opened = false;
        concat(docs)
    }

    /// The comments that stand at the end of what is indented by `column`: those on lines of their own that are not less indented.
    pub fn comments_below(&mut self, column: usize) -> Doc {
        let mut docs = vec![self.trailing()];
        for comment in self.gap().comments {
            if !comment.ends_line || self.column(comment.start) < column {
                break;
            }
            if comment.lines_before > 1 && !self.opened {
                docs.push(Doc::Blank);
            }
            docs.push(self.take(&[comment], Place::Line));
        }
        concat(docs)
    }

    /// How many characters stand before a byte in its line.
    fn column(&self, at: usize) -> usize {
        let before = &self.cursor.text()[..at];
        before[before.rfind('\n').map_or(0, |end| end + 1)..].chars().count()
    }

    fn take(&mut self, comments: &[Comment], place: Place) -> Doc {
        let Some(last) = comments.last() else { return nothing() };
        self.cursor.jump(last.end);
        self.opened = false;
        let all = self.cursor.text();
        concat(comments.iter().map(|comment| Doc::Comment(clean(&all[comment.start..comment.end]), place)))
    }

    /// The end of a line, or what `line` is otherwise, with the comments at the end of this line and those before the next token.
    pub fn line(&mut self, line: Doc) -> Doc {
        let trailing = self.trailing();
        concat([trailing, line, self.comments()])
    }

    /// The same; a blank line stays.
    pub fn line_or_blank(&mut self, line: Doc) -> Doc {
        let trailing = self.trailing();
        let blank = self.blank();
        concat([trailing, blank, line, self.comments()])
    }

    /// The end of a line, behind which something starts that has a line of its own.
    pub fn next_line(&mut self) -> Doc {
        let trailing = self.trailing();
        let blank = self.blank();
        concat([trailing, blank, Doc::HardLine, self.comments_above()])
    }

    /// A blank line, if one comes directly behind the last token. One behind a comment belongs to the comment.
    fn blank(&self) -> Doc {
        let gap = self.gap();
        let wanted = gap.comments.is_empty() && gap.lines() > 1 && !self.opened && gap.end < self.cursor.text().len();
        if wanted { Doc::Blank } else { nothing() }
    }
}
