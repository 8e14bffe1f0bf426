//! The sequential machine of nets, which is right rather than fast: it does what the rows of [`super::rules`] say, one redex after the other.
//!
//! What is to be done is in a bag, never on the native stack. Memory, interactions and time are bounded, so a net without an end stops
//! with an error that says which bound it met.

use super::book::{Book, DefinitionId, Template};
use super::boxed::Computed;
use super::heap::Heap;
use super::rule_matching::{self, Ports, Size, Stop};
use super::rules::{Effect, Outcome, Part, Row, Rule, When, meeting};
use super::word::{Kind, Word};
use super::worker::code::Code;
use girih_base::diag::Diagnostic;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What a run may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most bytes of nodes, wires and waiting redexes.
    pub memory: u64,
    /// The most interactions.
    pub interactions: Option<u64>,
    /// Raised from outside to stop it.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 4 << 30, interactions: None, interrupt: None }
    }
}

/// How many interactions of each rule were done, and what they needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    rules: [u64; Rule::ALL.len()],
    /// The most bytes that nodes and wires have taken.
    pub bytes: u64,
    /// The most redexes that have waited.
    pub waiting: u64,
}

impl Counts {
    /// How often a rule was applied.
    pub fn of(&self, rule: Rule) -> u64 {
        self.rules[rule as usize]
    }

    /// So many more of a rule.
    #[inline(always)]
    pub(super) fn add(&mut self, rule: Rule, count: u64) {
        self.rules[rule as usize] += count;
    }

    /// All interactions. Links are none.
    pub fn total(&self) -> u64 {
        Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link).map(|rule| self.of(rule)).sum()
    }
}

/// What reduces the net of a machine: the machine itself, the cores of the host, a device.
pub trait Reducer {
    /// Reduces it until nothing is left to be done.
    ///
    /// # Errors
    /// As [`Machine::run`]; if what reduces it fails.
    fn reduce(&mut self, machine: &mut Machine<'_>) -> Result<(), Diagnostic>;

    /// The same, if what a port leads to is all that is needed of the net; and the port, which may be another one then.
    ///
    /// # Errors
    /// As [`reduce`](Reducer::reduce).
    fn reduce_for(&mut self, machine: &mut Machine<'_>, port: Word) -> Result<Word, Diagnostic> {
        self.reduce(machine)?;
        Ok(port)
    }
}

/// The machine itself, one redex after the other.
#[derive(Clone, Copy, Debug)]
pub struct InTurn;

impl Reducer for InTurn {
    fn reduce(&mut self, machine: &mut Machine<'_>) -> Result<(), Diagnostic> {
        machine.run()
    }
}

/// How many bytes a redex takes.
const REDEX_BYTES: u64 = 8;
/// How many redexes are reduced between two looks at whether to stop.
const PACE: u64 = 1 << 12;

/// A net that is being reduced.
pub struct Machine<'b> {
    book: &'b Book,
    /// Nodes and wires.
    pub heap: Heap,
    urgent: Vec<(Word, Word)>,
    others: Vec<(Word, Word)>,
    counts: Counts,
    limits: Limits,
    /// The nodes and wires of a template while it is put into the heap.
    placed: Vec<Word>,
    wires: Vec<Word>,
    seed: Option<u64>,
    /// The definitions made ready for workers, once there were any.
    codes: OnceLock<Arc<[Code]>>,
}

impl<'b> Machine<'b> {
    /// An empty net.
    pub fn new(book: &'b Book, limits: Limits) -> Machine<'b> {
        let heap = Heap::new(limits.memory);
        Machine {
            book,
            heap,
            urgent: vec![],
            others: vec![],
            counts: Counts::default(),
            limits,
            placed: vec![],
            wires: vec![],
            seed: None,
            codes: OnceLock::new(),
        }
    }

    /// Takes redexes in an order that the seed chooses; none for the usual one.
    pub fn in_order(mut self, seed: Option<u64>) -> Machine<'b> {
        self.seed = seed;
        self
    }

    /// The definitions.
    pub fn book(&self) -> &'b Book {
        self.book
    }

    /// The definitions, made ready for workers. A net with effects is reduced again after each of them.
    pub(super) fn codes(&self) -> Arc<[Code]> {
        self.codes.get_or_init(|| Code::all(self.book).into()).clone()
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A wire that is not linked yet.
    ///
    /// # Errors
    /// If there is no room.
    pub fn wire(&mut self) -> Result<Word, Diagnostic> {
        self.heap.wire().map_err(|full| self.diagnostic(full.into()))
    }

    /// A node.
    ///
    /// # Errors
    /// If there is no room.
    pub fn node(&mut self, kind: Kind, parts: [Word; 2]) -> Result<Word, Diagnostic> {
        self.heap.node(kind, parts).map_err(|full| self.diagnostic(full.into()))
    }

    /// Puts the net of a definition into the heap, and gives its root.
    ///
    /// # Errors
    /// If there is no room.
    pub fn place(&mut self, definition: DefinitionId) -> Result<Word, Diagnostic> {
        let book = self.book;
        self.counts.rules[Rule::Call as usize] += 1;
        self.put(&book.definitions[definition].template).map_err(|stop| self.diagnostic(stop))
    }

    /// Joins two ports: a redex, or a wire.
    pub fn link(&mut self, mut a: Word, mut b: Word) {
        loop {
            if a.kind() != Kind::Var {
                std::mem::swap(&mut a, &mut b);
            }
            if a.kind() != Kind::Var {
                return self.push(a, b);
            }
            b = self.heap.enter(b);
            let before = self.heap.exchange(a, b);
            if before == Word::NONE {
                return;
            }
            self.heap.free_wire(a);
            a = before;
        }
    }

    /// Gives back the places of a value, but for one of its parts. What is linked with the rest of the net there is erased.
    pub(super) fn release(&mut self, value: Word, kept: Word) {
        let mut ends = BTreeSet::new();
        let mut pending = vec![value];
        while let Some(word) = pending.pop() {
            if word == kept {
                continue;
            }
            let heap = &mut self.heap;
            match word.kind() {
                Kind::Var if heap.at(word) != Word::NONE => {
                    pending.push(heap.at(word));
                    heap.free_wire(word);
                }
                // Both ends are here, or the other one is somewhere else.
                Kind::Var if ends.remove(&word.0) => heap.free_wire(word),
                Kind::Var => _ = ends.insert(word.0),
                Kind::Ref | Kind::Era | Kind::Num => {}
                Kind::Box => heap.free_node(word),
                Kind::Con | Kind::Dup | Kind::Copy | Kind::Opr | Kind::Swi | Kind::Clo => {
                    pending.extend(heap.parts(word));
                    heap.free_node(word);
                }
            }
        }
        ends.into_iter().for_each(|wire| self.link(Word::ERA, Word(wire)));
    }

    /// Its memory and what is to be done, for another machine; this one's net is empty meanwhile.
    pub(super) fn take(&mut self) -> (Heap, Vec<(Word, Word)>) {
        let heap = std::mem::replace(&mut self.heap, Heap::new(self.limits.memory));
        let mut redexes = std::mem::take(&mut self.others);
        redexes.append(&mut self.urgent);
        (heap, redexes)
    }

    /// What another machine has made of the net, and what it has counted.
    pub(super) fn give(&mut self, heap: Heap, redexes: Vec<(Word, Word)>, counts: &Counts) {
        self.heap = heap;
        redexes.into_iter().for_each(|(a, b)| self.push(a, b));
        Rule::ALL.into_iter().for_each(|rule| self.counts.add(rule, counts.of(rule)));
        self.counts.bytes = self.counts.bytes.max(counts.bytes);
        self.counts.waiting = self.counts.waiting.max(counts.waiting);
    }

    /// Whether nothing is to be done.
    pub fn is_done(&self) -> bool {
        self.urgent.is_empty() && self.others.is_empty()
    }

    /// What it may take.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The redexes that wait, the one that [`step`](Machine::step) takes first.
    pub fn waiting(&self) -> impl Iterator<Item = (Word, Word)> {
        self.urgent.iter().rev().chain(self.others.iter().rev()).copied()
    }

    /// Reduces one redex, and says by which rule; none if nothing is left to be done.
    ///
    /// # Errors
    /// As [`run`](Machine::run).
    pub fn step(&mut self) -> Result<Option<Rule>, Diagnostic> {
        self.note_sizes();
        let stepped = self.check_limits().and_then(|()| {
            let Some((a, b)) = self.pop() else { return Ok(None) };
            let (row, _) = meeting(a.kind(), b.kind());
            self.interact(a, b).map(|()| Some(row.rule))
        });
        stepped.map_err(|stop| self.diagnostic(stop))
    }

    fn push(&mut self, a: Word, b: Word) {
        let (row, _) = meeting(a.kind(), b.kind());
        if row.rule.is_urgent() { self.urgent.push((a, b)) } else { self.others.push((a, b)) }
    }

    /// Reduces until nothing is left to be done.
    ///
    /// # Errors
    /// If a limit is met, if an operation has no result, and in checked nets if a value is used as what it is not.
    pub fn run(&mut self) -> Result<(), Diagnostic> {
        let result = self.reduce();
        self.note_sizes();
        result.map_err(|stop| self.diagnostic(stop))
    }

    fn reduce(&mut self) -> Result<(), Stop> {
        loop {
            self.note_sizes();
            self.check_limits()?;
            for _ in 0..PACE {
                let Some((a, b)) = self.pop() else { return Ok(()) };
                self.interact(a, b)?;
            }
        }
    }

    fn pop(&mut self) -> Option<(Word, Word)> {
        if let Some(seed) = &mut self.seed {
            // A linear congruential generator chooses the bag and the place in it.
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (*seed >> 33) as usize;
            let urgent = !self.urgent.is_empty() && (self.others.is_empty() || random.is_multiple_of(2));
            let bag = if urgent { &mut self.urgent } else { &mut self.others };
            let at = random.checked_rem(bag.len())?;
            return Some(bag.swap_remove(at));
        }
        self.urgent.pop().or_else(|| self.others.pop())
    }

    fn note_sizes(&mut self) {
        let waiting = (self.urgent.len() + self.others.len()) as u64;
        self.counts.bytes = self.counts.bytes.max(self.heap.bytes());
        self.counts.waiting = self.counts.waiting.max(waiting);
    }

    fn check_limits(&self) -> Result<(), Stop> {
        let Limits { memory, interactions, interrupt } = &self.limits;
        let waiting = (self.urgent.len() + self.others.len()) as u64;
        if interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stop::Interrupted);
        }
        if self.heap.bytes() + waiting * REDEX_BYTES > *memory {
            return Err(Stop::Memory);
        }
        match interactions {
            Some(most) if self.counts.total() >= *most => Err(Stop::Interactions),
            Some(_) | None => Ok(()),
        }
    }

    fn interact(&mut self, a: Word, b: Word) -> Result<(), Stop> {
        let (row, swapped) = meeting(a.kind(), b.kind());
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        rule_matching::allowed(self.book, row, a, b)?;
        self.counts.rules[row.rule as usize] += 1;
        match row.effect {
            Effect::Link => self.link(a, b),
            Effect::Call => {
                let book = self.book;
                let root = self.put(&book.definitions[DefinitionId::new(a.index() as u32)].template)?;
                self.link(root, b);
            }
            Effect::Rewrite(outcomes) => return self.rewrite(row, outcomes, a, b),
            // Who asked whether it is allowed has heard that it is not.
            Effect::Broken => {}
        }
        Ok(())
    }

    /// Puts a template into the heap; its root is for the caller to link.
    fn put(&mut self, template: &Template) -> Result<Word, Stop> {
        let mut wires = std::mem::take(&mut self.wires);
        let mut placed = std::mem::take(&mut self.placed);
        wires.clear();
        placed.clear();
        for _ in 0..template.wires {
            wires.push(self.heap.wire()?);
        }
        for (kind, parts) in &template.nodes {
            placed.push(self.heap.node(*kind, *parts)?);
        }
        let at = |word: Word| match word.kind() {
            Kind::Var => wires[word.index()],
            kind if kind.is_node() => placed[word.index()],
            _ => word,
        };
        for (node, (kind, parts)) in placed.iter().zip(&template.nodes) {
            if *kind != Kind::Box {
                self.heap.set_parts(*node, parts.map(at));
            }
        }
        for (a, b) in &template.links {
            self.link(at(*a), at(*b));
        }
        let root = at(template.root);
        self.wires = wires;
        self.placed = placed;
        Ok(root)
    }

    fn rewrite(&mut self, row: &Row, outcomes: &'static [Outcome], a: Word, b: Word) -> Result<(), Stop> {
        let mut ports = Ports { a, b, left: self.parts(a), right: self.parts(b), ..Ports::default() };
        let (when, number) =
            rule_matching::decide(self.book, row, [a, b], [ports.left, ports.right], |word| self.parts(word))?;
        if row.rule == Rule::Operate && when == When::Ready {
            if ports.right[0].kind() == Kind::Box {
                self.heap.free_node(ports.right[0]);
            }
            // What is linked with a result is looked up now, as upstream does; nothing depends on it.
            ports.right[1] = self.heap.enter(ports.right[1]);
        }
        let number = match number {
            Computed::Word(word) => word,
            Computed::Box(words) => self.heap.node(Kind::Box, words)?,
        };
        let outcome = rule_matching::fitting(outcomes, when);
        self.free(Part::A, a, outcome);
        self.free(Part::B, b, outcome);
        for wire in 0..outcome.wires {
            ports.wires[usize::from(wire)] = self.heap.wire()?;
        }
        for (i, (made, _)) in outcome.nodes.iter().enumerate() {
            ports.made[i] = self.heap.node(made.kind(a, b), [Word::NONE; 2])?;
        }
        for (i, (_, parts)) in outcome.nodes.iter().enumerate() {
            self.heap.set_parts(ports.made[i], parts.map(|part| ports.word(part, number)));
        }
        for (left, right) in outcome.links {
            self.link(ports.word(*left, number), ports.word(*right, number));
        }
        Ok(())
    }

    fn parts(&self, word: Word) -> [Word; 2] {
        if word.kind().is_node() { self.heap.parts(word) } else { [Word::NONE; 2] }
    }

    /// Frees a node that does not occur in what takes its place.
    fn free(&mut self, own: Part, word: Word, outcome: &Outcome) {
        if word.kind().is_node() && !outcome.keeps(own) {
            self.heap.free_node(word);
        }
    }

    fn diagnostic(&self, stop: Stop) -> Diagnostic {
        let (nodes, wires) = self.heap.live();
        let waiting = self.urgent.len() + self.others.len();
        let size = Size { nodes, wires, waiting, limit: self.limits.memory, interactions: self.counts.total() };
        stop.diagnostic(self.book, &size)
    }
}
