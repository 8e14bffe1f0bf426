//! What a name is: how it is defined, of which type it is, and what its comment says.

use super::{Analysis, Target, comments};
use crate::ast::Item;
use crate::printer::print_header;
use girih_base::span::{SourceId, Span};
use girih_term::print::show_scheme;
use girih_term::ty::{Scheme, Type};
use girih_term::{CtorId, DefId, Origin};

/// What is to be said of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The name.
    pub span: Span,
    /// Its definition, or its type, as Bend.
    pub code: String,
    /// The comment that documents it.
    pub comment: Option<String>,
}

impl Analysis {
    /// What is to be said of the name at a place.
    pub fn hover(&self, source: SourceId, at: usize) -> Option<Hover> {
        let (span, target) = self.target_at(source, at)?;
        let variable = self.use_at(source, at).and_then(|found| found.variable);
        let ty = variable.and_then(|variable| self.types.locals.get(&variable)).map(String::as_str);
        let code = self.described(target, ty)?;
        Some(Hover { span, code, comment: self.comment(target) })
    }

    /// The comment that documents something.
    pub fn comment(&self, target: Target) -> Option<String> {
        let own = self.comment_above(self.definition(target));
        match target {
            Target::Ctor(ctor) => {
                own.or_else(|| self.comment_above(self.program.types[self.program.ctors[ctor].ty].span))
            }
            Target::Def(_) | Target::Type(_) => own,
            Target::Local(at) => own.filter(|_| self.local_function(at).is_some()),
            Target::Field(..) | Target::Module(_) => None,
        }
    }

    fn comment_above(&self, span: Span) -> Option<String> {
        comments::above(&self.sources.get(span.source)?.text, span.start as usize)
    }

    /// Something as Bend; `ty` is the type of a variable.
    pub(super) fn described(&self, target: Target, ty: Option<&str>) -> Option<String> {
        Some(match target {
            Target::Def(id) => self.described_def(id),
            Target::Ctor(id) => self.described_ctor(id),
            Target::Type(id) => print_header(self.item_named_at(self.program.types[id].span)?),
            Target::Field(ctor, index) => {
                let (ctor, name) = (&self.program.ctors[ctor], self.program.ctors[ctor].fields.get(index)?);
                let vars = self.program.types[ctor.ty].vars.clone();
                let declared = show_scheme(&self.program, &Scheme { params: vars, ty: name.ty.clone() });
                format!("{}: {}    # a field of {}", name.name, ty.unwrap_or(&declared), ctor.name)
            }
            Target::Local(at) => {
                let name = self.sources.snippet(at);
                match (self.local_function(at), ty) {
                    (Some(id), _) => format!("def {name} : {}", self.type_of_def(id)),
                    (None, Some(ty)) => format!("{name}: {ty}"),
                    (None, None) => name.to_owned(),
                }
            }
            Target::Module(id) => format!("# {}", self.sources.get(self.modules[id].source)?.name),
        })
    }

    fn described_def(&self, id: DefId) -> String {
        let def = &self.program.defs[id];
        let head = self.item_named_at(def.span).map_or_else(|| def.name.to_string(), print_header);
        match self.types.inferred.get(&id) {
            Some(scheme) => format!("{head}\n# inferred: {}", show_scheme(&self.program, scheme)),
            None => head,
        }
    }

    fn described_ctor(&self, id: CtorId) -> String {
        let ctor = &self.program.ctors[id];
        let ty = &self.program.types[ctor.ty];
        let fields: Vec<String> = ctor
            .fields
            .iter()
            .map(|field| {
                let tilde = if field.recursive { "~" } else { "" };
                let scheme = Scheme { params: ty.vars.clone(), ty: field.ty.clone() };
                format!("{tilde}{}: {}", field.name, show_scheme(&self.program, &scheme))
            })
            .collect();
        let fields = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
        let vars = (0..ty.vars.len()).map(|i| Type::Param(i as u32)).collect();
        let whole = Scheme { params: ty.vars.clone(), ty: Type::Data(ctor.ty, vars) };
        format!("{}{fields}    # a constructor of {}", ctor.name, show_scheme(&self.program, &whole))
    }

    /// The type of a definition, as text.
    fn type_of_def(&self, id: DefId) -> String {
        show_scheme(&self.program, &self.type_without_captures(id))
    }

    /// The type of a definition: as it was annotated, or as it was inferred.
    pub(super) fn type_without_captures(&self, id: DefId) -> Scheme {
        let mut scheme = self.types.inferred.get(&id).unwrap_or(&self.program.defs[id].ty).clone();
        for _ in 0..self.captures(id) {
            if let Type::Arrow(_, to) = scheme.ty {
                scheme.ty = *to;
            }
        }
        scheme
    }

    /// The names of the parameters that a definition was written with.
    pub(super) fn parameter_names(&self, id: DefId) -> Vec<String> {
        let def = &self.program.defs[id];
        let own = def.params.iter().skip(self.captures(id));
        let name = |local: &girih_term::LocalId| def.locals[*local].name.trim_start_matches('%').to_string();
        own.map(name).collect()
    }

    /// How many parameters of a function inside another one are what it captures: those stand before its name.
    fn captures(&self, id: DefId) -> usize {
        let def = &self.program.defs[id];
        let is_captured = |param: &&girih_term::LocalId| {
            let local = def.locals[**param].span;
            local.source != def.span.source || local.start < def.span.start
        };
        match def.origin {
            Origin::Generated(_) => def.params.iter().take_while(is_captured).count(),
            Origin::User | Origin::Prelude => 0,
        }
    }

    /// The function inside another one whose name stands at a place.
    pub(super) fn local_function(&self, at: Span) -> Option<DefId> {
        let is_it = |def: &girih_term::Def| def.span == at && def.origin.is_generated();
        self.program.defs.iter_enumerated().find(|(_, def)| is_it(def)).map(|(id, _)| id)
    }

    /// The top-level item whose name stands at a place.
    pub(super) fn item_named_at(&self, at: Span) -> Option<&Item> {
        self.module(at.source)?.items.iter().find(|item| match item {
            Item::Import(_) => false,
            Item::Type(ty) => ty.name.span == at,
            Item::Def(def) => def.name.span == at,
            Item::Equations(def) => def.name.span == at,
            Item::Hvm(def) => def.name.span == at,
        })
    }
}
