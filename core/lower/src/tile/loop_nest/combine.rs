//! Reductions, scans, histograms, and tiles one after another.
//!
//! A reduction along the innermost dimension keeps vectors of partial results if its region is one operation whose order does not matter. One along another
//! dimension handles four neighbours of the innermost dimension at once, in order. All others go element by element, in order.

use super::super::counted_loop::count_up;
use super::super::gather;
use super::super::predication::where_it_holds;
use super::element::{computed, is_straight, lane_of};
use super::point::{Point, plus, vector_axis};
use super::{Array, LANES, LoopNest, Made, is_lane, tile};
use crate::rewrite::Rewriter;
use crate::spmd::lanes::Wide;
use girih_ir::{AttrKind, Function, Inst, Op, RegionId, Scalar, Type, ValueId};

/// Most vectors of partial results.
const PARTIAL: u64 = 4;

/// The operation that a region of two values is, if their order does not matter to it.
fn commutative(f: &Function, region: RegionId) -> Option<&Inst> {
    let region = &f.regions[region];
    let [only, _yield] = region.insts[..] else { return None };
    let inst = &f.insts[only];
    let operation = matches!(inst.op, Op::Add | Op::Mul | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor);
    let of_both = region.params.len() == 2 && region.params.iter().all(|param| inst.operands.contains(param));
    (operation && of_both).then_some(inst)
}

/// A position with another one put in at a dimension.
fn with(point: &Point, axis: usize, at: ValueId) -> Point {
    let mut all = point.at.clone();
    all.insert(axis, at);
    Point { at: all, axis: point.axis.map(|own| if own >= axis { own + 1 } else { own }) }
}

impl<'a> LoopNest<'a> {
    /// `tile.reduce`.
    pub(super) fn reduce(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let (_, shape) = tile(r, inst.operands[0]);
        let axis = inst.axis() as usize;
        let rest = shape.without(axis);
        let mut arrays = vec![];
        if let Some(rest) = rest {
            for operand in &inst.operands {
                let (element, _) = tile(r, *operand);
                arrays.push(self.array(r, element, rest));
            }
        }
        let mut numbers = vec![];
        let lanes = inst.operands.iter().all(|v| r.old.ty(*v).element().is_some_and(is_lane));
        let innermost = vector_axis(shape) == Some(axis);
        let any_order = commutative(r.old, inst.regions[0]).is_some();
        let straight = lanes && is_straight(r.old, inst.regions[0]);
        let mut done = |nest: &mut LoopNest<'a>, r: &mut Rewriter<'_>, point: &Point, values: Vec<Wide>| {
            if rest.is_none() {
                numbers = values;
                return;
            }
            for (array, value) in arrays.iter().zip(values) {
                match point.axis {
                    Some(_) => nest.put_wide(r, *array, point, value),
                    None => {
                        let value = value.value();
                        nest.put(r, *array, point, value);
                    }
                }
            }
        };
        if straight && any_order && innermost {
            self.each_element(r, rest, &mut |nest, r, point| {
                let total = nest.along(r, inst, point, axis, shape.length(axis))?;
                done(nest, r, point, vec![Wide::Same(total)]);
                Ok(())
            })?;
        } else {
            let body = &mut |nest: &mut LoopNest<'a>, r: &mut Rewriter<'_>, point: &Point| {
                let values = nest.in_order(r, inst, point, axis, shape.length(axis))?;
                done(nest, r, point, values);
                Ok(())
            };
            match rest {
                Some(rest) if straight && !innermost => self.each_chunk(r, rest, body)?,
                rest => self.each_element(r, rest, body)?,
            }
        }
        for (i, result) in inst.results.iter().enumerate() {
            match arrays.get(i) {
                Some(array) => drop(self.arrays.insert(*result, *array)),
                None => r.set(*result, &[numbers[i].value()]),
            }
        }
        Ok(())
    }

    /// The elements along the innermost dimension, combined in any order.
    fn along(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point, axis: usize, length: u64) -> Made<ValueId> {
        let old = r.old;
        let value = inst.operands[0];
        let vectors = length / LANES;
        let partial = vectors.min(PARTIAL);
        let four = |at: ValueId| Point { axis: Some(axis), ..with(point, axis, at) };
        let mut first = vec![];
        for i in 0..partial {
            let at = r.out.u32((i * LANES) as u32);
            let place = four(at);
            let wide = self.wide(r, value, &place)?;
            first.push(wide.each(&mut r.out));
        }
        let combine = |r: &mut Rewriter<'_>, x: Wide, y: Wide| -> Wide {
            let Some(operation) = commutative(old, inst.regions[0]) else { return x };
            let source = operation.operands.first().map_or(Type::U32, |v| old.ty(*v));
            computed(&mut r.out, operation, source, &[x, y])
        };
        let rounds = (vectors / partial) as u32;
        let end = |r: &mut Rewriter<'_>| r.out.u32(rounds);
        let sums = if rounds == 1 {
            first
        } else {
            count_up(r, 1, end, &first, |r, round, sums| {
                let log = r.out.u32((partial * LANES).trailing_zeros());
                let start = r.out.op(Op::Shl, Scalar::U32, &[round, log]);
                let mut next = vec![];
                for (i, sum) in (0..).zip(sums) {
                    let at = plus(&mut r.out, start, i * LANES as u32);
                    let place = four(at);
                    let wide = self.scoped(|nest| nest.wide(r, value, &place))?;
                    let wide = Wide::Each(wide.each(&mut r.out));
                    next.push(combine(r, Wide::Each(*sum), wide).each(&mut r.out));
                }
                Ok(next)
            })?
        };
        let mut sums: Vec<Wide> = sums.into_iter().map(Wide::Each).collect();
        while sums.len() > 1 {
            sums = sums.chunks(2).map(|pair| combine(r, pair[0], pair[1])).collect();
        }
        let (element, _) = tile(r, value);
        let lanes: Vec<Wide> =
            (0..LANES as u32).map(|lane| Wide::Same(lane_of(&mut r.out, element, sums[0], lane))).collect();
        let low = combine(r, lanes[0], lanes[1]);
        let high = combine(r, lanes[2], lanes[3]);
        Ok(combine(r, low, high).value())
    }

    /// The elements along a dimension, combined in order; for four neighbours at once if the point stands for four.
    fn in_order(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        point: &Point,
        axis: usize,
        length: u64,
    ) -> Made<Vec<Wide>> {
        let zero = r.out.u32(0);
        let first = self.all_at(r, &inst.operands, &with(point, axis, zero))?;
        if length == 1 {
            return Ok(first);
        }
        let each = point.axis.is_some();
        let initial: Vec<ValueId> = first.iter().map(|wide| wide.shaped(&mut r.out, each)).collect();
        let end = |r: &mut Rewriter<'_>| r.out.u32(length as u32);
        let values = count_up(r, 1, end, &initial, |r, at, so_far| {
            let place = with(point, axis, at);
            self.scoped(|nest| {
                let next = nest.all_at(r, &inst.operands, &place)?;
                let before = so_far.iter().map(|value| Wide::of(*value, each));
                nest.combined(r, inst.regions[0], before.chain(next).collect(), each)
            })
        })?;
        Ok(values.into_iter().map(|value| Wide::of(value, each)).collect())
    }

    /// All of these tiles at a position.
    fn all_at(&mut self, r: &mut Rewriter<'_>, values: &[ValueId], point: &Point) -> Made<Vec<Wide>> {
        values.iter().map(|value| self.wide(r, *value, point)).collect()
    }

    /// What a region gives for these values.
    fn combined(
        &mut self,
        r: &mut Rewriter<'_>,
        region: RegionId,
        arguments: Vec<Wide>,
        each: bool,
    ) -> Made<Vec<ValueId>> {
        if each {
            let made = self.straight(r, region, &arguments)?;
            return Ok(made.into_iter().map(|wide| wide.each(&mut r.out)).collect());
        }
        let arguments: Vec<ValueId> = arguments.iter().map(|wide| wide.value()).collect();
        self.written_out(r, region, &arguments)
    }

    /// `tile.scan`.
    pub(super) fn scan(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let (_, shape) = tile(r, inst.operands[0]);
        let axis = inst.axis() as usize;
        let length = shape.length(axis) as u32;
        let reverse = inst.has(AttrKind::Reverse);
        let mut arrays = vec![];
        for operand in &inst.operands {
            let (element, _) = tile(r, *operand);
            arrays.push(self.array(r, element, shape));
        }
        let lanes = inst.operands.iter().all(|v| r.old.ty(*v).element().is_some_and(is_lane));
        let by_four = lanes && is_straight(r.old, inst.regions[0]) && vector_axis(shape).is_some_and(|own| own != axis);
        let body = &mut |nest: &mut LoopNest<'a>, r: &mut Rewriter<'_>, point: &Point| {
            let each = point.axis.is_some();
            let place = |r: &mut Rewriter<'_>, at: ValueId| {
                let last = r.out.u32(length - 1);
                let at = if reverse { r.out.op(Op::Sub, Scalar::U32, &[last, at]) } else { at };
                with(point, axis, at)
            };
            let zero = r.out.u32(0);
            let start = place(r, zero);
            let first = nest.all_at(r, &inst.operands, &start)?;
            let initial: Vec<ValueId> = first.iter().map(|wide| wide.shaped(&mut r.out, each)).collect();
            nest.put_all(r, &arrays, &start, &initial);
            let end = |r: &mut Rewriter<'_>| r.out.u32(length);
            count_up(r, 1, end, &initial, |r, at, so_far| {
                let here = place(r, at);
                let next = nest.scoped(|nest| {
                    let next = nest.all_at(r, &inst.operands, &here)?;
                    let before = so_far.iter().map(|value| Wide::of(*value, each));
                    nest.combined(r, inst.regions[0], before.chain(next).collect(), each)
                })?;
                nest.put_all(r, &arrays, &here, &next);
                Ok(next)
            })?;
            Ok(())
        };
        match shape.without(axis) {
            Some(rest) if by_four => self.each_chunk(r, rest, body)?,
            rest => self.each_element(r, rest, body)?,
        }
        self.arrays.extend(inst.results.iter().copied().zip(arrays));
        Ok(())
    }

    fn put_all(&mut self, r: &mut Rewriter<'_>, arrays: &[Array], point: &Point, values: &[ValueId]) {
        for (array, value) in arrays.iter().zip(values) {
            match point.axis {
                Some(_) => self.put_wide(r, *array, point, Wide::Each(*value)),
                None => self.put(r, *array, point, *value),
            }
        }
    }

    /// `tile.histogram`.
    pub(super) fn histogram(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let (numbers, shape) = tile(r, inst.operands[0]);
        let (element, bins) = tile(r, inst.results[0]);
        let array = self.array(r, element, bins);
        self.each_element(r, Some(bins), &mut |nest, r, point| {
            let zero = r.out.constant(element, 0);
            nest.put(r, array, point, zero);
            Ok(())
        })?;
        self.each_element(r, Some(shape), &mut |nest, r, point| {
            let number = nest.single(r, inst.operands[0], point)?;
            let inside = nest.single(r, inst.operands[1], point)?;
            let bin = gather::bin(&mut r.out, number, inside, numbers);
            let of = gather::bin_type(numbers);
            // Numbers below zero are beyond all bins, too.
            let bits = of.as_bits();
            let bin = if of == bits { bin } else { r.out.op(Op::Bitcast, bits, &[bin]) };
            let most = r.out.constant(bits, bins.elements());
            let counted = r.out.op(Op::Lt, bits, &[bin, most]);
            where_it_holds(r, Some(counted), |r| {
                let bin = if bits == Scalar::U32 { bin } else { r.out.op(Op::Convert, Scalar::U32, &[bin]) };
                let place = Point { at: vec![bin], axis: None };
                let before = nest.get(r, array, &place);
                let one = r.out.constant(element, 1);
                let next = r.out.op(Op::Add, element, &[before, one]);
                nest.put(r, array, &place, next);
            });
            Ok(())
        })?;
        self.arrays.insert(inst.results[0], array);
        Ok(())
    }

    /// `tile.cat`: the first tile's elements, then those of the second.
    pub(super) fn cat(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let (element, shape) = tile(r, inst.results[0]);
        let array = self.array(r, element, shape);
        for (half, operand) in (0..).zip(&inst.operands) {
            let (_, part) = tile(r, *operand);
            let start = half * part.length(0) as u32;
            self.each_element(r, Some(part), &mut |nest, r, point| {
                let value = nest.single(r, *operand, point)?;
                let mut to = point.clone();
                to.at[0] = plus(&mut r.out, to.at[0], start);
                nest.put(r, array, &to, value);
                Ok(())
            })?;
        }
        self.arrays.insert(inst.results[0], array);
        Ok(())
    }
}
