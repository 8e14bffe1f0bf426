//! The order in which a definition's calls stand.
//!
//! A worker and a lane make the last call of a definition first. A call that uses another one's result can do nothing before that is there, so it stands before the call that
//! gives it. A net has no directions; which ends of a wire give and which take is seen in the arguments of definitions ([`arguments`]), as far as it is seen at all. Nothing that comes out
//! depends on it.

use super::arguments;
use super::book::{Book, DefinitionId, Template};
use super::word::{Kind, Word};
use girih_base::cycles::on_cycle;
use girih_base::idx::IndexVec;
use std::collections::BTreeSet;

/// The book with the calls of each definition in this order; those of which nothing is known stay in the order of the text.
pub fn by_dependence(book: &Book) -> Book {
    let counts = arguments::counts(book);
    let mut ordered = book.clone();
    for definition in ordered.definitions.iter_mut() {
        order(&mut definition.template, &counts);
    }
    ordered
}

/// The same if a recursion of the book has a call that uses another one's result; else the book as it is. Made without its argument, such a call would put a net into
/// memory at each depth, and each of them would wait. Without such calls only one net waits, and takes what comes bit by bit, so that not all of it is in memory.
pub fn by_dependence_in_recursions(book: &Book) -> Book {
    let named = book.definitions.iter().map(|definition| names(&definition.template));
    let is_recursive = on_cycle(&named.collect::<IndexVec<DefinitionId, Vec<DefinitionId>>>());
    let counts = arguments::counts(book);
    let depends = |id: DefinitionId| {
        let calls = Calls::of(&book.definitions[id].template, &counts);
        let depends = |user| calls.places().any(|giver| user != giver && calls.uses(user, giver));
        calls.places().count() <= MOST_CALLS && calls.places().any(depends)
    };
    match book.definitions.ids().any(|id| is_recursive[id] && depends(id)) {
        true => by_dependence(book),
        false => book.clone(),
    }
}

/// The definitions that a net names.
fn names(template: &Template) -> Vec<DefinitionId> {
    let parts = template.nodes.iter().filter(|(kind, _)| *kind != Kind::Box).flat_map(|(_, parts)| *parts);
    let ends = template.links.iter().flat_map(|(a, b)| [*a, *b]);
    let words = parts.chain(ends).chain([template.root]);
    words.filter(|word| word.kind() == Kind::Ref).map(|word| DefinitionId::new(word.index() as u32)).collect()
}

/// The most calls of a definition that are put in order.
const MOST_CALLS: usize = 64;

/// The wires of a call: those in its arguments, and those in its result.
struct Ends {
    taken: BTreeSet<usize>,
    given: BTreeSet<usize>,
}

impl Ends {
    /// Of a link, if it is a call.
    fn of(template: &Template, (a, b): (Word, Word), counts: &[u32]) -> Option<Ends> {
        let (name, mut rest) = match (a.kind(), b.kind()) {
            (Kind::Ref, Kind::Con) => (a, b),
            (Kind::Con, Kind::Ref) => (b, a),
            (_, _) => return None,
        };
        let mut ends = Ends { taken: BTreeSet::new(), given: BTreeSet::new() };
        for _ in 0..counts[name.index()] {
            if rest.kind() != Kind::Con {
                break;
            }
            let [argument, behind] = template.nodes[rest.index()].1;
            wires(template, argument, &mut ends.taken);
            rest = behind;
        }
        wires(template, rest, &mut ends.given);
        Some(ends)
    }
}

/// The wires of a tree.
fn wires(template: &Template, word: Word, found: &mut BTreeSet<usize>) {
    let mut left = vec![word];
    while let Some(word) = left.pop() {
        match word.kind() {
            Kind::Var => drop(found.insert(word.index())),
            Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo => {
                left.extend(template.nodes[word.index()].1);
            }
            Kind::Ref | Kind::Era | Kind::Num | Kind::Box => {}
        }
    }
}

/// The calls of a definition, by the positions of their links.
struct Calls(Vec<Option<Ends>>);

impl Calls {
    fn of(template: &Template, counts: &[u32]) -> Calls {
        Calls(template.links.iter().map(|link| Ends::of(template, *link, counts)).collect())
    }

    /// Where calls stand.
    fn places(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).filter(|place| self.0[*place].is_some())
    }

    /// Whether a call takes what another one gives.
    fn uses(&self, user: usize, giver: usize) -> bool {
        match (&self.0[user], &self.0[giver]) {
            (Some(user), Some(giver)) => !user.taken.is_disjoint(&giver.given),
            (_, _) => false,
        }
    }
}

/// Puts the calls of a definition in order, each in a place where a call stood.
fn order(template: &mut Template, counts: &[u32]) {
    let calls = Calls::of(template, counts);
    let places: Vec<usize> = calls.places().collect();
    if places.len() > MOST_CALLS {
        return;
    }
    let mut left = places.clone();
    let mut ordered = vec![];
    while !left.is_empty() {
        // Where calls use each other in a circle, the text decides.
        let is_free = |call: &usize| left.iter().all(|other| other == call || !calls.uses(*other, *call));
        let next = left.iter().position(is_free).unwrap_or(0);
        ordered.push(template.links[left.remove(next)]);
    }
    for (place, link) in places.into_iter().zip(ordered) {
        template.links[place] = link;
    }
}
