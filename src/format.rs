//! Formatting: the text of a file in one layout, with its comments; what it says stays the same.

use crate::{Diagnostic, Error, Sources, on_big_stack};
use girih_bend::parser::Dialect;
use std::path::Path;

/// The languages that have a formatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Bend, in both of its syntaxes.
    Bend,
    /// The text form of the IR.
    Ir,
}

impl Language {
    /// The language of a file, by the end of its name.
    pub fn of(file: &Path) -> Option<Language> {
        match file.extension()?.to_str()? {
            "bend" => Some(Language::Bend),
            "gir" => Some(Language::Ir),
            _ => None,
        }
    }
}

/// The text of a file in the formatter's layout. `name` is the file's name in errors.
///
/// # Errors
/// What is wrong with the syntax of the text.
///
/// ```
/// use girih::format::{Language, format};
///
/// let text = format("example.bend", "def main( ):  # start\n  return f( 1,2 )", Language::Bend);
/// assert_eq!(text.expect("its syntax is right"), "def main():  # start\n  return f(1, 2)\n");
/// // Lines that end with `\r\n` keep that end.
/// let text = format("windows.bend", "main = ( f  1 )\r\n", Language::Bend);
/// assert_eq!(text.expect("its syntax is right"), "main = (f 1)\r\n");
/// ```
pub fn format(name: &str, text: &str, language: Language) -> Result<String, Error> {
    let mut sources = Sources::default();
    let source = sources.add(name, text);
    let formatted: Result<String, Vec<Diagnostic>> = on_big_stack(|| match language {
        Language::Bend => girih_bend::format::format(source, text, Dialect::User),
        Language::Ir => girih_ir::text::format(source, text),
    });
    let formatted =
        formatted.map(|formatted| if ends_lines_with_crlf(text) { with_crlf(&formatted) } else { formatted });
    formatted.map_err(|diagnostics| Error::new(sources, diagnostics))
}

/// Whether all lines end as Windows ends them. Where they end in two ways, none is the file's own.
fn ends_lines_with_crlf(text: &str) -> bool {
    let lines = text.matches('\n').count();
    lines > 0 && text.matches("\r\n").count() == lines
}

/// The same with all lines ended as Windows ends them; those inside of texts have that end already.
fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}
