//! From text to modules: first all headers, so that the results of calls are known, then the bodies, in the order of the text.
//!
//! | file | reads |
//! |---|---|
//! | [`cursor`] | tokens; keeps the errors |
//! | [`types`] | types and shapes |
//! | [`header`] | everything before a body: parameters, results, how a kernel is launched |
//! | [`tables`] | layouts and globals |
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
mod tables;
mod types;

use super::lexer;
use super::{Parsed, run_lines};
use crate::function::{FunctionId, Module};
use crate::heap::{GlobalId, LayoutId};
use crate::types::Type;
use body::Body;
use cursor::{Cursor, Parse};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::{SourceId, Span};
use header::Header;
use tables::{Names, Tables};

/// What a call has to know.
#[derive(Debug)]
pub struct Signature {
    params: Vec<Type>,
    results: Vec<Type>,
}

/// What the names of a text stand for. Functions, layouts and globals have names of their own each.
#[derive(Debug, Default)]
pub struct Signatures {
    functions: Names<FunctionId>,
    rows: IndexVec<FunctionId, Signature>,
    layouts: Names<LayoutId>,
    fields: IndexVec<LayoutId, Vec<Type>>,
    globals: Names<GlobalId>,
}

/// Reads a text; see [`super::parse`].
pub fn parse(source: SourceId, text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let lexed = lexer::lex(text, start, text.len());
    let mut cursor = Cursor::new(source, text, &lexed.tokens, "text");
    let mut signatures = Signatures::default();
    let mut tables = Tables::default();
    let headers = headers(&mut cursor, &mut signatures, &mut tables);
    let mut module = Module { layouts: std::mem::take(&mut tables.layouts), ..Module::default() };
    module.globals = tables.globals(&mut cursor, &signatures);
    for header in headers {
        module.functions.push(Body::parse(&mut cursor, &signatures, header));
    }
    for (start, end) in lexed.nearly_runs {
        let span = Span { source, start: start as u32, end: end as u32 };
        let message = "this comment looks like a run line, but would not be run";
        cursor.report(Diagnostic::new(Code::IrSyntax, span, message).hint("a run line starts with `; run:`"));
    }
    // Run lines name functions, and with functions missing they would be blamed for what is wrong elsewhere.
    let mut errors = cursor.errors;
    let mut runs = vec![];
    if errors.is_empty() {
        for (start, end) in lexed.runs {
            match run_lines::parse(source, text, (start, end), &module) {
                Ok(run) => runs.push(run),
                Err(found) => errors.extend(found),
            }
        }
    }
    errors.sort_by_key(Diagnostic::span);
    if errors.is_empty() { Ok(Parsed { module, runs }) } else { Err(errors) }
}

/// Reads layouts, globals and all headers; bodies are skipped.
fn headers<'a>(cursor: &mut Cursor<'a>, signatures: &mut Signatures, tables: &mut Tables<'a>) -> Vec<Header<'a>> {
    let mut headers = vec![];
    loop {
        let start = cursor.position();
        if cursor.at_end() {
            return headers;
        }
        let name = cursor.item_name();
        let read = if cursor.eat_word("layout") {
            tables.layout(cursor, signatures)
        } else if cursor.eat_word("global") {
            tables.global(cursor, signatures)
        } else {
            Header::parse(cursor).and_then(|header| {
                signatures.declare(cursor, &header)?;
                headers.push(header);
                Ok(())
            })
        };
        if read.is_err() {
            if let Some((item, name, span)) = name {
                match item {
                    "layout" => signatures.layouts.declare_unread(name, span),
                    "global" => signatures.globals.declare_unread(name, span),
                    _function => signatures.functions.declare_unread(name, span),
                }
            }
            cursor.skip_item(start);
        }
    }
}

impl Signatures {
    fn declare(&mut self, cursor: &mut Cursor<'_>, header: &Header<'_>) -> Parse<()> {
        let f = &header.function;
        let id = self.rows.next_id();
        self.functions.declare(cursor, f.name.clone(), f.span, id)?;
        let params = f.params.iter().map(|p| f.ty(*p)).collect();
        self.rows.push(Signature { params, results: f.results.clone() });
        Ok(())
    }
}
