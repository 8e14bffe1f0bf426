//! The machine on all cores of the host: the rules of the table, on memory that threads share.
//!
//! A thread takes redexes from bags of its own, and gives the older half of them away when others have nothing to do. Nodes belong to who
//! has their word; a wire is given and taken by an exchange, which also makes what was written before it visible to who comes second. So places are
//! used again at once, by the thread that has freed them, and no lock is on the way of an interaction.
//!
//! Interactions are those of the table, and so are their counts, whatever the threads do.

use super::book::{Book, DefinitionId, Template};
use super::boxed::Computed;
use super::heap::{Heap, NODE_BYTES, WIRE_BYTES};
use super::reduce::{Counts, Limits, Machine};
use super::rules::{Effect, Outcome, Part, Row, Rule, When, meeting};
use super::step::{self, Ports, Size, Stop};
use super::word::{INDICES, Kind, Word};
use crate::diag::Diagnostic;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Places that a thread takes at a time.
const CHUNK: u32 = 1 << 10;
/// Places that come into being at a time; chunks do not cross their borders.
const SEGMENT: u32 = 1 << 16;
/// Interactions between two looks at whether others have nothing to do.
const SHARE: u32 = 1 << 6;
/// Interactions between two looks at whether to stop.
const LOOK: u32 = 1 << 12;

type Redex = (Word, Word);

/// Reduces the net of a machine on so many threads until nothing is left to be done, and gives it back. Says how often a thread has given
/// redexes away.
///
/// # Errors
/// As [`Machine::run`].
pub fn run(machine: &mut Machine<'_>, threads: NonZeroUsize) -> Result<u64, Diagnostic> {
    let (book, limits, before) = (machine.book(), machine.limits().clone(), machine.counts().total());
    let (heap, redexes) = machine.take();
    let (shared, free) = Shared::new(book, limits, heap, redexes, threads.get(), before);
    let mut first = Worker::new(&shared);
    [first.free_nodes, first.free_wires] = free;
    let workers = std::thread::scope(|scope| {
        let spawned: Vec<_> = (1..threads.get())
            .map(|_| {
                scope.spawn(|| {
                    let mut worker = Worker::new(&shared);
                    worker.work();
                    worker.rest()
                })
            })
            .collect();
        first.work();
        let own = first.rest();
        // A thread that panics has found a mistake of this file; the panic goes on in the caller.
        let others =
            spawned.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        [own].into_iter().chain(others).collect::<Vec<Rest>>()
    });
    let mut counts = Counts::default();
    counts.bytes = shared.bytes();
    let (mut free, mut waiting) = ([vec![], vec![]], lock(&shared.pool).len());
    for rest in workers {
        Rule::ALL.into_iter().for_each(|rule| counts.add(rule, rest.counts.of(rule)));
        counts.waiting += rest.counts.waiting;
        free[0].extend(rest.free_nodes);
        free[1].extend(rest.free_wires);
        waiting += rest.waiting;
    }
    let stop = lock(&shared.stop).take();
    let given = shared.given.load(Ordering::Relaxed);
    let heap = shared.heap(free);
    let (nodes, wires) = heap.live();
    machine.give(heap, vec![], &counts);
    let size = Size { nodes, wires, waiting, limit: machine.limits().memory, interactions: machine.counts().total() };
    match stop {
        Some(stop) => Err(stop.diagnostic(book, &size)),
        None => Ok(given),
    }
}

/// What a mutex holds. Who panics with it in hand has not left anything half done in it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Words in segments that come into being when they are needed.
struct Words {
    segments: Vec<OnceLock<Box<[AtomicU32]>>>,
    /// Words of a place.
    each: u32,
    /// The first place that nobody has taken.
    next: AtomicU32,
    /// How many there may be.
    most: u32,
}

impl Words {
    fn new(each: u32, most: u64, words: &[Word]) -> Words {
        let used = words.len() as u32 / each;
        let next = used.next_multiple_of(CHUNK);
        let most = (most.min(u64::from(INDICES)) as u32 / CHUNK * CHUNK).max(next);
        let segments = (0..most.div_ceil(SEGMENT)).map(|_| OnceLock::new()).collect();
        let made = Words { segments, each, next: AtomicU32::new(next), most };
        (0..next.div_ceil(SEGMENT)).for_each(|segment| made.make(segment));
        for (i, word) in (0..).zip(words) {
            made.word(i / each, i % each).store(word.0, Ordering::Relaxed);
        }
        made
    }

    fn make(&self, segment: u32) {
        let words = SEGMENT * self.each;
        self.segments[segment as usize].get_or_init(|| (0..words).map(|_| AtomicU32::new(0)).collect());
    }

    fn word(&self, place: u32, part: u32) -> &AtomicU32 {
        // Places are given away after their segment is there.
        let segment = self.segments[(place / SEGMENT) as usize].get().expect("a segment of a place that was taken");
        &segment[(place % SEGMENT * self.each + part) as usize]
    }

    /// Places that nobody has.
    fn take(&self) -> Result<std::ops::Range<u32>, Stop> {
        let take = |next: u32| (next + CHUNK <= self.most).then_some(next + CHUNK);
        let first = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|_| Stop::Memory)?;
        self.make(first / SEGMENT);
        Ok(first..first + CHUNK)
    }

    fn taken(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }
}

/// What threads share.
struct Shared<'b> {
    book: &'b Book,
    limits: Limits,
    nodes: Words,
    wires: Words,
    /// Redexes that were given away, and who waits for them.
    pool: Mutex<Vec<Redex>>,
    wake: Condvar,
    threads: usize,
    idle: AtomicUsize,
    ends: AtomicBool,
    stop: Mutex<Option<Stop>>,
    done: AtomicU64,
    given: AtomicU64,
}

impl<'b> Shared<'b> {
    fn new(
        book: &'b Book,
        limits: Limits,
        heap: Heap,
        redexes: Vec<Redex>,
        threads: usize,
        before: u64,
    ) -> (Shared<'b>, [Vec<u32>; 2]) {
        let (nodes, mut wires, free) = heap.into_parts();
        free[1].iter().for_each(|wire| wires[*wire as usize] = Word::NONE);
        // As many wires as nodes.
        let most = limits.memory / (NODE_BYTES + WIRE_BYTES);
        let shared = Shared {
            book,
            nodes: Words::new(2, most, nodes.as_flattened()),
            wires: Words::new(1, most, &wires),
            limits,
            pool: Mutex::new(redexes),
            wake: Condvar::new(),
            threads,
            idle: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
            stop: Mutex::new(None),
            done: AtomicU64::new(before),
            given: AtomicU64::new(0),
        };
        (shared, free)
    }

    fn bytes(&self) -> u64 {
        u64::from(self.nodes.taken()) * NODE_BYTES + u64::from(self.wires.taken()) * WIRE_BYTES
    }

    fn heap(&self, free: [Vec<u32>; 2]) -> Heap {
        let word = |words: &Words, place, part| Word(words.word(place, part).load(Ordering::Relaxed));
        let nodes = (0..self.nodes.taken()).map(|i| [word(&self.nodes, i, 0), word(&self.nodes, i, 1)]).collect();
        let wires = (0..self.wires.taken()).map(|i| word(&self.wires, i, 0)).collect();
        Heap::of(nodes, wires, free, self.limits.memory)
    }

    /// Ends the run: everybody stops at the next look.
    fn end(&self, stop: Option<Stop>) {
        if stop.is_some() {
            let mut first = lock(&self.stop);
            *first = first.take().or(stop);
        }
        self.ends.store(true, Ordering::Relaxed);
        // Who is about to wait holds the pool, and looks at the end before it waits.
        drop(lock(&self.pool));
        self.wake.notify_all();
    }

    /// Redexes of others, as soon as there are any; none if nobody has any.
    fn wait(&self) -> Vec<Redex> {
        let mut pool = lock(&self.pool);
        self.idle.fetch_add(1, Ordering::Relaxed);
        loop {
            if self.ends.load(Ordering::Relaxed) {
                return vec![];
            }
            if !pool.is_empty() {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                let share = pool.len().div_ceil(self.threads);
                let kept = pool.len() - share;
                return pool.split_off(kept);
            }
            if self.idle.load(Ordering::Relaxed) == self.threads {
                self.ends.store(true, Ordering::Relaxed);
                self.wake.notify_all();
                return vec![];
            }
            pool = self.wake.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What a thread has when it ends.
struct Rest {
    counts: Counts,
    free_nodes: Vec<u32>,
    free_wires: Vec<u32>,
    waiting: usize,
}

struct Worker<'s> {
    shared: &'s Shared<'s>,
    urgent: Vec<Redex>,
    others: Vec<Redex>,
    free_nodes: Vec<u32>,
    free_wires: Vec<u32>,
    new_nodes: std::ops::Range<u32>,
    new_wires: std::ops::Range<u32>,
    counts: Counts,
    wires: Vec<Word>,
    placed: Vec<Word>,
}

impl<'s> Worker<'s> {
    fn new(shared: &'s Shared<'s>) -> Worker<'s> {
        Worker {
            shared,
            urgent: vec![],
            others: vec![],
            free_nodes: vec![],
            free_wires: vec![],
            new_nodes: 0..0,
            new_wires: 0..0,
            counts: Counts::default(),
            wires: vec![],
            placed: vec![],
        }
    }

    fn rest(mut self) -> Rest {
        self.free_nodes.extend(self.new_nodes);
        self.free_wires.extend(self.new_wires);
        let waiting = self.urgent.len() + self.others.len();
        Rest { counts: self.counts, free_nodes: self.free_nodes, free_wires: self.free_wires, waiting }
    }

    /// Reduces until nobody has anything to do, or the run ends.
    fn work(&mut self) {
        let mut steps: u32 = 0;
        loop {
            let Some((a, b)) = self.urgent.pop().or_else(|| self.others.pop()) else {
                let found = self.shared.wait();
                if found.is_empty() {
                    return;
                }
                found.into_iter().for_each(|(a, b)| self.push(a, b));
                continue;
            };
            if let Err(stop) = self.interact(a, b) {
                return self.shared.end(Some(stop));
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(SHARE) && self.shared.idle.load(Ordering::Relaxed) > 0 {
                self.give_away();
            }
            if steps.is_multiple_of(LOOK) {
                if let Some(stop) = self.look() {
                    return self.shared.end(Some(stop));
                }
                if self.shared.ends.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }

    fn look(&mut self) -> Option<Stop> {
        let Limits { memory, interactions, interrupt } = &self.shared.limits;
        let waiting = (self.urgent.len() + self.others.len()) as u64;
        self.counts.waiting = self.counts.waiting.max(waiting);
        let done = self.shared.done.fetch_add(LOOK.into(), Ordering::Relaxed) + u64::from(LOOK);
        if interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Some(Stop::Interrupted)
        } else if 8 * waiting > *memory {
            Some(Stop::Memory)
        } else if interactions.is_some_and(|most| done >= most) {
            Some(Stop::Interactions)
        } else {
            None
        }
    }

    /// The older half of what is to be done is for others: much may come of it.
    fn give_away(&mut self) {
        let count = self.others.len().div_ceil(2);
        if count == 0 || self.others.len() + self.urgent.len() < 2 {
            return;
        }
        self.shared.given.fetch_add(1, Ordering::Relaxed);
        lock(&self.shared.pool).extend(self.others.drain(..count));
        self.shared.wake.notify_all();
    }

    fn push(&mut self, a: Word, b: Word) {
        let (row, _) = meeting(a.kind(), b.kind());
        if row.rule.is_urgent() { self.urgent.push((a, b)) } else { self.others.push((a, b)) }
    }

    fn node(&mut self, kind: Kind) -> Result<Word, Stop> {
        if let Some(index) = self.free_nodes.pop() {
            return Ok(Word::new(kind, index));
        }
        if self.new_nodes.is_empty() {
            self.new_nodes = self.shared.nodes.take()?;
        }
        // A chunk is not empty.
        Ok(Word::new(kind, self.new_nodes.next().unwrap_or(0)))
    }

    fn wire(&mut self) -> Result<Word, Stop> {
        if let Some(index) = self.free_wires.pop() {
            return Ok(Word::new(Kind::Var, index));
        }
        if self.new_wires.is_empty() {
            self.new_wires = self.shared.wires.take()?;
        }
        // A chunk is not empty.
        Ok(Word::new(Kind::Var, self.new_wires.next().unwrap_or(0)))
    }

    fn write(&self, node: Word, parts: [Word; 2]) {
        for (part, word) in (0..).zip(parts) {
            self.shared.nodes.word(node.index() as u32, part).store(word.0, Ordering::Relaxed);
        }
    }

    /// The parts of a port; what is no node has none.
    fn parts(&self, word: Word) -> [Word; 2] {
        if !word.kind().is_node() {
            return [Word::NONE; 2];
        }
        [0, 1].map(|part| Word(self.shared.nodes.word(word.index() as u32, part).load(Ordering::Relaxed)))
    }

    fn link(&mut self, mut a: Word, mut b: Word) {
        loop {
            if a.kind() != Kind::Var {
                std::mem::swap(&mut a, &mut b);
            }
            if a.kind() != Kind::Var {
                return self.push(a, b);
            }
            let wire = self.shared.wires.word(a.index() as u32, 0);
            // What was written before is seen by who finds this word, and the other way round.
            let before = Word(wire.swap(b.0, Ordering::AcqRel));
            if before == Word::NONE {
                return;
            }
            wire.store(0, Ordering::Relaxed);
            self.free_wires.push(a.index() as u32);
            a = before;
        }
    }

    fn interact(&mut self, a: Word, b: Word) -> Result<(), Stop> {
        let (row, swapped) = meeting(a.kind(), b.kind());
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let book = self.shared.book;
        step::allowed(book, row, a, b)?;
        self.counts.add(row.rule, 1);
        match row.effect {
            Effect::Link => self.link(a, b),
            Effect::Call => {
                let root = self.expand(&book.definitions[DefinitionId::new(a.index() as u32)].template)?;
                self.link(root, b);
            }
            Effect::Rewrite(outcomes) => return self.rewrite(row, outcomes, a, b),
            // Who asked whether it is allowed has heard that it is not.
            Effect::Broken => {}
        }
        Ok(())
    }

    fn rewrite(&mut self, row: &Row, outcomes: &'static [Outcome], a: Word, b: Word) -> Result<(), Stop> {
        let mut ports = Ports { a, b, left: self.parts(a), right: self.parts(b), ..Ports::default() };
        let parts = [ports.left, ports.right];
        let (when, result) = step::decide(self.shared.book, row, [a, b], parts, |word| self.parts(word))?;
        if row.rule == Rule::Operate && when == When::Ready && ports.right[0].kind() == Kind::Box {
            self.free_nodes.push(ports.right[0].index() as u32);
        }
        let result = match result {
            Computed::Word(word) => word,
            Computed::Box(words) => {
                let node = self.node(Kind::Box)?;
                self.write(node, words);
                node
            }
        };
        let outcome = step::fitting(outcomes, when);
        for (own, word) in [(Part::A, a), (Part::B, b)] {
            if word.kind().is_node() && !outcome.keeps(own) {
                self.free_nodes.push(word.index() as u32);
            }
        }
        for wire in 0..outcome.wires {
            ports.wires[usize::from(wire)] = self.wire()?;
        }
        for (i, (made, _)) in outcome.nodes.iter().enumerate() {
            ports.made[i] = self.node(made.kind(a, b))?;
        }
        for (i, (_, parts)) in outcome.nodes.iter().enumerate() {
            self.write(ports.made[i], parts.map(|part| ports.word(part, result)));
        }
        for (left, right) in outcome.links {
            self.link(ports.word(*left, result), ports.word(*right, result));
        }
        Ok(())
    }

    /// Puts a definition's net into the memory; its root is for the caller to link.
    fn expand(&mut self, template: &Template) -> Result<Word, Stop> {
        let (mut wires, mut placed) = (std::mem::take(&mut self.wires), std::mem::take(&mut self.placed));
        wires.clear();
        placed.clear();
        for _ in 0..template.wires {
            wires.push(self.wire()?);
        }
        for (kind, _) in &template.nodes {
            placed.push(self.node(*kind)?);
        }
        let at = |word: Word| match word.kind() {
            Kind::Var => wires[word.index()],
            kind if kind.is_node() => placed[word.index()],
            _ => word,
        };
        for (node, (kind, parts)) in placed.iter().zip(&template.nodes) {
            self.write(*node, if *kind == Kind::Box { *parts } else { parts.map(at) });
        }
        for (a, b) in &template.links {
            self.link(at(*a), at(*b));
        }
        let root = at(template.root);
        (self.wires, self.placed) = (wires, placed);
        Ok(root)
    }
}
