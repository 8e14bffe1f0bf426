//! Decompositions: what compound operations of the table are made of, and the pass that replaces them.
//!
//! Invariant: a decomposition gives a tensor of the node's type.

use super::Made;
use super::attrs::{AttrKind, Number};
use super::graph::{Graph, Node, NodeId};
use super::ops::Op;
use super::size::Shape;
use girih_base::diag::Diagnostic;
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
                Some(by) => by(&mut made, &node).map_err(|limit| of_operation(&made, &node, limit))?,
                None => made.nodes.push(node),
            });
        }
        made.outputs = graph.outputs.iter().map(|output| moved[output.index()]).collect();
        graph = made.pruned();
    }
    Ok(graph)
}

/// A limit that a step of a decomposition meets, said of the operation that was written.
fn of_operation(graph: &Graph, node: &Node, mut limit: Diagnostic) -> Diagnostic {
    let types: Vec<String> = node.operands.iter().map(|operand| graph.ty(*operand).to_string()).collect();
    limit.message =
        format!("`{}` of {} needs a step that is too large: {}", node.op.name(), types.join(" and "), limit.message);
    limit
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

/// Short floats as `f32`, others as they are: what takes several steps rounds to a short float once.
pub(crate) fn wide(g: &mut Graph, x: NodeId) -> Made<NodeId> {
    let is_short = matches!(g.ty(x).element, Scalar::F16 | Scalar::Bf16);
    if is_short { g.convert(x, Scalar::F32) } else { Ok(x) }
}
/// What was computed of wider operands, as the node's type.
pub(crate) fn rounded(g: &mut Graph, node: &Node, x: NodeId) -> Made<NodeId> {
    g.convert(x, node.ty.element)
}
/// A sum of powers of x, the lowest first: Horner's scheme.
fn polynomial(g: &mut Graph, x: NodeId, factors: &[f64]) -> Made<NodeId> {
    let mut sum = g.number(x, 0.0)?;
    for factor in factors.iter().rev() {
        let (product, factor) = (g.op(Op::Mul, &[sum, x])?, g.number(x, *factor)?);
        sum = g.op(Op::Add, &[product, factor])?;
    }
    Ok(sum)
}

/// Near 0 the series of Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.5; elsewhere 1 - erfc.
pub(crate) fn erf(g: &mut Graph, node: &Node) -> Made<NodeId> {
    const SERIES: [f64; 7] = [1.0, -1.0 / 3.0, 0.1, -1.0 / 42.0, 1.0 / 216.0, -1.0 / 1320.0, 1.0 / 9360.0];
    let x = wide(g, node.operands[0])?;
    let square = g.op(Op::Mul, &[x, x])?;
    let near = polynomial(g, square, &SERIES.map(|factor| factor * std::f64::consts::FRAC_2_SQRT_PI))?;
    let near = g.op(Op::Mul, &[near, x])?;
    let (size, one) = (g.op(Op::Abs, &[x])?, g.number(x, 1.0)?);
    let tail = tail(g, size)?;
    let right = g.op(Op::Sub, &[one, tail])?;
    let (left, zero, limit) = (g.op(Op::Neg, &[right])?, g.number(x, 0.0)?, g.number(x, 0.5)?);
    let (is_left, is_near) = (g.op(Op::Lt, &[x, zero])?, g.op(Op::Lt, &[size, limit])?);
    let far = g.op(Op::Where, &[is_left, left, right])?;
    let erf = g.op(Op::Where, &[is_near, near, far])?;
    rounded(g, node, erf)
}
/// 1 - erf of a size, every digit of it: Press et al., Numerical Recipes, 6.2, off by at most 1.2e-7 of itself.
fn tail(g: &mut Graph, size: NodeId) -> Made<NodeId> {
    const FACTORS: [f64; 10] = [
        -1.26551223,
        1.00002368,
        0.37409196,
        0.09678418,
        -0.18628806,
        0.27886807,
        -1.13520398,
        1.48851587,
        -0.82215223,
        0.17087277,
    ];
    let (one, half) = (g.number(size, 1.0)?, g.number(size, 0.5)?);
    let halved = g.op(Op::Mul, &[size, half])?;
    let below = g.op(Op::Add, &[one, halved])?;
    let t = g.op(Op::Div, &[one, below])?;
    let factor = polynomial(g, t, &FACTORS)?;
    let factor = g.op(Op::Exp, &[factor])?;
    let square = g.op(Op::Mul, &[size, size])?;
    let square = g.op(Op::Neg, &[square])?;
    let bell = g.op(Op::Exp, &[square])?;
    let scaled = g.op(Op::Mul, &[bell, factor])?;
    g.op(Op::Mul, &[t, scaled])
}
/// The tail on the right, 2 - the tail on the left.
pub(crate) fn erfc(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let (size, zero, two) = (g.op(Op::Abs, &[x])?, g.number(x, 0.0)?, g.number(x, 2.0)?);
    let right = tail(g, size)?;
    let left = g.op(Op::Sub, &[two, right])?;
    let is_left = g.op(Op::Lt, &[x, zero])?;
    let erfc = g.op(Op::Where, &[is_left, left, right])?;
    rounded(g, node, erfc)
}
/// exp(x) - 1 with the error of exp(x) taken out again: Kahan's formula (Higham, Accuracy and stability of numerical algorithms, 1.14.1).
pub(crate) fn expm1(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let [one, less, infinity] = [1.0, -1.0, f64::INFINITY].map(|number| g.number(x, number));
    let (one, less, infinity) = (one?, less?, infinity?);
    let power = g.op(Op::Exp, &[x])?;
    let difference = g.op(Op::Sub, &[power, one])?;
    let log = g.op(Op::Log, &[power])?;
    let ratio = g.op(Op::Div, &[x, log])?;
    let exact = g.op(Op::Mul, &[difference, ratio])?;
    let (is_one, is_low, is_high) =
        (g.op(Op::Eq, &[power, one])?, g.op(Op::Eq, &[difference, less])?, g.op(Op::Eq, &[power, infinity])?);
    let is_end = g.op(Op::Or, &[is_low, is_high])?;
    let rest = g.op(Op::Where, &[is_end, difference, exact])?;
    let all = g.op(Op::Where, &[is_one, x, rest])?;
    rounded(g, node, all)
}
/// log(1 + x) with the error of 1 + x taken out again, by the same formula.
pub(crate) fn log1p(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let (one, infinity) = (g.number(x, 1.0)?, g.number(x, f64::INFINITY)?);
    let sum = g.op(Op::Add, &[one, x])?;
    let log = g.op(Op::Log, &[sum])?;
    let kept = g.op(Op::Sub, &[sum, one])?;
    let ratio = g.op(Op::Div, &[x, kept])?;
    let exact = g.op(Op::Mul, &[log, ratio])?;
    let (is_one, is_high) = (g.op(Op::Eq, &[sum, one])?, g.op(Op::Eq, &[x, infinity])?);
    let is_end = g.op(Op::Or, &[is_one, is_high])?;
    let all = g.op(Op::Where, &[is_end, x, exact])?;
    rounded(g, node, all)
}
/// With e = exp(-|x|), which does not overflow: 1 / (1 + e) on the right, e / (1 + e) on the left.
pub(crate) fn sigmoid(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let (one, zero, size) = (g.number(x, 1.0)?, g.number(x, 0.0)?, g.op(Op::Abs, &[x])?);
    let minus = g.op(Op::Neg, &[size])?;
    let power = g.op(Op::Exp, &[minus])?;
    let below = g.op(Op::Add, &[one, power])?;
    let is_left = g.op(Op::Lt, &[x, zero])?;
    let above = g.op(Op::Where, &[is_left, power, one])?;
    let all = g.op(Op::Div, &[above, below])?;
    rounded(g, node, all)
}
/// Chosen so that NaN stays.
pub(crate) fn relu(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = node.operands[0];
    let zero = g.number(x, 0.0)?;
    let is_not_positive = g.op(Op::Le, &[x, zero])?;
    g.op(Op::Where, &[is_not_positive, zero, x])
}
pub(crate) fn silu(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let sigmoid = g.op(Op::Sigmoid, &node.operands)?;
    g.op(Op::Mul, &[node.operands[0], sigmoid])
}
/// The error function's tail on the left has all of its digits, unlike 1 + erf.
pub(crate) fn gelu(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let (scale, half) = (g.number(x, -std::f64::consts::FRAC_1_SQRT_2)?, g.number(x, 0.5)?);
    let scaled = g.op(Op::Mul, &[x, scale])?;
    let tail = g.op(Op::Erfc, &[scaled])?;
    let halved = g.op(Op::Mul, &[x, half])?;
    let gelu = g.op(Op::Mul, &[halved, tail])?;
    rounded(g, node, gelu)
}
/// max(x, 0) + log(1 + exp(-|x|)).
pub(crate) fn softplus(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let size = g.op(Op::Abs, &[x])?;
    let size = g.op(Op::Neg, &[size])?;
    let small = g.op(Op::Exp, &[size])?;
    let small = g.op(Op::Log1p, &[small])?;
    let relu = g.op(Op::Relu, &[x])?;
    let all = g.op(Op::Add, &[relu, small])?;
    rounded(g, node, all)
}
/// Beyond this size exp(-x) does not count beside exp(x).
const LARGE: f64 = 40.0;
/// exp(x) / 2 of a size, which overflows later than exp(x), and whether the size is so large that it is both of its hyperbolic functions.
fn half_power(g: &mut Graph, size: NodeId) -> Made<(NodeId, NodeId)> {
    let (half, limit) = (g.number(size, 0.5)?, g.number(size, LARGE)?);
    let middle = g.op(Op::Mul, &[size, half])?;
    let root = g.op(Op::Exp, &[middle])?;
    let halved = g.op(Op::Mul, &[root, half])?;
    Ok((g.op(Op::Mul, &[halved, root])?, g.op(Op::Gt, &[size, limit])?))
}
/// With e = exp(|x|) - 1: (e + e / (e + 1)) / 2, and the sign of x.
pub(crate) fn sinh(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let (size, one, half, zero) = (g.op(Op::Abs, &[x])?, g.number(x, 1.0)?, g.number(x, 0.5)?, g.number(x, 0.0)?);
    let power = g.op(Op::Expm1, &[size])?;
    let below = g.op(Op::Add, &[power, one])?;
    let down = g.op(Op::Div, &[power, below])?;
    let both = g.op(Op::Add, &[power, down])?;
    let near = g.op(Op::Mul, &[both, half])?;
    let (far, is_far) = half_power(g, size)?;
    let right = g.op(Op::Where, &[is_far, far, near])?;
    let left = g.op(Op::Neg, &[right])?;
    let is_left = g.op(Op::Lt, &[x, zero])?;
    let all = g.op(Op::Where, &[is_left, left, right])?;
    rounded(g, node, all)
}
pub(crate) fn cosh(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let x = wide(g, node.operands[0])?;
    let (size, half) = (g.op(Op::Abs, &[x])?, g.number(x, 0.5)?);
    let minus = g.op(Op::Neg, &[size])?;
    let (up, down) = (g.op(Op::Exp, &[size])?, g.op(Op::Exp, &[minus])?);
    let both = g.op(Op::Add, &[up, down])?;
    let near = g.op(Op::Mul, &[both, half])?;
    let (far, is_far) = half_power(g, size)?;
    let all = g.op(Op::Where, &[is_far, far, near])?;
    rounded(g, node, all)
}
/// Chosen so that NaN stays, and that a derivative passes at the bounds.
pub(crate) fn clamp(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let mut x = node.operands[0];
    for (kind, beyond) in [(AttrKind::Value, Op::Lt), (AttrKind::Above, Op::Gt)] {
        let bound = g.full(&node.ty, node.number(kind).within(node.ty.element))?;
        let is_beyond = g.op(beyond, &[x, bound])?;
        x = g.op(Op::Where, &[is_beyond, bound, x])?;
    }
    Ok(x)
}
pub(crate) fn is_nan(g: &mut Graph, node: &Node) -> Made<NodeId> {
    g.op(Op::Ne, &[node.operands[0]; 2])
}

/// How many elements become one.
fn count(g: &Graph, x: NodeId, axes: &[u64]) -> f64 {
    axes.iter().map(|axis| g.shape(x).length(*axis as usize)).product::<u64>() as f64
}
pub(crate) fn mean(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (wide(g, node.operands[0])?, node.list(AttrKind::Axes));
    let sum = g.along(Op::Sum, x, axes)?;
    let share = g.number(sum, 1.0 / count(g, x, axes))?;
    let mean = g.op(Op::Mul, &[sum, share])?;
    rounded(g, node, mean)
}
/// Distances from the mean, and the mean of their squares.
fn centred(g: &mut Graph, node: &Node) -> Made<(NodeId, NodeId)> {
    let (x, axes) = (wide(g, node.operands[0])?, node.list(AttrKind::Axes));
    let mean = g.spread(Op::Mean, x, axes)?;
    let distance = g.op(Op::Sub, &[x, mean])?;
    let square = g.op(Op::Mul, &[distance, distance])?;
    Ok((distance, g.along(Op::Mean, square, axes)?))
}
pub(crate) fn var(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (_, var) = centred(g, node)?;
    rounded(g, node, var)
}
pub(crate) fn normalise(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (distance, var) = centred(g, node)?;
    let more = g.full(&g.ty(var).clone(), node.number(AttrKind::Value))?;
    let sum = g.op(Op::Add, &[var, more])?;
    let scale = g.op(Op::Rsqrt, &[sum])?;
    let scale = g.unreduce(scale, node.list(AttrKind::Axes), &node.ty.shape)?;
    let all = g.op(Op::Mul, &[distance, scale])?;
    rounded(g, node, all)
}
/// x less its maximum along axes.
fn shifted(g: &mut Graph, x: NodeId, axes: &[u64]) -> Made<NodeId> {
    let most = g.along(Op::Amax, x, axes)?;
    let repeated = g.unreduce(most, axes, &g.shape(x).clone())?;
    g.op(Op::Sub, &[x, repeated])
}
/// The maximum that is taken out and put back is 0 where it is not finite: infinity less infinity is no number.
pub(crate) fn log_sum_exp(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (wide(g, node.operands[0])?, node.list(AttrKind::Axes));
    let most = g.along(Op::Amax, x, axes)?;
    let (size, zero, infinity) = (g.op(Op::Abs, &[most])?, g.number(most, 0.0)?, g.number(most, f64::INFINITY)?);
    let is_finite = g.op(Op::Lt, &[size, infinity])?;
    let most = g.op(Op::Where, &[is_finite, most, zero])?;
    let repeated = g.unreduce(most, axes, &g.shape(x).clone())?;
    let below = g.op(Op::Sub, &[x, repeated])?;
    let powers = g.op(Op::Exp, &[below])?;
    let sum = g.along(Op::Sum, powers, axes)?;
    let log = g.op(Op::Log, &[sum])?;
    let all = g.op(Op::Add, &[log, most])?;
    rounded(g, node, all)
}
pub(crate) fn softmax(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (wide(g, node.operands[0])?, node.list(AttrKind::Axes));
    let below = shifted(g, x, axes)?;
    let powers = g.op(Op::Exp, &[below])?;
    let sum = g.spread(Op::Sum, powers, axes)?;
    let all = g.op(Op::Div, &[powers, sum])?;
    rounded(g, node, all)
}
pub(crate) fn log_softmax(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axes) = (wide(g, node.operands[0])?, node.list(AttrKind::Axes));
    let below = shifted(g, x, axes)?;
    let powers = g.op(Op::Exp, &[below])?;
    let sum = g.along(Op::Sum, powers, axes)?;
    let log = g.op(Op::Log, &[sum])?;
    let log = g.unreduce(log, axes, &node.ty.shape)?;
    let all = g.op(Op::Sub, &[below, log])?;
    rounded(g, node, all)
}

/// How many elements are scanned at once.
const BLOCK: u64 = 1024;
/// Scans of blocks, to each of which the sum of all blocks before it is added: Blelloch, Prefix sums and their applications, 1990.
pub(crate) fn cumsum(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let (x, axis, shape) = (wide(g, node.operands[0])?, node.axis(), node.ty.shape.clone());
    let (lengths, length) = (shape.lengths(), shape.length(axis));
    if length <= BLOCK {
        let sums = g.at_axis(Op::Scan, &[x], axis)?;
        return rounded(g, node, sums);
    }
    let [before, after] = [&lengths[..axis], &lengths[axis + 1..]].map(|lengths| Shape::of(lengths).elements());
    let blocks = length.div_ceil(BLOCK);
    let zero = if node.ty.element.is_float() { Number::Float(0.0) } else { Number::Int(0) };
    let x = g.reshape(x, &Shape::of(&[before, length, after]))?;
    let x = g.pad(x, &[0; 3], &[0, blocks * BLOCK - length, 0], zero)?;
    let x = g.reshape(x, &Shape::of(&[before, blocks, BLOCK, after]))?;
    let inner = g.at_axis(Op::Scan, &[x], 2)?;
    let last = g.slice(inner, &[0, 0, BLOCK - 1, 0], &[before, blocks - 1, BLOCK, after])?;
    let last = g.reshape(last, &Shape::of(&[before, blocks - 1, after]))?;
    let totals = g.at_axis(Op::CumSum, &[last], 1)?;
    let totals = g.pad(totals, &[0, 1, 0], &[0; 3], zero)?;
    let totals = g.reshape(totals, &Shape::of(&[before, blocks, 1, after]))?;
    let totals = g.broadcast_to(totals, &g.shape(inner).clone())?;
    let sums = g.op(Op::Add, &[inner, totals])?;
    let sums = g.reshape(sums, &Shape::of(&[before, blocks * BLOCK, after]))?;
    let sums = g.slice(sums, &[0; 3], &[before, length, after])?;
    let sums = g.reshape(sums, &shape)?;
    rounded(g, node, sums)
}
pub(crate) fn index_select(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let axis = node.axis();
    let mut lengths = vec![1; node.ty.shape.rank()];
    lengths[axis] = node.ty.shape.length(axis);
    let index = g.reshape(node.operands[1], &Shape::of(&lengths))?;
    let index = g.broadcast_to(index, &node.ty.shape)?;
    g.at_axis(Op::Gather, &[node.operands[0], index], axis)
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
