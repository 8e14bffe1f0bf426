//! The order of a block's items, and which of them are one part: those that do not wait for each other stand side by side.
//!
//! Items that may take long and wait for no other such item are where clusters begin. An item that waits for one cluster belongs to it. One that waits for
//! several makes them one cluster, as long as two are left. Then each cluster becomes one call, all of them run at the same time, and what is left is looked at again.
//! So calls are forked as early as possible, together with those that wait for them alone (clustering of a task graph: Sarkar 1989).
//!
//! Invariant: an item stands behind all whose variables it uses.

use super::Part;
use super::items::{Item, Kind, Pattern, bound_inside};
use crate::bits::Bits;
use girih_base::span::Span;
use girih_term::{LocalId, Target, Term, TermKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// For each item the items that it waits for, directly or not.
type Waits = Vec<Bits>;

impl Part<'_> {
    /// The items of a block in an order in which those that can run at the same time stand side by side.
    pub(super) fn scheduled(&mut self, items: Vec<Item>) -> Vec<Item> {
        self.scheduled_within(items, &HashSet::new())
    }

    /// The same for items of a block, of which others that come later use these variables.
    fn scheduled_within(&mut self, items: Vec<Item>, later: &HashSet<LocalId>) -> Vec<Item> {
        let (mut order, mut left) = (vec![], items);
        loop {
            let lasting = lasting(&left);
            if lasting.len() < 2 {
                order.extend(left);
                return order;
            }
            let waits = waits(&left);
            left = self.put(&mut order, left, &clusters(&lasting, &waits), &waits, later);
        }
    }

    /// Puts parts that do not wait for each other into the order, behind what they need, and gives what is left.
    fn put(
        &mut self,
        order: &mut Vec<Item>,
        items: Vec<Item>,
        parts: &[Bits],
        waits: &Waits,
        later: &HashSet<LocalId>,
    ) -> Vec<Item> {
        let of_part = |part: &Bits| -> Bits {
            // What stands between two items of a part belongs to it.
            let needed = needed(part, waits);
            let is_between = |i: usize| waits[i].meets(part) && needed.contains(i as u32);
            all(items.len(), |i| part.contains(i as u32) || is_between(i))
        };
        let parts: Vec<Bits> = parts.iter().map(of_part).collect();
        let mut members = Bits::default();
        parts.iter().for_each(|part| members.union(part));
        let first = members.iter().next().unwrap_or(0) as usize;
        // What the parts need, and what came before all of them.
        let needed = needed(&members, waits);
        let is_before = |i: usize| !members.contains(i as u32) && (needed.contains(i as u32) || i < first);
        let before = all(items.len(), is_before);
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        order.extend(before.iter().filter_map(|i| items[i as usize].take()));
        let is_alone = parts.len() == 1;
        for part in parts {
            let inside: Vec<Item> = part.iter().filter_map(|i| items[i as usize].take()).collect();
            let others = items.iter().flatten().flat_map(|item| &item.mentions);
            let used: HashSet<LocalId> = others.chain(later).copied().collect();
            let mut one = match <[Item; 1]>::try_from(inside) {
                Ok([one]) => one,
                // It can be no call, and what it binds has the same names inside and outside.
                Err(several) if !is_alone && is_closed(&several) => {
                    order.extend(self.scheduled_within(several, &used));
                    continue;
                }
                Err(several) => {
                    let wanted = wanted(&several, &used);
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
        Item { kind: Kind::Long, ..Item::new(Some(Pattern::Target(target)), value, self.arities) }
    }
}

/// Which of the variables that are used some items bind.
fn wanted(items: &[Item], used: &HashSet<LocalId>) -> Vec<LocalId> {
    let bound: BTreeSet<LocalId> = items.iter().flat_map(Item::binds).collect();
    bound.into_iter().filter(|local| used.contains(local)).collect()
}

/// Whether items use nothing but what they bind: [`outline`](Part::outline) makes no definition of such.
fn is_closed(items: &[Item]) -> bool {
    let mut bound: HashSet<LocalId> = items.iter().flat_map(Item::binds).collect();
    items.iter().for_each(|item| bound_inside(&item.value, &mut bound));
    items.iter().flat_map(|item| &item.mentions).all(|local| bound.contains(local))
}

/// What each item waits for.
fn waits(items: &[Item]) -> Waits {
    let mut binder: HashMap<LocalId, usize> = HashMap::new();
    let mut found: Waits = vec![];
    for (i, item) in items.iter().enumerate() {
        let mut all = Bits::default();
        for at in item.mentions.iter().filter_map(|local| binder.get(local).copied()) {
            if all.insert(at as u32) {
                all.union(&found[at]);
            }
        }
        found.push(all);
        binder.extend(item.binds().into_iter().map(|local| (local, i)));
    }
    found
}

/// What some items wait for.
fn needed(items: &Bits, waits: &Waits) -> Bits {
    let mut found = Bits::default();
    items.iter().for_each(|i| found.union(&waits[i as usize]));
    found
}

/// The numbers up to a count that something is true of.
fn all(count: usize, is_in: impl Fn(usize) -> bool) -> Bits {
    let mut found = Bits::default();
    (0..count).filter(|i| is_in(*i)).for_each(|i| _ = found.insert(i as u32));
    found
}

/// The items that may take long, but for what the block gives.
fn lasting(items: &[Item]) -> Vec<usize> {
    (0..items.len()).filter(|i| items[*i].target.is_some() && items[*i].is_lasting()).collect()
}

/// Groups of items that may take long, which do not wait for each other; at least one.
fn clusters(lasting: &[usize], waits: &Waits) -> Vec<Bits> {
    let one = |i: usize| all(i + 1, |at| at == i);
    let mut long = Bits::default();
    lasting.iter().for_each(|i| _ = long.insert(*i as u32));
    let (sources, others): (Vec<usize>, Vec<usize>) = lasting.iter().partition(|i| !waits[**i].meets(&long));
    let mut found: Vec<Bits> = sources.into_iter().map(one).collect();
    if found.len() < 2 {
        return found;
    }
    for i in others {
        let is_needed = |one: &Bits| waits[i].meets(one);
        let count = found.iter().filter(|one| is_needed(one)).count();
        let mut joined = one(i);
        found.iter().filter(|one| is_needed(one)).for_each(|one| joined.union(one));
        // What waits for something that is in no cluster comes later, too.
        let is_ready = lasting.iter().all(|at| !waits[i].contains(*at as u32) || joined.contains(*at as u32));
        if is_ready && count < found.len() {
            found.retain(|one| !is_needed(one));
            found.push(joined);
        }
    }
    found.sort_by_key(|one| one.iter().next());
    found
}
