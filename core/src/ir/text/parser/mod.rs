//! From text to modules. First all headers are read, so that calls know what they give; then the bodies, in the order of the text.
//!
//! | file | reads |
//! |---|---|
//! | [`cursor`] | tokens; keeps the errors |
//! | [`types`] | types and shapes |
//! | [`header`] | what stands before a body: parameters, results, how a kernel is launched |
//! | [`body`] | regions and statements; knows which names are visible |
//! | [`instruction`] | operations as the table says |
//! | [`control`] | operations that have a syntax of their own |
//! | [`attributes`] | attributes |

mod attributes;
mod body;
mod control;
pub(super) mod cursor;
mod header;
mod instruction;
mod operands;
mod scope;
mod types;

use super::lexer;
use super::words::{quoted, unquoted};
use super::{Parsed, run};
use crate::diag::{Code, Diagnostic};
use crate::idx::IndexVec;
use crate::ir::function::{FunctionId, Module};
use crate::ir::types::Type;
use crate::name::Name;
use crate::span::{SourceId, Span};
use body::Body;
use cursor::{Cursor, Parse};
use header::Header;
use std::collections::HashMap;

/// What a call has to know.
#[derive(Debug)]
pub struct Signature {
    params: Vec<Type>,
    results: Vec<Type>,
}

/// The functions of a text by name. One whose header could not be read has a name only.
#[derive(Debug, Default)]
pub struct Signatures {
    names: HashMap<Name, (Option<FunctionId>, Span)>,
    rows: IndexVec<FunctionId, Signature>,
}

/// Reads a text; see [`super::parse`].
pub fn parse(source: SourceId, text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let lexed = lexer::lex(text, start, text.len());
    let mut cursor = Cursor::new(source, text, &lexed.tokens, "text");
    let mut signatures = Signatures::default();
    let headers = headers(&mut cursor, &mut signatures);
    let mut module = Module::default();
    for header in headers {
        module.functions.push(Body::parse(&mut cursor, &signatures, header));
    }
    // Run lines name functions, and with functions missing they would be blamed for what is wrong elsewhere.
    let mut errors = cursor.errors;
    let mut runs = vec![];
    if errors.is_empty() {
        for (start, end) in lexed.runs {
            match run::parse(source, text, (start, end), &module) {
                Ok(run) => runs.push(run),
                Err(found) => errors.extend(found),
            }
        }
    }
    errors.sort_by_key(Diagnostic::span);
    if errors.is_empty() { Ok(Parsed { module, runs }) } else { Err(errors) }
}

/// Reads all headers; bodies are skipped.
fn headers<'a>(cursor: &mut Cursor<'a>, signatures: &mut Signatures) -> Vec<Header<'a>> {
    let mut headers = vec![];
    loop {
        let start = cursor.position();
        if cursor.at_end() {
            return headers;
        }
        let name = cursor.item_name();
        match Header::parse(cursor) {
            Ok(header) if signatures.declare(cursor, &header).is_ok() => headers.push(header),
            Ok(_) => {}
            Err(_) => {
                if let Some((name, span)) = name {
                    signatures.names.entry(Name::new(unquoted(name))).or_insert((None, span));
                }
                cursor.skip_item(start);
            }
        }
    }
}

impl Signatures {
    fn declare(&mut self, cursor: &mut Cursor<'_>, header: &Header<'_>) -> Parse<()> {
        let f = &header.function;
        if let Some((_, first)) = self.names.get(&f.name) {
            let message = format!("`@{}` is defined twice", quoted(&f.name));
            let diagnostic = Diagnostic::new(Code::IrRedefinition, f.span, message).label(*first, "first here");
            return Err(cursor.report(diagnostic));
        }
        let params = f.params.iter().map(|p| f.ty(*p)).collect();
        let id = self.rows.push(Signature { params, results: f.results.clone() });
        self.names.insert(f.name.clone(), (Some(id), f.span));
        Ok(())
    }

    /// The function of a name as it is written; none if what is wrong with it has been said.
    fn find(&self, cursor: &mut Cursor<'_>, written: &str, span: Span) -> Parse<Option<FunctionId>> {
        let name = unquoted(written);
        if let Some((id, _)) = self.names.get(&*name) {
            return Ok(*id);
        }
        let message = format!("there is no function `@{written}`");
        cursor.unknown(Code::IrName, span, message, &name, self.names.keys().map(Name::as_str), "@")
    }
}
