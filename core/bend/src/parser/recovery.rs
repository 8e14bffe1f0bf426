//! Where parsing goes on after an error: at the next line that looks like the start of an item.

use super::Parser;
use crate::ast::{Broken, Ident};
use girih_base::lexer::is_name_char;
use girih_base::name::Name;

/// Words that start an item and hardly ever a line of anything else.
const ITEM_KEYWORDS: [&str; 6] = ["def", "type", "object", "hvm", "from", "import"];

/// Words that start a line of a term or a block, not an equation.
const INNER_KEYWORDS: [&str; 16] = [
    "let", "use", "ask", "open", "match", "switch", "fold", "bend", "with", "if", "elif", "else", "when", "case",
    "return", "lambda",
];

impl Parser<'_, '_> {
    /// Whether a top-level item seems to start at the cursor: in the first column, a keyword and what belongs to it.
    pub(super) fn at_item_start(&self) -> bool {
        let first_column = self.cursor.text()[..self.cursor.at()].ends_with('\n');
        first_column && starts_keyword_item(self.cursor.rest())
    }

    /// What is known of the item with an error that started at `start` and before the cursor.
    pub(super) fn broken_item(&self, start: usize) -> Option<Broken> {
        let text = &self.cursor.text()[start..self.cursor.at()];
        let (mut word, mut at) = (word_at(text), start);
        let is_type = ["type", "object"].contains(&word);
        while [&ITEM_KEYWORDS[..4], &["checked", "unchecked"]].concat().contains(&word) {
            at += word.len();
            let rest = &self.cursor.text()[at..self.cursor.at()];
            at += rest.len() - rest.trim_start_matches([' ', '(']).len();
            word = word_at(&self.cursor.text()[at..self.cursor.at()]);
        }
        let is_named = !word.is_empty() && !ITEM_KEYWORDS.contains(&word);
        let name = Ident::new(Name::new(word), self.cursor.span(at, at + word.len()));
        is_named.then(|| Broken { name, span: self.cursor.span(start, start + text.trim_end().len()), is_type })
    }

    /// Moves to the next line that looks like the start of an item. An error is often found far behind the mistake, where
    /// a bracket was to be closed for example; so lines before the error count too if a keyword makes them clear.
    pub(super) fn recover(&mut self, item_start: usize) {
        let text = self.cursor.text();
        let found_at = self.cursor.at();
        let mut at = item_start;
        while let Some(length) = text[at..].find('\n') {
            at += length + 1;
            let line = text[at..].lines().next().unwrap_or_default();
            if starts_keyword_item(line) || (at >= found_at && starts_equation(line)) {
                return self.cursor.jump(at);
            }
        }
        self.cursor.jump(text.len());
    }
}

/// The name at the start of a text; may be empty.
fn word_at(text: &str) -> &str {
    &text[..text.find(|c| !is_name_char(c)).unwrap_or(text.len())]
}

fn starts_keyword_item(line: &str) -> bool {
    let word = word_at(line);
    let argument = line[word.len()..].trim_start_matches(' ');
    let is_separate = argument.len() < line.len() - word.len();
    ITEM_KEYWORDS.contains(&word) && is_separate && argument.starts_with(|c| is_name_char(c) || c == '(')
}

fn starts_equation(line: &str) -> bool {
    let name = line.strip_prefix('(').map_or(line, str::trim_start);
    let word = word_at(name);
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name && !INNER_KEYWORDS.contains(&word) && line.contains(['=', ':'])
}
