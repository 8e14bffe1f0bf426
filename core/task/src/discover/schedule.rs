//! The order of a block's items, and which of them are one part: those that do not wait for each other stand side by side.
//!
//! Items that may take long and wait for no other such item are where clusters begin. An item that waits for one cluster belongs to it. One that waits for
//! several makes them one cluster, as long as two are left. Then each cluster becomes one call, all of them run at the same time, and what is left is looked at again.
//! So calls are forked as early as possible, together with those that wait for them alone (clustering of a task graph: Sarkar 1989).
//!
//! Invariant: an item stands behind all whose variables it uses.

use super::Part;
use super::items::{Item, Kind};
use girih_base::span::Span;
use girih_term::{LocalId, Target, Term, TermKind};
use std::collections::{BTreeSet, HashMap};

/// For each item the items that it waits for, directly or not.
type Waits = Vec<BTreeSet<usize>>;

impl Part<'_> {
    /// The items of a block in an order in which those that can run at the same time stand side by side.
    pub(super) fn scheduled(&mut self, items: Vec<Item>) -> Vec<Item> {
        let (mut order, mut left) = (vec![], items);
        loop {
            let (waits, lasting) = (waits(&left), lasting(&left));
            if lasting.len() < 2 {
                order.extend(left);
                return order;
            }
            left = self.put(&mut order, left, &clusters(&lasting, &waits), &waits);
        }
    }

    /// Puts parts that do not wait for each other into the order, behind what they need, and gives what is left.
    fn put(&mut self, order: &mut Vec<Item>, items: Vec<Item>, parts: &[BTreeSet<usize>], waits: &Waits) -> Vec<Item> {
        let of_part = |part: &BTreeSet<usize>| -> BTreeSet<usize> {
            // What stands between two items of a part belongs to it.
            let is_between = |i: &usize| !waits[*i].is_disjoint(part) && part.iter().any(|at| waits[*at].contains(i));
            (0..items.len()).filter(|i| part.contains(i) || is_between(i)).collect()
        };
        let parts: Vec<BTreeSet<usize>> = parts.iter().map(of_part).collect();
        let members: BTreeSet<usize> = parts.iter().flatten().copied().collect();
        let first = members.first().copied().unwrap_or(0);
        // What the parts need, and what came before all of them.
        let is_before =
            |i: usize| !members.contains(&i) && (members.iter().any(|at| waits[*at].contains(&i)) || i < first);
        let before: BTreeSet<usize> = (0..items.len()).filter(|i| is_before(*i)).collect();
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        order.extend(before.iter().filter_map(|i| items[*i].take()));
        let is_alone = parts.len() == 1;
        for part in parts {
            let inside: Vec<Item> = part.iter().filter_map(|i| items[*i].take()).collect();
            let others = items.iter().flatten();
            let mut one = match <[Item; 1]>::try_from(inside) {
                Ok([one]) => one,
                Err(several) => {
                    let wanted = wanted(&several, others);
                    self.joined(several, &wanted)
                }
            };
            if !is_alone && one.kind == Kind::Long {
                self.outline(&mut one);
            }
            order.push(one);
        }
        items.into_iter().flatten().collect()
    }

    /// Several items as one, which binds these variables.
    fn joined(&mut self, items: Vec<Item>, wanted: &[LocalId]) -> Item {
        let span = items.first().map_or(Span::NONE, |item| item.value.span);
        let inside = |local: LocalId| Term::new(TermKind::Local(local), span);
        let (target, result) = match wanted {
            [] => (Target::Var(self.local(span)), Term::new(TermKind::Era, span)),
            [one] => (Target::Var(*one), inside(*one)),
            several => {
                let parts = several.iter().map(|local| Some(*local)).collect();
                (
                    Target::Tuple(parts),
                    Term::new(TermKind::Tuple(several.iter().map(|local| inside(*local)).collect()), span),
                )
            }
        };
        let result = Item::new(None, result, self.arities);
        let items = self.scheduled(items.into_iter().chain([result]).collect());
        let value = super::of_items(items, span);
        Item { kind: Kind::Long, ..Item::new(Some(target), value, self.arities) }
    }
}

/// The variables that some items bind and others use.
fn wanted<'i>(items: &[Item], others: impl Iterator<Item = &'i Item>) -> Vec<LocalId> {
    let bound: BTreeSet<LocalId> = items.iter().flat_map(Item::binds).collect();
    let used: BTreeSet<LocalId> = others.flat_map(|item| item.mentions.iter().copied()).collect();
    bound.intersection(&used).copied().collect()
}

/// What each item waits for.
fn waits(items: &[Item]) -> Waits {
    let mut binder: HashMap<LocalId, usize> = HashMap::new();
    let mut found: Waits = vec![];
    for (i, item) in items.iter().enumerate() {
        let direct: BTreeSet<usize> = item.mentions.iter().filter_map(|local| binder.get(local).copied()).collect();
        let mut all = direct.clone();
        direct.iter().for_each(|at| all.extend(&found[*at]));
        found.push(all);
        binder.extend(item.binds().into_iter().map(|local| (local, i)));
    }
    found
}

/// The items that may take long, but for what the block gives.
fn lasting(items: &[Item]) -> Vec<usize> {
    (0..items.len()).filter(|i| items[*i].target.is_some() && items[*i].is_lasting()).collect()
}

/// Groups of items that may take long, which do not wait for each other; at least one.
fn clusters(lasting: &[usize], waits: &Waits) -> Vec<BTreeSet<usize>> {
    let waits_for = |i: usize| lasting.iter().copied().filter(move |at| waits[i].contains(at));
    let (sources, others): (Vec<usize>, Vec<usize>) = lasting.iter().partition(|i| waits_for(**i).next().is_none());
    let mut found: Vec<BTreeSet<usize>> = sources.into_iter().map(|i| BTreeSet::from([i])).collect();
    if found.len() < 2 {
        return found;
    }
    for i in others {
        let (mut needed, rest): (Vec<_>, Vec<_>) = found.iter().cloned().partition(|one| !waits[i].is_disjoint(one));
        // What waits for something that is in no cluster comes later, too.
        let is_ready = waits_for(i).all(|at| needed.iter().any(|one| one.contains(&at)));
        if is_ready && !rest.is_empty() {
            let mut joined: BTreeSet<usize> = needed.drain(..).flatten().collect();
            joined.insert(i);
            found = rest;
            found.push(joined);
        }
    }
    found.sort();
    found
}
