//! Memory of stored nodes. Values that are not needed at the same time share a slot; an output has one of its own, which is as large as it is, because whoever runs the
//! kernels may give the memory for it.
//!
//! Invariant: no launch writes a slot from which it, or a later launch, reads another value.

use crate::graph::{Graph, NodeId};
use crate::ops::Op;
use crate::schedule::Group;
use std::collections::BTreeMap;

/// Where a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// An input.
    Input(usize),
    /// A slot.
    Slot(usize),
}

/// Places of stored nodes.
pub(super) struct Memory {
    pub places: BTreeMap<NodeId, Place>,
    pub slots: Vec<u64>,
}

/// Devices move whole words of this many bytes.
const WORD: u64 = 4;

pub(super) fn plan(graph: &Graph, groups: &[Group]) -> Memory {
    let mut places: BTreeMap<NodeId, Place> =
        graph.inputs().into_iter().enumerate().map(|(i, id)| (id, Place::Input(i))).collect();
    let mut last: BTreeMap<NodeId, usize> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        last.extend(group.reads.iter().map(|id| (*id, at)));
    }
    // Who reads the outputs comes after all.
    last.extend(graph.outputs.iter().map(|id| (*id, usize::MAX)));
    let (mut slots, mut free): (Vec<u64>, Vec<usize>) = (vec![], vec![]);
    for (at, group) in groups.iter().enumerate() {
        let ty = graph.ty(group.root);
        let bytes = ty.shape.elements() * u64::from(super::stored(ty.element).bytes());
        let bytes = bytes.next_multiple_of(WORD).max(WORD);
        // The free slot that has to grow least, or that wastes least.
        let usable = if graph.outputs.contains(&group.root) { 0 } else { free.len() };
        let best = (0..usable).min_by_key(|i| (slots[free[*i]] < bytes, slots[free[*i]].abs_diff(bytes)));
        let slot = match best {
            Some(i) => free.swap_remove(i),
            None => {
                slots.push(0);
                slots.len() - 1
            }
        };
        slots[slot] = slots[slot].max(bytes);
        places.insert(group.root, Place::Slot(slot));
        for id in group.reads.iter().filter(|id| last[*id] == at && graph.nodes[**id].op != Op::Input) {
            if let Place::Slot(slot) = places[id] {
                free.push(slot);
            }
        }
    }
    Memory { places, slots }
}
