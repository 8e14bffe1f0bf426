//! The formatter: a file in one layout, with its comments and blank lines, in the syntax in which it was written.
//!
//! [`format`](self::format()) parses the text and walks through the tree and the text side by side ([`walker`]): the tree says what a token is for, the text which token it is.
//! So all tokens stay as they were written, and each comment stays between the two tokens between which it stood; only the separators that
//! mean nothing come and go. The result is parsed again: it has the same tree and the same comments in the same order, or there is no result.
//! The formatter changes nothing in what it has formatted.

mod comments;
mod expressions;
mod items;
mod lists;
mod patterns;
mod statements;
mod terms;
mod types;
mod walker;

use crate::parser::{Dialect, parse_module};
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::span::{SourceId, Span};
use walker::Walker;

/// The text of a file in the formatter's layout. Needs a stack for a few thousand levels of nesting, like [`crate::compile`].
///
/// # Errors
/// The syntax errors of the text. [`Code::Internal`] if the layout would change the program, which is a bug of the formatter.
pub fn format(source: SourceId, text: &str, dialect: Dialect) -> Result<String, Vec<Diagnostic>> {
    let mut diags = Diagnostics::default();
    let module = parse_module(source, text, dialect, &mut diags);
    if diags.has_errors() {
        return Err(diags.into_sorted());
    }
    let mut walker = Walker::new(source, text, dialect);
    let doc = walker.module(&module);
    let mut formatted = doc.layout().trim_end().to_owned();
    if !formatted.is_empty() {
        formatted.push('\n');
    }
    let mut found = Diagnostics::default();
    let again = parse_module(source, &formatted, dialect, &mut found);
    let same_comments = || comments::all(text, dialect, &module) == comments::all(&formatted, dialect, &again);
    if walker.is_lost() || found.has_errors() || again != module || !same_comments() {
        return Err(vec![changed()]);
    }
    Ok(formatted)
}

/// The error that the layout is wrong.
fn changed() -> Diagnostic {
    let message = "the formatter would change what this file says, so the file is left as it is";
    Diagnostic::new(Code::Internal, Span::NONE, message).hint("please report this with the file")
}
