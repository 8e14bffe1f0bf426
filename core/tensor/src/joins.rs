//! Concatenations of many tensors become concatenations of some, and one of what these give: an element looks at each operand of a kernel, a device has a limited number of buffers
//! for one, and the time that a kernel takes to compile grows faster than its length.
//!
//! Invariant: the graph means the same, and no operation concatenates more than [`MOST`] tensors.

use super::Made;
use super::graph::{Graph, Node, NodeId};
use super::ops::Op;

/// The most tensors that one kernel concatenates.
pub(super) const MOST: usize = 16;

/// Splits concatenations of many tensors of a graph.
pub(super) fn split(graph: &Graph) -> Made<Graph> {
    let is_long = |node: &Node| node.op == Op::Concat && node.operands.len() > MOST;
    if !graph.nodes.iter().any(is_long) {
        return Ok(graph.clone());
    }
    let mut made = Graph::new();
    let mut moved: Vec<NodeId> = vec![];
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let mut operands: Vec<NodeId> = node.operands.iter().map(|operand| moved[operand.index()]).collect();
        while is_long(node) && operands.len() > MOST {
            // Parts of about one length, as few as there can be.
            let size = operands.len().div_ceil(operands.len().div_ceil(MOST));
            let parts = operands.chunks(size).map(|part| made.at_axis(Op::Concat, part, node.axis()));
            operands = parts.collect::<Made<_>>()?;
        }
        moved.push(made.nodes.push(Node { operands, ..node.clone() }));
    }
    made.outputs = graph.outputs.iter().map(|output| moved[output.index()]).collect();
    Ok(made)
}
