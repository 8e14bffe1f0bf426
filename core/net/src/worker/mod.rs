//! A worker: what a core of the host does with redexes, fast.
//!
//! | what | see |
//! |---|---|
//! | redexes, links, and the rows of the table | this file |
//! | calls, and choices and operations that go on at once | [`call`], [`number`] |
//! | definitions made ready | [`code`] |
//! | memory, its own or shared | [`memory`] |
//!
//! The compiler makes a branch of its own from each row of the table of rules. In addition, a worker goes on at once where the
//! next interaction is already determined, without a redex in between: a call meets its arguments, a choice its arms, an operation the next one. These
//! are the same interactions, and they are counted.
//!
//! Invariant: before an interaction there are as many free places as it can need, so an interaction never runs out of memory.

pub mod call;
pub mod code;
pub mod memory;
pub mod number;

use super::book::{Book, DefinitionId, Semantics};
use super::reduce::Counts;
use super::rule_matching::{Ports, Stop};
use super::rules::{Effect, Outcome, Part, ROWS, Row, Rule, TABLE};
use super::word::{Kind, Word};
use code::Code;
use girih_base::diag::Code as Error;
use memory::Memory;

/// Two ports that meet.
pub type Redex = (Word, Word);

/// Places that an interaction needs at most, if it is no call.
const LEAST: usize = 8;

/// For two kinds, four bits each: the position of their row, and whether they stand the other way round in it, and whether it is done before others.
static MEETINGS: [u8; 256] = meetings();
const ROW: u8 = 0x3F;
const SWAPPED: u8 = 0x80;
const URGENT: u8 = 0x40;

const fn meetings() -> [u8; 256] {
    let mut meetings = [0; 256];
    let mut pair = 0;
    while pair < 256 {
        let entry = TABLE[kind_of(pair >> 4)][kind_of(pair & 15)];
        let swapped = if entry.swapped { SWAPPED } else { 0 };
        let urgent = if ROWS[entry.row as usize].rule.is_urgent() { URGENT } else { 0 };
        meetings[pair] = entry.row | swapped | urgent;
        pair += 1;
    }
    meetings
}

/// The position of the kind that the lower bits of a word say.
const fn kind_of(bits: usize) -> usize {
    Word(bits as u32).kind() as usize
}

#[inline(always)]
fn meeting(a: Word, b: Word) -> u8 {
    MEETINGS[((a.0 & 15) << 4 | b.0 & 15) as usize]
}

/// Whether a word is a pair.
#[inline(always)]
fn is_pair(word: Word) -> bool {
    word.0 & 15 == Kind::Con as u32
}

#[inline(always)]
fn is_wire(word: Word) -> bool {
    word.0 & 15 == Kind::Var as u32
}

/// What a core has and does.
pub struct Worker<'b, M> {
    book: &'b Book,
    codes: &'b [Code],
    /// Nodes and wires.
    pub memory: M,
    /// Redexes that make the net smaller.
    pub urgent: Vec<Redex>,
    /// All others.
    pub others: Vec<Redex>,
    /// Places that may be used. Wires there are 0.
    pub free_nodes: Vec<u32>,
    /// The same for wires.
    pub free_wires: Vec<u32>,
    /// What was done.
    pub counts: Counts,
    /// What a call knows.
    registers: Vec<Word>,
    /// What a call's pattern has still to meet.
    pending: Vec<(code::Pattern, Word)>,
    /// What it has not met, and is to be linked.
    unmet: Vec<(code::Pattern, Word)>,
    /// Operations of a call that have one number and wait for another: of what waits, how many are done, and that number.
    partial: Vec<(usize, usize, Word)>,
    /// A definition that meets a pair of these parts, right after what is done now.
    next: Option<(Word, [Word; 2])>,
    /// Why it cannot go on.
    stop: Option<Stop>,
}

impl<'b, M: Memory> Worker<'b, M> {
    /// One without anything to do. `free` are the places for nodes and wires that it may use.
    pub fn new(book: &'b Book, codes: &'b [Code], memory: M, free: [Vec<u32>; 2]) -> Worker<'b, M> {
        let [free_nodes, free_wires] = free;
        let registers = codes.iter().map(|code| code.registers).max().unwrap_or(1);
        Worker {
            book,
            codes,
            memory,
            urgent: vec![],
            others: vec![],
            free_nodes,
            free_wires,
            counts: Counts::default(),
            registers: vec![Word::NONE; registers],
            pending: vec![],
            unmet: vec![],
            partial: vec![],
            next: None,
            stop: None,
        }
    }

    /// Redexes that wait.
    pub fn waiting(&self) -> usize {
        self.urgent.len() + self.others.len()
    }

    /// Does one redex. False if there is none, or if it cannot be done.
    ///
    /// # Errors
    /// If the net cannot go on.
    #[inline(always)]
    pub fn step(&mut self) -> Result<bool, Stop> {
        let (a, b) = match self.urgent.pop() {
            Some(redex) => redex,
            None => match self.others.pop() {
                Some(redex) => redex,
                None => return Ok(false),
            },
        };
        if self.free_nodes.len() < LEAST || self.free_wires.len() < LEAST {
            self.refill(LEAST, LEAST)?;
        }
        self.interact(a, b);
        while let Some((definition, parts)) = self.next.take() {
            self.call_with(definition, parts);
        }
        match self.stop.take() {
            None => Ok(true),
            Some(stop) => Err(stop),
        }
    }

    /// Sees to it that so many places are free.
    #[cold]
    fn refill(&mut self, nodes: usize, wires: usize) -> Result<(), Stop> {
        while self.free_nodes.len() < nodes {
            let more = self.memory.more_nodes()?;
            self.free_nodes.extend(more.rev());
        }
        while self.free_wires.len() < wires {
            let more = self.memory.more_wires()?;
            self.free_wires.extend(more.rev());
        }
        Ok(())
    }

    /// A place for a node.
    #[inline(always)]
    fn node(&mut self, kind: Kind) -> Word {
        // There are enough: see `refill`.
        Word::new(kind, self.free_nodes.pop().expect("a place for a node"))
    }

    #[inline(always)]
    fn wire(&mut self) -> Word {
        // There are enough: see `refill`.
        Word::new(Kind::Var, self.free_wires.pop().expect("a place for a wire"))
    }

    #[inline(always)]
    fn free(&mut self, node: Word) {
        self.free_nodes.push(node.index() as u32);
    }

    #[inline(always)]
    fn parts(&mut self, node: Word) -> [Word; 2] {
        self.memory.parts(node.index() as u32)
    }

    #[inline(always)]
    fn write(&mut self, node: Word, parts: [Word; 2]) {
        self.memory.set_parts(node.index() as u32, parts);
    }

    /// Follows wires that are linked already; they are free then.
    #[inline(always)]
    fn enter(&mut self, mut word: Word) -> Word {
        while is_wire(word) {
            let wire = word.index() as u32;
            let next = self.memory.at(wire);
            if next == Word::NONE {
                break;
            }
            self.memory.set(wire, Word::NONE);
            self.free_wires.push(wire);
            word = next;
        }
        word
    }

    /// Joins two ports.
    #[inline(always)]
    fn link(&mut self, mut a: Word, mut b: Word) {
        loop {
            if !is_wire(a) {
                std::mem::swap(&mut a, &mut b);
                if !is_wire(a) {
                    return self.push(a, b);
                }
            }
            let wire = a.index() as u32;
            a = self.memory.exchange(wire, b);
            if a == Word::NONE {
                return;
            }
            self.free_wires.push(wire);
        }
    }

    /// Notes a redex, or does it if two leaves vanish.
    #[inline(always)]
    fn push(&mut self, a: Word, b: Word) {
        let meeting = meeting(a, b);
        if meeting & URGENT == 0 {
            self.others.push((a, b));
        } else if matches!(a.kind(), Kind::Ref | Kind::Era | Kind::Num)
            && matches!(b.kind(), Kind::Ref | Kind::Era | Kind::Num)
        {
            self.counts.add(Rule::Void, 1);
        } else {
            self.urgent.push((a, b));
        }
    }

    /// Notes a redex of the caller's.
    pub fn give(&mut self, (a, b): Redex) {
        let queue = if meeting(a, b) & URGENT == 0 { &mut self.others } else { &mut self.urgent };
        queue.push((a, b));
    }

    /// Whether two ports of a row may meet; if not, that is why the net stops.
    #[inline(always)]
    fn may_meet(&mut self, row: &'static Row, a: Word, b: Word) -> bool {
        let broken = matches!(row.effect, Effect::Broken);
        if broken || row.mistake.is_some() && self.book.semantics == Semantics::Values {
            self.stop = Some(Stop::Mistake(row.mistake.unwrap_or(Error::Internal), a.kind(), b.kind()));
            return false;
        }
        if matches!(row.rule, Rule::Erase) && a.kind() == Kind::Ref && b.kind() == Kind::Dup {
            let id = DefinitionId::new(a.index() as u32);
            if self.book.semantics == Semantics::Net && !self.book.definitions[id].affine {
                self.stop = Some(Stop::Copied(id));
                return false;
            }
        }
        true
    }

    /// What a row says.
    #[inline(always)]
    fn row<const AT: usize>(&mut self, a: Word, b: Word) {
        let row: &'static Row = const { &ROWS[AT] };
        if !self.may_meet(row, a, b) {
            return;
        }
        match row.effect {
            Effect::Link => self.link(a, b),
            Effect::Call => self.call(a, b),
            Effect::Rewrite(outcomes) => match row.rule {
                Rule::Operate => self.operate(a, b),
                Rule::Switch => self.switch(a, b),
                Rule::Link
                | Rule::Call
                | Rule::Void
                | Rule::Erase
                | Rule::Annihilate
                | Rule::Commute
                | Rule::Apply
                | Rule::Replicate => {
                    self.counts.add(row.rule, 1);
                    let left = if row.left[0].is_node() { self.parts(a) } else { [Word::NONE; 2] };
                    let right = if row.right[0].is_node() { self.parts(b) } else { [Word::NONE; 2] };
                    let (made, wires) = ([Word::NONE; 4], [Word::NONE; 4]);
                    self.outcome(row, &outcomes[0], Ports { a, b, left, right, made, wires });
                }
            },
            // Who asked whether they may meet has heard that they may not.
            Effect::Broken => {}
        }
    }

    /// What takes the place of two ports. A row's left ports are nodes or not, all of them, and so are the right ones. All of it is known to the compiler but
    /// the words.
    #[inline(always)]
    fn outcome(&mut self, row: &'static Row, outcome: &'static Outcome, mut ports: Ports) {
        if row.left[0].is_node() && !outcome.keeps(Part::A) {
            self.free(ports.a);
        }
        if row.right[0].is_node() && !outcome.keeps(Part::B) {
            self.free(ports.b);
        }
        macro_rules! each {
            ($i:ident: $($at:literal)* => $body:block) => {
                $({
                    let $i: usize = $at;
                    $body
                })*
            };
        }
        each!(i: 0 1 2 3 => {
            if i < usize::from(outcome.wires) {
                ports.wires[i] = self.wire();
            }
        });
        each!(i: 0 1 2 3 => {
            if i < outcome.nodes.len() {
                ports.made[i] = self.node(outcome.nodes[i].0.kind(ports.a, ports.b));
            }
        });
        each!(i: 0 1 2 3 => {
            if i < outcome.nodes.len() {
                let [first, second] = outcome.nodes[i].1;
                self.write(ports.made[i], [ports.word(first, Word::NONE), ports.word(second, Word::NONE)]);
            }
        });
        each!(i: 0 1 2 3 => {
            if i < outcome.links.len() {
                let (a, b) = outcome.links[i];
                self.link(ports.word(a, Word::NONE), ports.word(b, Word::NONE));
            }
        });
    }
}

/// Writes the branch of each row.
macro_rules! rows {
    ($($at:literal)*) => {
        impl<M: Memory> Worker<'_, M> {
            /// Does what the row of two ports says.
            #[inline(always)]
            fn interact(&mut self, a: Word, b: Word) {
                let meeting = meeting(a, b);
                let (a, b) = if meeting & SWAPPED == 0 { (a, b) } else { (b, a) };
                match meeting & ROW {
                    $($at => self.row::<$at>(a, b),)*
                    // There are no other rows; the next line says so.
                    _ => {}
                }
            }
        }

        const _: () = assert!([$($at),*].len() == ROWS.len());
    };
}

rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25);
