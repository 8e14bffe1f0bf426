//! Decompositions of operations on windows: convolutions and pools are views of the padded tensor, which is never stored, and sums or products of matrices of these.
//!
//! Invariant: what is neighbours in memory, places along a row, is neighbours along a result's row, too.

use super::Made;
use super::attrs::{AttrKind, Number};
use super::decompose::wide;
use super::graph::{Graph, Node, NodeId};
use super::ops::Op;
use super::size::Shape;

/// x with a copy of itself in a new last dimension, after which the axis is the first of two in question: [.., n, .., count].
fn repeated_last(g: &mut Graph, x: NodeId, count: u64) -> Made<NodeId> {
    let mut lengths = g.shape(x).lengths();
    lengths.push(1);
    let x = g.reshape(x, &Shape::of(&lengths))?;
    if let Some(last) = lengths.last_mut() {
        *last = count;
    }
    g.broadcast_to(x, &Shape::of(&lengths))
}
fn one(list: &[u64]) -> u64 {
    list.first().copied().unwrap_or(1)
}
pub(crate) fn windows(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (axis, x) = (node.axis(), node.operands[0]);
    if one(node.list(AttrKind::Window)) == 1 && one(node.list(AttrKind::Stride)) == 1 {
        return g.reshape(x, &node.ty.shape);
    }
    let repeated = repeated_last(g, node.operands[0], one(node.list(AttrKind::Window)))?;
    let (stride, dilation) = (one(node.list(AttrKind::Stride)), one(node.list(AttrKind::Dilation)));
    g.skewed(Op::Skew, repeated, axis, node.ty.shape.length(axis), stride, dilation)
}
/// Windows in height and width: [images, channels, rows, columns, height, width].
fn windows2d(g: &mut Graph, node: &Node, window: [u64; 2], dilation: [u64; 2], around: Number) -> Made<NodeId> {
    let [stride, padding] = [AttrKind::Stride, AttrKind::Padding].map(|kind| node.list(kind).to_vec());
    let mut x = node.operands[0];
    if padding.iter().any(|more| *more > 0) {
        let around_all = [0, 0, padding[0], padding[1]];
        x = g.pad(x, &around_all, &around_all, around)?;
    }
    for i in 0..2 {
        x = g.windows(x, 2 + i, window[i], stride[i], dilation[i])?;
    }
    Ok(x)
}
fn pair(list: &[u64]) -> [u64; 2] {
    [list.first().copied().unwrap_or(1), list.get(1).copied().unwrap_or(1)]
}
/// The lengths of a convolution.
struct Convolution {
    images: u64,
    groups: u64,
    /// Channels of a group, and channels that one gives.
    inner: u64,
    outer: u64,
    places: [u64; 2],
    window: [u64; 2],
}

/// Rows and depth of the smallest product of matrices: shorter ones take as long.
const LEAST: u64 = 16;
/// How many times as fast a product of matrices adds up as sums of products.
const GAIN: u64 = 4;

impl Convolution {
    /// Whether so few channels or elements of a group are sums of their own: a product of matrices would be of zeros for the most part.
    fn is_small(&self) -> bool {
        let depth = self.inner * self.window[0] * self.window[1];
        GAIN * self.outer * depth < self.outer.max(LEAST) * depth.next_multiple_of(LEAST)
    }
}

pub(crate) fn conv2d(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, w) = (node.operands[0], node.operands[1]);
    let groups = one(node.list(AttrKind::Groups));
    let [out, inner, height, width] = g.shape(w).lengths()[..] else { return Ok(x) };
    let all = windows2d(g, node, [height, width], pair(node.list(AttrKind::Dilation)), Number::Float(0.0))?;
    let [images, _, rows, columns, ..] = g.shape(all).lengths()[..] else { return Ok(x) };
    let outer = out / groups;
    let shape = Convolution { images, groups, inner, outer, places: [rows, columns], window: [height, width] };
    let result = if shape.is_small() { by_channel(g, all, w, &shape)? } else { by_product(g, all, w, &shape)? };
    let result = g.convert(result, node.ty.element)?;
    g.reshape(result, &node.ty.shape)
}
/// A product of matrices: rows are channels, columns are places of all images, the depth is a window's elements of all channels of a group. So neighbours of a row of the
/// right factor, and of the result, are neighbours in memory.
fn by_product(g: &mut Graph, all: NodeId, w: NodeId, shape: &Convolution) -> Made<NodeId> {
    let Convolution { images, groups, inner, outer, places: [rows, columns], window: [height, width] } = *shape;
    let split = g.reshape(all, &Shape::of(&[images, groups, inner, rows, columns, height, width]))?;
    let ordered = g.permute(split, &[1, 2, 5, 6, 0, 3, 4])?;
    let (places, depth) = (images * rows * columns, inner * height * width);
    let right = g.reshape(ordered, &Shape::of(&[groups, depth, places]))?;
    let left = g.reshape(w, &Shape::of(&[groups, outer, depth]))?;
    let product = g.op(Op::Matmul, &[left, right])?;
    let product = g.reshape(product, &Shape::of(&[groups, outer, images, rows, columns]))?;
    g.permute(product, &[2, 0, 1, 3, 4])
}
/// Sums of products along windows, for all places of a channel at once.
fn by_channel(g: &mut Graph, all: NodeId, w: NodeId, shape: &Convolution) -> Made<NodeId> {
    let Convolution { images, groups, inner, outer, places: [rows, columns], window: [height, width] } = *shape;
    let split = g.reshape(all, &Shape::of(&[images, groups, 1, inner, rows, columns, height, width]))?;
    let ordered = g.permute(split, &[0, 1, 2, 3, 6, 7, 4, 5])?;
    let weights = g.reshape(w, &Shape::of(&[1, groups, outer, inner, height, width, 1, 1]))?;
    let whole = Shape::of(&[images, groups, outer, inner, height, width, rows, columns]);
    let (left, right) = (wide(g, ordered)?, wide(g, weights)?);
    let (left, right) = (g.broadcast_to(left, &whole)?, g.broadcast_to(right, &whole)?);
    let product = g.op(Op::Mul, &[left, right])?;
    g.along(Op::Sum, product, &[3, 4, 5])
}
pub(crate) fn avg_pool2d(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let all = windows2d(g, node, pair(node.list(AttrKind::Window)), [1, 1], Number::Float(0.0))?;
    g.along(Op::Mean, all, &[4, 5])
}
pub(crate) fn max_pool2d(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let all = windows2d(g, node, pair(node.list(AttrKind::Window)), [1, 1], Number::Float(f64::NEG_INFINITY))?;
    g.along(Op::Amax, all, &[4, 5])
}
