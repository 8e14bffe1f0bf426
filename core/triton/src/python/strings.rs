//! What string literals say: prefixes, escapes, the parts of f-strings.

/// A literal taken apart.
#[derive(Debug, PartialEq)]
pub struct Literal {
    /// Whether it is an f-string.
    pub format: bool,
    /// Where its inside begins, in bytes of the literal.
    pub start: usize,
    /// Where its inside ends.
    pub end: usize,
    /// Whether backslashes are themselves.
    pub raw: bool,
}

/// Takes a literal apart, with its prefix and quotes.
pub fn open(text: &str) -> Literal {
    let prefix = text.find(['"', '\'']).unwrap_or(0);
    let has = |letters: [char; 2]| text[..prefix].contains(letters);
    let quotes = &text[prefix..];
    let triple = quotes.len() >= 6 && (quotes.starts_with("\"\"\"") || quotes.starts_with("'''"));
    let width = if triple { 3 } else { 1 };
    let end = text.len().saturating_sub(width).max(prefix + width);
    Literal { format: has(['f', 'F']), start: prefix + width, end, raw: has(['r', 'R']) }
}

/// The text that the inside of a literal stands for.
pub fn unescape(inside: &str, raw: bool) -> String {
    if raw || !inside.contains('\\') {
        return inside.to_owned();
    }
    let mut out = String::new();
    let mut chars = inside.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = chars.next() else { break };
        let mut digits = |count: usize, radix: u32, first: Option<char>| {
            let mut value = first.and_then(|c| c.to_digit(radix)).unwrap_or(0);
            for _ in 0..count {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
                value = value * radix + digit;
                chars.next();
            }
            char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        match escape {
            '\n' => {}
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'v' => out.push('\x0b'),
            'x' => out.push(digits(2, 16, None)),
            'u' => out.push(digits(4, 16, None)),
            'U' => out.push(digits(8, 16, None)),
            '0'..='7' => out.push(digits(2, 8, Some(escape))),
            '\\' | '\'' | '"' => out.push(escape),
            other => out.extend(['\\', other]),
        }
    }
    out
}

/// A part of an f-string's inside: text, or the range of an expression.
#[derive(Debug, PartialEq)]
pub enum Part {
    /// Text, in which `{{` is a brace.
    Text(String),
    /// Where an expression stands, the letter behind `!`, and the format behind `:`.
    Value(std::ops::Range<usize>, Option<char>, String),
}

/// Cuts the inside of an f-string, whose first byte is at `offset` of the whole text. `None` if braces do not match.
pub fn parts(inside: &str, offset: usize, raw: bool) -> Option<Vec<Part>> {
    let bytes = inside.as_bytes();
    let mut parts = vec![];
    let (mut at, mut text) = (0, 0);
    let mut said = String::new();
    while at < bytes.len() {
        let b = bytes[at];
        if (b == b'{' || b == b'}') && bytes.get(at + 1) == Some(&b) {
            said.push_str(&unescape(&inside[text..=at], raw));
            at += 2;
            text = at;
        } else if b == b'{' {
            said.push_str(&unescape(&inside[text..at], raw));
            let (end, close) = expression(bytes, at + 1)?;
            // `{x=}` and `{x = }` say the expression itself, too, with the spaces around the sign.
            if bytes.get(end) == Some(&b'=') {
                let behind = bytes[end + 1..].iter().take_while(|c| **c == b' ').count();
                said.push_str(&inside[at + 1..=end + behind]);
            }
            parts.push(Part::Text(std::mem::take(&mut said)));
            let (letter, format) = manner(&inside[end..close]);
            // `{x=}` shows texts with their quotes.
            let shows_itself = bytes.get(end) == Some(&b'=') && format.is_empty();
            let letter = if shows_itself { letter.or(Some('r')) } else { letter };
            parts.push(Part::Value(offset + at + 1..offset + end, letter, format));
            at = close + 1;
            text = at;
        } else if b == b'}' {
            return None;
        } else {
            at += 1;
        }
    }
    said.push_str(&unescape(&inside[text..], raw));
    parts.push(Part::Text(said));
    Some(parts)
}

/// Where an expression ends that begins at `at`, and where its closing brace stands.
fn expression(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let (mut depth, mut end) = (0, None);
    while let Some(b) = bytes.get(at) {
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b'}' if depth == 0 => return Some((end.unwrap_or(at), at)),
            b')' | b']' | b'}' => depth -= 1,
            b'"' | b'\'' if end.is_none() => {
                let closing = bytes[at + 1..].iter().position(|c| c == b)?;
                at += closing + 1;
            }
            b'!' if depth == 0 && bytes.get(at + 1) != Some(&b'=') => end = end.or(Some(at)),
            b':' if depth == 0 => end = end.or(Some(at)),
            b'=' if depth == 0 && says_itself(&bytes[at + 1..]) => end = end.or(Some(at)),
            _ => {}
        }
        at += 1;
    }
    None
}

/// What stands behind an expression: `!r`, `:>8`, or `= !r:>8`.
fn manner(behind: &str) -> (Option<char>, String) {
    let behind = behind.trim_start_matches('=').trim_start();
    let (letter, rest) = match behind.strip_prefix('!') {
        Some(rest) => (rest.chars().next(), rest.get(1..).unwrap_or_default()),
        None => (None, behind),
    };
    (letter, rest.strip_prefix(':').unwrap_or_default().to_owned())
}

/// Whether the sign before this ends the expression of `{x = }`.
fn says_itself(behind: &[u8]) -> bool {
    matches!(behind.trim_ascii_start().first(), Some(b'}' | b'!' | b':'))
}
