//! Matrix products.
//!
//! In registers: both factors lie in shared memory, each invocation goes through the depth and multiplies what its rows and columns have
//! there. Rectangles of matrices take several steps of the depth at once, so that what is read for them is read by wide accesses.

use super::super::assign_layouts::LayoutId;
use super::super::counted_loop::count_up;
use super::super::layout::bits_of;
use super::super::product::{Product, Stored, Unit};
use super::control::end_of;
use super::layout_conversion::{LARGE, SECOND, Staged, beside};
use super::warpgroup::Factor;
use super::{Distributed, Made, Registers, element_of, impossible, lanes};
use crate::rewrite::Rewriter;
use girih_base::hash::FastMap;
use girih_ir::{Inst, InstId, Op, Scalar, Shape, Type, ValueId};

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

/// Steps of the depth that are taken at once.
const STEP: u32 = 4;

/// What an invocation takes of a factor: its own row or column, and those at some places after it.
struct Strip {
    factor: Factor,
    stored: Stored,
    own: ValueId,
    places: Vec<u32>,
    /// How many of the places follow each other, as a logarithm.
    beside: u8,
}

fn converted(r: &mut Rewriter<'_>, value: ValueId, from: Scalar, to: Scalar) -> ValueId {
    if from == to { value } else { r.out.op(Op::Convert, to, &[value]) }
}

impl Distributed<'_> {
    pub(super) fn product(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let made = self.plan.products[&id].clone();
        match made.by {
            Unit::Registers => self.in_registers(r, inst, &made),
            Unit::Rectangles(_) => self.in_rectangles(r, inst, &made),
            Unit::Warpgroups(by) => self.by_warpgroups(r, inst, &made, by),
            Unit::Fragments(by) => self.by_fragments(r, inst, &made, by),
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
        let (registers, element) = (self.registers(r, value, layout)?, element_of(r, value));
        let shape = r.old.ty(value).shape();
        let fits = (1u64 << bits_of(shape)) * u64::from(sums.bytes()) <= u64::from(self.caps.shared_bytes) / 3;
        let to = if fits { sums } else { element };
        let registers: Registers = registers.iter().map(|v| converted(r, *v, element, to)).collect();
        Ok(self.stage(r, (room, room == LARGE), &registers, layout, to, shape))
    }

    fn in_registers(&mut self, r: &mut Rewriter<'_>, inst: &Inst, made: &Product) -> Made<()> {
        let sides = Sides::of(r, inst);
        let of = inst.element();
        // Short floats are summed in `f32`.
        let sums = if of.is_float() && of.bits() < 32 { Scalar::F32 } else { of };
        let left = self.factor(r, LARGE, (inst.operands[0], made.left), sums)?;
        let right = self.factor(r, SECOND, (inst.operands[1], made.right), sums)?;
        self.written(r, &[LARGE, SECOND]);
        let start = self.registers(r, inst.operands[2], made.sums)?;
        let start: Vec<ValueId> = start.iter().map(|v| converted(r, *v, of, sums)).collect();
        let layout = self.plan.layouts[made.sums].clone();
        let base = self.bases[made.sums];
        let caps = self.caps;
        let end = |r: &mut Rewriter<'_>| end_of(caps, r, 1 << sides.depth);
        let made_sums = count_up(r, 0, end, &start, |r, k, so_far| {
            let mut rows: FastMap<u32, ValueId> = FastMap::default();
            let mut columns: FastMap<u32, ValueId> = FastMap::default();
            let mut next = vec![];
            for (register, sum) in so_far.iter().enumerate() {
                let element = layout.element(register);
                let row = element >> sides.columns;
                let column = element & ((1 << sides.columns) - 1) | row >> sides.rows << (sides.rows + sides.columns);
                let x = match rows.get(&row) {
                    Some(x) => *x,
                    None => {
                        let x = self.left_factor(r, left, (base, row), k, sides);
                        let x = converted(r, x, left.element, sums);
                        rows.insert(row, x);
                        x
                    }
                };
                let y = match columns.get(&column) {
                    Some(y) => *y,
                    None => {
                        let y = self.right_factor(r, right, (base, column), k, sides);
                        let y = converted(r, y, right.element, sums);
                        columns.insert(column, y);
                        y
                    }
                };
                next.push(r.out.op(Op::Mad, Type::Scalar(sums), &[x, y, *sum]));
            }
            Ok(next)
        })?;
        let registers: Registers = made_sums.into_iter().map(|v| converted(r, v, sums, of)).collect();
        if registers.len() != layout.count() {
            return Err(impossible("a product of another size"));
        }
        self.hold(r, inst.results[0], made.sums, registers)
    }

    fn in_rectangles(&mut self, r: &mut Rewriter<'_>, inst: &Inst, made: &Product) -> Made<()> {
        let of = inst.element();
        let sums = if of.is_float() && of.bits() < 32 { Scalar::F32 } else { of };
        let start = self.registers(r, inst.operands[2], made.sums)?;
        let mut list: Vec<ValueId> = start.iter().map(|v| converted(r, *v, of, sums)).collect();
        let least = STEP.trailing_zeros() as u8;
        self.in_slices(r, inst, made, (0, least), |s, r, factors, stored, depth| {
            list = s.added_rectangles(r, inst, made.sums, (factors, stored), (&list, depth))?;
            Ok(())
        })?;
        let registers: Registers = list.into_iter().map(|v| converted(r, v, sums, of)).collect();
        self.hold(r, inst.results[0], made.sums, registers)
    }

    /// Sums with the product of factors in shared memory added to them.
    fn added_rectangles(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        sums_layout: LayoutId,
        (factors, stored): ([Factor; 2], [Stored; 2]),
        (list, depth): (&[ValueId], u8),
    ) -> Made<Vec<ValueId>> {
        let sides = Sides::of(r, inst);
        let element = element_of(r, inst.operands[0]);
        let sums = list.first().and_then(|v| r.out.ty(*v).element()).unwrap_or(Scalar::F32);
        let layout = self.plan.layouts[sums_layout].clone();
        let base = self.bases[sums_layout];
        let across = (1 << sides.columns) - 1;
        let (width, mask) = (r.out.u32(sides.columns), r.out.u32(across));
        let own_row = r.out.op(Op::Shr, Scalar::U32, &[base, width]);
        let own_column = r.out.op(Op::And, Scalar::U32, &[base, mask]);
        let of_part = |register: usize| (layout.element(register) >> sides.columns, layout.element(register) & across);
        let distinct = |which: fn((u32, u32)) -> u32| {
            let mut list: Vec<u32> = (0..layout.count()).map(|register| which(of_part(register))).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        let strip = |i: usize, own: ValueId, places: Vec<u32>, first: u32| {
            let beside = layout.run(first as u8);
            Strip { factor: factors[i], stored: stored[i], own, places, beside }
        };
        let rows = strip(0, own_row, distinct(|(row, _)| row), sides.columns);
        let columns = strip(1, own_column, distinct(|(_, column)| column), 0);
        let caps = self.caps;
        let end = |r: &mut Rewriter<'_>| end_of(caps, r, (1 << depth) / STEP);
        count_up(r, 0, end, list, |r, step, so_far| {
            let x = self.strip(r, &rows, step, (element, sums));
            let y = self.strip(r, &columns, step, (element, sums));
            let mut next = so_far.to_vec();
            for k in 0..STEP {
                for (register, sum) in next.iter_mut().enumerate() {
                    let (row, column) = of_part(register);
                    let operands = [x[&(k, row)], y[&(k, column)], *sum];
                    *sum = r.out.op(Op::Mad, Type::Scalar(sums), &operands);
                }
            }
            Ok(next)
        })
    }

    /// What a strip has for some steps of the depth, by the step and the place.
    fn strip(
        &self,
        r: &mut Rewriter<'_>,
        strip: &Strip,
        step: ValueId,
        (element, sums): (Scalar, Scalar),
    ) -> FastMap<(u32, u32), ValueId> {
        let stored = strip.stored;
        let (stride, one) = (r.out.u32(stored.stride()), r.out.u32(1));
        let deep = r.out.u32(STEP);
        let deep = r.out.op(Op::Mul, Scalar::U32, &[step, deep]);
        let (by_own, by_depth) = if stored.by_depth { (stride, one) } else { (one, stride) };
        let own = r.out.op(Op::Mul, Scalar::U32, &[strip.own, by_own]);
        let deep = r.out.op(Op::Mul, Scalar::U32, &[deep, by_depth]);
        let mut index = r.out.op(Op::Add, Scalar::U32, &[own, deep]);
        if let Some(start) = strip.factor.start {
            index = r.out.op(Op::Add, Scalar::U32, &[index, start]);
        }
        // As many at once as lie beside each other, aligned.
        let most = (16 / element.bytes()).min(4);
        let together = if stored.by_depth { STEP } else { 1 << strip.beside }.min(most);
        let log = r.out.u32(together.trailing_zeros());
        let index = r.out.op(Op::Shr, Scalar::U32, &[index, log]);
        let of = if together == 1 { Type::Scalar(element) } else { Type::Vector(element, together as u8) };
        let mut found = FastMap::default();
        let mut all: Vec<(u32, u32)> = (0..STEP).flat_map(|k| strip.places.iter().map(move |p| (k, *p))).collect();
        let along = |(k, place): (u32, u32)| if stored.by_depth { k } else { place };
        all.retain(|at| along(*at) % together == 0);
        for (k, place) in all {
            let offset = if stored.by_depth { place * stored.stride() + k } else { k * stored.stride() + place };
            let offset = beside((offset / together) as i32);
            let id = r.out.op_with(Op::Load, Some(of), &[strip.factor.handle, index], &offset);
            let value = r.out.function.insts[id].results[0];
            for (i, value) in lanes(r, element, value, together as usize).into_iter().enumerate() {
                let i = i as u32;
                let at = if stored.by_depth { (k + i, place) } else { (k, place + i) };
                found.insert(at, converted(r, value, element, sums));
            }
        }
        found
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
        // Which matrix: what the invocation says, and what the register says.
        let above = r.out.u32(sides.columns + sides.rows);
        let matrix = r.out.op(Op::Shr, Scalar::U32, &[base, above]);
        let register = r.out.u32(further >> (sides.columns + sides.rows));
        let matrix = r.out.op(Op::Add, Scalar::U32, &[matrix, register]);
        let size = r.out.u32(sides.depth + sides.columns);
        let start = r.out.op(Op::Shl, Scalar::U32, &[matrix, size]);
        let width = r.out.u32(sides.columns);
        let down = r.out.op(Op::Shl, Scalar::U32, &[k, width]);
        let place = r.out.op(Op::Add, Scalar::U32, &[start, down]);
        let at = r.out.op(Op::Add, Scalar::U32, &[place, column]);
        self.fetch(r, right.handle, right.element, at)
    }
}
