//! What stands in a module besides functions: layouts and globals.

use super::Signatures;
use super::cursor::{Cursor, Parse};
use crate::function::FunctionId;
use crate::heap::{Global, GlobalId, Layout, LayoutId};
use crate::text::lexer::Kind;
use crate::text::words::{quoted, unquoted};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::{Idx, IndexVec};
use girih_base::name::Name;
use girih_base::span::Span;
use std::collections::HashMap;

/// Things of one kind by name. One that could not be read has a name only.
#[derive(Debug)]
pub struct Names<I> {
    rows: HashMap<Name, (Option<I>, Span)>,
}

impl<I> Default for Names<I> {
    fn default() -> Names<I> {
        Names { rows: HashMap::new() }
    }
}

impl<I: Idx> Names<I> {
    /// Makes a name known.
    pub fn declare(&mut self, cursor: &mut Cursor<'_>, name: Name, span: Span, id: I) -> Parse<()> {
        if let Some((_, first)) = self.rows.get(&name) {
            let message = format!("`@{}` is defined twice", quoted(&name));
            let diagnostic = Diagnostic::new(Code::IrRedefinition, span, message).label(*first, "first here");
            return Err(cursor.report(diagnostic));
        }
        self.rows.insert(name, (Some(id), span));
        Ok(())
    }

    /// Makes a name known about which nothing else is.
    pub fn declare_unread(&mut self, written: &str, span: Span) {
        self.rows.entry(Name::new(unquoted(written))).or_insert((None, span));
    }

    /// What a name that is written so stands for; none if what is wrong with it has been said.
    pub fn find(&self, cursor: &mut Cursor<'_>, what: &str, written: &str, span: Span) -> Parse<Option<I>> {
        let name = unquoted(written);
        if let Some((id, _)) = self.rows.get(&*name) {
            return Ok(*id);
        }
        let message = format!("there is no {what} `@{written}`");
        cursor.unknown(Code::IrName, span, message, &name, self.rows.keys().map(Name::as_str), "@")
    }
}

/// A global whose function has still to be found.
#[derive(Debug)]
pub struct Unresolved<'a> {
    name: Name,
    span: Span,
    function: (&'a str, Span),
}

/// What stands at the top of a module, as far as it has been read.
#[derive(Debug, Default)]
pub struct Tables<'a> {
    /// The layouts.
    pub layouts: IndexVec<LayoutId, Layout>,
    globals: Vec<Unresolved<'a>>,
}

impl<'a> Tables<'a> {
    /// `layout @name(term, u32)`, if that comes next.
    pub fn layout(&mut self, cursor: &mut Cursor<'a>, signatures: &mut Signatures) -> Parse<()> {
        let (written, span) = cursor.name(Kind::Function, "a name such as `@node`")?;
        cursor.expect(b'(', "after the name")?;
        let fields = if cursor.at_sign(b')') { vec![] } else { cursor.list(Cursor::ty)? };
        cursor.expect(b')', "after the types of the fields")?;
        let name = Name::new(unquoted(written));
        signatures.layouts.declare(cursor, name.clone(), span, self.layouts.next_id())?;
        signatures.fields.push(fields.clone());
        self.layouts.push(Layout { name, span, fields });
        Ok(())
    }

    /// `global @name = @function`, if that comes next.
    pub fn global(&mut self, cursor: &mut Cursor<'a>, signatures: &mut Signatures) -> Parse<()> {
        let (written, span) = cursor.name(Kind::Function, "a name such as `@table`")?;
        cursor.expect(b'=', "after the name")?;
        let function = cursor.name(Kind::Function, "the function that computes it")?;
        let name = Name::new(unquoted(written));
        let id = GlobalId::from_usize(self.globals.len());
        signatures.globals.declare(cursor, name.clone(), span, id)?;
        self.globals.push(Unresolved { name, span, function });
        Ok(())
    }

    /// The globals, now that all functions are known. One whose function is not has been reported.
    pub fn globals(self, cursor: &mut Cursor<'a>, signatures: &Signatures) -> IndexVec<GlobalId, Global> {
        let mut globals = IndexVec::new();
        for Unresolved { name, span, function: (written, place) } in self.globals {
            let found: Parse<Option<FunctionId>> = signatures.functions.find(cursor, "function", written, place);
            if let Ok(Some(function)) = found {
                globals.push(Global { name, span, function });
            }
        }
        globals
    }
}
