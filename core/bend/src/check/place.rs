//! Terms by identity: what the checker finds out about a term is kept under its address, since terms have no number of
//! their own. That holds as long as the program is not changed, which [`super::elaborate`] does only at the very end.

use girih_base::num::NumKind;
use girih_term::{Target, Term, TermKind};
use std::collections::HashMap;

/// The identity of a term of a program that is not changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(usize);

impl Place {
    pub fn of(term: &Term) -> Place {
        Place(std::ptr::from_ref(term) as usize)
    }
}

/// What is to be changed in the terms: nothing is recorded for a literal that takes its 24-bit kind.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Literals that become numbers of a 32-bit kind.
    pub literals: HashMap<Place, NumKind>,
    /// Terms that are converted to a 32-bit kind.
    pub widenings: HashMap<Place, NumKind>,
}

impl Edits {
    /// Adds other edits.
    pub fn extend(&mut self, other: Edits) {
        self.literals.extend(other.literals);
        self.widenings.extend(other.widenings);
    }
}

/// Visits a term and all terms in it, outer ones first, until a visit returns false for "enough".
pub(super) fn walk<'p>(term: &'p Term, visit: &mut dyn FnMut(&'p Term) -> bool) -> bool {
    visit(term) && term.children().into_iter().all(|child| walk(child, visit))
}

/// The first part of a term that no type system of this kind can type.
pub(super) fn untypeable(term: &Term) -> Option<(&Term, &'static str)> {
    let mut found = None;
    walk(term, &mut |part| {
        found = match &part.kind {
            TermKind::Sup(_) => Some((part, "a superposition")),
            TermKind::Link(_) => Some((part, "a scopeless variable")),
            TermKind::Let(binds, _) => {
                binds.iter().find(|b| matches!(b.target, Target::Link(_))).map(|b| (&b.value, "a scopeless variable"))
            }
            _ => None,
        };
        found.is_none()
    });
    found
}
