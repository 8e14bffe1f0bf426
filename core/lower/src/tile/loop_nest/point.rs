//! Positions: which element of a tile is meant, or which four neighbours.

use super::super::counted_loop::count_up;
use super::super::gather::{digit, digits};
use super::{LANES, LoopNest, Made};
use crate::rewrite::Rewriter;
use girih_ir::{Builder, Def, Inst, Op, Scalar, Shape, ValueId};

/// A position along each dimension. With an axis it stands for four neighbours along that: then the position is that of the first, and a
/// multiple of four.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Point {
    pub at: Vec<ValueId>,
    pub axis: Option<usize>,
}

impl Point {
    /// One of the four neighbours.
    pub fn lane(&self, b: &mut Builder, lane: u32) -> Point {
        let Some(axis) = self.axis else { return self.clone() };
        let mut at = self.at.clone();
        if lane > 0 {
            at[axis] = plus(b, at[axis], lane);
        }
        Point { at, axis: None }
    }

    /// All of them, or the one element.
    pub fn lanes(&self, r: &mut Rewriter<'_>) -> Vec<Point> {
        let count = if self.axis.is_some() { LANES as u32 } else { 1 };
        (0..count).map(|lane| self.lane(&mut r.out, lane)).collect()
    }

    /// The number of the element, or of the first of four.
    pub fn number(&self, b: &mut Builder, shape: Shape) -> ValueId {
        let mut number = b.u32(0);
        for (position, (shift, length)) in self.at.iter().zip(digits(Some(shape))) {
            if length > 1 {
                let moved = shifted(b, *position, shift);
                number = sum(b, number, moved);
            }
        }
        number
    }

    /// The number of the first of four neighbours along the innermost dimension, counted in fours.
    pub fn number_of_four(&self, b: &mut Builder, shape: Shape) -> ValueId {
        let mut number = b.u32(0);
        for (position, (shift, length)) in self.at.iter().zip(digits(Some(shape))) {
            if length > 1 {
                let moved = if shift == 0 { quarter(b, *position) } else { shifted(b, *position, shift - QUARTER) };
                number = sum(b, number, moved);
            }
        }
        number
    }

    /// Where the elements of a view come from; none if four neighbours are no four neighbours there.
    pub fn source(&self, r: &mut Rewriter<'_>, inst: &Inst) -> Option<Point> {
        let from = r.old.ty(inst.operands[0]).shape()?;
        let to = r.old.ty(inst.results[0]).shape()?;
        let zero = r.out.u32(0);
        if inst.op == Op::TileReshape {
            return self.reshaped(&mut r.out, to, from);
        }
        if inst.op == Op::TileBroadcast {
            let at = from.lengths().zip(&self.at).map(|(length, at)| if length == 1 { zero } else { *at });
            let axis = self.axis.filter(|axis| from.length(*axis) > 1);
            return Some(Point { at: at.collect(), axis });
        }
        let mut at = vec![zero; self.at.len()];
        let mut axis = None;
        for (d, source) in inst.axes().iter().enumerate() {
            at[*source as usize] = self.at[d];
            axis = axis.or((self.axis == Some(d)).then_some(*source as usize));
        }
        Some(Point { at, axis })
    }

    /// The same elements in another shape.
    fn reshaped(&self, b: &mut Builder, to: Shape, from: Shape) -> Option<Point> {
        let long = |shape: Shape| (0..shape.rank()).filter(|d| shape.length(*d) > 1).collect::<Vec<usize>>();
        let lengths = |shape: Shape| shape.lengths().filter(|n| *n > 1).collect::<Vec<u64>>();
        let mut at = vec![b.u32(0); from.rank()];
        let mut axis = None;
        if lengths(to) == lengths(from) {
            for (there, here) in long(from).into_iter().zip(long(to)) {
                at[there] = self.at[here];
                axis = axis.or((self.axis == Some(here)).then_some(there));
            }
            return Some(Point { at, axis });
        }
        if let Some(own) = self.axis {
            let innermost = *long(from).last()?;
            if long(to).last() != Some(&own) || from.length(innermost) < LANES {
                return None;
            }
            axis = Some(innermost);
        }
        let number = self.number(b, to);
        for (at, place) in at.iter_mut().zip(digits(Some(from))) {
            if place.1 > 1 {
                *at = digit(b, number, place);
            }
        }
        Some(Point { at, axis })
    }
}

/// The logarithm of a vector's lanes.
const QUARTER: u32 = LANES.trailing_zeros();

/// A fourth of a multiple of four; a constant distance stays one.
fn quarter(b: &mut Builder, x: ValueId) -> ValueId {
    let log = b.u32(QUARTER);
    let (first, distance) = apart(b, x);
    if u64::from(distance).is_multiple_of(LANES) {
        let first = first.map(|x| b.op(Op::Shr, Scalar::U32, &[x, log]));
        return behind(b, first, distance >> QUARTER);
    }
    b.op(Op::Shr, Scalar::U32, &[x, log])
}

/// A number as another one, if it is no constant, and a constant distance from that. Constant distances stay outermost in sums, so that positions beside
/// each other are one number and distances from it.
fn apart(b: &Builder, x: ValueId) -> (Option<ValueId>, u32) {
    if let Some(n) = b.function.as_constant(x) {
        return (None, n as u32);
    }
    if let Def::Result(id, _) = b.function.values[x].def
        && let Inst { op: Op::Add, operands, .. } = &b.function.insts[id]
        && let [first, distance] = operands[..]
        && let Some(n) = b.function.as_constant(distance)
    {
        return (Some(first), n as u32);
    }
    (Some(x), 0)
}

/// A number so far behind another one.
fn behind(b: &mut Builder, x: Option<ValueId>, n: u32) -> ValueId {
    let distance = b.u32(n);
    match x {
        Some(x) if n == 0 => x,
        Some(x) => b.op(Op::Add, Scalar::U32, &[x, distance]),
        None => distance,
    }
}

/// A sum with a constant.
pub(super) fn plus(b: &mut Builder, x: ValueId, n: u32) -> ValueId {
    let (first, distance) = apart(b, x);
    behind(b, first, distance.wrapping_add(n))
}

fn sum(b: &mut Builder, x: ValueId, y: ValueId) -> ValueId {
    let ((x, n), (y, m)) = (apart(b, x), apart(b, y));
    let both = match (x, y) {
        (Some(x), Some(y)) => Some(b.op(Op::Add, Scalar::U32, &[x, y])),
        (one, other) => one.or(other),
    };
    behind(b, both, n.wrapping_add(m))
}

fn shifted(b: &mut Builder, x: ValueId, shift: u32) -> ValueId {
    if shift == 0 {
        return x;
    }
    let (first, distance) = apart(b, x);
    let by = b.u32(shift);
    let first = first.map(|x| b.op(Op::Shl, Scalar::U32, &[x, by]));
    behind(b, first, distance << shift)
}

/// The dimension that loops over vectors go along: the innermost one with more than one element, if there are four.
pub(super) fn vector_axis(shape: Shape) -> Option<usize> {
    (0..shape.rank()).rev().find(|d| shape.length(*d) > 1).filter(|d| shape.length(*d) >= LANES)
}

/// What is done at a point.
pub(super) type AtPoint<'f, 'a> = dyn FnMut(&mut LoopNest<'a>, &mut Rewriter<'_>, &Point) -> Made<()> + 'f;

/// How many vectors an iteration handles.
const UNROLLED: u64 = 2;

impl<'a> LoopNest<'a> {
    /// Does something for each four neighbours of a shape along its innermost dimension, or for each element where there are no four.
    pub(super) fn each_chunk(&mut self, r: &mut Rewriter<'_>, shape: Shape, body: &mut AtPoint<'_, 'a>) -> Made<()> {
        let axis = vector_axis(shape);
        self.nested(r, shape, axis, &mut vec![], body)
    }

    /// Does something for each element of a shape, in order; once if there is none.
    pub(super) fn each_element(
        &mut self,
        r: &mut Rewriter<'_>,
        shape: Option<Shape>,
        body: &mut AtPoint<'_, 'a>,
    ) -> Made<()> {
        match shape {
            Some(shape) => self.nested(r, shape, None, &mut vec![], body),
            None => self.at(r, &Point { at: vec![], axis: None }, body),
        }
    }

    fn nested(
        &mut self,
        r: &mut Rewriter<'_>,
        shape: Shape,
        axis: Option<usize>,
        at: &mut Vec<ValueId>,
        body: &mut AtPoint<'_, 'a>,
    ) -> Made<()> {
        let d = at.len();
        if d == shape.rank() {
            return self.at(r, &Point { at: at.clone(), axis }, body);
        }
        let length = shape.length(d);
        if length == 1 {
            at.push(r.out.u32(0));
            let done = self.nested(r, shape, axis, at, body);
            at.pop();
            return done;
        }
        let vectors = length / LANES;
        let (step, times) = match axis == Some(d) {
            true => (LANES, if vectors >= 2 * UNROLLED { UNROLLED } else { 1 }),
            false => (1, 1),
        };
        let count = (length / step / times) as u32;
        let mut positions = |nest: &mut Self, r: &mut Rewriter<'_>, first: ValueId| -> Made<()> {
            for i in 0..times {
                let position = plus(&mut r.out, first, (i * step) as u32);
                at.push(position);
                let done = nest.nested(r, shape, axis, at, body);
                at.pop();
                done?;
            }
            Ok(())
        };
        if count == 1 {
            let zero = r.out.u32(0);
            return positions(self, r, zero);
        }
        let end = |r: &mut Rewriter<'_>| r.out.u32(count);
        count_up(r, 0, end, &[], |r, i, _| {
            let first = shifted(&mut r.out, i, (step * times).trailing_zeros());
            positions(self, r, first)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Does something at one point; what is computed there is known only there.
    pub(super) fn at(&mut self, r: &mut Rewriter<'_>, point: &Point, body: &mut AtPoint<'_, 'a>) -> Made<()> {
        self.scoped(|nest| body(nest, r, point))
    }

    /// Forgets afterwards what was computed meanwhile: it may stand in a region that others do not see.
    pub(super) fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.known.push(Default::default());
        let result = body(self);
        self.known.pop();
        result
    }
}
