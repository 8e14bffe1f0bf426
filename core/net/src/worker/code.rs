//! Definitions made ready for workers: what a call writes where.
//!
//! A call has registers: one for each wire and each node of the definition's net, and one that is 0. An operand is a constant and a register, both put
//! together; one of them is 0. So no kind is looked at when a net is put into the memory.
//!
//! The root's pairs and duplications are a pattern. Where the caller has a pair too, the two meet in the call itself, and neither the root's pair nor the wires
//! at its parts come into being: what the caller has there takes their place. The same goes for a duplication of a number in a word.
//!
//! Operations and choices that a definition's redexes begin with wait for their number: if it is there when the definition is called, they are computed
//! and never come into being, and what they give is what the wire behind them is.

use crate::book::{Book, Template};
use crate::order;
use crate::word::{Kind, Word};

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
    /// A pair, by its position among the pattern's nodes.
    Pair(u32),
    /// A duplication, by its position among them: a number goes to both parts.
    Copy(u32),
    /// Anything else.
    Other(Operand),
}

/// A node of the pattern.
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
    /// The nodes of the pattern.
    pub pairs: Vec<Pair>,
    /// The nodes that come into being in any case.
    pub body: Vec<Node>,
    /// What waits for a number, in an order in which one may give it to the next.
    pub waiting: Vec<Waiting>,
    /// For each register, whether it is a wire that leads to the first part of an operation.
    pub guarded: Vec<bool>,
    /// What is linked with what.
    pub links: Vec<(Operand, Operand)>,
}

/// What a redex of a definition does with a number.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Where the number comes from: a wire.
    pub port: u32,
    /// What is done with it.
    pub what: What,
}

/// What is done with a number.
#[derive(Clone, Debug)]
pub enum What {
    /// Operations, each on what the one before it gives.
    Operate(Vec<Node>),
    /// A choice among two arms, the parts of a pair.
    Choose {
        /// The choice.
        choice: Node,
        /// The pair.
        arms: Node,
    },
}

impl What {
    /// The nodes, if they have to come into being.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let (many, two): (&[Node], [Option<&Node>; 2]) = match self {
            What::Operate(nodes) => (nodes, [None; 2]),
            What::Choose { choice, arms } => (&[], [Some(choice), Some(arms)]),
        };
        many.iter().chain(two.into_iter().flatten())
    }
}

/// The most of what waits for numbers: a word has a bit for each.
const MOST_WAITING: usize = 64;

/// The most nodes of a pattern: a word has a bit for each.
const MOST_PAIRS: usize = 64;

impl Code {
    /// All definitions of a book, by their positions.
    pub fn all(book: &Book) -> Vec<Code> {
        let ordered = order::by_dependence_in_recursions(book);
        ordered.definitions.iter().map(|definition| Code::of(&definition.template)).collect()
    }

    fn of(template: &Template) -> Code {
        let mut pairs = vec![];
        let mut in_pattern = vec![false; template.nodes.len()];
        find_pairs(template, template.root, &mut pairs, &mut in_pattern);
        let template = &behind_wires(template, &pairs);
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
            Kind::Con | Kind::Dup | Kind::Copy => match position(word.index() as u32) {
                Some(at) if word.kind() == Kind::Con => Pattern::Pair(at as u32),
                Some(at) => Pattern::Copy(at as u32),
                None => Pattern::Other(operand(word)),
            },
            Kind::Ref | Kind::Era | Kind::Num | Kind::Opr | Kind::Swi | Kind::Clo | Kind::Box => {
                Pattern::Other(operand(word))
            }
        };
        let made = pairs.iter().map(|at| {
            let parts = template.nodes[*at as usize].1.map(&pattern);
            Pair { node: node(*at as usize), parts }
        });
        let made: Vec<Pair> = made.collect();
        let (mut waiting, mut links, mut waits) = (vec![], vec![], vec![false; template.nodes.len()]);
        for (a, b) in &template.links {
            let (port, tree) = if a.kind() == Kind::Var { (*a, *b) } else { (*b, *a) };
            let found = if port.kind() == Kind::Var && waiting.len() < MOST_WAITING {
                waits_at(template, tree)
            } else {
                vec![]
            };
            let nodes: Vec<Node> = found.iter().map(|at| node(*at)).collect();
            let what = match &nodes[..] {
                [choice, arms] if choice.kind == Kind::Swi => What::Choose { choice: *choice, arms: *arms },
                [] => {
                    links.push((operand(*a), operand(*b)));
                    continue;
                }
                _ => What::Operate(nodes),
            };
            found.into_iter().for_each(|at| waits[at] = true);
            waiting.push(Waiting { port: wire_register(port.index() as u32), what });
        }
        let registers = 1 + template.wires as usize + template.nodes.len();
        let mut leads = vec![false; registers];
        for (wire, is_guarded) in guarded.iter().enumerate() {
            leads[wire_register(wire as u32) as usize] = *is_guarded;
        }
        Code {
            registers,
            nodes: template.nodes.len(),
            wires: template.wires as usize,
            root: pattern(template.root),
            pairs: made,
            body: (0..template.nodes.len()).filter(|at| !in_pattern[*at] && !waits[*at]).map(node).collect(),
            waiting,
            guarded: leads,
            links,
        }
    }
}

/// The same net, but what may wait for a number at a part of the pattern's pairs is a redex with a wire there, as if it had been written so. It then waits as
/// all others do.
fn behind_wires(template: &Template, pairs: &[u32]) -> Template {
    let mut changed = template.clone();
    let mut redexes = vec![];
    for pair in pairs {
        for part in &mut changed.nodes[*pair as usize].1 {
            if !waits_at(template, *part).is_empty() {
                let wire = Word::new(Kind::Var, changed.wires);
                changed.wires += 1;
                redexes.push((wire, std::mem::replace(part, wire)));
            }
        }
    }
    // What they give may be what others wait for.
    redexes.append(&mut changed.links);
    changed.links = redexes;
    changed
}

/// The nodes of a tree that may wait for a number: operations one behind the other, or a choice and its arms.
fn waits_at(template: &Template, tree: Word) -> Vec<usize> {
    let mut found = vec![];
    match tree.kind() {
        Kind::Opr => {
            let mut next = tree;
            while next.kind() == Kind::Opr {
                found.push(next.index());
                next = template.nodes[next.index()].1[1];
            }
        }
        Kind::Swi => {
            let arms = template.nodes[tree.index()].1[0];
            if arms.kind() == Kind::Con {
                found.extend([tree.index(), arms.index()]);
            }
        }
        Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Con | Kind::Dup | Kind::Copy | Kind::Clo | Kind::Box => {}
    }
    found
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

/// The pairs and duplications that hang together with the root.
fn find_pairs(template: &Template, root: Word, pairs: &mut Vec<u32>, found: &mut [bool]) {
    let mut pending = vec![root];
    while let Some(word) = pending.pop() {
        if matches!(word.kind(), Kind::Con | Kind::Dup | Kind::Copy) && pairs.len() < MOST_PAIRS {
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
