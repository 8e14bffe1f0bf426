//! Products of integer matrices, as sums of products: kernels multiply matrices of floats alone.
//!
//! Invariant: the graph means the same, integers wrap as they do in `matmul`.

use super::Made;
use super::attrs::Number;
use super::graph::{Graph, Node, NodeId};
use super::ops::{Meaning, Op};
use super::size::Shape;

/// Replaces products of integers in a graph without compound operations.
pub(super) fn sum_products(graph: &Graph) -> Made<Graph> {
    if !graph.ids().any(|id| is_product(&graph.nodes[id])) {
        return Ok(graph.clone());
    }
    let mut made = Graph::new();
    let mut moved: Vec<NodeId> = vec![];
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let operands = node.operands.iter().map(|operand| moved[operand.index()]).collect();
        let copy = Node { operands, ..node.clone() };
        moved.push(if is_product(node) { summed(&mut made, &copy)? } else { made.nodes.push(copy) });
    }
    made.outputs = graph.outputs.iter().map(|output| moved[output.index()]).collect();
    Ok(made)
}

fn is_product(node: &Node) -> bool {
    matches!(node.op.row().meaning, Meaning::Matmul) && !node.ty.element.is_float()
}

/// [.., m, k] and [.., k, n] as [all, m, k, n], summed over k.
fn summed(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (a, b) = (node.operands[0], node.operands[1]);
    let (left, right) = (g.shape(a).lengths(), g.shape(b).lengths());
    let rank = left.len();
    let (rows, depth, columns) = (left[rank - 2], left[rank - 1], right[rank - 1]);
    if depth == 0 {
        return g.full(&node.ty, Number::Int(0));
    }
    let all: u64 = left[..rank - 2].iter().product();
    let shape = Shape::of(&[all, rows, depth, columns]);
    let a = g.reshape(a, &Shape::of(&[all, rows, depth, 1]))?;
    let b = g.reshape(b, &Shape::of(&[all, 1, depth, columns]))?;
    let (a, b) = (g.broadcast_to(a, &shape)?, g.broadcast_to(b, &shape)?);
    let products = g.op(Op::Mul, &[a, b])?;
    let sums = g.along(Op::Sum, products, &[2])?;
    g.reshape(sums, &node.ty.shape)
}
