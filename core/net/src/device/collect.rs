//! What can be reached from a port, copied from a device: a normal form is often small where the memory that it was made in is not.
//!
//! Memory is read in pages, each once, and only those that something leads to. Nodes and wires are numbered anew, in the order in which they are met.

use super::session::Session;
use crate::heap::Heap;
use crate::word::{Kind, Word};
use girih_base::diag::Diagnostic;
use std::collections::HashMap;

/// Words of a page.
const PAGE: u64 = 1 << 16;

/// A copy that is being made.
struct Copy<'c> {
    session: &'c mut Session,
    pages: HashMap<(Array, u64), Vec<u32>>,
    nodes: Vec<[Word; 2]>,
    /// Wires that have been met at one end, by their places on the device.
    wires: HashMap<usize, u32>,
    /// Nodes whose parts are still to be copied: where they are on the device.
    pending: Vec<(Word, usize)>,
}

/// An array of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Array {
    /// Two words a node.
    Nodes,
    /// One a wire.
    Wires,
}

/// The port and what can be reached from it, in a heap that may take so many bytes.
///
/// # Errors
/// If the device fails.
pub(super) fn copied(session: &mut Session, root: Word, limit: u64) -> Result<(Word, Heap), Diagnostic> {
    let mut copy = Copy { session, pages: HashMap::new(), nodes: vec![], wires: HashMap::new(), pending: vec![] };
    let root = copy.port(root)?;
    while let Some((node, to)) = copy.pending.pop() {
        let parts =
            [copy.word(Array::Nodes, 2 * node.index() as u64)?, copy.word(Array::Nodes, 2 * node.index() as u64 + 1)?];
        // The words of a number in a node are no ports.
        let parts = if node.kind() == Kind::Box { parts } else { [copy.port(parts[0])?, copy.port(parts[1])?] };
        copy.nodes[to] = parts;
    }
    // Wire 0 is not used, and none of the others has been linked.
    let wires = vec![Word::NONE; copy.wires.len() + 1];
    Ok((root, Heap::of(copy.nodes, wires, [vec![], vec![]], limit)))
}

impl Copy<'_> {
    /// A word of an array.
    fn word(&mut self, array: Array, at: u64) -> Result<Word, Diagnostic> {
        let page = at / PAGE;
        if !self.pages.contains_key(&(array, page)) {
            let words = self.session.page(array, page * PAGE, PAGE)?;
            self.pages.insert((array, page), words);
        }
        // The page was read right now, if it was not there.
        let word = self.pages.get(&(array, page)).and_then(|words| words.get((at % PAGE) as usize));
        Ok(Word(word.copied().unwrap_or(0)))
    }

    /// A port in the copy. A wire that is linked at its other end is what it is linked with.
    fn port(&mut self, mut word: Word) -> Result<Word, Diagnostic> {
        while word.kind() == Kind::Var {
            let next = self.word(Array::Wires, word.index() as u64)?;
            if next == Word::NONE {
                let known = self.wires.len() as u32 + 1;
                let wire = *self.wires.entry(word.index()).or_insert(known);
                return Ok(Word::new(Kind::Var, wire));
            }
            word = next;
        }
        if !word.kind().is_node() {
            return Ok(word);
        }
        let to = self.nodes.len();
        self.nodes.push([Word::NONE; 2]);
        self.pending.push((word, to));
        Ok(Word::new(word.kind(), to as u32))
    }
}
