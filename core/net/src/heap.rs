//! The memory of a net: nodes of two words, and wires of one.
//!
//! Every end of a wire is a word of kind `Var`; the wire's own word is [`Word::NONE`] until the first end that is linked leaves there what it
//! was linked with. Who comes second finds that, and the wire is free again. So each word is written at most twice, each time by an
//! exchange, which is what many processors at once need too.

use super::word::{INDICES, Kind, Word};

/// A net that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Nodes and wires.
#[derive(Clone, Debug)]
pub struct Heap {
    nodes: Vec<[Word; 2]>,
    free_nodes: Vec<u32>,
    wires: Vec<Word>,
    free_wires: Vec<u32>,
    /// How many bytes it may take.
    limit: u64,
}

pub(super) const NODE_BYTES: u64 = 8;
pub(super) const WIRE_BYTES: u64 = 4;

impl Heap {
    /// An empty heap that may grow to so many bytes.
    pub fn new(limit: u64) -> Heap {
        // Wire 0 is not used, because its word means that there is none.
        Heap { nodes: vec![], free_nodes: vec![], wires: vec![Word::NONE], free_wires: vec![], limit }
    }

    /// A heap of these nodes and wires, of which some are free.
    pub(super) fn of(nodes: Vec<[Word; 2]>, wires: Vec<Word>, free: [Vec<u32>; 2], limit: u64) -> Heap {
        let [free_nodes, free_wires] = free;
        Heap { nodes, free_nodes, wires, free_wires, limit }
    }

    /// Its nodes and wires, and which of them are free.
    pub(super) fn into_parts(self) -> (Vec<[Word; 2]>, Vec<Word>, [Vec<u32>; 2]) {
        (self.nodes, self.wires, [self.free_nodes, self.free_wires])
    }

    /// Without free places at the end.
    pub(super) fn trimmed(mut self) -> Heap {
        fn trim<T>(places: &mut Vec<T>, free: &mut Vec<u32>, least: usize) {
            free.sort_unstable();
            let is_last = |free: &[u32], len: usize| free.last().is_some_and(|last| *last as usize + 1 == len);
            while places.len() > least && is_last(free, places.len()) {
                places.pop();
                free.pop();
            }
        }
        trim(&mut self.nodes, &mut self.free_nodes, 0);
        trim(&mut self.wires, &mut self.free_wires, 1);
        self
    }

    /// A new node.
    pub fn node(&mut self, kind: Kind, parts: [Word; 2]) -> Result<Word, Full> {
        let index = match self.free_nodes.pop() {
            Some(index) => {
                self.nodes[index as usize] = parts;
                index
            }
            None => {
                let index = self.nodes.len() as u32;
                if index == INDICES || self.bytes() + NODE_BYTES > self.limit {
                    return Err(Full);
                }
                self.nodes.push(parts);
                index
            }
        };
        Ok(Word::new(kind, index))
    }

    /// A new wire.
    pub fn wire(&mut self) -> Result<Word, Full> {
        let index = match self.free_wires.pop() {
            Some(index) => index,
            None => {
                let index = self.wires.len() as u32;
                if index == INDICES || self.bytes() + WIRE_BYTES > self.limit {
                    return Err(Full);
                }
                self.wires.push(Word::NONE);
                index
            }
        };
        self.wires[index as usize] = Word::NONE;
        Ok(Word::new(Kind::Var, index))
    }

    /// The two parts of a node.
    #[inline]
    pub fn parts(&self, node: Word) -> [Word; 2] {
        self.nodes[node.index()]
    }

    /// Changes the parts of a node.
    #[inline]
    pub fn set_parts(&mut self, node: Word, parts: [Word; 2]) {
        self.nodes[node.index()] = parts;
    }

    /// Gives a node back.
    #[inline]
    pub fn free_node(&mut self, node: Word) {
        self.free_nodes.push(node.index() as u32);
    }

    /// Gives a wire back.
    #[inline]
    pub fn free_wire(&mut self, wire: Word) {
        self.free_wires.push(wire.index() as u32);
    }

    /// What a wire has been linked with at its other end; nothing if that is still to come.
    #[inline]
    pub fn at(&self, wire: Word) -> Word {
        self.wires[wire.index()]
    }

    /// Puts a word into a wire, and gives what was there.
    #[inline]
    pub fn exchange(&mut self, wire: Word, word: Word) -> Word {
        std::mem::replace(&mut self.wires[wire.index()], word)
    }

    /// Follows wires that are linked already. They are given back.
    pub fn enter(&mut self, mut word: Word) -> Word {
        while word.kind() == Kind::Var {
            let next = self.at(word);
            if next == Word::NONE {
                break;
            }
            self.free_wire(word);
            word = next;
        }
        word
    }

    /// What is at the end of a chain of wires; they stay.
    pub fn look(&self, mut word: Word) -> Word {
        while word.kind() == Kind::Var {
            let next = self.at(word);
            if next == Word::NONE {
                break;
            }
            word = next;
        }
        word
    }

    /// The words of all wires that have been linked at one end.
    pub fn linked(&self) -> Vec<Word> {
        let mut free = vec![false; self.wires.len()];
        self.free_wires.iter().for_each(|wire| free[*wire as usize] = true);
        let words = self.wires.iter().zip(free).filter(|(word, free)| **word != Word::NONE && !free);
        words.map(|(word, _)| *word).collect()
    }

    /// How many bytes nodes and wires take, free ones included.
    pub fn bytes(&self) -> u64 {
        self.nodes.len() as u64 * NODE_BYTES + self.wires.len() as u64 * WIRE_BYTES
    }

    /// How many nodes and wires are in use.
    pub fn live(&self) -> (usize, usize) {
        (self.nodes.len() - self.free_nodes.len(), self.wires.len() - 1 - self.free_wires.len())
    }
}
