//! The types that nobody has written: of the parameters and results of definitions without annotations, as far as they can be
//! inferred.

use super::Analysis;
use crate::ast::Item;
use girih_base::span::{SourceId, Span};
use girih_term::print::show_scheme;
use girih_term::ty::{Scheme, Type};

/// A type, and where it could be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlay {
    /// The place, of no width.
    pub at: Span,
    /// What could be written there, with the sign that comes before it.
    pub text: String,
}

impl Analysis {
    /// The inferred types of a source's imperative definitions, in the order of the text.
    pub fn inlays(&self, source: SourceId) -> Vec<Inlay> {
        let Some(module) = self.module(source) else { return vec![] };
        let mut inlays = vec![];
        for item in &module.items {
            let Item::Def(def) = item else { continue };
            let Some(found) = self.uses.iter().find(|found| found.span == def.name.span) else { continue };
            let super::Target::Def(id) = found.target else { continue };
            let Some(scheme) = self.types.inferred.get(&id) else { continue };
            let shown =
                |ty: &Type| show_scheme(&self.program, &Scheme { params: scheme.params.clone(), ty: ty.clone() });
            let mut ty = &scheme.ty;
            for param in &def.params {
                let Type::Arrow(from, to) = ty else { break };
                let at = Span { start: param.name.span.end, ..param.name.span };
                if is_known(from) {
                    inlays.push(Inlay { at, text: format!(": {}", shown(from)) });
                }
                ty = to;
            }
            let last = def.params.last().map_or(def.name.span, |param| param.name.span);
            if let Some(at) = self.end_of_head(last).filter(|_| is_known(ty)) {
                inlays.push(Inlay { at, text: format!(" -> {}", shown(ty)) });
            }
        }
        inlays
    }

    /// Behind the parenthesis that closes the parameters, of which the last name is given; directly behind a name without any.
    fn end_of_head(&self, last: Span) -> Option<Span> {
        let text = self.sources.get(last.source)?.text.get(last.end as usize..)?;
        let colon = text.find(':')?;
        let end = last.end + text[..colon].trim_end().len() as u32;
        Some(Span { start: end, end, ..last })
    }
}

/// Whether a type says anything: `Any` is what everything is whose type was not found out.
fn is_known(ty: &Type) -> bool {
    match ty {
        Type::Any | Type::Hole => false,
        Type::Var(_)
        | Type::Param(_)
        | Type::Data(..)
        | Type::Num(_)
        | Type::Arrow(..)
        | Type::Tuple(_)
        | Type::None => true,
    }
}
