//! Decompositions: what compound operations of the table are made of, and the pass that replaces them.
//!
//! Invariant: a decomposition gives a tensor of the node's type.

use super::Made;
use super::attrs::{AttrKind, Number};
use super::graph::{Graph, Node, NodeId};
use super::ops::Op;
use super::size::Shape;
use girih_ir::Scalar;

/// Replaces every compound operation by what it is made of, and leaves out what no output needs.
///
/// # Errors
/// If a decomposition does not fit its operation: a mistake of the table.
pub fn decompose(graph: &Graph) -> Made<Graph> {
    replace(graph, |op| op.decomposition().is_some())
}

/// Replaces operations that `chosen` picks, again and again.
pub(crate) fn replace(graph: &Graph, chosen: impl Fn(Op) -> bool) -> Made<Graph> {
    let mut graph = graph.pruned();
    while graph.ids().any(|id| chosen(graph.nodes[id].op) && graph.nodes[id].op.decomposition().is_some()) {
        let mut made = Graph::new();
        let mut moved: Vec<NodeId> = vec![];
        for id in graph.ids() {
            let node = &graph.nodes[id];
            let operands = node.operands.iter().map(|operand| moved[operand.index()]).collect();
            let node = Node { operands, ..node.clone() };
            moved.push(match node.op.decomposition().filter(|_| chosen(node.op)) {
                Some(by) => by(&mut made, &node)?,
                None => made.nodes.push(node),
            });
        }
        made.outputs = graph.outputs.iter().map(|output| moved[output.index()]).collect();
        graph = made.pruned();
    }
    Ok(graph)
}

pub(crate) fn sign(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = node.operands[0];
    let [zero, one, less] = [0.0, 1.0, -1.0].map(|value| g.number(x, value));
    let (zero, one, less) = (zero?, one?, less?);
    let (above, below) = (g.op(Op::Gt, &[x, zero])?, g.op(Op::Lt, &[x, zero])?);
    let rest = g.op(Op::Where, &[below, less, zero])?;
    g.op(Op::Where, &[above, one, rest])
}
pub(crate) fn square(g: &mut Graph, node: &Node) -> Made<NodeId> {
    g.op(Op::Mul, &[node.operands[0]; 2])
}
pub(crate) fn reciprocal(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let one = g.number(node.operands[0], 1.0)?;
    g.op(Op::Div, &[one, node.operands[0]])
}

/// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: off by at most 1.5e-7.
pub(crate) fn erf(g: &mut Graph, node: &Node) -> Made<NodeId> {
    const FACTORS: [f64; 5] = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
    let x = node.operands[0];
    let size = g.op(Op::Abs, &[x])?;
    let (one, p) = (g.number(x, 1.0)?, g.number(x, 0.3275911)?);
    let scaled = g.op(Op::Mul, &[p, size])?;
    let below = g.op(Op::Add, &[one, scaled])?;
    let t = g.op(Op::Div, &[one, below])?;
    let mut sum = g.number(x, 0.0)?;
    for factor in FACTORS {
        let factor = g.number(x, factor)?;
        let next = g.op(Op::Add, &[sum, factor])?;
        sum = g.op(Op::Mul, &[next, t])?;
    }
    let square = g.op(Op::Mul, &[size, size])?;
    let square = g.op(Op::Neg, &[square])?;
    let bell = g.op(Op::Exp, &[square])?;
    let tail = g.op(Op::Mul, &[sum, bell])?;
    let right = g.op(Op::Sub, &[one, tail])?;
    let (left, zero) = (g.op(Op::Neg, &[right])?, g.number(x, 0.0)?);
    let is_left = g.op(Op::Lt, &[x, zero])?;
    g.op(Op::Where, &[is_left, left, right])
}
/// From tanh, which does not overflow: (1 + tanh(x / 2)) / 2.
pub(crate) fn sigmoid(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = node.operands[0];
    let half = g.number(x, 0.5)?;
    let inner = g.op(Op::Mul, &[x, half])?;
    let inner = g.op(Op::Tanh, &[inner])?;
    let inner = g.op(Op::Mul, &[inner, half])?;
    g.op(Op::Add, &[inner, half])
}
pub(crate) fn relu(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = node.operands[0];
    let zero = g.number(x, 0.0)?;
    let is_positive = g.op(Op::Gt, &[x, zero])?;
    g.op(Op::Where, &[is_positive, x, zero])
}
pub(crate) fn silu(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let sigmoid = g.op(Op::Sigmoid, &node.operands)?;
    g.op(Op::Mul, &[node.operands[0], sigmoid])
}
pub(crate) fn gelu(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = node.operands[0];
    let (scale, half, one) = (g.number(x, std::f64::consts::FRAC_1_SQRT_2)?, g.number(x, 0.5)?, g.number(x, 1.0)?);
    let scaled = g.op(Op::Mul, &[x, scale])?;
    let erf = g.op(Op::Erf, &[scaled])?;
    let sum = g.op(Op::Add, &[one, erf])?;
    let halved = g.op(Op::Mul, &[x, half])?;
    g.op(Op::Mul, &[halved, sum])
}
/// max(x, 0) + log(1 + exp(-|x|)).
pub(crate) fn softplus(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = node.operands[0];
    let (one, size) = (g.number(x, 1.0)?, g.op(Op::Abs, &[x])?);
    let size = g.op(Op::Neg, &[size])?;
    let small = g.op(Op::Exp, &[size])?;
    let small = g.op(Op::Add, &[one, small])?;
    let small = g.op(Op::Log, &[small])?;
    let relu = g.op(Op::Relu, &[x])?;
    g.op(Op::Add, &[relu, small])
}
fn hyperbolic(g: &mut Graph, x: NodeId, op: Op) -> Made<NodeId> {
    let (minus, half) = (g.op(Op::Neg, &[x])?, g.number(x, 0.5)?);
    let (up, down) = (g.op(Op::Exp, &[x])?, g.op(Op::Exp, &[minus])?);
    let both = g.op(op, &[up, down])?;
    g.op(Op::Mul, &[both, half])
}
pub(crate) fn sinh(g: &mut Graph, node: &Node) -> Made<NodeId> {
    hyperbolic(g, node.operands[0], Op::Sub)
}
pub(crate) fn cosh(g: &mut Graph, node: &Node) -> Made<NodeId> {
    hyperbolic(g, node.operands[0], Op::Add)
}
pub(crate) fn clamp(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let low = g.full(&node.ty, node.number(AttrKind::Value))?;
    let high = g.full(&node.ty, node.number(AttrKind::Above))?;
    let x = g.op(Op::Max, &[node.operands[0], low])?;
    g.op(Op::Min, &[x, high])
}
pub(crate) fn is_nan(g: &mut Graph, node: &Node) -> Made<NodeId> {
    g.op(Op::Ne, &[node.operands[0]; 2])
}

/// How many elements become one.
fn count(g: &Graph, x: NodeId, axes: &[u64]) -> f64 {
    axes.iter().map(|axis| g.shape(x).length(*axis as usize)).product::<u64>() as f64
}
pub(crate) fn mean(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (node.operands[0], node.list(AttrKind::Axes));
    let sum = g.along(Op::Sum, x, axes)?;
    let share = g.number(sum, 1.0 / count(g, x, axes))?;
    g.op(Op::Mul, &[sum, share])
}
/// Distances from the mean.
fn centred(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (node.operands[0], node.list(AttrKind::Axes));
    let mean = g.spread(Op::Mean, x, axes)?;
    g.op(Op::Sub, &[x, mean])
}
pub(crate) fn var(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let distance = centred(g, node)?;
    let square = g.op(Op::Mul, &[distance, distance])?;
    g.along(Op::Mean, square, node.list(AttrKind::Axes))
}
pub(crate) fn normalise(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axes = node.list(AttrKind::Axes);
    let distance = centred(g, node)?;
    let square = g.op(Op::Mul, &[distance, distance])?;
    let var = g.along(Op::Mean, square, axes)?;
    let more = g.full(&g.ty(var).clone(), node.number(AttrKind::Value))?;
    let sum = g.op(Op::Add, &[var, more])?;
    let scale = g.op(Op::Rsqrt, &[sum])?;
    let scale = g.unreduce(scale, axes, &node.ty.shape)?;
    g.op(Op::Mul, &[distance, scale])
}
/// exp(x - max), and the maximum in the reduced shape.
fn shifted(g: &mut Graph, x: NodeId, axes: &[u64]) -> Made<(NodeId, NodeId)> {
    let most = g.along(Op::Amax, x, axes)?;
    let repeated = g.unreduce(most, axes, &g.shape(x).clone())?;
    Ok((g.op(Op::Sub, &[x, repeated])?, most))
}
pub(crate) fn log_sum_exp(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axes = node.list(AttrKind::Axes);
    let (below, most) = shifted(g, node.operands[0], axes)?;
    let powers = g.op(Op::Exp, &[below])?;
    let sum = g.along(Op::Sum, powers, axes)?;
    let log = g.op(Op::Log, &[sum])?;
    g.op(Op::Add, &[log, most])
}
pub(crate) fn softmax(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axes = node.list(AttrKind::Axes);
    let (below, _) = shifted(g, node.operands[0], axes)?;
    let powers = g.op(Op::Exp, &[below])?;
    let sum = g.spread(Op::Sum, powers, axes)?;
    g.op(Op::Div, &[powers, sum])
}
pub(crate) fn log_softmax(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axes = node.list(AttrKind::Axes);
    let (below, _) = shifted(g, node.operands[0], axes)?;
    let powers = g.op(Op::Exp, &[below])?;
    let sum = g.along(Op::Sum, powers, axes)?;
    let log = g.op(Op::Log, &[sum])?;
    let log = g.unreduce(log, axes, &node.ty.shape)?;
    g.op(Op::Sub, &[below, log])
}

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
/// x with the axis moved to a new last place, and a dimension of the given length where it was.
fn moved_last(g: &mut Graph, x: NodeId, axis: usize, length: u64) -> Made<NodeId> {
    let lengths = g.shape(x).lengths();
    let rank = lengths.len();
    let mut with_one = lengths.clone();
    with_one.push(1);
    let x = g.reshape(x, &Shape::of(&with_one))?;
    let mut order: Vec<u64> = (0..=rank as u64).collect();
    order.swap(axis, rank);
    let x = g.permute(x, &order)?;
    let mut shape = g.shape(x).lengths();
    shape[axis] = length;
    g.broadcast_to(x, &Shape::of(&shape))
}
/// Each result sums all elements that are not after it: as many steps as the square of the axis, in one kernel.
pub(crate) fn cumsum(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axis) = (node.operands[0], node.axis());
    let (rank, length) = (node.ty.shape.rank(), node.ty.shape.length(axis));
    let all = moved_last(g, x, axis, length)?;
    let shape = g.shape(all).clone();
    let (to, from) = (g.iota(Scalar::I32, &shape, axis)?, g.iota(Scalar::I32, &shape, rank)?);
    let counts = g.op(Op::Le, &[from, to])?;
    let zero = g.number(all, 0.0)?;
    let kept = g.op(Op::Where, &[counts, all, zero])?;
    g.along(Op::Sum, kept, &[rank as u64])
}
/// Each result sums the elements whose position is its own, in order: no atomics, so it is the same in every run.
pub(crate) fn scatter_add(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let [x, index, y] = node.operands[..] else { return Ok(node.operands[0]) };
    let (axis, rank) = (node.axis(), node.ty.shape.rank());
    let length = node.ty.shape.length(axis);
    let at = moved_last(g, index, axis, length)?;
    let all = moved_last(g, y, axis, length)?;
    let shape = g.shape(at).clone();
    let own = g.iota(g.ty(at).element, &shape, axis)?;
    let hits = g.op(Op::Eq, &[own, at])?;
    let zero = g.number(all, 0.0)?;
    let kept = g.op(Op::Where, &[hits, all, zero])?;
    let sum = g.along(Op::Sum, kept, &[rank as u64])?;
    g.op(Op::Add, &[x, sum])
}
pub(crate) fn index_select(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axis = node.axis();
    let mut lengths = vec![1; node.ty.shape.rank()];
    lengths[axis] = node.ty.shape.length(axis);
    let index = g.reshape(node.operands[1], &Shape::of(&lengths))?;
    let index = g.broadcast_to(index, &node.ty.shape)?;
    g.at_axis(Op::Gather, &[node.operands[0], index], axis)
}

fn one(list: &[u64]) -> u64 {
    list.first().copied().unwrap_or(1)
}
pub(crate) fn windows(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axis = node.axis();
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
/// A product of matrices: rows are places of all images, the depth is a window's elements of all channels of a group.
pub(crate) fn conv2d(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, w) = (node.operands[0], node.operands[1]);
    let groups = one(node.list(AttrKind::Groups));
    let weights = g.shape(w).lengths();
    let [out, inner, height, width] = weights[..] else { return Ok(x) };
    let dilation = pair(node.list(AttrKind::Dilation));
    let all = windows2d(g, node, [height, width], dilation, Number::Float(0.0))?;
    let [images, _, rows, columns, ..] = g.shape(all).lengths()[..] else { return Ok(x) };
    let split = g.reshape(all, &Shape::of(&[images, groups, inner, rows, columns, height, width]))?;
    let ordered = g.permute(split, &[1, 0, 3, 4, 2, 5, 6])?;
    let (places, depth) = (images * rows * columns, inner * height * width);
    let left = g.reshape(ordered, &Shape::of(&[groups, places, depth]))?;
    let right = g.reshape(w, &Shape::of(&[groups, out / groups, depth]))?;
    let right = g.transpose(right)?;
    let product = g.op(Op::Matmul, &[left, right])?;
    let product = g.reshape(product, &Shape::of(&[groups, images, rows, columns, out / groups]))?;
    let product = g.permute(product, &[1, 0, 4, 2, 3])?;
    g.reshape(product, &node.ty.shape)
}
pub(crate) fn avg_pool2d(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let all = windows2d(g, node, pair(node.list(AttrKind::Window)), [1, 1], Number::Float(0.0))?;
    g.along(Op::Mean, all, &[4, 5])
}
pub(crate) fn max_pool2d(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let all = windows2d(g, node, pair(node.list(AttrKind::Window)), [1, 1], Number::Float(f64::NEG_INFINITY))?;
    g.along(Op::Amax, all, &[4, 5])
}

/// Philox 4x32 of ten rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3), from whose first word a float is made as Triton does.
pub(crate) fn random(g: &mut Graph, node: &Node) -> Made<NodeId> {
    const MULTIPLIERS: [i128; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [i128; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let flat = Shape::of(&[node.ty.shape.elements()]);
    let words = super::size::TensorType { element: Scalar::U32, shape: flat.clone() };
    let wide = words.with_element(Scalar::U64);
    let (seed, offset) = (g.broadcast_to(node.operands[0], &flat)?, g.broadcast_to(node.operands[1], &flat)?);
    let number = g.iota(Scalar::U64, &flat, 0)?;
    let counter = g.op(Op::Add, &[offset, number])?;
    let shift = g.full(&wide, Number::Int(32))?;
    let halves = |g: &mut Graph, x: NodeId| -> Made<[NodeId; 2]> {
        let high = g.op(Op::Shr, &[x, shift])?;
        Ok([g.convert(x, Scalar::U32)?, g.convert(high, Scalar::U32)?])
    };
    let zero = g.full(&words, Number::Int(0))?;
    let [mut c0, mut c1] = halves(g, counter)?;
    let [mut c2, mut c3] = [zero, zero];
    let mut keys = halves(g, seed)?;
    for _ in 0..10 {
        let mut products = [[zero; 2]; 2];
        for (i, factor) in [c0, c2].into_iter().enumerate() {
            let (factor, by) = (g.convert(factor, Scalar::U64)?, g.full(&wide, Number::Int(MULTIPLIERS[i]))?);
            let product = g.op(Op::Mul, &[factor, by])?;
            products[i] = halves(g, product)?;
        }
        let [[low0, high0], [low1, high1]] = products;
        let (x, y) = (g.op(Op::Xor, &[high1, c1])?, g.op(Op::Xor, &[high0, c3])?);
        [c0, c1, c2, c3] = [g.op(Op::Xor, &[x, keys[0]])?, low1, g.op(Op::Xor, &[y, keys[1]])?, low0];
        for (key, weyl) in keys.iter_mut().zip(WEYL) {
            let weyl = g.full(&words, Number::Int(weyl))?;
            *key = g.op(Op::Add, &[*key, weyl])?;
        }
    }
    // Bit 31 decides whether all bits are turned, so that the number has 31 bits.
    let top = g.full(&words, Number::Int(0x8000_0000))?;
    let turned = g.op(Op::Not, &[c0])?;
    let is_low = g.op(Op::Lt, &[c0, top])?;
    let bits = g.op(Op::Where, &[is_low, c0, turned])?;
    let float = g.convert(bits, Scalar::F32)?;
    let scale = g.number(float, 4.656_612_734_2e-10)?;
    let scaled = g.op(Op::Mul, &[float, scale])?;
    g.reshape(scaled, &node.ty.shape)
}
