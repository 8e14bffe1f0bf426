//! The memory of a worker: its own, or what threads share.
//!
//! Who has a node's word owns the node. A wire is given and taken by an exchange, which also makes what was written before it visible to who
//! comes second. So places are used again at once, by who has freed them.

use crate::heap::{Heap, NODE_BYTES, WIRE_BYTES};
use crate::rule_matching::Stop;
use crate::word::{INDICES, Word};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Places that a worker takes at a time.
const CHUNK: u32 = 1 << 10;
/// Places that come into being at a time where threads share them; chunks do not cross their borders.
const SEGMENT: usize = 1 << 16;

/// Nodes and wires. New places are 0, and so are wires that are free.
pub trait Memory {
    /// The parts of a node.
    fn parts(&mut self, node: u32) -> [Word; 2];
    /// Changes the parts of a node.
    fn set_parts(&mut self, node: u32, parts: [Word; 2]);
    /// What a wire is linked with; nothing if that is still to come.
    fn at(&mut self, wire: u32) -> Word;
    /// Puts a word into a wire that nobody else knows yet, or that is free now.
    fn set(&mut self, wire: u32, word: Word);
    /// Puts a word into a wire that has none, or gives the one that it has, and then it is free.
    fn exchange(&mut self, wire: u32, word: Word) -> Word;
    /// Places for nodes that nobody has.
    fn more_nodes(&mut self) -> Result<Range<u32>, Stop>;
    /// Places for wires that nobody has.
    fn more_wires(&mut self) -> Result<Range<u32>, Stop>;
    /// How many bytes it takes, free places included.
    fn bytes(&self) -> u64;
}

/// Memory that one worker has for itself: nothing is atomic.
pub struct Own {
    nodes: Vec<[Word; 2]>,
    wires: Vec<Word>,
    limit: u64,
}

impl Own {
    /// The memory of a heap, and the places in it that are free.
    pub fn new(heap: Heap, limit: u64) -> (Own, [Vec<u32>; 2]) {
        let (nodes, mut wires, free) = heap.into_parts();
        free[1].iter().for_each(|wire| wires[*wire as usize] = Word::NONE);
        (Own { nodes, wires, limit }, free)
    }

    /// As a heap again.
    pub fn heap(self, free: [Vec<u32>; 2]) -> Heap {
        Heap::of(self.nodes, self.wires, free, self.limit)
    }

    fn room(&self, places: usize, bytes: u64) -> Result<(), Stop> {
        let fits = places + CHUNK as usize <= INDICES as usize;
        let small = self.bytes() + u64::from(CHUNK) * bytes <= self.limit;
        if fits && small { Ok(()) } else { Err(Stop::Memory) }
    }
}

impl Memory for Own {
    #[inline(always)]
    fn parts(&mut self, node: u32) -> [Word; 2] {
        self.nodes[node as usize]
    }

    #[inline(always)]
    fn set_parts(&mut self, node: u32, parts: [Word; 2]) {
        self.nodes[node as usize] = parts;
    }

    #[inline(always)]
    fn at(&mut self, wire: u32) -> Word {
        self.wires[wire as usize]
    }

    #[inline(always)]
    fn set(&mut self, wire: u32, word: Word) {
        self.wires[wire as usize] = word;
    }

    #[inline(always)]
    fn exchange(&mut self, wire: u32, word: Word) -> Word {
        let place = &mut self.wires[wire as usize];
        let before = *place;
        *place = if before == Word::NONE { word } else { Word::NONE };
        before
    }

    fn more_nodes(&mut self) -> Result<Range<u32>, Stop> {
        let first = self.nodes.len();
        self.room(first, NODE_BYTES)?;
        self.nodes.resize(first + CHUNK as usize, [Word::NONE; 2]);
        Ok(first as u32..first as u32 + CHUNK)
    }

    fn more_wires(&mut self) -> Result<Range<u32>, Stop> {
        let first = self.wires.len();
        self.room(first, WIRE_BYTES)?;
        self.wires.resize(first + CHUNK as usize, Word::NONE);
        Ok(first as u32..first as u32 + CHUNK)
    }

    fn bytes(&self) -> u64 {
        self.nodes.len() as u64 * NODE_BYTES + self.wires.len() as u64 * WIRE_BYTES
    }
}

/// Words of one kind in segments that come into being when they are needed.
struct Words<T> {
    segments: Vec<OnceLock<Box<[T; SEGMENT]>>>,
    /// The first place that nobody has taken.
    next: AtomicU32,
    /// How many there may be.
    most: u32,
}

impl<T: Default> Words<T> {
    fn new(used: usize, most: u64) -> Words<T> {
        let next = (used as u32).next_multiple_of(CHUNK);
        let most = (most.min(u64::from(INDICES)) as u32 / CHUNK * CHUNK).max(next);
        let segments = (0..most.div_ceil(SEGMENT as u32)).map(|_| OnceLock::new()).collect();
        Words { segments, next: AtomicU32::new(next), most }
    }

    /// A segment, which comes into being if it is not there.
    fn segment(&self, segment: usize) -> &[T; SEGMENT] {
        self.segments[segment].get_or_init(|| {
            let words: Vec<T> = (0..SEGMENT).map(|_| T::default()).collect();
            // There are as many as that.
            words.into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("a segment of another length"))
        })
    }

    fn place(&self, index: usize) -> &T {
        &self.segment(index / SEGMENT)[index % SEGMENT]
    }

    /// Places that nobody has.
    fn take(&self) -> Result<Range<u32>, Stop> {
        let take = |next: u32| (next + CHUNK <= self.most).then_some(next + CHUNK);
        let first = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|_| Stop::Memory)?;
        Ok(first..first + CHUNK)
    }

    fn taken(&self) -> usize {
        self.next.load(Ordering::Relaxed) as usize
    }
}

/// Memory that threads share.
pub struct Common {
    nodes: Words<AtomicU64>,
    wires: Words<AtomicU32>,
    limit: u64,
}

fn both(parts: [Word; 2]) -> u64 {
    u64::from(parts[0].0) | u64::from(parts[1].0) << 32
}

fn split(both: u64) -> [Word; 2] {
    [Word(both as u32), Word((both >> 32) as u32)]
}

impl Common {
    /// The memory of a heap, and the places in it that are free.
    pub fn new(heap: Heap, limit: u64) -> (Common, [Vec<u32>; 2]) {
        let (nodes, mut wires, free) = heap.into_parts();
        free[1].iter().for_each(|wire| wires[*wire as usize] = Word::NONE);
        // As many wires as nodes.
        let most = limit / (NODE_BYTES + WIRE_BYTES);
        let common = Common { nodes: Words::new(nodes.len(), most), wires: Words::new(wires.len(), most), limit };
        for (i, parts) in nodes.into_iter().enumerate() {
            common.nodes.place(i).store(both(parts), Ordering::Relaxed);
        }
        for (i, word) in wires.into_iter().enumerate() {
            common.wires.place(i).store(word.0, Ordering::Relaxed);
        }
        (common, free)
    }

    /// As a heap again.
    pub fn heap(&self, free: [Vec<u32>; 2]) -> Heap {
        let node = |i| split(self.nodes.place(i).load(Ordering::Relaxed));
        let wire = |i| Word(self.wires.place(i).load(Ordering::Relaxed));
        let (nodes, wires) = (self.nodes.taken(), self.wires.taken());
        Heap::of((0..nodes).map(node).collect(), (0..wires).map(wire).collect(), free, self.limit)
    }
}

/// A thread's view of memory that threads share: it knows where segments are.
pub struct Shared<'c> {
    common: &'c Common,
    nodes: Vec<&'c [AtomicU64; SEGMENT]>,
    wires: Vec<&'c [AtomicU32; SEGMENT]>,
}

impl<'c> Shared<'c> {
    /// Nothing has been looked at yet.
    pub fn new(common: &'c Common) -> Shared<'c> {
        Shared { common, nodes: vec![], wires: vec![] }
    }

    #[inline(always)]
    fn node(&mut self, index: u32) -> &'c AtomicU64 {
        let (segment, place) = (index as usize / SEGMENT, index as usize % SEGMENT);
        match self.nodes.get(segment) {
            Some(words) => &words[place],
            None => &find(&self.common.nodes, &mut self.nodes, segment)[place],
        }
    }

    #[inline(always)]
    fn wire(&mut self, index: u32) -> &'c AtomicU32 {
        let (segment, place) = (index as usize / SEGMENT, index as usize % SEGMENT);
        match self.wires.get(segment) {
            Some(words) => &words[place],
            None => &find(&self.common.wires, &mut self.wires, segment)[place],
        }
    }
}

/// A segment that a thread has not looked at before.
#[cold]
fn find<'c, T: Default>(words: &'c Words<T>, known: &mut Vec<&'c [T; SEGMENT]>, segment: usize) -> &'c [T; SEGMENT] {
    for more in known.len()..=segment {
        known.push(words.segment(more));
    }
    known[segment]
}

impl Memory for Shared<'_> {
    #[inline(always)]
    fn parts(&mut self, node: u32) -> [Word; 2] {
        split(self.node(node).load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn set_parts(&mut self, node: u32, parts: [Word; 2]) {
        self.node(node).store(both(parts), Ordering::Relaxed);
    }

    #[inline(always)]
    fn at(&mut self, wire: u32) -> Word {
        Word(self.wire(wire).load(Ordering::Acquire))
    }

    #[inline(always)]
    fn set(&mut self, wire: u32, word: Word) {
        self.wire(wire).store(word.0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn exchange(&mut self, wire: u32, word: Word) -> Word {
        let place = self.wire(wire);
        // Who finds a word is the last one here: no exchange is needed.
        let mut before = place.load(Ordering::Acquire);
        if before == Word::NONE.0 {
            // What was written before is seen by who finds this word, and the other way round.
            before = place.swap(word.0, Ordering::AcqRel);
        }
        if before != Word::NONE.0 {
            place.store(Word::NONE.0, Ordering::Relaxed);
        }
        Word(before)
    }

    fn more_nodes(&mut self) -> Result<Range<u32>, Stop> {
        self.common.nodes.take()
    }

    fn more_wires(&mut self) -> Result<Range<u32>, Stop> {
        self.common.wires.take()
    }

    fn bytes(&self) -> u64 {
        let (nodes, wires) = (self.common.nodes.taken() as u64, self.common.wires.taken() as u64);
        nodes * NODE_BYTES + wires * WIRE_BYTES
    }
}
