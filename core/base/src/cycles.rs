//! Cycles of graphs: which nodes lie on one, and which reach each other.

use crate::idx::{Idx, IndexVec};

/// For every node, whether it can reach itself along the edges. Tarjan's algorithm with an explicit stack.
pub fn on_cycle<I: Idx>(edges: &IndexVec<I, Vec<I>>) -> IndexVec<I, bool> {
    Search::new(edges).run().recursive
}

/// For every node, the number of its group: nodes that reach each other are of one group, and a group that is reached from another has the
/// smaller number.
pub fn groups<I: Idx>(edges: &IndexVec<I, Vec<I>>) -> IndexVec<I, usize> {
    Search::new(edges).run().group
}

const UNSEEN: u32 = u32::MAX;

struct Search<'a, I> {
    edges: &'a IndexVec<I, Vec<I>>,
    /// When each node was first met.
    order: Vec<u32>,
    /// The earliest node on the path that it reaches.
    low: Vec<u32>,
    on_path: Vec<bool>,
    path: Vec<usize>,
    /// Nodes being explored, with the next edge to follow.
    work: Vec<(usize, usize)>,
    met: u32,
    recursive: IndexVec<I, bool>,
    group: IndexVec<I, usize>,
    groups: usize,
}

impl<'a, I: Idx> Search<'a, I> {
    fn new(edges: &'a IndexVec<I, Vec<I>>) -> Self {
        let n = edges.len();
        Search {
            edges,
            order: vec![UNSEEN; n],
            low: vec![0; n],
            on_path: vec![false; n],
            path: vec![],
            work: vec![],
            met: 0,
            recursive: (0..n).map(|_| false).collect(),
            group: (0..n).map(|_| 0).collect(),
            groups: 0,
        }
    }

    fn run(mut self) -> Self {
        for root in 0..self.edges.len() {
            if self.order[root] == UNSEEN {
                self.enter(root);
                while let Some((node, next)) = self.work.pop() {
                    self.step(node, next);
                }
            }
        }
        self
    }

    fn enter(&mut self, node: usize) {
        self.order[node] = self.met;
        self.low[node] = self.met;
        self.met += 1;
        self.path.push(node);
        self.on_path[node] = true;
        self.work.push((node, 0));
    }

    fn step(&mut self, node: usize, next: usize) {
        let Some(&target) = self.edges[I::from_usize(node)].get(next) else {
            return self.leave(node);
        };
        self.work.push((node, next + 1));
        let target = target.index();
        if target == node {
            self.recursive[I::from_usize(node)] = true;
        }
        if self.order[target] == UNSEEN {
            self.enter(target);
        } else if self.on_path[target] {
            self.low[node] = self.low[node].min(self.order[target]);
        }
    }

    fn leave(&mut self, node: usize) {
        if self.low[node] == self.order[node] {
            let start = self.path.iter().rposition(|d| *d == node).unwrap_or(0);
            let group = self.path.split_off(start);
            for &member in &group {
                self.on_path[member] = false;
                self.group[I::from_usize(member)] = self.groups;
                if group.len() > 1 {
                    self.recursive[I::from_usize(member)] = true;
                }
            }
            self.groups += 1;
        }
        if let Some((parent, _)) = self.work.last() {
            self.low[*parent] = self.low[*parent].min(self.low[node]);
        }
    }
}
