//! Matrix products.
//!
//! In registers: both factors lie in shared memory, each invocation goes through the depth and multiplies what its rows and columns have
//! there.

use super::super::layout::bits_of;
use super::super::product::Unit;
use super::exchange::{LARGE, SECOND, Staged};
use super::{Made, Parts, Spread, element_of, impossible};
use crate::hash::FastMap;
use crate::ir::{Inst, InstId, Op, Scalar, Shape, Type, ValueId};
use crate::lower::rewrite::Rewriter;

/// Sides of a product: how many matrices, rows, columns and depth, as logarithms.
#[derive(Clone, Copy)]
struct Sides {
    rows: u32,
    columns: u32,
    depth: u32,
}

impl Sides {
    fn of(r: &Rewriter<'_>, inst: &Inst) -> Sides {
        let lengths = |i: usize| r.old.ty(inst.operands[i]).shape().map_or(vec![1, 1], Shape::to_vec);
        let (left, right) = (lengths(0), lengths(1));
        let log = |n: u64| n.trailing_zeros();
        let rank = left.len();
        Sides { rows: log(left[rank - 2]), columns: log(right[rank - 1]), depth: log(left[rank - 1]) }
    }
}

fn converted(r: &mut Rewriter<'_>, value: ValueId, from: Scalar, to: Scalar) -> ValueId {
    if from == to { value } else { r.out.op(Op::Convert, to, &[value]) }
}

impl Spread<'_> {
    pub(super) fn product(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let made = self.plan.products[&id].clone();
        match made.by {
            Unit::Registers => self.in_registers(r, inst, &made),
            Unit::Warpgroups(by) => self.by_warpgroups(r, inst, &made, by),
        }
    }

    /// A factor in shared memory, in the type of the sums if there is room.
    fn factor(
        &mut self,
        r: &mut Rewriter<'_>,
        room: usize,
        (value, layout): (ValueId, usize),
        sums: Scalar,
    ) -> Made<Staged> {
        let (parts, element) = (self.parts(r, value, layout)?, element_of(r, value));
        let shape = r.old.ty(value).shape();
        let fits = (1u64 << bits_of(shape)) * u64::from(sums.bytes()) <= u64::from(self.caps.shared_bytes) / 3;
        let to = if fits { sums } else { element };
        let parts: Parts = parts.iter().map(|v| converted(r, *v, element, to)).collect();
        Ok(self.stage(r, (room, room == LARGE), &parts, layout, to, shape))
    }

    fn in_registers(&mut self, r: &mut Rewriter<'_>, inst: &Inst, made: &super::super::product::Product) -> Made<()> {
        let sides = Sides::of(r, inst);
        let of = inst.element();
        // Short floats are summed in `f32`.
        let sums = if of.is_float() && of.bits() < 32 { Scalar::F32 } else { of };
        let left = self.factor(r, LARGE, (inst.operands[0], made.left), sums)?;
        let right = self.factor(r, SECOND, (inst.operands[1], made.right), sums)?;
        self.written(r, &[LARGE, SECOND]);
        let start = self.parts(r, inst.operands[2], made.sums)?;
        let start: Vec<ValueId> = start.iter().map(|v| converted(r, *v, of, sums)).collect();
        let layout = self.plan.layouts[made.sums].clone();
        let base = self.bases[made.sums];
        let made_sums = self.count_up(r, 1 << sides.depth, &start, |s, r, k, so_far| {
            let mut rows: FastMap<u32, ValueId> = FastMap::default();
            let mut columns: FastMap<u32, ValueId> = FastMap::default();
            let mut next = vec![];
            for (part, sum) in so_far.iter().enumerate() {
                let element = layout.element(part);
                let row = element >> sides.columns;
                let column = element & ((1 << sides.columns) - 1) | row >> sides.rows << (sides.rows + sides.columns);
                let x = match rows.get(&row) {
                    Some(x) => *x,
                    None => {
                        let x = s.left_factor(r, left, (base, row), k, sides);
                        let x = converted(r, x, left.element, sums);
                        rows.insert(row, x);
                        x
                    }
                };
                let y = match columns.get(&column) {
                    Some(y) => *y,
                    None => {
                        let y = s.right_factor(r, right, (base, column), k, sides);
                        let y = converted(r, y, right.element, sums);
                        columns.insert(column, y);
                        y
                    }
                };
                next.push(r.out.op(Op::Mad, Type::Scalar(sums), &[x, y, *sum]));
            }
            Ok(next)
        })?;
        let parts: Parts = made_sums.into_iter().map(|v| converted(r, v, sums, of)).collect();
        if parts.len() != layout.count() {
            return Err(impossible("a product of another size"));
        }
        self.hold(r, inst.results[0], made.sums, parts)
    }

    /// Element k of a row of the left factor: of the row that the invocation has, so many further.
    fn left_factor(
        &mut self,
        r: &mut Rewriter<'_>,
        left: Staged,
        (base, further): (ValueId, u32),
        k: ValueId,
        sides: Sides,
    ) -> ValueId {
        let down = r.out.u32(sides.columns);
        let own = r.out.op(Op::Shr, Scalar::U32, &[base, down]);
        let further = r.out.u32(further);
        let row = r.out.op(Op::Add, Scalar::U32, &[own, further]);
        let length = (1 << sides.depth) + left.gap.map_or(0, |(_, gap)| gap);
        let length = r.out.u32(length);
        let start = r.out.op(Op::Mul, Scalar::U32, &[row, length]);
        let at = r.out.op(Op::Add, Scalar::U32, &[start, k]);
        self.fetch(r, left.handle, left.element, at)
    }

    /// Element k of a column of the right factor.
    fn right_factor(
        &mut self,
        r: &mut Rewriter<'_>,
        right: Staged,
        (base, further): (ValueId, u32),
        k: ValueId,
        sides: Sides,
    ) -> ValueId {
        let across = (1u32 << sides.columns) - 1;
        let mask = r.out.u32(across);
        let own = r.out.op(Op::And, Scalar::U32, &[base, mask]);
        let within = r.out.u32(further & across);
        let column = r.out.op(Op::Add, Scalar::U32, &[own, within]);
        // Which matrix: what the invocation says, and what the part says.
        let above = r.out.u32(sides.columns + sides.rows);
        let matrix = r.out.op(Op::Shr, Scalar::U32, &[base, above]);
        let part = r.out.u32(further >> (sides.columns + sides.rows));
        let matrix = r.out.op(Op::Add, Scalar::U32, &[matrix, part]);
        let size = r.out.u32(sides.depth + sides.columns);
        let start = r.out.op(Op::Shl, Scalar::U32, &[matrix, size]);
        let width = r.out.u32(sides.columns);
        let down = r.out.op(Op::Shl, Scalar::U32, &[k, width]);
        let place = r.out.op(Op::Add, Scalar::U32, &[start, down]);
        let at = r.out.op(Op::Add, Scalar::U32, &[place, column]);
        self.fetch(r, right.handle, right.element, at)
    }
}
