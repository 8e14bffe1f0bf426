//! The sequential machine of nets, which is right rather than fast: it does what the rows of [`super::rules`] say, one redex after the other.
//!
//! What is to be done is in a bag, never on the native stack. Memory, interactions and time are bounded, so a net without an end stops
//! with an error that says which bound it met.

use super::book::{Book, DefinitionId, Semantics, Template};
use super::boxed::{self, Computed, Operand};
use super::heap::{Full, Heap};
use super::number;
use super::rules::{Effect, Made, Outcome, Part, Row, Rule, When, meeting};
use super::word::{Kind, Word};
use crate::diag::{Code, Diagnostic};
use crate::num::{BinOp, Num, NumError};
use crate::span::Span;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

    /// All interactions. Links are none.
    pub fn total(&self) -> u64 {
        Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link).map(|rule| self.of(rule)).sum()
    }
}

/// Why a run has ended before its net was in normal form.
#[derive(Clone, Debug, PartialEq)]
enum Stop {
    Memory,
    Interactions,
    Interrupted,
    Mistake(Code, Kind, Kind),
    Number(NumError),
    Copied(DefinitionId),
}

impl From<Full> for Stop {
    fn from(_: Full) -> Stop {
        Stop::Memory
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
        if self.book.semantics == Semantics::Values
            && let Some(mistake) = row.mistake
        {
            return Err(Stop::Mistake(mistake, a.kind(), b.kind()));
        }
        self.counts.rules[row.rule as usize] += 1;
        match row.effect {
            Effect::Link => self.link(a, b),
            Effect::Call => {
                let book = self.book;
                let root = self.put(&book.definitions[DefinitionId::new(a.index() as u32)].template)?;
                self.link(root, b);
            }
            Effect::Rewrite(outcomes) => return self.rewrite(row, outcomes, a, b),
            Effect::Broken => return Err(Stop::Mistake(row.mistake.unwrap_or(Code::Internal), a.kind(), b.kind())),
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

    fn rewrite(&mut self, row: &Row, outcomes: &[Outcome], a: Word, b: Word) -> Result<(), Stop> {
        let mut ports =
            Ports { a, b, left: self.parts(a), right: self.parts(b), made: [Word::NONE; 4], wires: [Word::NONE; 4] };
        let (outcome, number) = match row.rule {
            Rule::Operate => self.operate(&mut ports)?,
            Rule::Switch => {
                let (choice, less) = self.choice(a, ports.left)?;
                (if choice == 0 { When::Zero } else { When::Positive }, less)
            }
            Rule::Erase if a.kind() == Kind::Ref && b.kind() == Kind::Dup => {
                let id = DefinitionId::new(a.index() as u32);
                if self.book.semantics == Semantics::Net && !self.book.definitions[id].affine {
                    return Err(Stop::Copied(id));
                }
                (When::Always, Ok(Word::NONE))
            }
            Rule::Link
            | Rule::Call
            | Rule::Void
            | Rule::Erase
            | Rule::Annihilate
            | Rule::Commute
            | Rule::Apply
            | Rule::Replicate => (When::Always, Ok(Word::NONE)),
        };
        let number = match number {
            Ok(word) => word,
            Err(words) => self.heap.node(Kind::Box, words)?,
        };
        // Each row has an outcome for each case that its rule can come to.
        let Some(outcome) = outcomes.iter().find(|candidate| candidate.when == outcome) else { return Ok(()) };
        self.free(Part::A, a, outcome);
        self.free(Part::B, b, outcome);
        for wire in 0..outcome.wires {
            ports.wires[usize::from(wire)] = self.heap.wire()?;
        }
        for (i, (made, _)) in outcome.nodes.iter().enumerate() {
            let kind = match made {
                Made::Of(kind) => *kind,
                Made::LikeA => a.kind(),
                Made::LikeB => b.kind(),
            };
            ports.made[i] = self.heap.node(kind, [Word::NONE; 2])?;
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
        let mut parts =
            outcome.links.iter().flat_map(|(a, b)| [a, b]).chain(outcome.nodes.iter().flat_map(|(_, parts)| parts));
        if word.kind().is_node() && !parts.any(|part| *part == own) {
            self.heap.free_node(word);
        }
    }

    /// The bits of a number that chooses, and the number before it: in a Bend program of the same kind, else a u24.
    fn choice(&self, word: Word, words: boxed::Words) -> Result<(u32, Result<Word, boxed::Words>), Stop> {
        let (choice, number) = match (word.kind(), boxed::plain(word, words)) {
            (Kind::Box, Some(Operand::Number(number))) => (number.bits(), number),
            (Kind::Box, _) => return Err(Stop::Mistake(Code::NotANumber, Kind::Box, Kind::Swi)),
            (_, Some(Operand::Number(number))) if self.book.semantics != Semantics::Net => (number.bits(), number),
            _ => {
                let choice = number::choice(word);
                return Ok((choice, Ok(number::unsigned(choice.wrapping_sub(1)))));
            }
        };
        let one = Num::U24(1).to(number.kind());
        Ok((choice, packed(boxed::packed(Num::apply(BinOp::Sub, number, one).map_err(Stop::Number)?))))
    }

    /// The case of an operation and the number that it gives, in a word or in a node.
    fn operate(&mut self, ports: &mut Ports) -> Result<(When, Result<Word, boxed::Words>), Stop> {
        let other = ports.right[0];
        if !matches!(other.kind(), Kind::Num | Kind::Box) {
            return Ok((When::Waiting, Ok(Word::NONE)));
        }
        let words = self.parts(other);
        let (left, right) = (boxed::plain(ports.a, ports.left), boxed::plain(other, words));
        let computed = match (left, right) {
            // A function with its first operand, and the second one, which stands on either side.
            (Some(Operand::Partial(function, first)), Some(Operand::Number(second)))
            | (Some(Operand::Number(second)), Some(Operand::Partial(function, first))) => {
                boxed::packed(function.apply(&[first, second]).map_err(Stop::Number)?)
            }
            (Some(Operand::Number(number)), None) | (None, Some(Operand::Number(number))) => {
                let symbol = if left.is_none() { ports.a } else { other };
                match number::function(symbol) {
                    Some(function) => boxed::give(function, number).map_err(Stop::Number)?,
                    None if number::number(number).is_none() => boxed::operate(symbol, number).map_err(Stop::Number)?,
                    None => Computed::Word(self.upstream(ports.a, other)?),
                }
            }
            _ => Computed::Word(self.upstream(ports.a, other)?),
        };
        if other.kind() == Kind::Box {
            self.heap.free_node(other);
        }
        // What is linked with a result is looked up now, as upstream does; nothing depends on it.
        ports.right[1] = self.heap.enter(ports.right[1]);
        Ok((When::Ready, packed(computed)))
    }

    /// What upstream's operators give.
    fn upstream(&self, a: Word, b: Word) -> Result<Word, Stop> {
        if [a, b].iter().any(|word| word.kind() != Kind::Num) {
            return Err(Stop::Mistake(Code::NotANumber, a.kind(), b.kind()));
        }
        number::operate(a, b).map_err(Stop::Number)
    }

    fn diagnostic(&self, stop: Stop) -> Diagnostic {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let (code, message, hint) = match stop {
            Stop::Memory => {
                let (nodes, wires) = self.heap.live();
                let message = format!(
                    "out of memory: {nodes} nodes, {wires} wires and {} waiting redexes do not fit into {:.1} MiB",
                    self.urgent.len() + self.others.len(),
                    mib(self.limits.memory)
                );
                (Code::OutOfMemory, message, "allow more with `--memory`, if the net has an end")
            }
            Stop::Interactions => {
                let message = format!("the net is not in normal form after {} interactions", self.counts.total());
                (Code::TooManySteps, message, "allow more, if the net has an end")
            }
            Stop::Interrupted => {
                let message = format!("stopped after {} interactions", self.counts.total());
                (Code::Interrupted, message, "the net may have no end")
            }
            Stop::Mistake(code, a, b) => {
                let what = match code {
                    Code::NotAFunction => "a number is called, or taken apart as if it were data".to_owned(),
                    Code::NotANumber => "a number is needed, and this is a function or data".to_owned(),
                    _ => format!("a {} meets a {}, which no program makes", a.name(), b.name()),
                };
                (Code::NotAValue, what, "a program without types may take one kind of data for another")
            }
            Stop::Number(error) => {
                let code = match error {
                    NumError::DivisionByZero => Code::DivisionByZero,
                    NumError::Mixed(..) => Code::MixedNumbers,
                    NumError::Unsupported(..) | NumError::NotFloat(_) => Code::UnsupportedOperation,
                    NumError::ArgumentCount(_) => Code::Internal,
                };
                (code, error.to_string(), "look at the operands before the operation")
            }
            Stop::Copied(id) => {
                let definition = &self.book.definitions[id];
                let message = format!("`@{}` duplicates, and is duplicated itself", definition.name);
                let hint =
                    "all duplications have one label, so a definition that duplicates is used once by each duplication";
                return Diagnostic::new(Code::CopiedDuplicator, definition.span, message).hint(hint);
            }
        };
        Diagnostic::new(code, Span::NONE, message).hint(hint)
    }
}

/// A number in a word, or the words of the node that it needs.
fn packed(computed: Computed) -> Result<Word, boxed::Words> {
    match computed {
        Computed::Word(word) => Ok(word),
        Computed::Box(words) => Err(words),
    }
}

/// The ports of an interaction.
struct Ports {
    a: Word,
    b: Word,
    left: [Word; 2],
    right: [Word; 2],
    made: [Word; 4],
    wires: [Word; 4],
}

impl Ports {
    fn word(&self, part: Part, number: Word) -> Word {
        match part {
            Part::A => self.a,
            Part::B => self.b,
            Part::A1 => self.left[0],
            Part::A2 => self.left[1],
            Part::B1 => self.right[0],
            Part::B2 => self.right[1],
            Part::New(i) => self.made[usize::from(i)],
            Part::Wire(i) => self.wires[usize::from(i)],
            Part::Era => Word::ERA,
            Part::Result | Part::Predecessor => number,
        }
    }
}
