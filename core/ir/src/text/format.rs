//! The formatter of `.gir` text: indentation, the space between tokens, and blank lines.
//!
//! Lines stay lines, because a statement ends with its line, and each comment stays behind or above the tokens that it was written for. The result is
//! read again: it is the same module with the same comments, or there is no result. The formatter changes nothing in what it has formatted.

use super::lexer::{Kind, Token, lex};
use super::{parse, print};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{SourceId, Span};

/// How much deeper the inside of braces stands.
const BLOCK: usize = 2;
/// How much deeper a line stands that goes on with the one before: as the printer's parameters.
const CONTINUATION: usize = 4;

/// The text of a file in the formatter's layout.
///
/// # Errors
/// The errors of [`parse`]. [`Code::Internal`] if the layout would change the module, which is a bug of the formatter.
pub fn format(source: SourceId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let module = parse(source, text)?.module;
    let formatted = layout(text);
    let again = parse(source, &formatted).ok().map(|parsed| print(&parsed.module));
    if again.as_ref() != Some(&print(&module)) || comments(text) != comments(&formatted) {
        let message = "the formatter would change what this file says, so the file is left as it is";
        let error = Diagnostic::new(Code::Internal, Span::NONE, message).hint("please report this with the file");
        return Err(vec![error]);
    }
    Ok(formatted)
}

/// What stands between two tokens, a line each without the space around it: comments and empty lines.
fn lines_between<'t>(text: &'t str, tokens: &[Token], i: usize) -> Vec<&'t str> {
    let start = i.checked_sub(1).and_then(|before| tokens.get(before)).map_or(0, |before| before.end as usize);
    text[start..tokens[i].start as usize].split('\n').map(str::trim).collect()
}

/// All comments of a text, in order.
fn comments(text: &str) -> Vec<&str> {
    let tokens = lex(text, 0, text.len()).tokens;
    let lines = (0..tokens.len()).flat_map(|i| lines_between(text, &tokens, i));
    lines.filter(|line| !line.is_empty()).collect()
}

/// A text that is written line by line.
#[derive(Default)]
struct Layout {
    out: String,
    braces: usize,
    /// Round and square brackets that are open.
    brackets: usize,
    /// Whether the last line ended with a comma.
    goes_on: bool,
}

fn layout(text: &str) -> String {
    let tokens = lex(text, 0, text.len()).tokens;
    let mut layout = Layout::default();
    for (i, token) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|before| tokens.get(before));
        let lines = lines_between(text, &tokens, i);
        layout.comments(&lines, before, token);
        if token.kind == Kind::End {
            break;
        }
        let written = &text[token.start as usize..token.end as usize];
        match before {
            Some(before) if !token.first => {
                let apart = before.end < token.start;
                layout.out.push_str(if has_space(before.kind, token.kind, apart) { " " } else { "" });
            }
            Some(_) | None => layout.start_line(token.kind, !layout.out.is_empty()),
        }
        layout.out.push_str(written);
        layout.count(token.kind);
    }
    let mut out = layout.out.trim_end().to_owned();
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

impl Layout {
    /// What stands between two tokens: a comment behind the first one, then comments and blank lines of their own.
    fn comments(&mut self, lines: &[&str], before: Option<&Token>, next: &Token) {
        let closes = next.kind == Kind::Sign(b'}');
        let mut blank = false;
        for (i, line) in lines.iter().enumerate() {
            let is_behind = i == 0 && before.is_some();
            // The last line is that of the next token, and holds nothing before it.
            if line.is_empty() {
                blank |= !is_behind && i + 1 < lines.len();
                continue;
            }
            if is_behind {
                self.out.push_str("  ");
                self.out.push_str(line);
                continue;
            }
            self.blank_line(blank);
            blank = false;
            let kind = if closes { Kind::Word } else { next.kind };
            self.start_line(kind, !self.out.is_empty());
            self.out.push_str(line);
        }
        self.blank_line(blank && !closes);
    }

    /// A blank line, unless it would be the first one of the text or of a block.
    fn blank_line(&mut self, wanted: bool) {
        if wanted && !self.out.is_empty() && !self.out.ends_with('{') {
            self.out.push('\n');
        }
    }

    fn start_line(&mut self, kind: Kind, ends_line: bool) {
        if ends_line {
            self.out.push('\n');
        }
        let braces = self.braces - usize::from(kind == Kind::Sign(b'}') && self.braces > 0);
        let closes = matches!(kind, Kind::Sign(b')' | b']')) && self.brackets == 1;
        let continued = (self.brackets > 0 || self.goes_on) && !closes;
        let indent = braces * BLOCK + if continued { CONTINUATION } else { 0 };
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Sign(b'{') => self.braces += 1,
            Kind::Sign(b'}') => self.braces = self.braces.saturating_sub(1),
            Kind::Sign(b'(' | b'[') => self.brackets += 1,
            Kind::Sign(b')' | b']') => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        self.goes_on = kind == Kind::Sign(b',');
    }
}

/// Whether a space stands between two tokens of a line, which stood `apart` or not: where it matters to people, always or never, elsewhere as it was.
fn has_space(left: Kind, right: Kind, apart: bool) -> bool {
    match (left, right) {
        (Kind::Sign(b'(' | b'['), _) | (_, Kind::Sign(b')' | b']' | b',' | b':')) => false,
        (Kind::Sign(b',' | b':' | b'=' | b'{'), _) | (_, Kind::Sign(b'=' | b'{' | b'}')) => true,
        (Kind::Sign(b')' | b']'), Kind::Word) => true,
        (Kind::Arrow | Kind::Same, _) | (_, Kind::Arrow | Kind::Same) => true,
        _ => apart,
    }
}
