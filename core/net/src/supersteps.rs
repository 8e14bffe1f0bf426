//! A machine in supersteps: the model of what devices do, with lanes in any number and order, and with a memory that shows as little as theirs.
//!
//! ```text
//!  bag ──> lanes: a stack of redexes each, steps in any order ──> bag of the next superstep
//!          │ exchange a wire: seen by all at once
//!          │ write a node: seen by the lane itself; by others now or later, a part at a time; by all in the next superstep
//! ```
//!
//! Nobody waits for anybody, and no lane knows what another one does, but three rules make that enough:
//!
//! - A wire is given by exchanges alone, at most two in its life. 0 says that nobody has been there. Who has the other end may look before the
//!   second one: what somebody has left there is its own.
//! - A part of a node is never 0. Who finds a 0 in one looks at a node that is still on its way; its redex goes to the next superstep.
//! - What was freed in a superstep is 0 by its end, and is used again in a later one only. So what is not 0 is never something old.
//!
//! Interactions are those of the table, and so are their counts: whatever the schedule, they are those of the sequential machine.

use super::book::{Book, DefinitionId, Template};
use super::boxed::Computed;
use super::heap::{Heap, NODE_BYTES, WIRE_BYTES};
use super::reduce::{Counts, Machine};
use super::rule_matching::{self, Ports, Size, Stop};
use super::rules::{Effect, Outcome, Part, Row, Rule, When, meeting};
use super::word::{INDICES, Kind, Word};
use girih_base::diag::Diagnostic;
use std::sync::atomic::Ordering;

/// How a run goes. Nothing that comes out depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The most lanes of a superstep; how many it has is drawn.
    pub lanes: usize,
    /// The most interactions that a lane starts in a superstep; how many it may is drawn.
    pub steps: u32,
    /// What all is drawn from.
    pub seed: u64,
}

/// What a run in supersteps took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supersteps {
    /// How many there were.
    pub supersteps: u64,
    /// How often a lane found a node that was still on its way.
    pub deferred: u64,
}

/// Reduces the net of a machine until nothing is left to be done, and gives it back.
///
/// # Errors
/// As [`Machine::run`].
pub fn run(machine: &mut Machine<'_>, schedule: Schedule) -> Result<Supersteps, Diagnostic> {
    let book = machine.book();
    let limits = machine.limits().clone();
    let (heap, redexes) = machine.take();
    let mut run = Run {
        book,
        memory: Memory::new(heap, limits.memory),
        bag: redexes,
        next: vec![],
        counts: Counts::default(),
        done: Supersteps::default(),
        random: Random(schedule.seed),
    };
    let result = loop {
        run.note();
        let interrupted = limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        let before = machine.counts().total();
        match (run.bag.is_empty(), limits.interactions) {
            (true, _) => break Ok(()),
            (false, _) if interrupted => break Err(Stop::Interrupted),
            (false, Some(most)) if before + run.counts.total() >= most => break Err(Stop::Interactions),
            (false, _) if run.bytes() > limits.memory => break Err(Stop::Memory),
            (false, _) => {}
        }
        if let Err(stop) = run.superstep(&schedule) {
            break Err(stop);
        }
    };
    let Run { memory, bag, counts, done, .. } = run;
    let waiting = bag.len();
    let heap = memory.heap(limits.memory);
    let (nodes, wires) = heap.live();
    machine.give(heap, bag, &counts);
    let size = Size { nodes, wires, waiting, limit: limits.memory, interactions: machine.counts().total() };
    result.map(|()| done).map_err(|stop| stop.diagnostic(book, &size))
}

/// A linear congruential generator.
struct Random(u64);

impl Random {
    /// A number below a bound, 0 if that is 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize).checked_rem(bound).unwrap_or(0)
    }
}

/// A word of a node: as it was when the superstep began, and as it is.
#[derive(Clone, Copy, Default)]
struct Cell {
    before: [Word; 2],
    now: [Word; 2],
    /// The lane that has written it in this superstep, plus one.
    writer: u32,
}

/// Nodes and wires as lanes see them.
struct Memory {
    nodes: Vec<Cell>,
    wires: Vec<Word>,
    /// Nodes and wires that may be used.
    free: [Vec<u32>; 2],
    /// Those that may be when this superstep has ended.
    freed: [Vec<u32>; 2],
    /// Nodes that were written in this superstep.
    written: Vec<u32>,
    limit: u64,
}

const NODES: usize = 0;
const WIRES: usize = 1;

impl Memory {
    fn new(heap: Heap, limit: u64) -> Memory {
        let (nodes, mut wires, free) = heap.into_parts();
        let mut nodes: Vec<Cell> = nodes.into_iter().map(|now| Cell { before: now, now, writer: 0 }).collect();
        // What is free is 0 when a superstep begins.
        free[NODES].iter().for_each(|i| nodes[*i as usize] = Cell::default());
        free[WIRES].iter().for_each(|i| wires[*i as usize] = Word::NONE);
        Memory { nodes, wires, free, freed: [vec![], vec![]], written: vec![], limit }
    }

    fn heap(mut self, limit: u64) -> Heap {
        self.end_superstep();
        Heap::of(self.nodes.into_iter().map(|cell| cell.now).collect(), self.wires, self.free, limit)
    }

    fn bytes(&self) -> u64 {
        self.nodes.len() as u64 * NODE_BYTES + self.wires.len() as u64 * WIRE_BYTES
    }

    /// A place for a node.
    fn node(&mut self) -> Result<u32, Stop> {
        if let Some(index) = self.free[NODES].pop() {
            return Ok(index);
        }
        let index = self.nodes.len() as u32;
        if index == INDICES || self.bytes() + NODE_BYTES > self.limit {
            return Err(Stop::Memory);
        }
        self.nodes.push(Cell::default());
        Ok(index)
    }

    fn wire(&mut self) -> Result<Word, Stop> {
        let index = match self.free[WIRES].pop() {
            Some(index) => index,
            None => {
                let index = self.wires.len() as u32;
                if index == INDICES || self.bytes() + WIRE_BYTES > self.limit {
                    return Err(Stop::Memory);
                }
                self.wires.push(Word::NONE);
                index
            }
        };
        Ok(Word::new(Kind::Var, index))
    }

    fn write(&mut self, lane: usize, index: u32, parts: [Word; 2]) {
        let cell = &mut self.nodes[index as usize];
        cell.now = parts;
        cell.writer = lane as u32 + 1;
        self.written.push(index);
    }

    /// The parts of a node, if this lane sees both.
    fn read(&self, lane: usize, index: u32, random: &mut Random) -> Option<[Word; 2]> {
        let cell = self.nodes[index as usize];
        if cell.writer == 0 || cell.writer == lane as u32 + 1 {
            return Some(cell.now);
        }
        let seen = [0, 1].map(|part| if random.below(2) == 0 { cell.before[part] } else { cell.now[part] });
        seen.iter().all(|word| *word != Word::NONE).then_some(seen)
    }

    fn free_node(&mut self, lane: usize, index: u32) {
        self.write(lane, index, [Word::NONE; 2]);
        self.freed[NODES].push(index);
    }

    fn end_superstep(&mut self) {
        for index in self.written.drain(..) {
            let cell = &mut self.nodes[index as usize];
            *cell = Cell { before: cell.now, now: cell.now, writer: 0 };
        }
        for (free, freed) in self.free.iter_mut().zip(&mut self.freed) {
            free.append(freed);
        }
    }
}

/// What a lane has to do.
#[derive(Default)]
struct Lane {
    redexes: Vec<(Word, Word)>,
    /// What the interaction links that it is at.
    links: Vec<(Word, Word)>,
    /// Interactions that it may start.
    steps: u32,
}

struct Run<'b> {
    book: &'b Book,
    memory: Memory,
    /// Redexes of this superstep that no lane has taken.
    bag: Vec<(Word, Word)>,
    /// Redexes of the next one.
    next: Vec<(Word, Word)>,
    counts: Counts,
    done: Supersteps,
    random: Random,
}

impl Run<'_> {
    fn bytes(&self) -> u64 {
        self.memory.bytes() + 8 * self.bag.len() as u64
    }

    fn note(&mut self) {
        self.counts.bytes = self.counts.bytes.max(self.memory.bytes());
        self.counts.waiting = self.counts.waiting.max(self.bag.len() as u64);
    }

    /// Lanes take redexes from the bag and go on with what these leave, a step of a lane after a step of any other one.
    fn superstep(&mut self, schedule: &Schedule) -> Result<(), Stop> {
        self.done.supersteps += 1;
        let count = 1 + self.random.below(schedule.lanes);
        let steps = |random: &mut Random| 1 + random.below(schedule.steps as usize) as u32;
        let mut lanes: Vec<Lane> =
            (0..count).map(|_| Lane { steps: steps(&mut self.random), ..Lane::default() }).collect();
        let mut going: Vec<usize> = (0..count).collect();
        while !going.is_empty() {
            let at = self.random.below(going.len());
            let lane = going[at];
            if !self.step(lane, &mut lanes[lane])? {
                going.swap_remove(at);
            }
        }
        self.memory.end_superstep();
        for lane in &mut lanes {
            self.next.append(&mut lane.redexes);
        }
        self.bag.append(&mut self.next);
        Ok(())
    }

    /// One exchange of a wire, or all of an interaction up to its links. False if the lane has ended its superstep.
    fn step(&mut self, number: usize, lane: &mut Lane) -> Result<bool, Stop> {
        if let Some((a, b)) = lane.links.pop() {
            self.link(lane, a, b);
            return Ok(true);
        }
        if lane.steps == 0 {
            return Ok(false);
        }
        lane.steps -= 1;
        let taken = lane.redexes.pop().or_else(|| {
            let at = self.random.below(self.bag.len());
            (at < self.bag.len()).then(|| self.bag.swap_remove(at))
        });
        match taken {
            Some((a, b)) => self.interact(number, lane, a, b).map(|()| true),
            None => Ok(false),
        }
    }

    fn link(&mut self, lane: &mut Lane, a: Word, b: Word) {
        let (end, mut other) = if a.kind() == Kind::Var { (a, b) } else { (b, a) };
        if end.kind() != Kind::Var {
            return lane.redexes.push((a, b));
        }
        // Whoever has been at the other end of a wire may have been there just now, unseen.
        while other.kind() == Kind::Var && self.memory.wires[other.index()] != Word::NONE && self.random.below(4) != 0 {
            let beyond = std::mem::replace(&mut self.memory.wires[other.index()], Word::NONE);
            self.memory.freed[WIRES].push(other.index() as u32);
            other = beyond;
        }
        let wire = &mut self.memory.wires[end.index()];
        let before = std::mem::replace(wire, other);
        if before != Word::NONE {
            // Both ends have been here: the wire is free.
            *wire = Word::NONE;
            self.memory.freed[WIRES].push(end.index() as u32);
            lane.links.push((before, other));
        }
    }

    /// The parts of a port, if this lane sees them; what is no node has none.
    fn parts(&mut self, lane: usize, word: Word) -> Option<[Word; 2]> {
        if !word.kind().is_node() {
            return Some([Word::NONE; 2]);
        }
        self.memory.read(lane, word.index() as u32, &mut self.random)
    }

    fn interact(&mut self, number: usize, lane: &mut Lane, a: Word, b: Word) -> Result<(), Stop> {
        let (row, swapped) = meeting(a.kind(), b.kind());
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        rule_matching::allowed(self.book, row, a, b)?;
        let (Some(left), Some(right)) = (self.parts(number, a), self.parts(number, b)) else {
            return self.defer(a, b);
        };
        let operand = match row.rule {
            Rule::Operate if right[0].kind() == Kind::Box => match self.parts(number, right[0]) {
                Some(words) => words,
                None => return self.defer(a, b),
            },
            _ => [Word::NONE; 2],
        };
        let ports = Ports { a, b, left, right, ..Ports::default() };
        self.counts.add(row.rule, 1);
        match row.effect {
            Effect::Link => lane.links.push((a, b)),
            Effect::Call => {
                let book = self.book;
                let template = &book.definitions[DefinitionId::new(a.index() as u32)].template;
                let root = self.expand(number, lane, template)?;
                lane.links.push((root, b));
            }
            Effect::Rewrite(outcomes) => self.rewrite(number, lane, row, outcomes, ports, operand)?,
            // Who asked whether it is allowed has heard that it is not.
            Effect::Broken => {}
        }
        Ok(())
    }

    fn defer(&mut self, a: Word, b: Word) -> Result<(), Stop> {
        self.done.deferred += 1;
        self.next.push((a, b));
        Ok(())
    }

    fn rewrite(
        &mut self,
        number: usize,
        lane: &mut Lane,
        row: &Row,
        outcomes: &'static [Outcome],
        mut ports: Ports,
        operand: [Word; 2],
    ) -> Result<(), Stop> {
        let parts = [ports.left, ports.right];
        let (when, result) = rule_matching::decide(self.book, row, [ports.a, ports.b], parts, |_| operand)?;
        if row.rule == Rule::Operate && when == When::Ready && ports.right[0].kind() == Kind::Box {
            self.memory.free_node(number, ports.right[0].index() as u32);
        }
        let result = match result {
            Computed::Word(word) => word,
            Computed::Box(words) => {
                let index = self.memory.node()?;
                self.memory.write(number, index, words);
                Word::new(Kind::Box, index)
            }
        };
        let outcome = rule_matching::fitting(outcomes, when);
        for (own, word) in [(Part::A, ports.a), (Part::B, ports.b)] {
            if word.kind().is_node() && !outcome.keeps(own) {
                self.memory.free_node(number, word.index() as u32);
            }
        }
        for wire in 0..outcome.wires {
            ports.wires[usize::from(wire)] = self.memory.wire()?;
        }
        for (i, (made, _)) in outcome.nodes.iter().enumerate() {
            ports.made[i] = Word::new(made.kind(ports.a, ports.b), self.memory.node()?);
        }
        for (i, (_, parts)) in outcome.nodes.iter().enumerate() {
            let parts = parts.map(|part| ports.word(part, result));
            self.memory.write(number, ports.made[i].index() as u32, parts);
        }
        lane.links.extend(outcome.links.iter().map(|(a, b)| (ports.word(*a, result), ports.word(*b, result))));
        Ok(())
    }

    /// Puts a definition's net into the memory; its root is for the caller to link.
    fn expand(&mut self, number: usize, lane: &mut Lane, template: &Template) -> Result<Word, Stop> {
        let wires = (0..template.wires).map(|_| self.memory.wire()).collect::<Result<Vec<_>, _>>()?;
        let places = template.nodes.iter().map(|_| self.memory.node()).collect::<Result<Vec<_>, _>>()?;
        let at = |word: Word| match word.kind() {
            Kind::Var => wires[word.index()],
            kind if kind.is_node() => Word::new(kind, places[word.index()]),
            _ => word,
        };
        for (place, (kind, parts)) in places.iter().zip(&template.nodes) {
            let parts = if *kind == Kind::Box { *parts } else { parts.map(at) };
            self.memory.write(number, *place, parts);
        }
        lane.redexes.extend(template.links.iter().map(|(a, b)| (at(*a), at(*b))));
        Ok(at(template.root))
    }
}
