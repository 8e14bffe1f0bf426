//! Outlining: a part of a block that is no call becomes a definition and a call of it, for only calls are forked.

use super::Part;
use super::items::{Item, Kind, bound_inside};
use girih_term::ty::{Scheme, Type};
use girih_term::{Body, Def, DefId, LocalId, Origin, Term, TermKind};
use std::collections::HashSet;

impl Part<'_> {
    /// Makes a definition of what an item computes. Its variables keep their numbers.
    pub(super) fn outline(&mut self, item: &mut Item) {
        let mut inner = HashSet::new();
        bound_inside(&item.value, &mut inner);
        let mut params: Vec<LocalId> = item.mentions.iter().copied().filter(|local| !inner.contains(local)).collect();
        params.sort();
        // A definition without parameters would be a value that is computed once for all; nothing is gained by a call of it.
        if params.is_empty() {
            return;
        }
        let span = item.value.span;
        let id = DefId::new((self.first + self.made.len()) as u32);
        let of = &self.arities.program.defs[self.id];
        let args = params.iter().map(|local| Term::new(TermKind::Local(*local), span)).collect();
        let function = Term::new(TermKind::Global(id), span);
        let call = Term::new(TermKind::Apply(Box::new(function), args), span);
        let body = std::mem::replace(&mut item.value, call);
        self.made.push(Def {
            name: format!("{}.part{}", of.name, self.parts).into(),
            span,
            origin: Origin::Generated(self.id),
            check: false,
            ty: Scheme { params: vec![], ty: Type::Any },
            params,
            locals: self.locals.clone(),
            body: Body::Term(body),
        });
        self.parts += 1;
        item.kind = Kind::Call;
    }
}
