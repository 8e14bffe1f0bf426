//! Elements put to positions that meet those which are there: added, multiplied, the greatest or least kept.
//!
//! Memory adds words of 32 bits on every device. All else is done without it: elements are sorted by their positions, those of one position are combined by doubling distances
//! (Hillis and Steele, Data parallel algorithms, 1986), and each result finds the last of its position by binary search. So n elements take about n log² n steps.
//!
//! Invariant: a position that is not there is never found, so its element counts nowhere.

use super::Made;
use super::attrs::{Attr, AttrKind, Number};
use super::decompose::rounded;
use super::graph::{Graph, Node, NodeId};
use super::ops::Op;
use super::size::Shape;
use girih_ir::Scalar;

/// Elements of at most 32 bits are added in memory.
pub(crate) fn scatter_add(g: &mut Graph, node: &Node) -> Made<NodeId> {
    let [x, index, y] = node.operands[..] else { return Ok(node.operands[0]) };
    let word = match node.ty.element {
        element if element.bits() > 32 => return g.combined_at(Meeting::Sum, [x, index, y], node.axis()),
        element if element.is_float() => Scalar::F32,
        element if element.is_signed() => Scalar::I32,
        _unsigned => Scalar::U32,
    };
    let (x, y) = (g.convert(x, word)?, g.convert(y, word)?);
    let sums = g.at_axis(Op::AddAt, &[x, index, y], node.axis())?;
    rounded(g, node, sums)
}

/// How elements of one position become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The greatest; NaN if one is.
    Greatest,
    /// The least; NaN if one is.
    Least,
}

impl Meeting {
    /// The operation of two tensors.
    const fn pair(self) -> Op {
        match self {
            Meeting::Sum => Op::Add,
            Meeting::Product => Op::Mul,
            Meeting::Greatest => Op::Max,
            Meeting::Least => Op::Min,
        }
    }
    /// The reduction, and what changes nothing.
    fn all(self, element: Scalar) -> (Op, Number) {
        let number = |float: f64, integer: i128| {
            if element.is_float() { Number::Float(float) } else { Number::Int(integer).within(element) }
        };
        match self {
            Meeting::Sum => (Op::Sum, number(0.0, 0)),
            Meeting::Product => (Op::Prod, number(1.0, 1)),
            Meeting::Greatest => (Op::Amax, number(f64::NEG_INFINITY, i128::MIN)),
            Meeting::Least => (Op::Amin, number(f64::INFINITY, i128::MAX)),
        }
    }
}

/// So few elements along the axis are looked at by each result.
const FEW: u64 = 32;

impl Graph {
    /// x, in which each element is combined with all elements of y along the axis whose position it is. The shapes are those of [`Op::ScatterAdd`].
    ///
    /// # Errors
    /// If the operands do not fit.
    pub fn combined_at(&mut self, by: Meeting, [x, index, y]: [NodeId; 3], axis: usize) -> Made<NodeId> {
        let count = self.shape(index).length(axis);
        if self.shape(index).elements() == 0 || self.shape(x).elements() == 0 {
            return Ok(x);
        }
        if count <= FEW {
            return self.compared_at(by, [x, index, y], axis);
        }
        let attrs = vec![Attr::List(AttrKind::Axis, vec![axis as u64]), Attr::List(AttrKind::Length, vec![count])];
        let order = self.push(Op::ArgSort, &[index], attrs)?;
        let positions = self.at_axis(Op::Gather, &[index, order], axis)?;
        let values = self.at_axis(Op::Gather, &[y, order], axis)?;
        let values = self.combined_runs(by, positions, values, axis)?;
        self.met(by, x, [positions, values], axis)
    }

    /// The same where each result looks at all elements along the axis.
    fn compared_at(&mut self, by: Meeting, [x, index, y]: [NodeId; 3], axis: usize) -> Made<NodeId> {
        let (length, rank) = (self.shape(x).length(axis), self.shape(x).rank());
        let (at, all) = (moved_last(self, index, axis, length)?, moved_last(self, y, axis, length)?);
        let own = self.iota(self.ty(at).element, &self.shape(at).clone(), axis)?;
        let hits = self.op(Op::Eq, &[own, at])?;
        let (reduction, nothing) = by.all(self.ty(all).element);
        let nothing = self.full(&self.ty(all).clone(), nothing)?;
        let kept = self.op(Op::Where, &[hits, all, nothing])?;
        let met = self.along(reduction, kept, &[rank as u64])?;
        self.op(by.pair(), &[x, met])
    }

    /// Along the axis each value combined with all before it that have the same key. Equal keys lie beside each other.
    fn combined_runs(&mut self, by: Meeting, keys: NodeId, values: NodeId, axis: usize) -> Made<NodeId> {
        let shape = self.shape(keys).clone();
        let number = self.iota(Scalar::I32, &shape, axis)?;
        let (mut values, mut distance) = (values, 1);
        while distance < shape.length(axis) {
            let (key, value) = (self.earlier(keys, axis, distance)?, self.earlier(values, axis, distance)?);
            let (is_same, least) = (self.op(Op::Eq, &[key, keys])?, self.number(number, distance as f64)?);
            let is_there = self.op(Op::Ge, &[number, least])?;
            let meets = self.op(Op::And, &[is_same, is_there])?;
            let both = self.op(by.pair(), &[value, values])?;
            values = self.op(Op::Where, &[meets, both, values])?;
            distance *= 2;
        }
        Ok(values)
    }
    /// For each element the one so far before it along the axis; anything where there is none.
    fn earlier(&mut self, x: NodeId, axis: usize, distance: u64) -> Made<NodeId> {
        let lengths = self.shape(x).lengths();
        let zeros = vec![0; lengths.len()];
        let (mut end, mut low) = (lengths.clone(), zeros.clone());
        (end[axis], low[axis]) = (lengths[axis] - distance, distance);
        let front = self.slice(x, &zeros, &end)?;
        self.pad(front, &low, &zeros, Number::Int(0))
    }

    /// Each element of x combined with the last value whose position is its own, if there is one. Positions are sorted along the axis.
    fn met(&mut self, by: Meeting, x: NodeId, [positions, values]: [NodeId; 2], axis: usize) -> Made<NodeId> {
        let (count, element) = (self.shape(positions).length(axis), self.ty(positions).element);
        let mut lengths = self.shape(positions).lengths();
        lengths[axis] = self.shape(x).length(axis);
        let shape = Shape::of(&lengths);
        let own = self.iota(element, &shape, axis)?;
        let (zero, all) = (self.number(own, 0.0)?, self.number(own, count as f64)?);
        let one = self.number(own, 1.0)?;
        // How many positions are not greater.
        let (mut before, mut step) = (zero, 1 << count.ilog2());
        while step > 0 {
            let distance = self.number(own, step as f64)?;
            let more = self.op(Op::Add, &[before, distance])?;
            let last = self.op(Op::Sub, &[more, one])?;
            let position = self.at_axis(Op::Gather, &[positions, last], axis)?;
            let (is_not_greater, fits) = (self.op(Op::Le, &[position, own])?, self.op(Op::Le, &[more, all])?);
            let is_more = self.op(Op::And, &[is_not_greater, fits])?;
            before = self.op(Op::Where, &[is_more, more, before])?;
            step /= 2;
        }
        let last = self.op(Op::Sub, &[before, one])?;
        let position = self.at_axis(Op::Gather, &[positions, last], axis)?;
        let value = self.at_axis(Op::Gather, &[values, last], axis)?;
        let (is_own, is_some) = (self.op(Op::Eq, &[position, own])?, self.op(Op::Gt, &[before, zero])?);
        let hit = self.op(Op::And, &[is_own, is_some])?;
        let both = self.op(by.pair(), &[x, value])?;
        self.op(Op::Where, &[hit, both, x])
    }
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
