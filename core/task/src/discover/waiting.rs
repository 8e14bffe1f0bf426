//! Which calls stay in order, and why: what `--verbose` says of a program.
//!
//! Invariant: nothing is changed here. Each call is named once, with the last of those that it waits for.

use super::Part;
use super::items::{Item, Kind, arms, mention, scrutinee};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{DefId, LocalId, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// A call that may take long and waits for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The definition that makes both calls.
    pub def: DefId,
    /// The call that waits.
    pub call: Called,
    /// What it waits for.
    pub on: Called,
    /// Why it waits.
    pub why: Why,
}

/// A call in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// What is called: a definition, or a variable.
    pub name: Name,
    /// Where.
    pub span: Span,
}

/// Why a call waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is given what the other gives, or something made of that.
    Result,
    /// It is made in an arm of a choice that looks at what the other gives.
    Choice,
}

impl Part<'_> {
    /// Notes which calls of a block wait for others.
    pub(super) fn note_waiting(&mut self, items: &[Item]) {
        let mut binder: HashMap<LocalId, usize> = HashMap::new();
        // The last item that may take long among those that an item waits for.
        let mut waits: Vec<Option<usize>> = vec![];
        for (i, item) in items.iter().enumerate() {
            let on = |locals: &HashSet<LocalId>| last_of(locals, &binder, items, &waits);
            let all = on(&item.mentions);
            match item.kind {
                Kind::Call => self.note(&item.value, all, items, Why::Result),
                Kind::Long => {
                    let mut inspected = HashSet::new();
                    scrutinee(&item.value).into_iter().for_each(|term| mention(term, &mut inspected));
                    let inspected = on(&inspected);
                    for call in self.calls_in_arms(&item.value) {
                        let mut given = HashSet::new();
                        mention(call, &mut given);
                        match on(&given) {
                            Some(given) => self.note(call, Some(given), items, Why::Result),
                            None => self.note(call, inspected, items, Why::Choice),
                        }
                    }
                }
                Kind::Short => {}
            }
            waits.push(all);
            binder.extend(item.binds().into_iter().map(|local| (local, i)));
        }
    }

    /// The lasting calls that the arms of a choice make for certain.
    fn calls_in_arms<'t>(&self, choice: &'t Term) -> Vec<&'t Term> {
        let mut found = vec![];
        arms(choice).into_iter().for_each(|arm| self.certain(arm, &mut found));
        found
    }

    fn note(&mut self, call: &Term, on: Option<usize>, items: &[Item], why: Why) {
        let Some(on) = on.and_then(|on| self.first_call(&items[on].value)) else { return };
        let Some(call) = self.called(call) else { return };
        let waiting = Waiting { def: self.id, call, on, why };
        let is_known = |other: &Waiting| other.call.span == waiting.call.span;
        if !self.waiting.iter().any(is_known) {
            self.waiting.push(waiting);
        }
    }

    fn called(&self, call: &Term) -> Option<Called> {
        let TermKind::Apply(function, _) = &call.kind else { return None };
        let name = match &function.kind {
            TermKind::Global(def) => self.arities.program.defs.get(*def)?.name.clone(),
            TermKind::Local(local) => self.locals[*local].name.clone(),
            _computed => return None,
        };
        Some(Called { name, span: call.span })
    }

    /// The first lasting call in a term.
    fn first_call(&self, term: &Term) -> Option<Called> {
        let mut found = vec![];
        self.reached(term, &mut found);
        found.first().and_then(|call| self.called(call))
    }
}

/// The last item that may take long among those that these variables wait for.
fn last_of(
    locals: &HashSet<LocalId>,
    binder: &HashMap<LocalId, usize>,
    items: &[Item],
    waits: &[Option<usize>],
) -> Option<usize> {
    let of_item = |i: usize| if items[i].is_lasting() { Some(i) } else { waits[i] };
    locals.iter().filter_map(|local| binder.get(local)).filter_map(|i| of_item(*i)).max()
}
