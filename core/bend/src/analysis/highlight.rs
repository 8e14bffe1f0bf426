//! Which parts of a text are words of the language, names, numbers, texts and comments: what is told apart by colours while it is typed.
//!
//! Invariant: the parts follow each other and cover the text.

use super::completion::KEYWORDS;
use girih_base::lexer::{COMMENT_END, is_name_char};
use girih_base::num::NumKind;
use std::ops::Range;

/// What a part of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A comment.
    Comment,
    /// A text, a character or a symbol.
    Quoted,
    /// A number.
    Number,
    /// A word of the language.
    Keyword,
    /// A type or a constructor.
    Type,
    /// A name that is called or defined.
    Function,
    /// Anything else.
    Other,
}

/// The parts of a text.
pub fn highlight(text: &str) -> Vec<(Range<usize>, Class)> {
    let mut parts: Vec<(Range<usize>, Class)> = vec![];
    let mut at = 0;
    let mut after_def = false;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, class) = match first {
            '#' => (comment(rest), Class::Comment),
            '"' | '\'' | '`' => (quoted(rest, first), Class::Quoted),
            c if c.is_ascii_digit() => (word(rest), Class::Number),
            c if is_name_char(c) && c != '-' => {
                let name = &rest[..word(rest)];
                (name.len(), named(name, &rest[name.len()..], after_def))
            }
            c => (c.len_utf8(), Class::Other),
        };
        if !first.is_whitespace() {
            after_def = class == Class::Keyword && &rest[..length] == "def";
        }
        match parts.last_mut() {
            Some((last, known)) if *known == class => last.end += length,
            Some(_) | None => parts.push((at..at + length, class)),
        }
        at += length;
    }
    parts
}

fn named(name: &str, behind: &str, after_def: bool) -> Class {
    let last = name.rsplit('/').next().unwrap_or_default();
    if KEYWORDS.contains(&name) {
        Class::Keyword
    } else if NumKind::ALL.iter().any(|kind| kind.name() == name) || last.starts_with(|c: char| c.is_ascii_uppercase())
    {
        Class::Type
    } else if after_def || behind.starts_with('(') {
        Class::Function
    } else {
        Class::Other
    }
}

fn word(text: &str) -> usize {
    text.find(|c| !is_name_char(c)).unwrap_or(text.len())
}

fn comment(text: &str) -> usize {
    let end = match text.strip_prefix("#{") {
        Some(inside) => inside.find(COMMENT_END).map(|end| "#{".len() + end + COMMENT_END.len()),
        None => text.find('\n'),
    };
    end.unwrap_or(text.len())
}

fn quoted(text: &str, quote: char) -> usize {
    let mut inside = text.char_indices().skip(1);
    while let Some((at, c)) = inside.next() {
        match c {
            '\\' => _ = inside.next(),
            c if c == quote => return at + c.len_utf8(),
            _other => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_their_classes() {
        let text = "def f(x: u24): # é\n  return List/Cons(g(x), \"a\\\"b\") + 12";
        let parts = highlight(text);
        let of = |class: Class| {
            parts.iter().filter(|part| part.1 == class).map(|part| &text[part.0.clone()]).collect::<Vec<_>>()
        };
        assert_eq!(of(Class::Keyword), ["def", "return"]);
        assert_eq!(of(Class::Function), ["f", "g"]);
        assert_eq!(of(Class::Type), ["u24", "List/Cons"]);
        assert_eq!(
            (of(Class::Comment), of(Class::Quoted), of(Class::Number)),
            (vec!["# é"], vec!["\"a\\\"b\""], vec!["12"])
        );
    }

    #[test]
    fn parts_cover_any_text() {
        for text in ["", "\"open", "#{ open", "'", "é-λ\\", "x\n\n#"] {
            let joined: String = highlight(text).into_iter().map(|(part, _)| &text[part]).collect();
            assert_eq!(joined, text);
        }
    }
}
