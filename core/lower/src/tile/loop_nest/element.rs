//! The value of one element, or of four neighbours.
//!
//! Invariant: what is given for four neighbours are the four numbers that would be given for each alone.

use super::super::gather::source;
use super::point::Point;
use super::{Array, LANES, LoopNest, Made, is_lane, tile};
use crate::rewrite::Rewriter;
use crate::spmd::MASK;
use crate::spmd::lanes::{self, Wide};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::groups::{arithmetic, control, effects_and_positions, not_arithmetic};
use girih_ir::{Attr, Builder, Def, Function, Inst, Op, RegionId, Scalar, Type, ValueId};

/// The type of four of these, truth values as a mask.
fn vector_of(element: Scalar) -> Type {
    if element == Scalar::Bool { MASK } else { Type::Vector(element, LANES as u8) }
}

/// A vector of four numbers, or a mask of four truth values.
fn joined(b: &mut Builder, element: Scalar, lanes: &[ValueId]) -> ValueId {
    let lanes: Vec<ValueId> =
        lanes.iter().map(|lane| if element == Scalar::Bool { word(b, *lane) } else { *lane }).collect();
    b.op(Op::Vector, vector_of(element), &lanes)
}

/// All ones for true.
fn word(b: &mut Builder, truth: ValueId) -> ValueId {
    let (ones, zero) = (b.u32(u32::MAX), b.u32(0));
    b.op(Op::Select, Scalar::U32, &[truth, ones, zero])
}

/// One of four numbers or truth values.
pub(super) fn lane_of(b: &mut Builder, element: Scalar, wide: Wide, lane: u32) -> ValueId {
    let Wide::Each(vector) = wide else { return wide.value() };
    let lane = b.u32(lane);
    if element != Scalar::Bool {
        return b.op(Op::Extract, element, &[vector, lane]);
    }
    let (word, zero) = (b.op(Op::Extract, Scalar::U32, &[vector, lane]), b.u32(0));
    b.op(Op::Ne, Scalar::U32, &[word, zero])
}

/// The instruction that gives a value, and as which of its results.
fn origin(f: &Function, value: ValueId) -> Made<(&Inst, usize)> {
    match f.values[value].def {
        Def::Result(id, which) => Ok((&f.insts[id], which as usize)),
        Def::Param(_) | Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => {
            Err(Diagnostic::new(Code::Internal, f.span, "a tile comes from nowhere"))
        }
    }
}

impl LoopNest<'_> {
    /// Where an element is in its array, counted in vectors if four are meant.
    fn place(&self, r: &mut Rewriter<'_>, array: Array, point: &Point) -> ValueId {
        match point.axis {
            Some(_) => point.number_of_four(&mut r.out, array.shape),
            None => point.number(&mut r.out, array.shape),
        }
    }

    /// Writes an element.
    pub(super) fn put(&mut self, r: &mut Rewriter<'_>, array: Array, point: &Point, value: ValueId) {
        let place = self.place(r, array, point);
        let value = if array.element == Scalar::Bool { word(&mut r.out, value) } else { value };
        r.out.store(array.stored(), array.handle, place, value);
    }

    /// Writes four neighbours along the innermost dimension.
    pub(super) fn put_wide(&mut self, r: &mut Rewriter<'_>, array: Array, point: &Point, value: Wide) {
        let place = self.place(r, array, point);
        let value = value.each(&mut r.out);
        r.out.store(vector_of(array.element), array.handle, place, value);
    }

    /// Reads an element.
    pub(super) fn get(&mut self, r: &mut Rewriter<'_>, array: Array, point: &Point) -> ValueId {
        let place = self.place(r, array, point);
        let value = r.out.load(array.stored(), array.handle, place);
        if array.element != Scalar::Bool {
            return value;
        }
        let zero = r.out.u32(0);
        r.out.op(Op::Ne, Scalar::U32, &[value, zero])
    }

    /// Reads four neighbours.
    pub(super) fn get_wide(&mut self, r: &mut Rewriter<'_>, array: Array, point: &Point) -> Wide {
        let Some(axis) = point.axis else { return Wide::Same(self.get(r, array, point)) };
        if array.shape.strides()[axis] == 1 {
            let place = self.place(r, array, point);
            return Wide::Each(r.out.load(vector_of(array.element), array.handle, place));
        }
        let lanes: Vec<ValueId> = point.lanes(r).iter().map(|one| self.get(r, array, one)).collect();
        Wide::Each(joined(&mut r.out, array.element, &lanes))
    }

    fn recall(&self, value: ValueId, point: &Point) -> Option<Wide> {
        let key = (value, point.clone());
        self.known.iter().rev().find_map(|scope| scope.get(&key).copied())
    }

    fn remember(&mut self, value: ValueId, point: &Point, wide: Wide) {
        if let Some(scope) = self.known.last_mut() {
            scope.insert((value, point.clone()), wide);
        }
    }

    /// An element of a tile; a number as it is.
    pub(super) fn single(&mut self, r: &mut Rewriter<'_>, value: ValueId, point: &Point) -> Made<ValueId> {
        if !matches!(r.old.ty(value), Type::Tile(_)) {
            return Ok(r.value(self, value));
        }
        if let Some(Wide::Same(known)) = self.recall(value, point) {
            return Ok(known);
        }
        let made = match self.arrays.get(&value) {
            Some(array) => self.get(r, *array, point),
            None => {
                let old = r.old;
                let (inst, which) = origin(old, value)?;
                self.element(r, inst, which, point)?
            }
        };
        self.remember(value, point, Wide::Same(made));
        Ok(made)
    }

    /// An element of one of an instruction's results.
    pub(super) fn element(&mut self, r: &mut Rewriter<'_>, inst: &Inst, which: usize, point: &Point) -> Made<ValueId> {
        match inst.op {
            Op::TileIota => {
                let element = inst.element();
                Ok(if element == Scalar::U32 { point.at[0] } else { r.out.op(Op::Convert, element, &[point.at[0]]) })
            }
            Op::TileSplat => self.single(r, inst.operands[0], point),
            Op::TileHint => self.single(r, inst.operands[0], point),
            Op::TileBroadcast | Op::TilePermute | Op::TileReshape => {
                let point = point.source(r, inst).ok_or_else(|| lost(r))?;
                self.single(r, inst.operands[0], &point)
            }
            Op::TileJoin => {
                let mut from = point.clone();
                let which = from.at.pop().ok_or_else(|| lost(r))?;
                let mut both = vec![];
                for operand in &inst.operands {
                    both.push(self.single(r, *operand, &from)?);
                }
                let zero = r.out.u32(0);
                let first = r.out.op(Op::Eq, Scalar::U32, &[which, zero]);
                Ok(r.out.op(Op::Select, inst.element(), &[first, both[0], both[1]]))
            }
            Op::TileSplit => {
                let mut from = point.clone();
                from.at.push(r.out.u32(which as u32));
                self.single(r, inst.operands[0], &from)
            }
            Op::TileGather => self.gathered(r, inst, point),
            Op::TileMap => {
                let mut arguments = vec![];
                for operand in &inst.operands {
                    arguments.push(self.single(r, *operand, point)?);
                }
                let values = self.written_out(r, inst.regions[0], &arguments)?;
                for (result, value) in inst.results.iter().zip(&values) {
                    self.remember(*result, point, Wide::Same(*value));
                }
                Ok(values[which])
            }
            Op::TileLoad => self.load_one(r, inst, point),
            arithmetic!() => {
                let mut operands = vec![];
                for operand in &inst.operands {
                    operands.push(self.single(r, *operand, point)?);
                }
                let id = r.out.op_with(inst.op, Some(Type::Scalar(inst.element())), &operands, &inst.attrs);
                Ok(r.out.function.insts[id].results[0])
            }
            not_by_element!() => Err(lost(r)),
        }
    }

    fn gathered(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point) -> Made<ValueId> {
        let array = self.stored(r, inst.operands[0])?;
        let index = self.single(r, inst.operands[1], point)?;
        let to = r.old.ty(inst.operands[1]).shape();
        let number = match to {
            Some(shape) => point.number(&mut r.out, shape),
            None => r.out.u32(0),
        };
        let (place, inside) = source(&mut r.out, inst, (index, number), (Some(array.shape), to));
        let flat = girih_ir::Shape::of(&[array.shape.elements()]).unwrap_or(array.shape);
        let found = self.get(r, Array { shape: flat, ..array }, &Point { at: vec![place], axis: None });
        let nothing = r.out.zero(Type::Scalar(array.element));
        Ok(r.out.op(Op::Select, array.element, &[inside, found, nothing]))
    }

    /// Four neighbours of a tile whose elements vectors have; the number itself if all four are one.
    pub(super) fn wide(&mut self, r: &mut Rewriter<'_>, value: ValueId, point: &Point) -> Made<Wide> {
        if point.axis.is_none() || !matches!(r.old.ty(value), Type::Tile(_)) {
            return Ok(Wide::Same(self.single(r, value, point)?));
        }
        if let Some(known) = self.recall(value, point) {
            return Ok(known);
        }
        let made = match self.arrays.get(&value) {
            Some(array) => self.get_wide(r, *array, point),
            None => self.wide_of(r, value, point)?,
        };
        self.remember(value, point, made);
        Ok(made)
    }

    fn wide_of(&mut self, r: &mut Rewriter<'_>, value: ValueId, point: &Point) -> Made<Wide> {
        let old = r.old;
        let (inst, which) = origin(old, value)?;
        match inst.op {
            Op::TileSplat | Op::TileHint => self.wide(r, inst.operands[0], point),
            Op::TileIota if is_lane(inst.element()) => {
                let (element, first) = (inst.element(), point.at[0]);
                let first = if element == Scalar::U32 { first } else { r.out.op(Op::Convert, element, &[first]) };
                let steps: Vec<ValueId> = (0..LANES).map(|lane| r.out.constant(element, lane)).collect();
                let steps = r.out.op(Op::Vector, vector_of(element), &steps);
                let first = Wide::Same(first).each(&mut r.out);
                Ok(Wide::Each(r.out.op(Op::Add, vector_of(element), &[first, steps])))
            }
            Op::TileBroadcast | Op::TilePermute | Op::TileReshape => match point.source(r, inst) {
                Some(from) => self.wide(r, inst.operands[0], &from),
                None => self.lane_by_lane(r, value, point),
            },
            Op::TileMap => match self.wide_region(r, inst, point)? {
                Some(values) => {
                    for (result, value) in inst.results.iter().zip(&values) {
                        self.remember(*result, point, *value);
                    }
                    Ok(values[which])
                }
                None => self.lane_by_lane(r, value, point),
            },
            Op::TileLoad => self.load_four(r, inst, point),
            Op::TileIota | Op::TileJoin | Op::TileSplit | Op::TileGather => self.lane_by_lane(r, value, point),
            arithmetic!() => self.arithmetic(r, inst, value, point),
            not_by_element!() => Err(lost(r)),
        }
    }

    /// Arithmetic on vectors, as far as they have these elements.
    fn arithmetic(&mut self, r: &mut Rewriter<'_>, inst: &Inst, value: ValueId, point: &Point) -> Made<Wide> {
        let source =
            inst.operands.first().map_or(Type::U32, |v| Type::Scalar(r.old.ty(*v).element().unwrap_or(Scalar::U32)));
        if !inst.operands.iter().all(|v| r.old.ty(*v).element().is_some_and(is_lane)) {
            return self.lane_by_lane(r, value, point);
        }
        let mut operands = vec![];
        for operand in &inst.operands {
            operands.push(self.wide(r, *operand, point)?);
        }
        Ok(computed(&mut r.out, inst, source, &operands))
    }

    /// Four neighbours, one after another.
    fn lane_by_lane(&mut self, r: &mut Rewriter<'_>, value: ValueId, point: &Point) -> Made<Wide> {
        let (element, _) = tile(r, value);
        let mut lanes = vec![];
        for one in point.lanes(r) {
            lanes.push(self.single(r, value, &one)?);
        }
        Ok(Wide::Each(joined(&mut r.out, element, &lanes)))
    }

    /// What a region on elements gives for four neighbours; none if it is more than arithmetic that vectors have.
    fn wide_region(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point) -> Made<Option<Vec<Wide>>> {
        let region = inst.regions[0];
        if !is_straight(r.old, region) {
            return Ok(None);
        }
        let mut arguments = vec![];
        for operand in &inst.operands {
            arguments.push(self.wide(r, *operand, point)?);
        }
        self.straight(r, region, &arguments).map(Some)
    }

    /// A straight region on vectors.
    pub(super) fn straight(&mut self, r: &mut Rewriter<'_>, region: RegionId, arguments: &[Wide]) -> Made<Vec<Wide>> {
        let old = r.old;
        let mut values: std::collections::HashMap<ValueId, Wide> =
            old.regions[region].params.iter().copied().zip(arguments.iter().copied()).collect();
        for id in &old.regions[region].insts {
            let inst = &old.insts[*id];
            let mut operands = vec![];
            for operand in &inst.operands {
                operands.push(match values.get(operand) {
                    Some(wide) => *wide,
                    None => Wide::Same(r.value(self, *operand)),
                });
            }
            if inst.op == Op::Yield {
                return Ok(operands);
            }
            let source = inst.operands.first().map_or(Type::U32, |v| old.ty(*v));
            let made = computed(&mut r.out, inst, source, &operands);
            values.insert(inst.results[0], made);
        }
        Err(lost(r))
    }

    /// A region on elements, written out for these values; gives what it yields.
    pub(super) fn written_out(
        &mut self,
        r: &mut Rewriter<'_>,
        region: RegionId,
        arguments: &[ValueId],
    ) -> Made<Vec<ValueId>> {
        let old = r.old;
        for (param, argument) in old.regions[region].params.iter().zip(arguments) {
            r.set(*param, &[*argument]);
        }
        self.enclosing.push(super::RegionExit::Element);
        let written = r.region(self, region);
        self.enclosing.pop();
        written?;
        Ok(std::mem::take(&mut self.yielded))
    }
}

/// A mistake of this lowering.
fn lost(r: &Rewriter<'_>) -> Diagnostic {
    Diagnostic::new(Code::Internal, r.old.span, "an element's place is not known")
}

/// Whether a region is arithmetic that vectors have.
pub(super) fn is_straight(f: &Function, region: RegionId) -> bool {
    f.regions[region].insts.iter().all(|id| {
        let inst = &f.insts[*id];
        let lanes = inst.operands.iter().chain(&inst.results).all(|v| match f.ty(*v) {
            Type::Scalar(element) => is_lane(element),
            _no_number => false,
        });
        lanes
            && match inst.op {
                Op::Yield => true,
                not_arithmetic!() => false,
                arithmetic!() => true,
            }
    })
}

/// Arithmetic of which some operands may be vectors.
pub(super) fn computed(b: &mut Builder, inst: &Inst, source: Type, operands: &[Wide]) -> Wide {
    if !operands.iter().any(|wide| wide.differs()) {
        let operands: Vec<ValueId> = operands.iter().map(|wide| wide.value()).collect();
        let id = b.op_with(inst.op, Some(Type::Scalar(inst.element())), &operands, &inst.attrs);
        return Wide::Same(b.function.insts[id].results[0]);
    }
    if inst.op == Op::Select && inst.element() == Scalar::Bool && !operands[0].differs() {
        let condition = Wide::Each(operands[0].each(b));
        return Wide::Each(lanes::operation(b, inst, source, &[condition, operands[1], operands[2]]));
    }
    let value = lanes::operation(b, inst, source, operands);
    // What an approximation promises goes with it.
    if let Def::Result(id, _) = b.function.values[value].def
        && b.function.insts[id].op == inst.op
    {
        let attrs: Vec<Attr> = inst.attrs.to_vec();
        attrs.into_iter().for_each(|attr| b.function.insts[id].set(attr));
    }
    Wide::Each(value)
}
