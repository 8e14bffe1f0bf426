//! Which variables a term uses that are bound outside of it, and whether scopeless variables leave it.

use girih_base::name::Name;
use girih_term::groups::{closed_leaves, made_of_values};
use girih_term::{Arm, LocalId, Target, Term, TermKind};
use std::collections::{BTreeSet, HashMap};

/// The variables that are used in a term and not bound there.
pub fn free(term: &Term) -> BTreeSet<LocalId> {
    let (mut used, mut bound) = (BTreeSet::new(), BTreeSet::new());
    let mut pending = vec![term];
    while let Some(term) = pending.pop() {
        match &term.kind {
            TermKind::Local(local) => _ = used.insert(*local),
            TermKind::Lambda(params, _) => bound.extend(params),
            TermKind::Let(binds, _) => binds.iter().for_each(|bind| match &bind.target {
                Target::Var(local) => _ = bound.insert(*local),
                Target::Tuple(parts) | Target::Dup(parts) => bound.extend(parts.iter().flatten()),
                Target::Link(_) => {}
            }),
            TermKind::Match(m) => {
                bound.extend(m.arms.iter().flat_map(|Arm { whole, fields, .. }| fields.iter().chain(whole)));
            }
            TermKind::Switch(s) => bound.extend(s.pred),
            closed_leaves!() | made_of_values!() | TermKind::Apply(..) => {}
        }
        pending.extend(term.children());
    }
    used.difference(&bound).copied().collect()
}

/// Whether a scopeless variable has one end in a term and the other outside of it.
pub fn is_open(term: &Term) -> bool {
    let mut ends: HashMap<&Name, u32> = HashMap::new();
    let mut pending = vec![term];
    while let Some(term) = pending.pop() {
        match &term.kind {
            TermKind::Link(name) => *ends.entry(name).or_default() += 1,
            TermKind::Let(binds, _) => {
                for bind in binds {
                    if let Target::Link(name) = &bind.target {
                        *ends.entry(name).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
        pending.extend(term.children());
    }
    ends.values().any(|count| count % 2 == 1)
}
