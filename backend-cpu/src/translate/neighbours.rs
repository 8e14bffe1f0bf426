//! Accesses to neighbours that are one access: elements that are loaded one by one and put together as a vector, and lanes of a vector that are
//! stored one by one. So a vector may begin at any element, while the IR's own accesses to vectors begin at multiples of their length.
//!
//! Invariant: between the accesses that become one nothing else writes memory, waits or branches, and no other instruction uses what they load.

use super::memory::Extent;
use super::{Form, Result, Translator, not_legal, types};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::I64};
use girih_base::hash::{FastMap, FastSet};
use girih_ir::{AttrKind, Def, Function, Inst, InstId, Op, RegionId, Type, ValueId};

/// Which accesses of a function become one.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// Instructions that another one stands for.
    absorbed: FastSet<InstId>,
    /// Instructions that stand for an access to all neighbours, with the access to the first one.
    whole: FastMap<InstId, InstId>,
}

/// An access's element: a value and how far behind it.
type Element = (ValueId, Option<ValueId>, i64);

impl Neighbours {
    /// Those of a function.
    pub fn of(function: &Function) -> Neighbours {
        let mut found = Neighbours::default();
        let mut uses: FastMap<ValueId, u32> = FastMap::default();
        let mut has_vectors = false;
        function.walk(function.body, &mut |_, inst| {
            has_vectors |= matches!(inst.op, Op::Vector | Op::Extract);
            inst.operands.iter().for_each(|value| *uses.entry(*value).or_default() += 1);
        });
        if has_vectors {
            found.region(function, function.body, &uses);
        }
        found
    }

    fn region(&mut self, f: &Function, region: RegionId, uses: &FastMap<ValueId, u32>) {
        let insts = &f.regions[region].insts;
        for (position, id) in insts.iter().enumerate() {
            let inst = &f.insts[*id];
            match inst.op == Op::Vector {
                true => self.loads(f, *id, &insts[..position], uses),
                false => self.stores(f, *id, &insts[position + 1..]),
            }
            inst.regions.iter().for_each(|inner| self.region(f, *inner, uses));
        }
    }

    /// Whether a vector is made of neighbours that are loaded in the instructions before it.
    fn loads(&mut self, f: &Function, vector_id: InstId, before: &[InstId], uses: &FastMap<ValueId, u32>) {
        let vector = &f.insts[vector_id];
        let mut all = vec![];
        for (lane, value) in (0..).zip(&vector.operands) {
            let Def::Result(load, _) = f.values[*value].def else { return };
            let inst = &f.insts[load];
            let same = all.first().is_none_or(|first| follows(f, *first, load, lane));
            if inst.op != Op::Load || !is_plain(inst, vector) || uses.get(value) != Some(&1) || !same {
                return;
            }
            all.push(load);
        }
        let mut missing = all.len();
        for id in before.iter().rev() {
            let inst = &f.insts[*id];
            missing -= usize::from(all.contains(id));
            if missing == 0 {
                self.whole.insert(vector_id, all[0]);
                self.absorbed.extend(all);
                return;
            }
            if !inst.op.is_pure() && inst.op != Op::Load {
                return;
            }
        }
    }

    /// Whether the first lane of a vector is stored here, and its other lanes behind it in the instructions that follow.
    fn stores(&mut self, f: &Function, id: InstId, behind: &[InstId]) {
        let Some((vector, 0)) = stored_lane(f, id) else { return };
        let Type::Vector(_, lanes) = f.ty(vector) else { return };
        let mut all = vec![id];
        for next in behind {
            if f.insts[*next].op.is_pure() {
                continue;
            }
            let lane = all.len();
            if stored_lane(f, *next) != Some((vector, lane as u64)) || !follows(f, id, *next, lane as i64) {
                return;
            }
            all.push(*next);
            if all.len() == usize::from(lanes) {
                self.whole.insert(*next, id);
                all.pop();
                self.absorbed.extend(all);
                return;
            }
        }
    }
}

/// The vector and the lane that an instruction stores, as one of the vector's elements.
fn stored_lane(f: &Function, id: InstId) -> Option<(ValueId, u64)> {
    let store = &f.insts[id];
    if store.op != Op::Store {
        return None;
    }
    let Def::Result(extract, _) = f.values[*store.operands.get(2)?].def else { return None };
    let extract = &f.insts[extract];
    let vector = *extract.operands.first().filter(|_| extract.op == Op::Extract)?;
    let lane = f.as_constant(*extract.operands.get(1)?)?;
    let element = f.ty(vector).element()?;
    let plain = store.ty == Some(Type::Scalar(element)) && types::machine_type(f.ty(vector)).is_some();
    (plain && !store.has(AttrKind::Volatile)).then_some((vector, lane))
}

/// Whether a load gives elements of a vector that a register holds.
fn is_plain(load: &Inst, vector: &Inst) -> bool {
    let element = vector.ty.and_then(Type::element).map(Type::Scalar);
    let held = vector.ty.is_some_and(|ty| types::machine_type(ty).is_some());
    load.ty == element && held && !load.has(AttrKind::Volatile)
}

/// Whether an access is to the element so far behind that of the first one.
fn follows(f: &Function, first: InstId, other: InstId, distance: i64) -> bool {
    match (element(f, &f.insts[first]), element(f, &f.insts[other])) {
        (Some((memory, base, at)), Some(next)) => next == (memory, base, at + distance),
        _no_access => false,
    }
}

fn element(f: &Function, access: &Inst) -> Option<Element> {
    let [memory, mut index, ..] = access.operands[..] else { return None };
    let mut distance = i64::from(access.offset());
    while let Def::Result(id, _) = f.values[index].def
        && let Inst { op: Op::Add, operands, .. } = &f.insts[id]
        && let Some(n) = f.as_constant(*operands.get(1)?)
    {
        distance += n as i64;
        index = operands[0];
    }
    Some(match f.as_constant(index) {
        Some(n) => (memory, None, distance + n as i64),
        None => (memory, Some(index), distance),
    })
}

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// Translates an instruction that is part of an access to neighbours; whether it is one.
    pub(super) fn of_neighbours(&mut self, id: InstId, inst: &Inst) -> Result<bool> {
        if self.neighbours.absorbed.contains(&id) {
            return Ok(true);
        }
        let Some(first) = self.neighbours.whole.get(&id) else { return Ok(false) };
        let first = &self.function.insts[*first];
        if inst.op == Op::Vector {
            let ty = inst.ty.and_then(types::machine_type).ok_or_else(|| not_legal(inst))?;
            let (address, flags) = self.address_of_all(first, inst.operands.len())?;
            let value = self.b.ins().load(ty, flags, address, 0);
            self.give(inst, value)?;
            return Ok(true);
        }
        let (vector, _) = stored_lane(self.function, id).ok_or_else(|| not_legal(inst))?;
        let Type::Vector(_, lanes) = self.function.ty(vector) else { return Err(not_legal(inst)) };
        let (address, flags) = self.address_of_all(first, lanes.into())?;
        let value = self.get(vector)?;
        self.b.ins().store(flags, value, address, 0);
        Ok(true)
    }

    /// The address of so many elements from that of an access on, all of which are inside of the memory from here on.
    fn address_of_all(&mut self, first: &Inst, count: usize) -> Result<(Value, cranelift_codegen::ir::MemFlags)> {
        let [memory, index, ..] = first.operands[..] else { return Err(not_legal(first)) };
        let place = *self.places.get(&memory).ok_or_else(|| not_legal(first))?;
        let bytes = u64::from(first.ty.ok_or_else(|| not_legal(first))?.bytes());
        let shift = i64::from(bytes.trailing_zeros());
        let more = count as i64 - 1;
        let element = self.element(index, i64::from(first.offset()))?;
        // The first element that has too few behind it.
        let end = match place.extent {
            Extent::Known(extent) => self.b.ins().iconst(I64, (extent / bytes).saturating_sub(more as u64) as i64),
            Extent::Value(extent) => {
                let elements = self.b.ins().ushr_imm(extent, shift);
                let enough = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, elements, more);
                let (less, zero) = (self.b.ins().iadd_imm(elements, -more), self.b.ins().iconst(I64, 0));
                self.b.ins().select(enough, less, zero)
            }
        };
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, element, end);
        let last = self.b.ins().iadd_imm(element, more);
        F::outside(self, first, memory, outside, last)?;
        let distance = self.b.ins().ishl_imm(element, shift);
        Ok((self.b.ins().iadd(place.base, distance), place.unaligned()))
    }
}
