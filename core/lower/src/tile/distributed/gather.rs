//! Elements that are found by their numbers: the tile goes through shared memory, where every invocation reaches all of it, and what is
//! found comes back in a layout.

use super::super::counted_loop::count_up;
use super::super::gather::{bin, bin_type, source};
use super::control::end_of;
use super::layout_conversion::LARGE;
use super::{Distributed, Made, element_of};
use crate::rewrite::Rewriter;
use girih_ir::{Inst, InstId, Op, Scalar, Type, ValueId};

impl Distributed<'_> {
    /// `tile.gather`.
    pub(super) fn gather(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let (tile, index, result) = (inst.operands[0], inst.operands[1], inst.results[0]);
        let (layout, from) = (self.plan.access[&id], self.plan.sources[&id]);
        let (element, shape, to) = (element_of(r, tile), r.old.ty(tile).shape(), r.old.ty(result).shape());
        let registers = self.registers(r, tile, from)?;
        let indices = self.registers(r, index, layout)?;
        let staged = self.stage(r, (LARGE, false), &registers, from, element, shape);
        self.written(r, &[LARGE]);
        let numbers = self.counted(r, layout, Scalar::U32);
        let nothing = r.out.zero(Type::Scalar(element));
        let mut found: Vec<ValueId> = vec![];
        for (index, number) in indices.iter().zip(numbers.iter()) {
            let (place, inside) = source(&mut r.out, inst, (*index, *number), (shape, to));
            let value = self.fetch(r, staged.handle, element, place);
            found.push(r.out.op(Op::Select, element, &[inside, value, nothing]));
        }
        self.hold(r, result, layout, found.into())
    }

    /// `tile.histogram`: whoever has a bin goes through all numbers.
    pub(super) fn histogram(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let (tile, inside, result) = (inst.operands[0], inst.operands[1], inst.results[0]);
        let (layout, from) = (self.plan.access[&id], self.plan.sources[&id]);
        let (of, element, shape) = (element_of(r, tile), inst.element(), r.old.ty(tile).shape());
        let as_bins = bin_type(of);
        let numbers = self.registers(r, tile, from)?;
        let is_tile = r.old.ty(inside).shape().is_some();
        let inside = self.registers(r, inside, from)?;
        let kept = |(register, number): (usize, &ValueId)| {
            let counted = inside[if is_tile { register } else { 0 }];
            bin(&mut r.out, *number, counted, of)
        };
        let numbers: Vec<ValueId> = numbers.iter().enumerate().map(kept).collect();
        let staged = self.stage(r, (LARGE, false), &numbers.into(), from, as_bins, shape);
        self.written(r, &[LARGE]);
        let (zero, count) = (r.out.constant(element, 0), shape.map_or(1, girih_ir::Shape::elements) as u32);
        let bins = self.counted(r, layout, as_bins);
        let caps = self.caps;
        let end = |r: &mut Rewriter<'_>| end_of(caps, r, count);
        let mut sums = vec![];
        for bin in bins.iter() {
            let sum = count_up(r, 0, end, &[zero], |r, at, so_far| {
                let found = self.fetch(r, staged.handle, as_bins, at);
                let same = r.out.op(Op::Eq, as_bins, &[found, *bin]);
                let one = r.out.op(Op::Convert, element, &[same]);
                Ok(vec![r.out.op(Op::Add, element, &[so_far[0], one])])
            })?;
            sums.push(sum[0]);
        }
        self.hold(r, result, layout, sums.into())
    }
}
