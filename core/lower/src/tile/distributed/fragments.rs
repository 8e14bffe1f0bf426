//! Matrix products of fragments: both factors are in shared memory, and each subgroup multiplies its rows and columns fragment by fragment. Only the
//! device knows where a fragment's elements are, so sums that are used in other arithmetic go through shared memory, a few fragments at a time.

use super::super::assign_layouts::LayoutId;
use super::super::layout::{Kind, dimensions};
use super::super::product::{Fragments, Product, Stored};
use super::layout_conversion::{FRAGMENTS, beside};
use super::warpgroup::Factor;
use super::{Distributed, Made, Registers, element_of, impossible, lanes, vector};
use crate::rewrite::Rewriter;
use girih_ir::attrs::{MatrixLayout, Precision};
use girih_ir::types::{CoopUse, MatrixShape};
use girih_ir::{Attr, Inst, Op, Scalar, Type, ValueId};

/// Elements between two rows of a fragment in shared memory, beyond their own.
const GAP: u32 = 4;

/// Of shared memory, what fragments that become elements may take: one part in so many.
const SHARE: u32 = 6;

impl Distributed<'_> {
    /// The type of a layout's registers if they are fragments.
    pub(super) fn fragment_type(&self, layout: LayoutId, element: Scalar) -> Option<Type> {
        let sides = self.sides(layout)?;
        Some(fragment(CoopUse::Acc, sides, element))
    }

    /// The side of a layout's fragments and the depth of the products that are added to them, as logarithms.
    fn sides(&self, layout: LayoutId) -> Option<(u8, u8)> {
        let Kind::Fragments(depth) = self.plan.layouts[layout].kind else { return None };
        let shown = &self.plan.layouts[self.plan.shown(layout)];
        // All of an element's bits but those that say which fragment it is in.
        let within = shown.registers.len() - self.plan.layouts[layout].registers.len() + usize::from(self.lanes);
        Some(((within / 2) as u8, depth))
    }

    /// The subgroup's number, with its bits moved to these places.
    fn subgroups_part(&self, r: &mut Rewriter<'_>, places: &[u8]) -> ValueId {
        let id = super::position(r, Op::SubgroupId);
        let mut sum = r.out.u32(0);
        for (bit, place) in places.iter().enumerate() {
            let (down, one, up) = (r.out.u32(bit as u32), r.out.u32(1), r.out.u32((*place).into()));
            let own = r.out.op(Op::Shr, Scalar::U32, &[id, down]);
            let own = r.out.op(Op::And, Scalar::U32, &[own, one]);
            let own = r.out.op(Op::Shl, Scalar::U32, &[own, up]);
            sum = r.out.op(Op::Add, Scalar::U32, &[sum, own]);
        }
        sum
    }

    pub(super) fn by_fragments(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        made: &Product,
        by: Fragments,
    ) -> Made<()> {
        let acc = element_of(r, inst.operands[2]);
        // Beside the factors some fragments of each subgroup become elements.
        let beside = 2 * Self::spaced(by.side) * acc.bytes() * (self.threads >> self.lanes);
        let mut sums = self.registers(r, inst.operands[2], made.sums)?.to_vec();
        self.in_slices(r, inst, made, (beside, by.depth), |s, r, factors, [left, right], depth| {
            s.added(r, inst, (Fragments { left, right, ..by }, made.sums), factors, (&mut sums, depth))
        })?;
        self.hold(r, inst.results[0], made.sums, sums.into())
    }

    /// Adds the product of factors in shared memory to sums.
    fn added(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        (by, sums_layout): (Fragments, LayoutId),
        [left, right]: [Factor; 2],
        (sums, depth): (&mut [ValueId], u8),
    ) -> Made<()> {
        let (factor, acc) = (element_of(r, inst.operands[0]), element_of(r, inst.operands[2]));
        let columns = dimensions(r.old.ty(inst.operands[2]).shape())[1].1;
        let layout = self.plan.layouts[sums_layout].clone();
        // Where the subgroup's rows and columns begin.
        let corner = self.subgroups_part(r, &layout.threads[usize::from(self.lanes)..]);
        let (width, mask) = (r.out.u32(columns.into()), r.out.u32((1 << columns) - 1));
        let first_row = r.out.op(Op::Shr, Scalar::U32, &[corner, width]);
        let first_column = r.out.op(Op::And, Scalar::U32, &[corner, mask]);
        let left_start = self.piece(r, left, by.left, first_row);
        let right_start = self.piece(r, right, by.right, first_column);
        let place =
            |register: usize| (layout.element(register) >> columns, layout.element(register) & ((1 << columns) - 1));
        let mut rows: Vec<u32> = (0..layout.count()).map(|register| place(register).0).collect();
        let mut across: Vec<u32> = (0..layout.count()).map(|register| place(register).1).collect();
        for list in [&mut rows, &mut across] {
            list.sort_unstable();
            list.dedup();
        }
        let sides = (by.side, by.depth);
        let ty = fragment(CoopUse::Acc, sides, acc);
        let attrs: &[Attr] = if by.precision == Precision::Ieee { &[] } else { &[Attr::Precision(by.precision)] };
        for k in (0..1u32 << depth).step_by(1 << by.depth) {
            let a = |s: &Self, r: &mut Rewriter<'_>, row: u32| {
                s.loaded(r, left, (by.left, left_start), (k, row), fragment(CoopUse::A, sides, factor))
            };
            let lefts: Vec<ValueId> = rows.iter().map(|row| a(self, r, *row)).collect();
            let b = |s: &Self, r: &mut Rewriter<'_>, column: u32| {
                s.loaded(r, right, (by.right, right_start), (k, column), fragment(CoopUse::B, sides, factor))
            };
            let rights: Vec<ValueId> = across.iter().map(|column| b(self, r, *column)).collect();
            for (register, sum) in sums.iter_mut().enumerate() {
                let (row, column) = place(register);
                let (Ok(i), Ok(j)) = (rows.binary_search(&row), across.binary_search(&column)) else {
                    return Err(impossible("a fragment of no row or column"));
                };
                let id = r.out.op_with(Op::CoopMma, Some(ty), &[lefts[i], rights[j], *sum], attrs);
                *sum = r.out.function.insts[id].results[0];
            }
        }
        Ok(())
    }

    /// Where the subgroup's part of a factor begins: from this row or column on.
    fn piece(&self, r: &mut Rewriter<'_>, factor: Factor, stored: Stored, from: ValueId) -> ValueId {
        let step = r.out.u32(if stored.by_depth { stored.stride() } else { 1 });
        let at = r.out.op(Op::Mul, Scalar::U32, &[from, step]);
        match factor.start {
            Some(start) => r.out.op(Op::Add, Scalar::U32, &[at, start]),
            None => at,
        }
    }

    /// A factor's fragment at a depth, and so many rows or columns after the subgroup's first.
    fn loaded(
        &self,
        r: &mut Rewriter<'_>,
        factor: Factor,
        (stored, start): (Stored, ValueId),
        (depth, further): (u32, u32),
        ty: Type,
    ) -> ValueId {
        let offset =
            if stored.by_depth { further * stored.stride() + depth } else { depth * stored.stride() + further };
        let stride = r.out.u32(stored.stride());
        // The left factor's rows are not along the depth, the right one's are.
        let is_left = matches!(ty, Type::Coop(CoopUse::A, ..));
        let by_rows = stored.by_depth == is_left;
        let mut attrs = beside(offset as i32);
        attrs.extend((!by_rows).then_some(Attr::Layout(MatrixLayout::Column)));
        let id = r.out.op_with(Op::CoopLoad, Some(ty), &[factor.handle, start, stride], &attrs);
        r.out.function.insts[id].results[0]
    }

    /// Elements that a fragment takes in shared memory.
    fn spaced(side: u8) -> u32 {
        ((1 << side) + GAP) << side
    }

    /// How many fragments of a subgroup become elements at once, of so many.
    fn at_once(&self, count: usize, side: u8, element: Scalar) -> usize {
        let room = self.caps.shared_bytes / SHARE / 2;
        let each = Self::spaced(side) * element.bytes() * (self.threads >> self.lanes);
        let most = (room / each).max(1).next_power_of_two() as usize;
        count.min(if most as u32 * each > room { (most / 2).max(1) } else { most })
    }

    /// The rooms for so many fragments of each subgroup: two in turns, or one where they are large.
    fn fragment_rooms(&self, many: usize, side: u8, element: Scalar) -> usize {
        let bytes = many as u32 * Self::spaced(side) * element.bytes() * (self.threads >> self.lanes);
        if bytes > self.caps.shared_bytes / SHARE { 1 } else { 2 }
    }

    /// A room for so many fragments of each subgroup, where this one's begin, and where the lane's own elements of the first are.
    fn fragment_room(
        &mut self,
        r: &mut Rewriter<'_>,
        room: usize,
        (side, element): (u8, Scalar),
        many: usize,
    ) -> (ValueId, ValueId, ValueId) {
        let subgroups = self.threads >> self.lanes;
        let size = many as u32 * Self::spaced(side);
        let handle = self.room(r, room, element, u64::from(subgroups * size));
        let id = super::position(r, Op::SubgroupId);
        let size = r.out.u32(size);
        let start = r.out.op(Op::Mul, Scalar::U32, &[id, size]);
        // The lane's bits: those of a piece of a row, then those of the row.
        let along = self.lanes - side;
        let (mask, bits) = (r.out.u32((1 << self.lanes) - 1), r.out.u32(along.into()));
        let lane = r.out.op(Op::And, Scalar::U32, &[self.own, mask]);
        let row = r.out.op(Op::Shr, Scalar::U32, &[lane, bits]);
        let (mask, beside) = (r.out.u32((1 << along) - 1), r.out.u32((side - along).into()));
        let piece = r.out.op(Op::And, Scalar::U32, &[lane, mask]);
        let piece = r.out.op(Op::Shl, Scalar::U32, &[piece, beside]);
        let stride = r.out.u32((1 << side) + GAP);
        let row = r.out.op(Op::Mul, Scalar::U32, &[row, stride]);
        let own = r.out.op(Op::Add, Scalar::U32, &[row, piece]);
        let own = r.out.op(Op::Add, Scalar::U32, &[start, own]);
        (handle, start, own)
    }

    /// Lanes of the widest access to the elements of a fragment that an invocation has.
    fn together(&self, side: u8, element: Scalar) -> u32 {
        let most = if self.caps.local_views { 16 / element.bytes() } else { 4 };
        (1u32 << (2 * side - self.lanes)).min(most).min(GAP)
    }

    /// The elements of fragments.
    pub(super) fn elements_of(
        &mut self,
        r: &mut Rewriter<'_>,
        fragments: &Registers,
        layout: LayoutId,
        element: Scalar,
    ) -> Made<Registers> {
        let sides = self.sides(layout).ok_or_else(|| impossible("fragments of no side"))?;
        let side = sides.0;
        let (many, ty) = (self.at_once(fragments.len(), side, element), fragment(CoopUse::Acc, sides, element));
        let (width, each) = (self.together(side, element), 1u32 << (2 * side - self.lanes));
        let mut registers = vec![];
        for (turn, list) in fragments.chunks(many).enumerate() {
            let room = FRAGMENTS[turn % self.fragment_rooms(many, side, element)];
            let (handle, start, own) = self.fragment_room(r, room, (side, element), many);
            let stride = r.out.u32((1 << side) + GAP);
            for (i, value) in list.iter().enumerate() {
                let offset = beside((i as u32 * Self::spaced(side)) as i32);
                r.out.op_with(Op::CoopStore, Some(ty), &[handle, start, *value, stride], &offset);
            }
            self.written(r, &[room]);
            let (index, of) = self.in_vectors(r, own, width, element);
            for i in 0..list.len() as u32 {
                for first in (0..each).step_by(width as usize) {
                    let offset = beside(((i * Self::spaced(side) + first) / width) as i32);
                    let id = r.out.op_with(Op::Load, Some(of), &[handle, index], &offset);
                    let value = r.out.function.insts[id].results[0];
                    registers.extend(lanes(r, element, value, width as usize));
                }
            }
        }
        Ok(registers.into())
    }

    /// Fragments of elements.
    pub(super) fn fragments_of(
        &mut self,
        r: &mut Rewriter<'_>,
        registers: &Registers,
        layout: LayoutId,
        element: Scalar,
    ) -> Made<Registers> {
        let sides = self.sides(layout).ok_or_else(|| impossible("fragments of no side"))?;
        let side = sides.0;
        let (width, each) = (self.together(side, element), 1usize << (2 * side - self.lanes));
        let (many, ty) = (self.at_once(registers.len() / each, side, element), fragment(CoopUse::Acc, sides, element));
        let mut fragments = vec![];
        for (turn, list) in registers.chunks(many * each).enumerate() {
            let room = FRAGMENTS[turn % self.fragment_rooms(many, side, element)];
            let (handle, start, own) = self.fragment_room(r, room, (side, element), many);
            let (index, _) = self.in_vectors(r, own, width, element);
            for (i, values) in list.chunks(width as usize).enumerate() {
                let (fragment, first) = (i * width as usize / each, i * width as usize % each);
                let offset = beside(((fragment as u32 * Self::spaced(side) + first as u32) / width) as i32);
                let (of, value) = vector(r, element, values);
                r.out.op_with(Op::Store, Some(of), &[handle, index, value], &offset);
            }
            self.written(r, &[room]);
            let stride = r.out.u32((1 << side) + GAP);
            for i in 0..list.len() / each {
                let offset = beside((i as u32 * Self::spaced(side)) as i32);
                let id = r.out.op_with(Op::CoopLoad, Some(ty), &[handle, start, stride], &offset);
                fragments.push(r.out.function.insts[id].results[0]);
            }
        }
        Ok(fragments.into())
    }

    /// An index of elements as one of vectors, and their type.
    fn in_vectors(&self, r: &mut Rewriter<'_>, index: ValueId, width: u32, element: Scalar) -> (ValueId, Type) {
        if width == 1 {
            return (index, Type::Scalar(element));
        }
        let log = r.out.u32(width.trailing_zeros());
        (r.out.op(Op::Shr, Scalar::U32, &[index, log]), Type::Vector(element, width as u8))
    }
}

/// The type of a fragment of so many rows and columns, for products of that depth.
fn fragment(usage: CoopUse, (side, depth): (u8, u8), element: Scalar) -> Type {
    let n = 1 << side;
    Type::Coop(usage, MatrixShape { m: n, n, k: 1 << depth }, element)
}
