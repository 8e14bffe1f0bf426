//! The heap: cells of words in one vector, in two generations.
//!
//! The words below `young` are the nursery, where cells are made; the words above are the cells that have survived a
//! collection, and large ones. Cells never change, so a cell that has survived cannot point into the nursery: a minor
//! collection copies what is reachable from the nursery to the end of the vector and looks at no other survivor. A full
//! collection copies all that is reachable into a new vector.

use super::value::{Packed, Position, Word};
use crate::code::Tables;

/// Words of the nursery once it has been full, unless the memory limit asks for less: as much as stays in a core's own cache.
const NURSERY: usize = 1 << 16;
/// Words of the nursery at first: a machine that only prints a value touches hardly any memory.
const FIRST: usize = 1 << 10;

/// The heap of a machine.
pub(crate) struct Heap {
    words: Vec<Packed>,
    /// How large the nursery is.
    young: usize,
    /// How large it becomes with the first collection.
    grown: usize,
    /// Where the next cell of the nursery begins.
    next: usize,
    /// Where the nursery ends for now: `young`, or less where every allocation has to collect.
    end: usize,
    /// The size at which the next collection is a full one.
    full_at: usize,
    /// Cells from here on were made in the old generation and may point into the nursery.
    settled: usize,
    /// Cells made so far.
    pub(super) cells: u64,
    /// Words that were made before the current content of the nursery.
    earlier: u64,
}

impl Heap {
    /// An empty heap for a memory limit in words; in `stress`, already the first allocation collects.
    pub(super) fn new(limit: usize, stress: bool) -> Heap {
        let grown = NURSERY.min(limit / 16).max(64);
        // Under stress each eighth collection is a full one, from the beginning.
        let young = if stress { grown } else { FIRST.min(grown) };
        let full_at = grown * 8;
        Heap {
            words: vec![Packed::ERA; young],
            young,
            grown,
            next: 0,
            end: if stress { 0 } else { young },
            full_at,
            settled: young,
            cells: 0,
            earlier: 0,
        }
    }

    /// The word at a position.
    #[inline]
    pub(super) fn word(&self, at: Position) -> Word {
        self.words[at as usize].word()
    }

    /// `count` words from a position on.
    #[inline]
    pub(super) fn slice(&self, at: Position, count: usize) -> &[Packed] {
        &self.words[at as usize..at as usize + count]
    }

    /// The parts of a pair.
    #[inline]
    pub(super) fn pair(&self, at: Position) -> (Packed, Packed) {
        let parts = self.slice(at, 2);
        (parts[0], parts[1])
    }

    /// Whether a cell of `count` words can be made without a collection.
    #[inline]
    pub(super) fn has_room(&self, count: usize) -> bool {
        self.next + count <= self.end
    }

    /// Makes a cell. There is room: either [`has_room`](Self::has_room) said so, or
    /// [`make_room`](Self::make_room) has made it.
    #[inline]
    pub(super) fn cell<const N: usize>(&mut self, words: [Packed; N]) -> Position {
        let at = self.next;
        self.words[at..at + N].copy_from_slice(&words);
        self.next += N;
        self.cells += 1;
        at as Position
    }

    /// Space for cells of `count` words in all; in the old generation if the nursery has none. Never collects: whoever
    /// calls it has seen to it that the memory limit holds.
    pub(super) fn space(&mut self, count: usize) -> (Position, &mut [Packed]) {
        self.cells += 1;
        let at = if self.next + count <= self.young {
            self.next += count;
            self.next - count
        } else {
            self.earlier += count as u64;
            self.words.resize(self.words.len() + count, Packed::ERA);
            self.words.len() - count
        };
        (at as Position, &mut self.words[at..at + count])
    }

    /// After a collection: opens the nursery for at least `count` words, and in `stress` for no more than that.
    pub(super) fn make_room(&mut self, count: usize, stress: bool) {
        self.end = if stress { (self.next + count).min(self.young) } else { self.young };
    }

    /// How large the nursery becomes. Memory limits count it as if it were so large from the beginning.
    pub(super) fn nursery(&self) -> usize {
        self.grown
    }

    /// Words in use, the whole nursery included.
    pub(super) fn size(&self) -> usize {
        self.old() + self.grown
    }

    /// Words of the old generation.
    pub(super) fn old(&self) -> usize {
        self.words.len() - self.young
    }

    /// Words made so far.
    pub(super) fn made(&self) -> u64 {
        self.earlier + self.next as u64
    }

    /// Whether the next collection makes the nursery as large as it is to be: it is a full one.
    pub(super) fn grows(&self) -> bool {
        self.young < self.grown
    }

    /// Whether the survivors of a minor collection and `count` more words might not fit before the heap has grown to
    /// where a full collection is due, or beyond `most` old words.
    pub(super) fn is_full_due(&self, count: usize, most: usize) -> bool {
        self.words.len() + self.young + count > self.full_at.min(self.young + most)
    }

    /// After a full collection: the heap may double before the next one, as long as `most` old words allow it.
    pub(super) fn plan(&mut self, most: usize) {
        let old = self.old();
        self.full_at = self.young + (old * 2).max(self.young * 8).min(most);
    }

    /// Starts a collection.
    pub(super) fn collector<'h>(&'h mut self, tables: &'h Tables, full: bool) -> Collector<'h> {
        self.earlier += self.next as u64;
        let from = if full {
            self.young = self.grown;
            let mut to = Vec::with_capacity(self.words.len().max(self.young));
            to.resize(self.young, Packed::ERA);
            std::mem::replace(&mut self.words, to)
        } else {
            vec![]
        };
        let scanned = if full { self.words.len() } else { self.settled };
        Collector { heap: self, tables, full, from, scanned }
    }
}

/// A collection in progress. The words that it is given are the roots.
pub(super) struct Collector<'h> {
    heap: &'h mut Heap,
    tables: &'h Tables,
    full: bool,
    /// In a full collection, the heap as it was.
    from: Vec<Packed>,
    /// Up to here, the surviving cells point to surviving cells.
    scanned: usize,
}

impl Collector<'_> {
    /// Keeps what a root points to.
    #[inline]
    pub(super) fn root(&mut self, root: &mut Packed) {
        debug_assert!(!matches!(root.word(), Word::Moved(_)), "a slot that was not needed is needed again");
        *root = self.word(root.word()).into();
    }

    /// As [`root`](Self::root).
    #[inline]
    pub(super) fn word(&mut self, root: Word) -> Word {
        if self.full { self.survive::<true>(root) } else { self.survive::<false>(root) }
    }

    /// Keeps what the surviving cells point to, and empties the nursery.
    pub(super) fn finish(mut self) {
        if self.full {
            self.scan::<true>();
        } else {
            self.scan::<false>();
        }
        self.heap.next = 0;
        self.heap.settled = self.heap.words.len();
    }

    fn scan<const FULL: bool>(&mut self) {
        while let Some(&word) = self.heap.words.get(self.scanned) {
            self.heap.words[self.scanned] = self.survive::<FULL>(word.word()).into();
            self.scanned += 1;
        }
    }

    /// Where what a word points to is now.
    #[inline]
    fn survive<const FULL: bool>(&mut self, word: Word) -> Word {
        let (Word::Data(_, at) | Word::Pair(at) | Word::Closure(at) | Word::Partial(_, at)) = word else { return word };
        let at = at as usize;
        if !FULL && at >= self.heap.young {
            return word;
        }
        let first = if FULL { self.from[at].word() } else { self.heap.words[at].word() };
        let to = match first {
            Word::Moved(to) => to,
            first => self.copy::<FULL>(word, first, at),
        };
        match word {
            Word::Data(ctor, _) => Word::Data(ctor, to),
            Word::Pair(_) => Word::Pair(to),
            Word::Closure(_) => Word::Closure(to),
            Word::Partial(count, _) => Word::Partial(count, to),
            other => other,
        }
    }

    /// Copies the cell at `at` that `word` points to and that starts with `first`.
    fn copy<const FULL: bool>(&mut self, word: Word, first: Word, at: usize) -> Position {
        let count = match (word, first) {
            (Word::Data(ctor, _), _) => usize::from(self.tables.fields[usize::from(ctor)]),
            (Word::Partial(count, _), _) => 1 + usize::from(count),
            (_, Word::Header(lambda)) => 1 + self.tables.lambdas[lambda].captures.len(),
            _ => 2,
        };
        let to = self.heap.words.len();
        for at in at..at + count {
            let word = if FULL { self.from[at] } else { self.heap.words[at] };
            self.heap.words.push(word);
        }
        let moved = Packed::from(Word::Moved(to as Position));
        if FULL {
            self.from[at] = moved;
        } else {
            self.heap.words[at] = moved;
        }
        to as Position
    }
}
