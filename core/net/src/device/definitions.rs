//! Definitions for kernels as words, which a loop puts into the memory, and what their calls need.
//!
//! A root that is a pair need not come into being, where the caller has a pair too: its parts are what `@expand` gives.
//!
//! Where code may be as long as it likes, calls are straight code instead: see [`calls`](super::calls). Software adapters take seconds for that, and so
//! does any compiler for a large book.

use super::calls::Need;
use crate::arguments;
use crate::book::{Book, Definition, Template};
use crate::rules::{Rule, meeting};
use crate::word::{Kind, Word};

/// Where the table of definitions begins in `book`: behind the table of rules.
const TABLE: usize = 256;
/// Words of a definition in the table.
const ENTRY: usize = 4;
/// The most redexes that a definition may have: their number is one of 12 bits.
pub const MOST_REDEXES: u32 = (1 << 12) - 1;

/// `@call` for definitions that are words.
pub const LOOP: &str = include_str!("expand.gir");

/// The definitions of a book, as words behind its table of rules.
pub fn words(book: &Book, table: &mut Vec<u32>) {
    let mut code = vec![];
    let first = TABLE + ENTRY * book.definitions.len();
    for (definition, needed) in book.definitions.iter().zip(arguments::needed(book)) {
        // Right before its words: which arguments its call waits for.
        code.push(needed);
        let template = rooted(&definition.template);
        let Template { nodes, wires, root, .. } = &template;
        let (links, calls) = links(&template);
        let flags = flags(definition) | if has_pair(&template) { 1 << 30 } else { 0 };
        table.extend([
            nodes.len() as u32,
            *wires,
            (first + code.len()) as u32,
            links.len() as u32 | (calls.len() as u32) << 12 | flags,
        ]);
        let made = made(&template);
        code.extend(nodes[..made].iter().flat_map(|(_, parts)| *parts).map(|word| word.0));
        code.extend(links.iter().chain(&calls).flat_map(|(a, b)| [a.0, b.0]));
        // The second of these means nothing where the root is no pair.
        code.extend(nodes.get(made).map_or([*root, Word::ERA], |(_, parts)| *parts).map(|word| word.0));
    }
    table.append(&mut code);
}

/// The definitions of a book whose calls are code: what that needs.
pub fn entries(book: &Book, needs: &[Need], table: &mut Vec<u32>) {
    for (definition, Need { nodes, wires, .. }) in book.definitions.iter().zip(needs) {
        table.extend([*nodes, *wires, constant(&definition.template), flags(definition)]);
    }
}

/// The word of a definition that is a number and no more; 0 for others.
fn constant(Template { nodes, links, root, .. }: &Template) -> u32 {
    if nodes.is_empty() && links.is_empty() && root.kind() == Kind::Num { root.0 } else { 0 }
}

/// Whether a definition may not be duplicated.
fn flags(definition: &Definition) -> u32 {
    if definition.affine { 0 } else { 1 << 31 }
}

/// Whether the root is a pair.
fn has_pair(template: &Template) -> bool {
    template.root.kind() == Kind::Con
}

/// How many nodes come into being in any case: not a root that is a pair, which is the last one.
fn made(template: &Template) -> usize {
    template.nodes.len() - usize::from(has_pair(template))
}

/// The same net, with a root that is a pair as its last node.
fn rooted(template: &Template) -> Template {
    let mut moved = template.clone();
    if !has_pair(template) {
        return moved;
    }
    let (root, last) = (template.root.index(), template.nodes.len() - 1);
    moved.nodes.swap(root, last);
    let place = |word: Word| match word.kind() {
        Kind::Var | Kind::Ref | Kind::Era | Kind::Num => word,
        kind if word.index() == root => Word::new(kind, last as u32),
        kind if word.index() == last => Word::new(kind, root as u32),
        _ => word,
    };
    for (kind, parts) in &mut moved.nodes {
        if *kind != Kind::Box {
            *parts = parts.map(place);
        }
    }
    moved.links = template.links.iter().map(|(a, b)| (place(*a), place(*b))).collect();
    moved.root = place(template.root);
    moved
}

/// The most redexes that a call leaves.
pub fn most_redexes(book: &Book) -> u32 {
    book.definitions.iter().map(|definition| definition.template.links.len() as u32).max().unwrap_or(0)
}

type Redexes = Vec<(Word, Word)>;

/// The redexes of a template: those that are no calls, and those that are.
fn links(template: &Template) -> (Redexes, Redexes) {
    let is_call = |(a, b): &(Word, Word)| meeting(a.kind(), b.kind()).0.rule == Rule::Call;
    template.links.iter().copied().partition(|link| !is_call(link))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mask by which `reduce.gir` tells calls from what else a definition can meet.
    #[test]
    fn kernels_know_a_call() {
        let called = |kind: &Kind| meeting(Kind::Ref, *kind).0.rule == Rule::Call;
        assert_eq!(Kind::ALL.into_iter().filter(called).fold(0, |mask, kind| mask | 1 << kind as u32), 0xd0);
        // Where they count what they do at once, behind four words of a lane, and where a definition's constant is.
        assert_eq!(TABLE + 2, 258);
        assert_eq!(4 + Rule::Annihilate as u32, 8);
        assert_eq!(4 + Rule::Operate as u32, 10);
        assert_eq!(4 + Rule::Call as u32, 5);
    }
}
