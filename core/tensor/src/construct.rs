//! Ways to write nodes: what decompositions, derivatives and people write, without lists of attributes.
//!
//! Invariant: nothing here checks shapes; [`Graph::push`] does.

use super::Made;
use super::attrs::{Attr, AttrKind, Number};
use super::graph::{Graph, NodeId};
use super::ops::Op;
use super::size::{Shape, TensorType};
use girih_ir::Scalar;

impl Graph {
    /// An operation without attributes.
    ///
    /// # Errors
    /// If the operands do not fit; so it is for all methods here.
    pub fn op(&mut self, op: Op, operands: &[NodeId]) -> Made<NodeId> {
        self.push(op, operands, vec![])
    }
    /// An operation of one tensor along axes.
    pub fn along(&mut self, op: Op, x: NodeId, axes: &[u64]) -> Made<NodeId> {
        let kind = if op.row().attrs.contains(&AttrKind::Axis) { AttrKind::Axis } else { AttrKind::Axes };
        self.push(op, &[x], vec![Attr::List(kind, axes.to_vec())])
    }
    /// One number everywhere.
    pub fn full(&mut self, ty: &TensorType, value: Number) -> Made<NodeId> {
        let attrs = vec![
            Attr::Element(AttrKind::To, ty.element),
            Attr::List(AttrKind::Sizes, ty.shape.lengths()),
            Attr::Number(AttrKind::Value, value),
        ];
        self.push(Op::Full, &[], attrs)
    }
    /// This number everywhere, in a tensor of the same type.
    pub fn number(&mut self, like: NodeId, value: f64) -> Made<NodeId> {
        let ty = self.ty(like).clone();
        let value = if ty.element.is_float() { Number::Float(value) } else { Number::Int(value as i128) };
        self.full(&ty, value)
    }
    /// Positions along an axis, in a tensor of a shape.
    pub fn iota(&mut self, element: Scalar, shape: &Shape, axis: usize) -> Made<NodeId> {
        let attrs = vec![
            Attr::Element(AttrKind::To, element),
            Attr::List(AttrKind::Sizes, shape.lengths()),
            Attr::List(AttrKind::Axis, vec![axis as u64]),
        ];
        self.push(Op::Iota, &[], attrs)
    }
    /// The same numbers as another type; the node itself if that is its type.
    pub fn convert(&mut self, x: NodeId, to: Scalar) -> Made<NodeId> {
        if self.ty(x).element == to {
            return Ok(x);
        }
        self.push(Op::Convert, &[x], vec![Attr::Element(AttrKind::To, to)])
    }
    /// The same elements in another shape; the node itself if that is its shape.
    pub fn reshape(&mut self, x: NodeId, shape: &Shape) -> Made<NodeId> {
        if self.shape(x) == shape {
            return Ok(x);
        }
        self.push(Op::Reshape, &[x], vec![Attr::List(AttrKind::Sizes, shape.lengths())])
    }
    /// Dimensions in another order.
    pub fn permute(&mut self, x: NodeId, axes: &[u64]) -> Made<NodeId> {
        self.push(Op::Permute, &[x], vec![Attr::List(AttrKind::Axes, axes.to_vec())])
    }
    /// The last two dimensions exchanged.
    pub fn transpose(&mut self, x: NodeId) -> Made<NodeId> {
        let rank = self.shape(x).rank();
        let mut axes: Vec<u64> = (0..rank as u64).collect();
        if rank >= 2 {
            axes.swap(rank - 2, rank - 1);
        }
        self.permute(x, &axes)
    }
    /// Repeated to a shape: dimensions are added on the left, and those of length 1 repeated.
    pub fn broadcast_to(&mut self, x: NodeId, shape: &Shape) -> Made<NodeId> {
        if self.shape(x) == shape {
            return Ok(x);
        }
        let lengths = self.shape(x).lengths();
        let missing = shape.rank().saturating_sub(lengths.len());
        let ones: Vec<u64> = std::iter::repeat_n(1, missing).chain(lengths).collect();
        let x = self.reshape(x, &Shape::of(&ones))?;
        if self.shape(x) == shape {
            return Ok(x);
        }
        self.push(Op::Broadcast, &[x], vec![Attr::List(AttrKind::Sizes, shape.lengths())])
    }
    /// Positions from a start to an end, one apart.
    pub fn slice(&mut self, x: NodeId, start: &[u64], end: &[u64]) -> Made<NodeId> {
        let step = vec![1; start.len()];
        self.strided(x, start, end, &step)
    }
    /// Positions from a start to an end.
    pub fn strided(&mut self, x: NodeId, start: &[u64], end: &[u64], step: &[u64]) -> Made<NodeId> {
        let attrs = [(AttrKind::Start, start), (AttrKind::End, end), (AttrKind::Step, step)];
        self.push(Op::Slice, &[x], attrs.map(|(kind, list)| Attr::List(kind, list.to_vec())).to_vec())
    }
    /// More elements around.
    pub fn pad(&mut self, x: NodeId, low: &[u64], high: &[u64], value: Number) -> Made<NodeId> {
        let attrs = vec![
            Attr::List(AttrKind::Low, low.to_vec()),
            Attr::List(AttrKind::High, high.to_vec()),
            Attr::Number(AttrKind::Value, value),
        ];
        self.push(Op::Pad, &[x], attrs)
    }
    /// [`Op::Skew`] or [`Op::Unskew`].
    pub fn skewed(&mut self, op: Op, x: NodeId, axis: usize, length: u64, stride: u64, dilation: u64) -> Made<NodeId> {
        let attrs = [
            (AttrKind::Axis, axis as u64),
            (AttrKind::Length, length),
            (AttrKind::Stride, stride),
            (AttrKind::Dilation, dilation),
        ];
        self.push(op, &[x], attrs.map(|(kind, number)| Attr::List(kind, vec![number])).to_vec())
    }
    /// Windows along an axis in a new last dimension.
    pub fn windows(&mut self, x: NodeId, axis: usize, window: u64, stride: u64, dilation: u64) -> Made<NodeId> {
        let attrs = [
            (AttrKind::Axis, axis as u64),
            (AttrKind::Window, window),
            (AttrKind::Stride, stride),
            (AttrKind::Dilation, dilation),
        ];
        self.push(Op::Windows, &[x], attrs.map(|(kind, number)| Attr::List(kind, vec![number])).to_vec())
    }
    /// An operation with positions along an axis: [`Op::Gather`], [`Op::ScatterAdd`], [`Op::IndexSelect`].
    pub fn at_axis(&mut self, op: Op, operands: &[NodeId], axis: usize) -> Made<NodeId> {
        self.push(op, operands, vec![Attr::List(AttrKind::Axis, vec![axis as u64])])
    }
    /// A reduction whose result is repeated to the operand's shape.
    pub fn spread(&mut self, op: Op, x: NodeId, axes: &[u64]) -> Made<NodeId> {
        let reduced = self.along(op, x, axes)?;
        self.unreduce(reduced, axes, &self.shape(x).clone())
    }
    /// What a reduction has given, repeated along the axes that it reduced.
    pub fn unreduce(&mut self, reduced: NodeId, axes: &[u64], shape: &Shape) -> Made<NodeId> {
        let kept = self.reshape(reduced, &shape.ones_at(axes))?;
        self.broadcast_to(kept, shape)
    }
    /// An operation of two tensors by the rules of `PyTorch`: elements are converted to the type that holds both, dimensions of length 1 are repeated.
    pub fn binary(&mut self, op: Op, a: NodeId, b: NodeId) -> Made<NodeId> {
        let element = promote(self.ty(a).element, self.ty(b).element);
        let shape = common(self.shape(a), self.shape(b));
        let Some(shape) = shape else { return self.op(op, &[a, b]) };
        let (a, b) = (self.convert(a, element)?, self.convert(b, element)?);
        let (a, b) = (self.broadcast_to(a, &shape)?, self.broadcast_to(b, &shape)?);
        self.op(op, &[a, b])
    }
    /// [`Op::Where`] by the same rules: the elements of one tensor where a condition is true, else those of another.
    pub fn choose(&mut self, condition: NodeId, then: NodeId, otherwise: NodeId) -> Made<NodeId> {
        let element = promote(self.ty(then).element, self.ty(otherwise).element);
        let shape = common(self.shape(then), self.shape(otherwise));
        let shape = shape.and_then(|shape| common(&shape, self.shape(condition)));
        let Some(shape) = shape else { return self.op(Op::Where, &[condition, then, otherwise]) };
        let condition = self.broadcast_to(condition, &shape)?;
        let mut operands = vec![condition];
        for x in [then, otherwise] {
            let x = self.convert(x, element)?;
            operands.push(self.broadcast_to(x, &shape)?);
        }
        self.op(Op::Where, &operands)
    }
    /// [`Op::Matmul`] by the same rules: dimensions before the last two are repeated.
    pub fn product(&mut self, a: NodeId, b: NodeId) -> Made<NodeId> {
        let (x, y) = (self.shape(a).lengths(), self.shape(b).lengths());
        let (Some((before_a, matrix_a)), Some((before_b, matrix_b))) =
            (x.split_last_chunk::<2>(), y.split_last_chunk::<2>())
        else {
            return self.op(Op::Matmul, &[a, b]);
        };
        let Some(before) = common(&Shape::of(before_a), &Shape::of(before_b)) else {
            return self.op(Op::Matmul, &[a, b]);
        };
        let element = promote(self.ty(a).element, self.ty(b).element);
        let mut operands = vec![];
        for (x, matrix) in [(a, matrix_a), (b, matrix_b)] {
            let x = self.convert(x, element)?;
            let lengths = [&before.lengths()[..], matrix].concat();
            operands.push(self.broadcast_to(x, &Shape::of(&lengths))?);
        }
        self.op(Op::Matmul, &operands)
    }
}

/// The shape that both are repeated to; none if there is none.
pub fn common(a: &Shape, b: &Shape) -> Option<Shape> {
    let rank = a.rank().max(b.rank());
    let length = |shape: &Shape, i: usize| (i + shape.rank()).checked_sub(rank).map_or(1, |axis| shape.length(axis));
    let joined = (0..rank).map(|i| {
        let (x, y) = (length(a, i), length(b, i));
        if y == 1 { Some(x) } else { Some(y).filter(|_| x == y || x == 1) }
    });
    joined.collect::<Option<Vec<u64>>>().map(|lengths| Shape::of(&lengths))
}

/// The type that holds numbers of both, whichever comes first: floats before integers before truth values, then the wider one; `f32` for the two floats of 16 bits.
/// Of integers one of which has a sign it is the narrowest signed type that holds both; none holds `u64` and signed numbers, which give `i64` and wrap.
pub fn promote(a: Scalar, b: Scalar) -> Scalar {
    let kind = |s: Scalar| {
        if s == Scalar::Bool {
            0
        } else if s.is_float() {
            2
        } else {
            1
        }
    };
    if a == b {
        return a;
    }
    if kind(a) != kind(b) {
        return if kind(a) > kind(b) { a } else { b };
    }
    if a.is_float() && a.bits() == b.bits() {
        return Scalar::F32;
    }
    if a.is_float() || a.is_signed() == b.is_signed() {
        return if a.bits() > b.bits() { a } else { b };
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    let holds = |s: &&Scalar| s.bits() >= signed.bits() && s.bits() > unsigned.bits();
    SIGNED.iter().find(holds).copied().unwrap_or(Scalar::I64)
}

/// Signed integers, the narrowest first.
const SIGNED: &[Scalar] = &[Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64];
