//! What a file defines: its types with their constructors, its functions, also those that have a syntax error.

use super::Analysis;
use crate::ast::{Item, Module, TypeSyntax};
use crate::parser::{Dialect, parse_module};
use girih_base::diag::Diagnostics;
use girih_base::name::Name;
use girih_base::span::{SourceId, Span};

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function, or a value without parameters.
    Function,
    /// A data type.
    Type,
    /// A constructor.
    Constructor,
    /// A field.
    Field,
}

/// A thing that a file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name as it is written there.
    pub name: Name,
    /// What it is.
    pub kind: Kind,
    /// The whole definition.
    pub span: Span,
    /// The name.
    pub name_span: Span,
    /// What stands inside it.
    pub children: Vec<Symbol>,
}

impl Analysis {
    /// The things that a source defines, in the order of the text.
    pub fn outline(&self, source: SourceId) -> Vec<Symbol> {
        self.module(source).map_or(vec![], symbols)
    }
}

/// The things that a text defines, without a look at what it imports. Needs as much stack as [`crate::compile`].
pub fn outline_of(source: SourceId, text: &str) -> Vec<Symbol> {
    symbols(&parse_module(source, text, Dialect::User, &mut Diagnostics::default()))
}

fn symbols(module: &Module) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = module.items.iter().filter_map(symbol).collect();
    symbols.extend(module.broken.iter().map(|broken| Symbol {
        name: broken.name.node.clone(),
        kind: if broken.is_type { Kind::Type } else { Kind::Function },
        span: broken.span,
        name_span: broken.name.span,
        children: vec![],
    }));
    symbols.sort_by_key(|symbol| symbol.span);
    symbols
}

fn symbol(item: &Item) -> Option<Symbol> {
    let leaf = |name: &crate::ast::Ident, kind, span| Symbol {
        name: name.node.clone(),
        kind,
        span,
        name_span: name.span,
        children: vec![],
    };
    let fields = |ctor: &crate::ast::CtorDef| {
        ctor.fields.iter().map(|field| leaf(&field.name, Kind::Field, field.name.span)).collect::<Vec<_>>()
    };
    Some(match item {
        Item::Import(_) => return None,
        Item::Def(def) => leaf(&def.name, Kind::Function, def.span),
        Item::Equations(def) => leaf(&def.name, Kind::Function, def.span.to(def.name.span)),
        Item::Hvm(def) => leaf(&def.name, Kind::Function, def.span),
        Item::Type(ty) => {
            let children = match ty.syntax {
                TypeSyntax::Object => ty.ctors.iter().flat_map(fields).collect(),
                TypeSyntax::Imp | TypeSyntax::Fun => ty
                    .ctors
                    .iter()
                    .map(|ctor| {
                        let span = ctor.fields.iter().fold(ctor.name.span, |span, field| span.to(field.name.span));
                        Symbol { children: fields(ctor), ..leaf(&ctor.name, Kind::Constructor, span) }
                    })
                    .collect(),
            };
            Symbol { children, ..leaf(&ty.name, Kind::Type, ty.span) }
        }
    })
}
