//! Which definitions lie on cycles of a graph between definitions.

use super::DefId;
use crate::idx::{Idx, IndexVec};

/// For every definition, whether it can reach itself along the edges. Tarjan's algorithm with an explicit stack.
pub fn on_cycle(edges: &IndexVec<DefId, Vec<DefId>>) -> IndexVec<DefId, bool> {
    Search::new(edges).run().recursive
}

/// For every definition, the number of its group: definitions that reach each other are of one group.
pub fn groups(edges: &IndexVec<DefId, Vec<DefId>>) -> IndexVec<DefId, usize> {
    Search::new(edges).run().group
}

const UNSEEN: u32 = u32::MAX;

struct Search<'a> {
    edges: &'a IndexVec<DefId, Vec<DefId>>,
    /// When each definition was first met.
    order: Vec<u32>,
    /// The earliest definition on the path that it reaches.
    low: Vec<u32>,
    on_path: Vec<bool>,
    path: Vec<usize>,
    /// Definitions being explored, with the next edge to follow.
    work: Vec<(usize, usize)>,
    met: u32,
    recursive: IndexVec<DefId, bool>,
    group: IndexVec<DefId, usize>,
    groups: usize,
}

impl<'a> Search<'a> {
    fn new(edges: &'a IndexVec<DefId, Vec<DefId>>) -> Self {
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
                while let Some((def, next)) = self.work.pop() {
                    self.step(def, next);
                }
            }
        }
        self
    }

    fn enter(&mut self, def: usize) {
        self.order[def] = self.met;
        self.low[def] = self.met;
        self.met += 1;
        self.path.push(def);
        self.on_path[def] = true;
        self.work.push((def, 0));
    }

    fn step(&mut self, def: usize, next: usize) {
        let Some(&target) = self.edges[DefId::from_usize(def)].get(next) else {
            return self.leave(def);
        };
        self.work.push((def, next + 1));
        let target = target.index();
        if target == def {
            self.recursive[DefId::from_usize(def)] = true;
        }
        if self.order[target] == UNSEEN {
            self.enter(target);
        } else if self.on_path[target] {
            self.low[def] = self.low[def].min(self.order[target]);
        }
    }

    fn leave(&mut self, def: usize) {
        if self.low[def] == self.order[def] {
            let start = self.path.iter().rposition(|d| *d == def).unwrap_or(0);
            let group = self.path.split_off(start);
            for &member in &group {
                self.on_path[member] = false;
                self.group[DefId::from_usize(member)] = self.groups;
                if group.len() > 1 {
                    self.recursive[DefId::from_usize(member)] = true;
                }
            }
            self.groups += 1;
        }
        if let Some((parent, _)) = self.work.last() {
            self.low[*parent] = self.low[*parent].min(self.low[def]);
        }
    }
}
