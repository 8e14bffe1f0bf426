//! What reaches a cycle of a graph of references: code that may go on for long.

use girih_base::cycles::on_cycle;
use girih_base::idx::{Idx, IndexVec};

/// For every node, whether it lies on a cycle or leads to one.
pub fn reaches_cycle<I: Idx>(edges: &IndexVec<I, Vec<I>>) -> IndexVec<I, bool> {
    let mut found = on_cycle(edges);
    let mut users: IndexVec<I, Vec<I>> = edges.iter().map(|_| vec![]).collect();
    for (user, used) in edges.iter_enumerated() {
        used.iter().for_each(|node| users[*node].push(user));
    }
    let mut todo: Vec<I> = found.iter_enumerated().filter(|(_, is_found)| **is_found).map(|(node, _)| node).collect();
    while let Some(node) = todo.pop() {
        todo.extend(users[node].iter().copied().filter(|user| !std::mem::replace(&mut found[*user], true)));
    }
    found
}
