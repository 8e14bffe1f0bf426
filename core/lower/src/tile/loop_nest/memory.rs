//! Loads, stores, atomic operations.
//!
//! Four neighbours are accessed at once if their indices are known to be consecutive and one condition holds for all of
//! them. If the condition differs, a test looks whether it holds for all four. If the first index is not known to be a multiple of four, as an access to a
//! vector asks for, the four accesses stand side by side; the code generator makes them one.

use super::super::predication::{access_attrs, atomic_where, operation, where_it_holds};
use super::element::lane_of;
use super::point::{Point, vector_axis};
use super::{Array, LANES, LoopNest, Made, is_lane};
use crate::rewrite::Rewriter;
use crate::spmd::MASK;
use crate::spmd::lanes::{Wide, any};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::attrs::Order;
use girih_ir::ops::Suffix;
use girih_ir::{Attr, AttrKind, Feature, Inst, Op, Scalar, Type, ValueId};
use girih_runtime::assertion;

/// The logarithm of a vector's lanes.
const LOG: u8 = LANES.trailing_zeros() as u8;

/// How four indices follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// One by one, the first a multiple of four: an access to a vector.
    Vector,
    /// One by one, from any index on.
    Neighbours,
    /// All are one.
    Equal,
    /// In no order that is known.
    Apart,
}

/// The condition of an access by four.
#[derive(Clone, Copy)]
enum Inside {
    /// One for all.
    Same(ValueId),
    /// A mask.
    Each(ValueId),
}

impl LoopNest<'_> {
    /// An index as memory takes it. A place that is touched fits: only wrong programs have others.
    fn index(&self, r: &mut Rewriter<'_>, value: ValueId) -> ValueId {
        let element = r.out.ty(value).element().unwrap_or(Scalar::U32);
        let to = if element.bits() == 64 && self.caps.has(Feature::Index64) { Scalar::U64 } else { Scalar::U32 };
        if element == to { value } else { r.out.op(Op::Convert, to, &[value]) }
    }

    /// Loads an element where a condition holds.
    pub(super) fn load_one(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point) -> Made<ValueId> {
        self.pending.retain(|(load, _)| *load != inst.results[0]);
        let buffer = r.value(self, inst.operands[0]);
        let index = self.single(r, inst.operands[1], point)?;
        let inside = self.single(r, inst.operands[2], point)?;
        let filler = self.single(r, inst.operands[3], point)?;
        let index = self.index(r, index);
        Ok(guarded_load(r, inst, Type::Scalar(inst.element()), (buffer, index), inside, filler))
    }

    /// Whether four values along an axis are equal.
    fn is_constant(&self, r: &Rewriter<'_>, value: ValueId, axis: usize) -> bool {
        !matches!(r.old.ty(value), Type::Tile(_)) || self.axes.infos(r.old, value)[axis].constancy >= LOG
    }

    /// How an access's four indices along an axis follow each other.
    fn run(&self, r: &Rewriter<'_>, inst: &Inst, axis: usize) -> Run {
        let index = inst.operands[1];
        if self.is_constant(r, index, axis) {
            return Run::Equal;
        }
        let info = self.axes.infos(r.old, index)[axis];
        match info.contiguous >= LOG {
            true if info.divisible_at(LOG) >= LOG && is_for_vectors(r, inst) => Run::Vector,
            true => Run::Neighbours,
            false => Run::Apart,
        }
    }

    /// The condition of an access to four neighbours.
    fn inside(&mut self, r: &mut Rewriter<'_>, value: ValueId, point: &Point, axis: usize) -> Made<Inside> {
        if self.is_constant(r, value, axis) {
            let first = point.lane(&mut r.out, 0);
            return Ok(Inside::Same(self.single(r, value, &first)?));
        }
        Ok(match self.wide(r, value, point)? {
            Wide::Same(condition) => Inside::Same(condition),
            Wide::Each(mask) => Inside::Each(mask),
        })
    }

    /// Loads four neighbours.
    pub(super) fn load_four(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point) -> Made<Wide> {
        self.pending.retain(|(load, _)| *load != inst.results[0]);
        let element = inst.element();
        let Some(axis) = point.axis else { return Ok(Wide::Same(self.load_one(r, inst, point)?)) };
        let buffer = r.value(self, inst.operands[0]);
        let (index, inside, other) = (inst.operands[1], inst.operands[2], inst.operands[3]);
        let run = self.run(r, inst, axis);
        let inside = self.inside(r, inside, point, axis)?;
        let other = self.wide(r, other, point)?;
        let first = point.lane(&mut r.out, 0);
        if let (Run::Equal, Inside::Same(inside), Wide::Same(other)) = (run, inside, other) {
            let index = self.single(r, index, &first)?;
            let index = self.index(r, index);
            return Ok(Wide::Same(guarded_load(r, inst, Type::Scalar(element), (buffer, index), inside, other)));
        }
        let filler = other.each(&mut r.out);
        let vector = Type::Vector(element, LANES as u8);
        if matches!(run, Run::Equal | Run::Apart) {
            return self.load_apart(r, inst, point, inside, filler).map(Wide::Each);
        }
        let start = self.single(r, index, &first)?;
        let start = self.index(r, start);
        match inside {
            Inside::Same(inside) => {
                let then = |r: &mut Rewriter<'_>| load_all(r, inst, run, (buffer, start));
                Ok(Wide::Each(if_holds(r, inside, vector, then, filler)))
            }
            Inside::Each(mask) => {
                let all = holds_for_all(r, mask);
                let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
                let outer = std::mem::replace(&mut r.out.region, then);
                let value = load_all(r, inst, run, (buffer, start));
                r.out.end(Op::Yield, &[value]);
                r.out.region = otherwise;
                let apart = self.scoped(|nest| nest.load_apart(r, inst, point, Inside::Each(mask), filler));
                if let Ok(apart) = apart {
                    r.out.end(Op::Yield, &[apart]);
                }
                r.out.region = outer;
                apart?;
                let mut branch = Inst::new(Op::If, None, &[all], inst.span);
                branch.regions.extend([then, otherwise]);
                let id = r.out.push(branch, &[vector]);
                Ok(Wide::Each(r.out.function.insts[id].results[0]))
            }
        }
    }

    /// The indices of four neighbours.
    fn indices(&mut self, r: &mut Rewriter<'_>, value: ValueId, point: &Point) -> Made<Vec<ValueId>> {
        let element = r.old.ty(value).element().unwrap_or(Scalar::U32);
        let mut indices = vec![];
        if is_lane(element) {
            let wide = self.wide(r, value, point)?;
            indices.extend((0..LANES as u32).map(|lane| lane_of(&mut r.out, element, wide, lane)));
        } else {
            for one in point.lanes(r) {
                indices.push(self.single(r, value, &one)?);
            }
        }
        Ok(indices.into_iter().map(|index| self.index(r, index)).collect())
    }

    /// Loads four elements one by one.
    fn load_apart(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        point: &Point,
        inside: Inside,
        filler: ValueId,
    ) -> Made<ValueId> {
        let element = inst.element();
        let buffer = r.value(self, inst.operands[0]);
        let indices = self.indices(r, inst.operands[1], point)?;
        let mut lanes = vec![];
        for (lane, index) in (0..).zip(indices) {
            let condition = condition(r, inside, lane);
            let filler = lane_of(&mut r.out, element, Wide::Each(filler), lane);
            lanes.push(guarded_load(r, inst, Type::Scalar(element), (buffer, index), condition, filler));
        }
        Ok(r.out.op(Op::Vector, Type::Vector(element, LANES as u8), &lanes))
    }

    /// `tile.store`.
    pub(super) fn store(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        // What is loaded from there is loaded before.
        self.settle(r, Some(inst.operands[0]))?;
        let Some(shape) = inst.ty.and_then(Type::shape) else {
            return self.each_element(r, None, &mut |nest, r, point| nest.store_one(r, inst, point));
        };
        if vector_axis(shape).is_none() || !is_lane(inst.element()) {
            return self.each_element(r, Some(shape), &mut |nest, r, point| nest.store_one(r, inst, point));
        }
        self.each_chunk(r, shape, &mut |nest, r, point| nest.store_four(r, inst, point))
    }

    fn store_one(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point) -> Made<()> {
        let buffer = r.value(self, inst.operands[0]);
        let index = self.single(r, inst.operands[1], point)?;
        let value = self.single(r, inst.operands[2], point)?;
        let inside = self.single(r, inst.operands[3], point)?;
        let index = self.index(r, index);
        guarded_store(r, inst, Type::Scalar(inst.element()), (buffer, index, value), inside);
        Ok(())
    }

    fn store_four(&mut self, r: &mut Rewriter<'_>, inst: &Inst, point: &Point) -> Made<()> {
        let Some(axis) = point.axis else { return self.store_one(r, inst, point) };
        let buffer = r.value(self, inst.operands[0]);
        let run = self.run(r, inst, axis);
        let value = self.wide(r, inst.operands[2], point)?;
        let inside = self.inside(r, inst.operands[3], point, axis)?;
        if matches!(run, Run::Equal | Run::Apart) {
            return self.store_apart(r, inst, point, value, inside);
        }
        let first = point.lane(&mut r.out, 0);
        let start = self.single(r, inst.operands[1], &first)?;
        let start = self.index(r, start);
        let each = value.each(&mut r.out);
        let mask = match inside {
            Inside::Same(inside) => {
                where_it_holds(r, Some(inside), |r| store_all(r, inst, run, (buffer, start, each)));
                return Ok(());
            }
            Inside::Each(mask) => mask,
        };
        let all = holds_for_all(r, mask);
        let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
        let outer = std::mem::replace(&mut r.out.region, then);
        store_all(r, inst, run, (buffer, start, each));
        r.out.end(Op::Yield, &[]);
        r.out.region = otherwise;
        let apart = self.scoped(|nest| nest.store_apart(r, inst, point, value, Inside::Each(mask)));
        r.out.end(Op::Yield, &[]);
        r.out.region = outer;
        let mut branch = Inst::new(Op::If, None, &[all], inst.span);
        branch.regions.extend([then, otherwise]);
        r.out.push(branch, &[]);
        apart
    }

    fn store_apart(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        point: &Point,
        value: Wide,
        inside: Inside,
    ) -> Made<()> {
        let element = inst.element();
        let buffer = r.value(self, inst.operands[0]);
        let indices = self.indices(r, inst.operands[1], point)?;
        for (lane, index) in (0..).zip(indices) {
            let condition = condition(r, inside, lane);
            let value = lane_of(&mut r.out, element, value, lane);
            guarded_store(r, inst, Type::Scalar(element), (buffer, index, value), condition);
        }
        Ok(())
    }

    /// `tile.atomic` and `tile.compare_exchange`, element by element.
    pub(super) fn atomic(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let element = inst.element();
        let exchange = inst.op == Op::TileCompareExchange;
        let op = if exchange { Op::AtomicCompareExchange } else { operation(inst.update()) };
        let Suffix::Scalar(made_for) = op.row().suffix else { return Ok(()) };
        if !made_for.has(element) {
            let message = format!("`{}.{element}` is more than `{}` can do in one step", op.name(), self.caps.name);
            return Err(
                Diagnostic::new(Code::NeedsFeature, inst.span, message).hint("use numbers of 16, 32 or 64 bits")
            );
        }
        self.settle(r, None)?;
        let mut attrs: Vec<Attr> =
            inst.attrs.iter().filter(|a| matches!(a.kind(), AttrKind::Order | AttrKind::Scope)).cloned().collect();
        if !self.caps.has(Feature::OrderedAtomics) {
            attrs.retain(|a| !matches!(a, Attr::Order(Order::Acquire | Order::Release | Order::AcquireRelease)));
        }
        let shape = inst.ty.and_then(Type::shape);
        let olds: Option<Array> = shape.map(|shape| self.array(r, element, shape));
        let mut old = None;
        self.each_element(r, shape, &mut |nest, r, point| {
            let buffer = r.value(nest, inst.operands[0]);
            let mut operands = vec![buffer];
            let index = nest.single(r, inst.operands[1], point)?;
            operands.push(nest.index(r, index));
            operands.push(nest.single(r, inst.operands[2], point)?);
            if exchange {
                operands.push(nest.single(r, inst.operands[3], point)?);
            }
            let inside = nest.single(r, inst.operands[if exchange { 4 } else { 3 }], point)?;
            let value = atomic_where(&mut r.out, Some(inside), op, element, (&operands, &attrs));
            match olds {
                Some(array) => nest.put(r, array, point, value),
                None => old = Some(value),
            }
            Ok(())
        })?;
        match (olds, old) {
            (Some(array), _) => drop(self.arrays.insert(inst.results[0], array)),
            (None, Some(old)) => r.set(inst.results[0], &[old]),
            (None, None) => {}
        }
        Ok(())
    }

    /// `tile.assert`.
    pub(super) fn assertion(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let (shape, code) = (r.old.ty(inst.operands[0]).shape(), assertion(&inst.text()));
        self.each_element(r, shape, &mut |nest, r, point| {
            let holds = nest.single(r, inst.operands[0], point)?;
            let fails = r.out.op(Op::Not, Scalar::Bool, &[holds]);
            r.out.op_with(Op::TrapIf, None, &[fails], &[Attr::Code(code)]);
            Ok(())
        })
    }
}

/// Whether nothing is said against vectors in an access's buffer: one may begin at any element.
fn is_for_vectors(r: &Rewriter<'_>, inst: &Inst) -> bool {
    let promised = r.old.param_attrs(inst.operands[0]).align;
    promised == 0 || u64::from(promised) >= LANES * u64::from(inst.element().bytes())
}

/// An index counted in vectors.
fn quarter(r: &mut Rewriter<'_>, index: ValueId) -> ValueId {
    let element = r.out.ty(index).element().unwrap_or(Scalar::U32);
    let two = r.out.constant(element, LOG.into());
    r.out.op(Op::Shr, element, &[index, two])
}

fn holds_for_all(r: &mut Rewriter<'_>, mask: ValueId) -> ValueId {
    let fails = r.out.op(Op::Not, MASK, &[mask]);
    let some = any(&mut r.out, fails);
    r.out.op(Op::Not, Scalar::Bool, &[some])
}

fn condition(r: &mut Rewriter<'_>, inside: Inside, lane: u32) -> ValueId {
    match inside {
        Inside::Same(condition) => condition,
        Inside::Each(mask) => lane_of(&mut r.out, Scalar::Bool, Wide::Each(mask), lane),
    }
}

/// Loads a number or a vector.
fn plain_load(r: &mut Rewriter<'_>, inst: &Inst, ty: Type, (buffer, index): (ValueId, ValueId)) -> ValueId {
    let id = r.out.op_with(Op::Load, Some(ty), &[buffer, index], &access_attrs(inst));
    r.out.function.insts[id].results[0]
}

/// Loads four elements from an index on.
fn load_all(r: &mut Rewriter<'_>, inst: &Inst, run: Run, (buffer, start): (ValueId, ValueId)) -> ValueId {
    let vector = Type::Vector(inst.element(), LANES as u8);
    if run == Run::Vector {
        let whole = quarter(r, start);
        return plain_load(r, inst, vector, (buffer, whole));
    }
    let mut lanes = vec![];
    for lane in 0..LANES {
        let index = further(r, start, lane);
        lanes.push(plain_load(r, inst, Type::Scalar(inst.element()), (buffer, index)));
    }
    r.out.op(Op::Vector, vector, &lanes)
}

/// Stores four elements from an index on.
fn store_all(r: &mut Rewriter<'_>, inst: &Inst, run: Run, (buffer, start, each): (ValueId, ValueId, ValueId)) {
    let element = inst.element();
    let hints = access_attrs(inst);
    if run == Run::Vector {
        let whole = quarter(r, start);
        let vector = Type::Vector(element, LANES as u8);
        r.out.op_with(Op::Store, Some(vector), &[buffer, whole, each], &hints);
        return;
    }
    for lane in 0..LANES {
        let index = further(r, start, lane);
        let value = lane_of(&mut r.out, element, Wide::Each(each), lane as u32);
        r.out.op_with(Op::Store, Some(Type::Scalar(element)), &[buffer, index, value], &hints);
    }
}

/// An index so many elements behind another one.
fn further(r: &mut Rewriter<'_>, index: ValueId, distance: u64) -> ValueId {
    if distance == 0 {
        return index;
    }
    let element = r.out.ty(index).element().unwrap_or(Scalar::U32);
    let distance = r.out.constant(element, distance);
    r.out.op(Op::Add, element, &[index, distance])
}

/// What is computed if a condition holds, otherwise another value.
fn if_holds(
    r: &mut Rewriter<'_>,
    condition: ValueId,
    ty: Type,
    then: impl FnOnce(&mut Rewriter<'_>) -> ValueId,
    otherwise: ValueId,
) -> ValueId {
    let (yes, no) = (r.out.new_region(&[]), r.out.new_region(&[]));
    let outer = std::mem::replace(&mut r.out.region, yes);
    let value = then(r);
    r.out.end(Op::Yield, &[value]);
    r.out.region = no;
    r.out.end(Op::Yield, &[otherwise]);
    r.out.region = outer;
    let mut branch = Inst::new(Op::If, None, &[condition], r.out.span);
    branch.regions.extend([yes, no]);
    let id = r.out.push(branch, &[ty]);
    r.out.function.insts[id].results[0]
}

fn guarded_load(
    r: &mut Rewriter<'_>,
    inst: &Inst,
    ty: Type,
    place: (ValueId, ValueId),
    inside: ValueId,
    filler: ValueId,
) -> ValueId {
    if_holds(r, inside, ty, |r| plain_load(r, inst, ty, place), filler)
}

fn guarded_store(
    r: &mut Rewriter<'_>,
    inst: &Inst,
    ty: Type,
    (buffer, index, value): (ValueId, ValueId, ValueId),
    inside: ValueId,
) {
    let hints = access_attrs(inst);
    where_it_holds(r, Some(inside), |r| {
        r.out.op_with(Op::Store, Some(ty), &[buffer, index, value], &hints);
    });
}
