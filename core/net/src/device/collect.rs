//! What can be reached from a port, copied from a device: a normal form is often small where the memory that it was made in is not.
//!
//! Memory is read in pages, each once, and only those that something leads to. Nodes and wires are numbered anew, in the order in which they are met.

use crate::heap::Heap;
use crate::word::{Kind, Word};
use girih_base::diag::Diagnostic;
use girih_task::device::{Pages, WordBuffer};
use std::collections::HashMap;

/// Words of a page.
const PAGE: usize = 1 << 16;

/// The arrays of a device: two words a node, one a wire.
pub(super) struct Arrays<'d> {
    pub(super) nodes: WordBuffer<'d>,
    pub(super) wires: WordBuffer<'d>,
}

/// A copy that is being made.
struct Copy<'d> {
    from: Arrays<'d>,
    node_pages: Pages<PAGE>,
    wire_pages: Pages<PAGE>,
    nodes: Vec<[Word; 2]>,
    /// Wires that have been met at one end, by their places on the device.
    wires: HashMap<usize, u32>,
    /// Nodes whose parts are still to be copied: where they are on the device.
    pending: Vec<(Word, usize)>,
}

/// The port and what can be reached from it, in a heap that may take so many bytes.
///
/// # Errors
/// If the device fails.
pub(super) fn copied(from: Arrays<'_>, root: Word, limit: u64) -> Result<(Word, Heap), Diagnostic> {
    let (node_pages, wire_pages) = (Pages::default(), Pages::default());
    let mut copy = Copy { from, node_pages, wire_pages, nodes: vec![], wires: HashMap::new(), pending: vec![] };
    let root = copy.port(root)?;
    while let Some((node, to)) = copy.pending.pop() {
        let parts = [copy.node_word(2 * node.index())?, copy.node_word(2 * node.index() + 1)?];
        // The words of a number in a node are no ports.
        let parts = if node.kind() == Kind::Box { parts } else { [copy.port(parts[0])?, copy.port(parts[1])?] };
        copy.nodes[to] = parts;
    }
    // Wire 0 is not used, and none of the others has been linked.
    let wires = vec![Word::NONE; copy.wires.len() + 1];
    Ok((root, Heap::of(copy.nodes, wires, [vec![], vec![]], limit)))
}

impl Copy<'_> {
    /// A word of the nodes.
    fn node_word(&mut self, at: usize) -> Result<Word, Diagnostic> {
        self.node_pages.word(self.from.nodes, at).map(Word)
    }

    /// A port in the copy. A wire that is linked at its other end is what it is linked with.
    fn port(&mut self, mut word: Word) -> Result<Word, Diagnostic> {
        while word.kind() == Kind::Var {
            let next = self.wire_pages.word(self.from.wires, word.index()).map(Word)?;
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
