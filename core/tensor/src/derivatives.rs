//! The rules of derivatives that the table names: how the derivative of one number with respect to a node's tensor gives those with respect to the
//! node's operands. Each takes the graph, the node, the node's tensor and the derivative with respect to it.

use super::Made;
use super::attrs::{AttrKind, Number};
use super::graph::{Graph, Node, NodeId};
use super::ops::Op;
use super::size::Shape;

type Derivatives = Made<Vec<Option<NodeId>>>;

/// dy times a factor, for operations of one operand.
fn times(g: &mut Graph, dy: NodeId, factor: NodeId) -> Derivatives {
    Ok(vec![Some(g.op(Op::Mul, &[dy, factor])?)])
}
/// dy over a divisor.
fn over(g: &mut Graph, dy: NodeId, divisor: NodeId) -> Derivatives {
    Ok(vec![Some(g.op(Op::Div, &[dy, divisor])?)])
}
fn square(g: &mut Graph, x: NodeId) -> Made<NodeId> {
    g.op(Op::Mul, &[x, x])
}
/// x times a number.
fn scaled(g: &mut Graph, x: NodeId, by: f64) -> Made<NodeId> {
    let by = g.number(x, by)?;
    g.op(Op::Mul, &[x, by])
}

pub(crate) fn neg(g: &mut Graph, _: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    Ok(vec![Some(g.op(Op::Neg, &[dy])?)])
}
pub(crate) fn abs(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let sign = g.op(Op::Sign, &node.operands)?;
    times(g, dy, sign)
}
pub(crate) fn sqrt(g: &mut Graph, _: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let twice = scaled(g, y, 2.0)?;
    over(g, dy, twice)
}
pub(crate) fn rsqrt(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let half = g.op(Op::Div, &[y, node.operands[0]])?;
    let half = scaled(g, half, -0.5)?;
    times(g, dy, half)
}
pub(crate) fn exp(g: &mut Graph, _: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    times(g, dy, y)
}
pub(crate) fn exp2(g: &mut Graph, _: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let factor = scaled(g, y, std::f64::consts::LN_2)?;
    times(g, dy, factor)
}
pub(crate) fn log(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    over(g, dy, node.operands[0])
}
pub(crate) fn log2(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let divisor = scaled(g, node.operands[0], std::f64::consts::LN_2)?;
    over(g, dy, divisor)
}
pub(crate) fn sin(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let cos = g.op(Op::Cos, &node.operands)?;
    times(g, dy, cos)
}
pub(crate) fn cos(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let sin = g.op(Op::Sin, &node.operands)?;
    let factor = g.op(Op::Neg, &[sin])?;
    times(g, dy, factor)
}
/// 1 + y y.
pub(crate) fn tan(g: &mut Graph, _: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let (one, square) = (g.number(y, 1.0)?, square(g, y)?);
    let factor = g.op(Op::Add, &[one, square])?;
    times(g, dy, factor)
}
/// sqrt(1 - x x).
fn root(g: &mut Graph, x: NodeId) -> Made<NodeId> {
    let (one, square) = (g.number(x, 1.0)?, square(g, x)?);
    let rest = g.op(Op::Sub, &[one, square])?;
    g.op(Op::Sqrt, &[rest])
}
pub(crate) fn asin(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let root = root(g, node.operands[0])?;
    over(g, dy, root)
}
pub(crate) fn acos(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let root = root(g, node.operands[0])?;
    let root = g.op(Op::Neg, &[root])?;
    over(g, dy, root)
}
pub(crate) fn atan(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let x = node.operands[0];
    let (one, square) = (g.number(x, 1.0)?, square(g, x)?);
    let divisor = g.op(Op::Add, &[one, square])?;
    over(g, dy, divisor)
}
/// 1 - y y.
pub(crate) fn tanh(g: &mut Graph, _: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let (one, square) = (g.number(y, 1.0)?, square(g, y)?);
    let factor = g.op(Op::Sub, &[one, square])?;
    times(g, dy, factor)
}
/// 2 / sqrt(pi) exp(-x x).
pub(crate) fn erf(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let square = square(g, node.operands[0])?;
    let minus = g.op(Op::Neg, &[square])?;
    let bell = g.op(Op::Exp, &[minus])?;
    let factor = scaled(g, bell, std::f64::consts::FRAC_2_SQRT_PI)?;
    times(g, dy, factor)
}
/// The opposite of that of [`erf`].
pub(crate) fn erfc(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let minus = g.op(Op::Neg, &[dy])?;
    erf(g, node, y, minus)
}
/// exp(x), which is more exact than y + 1.
pub(crate) fn expm1(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let factor = g.op(Op::Exp, &node.operands)?;
    times(g, dy, factor)
}
/// 1 / (1 + x).
pub(crate) fn log1p(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let one = g.number(dy, 1.0)?;
    let divisor = g.op(Op::Add, &[one, node.operands[0]])?;
    over(g, dy, divisor)
}
/// y (1 - y).
pub(crate) fn sigmoid(g: &mut Graph, _: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let one = g.number(y, 1.0)?;
    let rest = g.op(Op::Sub, &[one, y])?;
    let factor = g.op(Op::Mul, &[y, rest])?;
    times(g, dy, factor)
}
pub(crate) fn softplus(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let factor = g.op(Op::Sigmoid, &node.operands)?;
    times(g, dy, factor)
}
pub(crate) fn sinh(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let factor = g.op(Op::Cosh, &node.operands)?;
    times(g, dy, factor)
}
pub(crate) fn cosh(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let factor = g.op(Op::Sinh, &node.operands)?;
    times(g, dy, factor)
}
pub(crate) fn convert(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let from = g.ty(node.operands[0]).element;
    if !from.is_float() {
        return Ok(vec![None]);
    }
    Ok(vec![Some(g.convert(dy, from)?)])
}

pub(crate) fn add(_: &mut Graph, _: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    Ok(vec![Some(dy), Some(dy)])
}
pub(crate) fn sub(g: &mut Graph, _: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    Ok(vec![Some(dy), Some(g.op(Op::Neg, &[dy])?)])
}
pub(crate) fn mul(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let (a, b) = (node.operands[0], node.operands[1]);
    Ok(vec![Some(g.op(Op::Mul, &[dy, b])?), Some(g.op(Op::Mul, &[dy, a])?)])
}
pub(crate) fn div(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let da = g.op(Op::Div, &[dy, node.operands[1]])?;
    let db = g.op(Op::Mul, &[da, y])?;
    Ok(vec![Some(da), Some(g.op(Op::Neg, &[db])?)])
}
/// b a^(b - 1), which is 0 where b is 0, and y log(a), which is 0 where a is 0 and b not below.
pub(crate) fn pow(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let (a, b) = (node.operands[0], node.operands[1]);
    let (one, zero) = (g.number(b, 1.0)?, g.number(b, 0.0)?);
    let less = g.op(Op::Sub, &[b, one])?;
    let power = g.op(Op::Pow, &[a, less])?;
    let power = g.op(Op::Mul, &[power, b])?;
    let power = g.op(Op::Mul, &[dy, power])?;
    let is_constant = g.op(Op::Eq, &[b, zero])?;
    let da = g.op(Op::Where, &[is_constant, zero, power])?;
    let log = g.op(Op::Log, &[a])?;
    let log = g.op(Op::Mul, &[log, y])?;
    let log = g.op(Op::Mul, &[dy, log])?;
    let (is_zero, is_not_below) = (g.op(Op::Eq, &[a, zero])?, g.op(Op::Ge, &[b, zero])?);
    let stays = g.op(Op::And, &[is_zero, is_not_below])?;
    Ok(vec![Some(da), Some(g.op(Op::Where, &[stays, zero, log])?)])
}
/// x / (x x + y y), and -y / (x x + y y).
pub(crate) fn atan2(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let (a, b) = (node.operands[0], node.operands[1]);
    let (aa, bb) = (square(g, a)?, square(g, b)?);
    let sum = g.op(Op::Add, &[aa, bb])?;
    let part = g.op(Op::Div, &[dy, sum])?;
    let (da, db) = (g.op(Op::Mul, &[part, b])?, g.op(Op::Mul, &[part, a])?);
    Ok(vec![Some(da), Some(g.op(Op::Neg, &[db])?)])
}
/// All to the one that is the result; where they are equal, half to each.
pub(crate) fn extreme(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let (a, b) = (node.operands[0], node.operands[1]);
    let (is_equal, zero, half) = (g.op(Op::Eq, &[a, b])?, g.number(y, 0.0)?, scaled(g, dy, 0.5)?);
    let mut given = vec![];
    for operand in [a, b] {
        let wins = g.op(Op::Eq, &[operand, y])?;
        let alone = g.op(Op::Where, &[wins, dy, zero])?;
        given.push(Some(g.op(Op::Where, &[is_equal, half, alone])?));
    }
    Ok(given)
}
pub(crate) fn select(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let (condition, zero) = (node.operands[0], g.number(dy, 0.0)?);
    let first = g.op(Op::Where, &[condition, dy, zero])?;
    Ok(vec![None, Some(first), Some(g.op(Op::Where, &[condition, zero, dy])?)])
}

/// A reduced tensor, repeated to the shape of the operand.
fn repeated(g: &mut Graph, node: &Node, x: NodeId) -> Made<NodeId> {
    let shape = g.shape(node.operands[0]).clone();
    g.unreduce(x, node.list(AttrKind::Axes), &shape)
}
pub(crate) fn sum(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    Ok(vec![Some(repeated(g, node, dy)?)])
}
/// The product of the others: of those that are not 0, and 0 where another one is 0.
pub(crate) fn prod(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let (x, axes) = (node.operands[0], node.list(AttrKind::Axes));
    let (zero, one) = (g.number(x, 0.0)?, g.number(x, 1.0)?);
    let is_zero = g.op(Op::Eq, &[x, zero])?;
    let (factors, zeros) = (g.op(Op::Where, &[is_zero, one, x])?, g.op(Op::Where, &[is_zero, one, zero])?);
    let (product, count) = (g.spread(Op::Prod, factors, axes)?, g.spread(Op::Sum, zeros, axes)?);
    let others = g.op(Op::Div, &[product, factors])?;
    let has_other = g.op(Op::Gt, &[count, zeros])?;
    let others = g.op(Op::Where, &[has_other, zero, others])?;
    let dy = repeated(g, node, dy)?;
    times(g, dy, others)
}
/// exp(x - y); 0 where all of x is minus infinity.
pub(crate) fn log_sum_exp(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let (zero, least) = (g.number(y, 0.0)?, g.number(y, f64::NEG_INFINITY)?);
    let is_least = g.op(Op::Eq, &[y, least])?;
    let y = g.op(Op::Where, &[is_least, zero, y])?;
    let (y, dy) = (repeated(g, node, y)?, repeated(g, node, dy)?);
    let below = g.op(Op::Sub, &[node.operands[0], y])?;
    let share = g.op(Op::Exp, &[below])?;
    times(g, dy, share)
}
/// y (dy - the sum of dy y).
pub(crate) fn softmax(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let product = g.op(Op::Mul, &[dy, y])?;
    let sum = g.spread(Op::Sum, product, node.list(AttrKind::Axes))?;
    let rest = g.op(Op::Sub, &[dy, sum])?;
    times(g, y, rest)
}
/// dy - exp(y) times the sum of dy.
pub(crate) fn log_softmax(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let sum = g.spread(Op::Sum, dy, node.list(AttrKind::Axes))?;
    let share = g.op(Op::Exp, &[y])?;
    let part = g.op(Op::Mul, &[share, sum])?;
    Ok(vec![Some(g.op(Op::Sub, &[dy, part])?)])
}
/// Sums of all from an element on.
pub(crate) fn cumsum(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let axis = node.axis();
    let back = g.along(Op::Flip, dy, &[axis as u64])?;
    let sums = g.at_axis(node.op, &[back], axis)?;
    Ok(vec![Some(g.along(Op::Flip, sums, &[axis as u64])?)])
}

/// In equal parts to all elements that are the result.
pub(crate) fn extremes(g: &mut Graph, node: &Node, y: NodeId, dy: NodeId) -> Derivatives {
    let x = node.operands[0];
    let most = repeated(g, node, y)?;
    let wins = g.op(Op::Eq, &[x, most])?;
    let (zero, one) = (g.number(x, 0.0)?, g.number(x, 1.0)?);
    let ones = g.op(Op::Where, &[wins, one, zero])?;
    let count = g.along(Op::Sum, ones, node.list(AttrKind::Axes))?;
    let share = g.op(Op::Div, &[dy, count])?;
    let share = repeated(g, node, share)?;
    Ok(vec![Some(g.op(Op::Where, &[wins, share, zero])?)])
}

pub(crate) fn broadcast(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let from = g.shape(node.operands[0]).clone();
    let is_repeated = |axis: &u64| from.length(*axis as usize) != node.ty.shape.length(*axis as usize);
    let axes: Vec<u64> = (0..from.rank() as u64).filter(is_repeated).collect();
    let sum = g.along(Op::Sum, dy, &axes)?;
    Ok(vec![Some(g.reshape(sum, &from)?)])
}
pub(crate) fn reshape(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let from = g.shape(node.operands[0]).clone();
    Ok(vec![Some(g.reshape(dy, &from)?)])
}
pub(crate) fn permute(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let axes = node.list(AttrKind::Axes);
    let place = |axis: u64| axes.iter().position(|a| *a == axis).unwrap_or(0) as u64;
    let back: Vec<u64> = (0..axes.len() as u64).map(place).collect();
    Ok(vec![Some(g.permute(dy, &back)?)])
}
/// Zeros between positions that are more than one apart, then zeros around.
pub(crate) fn slice(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let from = g.shape(node.operands[0]).lengths();
    let (start, step) = (node.list(AttrKind::Start), node.list(AttrKind::Step));
    let mut dx = dy;
    for (axis, step) in step.iter().enumerate().filter(|(_, step)| **step > 1) {
        let lengths = g.shape(dx).lengths();
        if lengths[axis] == 0 {
            continue;
        }
        let mut with_one = lengths.clone();
        with_one.push(1);
        let wide = g.reshape(dx, &Shape::of(&with_one))?;
        let apart = g.skewed(Op::Unskew, wide, axis, (lengths[axis] - 1) * step + 1, *step, 1)?;
        let mut lengths = g.shape(apart).lengths();
        lengths.pop();
        dx = g.reshape(apart, &Shape::of(&lengths))?;
    }
    let lengths = g.shape(dx).lengths();
    let high: Vec<u64> = (0..from.len()).map(|i| from[i] - start[i] - lengths[i]).collect();
    Ok(vec![Some(g.pad(dx, start, &high, Number::Float(0.0))?)])
}
pub(crate) fn pad(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let low = node.list(AttrKind::Low);
    let lengths = g.shape(node.operands[0]).lengths();
    let end: Vec<u64> = low.iter().zip(&lengths).map(|(low, length)| low + length).collect();
    Ok(vec![Some(g.slice(dy, low, &end)?)])
}
pub(crate) fn flip(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    Ok(vec![Some(g.along(Op::Flip, dy, node.list(AttrKind::Axes))?)])
}
/// Skewed the other way.
fn skewed_back(g: &mut Graph, node: &Node, op: Op, dy: NodeId) -> Derivatives {
    let axis = node.axis();
    let length = g.shape(node.operands[0]).length(axis);
    let number = |kind| node.list(kind).first().copied().unwrap_or(1);
    let dx = g.skewed(op, dy, axis, length, number(AttrKind::Stride), number(AttrKind::Dilation))?;
    Ok(vec![Some(dx)])
}
pub(crate) fn skew(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    skewed_back(g, node, Op::Unskew, dy)
}
pub(crate) fn unskew(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    skewed_back(g, node, Op::Skew, dy)
}
pub(crate) fn concat(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let axis = node.axis();
    let (mut start, mut end) = (vec![0; node.ty.shape.rank()], node.ty.shape.lengths());
    let mut parts = vec![];
    for operand in &node.operands {
        end[axis] = start[axis] + g.shape(*operand).length(axis);
        parts.push(Some(g.slice(dy, &start, &end)?));
        start[axis] = end[axis];
    }
    Ok(parts)
}

pub(crate) fn gather(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let zero = g.number(node.operands[0], 0.0)?;
    let dx = g.at_axis(Op::ScatterAdd, &[zero, node.operands[1], dy], node.axis())?;
    Ok(vec![Some(dx), None])
}
pub(crate) fn scatter_add(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let added = g.at_axis(Op::Gather, &[dy, node.operands[1]], node.axis())?;
    Ok(vec![Some(dy), None, Some(added)])
}
pub(crate) fn matmul(g: &mut Graph, node: &Node, _: NodeId, dy: NodeId) -> Derivatives {
    let (a, b) = (g.transpose(node.operands[0])?, g.transpose(node.operands[1])?);
    Ok(vec![Some(g.op(Op::Matmul, &[dy, b])?), Some(g.op(Op::Matmul, &[a, dy])?)])
}
