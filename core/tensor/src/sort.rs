//! Sorting: where the first elements in order are. Blocks are sorted by counting how many elements come before each, and runs of them are merged in pairs: n elements take about
//! n log² n steps in all, and n log k where k are wanted.
//!
//! Invariant: equal elements stay in order, so what fills up the last block, which no element comes after, is behind all elements of the tensor.

use super::Made;
use super::attrs::{Attr, AttrKind, Number};
use super::graph::{Graph, Node, NodeId};
use super::ops::{Op, Order};
use super::size::Shape;
use girih_ir::Scalar;

/// How many elements are sorted by comparing each with each: about where merging becomes faster.
const BLOCK: u64 = 32;
/// The most comparisons of each with each, which are elements of a tensor.
const MOST_COMPARED: u64 = 1 << 30;

pub(crate) fn arg_sort(g: &mut Graph, node: &Node) -> Made<NodeId> {
    sorted(g, node, Order::Up)
}
pub(crate) fn arg_top(g: &mut Graph, node: &Node) -> Made<NodeId> {
    sorted(g, node, Order::Down)
}

/// Sorted runs of some rows: [rows * runs, length].
struct Runs {
    keys: NodeId,
    /// Where each element is in its row.
    places: NodeId,
    /// How many a row has.
    count: u64,
}

fn sorted(g: &mut Graph, node: &Node, order: Order) -> Made<NodeId> {
    let (axis, rank) = (node.axis() as u64, node.ty.shape.rank() as u64);
    let wanted = node.ty.shape.length(node.axis());
    if node.ty.shape.elements() == 0 {
        return g.full(&node.ty, Number::Int(0));
    }
    let axes: Vec<u64> = (0..rank).filter(|other| *other != axis).chain([axis]).collect();
    let x = if axes.is_sorted() { node.operands[0] } else { g.permute(node.operands[0], &axes)? };
    let mut lengths = g.shape(x).lengths();
    let length = lengths.pop().unwrap_or(1);
    let rows: u64 = lengths.iter().product();
    let x = g.reshape(x, &Shape::of(&[rows, length]))?;
    let mut runs = blocks(g, x, wanted, order)?;
    while runs.count > 1 {
        runs = merged(g, &runs, wanted, order)?;
    }
    lengths.push(wanted);
    let places = g.reshape(runs.places, &Shape::of(&lengths))?;
    let mut back: Vec<u64> = (0..rank - 1).collect();
    back.insert(node.axis(), rank - 1);
    let places = if back.is_sorted() { places } else { g.permute(places, &back)? };
    g.convert(places, node.ty.element)
}

/// What no element comes after.
fn last(element: Scalar, order: Order) -> Number {
    match (order, element.is_float()) {
        (Order::Up, true) => Number::Float(f64::NAN),
        (Order::Down, true) => Number::Float(f64::NEG_INFINITY),
        (Order::Up, false) => Number::Int(i128::MAX).within(element),
        (Order::Down, false) => Number::Int(i128::MIN).within(element),
    }
}

/// Whether elements come before others; equal ones do not.
fn comes_before(g: &mut Graph, x: NodeId, y: NodeId, order: Order) -> Made<NodeId> {
    let before = g.op(if order == Order::Up { Op::Lt } else { Op::Gt }, &[x, y])?;
    if !g.ty(x).element.is_float() {
        return Ok(before);
    }
    let (greater, other) = if order == Order::Up { (y, x) } else { (x, y) };
    let (is_nan, is_number) = (g.op(Op::Ne, &[greater, greater])?, g.op(Op::Eq, &[other, other])?);
    let beyond = g.op(Op::And, &[is_nan, is_number])?;
    g.op(Op::Or, &[before, beyond])
}

/// Blocks of the rows, as many as a power of two, each sorted by comparing each element with each; as many elements of each as are wanted.
fn blocks(g: &mut Graph, x: NodeId, wanted: u64, order: Order) -> Made<Runs> {
    let (rows, length) = (g.shape(x).length(0), g.shape(x).length(1));
    let most = (MOST_COMPARED / (rows * length)).clamp(1, BLOCK);
    let count = length.div_ceil(most).next_power_of_two();
    let block = length.div_ceil(count);
    let x = match block * count - length {
        0 => x,
        missing => g.pad(x, &[0, 0], &[0, missing], last(g.ty(x).element, order))?,
    };
    let all = rows * count;
    let x = g.reshape(x, &Shape::of(&[all, block]))?;
    let kept = block.min(wanted);
    // How many elements of its block come before each. Blocks run down, so that what is done for neighbours is done at once.
    let square = Shape::of(&[all, block, block]);
    let (other, own) = (g.reshape(x, &Shape::of(&[all, block, 1]))?, g.reshape(x, &Shape::of(&[all, 1, block]))?);
    let (other, own) = (g.broadcast_to(other, &square)?, g.broadcast_to(own, &square)?);
    let (before, after) = (comes_before(g, other, own, order)?, comes_before(g, own, other, order)?);
    let not_after = g.op(Op::Not, &[after])?;
    let (at, of) = (g.iota(Scalar::I32, &square, 1)?, g.iota(Scalar::I32, &square, 2)?);
    let is_earlier = g.op(Op::Lt, &[at, of])?;
    let before = g.op(Op::Where, &[is_earlier, not_after, before])?;
    let before = g.convert(before, Scalar::I32)?;
    let ranks = g.along(Op::Sum, before, &[1])?;
    // The element of each rank.
    let chosen = Shape::of(&[all, block, kept]);
    let ranks = g.reshape(ranks, &Shape::of(&[all, block, 1]))?;
    let ranks = g.broadcast_to(ranks, &chosen)?;
    let (place, rank) = (g.iota(Scalar::I32, &chosen, 1)?, g.iota(Scalar::I32, &chosen, 2)?);
    let (is_it, zero) = (g.op(Op::Eq, &[ranks, rank])?, g.number(place, 0.0)?);
    let place = g.op(Op::Where, &[is_it, place, zero])?;
    let inside = g.along(Op::Sum, place, &[1])?;
    let keys = g.at_axis(Op::Gather, &[x, inside], 1)?;
    let starts = g.iota(Scalar::I32, &Shape::of(&[rows, count, kept]), 1)?;
    let size = g.number(starts, block as f64)?;
    let starts = g.op(Op::Mul, &[starts, size])?;
    let starts = g.reshape(starts, &Shape::of(&[all, kept]))?;
    let places = g.op(Op::Add, &[starts, inside])?;
    Ok(Runs { keys, places, count })
}

/// Each two runs as one of as many elements as are wanted.
fn merged(g: &mut Graph, runs: &Runs, wanted: u64, order: Order) -> Made<Runs> {
    let length = g.shape(runs.keys).length(1);
    let pairs = Shape::of(&[g.shape(runs.keys).length(0) / 2, 2 * length]);
    let (keys, places) = (g.reshape(runs.keys, &pairs)?, g.reshape(runs.places, &pairs)?);
    let merge = if order == Order::Up { Op::Merge } else { Op::MergeDown };
    let from = g.push(merge, &[keys], vec![Attr::List(AttrKind::Length, vec![(2 * length).min(wanted)])])?;
    let keys = g.at_axis(Op::Gather, &[keys, from], 1)?;
    let places = g.at_axis(Op::Gather, &[places, from], 1)?;
    Ok(Runs { keys, places, count: runs.count / 2 })
}
