//! Definitions made ready for workers: what a call writes where.
//!
//! A call has registers: one for each wire and each node of the definition's net, and one that is 0. An operand is a constant and a register, both put
//! together; one of them is 0. So no kind is looked at when a net is put into the memory.
//!
//! The root's pairs are a pattern. Where the caller has a pair too, the two meet in the call itself, and neither the root's pair nor the wires
//! at its parts come into being: what the caller has there takes their place.

use crate::net::book::{Book, Template};
use crate::net::word::{Kind, Word};

/// A constant, or a register.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The constant; 0 for a register.
    pub word: u32,
    /// The register; 0, which holds 0, for a constant.
    pub register: u32,
}

/// A node of a net.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Its kind.
    pub kind: Kind,
    /// Where its word goes.
    pub register: u32,
    /// Its parts.
    pub parts: [Operand; 2],
}

/// A tree of the pattern.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    /// A wire: its register, and whether it leads to the first part of an operation, where a number must not be found at once.
    Wire(u32, bool),
    /// A pair: its position among them, and its parts.
    Pair(u32),
    /// Anything else.
    Other(Operand),
}

/// A pair of the pattern.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The node, if it has to come into being.
    pub node: Node,
    /// What is at its parts.
    pub parts: [Pattern; 2],
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Code {
    /// How many registers there are.
    pub registers: usize,
    /// The most nodes that a call makes.
    pub nodes: usize,
    /// The most wires that a call makes.
    pub wires: usize,
    /// The root.
    pub root: Pattern,
    /// The pairs of the pattern.
    pub pairs: Vec<Pair>,
    /// The registers of the wires that lead to the pattern.
    pub ends: Vec<u32>,
    /// Those of the others, from the first to behind the last.
    pub inner: Vec<u32>,
    /// The nodes that always come into being.
    pub body: Vec<Node>,
    /// What is linked with what.
    pub links: Vec<(Operand, Operand)>,
}

/// The most pairs of a pattern: a word has a bit for each.
const MOST_PAIRS: usize = 64;

impl Code {
    /// All definitions of a book, by their positions.
    pub fn all(book: &Book) -> Vec<Code> {
        book.definitions.iter().map(|definition| Code::of(&definition.template)).collect()
    }

    fn of(template: &Template) -> Code {
        let mut pairs = vec![];
        let mut in_pattern = vec![false; template.nodes.len()];
        find_pairs(template, template.root, &mut pairs, &mut in_pattern);
        let guarded = guarded(template);
        let operand = |word: Word| operand(template, word);
        let node = |at: usize| {
            let (kind, parts) = template.nodes[at];
            let register = node_register(template, at as u32);
            let plain = |word: Word| Operand { word: word.0, register: 0 };
            let parts = if kind == Kind::Box { parts.map(plain) } else { parts.map(operand) };
            Node { kind, register, parts }
        };
        let position = |at: u32| pairs.iter().position(|pair| *pair == at);
        let pattern = |word: Word| match word.kind() {
            Kind::Var => Pattern::Wire(wire_register(word.index() as u32), guarded[word.index()]),
            Kind::Con => match position(word.index() as u32) {
                Some(pair) => Pattern::Pair(pair as u32),
                None => Pattern::Other(operand(word)),
            },
            _ => Pattern::Other(operand(word)),
        };
        let mut ends: Vec<u32> = vec![];
        let mut end = |pattern: Pattern| match pattern {
            Pattern::Wire(register, _) if !ends.contains(&register) => ends.push(register),
            Pattern::Wire(..) | Pattern::Pair(_) | Pattern::Other(_) => {}
        };
        let root = pattern(template.root);
        end(root);
        let made: Vec<Pair> = pairs
            .iter()
            .map(|at| {
                let parts = template.nodes[*at as usize].1.map(&pattern);
                parts.into_iter().for_each(&mut end);
                Pair { node: node(*at as usize), parts }
            })
            .collect();
        let inner = (0..template.wires).map(wire_register).filter(|register| !ends.contains(register)).collect();
        Code {
            registers: 1 + template.wires as usize + template.nodes.len(),
            nodes: template.nodes.len(),
            wires: template.wires as usize,
            root,
            pairs: made,
            ends,
            inner,
            body: (0..template.nodes.len()).filter(|at| !in_pattern[*at]).map(node).collect(),
            links: template.links.iter().map(|(a, b)| (operand(*a), operand(*b))).collect(),
        }
    }
}

fn wire_register(wire: u32) -> u32 {
    1 + wire
}

fn node_register(template: &Template, node: u32) -> u32 {
    1 + template.wires + node
}

fn operand(template: &Template, word: Word) -> Operand {
    match word.kind() {
        Kind::Var => Operand { word: 0, register: wire_register(word.index() as u32) },
        Kind::Ref | Kind::Era | Kind::Num => Operand { word: word.0, register: 0 },
        Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo | Kind::Box => {
            Operand { word: 0, register: node_register(template, word.index() as u32) }
        }
    }
}

/// The pairs that hang together with the root.
fn find_pairs(template: &Template, root: Word, pairs: &mut Vec<u32>, found: &mut [bool]) {
    let mut pending = vec![root];
    while let Some(word) = pending.pop() {
        if word.kind() == Kind::Con && pairs.len() < MOST_PAIRS {
            found[word.index()] = true;
            pairs.push(word.index() as u32);
            pending.extend(template.nodes[word.index()].1.into_iter().rev());
        }
    }
}

/// Which wires lead to the first part of an operation. Whether an operand is there must not depend on who comes first.
fn guarded(template: &Template) -> Vec<bool> {
    let mut guarded = vec![false; template.wires as usize];
    for (kind, [first, _]) in &template.nodes {
        if *kind == Kind::Opr && first.kind() == Kind::Var {
            guarded[first.index()] = true;
        }
    }
    guarded
}
