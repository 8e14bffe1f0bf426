//! Reading and printing.

mod errors;
mod examples;
mod format;
mod lexer;
mod literal;
mod mutations;
mod random;
mod speed;

use girih_base::diag::Diagnostic;
use girih_base::span::SourceId;
use girih_ir::text::{Parsed, parse, print};

/// Reads a text.
fn read(text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    parse(SourceId::new(0), text)
}

/// Reads a text, prints it, and holds the printer to being stable.
fn printed(text: &str) -> String {
    let parsed = read(text).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    let once = print(&parsed.module);
    let again = read(&once).unwrap_or_else(|e| panic!("{e:#?}\n{once}"));
    assert_eq!(print(&again.module), once);
    once
}

/// Holds a text to be what the printer writes.
fn canonical(text: impl AsRef<str>) {
    let printed = printed(text.as_ref());
    assert!(printed == text.as_ref(), "printed as\n{printed}");
}
