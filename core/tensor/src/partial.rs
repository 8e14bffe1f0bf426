//! Long reductions with few results, as a loss has them, become reductions of parts and one of what these give: one program would run alone.
//!
//! Invariant: the graph means the same. A part's sum of short floats stays `f32` until all parts are summed.

use super::Made;
use super::attrs::{AttrKind, Number};
use super::graph::{Graph, Node, NodeId};
use super::ops::{Meaning, Op, Reduction};
use super::size::Shape;
use girih_ir::Scalar;

/// From how many elements of a result on it is computed in parts.
const LONG: u64 = 1 << 15;
/// How long a part is: one tile.
const PART: u64 = 4096;
/// So many results keep a device busy without parts.
const MANY: u64 = 256;

/// Splits long reductions of a graph without compound operations, until none is left.
pub(super) fn split(graph: &Graph) -> Made<Graph> {
    let mut graph = graph.clone();
    while graph.ids().any(|id| is_long(&graph, &graph.nodes[id])) {
        let mut made = Graph::new();
        let mut moved: Vec<NodeId> = vec![];
        for id in graph.ids() {
            let node = &graph.nodes[id];
            let operands = node.operands.iter().map(|operand| moved[operand.index()]).collect();
            let copy = Node { operands, ..node.clone() };
            moved.push(if is_long(&graph, node) { in_parts(&mut made, &copy)? } else { made.nodes.push(copy) });
        }
        made.outputs = graph.outputs.iter().map(|output| moved[output.index()]).collect();
        graph = made;
    }
    Ok(graph)
}

/// How a node reduces, if its elements can be combined in parts: positions are not.
fn reduction(node: &Node) -> Option<Reduction> {
    match node.op.row().meaning {
        Meaning::Reduce(Reduction::ArgMax | Reduction::ArgMin) => None,
        Meaning::Reduce(by) => Some(by),
        Meaning::Input
        | Meaning::Full
        | Meaning::Iota
        | Meaning::Pointwise(_)
        | Meaning::Convert
        | Meaning::View(_)
        | Meaning::Concat
        | Meaning::Gather
        | Meaning::Scan
        | Meaning::Merge(_)
        | Meaning::AddAt
        | Meaning::Matmul
        | Meaning::Compound(_) => None,
    }
}

fn is_long(graph: &Graph, node: &Node) -> bool {
    let results = node.ty.shape.elements();
    let has_parts = || graph.shape(node.operands[0]).elements() / results >= LONG;
    reduction(node).is_some() && (1..MANY).contains(&results) && has_parts()
}

fn in_parts(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (node.operands[0], node.list(AttrKind::Axes));
    let rank = g.shape(x).rank() as u64;
    let kept: Vec<u64> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
    let order: Vec<u64> = kept.iter().copied().chain((0..rank).filter(|axis| axes.contains(axis))).collect();
    let is_short = matches!(node.op, Op::Sum | Op::Prod) && matches!(node.ty.element, Scalar::F16 | Scalar::Bf16);
    let x = if is_short { g.convert(x, Scalar::F32)? } else { x };
    let x = if order.is_sorted() { x } else { g.permute(x, &order)? };
    let results = node.ty.shape.elements();
    let count = g.shape(x).elements() / results;
    let parts = count.div_ceil(PART);
    let x = g.reshape(x, &Shape::of(&[results, count]))?;
    let missing = parts * PART - count;
    let x = if missing > 0 { g.pad(x, &[0, 0], &[0, missing], neutral(node))? } else { x };
    let x = g.reshape(x, &Shape::of(&[results, parts, PART]))?;
    let x = g.along(node.op, x, &[2])?;
    let x = g.along(node.op, x, &[1])?;
    let x = g.reshape(x, &node.ty.shape)?;
    g.convert(x, node.ty.element)
}

/// What changes nothing when it is combined.
fn neutral(node: &Node) -> Number {
    let element = node.ty.element;
    let number = |float: f64, integer: i128| {
        if element.is_float() { Number::Float(float) } else { Number::Int(integer).within(element) }
    };
    match reduction(node) {
        Some(Reduction::Prod | Reduction::All) => number(1.0, 1),
        Some(Reduction::Max) => number(f64::NEG_INFINITY, i128::MIN),
        Some(Reduction::Min) => number(f64::INFINITY, i128::MAX),
        Some(Reduction::Sum | Reduction::Any | Reduction::ArgMax | Reduction::ArgMin) | None => number(0.0, 0),
    }
}
