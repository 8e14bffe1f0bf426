//! Equal computations become one: value numbering over a graph without order of effects, since nodes have none.
//!
//! Invariant: inputs stay, in their order, and outputs stand for the same tensors.

use super::graph::{Graph, Node, NodeId};
use super::ops::Op;
use std::collections::HashMap;

/// The same graph with one node for each distinct computation.
pub fn share(graph: &Graph) -> Graph {
    let mut shared = Graph::new();
    let mut moved: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    let mut known: HashMap<(Op, Vec<NodeId>, String), NodeId> = HashMap::new();
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let operands: Vec<NodeId> = node.operands.iter().map(|operand| moved[operand.index()]).collect();
        let mut add = || shared.nodes.push(Node { operands: operands.clone(), ..node.clone() });
        moved.push(if node.op == Op::Input {
            add()
        } else {
            // Attributes have floats, which compare as they are printed: a zero with a sign is another number.
            *known.entry((node.op, operands.clone(), format!("{:?}", node.attrs))).or_insert_with(add)
        });
    }
    shared.outputs = graph.outputs.iter().map(|output| moved[output.index()]).collect();
    shared
}
