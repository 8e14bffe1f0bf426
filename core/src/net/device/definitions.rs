//! Definitions for kernels: what `@expand` needs to put their nets into the memory.
//!
//! A root that is a pair need not come into being, where the caller has a pair too: its parts are what `@expand` gives.
//!
//! Where code may be as long as it likes, each definition becomes straight code: a store for each part of a node, with nothing to be looked up.
//! Software adapters take seconds for that, and so does any compiler for a large book; there a loop copies words of a table.

use crate::net::book::{Book, Template};
use crate::net::rules::{Rule, meeting};
use crate::net::word::{Kind, Word};
use std::fmt::Write;

/// Where the table of definitions begins in `book`: behind the table of rules.
const TABLE: usize = 256;
/// Words of a definition in the table.
const ENTRY: usize = 4;
/// The most parts of nodes that become straight code.
const MOST_STRAIGHT: usize = 3000;
/// The most redexes that a definition may have: their number is one of 12 bits.
pub const MOST_REDEXES: u32 = (1 << 12) - 1;

/// `@expand` as a loop over a definition's words: nodes, redexes, the parts of the root, or the root.
const LOOP: &str = include_str!("expand.gir");
const HEAD: &str = "fn @expand(%nodes: buffer, %lists: buffer, %stack: buffer, %book: buffer, %definition: u32, %code: u32, %count: u32, \
                    %redexes: u32, %waiting: u32, %np: u32, %wp: u32, %node_count: u32, %listed: bool, %top: u32, %low: u32, %lanes: u32) \
                    -> u32, u32 {\n";

/// The definitions of a book, as words behind its table of rules.
pub fn words(book: &Book, table: &mut Vec<u32>) {
    let mut code = vec![];
    let first = TABLE + ENTRY * book.definitions.len();
    for definition in book.definitions.iter() {
        let template = rooted(&definition.template);
        let Template { nodes, wires, root, .. } = &template;
        let (links, calls) = links(&template);
        let flags = if definition.affine { 0 } else { 1 << 31 } | if has_pair(&template) { 1 << 30 } else { 0 };
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

/// The text of `@expand`.
pub fn function(book: &Book, straight: bool) -> String {
    let parts: usize = book.definitions.iter().map(|definition| 2 * definition.template.nodes.len()).sum();
    if !straight || parts > MOST_STRAIGHT {
        return LOOP.to_owned();
    }
    let mut text = format!("{HEAD}  %root: u32, %other: u32 = switch.u32 %definition\n");
    for (id, definition) in book.definitions.iter_enumerated() {
        let _ = writeln!(text, "  case {} {{", id.index());
        expansion(&rooted(&definition.template), &mut text);
        text.push_str("  }\n");
    }
    text.push_str("  default {\n    yield 0, 0\n  }\n  return %root, %other\n}\n");
    text
}

fn expansion(template: &Template, text: &mut String) {
    let Template { nodes: all, wires, root, .. } = template;
    let nodes = &all[..made(template)];
    for i in 0..*wires {
        let _ = writeln!(text, "    %w{i} = call @slot(%lists, %node_count, (add.u32 %wp, {i}), %listed)");
    }
    for (i, _) in nodes.iter().enumerate() {
        let _ = writeln!(text, "    %n{i} = call @slot(%lists, 0, (add.u32 %np, {i}), %listed)");
    }
    for (i, (kind, parts)) in nodes.iter().enumerate() {
        let _ = writeln!(text, "    %p{i} = mul.u32 %n{i}, 2");
        for (part, word) in parts.iter().enumerate() {
            let word = if *kind == Kind::Box { word.0.to_string() } else { operand(*word) };
            let _ = writeln!(text, "    atomic.store.u32 %nodes[%p{i} + {part}], {word}");
        }
    }
    let (links, calls) = links(template);
    for (to, links) in [("top", links), ("low", calls)] {
        for (i, (a, b)) in links.into_iter().enumerate() {
            let redex = format!("(vector.u32x2 {}, {})", operand(a), operand(b));
            let _ = writeln!(text, "    store.u32x2 %stack[(add.u32 %{to}, (mul.u32 %lanes, {i}))], {redex}");
        }
    }
    let [root, other] = all.last().filter(|_| has_pair(template)).map_or([*root, Word::ERA], |(_, parts)| *parts);
    let _ = writeln!(text, "    yield {}, {}", operand(root), operand(other));
}

type Redexes = Vec<(Word, Word)>;

/// The redexes of a template: those that are no calls, and those that are.
fn links(template: &Template) -> (Redexes, Redexes) {
    let is_call = |(a, b): &(Word, Word)| meeting(a.kind(), b.kind()).0.rule == Rule::Call;
    template.links.iter().copied().partition(|link| !is_call(link))
}

/// A word of a template where it is put.
fn operand(word: Word) -> String {
    match word.kind() {
        Kind::Var => format!("(shl.u32 %w{}, 4)", word.index()),
        Kind::Ref | Kind::Era | Kind::Num => word.0.to_string(),
        kind @ (Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo | Kind::Box) => {
            format!("(or.u32 (shl.u32 %n{}, 4), {})", word.index(), kind as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mask by which `reduce.gir` tells calls from what else a definition can meet.
    #[test]
    fn kernels_know_a_call() {
        let called = |kind: &Kind| meeting(Kind::Ref, *kind).0.rule == Rule::Call;
        assert_eq!(Kind::ALL.into_iter().filter(called).fold(0, |mask, kind| mask | 1 << kind as u32), 0xd0);
        // Where they count what is left of a root and a caller's pair, behind four words of a lane.
        assert_eq!(4 + Rule::Annihilate as u32, 8);
    }
}
