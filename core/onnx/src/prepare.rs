//! What is computed once: the part of a graph that no input of the model leads to, such as factors of a batch norm.
//!
//! Invariant: of that part only what is computed is kept. Views of weights, and weights repeated, cost a run nothing but arithmetic on indices, and stay in the graph.

use crate::import::Imported;
use girih_tensor::ops::Meaning;
use girih_tensor::{Graph, Made, Node, NodeId, Op};
use std::collections::HashMap;

/// A graph in two parts.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What is computed once. Its inputs are the weights.
    pub once: Graph,
    /// What each run computes. Its inputs are the model's that are not fixed, then the weights that it needs itself, then what `once` gives.
    pub each: Graph,
    /// The numbers of those weights.
    pub weights: Vec<usize>,
}

impl Imported {
    /// Divides the graph; so many of its inputs are the model's.
    ///
    /// # Errors
    /// None that is not a mistake of this crate: both parts have the nodes that the graph had.
    pub fn prepare(&self) -> Made<Prepared> {
        let graph = &self.graph;
        let given = graph.inputs().len() - self.weights.len();
        let mut is_constant = vec![];
        let mut inputs = 0;
        for id in graph.ids() {
            let node = &graph.nodes[id];
            inputs += usize::from(node.op == Op::Input);
            is_constant.push(if node.op == Op::Input {
                inputs > given
            } else {
                node.operands.iter().all(|operand| is_constant[operand.index()])
            });
        }
        let is_stored = stored(graph, &is_constant);
        let (mut once, mut each) = (Part::default(), Part::default());
        let mut weights = vec![];
        let mut inputs = 0;
        for id in graph.ids() {
            let node = &graph.nodes[id];
            if node.op == Op::Input {
                inputs += 1;
                if inputs > given {
                    once.add(id, node);
                    weights.push((inputs - 1 - given, id));
                } else {
                    each.add(id, node);
                }
            } else if is_constant[id.index()] {
                once.add(id, node);
            }
        }
        let used = weights.iter().filter(|(_, id)| needed_by_runs(graph, &is_constant, &is_stored, *id)).copied();
        let used: Vec<(usize, NodeId)> = used.collect();
        used.iter().for_each(|(_, id)| each.add(*id, &graph.nodes[*id]));
        for id in graph.ids().filter(|id| is_stored[id.index()]) {
            once.graph.outputs.push(once.moved[&id]);
            each.input(id, &graph.nodes[id])?;
        }
        for id in graph.ids() {
            let node = &graph.nodes[id];
            if node.op != Op::Input
                && !is_stored[id.index()]
                && node.operands.iter().all(|operand| each.moved.contains_key(operand))
            {
                each.add(id, node);
            }
        }
        each.graph.outputs = graph.outputs.iter().map(|output| each.moved[output]).collect();
        let weights = used.into_iter().map(|(number, _)| number).collect();
        Ok(Prepared { once: once.graph, each: each.graph, weights })
    }
}

/// A graph with what the nodes of another have become.
#[derive(Default)]
struct Part {
    graph: Graph,
    moved: HashMap<NodeId, NodeId>,
}

impl Part {
    fn add(&mut self, id: NodeId, node: &Node) {
        let operands = node.operands.iter().map(|operand| self.moved[operand]).collect();
        let copy = self.graph.nodes.push(Node { operands, ..node.clone() });
        self.moved.insert(id, copy);
    }
    fn input(&mut self, id: NodeId, node: &Node) -> Made<()> {
        let input = self.graph.input(node.ty.element, &node.ty.shape.lengths())?;
        self.moved.insert(id, input);
        Ok(())
    }
}

/// Whether a node only shows elements that are stored elsewhere, or none.
fn is_free(node: &Node) -> bool {
    match node.op.row().meaning {
        Meaning::View(_) | Meaning::Input | Meaning::Full | Meaning::Iota => true,
        Meaning::Pointwise(_)
        | Meaning::Convert
        | Meaning::Reduce(_)
        | Meaning::Concat
        | Meaning::Gather
        | Meaning::Scan
        | Meaning::Merge(_)
        | Meaning::AddAt
        | Meaning::Matmul
        | Meaning::Compound(_) => false,
    }
}

/// The constant nodes whose elements runs need, found from what runs compute down through views.
fn stored(graph: &Graph, is_constant: &[bool]) -> Vec<bool> {
    let mut stored = vec![false; graph.nodes.len()];
    let mut seen = vec![false; graph.nodes.len()];
    let computed = graph.ids().filter(|id| !is_constant[id.index()]);
    let mut open: Vec<NodeId> =
        computed.flat_map(|id| graph.nodes[id].operands.clone()).chain(graph.outputs.iter().copied()).collect();
    while let Some(id) = open.pop() {
        if !is_constant[id.index()] || std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        if is_free(&graph.nodes[id]) {
            open.extend(&graph.nodes[id].operands);
        } else {
            stored[id.index()] = true;
        }
    }
    stored
}
/// Whether runs see a weight itself, and not only what was computed of it.
fn needed_by_runs(graph: &Graph, is_constant: &[bool], is_stored: &[bool], weight: NodeId) -> bool {
    let mut shows = vec![false; graph.nodes.len()];
    shows[weight.index()] = true;
    for id in graph.ids().skip(weight.index() + 1) {
        let node = &graph.nodes[id];
        if node.operands.iter().any(|operand| shows[operand.index()]) && !is_stored[id.index()] {
            if !is_constant[id.index()] {
                return true;
            }
            shows[id.index()] = is_free(node);
        }
    }
    graph.outputs.iter().any(|output| shows[output.index()])
}
