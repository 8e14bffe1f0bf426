//! Loads and stores, of as many elements at once as is known to be correct, and updates of single elements.
//!
//! Elements of a run that is known to be contiguous are reached from the index of its first one by constant distances, so an invocation
//! computes one address for all of them. On devices with 64-bit indices this is correct wherever the run lies. Elsewhere a run is no longer than the power of two of which its
//! start is a multiple, so that no run begins before the buffer and ends in it.

use super::super::assign_layouts::{LayoutId, access_width};
use super::super::layout::dimensions;
use super::super::predication::{access_attrs, atomic_where, both, operation, where_it_holds};
use super::{Distributed, Made, Registers, lanes, vector};
use crate::rewrite::Rewriter;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::attrs::Order;
use girih_ir::{Attr, AttrKind, Builder, Feature, Inst, InstId, Op, Scalar, Type, ValueId};

/// Elements that are accessed at once.
pub(super) struct Group {
    /// Their registers.
    pub registers: Vec<usize>,
    /// The register whose index the address is computed from.
    pub from: usize,
    /// How many elements after it the first of them is.
    pub distance: u32,
}

/// What was loaded for some registers.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    /// The registers.
    pub registers: Vec<usize>,
    values: Vec<ValueId>,
    /// Where this does not hold the fillers count instead.
    inside: Option<ValueId>,
    fillers: Vec<ValueId>,
}

impl Loaded {
    /// What it is.
    pub fn vector(&self, r: &mut Rewriter<'_>) -> (Type, ValueId) {
        let element = r.out.ty(self.values[0]).element().unwrap_or(Scalar::U32);
        let choose = |(value, filler): (&ValueId, &ValueId)| match self.inside {
            Some(inside) => r.out.op(Op::Select, element, &[inside, *value, *filler]),
            None => *value,
        };
        let values: Vec<ValueId> = self.values.iter().zip(&self.fillers).map(choose).collect();
        vector(r, element, &values)
    }
}

/// A load of a group.
struct Access {
    group: Group,
    condition: ValueId,
    ty: Type,
    buffer: ValueId,
    /// Counted in accesses, and the constant beside it.
    index: ValueId,
    offset: i32,
    /// What is there where nothing is loaded.
    fillers: Vec<ValueId>,
    attrs: Vec<Attr>,
}

impl Access {
    fn load(&self, b: &mut Builder) -> ValueId {
        let id = b.op_with(Op::Load, Some(self.ty), &[self.buffer, self.index], &self.attrs);
        b.function.insts[id].results[0]
    }

    fn load_at(&self, b: &mut Builder, index: ValueId) -> ValueId {
        let attrs: Vec<Attr> = self.attrs.iter().filter(|a| a.kind() != AttrKind::Offset).cloned().collect();
        let id = b.op_with(Op::Load, Some(self.ty), &[self.buffer, index], &attrs);
        b.function.insts[id].results[0]
    }

    fn place(&self, b: &mut Builder) -> ValueId {
        let ty = b.ty(self.index);
        let Some(scalar) = ty.element().filter(|_| self.offset != 0) else { return self.index };
        let offset = b.constant(scalar, i64::from(self.offset) as u64 & scalar.mask());
        b.op(Op::Add, ty, &[self.index, offset])
    }

    fn filler(&self, r: &mut Rewriter<'_>) -> ValueId {
        vector(r, self.ty.element().unwrap_or(Scalar::U32), &self.fillers).1
    }
}

/// The type of so many elements.
fn lanes_of(element: Scalar, count: usize) -> Type {
    if count == 1 { Type::Scalar(element) } else { Type::Vector(element, count as u8) }
}

/// The register of a value that may be one for all.
pub(super) fn one_of(registers: &Registers, register: usize) -> ValueId {
    if registers.len() == 1 { registers[0] } else { registers[register] }
}

impl Distributed<'_> {
    /// What is accessed at once, of a tile with these indices under this condition.
    pub(super) fn accesses(
        &self,
        r: &Rewriter<'_>,
        inst: &Inst,
        inside: ValueId,
        layout: LayoutId,
        single: bool,
    ) -> Vec<Group> {
        let index = inst.operands[1];
        let held = &self.plan.layouts[layout];
        let shape = r.old.ty(index).shape();
        let infos = self.plan.axes.infos(r.old, index);
        let masks = r.old.ty(inside).shape().map(|_| self.plan.axes.infos(r.old, inside));
        let bytes = inst.element().bytes();
        let mut best = (0u8, 0u8, 0u8);
        for (d, (first, _)) in dimensions(shape).into_iter().enumerate() {
            let width = access_width(infos[d], masks.as_ref().map(|m| m[d]), bytes, self.caps).min(held.run(first));
            let width = if single { 0 } else { width };
            let near = if self.caps.has(Feature::Index64) {
                infos[d].contiguous
            } else {
                infos[d].contiguous.min(infos[d].divisible)
            };
            if (width, near) > (best.0, best.1) {
                best = (width, near, first);
            }
        }
        let (width, near, first) = best;
        let bits = |count: u8| (first..first + count).filter_map(|bit| held.part_bit(bit)).collect::<Vec<usize>>();
        let (within, apart) = (bits(width), bits(near));
        let mask = |bits: &[usize]| bits.iter().map(|bit| 1usize << bit).sum::<usize>();
        let (inside, far) = (mask(&within), mask(&apart));
        let mut groups = vec![];
        for register in (0..held.count()).filter(|register| register & inside == 0) {
            let lane =
                |i: usize| register + within.iter().enumerate().map(|(k, bit)| (i >> k & 1) << bit).sum::<usize>();
            let distance = held.element(register & far) >> first;
            groups.push(Group { registers: (0..1 << width).map(lane).collect(), from: register & !far, distance });
        }
        groups
    }

    /// The index of an access, counted in accesses, and the constant beside it. A place that is touched fits: only wrong programs have
    /// others.
    pub(super) fn index(&self, r: &mut Rewriter<'_>, value: ValueId, element: Scalar, group: &Group) -> (ValueId, i32) {
        let log = group.registers.len().trailing_zeros();
        let wide = self.caps.has(Feature::Index64) && (element.bits() == 64 || element.is_signed());
        let (own, last) = if wide { (Scalar::I64, Scalar::U64) } else { (Scalar::U32, Scalar::U32) };
        let mut index = if element == own { value } else { r.out.op(Op::Convert, own, &[value]) };
        if log > 0 {
            let log = r.out.constant(own, log.into());
            index = r.out.op(Op::Shr, own, &[index, log]);
        }
        let index = if own == last { index } else { r.out.op(Op::Convert, last, &[index]) };
        (index, (group.distance >> log) as i32)
    }

    pub(super) fn load(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let registers = self.loaded_parts(r, id, inst)?;
        self.give(r, inst, self.plan.access[&id], registers)
    }

    /// What a load gives where a condition holds, in the units in which it goes on to shared memory: numbers, or words where only the matrix unit
    /// looks into them. What is not inside is not zero yet.
    pub(super) fn loaded_units(
        &mut self,
        r: &mut Rewriter<'_>,
        id: InstId,
        condition: ValueId,
        words: bool,
    ) -> Made<Vec<Loaded>> {
        let old = r.old;
        let inst = &old.insts[id];
        let mut accesses = self.accesses_of(r, id, inst)?;
        if words {
            for access in &mut accesses {
                let count = access.fillers.len() as u32 * inst.element().bytes() / 4;
                let zero = r.out.u32(0);
                access.fillers = vec![zero; count as usize];
                access.ty = lanes_of(Scalar::U32, count as usize);
            }
        }
        let mut units = vec![];
        for run in self.runs(&accesses, Some(condition)) {
            let (values, conditions) = self.loaded_run(r, run, Some(condition));
            for (i, (access, value)) in run.iter().zip(values).enumerate() {
                let element = access.ty.element().unwrap_or(Scalar::U32);
                let values = lanes(r, element, value, access.fillers.len());
                let (inside, fillers) = (conditions.get(i).copied(), access.fillers.clone());
                units.push(Loaded { registers: access.group.registers.clone(), values, inside, fillers });
            }
        }
        Ok(units)
    }

    fn loaded_parts(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<Vec<ValueId>> {
        let accesses = self.accesses_of(r, id, inst)?;
        let mut registers = vec![ValueId::new(0); self.plan.layouts[self.plan.access[&id]].count()];
        for run in self.runs(&accesses, None) {
            let (values, conditions) = self.loaded_run(r, run, None);
            for (i, (access, value)) in run.iter().zip(values).enumerate() {
                let values = lanes(r, inst.element(), value, access.fillers.len());
                for ((register, value), filler) in access.group.registers.iter().zip(values).zip(&access.fillers) {
                    registers[*register] = match conditions.get(i) {
                        Some(inside) => r.out.op(Op::Select, inst.element(), &[*inside, value, *filler]),
                        None => value,
                    };
                }
            }
        }
        Ok(registers)
    }

    /// The accesses of a load.
    fn accesses_of(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<Vec<Access>> {
        let layout = self.plan.access[&id];
        let element = inst.element();
        let buffer = r.value(self, inst.operands[0]);
        let indices = self.registers(r, inst.operands[1], layout)?;
        let (inside, other) =
            (self.registers(r, inst.operands[2], layout)?, self.registers(r, inst.operands[3], layout)?);
        let of = r.old.ty(inst.operands[1]).element().unwrap_or(Scalar::U32);
        let mut accesses = vec![];
        for group in self.accesses(r, inst, inst.operands[2], layout, false) {
            let (index, offset) = self.index(r, one_of(&indices, group.from), of, &group);
            let fillers: Vec<ValueId> = group.registers.iter().map(|register| one_of(&other, *register)).collect();
            let mut attrs = access_attrs(inst);
            attrs.extend((offset != 0).then_some(Attr::Offset(offset)));
            let (condition, ty) = (one_of(&inside, group.registers[0]), lanes_of(element, fillers.len()));
            accesses.push(Access { group, condition, ty, buffer, index, offset, fillers, attrs });
        }
        Ok(accesses)
    }

    /// Accesses that are under way together. A card's own compiler takes accesses under conditions together; others wait for one before they begin
    /// the next.
    fn runs<'a>(&self, accesses: &'a [Access], only_where: Option<ValueId>) -> impl Iterator<Item = &'a [Access]> {
        let apart = self.caps.has(Feature::Index64) && only_where.is_none() || self.caps.rolled;
        let joins = !self.caps.has(Feature::Index64);
        accesses.chunk_by(move |a, b| !apart && (joins || a.condition == b.condition))
    }

    /// What a run gives, and the condition of each access if what it gives counts only where that holds.
    fn loaded_run(
        &self,
        r: &mut Rewriter<'_>,
        run: &[Access],
        only_where: Option<ValueId>,
    ) -> (Vec<ValueId>, Vec<ValueId>) {
        if run.iter().all(|access| access.condition == run[0].condition) {
            (self.loaded_if(r, run, only_where), vec![])
        } else {
            self.loaded_near(r, run, only_where)
        }
    }

    /// Accesses under one condition.
    fn loaded_if(&self, r: &mut Rewriter<'_>, run: &[Access], only_where: Option<ValueId>) -> Vec<ValueId> {
        let condition = run[0].condition;
        let always = r.out.function.as_constant(condition) == Some(1);
        let Some(condition) = both(r, (!always).then_some(condition), only_where) else {
            return run.iter().map(|access| access.load(&mut r.out)).collect();
        };
        let fillers: Vec<ValueId> = run.iter().map(|access| access.filler(r)).collect();
        let types: Vec<Type> = run.iter().map(|access| access.ty).collect();
        r.out.if_else(
            condition,
            &types,
            |b| {
                let values: Vec<ValueId> = run.iter().map(|access| access.load(b)).collect();
                b.end(Op::Yield, &values);
            },
            |b| b.end(Op::Yield, &fillers),
        )
    }

    /// Accesses under several conditions. Where one of them holds, those whose own does not read at a place where one does, so that all are under
    /// way at once. Gives the conditions, too.
    fn loaded_near(
        &self,
        r: &mut Rewriter<'_>,
        run: &[Access],
        only_where: Option<ValueId>,
    ) -> (Vec<ValueId>, Vec<ValueId>) {
        let conditions: Vec<ValueId> =
            run.iter().map(|access| both(r, Some(access.condition), only_where).unwrap_or(access.condition)).collect();
        let any = conditions[1..].iter().fold(conditions[0], |any, c| r.out.op(Op::Or, Scalar::Bool, &[any, *c]));
        let fillers: Vec<ValueId> = run.iter().map(|access| access.filler(r)).collect();
        let types: Vec<Type> = run.iter().map(|access| access.ty).collect();
        let loaded = r.out.if_else(
            any,
            &types,
            |b| {
                let places: Vec<ValueId> = run.iter().map(|access| access.place(b)).collect();
                let choose = |b: &mut Builder, condition: ValueId, own: ValueId, other: ValueId| {
                    b.op(Op::Select, b.ty(own), &[condition, own, other])
                };
                let last = places.len() - 1;
                let mut safe = places[last];
                for (place, condition) in places[..last].iter().zip(&conditions).rev() {
                    safe = choose(b, *condition, *place, safe);
                }
                let mut values = vec![];
                for ((access, condition), place) in run.iter().zip(&conditions).zip(&places) {
                    let index = choose(b, *condition, *place, safe);
                    values.push(access.load_at(b, index));
                }
                b.end(Op::Yield, &values);
            },
            |b| b.end(Op::Yield, &fillers),
        );
        (loaded, conditions)
    }

    /// What an operation on a buffer gives. A number on which control flow depends has to be known to be the same for all.
    fn give(&mut self, r: &mut Rewriter<'_>, inst: &Inst, layout: LayoutId, mut registers: Vec<ValueId>) -> Made<()> {
        let result = inst.results[0];
        if r.old.ty(result).shape().is_none() && self.decides_control[result] {
            registers[0] = self.uniform(r, registers[0], inst.element());
        }
        self.hold(r, result, layout, registers.into())
    }

    /// Keeps accesses of a program to one buffer in order, if that can matter.
    fn ordered(&mut self, r: &mut Rewriter<'_>, inst: &Inst) {
        if self.shared_handles.contains(&inst.operands[0]) {
            self.barrier(r, true);
        }
    }

    pub(super) fn store(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let layout = self.plan.access[&id];
        let element = inst.element();
        let buffer = r.value(self, inst.operands[0]);
        let indices = self.registers(r, inst.operands[1], layout)?;
        let (values, inside) =
            (self.registers(r, inst.operands[2], layout)?, self.registers(r, inst.operands[3], layout)?);
        let of = r.old.ty(inst.operands[1]).element().unwrap_or(Scalar::U32);
        self.ordered(r, inst);
        let owner = self.owner(r, layout);
        for group in self.accesses(r, inst, inst.operands[3], layout, false) {
            let (index, offset) = self.index(r, one_of(&indices, group.from), of, &group);
            let condition = one_of(&inside, group.registers[0]);
            let always = r.out.function.as_constant(condition) == Some(1);
            let condition = both(r, owner, (!always).then_some(condition));
            let list: Vec<ValueId> = group.registers.iter().map(|register| one_of(&values, *register)).collect();
            let (ty, value) = vector(r, element, &list);
            let mut attrs = access_attrs(inst);
            attrs.extend((offset != 0).then_some(Attr::Offset(offset)));
            where_it_holds(r, condition, |r| {
                r.out.op_with(Op::Store, Some(ty), &[buffer, index, value], &attrs);
            });
        }
        self.ordered(r, inst);
        Ok(())
    }

    pub(super) fn atomic(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let layout = self.plan.access[&id];
        let element = inst.element();
        let exchange = inst.op == Op::TileCompareExchange;
        let op = if exchange { Op::AtomicCompareExchange } else { operation(inst.update()) };
        if let girih_ir::ops::Suffix::Scalar(made_for) = op.row().suffix
            && !made_for.has(element)
        {
            let message = format!("`{}.{element}` is more than `{}` can do in one step", op.name(), self.caps.name);
            return Err(
                Diagnostic::new(Code::NeedsFeature, inst.span, message).hint("use numbers of 16, 32 or 64 bits")
            );
        }
        let buffer = r.value(self, inst.operands[0]);
        let indices = self.registers(r, inst.operands[1], layout)?;
        let (first, second) =
            (self.registers(r, inst.operands[2], layout)?, self.registers(r, inst.operands[3], layout)?);
        let inside = if exchange { self.registers(r, inst.operands[4], layout)? } else { second.clone() };
        let of = r.old.ty(inst.operands[1]).element().unwrap_or(Scalar::U32);
        let mut attrs: Vec<Attr> =
            inst.attrs.iter().filter(|a| matches!(a.kind(), AttrKind::Order | AttrKind::Scope)).cloned().collect();
        if !self.caps.has(Feature::OrderedAtomics) {
            // Where only the location itself is ordered, a program's barriers are all there is.
            attrs.retain(|a| !matches!(a, Attr::Order(Order::Acquire | Order::Release | Order::AcquireRelease)));
        }
        // Who orders accesses by it means those of all its invocations.
        self.barrier(r, true);
        let owner = self.owner(r, layout);
        let count = self.plan.layouts[layout].count();
        let mut olds = vec![];
        for register in 0..count {
            let condition = both(r, owner, Some(one_of(&inside, register)));
            let group = Group { registers: vec![register], from: register, distance: 0 };
            let (index, _) = self.index(r, one_of(&indices, register), of, &group);
            let mut operands = vec![buffer, index, one_of(&first, register)];
            if exchange {
                operands.push(one_of(&second, register));
            }
            olds.push(atomic_where(&mut r.out, condition, op, element, (&operands, &attrs)));
        }
        self.barrier(r, true);
        let result = inst.results[0];
        let shape = r.old.ty(result).shape();
        if !self.used[result] {
            return self.hold(r, result, layout, olds.into());
        }
        if shape.is_none() {
            olds[0] = self.uniform(r, olds[0], element);
        } else if owner.is_some() {
            // Those who repeat an element have not done it.
            let staged = self.stage(r, (super::layout_conversion::LARGE, false), &olds.into(), layout, element, shape);
            self.written(r, &[super::layout_conversion::LARGE]);
            let registers = self.unstage(r, staged, layout);
            return self.hold(r, result, layout, registers);
        }
        self.hold(r, result, layout, olds.into())
    }
}
