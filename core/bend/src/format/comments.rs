//! The space and the comments between two tokens, and all comments of a text.

use crate::ast::{Item, Module};
use crate::parser::Dialect;
use girih_base::lexer::{COMMENT_END, Cursor};
use girih_base::span::SourceId;

/// A comment.
#[derive(Clone, Copy, Debug)]
pub struct Comment {
    /// Its first byte.
    pub start: usize,
    /// The byte behind it; the line end is not a part of it.
    pub end: usize,
    /// How many line ends stand between it and what comes before it.
    pub lines_before: usize,
    /// Whether nothing but comments follows it on its line.
    pub ends_line: bool,
}

/// What stands between two tokens.
#[derive(Debug)]
pub struct Gap {
    /// The comments, in order.
    pub comments: Vec<Comment>,
    /// How many line ends stand behind the last comment.
    pub lines_after: usize,
    /// The byte at which the next token starts.
    pub end: usize,
}

impl Gap {
    /// What stands at a byte of a text.
    pub fn at(text: &str, mut at: usize, dialect: Dialect) -> Gap {
        let mut comments: Vec<Comment> = vec![];
        loop {
            let space = text[at..].len() - text[at..].trim_start_matches(|c: char| c.is_ascii_whitespace()).len();
            let lines = text[at..at + space].matches('\n').count();
            at += space;
            let Some(length) = comment_at(&text[at..], dialect) else {
                let mut ends_line = lines > 0 || at == text.len();
                for comment in comments.iter_mut().rev() {
                    comment.ends_line = ends_line;
                    ends_line |= comment.lines_before > 0;
                }
                return Gap { comments, lines_after: lines, end: at };
            };
            comments.push(Comment { start: at, end: at + length, lines_before: lines, ends_line: false });
            at += length;
        }
    }

    /// How many line ends stand behind the last token, before a comment or the next one.
    pub fn lines(&self) -> usize {
        self.comments.first().map_or(self.lines_after, |comment| comment.lines_before)
    }
}

/// How long the comment is that starts here, if one does.
fn comment_at(rest: &str, dialect: Dialect) -> Option<usize> {
    let is_number = dialect == Dialect::Prelude && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if !rest.starts_with('#') || is_number {
        return None;
    }
    let block = rest.strip_prefix("#{").map(|inside| inside.find(COMMENT_END));
    Some(match block {
        Some(Some(length)) => "#{".len() + length + COMMENT_END.len(),
        Some(None) => rest.len(),
        None => rest.find('\n').unwrap_or(rest.len()),
    })
}

/// A comment as it is written in formatted text: without spaces at the end, and with line ends of one character.
pub fn clean(comment: &str) -> String {
    comment.trim_end().replace("\r\n", "\n")
}

/// All comments of a text that parses as `module`, in order. A net counts as one, without its space: it is left as it is.
pub fn all(text: &str, dialect: Dialect, module: &Module) -> Vec<String> {
    let mut nets = module.items.iter().filter_map(|item| match item {
        Item::Hvm(def) => Some((def.name.span.end as usize, net_end(text, def.span.end as usize, dialect))),
        Item::Import(_) | Item::Type(_) | Item::Def(_) | Item::Equations(_) => None,
    });
    let mut net = nets.next();
    let mut comments = vec![];
    let mut cursor = Cursor::new(SourceId::new(0), text);
    loop {
        let gap = Gap::at(text, cursor.at(), dialect);
        comments.extend(gap.comments.iter().map(|comment| clean(&text[comment.start..comment.end])));
        cursor.jump(gap.end);
        if let Some((start, end)) = net
            && gap.end >= start
        {
            comments.push(text[gap.end..end.max(gap.end)].split_whitespace().collect());
            cursor.jump(end.max(gap.end));
            net = nets.next();
            continue;
        }
        match cursor.peek() {
            Some('"' | '\'') => skip_quoted(&mut cursor),
            Some(_) => _ = cursor.next_char(),
            None => return comments,
        }
    }
}

/// Where the text of a net ends whose last token ends at a byte: behind the comments of its own kind, which start with `//`.
pub fn net_end(text: &str, mut end: usize, dialect: Dialect) -> usize {
    loop {
        let gap = Gap::at(text, end, dialect);
        if !text[gap.end..].starts_with("//") {
            return end;
        }
        end = gap.end + text[gap.end..].find('\n').unwrap_or(text.len() - gap.end);
    }
}

/// Moves behind the string or the character that comes next.
pub fn skip_quoted(cursor: &mut Cursor) {
    let quote = cursor.next_char();
    if quote == Some('\'') && !cursor.starts_with("\\") {
        // The character between the quotes may be a quote itself.
        cursor.next_char();
        cursor.next_char();
        return;
    }
    loop {
        match cursor.next_char() {
            Some('\\') => _ = cursor.next_char(),
            Some(c) if Some(c) == quote => return,
            Some(_) => {}
            None => return,
        }
    }
}
