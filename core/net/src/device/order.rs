//! The order in which a definition's calls stand.
//!
//! A lane makes the last call of a definition first. A call that uses another one's result can do nothing before that is there, so it stands before the call that
//! gives it. A net has no directions; which ends of a wire give and which take is seen in the arguments of definitions ([`arguments`]), as far as it is seen at all. Nothing that comes out
//! depends on it.

use super::arguments;
use crate::book::{Book, Template};
use crate::word::{Kind, Word};
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

/// Puts the calls of a definition in order, each in a place where a call stood.
fn order(template: &mut Template, counts: &[u32]) {
    let ends: Vec<Option<Ends>> = template.links.iter().map(|link| Ends::of(template, *link, counts)).collect();
    let places: Vec<usize> = (0..ends.len()).filter(|place| ends[*place].is_some()).collect();
    if places.len() > MOST_CALLS {
        return;
    }
    let uses = |user: usize, giver: usize| match (&ends[user], &ends[giver]) {
        (Some(user), Some(giver)) => !user.taken.is_disjoint(&giver.given),
        (_, _) => false,
    };
    let mut left = places.clone();
    let mut ordered = vec![];
    while !left.is_empty() {
        // Where calls use each other in a circle, the text decides.
        let is_free = |call: &usize| left.iter().all(|other| other == call || !uses(*other, *call));
        let next = left.iter().position(is_free).unwrap_or(0);
        ordered.push(template.links[left.remove(next)]);
    }
    for (place, link) in places.into_iter().zip(ordered) {
        template.links[place] = link;
    }
}
