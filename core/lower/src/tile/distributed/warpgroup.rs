//! Matrix products of warpgroups: both factors are in shared memory in the layout that the matrix unit reads, and sums stay in registers.

use super::super::assign_layouts::LayoutId;
use super::super::layout::dimensions;
use super::super::predication::{both, where_it_holds};
use super::super::product::{Product, Stored, Unit, Warpgroups};
use super::flight::{self, accumulators};
use super::layout_conversion::{FACTORS, STANDING, bytes_of};
use super::{Distributed, Made, Registers, impossible, vector};
use crate::rewrite::Rewriter;
use girih_ir::attrs::SharedMatrix;
use girih_ir::types::MatrixShape;
use girih_ir::{Attr, Def, Inst, Op, RegionId, Scalar, Type, ValueId};

/// A factor in shared memory: the array, and the element where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factor {
    pub handle: ValueId,
    pub start: Option<ValueId>,
}

/// Depth of one product.
const DEPTH: u32 = 16;

impl Distributed<'_> {
    pub(super) fn by_warpgroups(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        made: &Product,
        by: Warpgroups,
    ) -> Made<()> {
        let element = r.old.ty(inst.operands[0]).element().unwrap_or(Scalar::F16);
        let factors = self.factors(r, inst, made)?;
        let (ty, pieces) = accumulators(by, r.old.ty(inst.operands[2]));
        let Type::Regs(_, count) = ty else { return Err(impossible("sums of no accumulator")) };
        let flight = self.in_flight(inst.operands[2]).map(|flight| flight.now.clone());
        let flies = flight.is_some();
        let before = match flight {
            Some(now) => now,
            None => {
                let sums = self.registers(r, inst.operands[2], made.sums)?;
                (0..pieces).map(|i| r.out.op(Op::Vector, ty, &sums[i * usize::from(count)..][..count.into()])).collect()
            }
        };
        let started = self.multiplied(r, inst, &before, by, (factors[0], factors[1]), element);
        // In flight, only the products of the iteration before are waited for.
        if flies {
            self.later_copies(r)?;
        }
        let waited = flight::wait(r, &started, flies.into());
        if let Some(flight) = self.in_flight_mut(inst.results[0]) {
            flight.now = waited;
            return Ok(());
        }
        let sums = waited.iter().flat_map(|acc| super::lanes(r, Scalar::F32, *acc, count.into())).collect();
        self.hold(r, inst.results[0], made.sums, sums)
    }

    /// The factors of a product in shared memory: where they were copied ahead, where they stand, or where they are put now.
    pub(super) fn factors(&mut self, r: &mut Rewriter<'_>, inst: &Inst, made: &Product) -> Made<[Factor; 2]> {
        let mut rooms = vec![];
        let mut factors = [Factor { handle: ValueId::new(0), start: None }; 2];
        for (i, (layout, stored)) in
            [made.left, made.right].into_iter().zip(made.by.stored().into_iter().flatten()).enumerate()
        {
            let value = inst.operands[i];
            factors[i] = match self.ahead(value).or(self.standing(value, i)) {
                Some(there) => there,
                None => {
                    let element = super::element_of(r, value);
                    let registers = self.registers(r, value, layout)?;
                    let handle = self.room(r, FACTORS[i], element, stored.elements());
                    self.put_factor(r, handle, &registers, layout, (element, stored));
                    rooms.push(FACTORS[i]);
                    Factor { handle, start: None }
                }
            };
        }
        if !rooms.is_empty() {
            self.seen_by(r, made.by);
            self.written(r, &rooms);
        }
        Ok(factors)
    }

    /// The factors of a product in shared memory, or slices of their depth one after the other where both do not fit there as a whole. Other uses
    /// take so many bytes beside them, and no slice is shallower than this, as a logarithm. `add` is given where the factors are, how they stand, and
    /// the logarithm of their depth.
    pub(super) fn in_slices(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        made: &Product,
        (beside, least): (u32, u8),
        mut add: impl FnMut(&mut Self, &mut Rewriter<'_>, [Factor; 2], [Stored; 2], u8) -> Made<()>,
    ) -> Made<()> {
        let Some(stored) = made.by.stored() else { return Err(impossible("factors that stand nowhere")) };
        let depth = stored[0].depth().1;
        let there = |s: &Self, i: usize| s.ahead(inst.operands[i]).or(s.standing(inst.operands[i], i)).is_some();
        let bytes = u64::from(bytes_of(self.caps, super::element_of(r, inst.operands[0])));
        let room = u64::from(self.caps.shared_bytes.saturating_sub(beside));
        let fits = |bits: &u8| stored.iter().map(|s| s.slice(*bits).elements() * bytes).sum::<u64>() <= room;
        let bits = if there(self, 0) || there(self, 1) { None } else { (0..=depth.saturating_sub(least)).find(fits) };
        let Some(bits) = bits.filter(|bits| *bits > 0) else {
            let factors = self.factors(r, inst, made)?;
            return add(self, r, factors, stored, depth);
        };
        for which in 0..1u32 << bits {
            let mut factors = [Factor { handle: ValueId::new(0), start: None }; 2];
            for (i, layout) in [made.left, made.right].into_iter().enumerate() {
                let element = super::element_of(r, inst.operands[i]);
                let registers = self.registers(r, inst.operands[i], layout)?;
                factors[i].handle = self.room(r, FACTORS[i], element, stored[i].slice(bits).elements());
                self.put_slice(r, factors[i].handle, &registers, layout, (element, stored[i]), (which, bits));
            }
            self.written(r, &FACTORS);
            add(self, r, factors, stored.map(|s| s.slice(bits)), depth - bits)?;
        }
        Ok(())
    }

    /// What was written to shared memory is for the matrix unit: warpgroups read it in a way of their own.
    fn seen_by(&self, r: &mut Rewriter<'_>, unit: Unit) {
        if matches!(unit, Unit::Warpgroups(_)) {
            r.out.op_with(Op::FenceAsync, None, &[], &[]);
        }
    }

    /// A factor that stands in shared memory while the loop goes on.
    pub(super) fn standing(&self, value: ValueId, operand: usize) -> Option<Factor> {
        self.standing.iter().find(|s| (s.0, s.1) == (value, operand)).map(|s| s.2)
    }

    /// Puts factors that are the same in all iterations of a loop where its products read them; how many.
    pub(super) fn stand(&mut self, r: &mut Rewriter<'_>, body: RegionId) -> Made<usize> {
        let old = r.old;
        let mut inside = vec![];
        old.walk(body, &mut |id, _| inside.push(id));
        let before = self.standing.len();
        for id in &old.regions[body].insts {
            let inst = &old.insts[*id];
            let Some(made) = self.plan.products.get(id).cloned() else { continue };
            let Some(stored) = made.by.stored() else { continue };
            for (i, (layout, stored)) in [made.left, made.right].into_iter().zip(stored).enumerate() {
                let value = inst.operands[i];
                let known = matches!(old.values[value].def, Def::Result(id, _) if !inside.contains(&id));
                let Some(room) = STANDING.get(self.standing.len()).copied() else { break };
                if !known || self.standing(value, i).is_some() {
                    continue;
                }
                let element = old.ty(value).element().unwrap_or(Scalar::F16);
                let registers = self.registers(r, value, layout)?;
                let handle = self.room(r, room, element, stored.elements());
                self.put_factor(r, handle, &registers, layout, (element, stored));
                self.seen_by(r, made.by);
                self.written(r, &[room]);
                self.standing.push((value, i, Factor { handle, start: None }));
            }
        }
        Ok(self.standing.len() - before)
    }

    /// Puts a factor where the matrix unit reads it.
    pub(super) fn put_factor(
        &mut self,
        r: &mut Rewriter<'_>,
        handle: ValueId,
        registers: &Registers,
        layout: LayoutId,
        (element, stored): (Scalar, Stored),
    ) {
        self.put_slice(r, handle, registers, layout, (element, stored), (0, 0));
    }

    /// Puts a slice of a factor where the matrix unit reads it: which one, of how many as a logarithm.
    fn put_slice(
        &mut self,
        r: &mut Rewriter<'_>,
        handle: ValueId,
        registers: &Registers,
        layout: LayoutId,
        (element, whole): (Scalar, Stored),
        (which, bits): (u32, u8),
    ) {
        let stored = whole.slice(bits);
        let (first, count) = stored.depth();
        let chosen = |places: &[u8]| -> u32 {
            let own = |(i, bit): (usize, &u8)| {
                let of_slice = *bit >= first + count && *bit < first + count + bits;
                if of_slice { (which >> (bit - first - count) & 1) << i } else { 0 }
            };
            places.iter().enumerate().map(own).sum()
        };
        let held = self.plan.layouts[layout].clone();
        // Invocations that have elements of the slice, and which of their registers those are.
        let of_others: u32 = held
            .threads
            .iter()
            .enumerate()
            .filter(|(_, b)| **b != super::FREE && !stored.has(**b))
            .map(|(i, _)| 1 << i)
            .sum();
        let (register, thread) = (chosen(&held.registers) as usize, chosen(&held.threads));
        let mut owner = self.owner(r, layout);
        if of_others != 0 {
            let (mask, wanted) = (r.out.u32(of_others), r.out.u32(thread));
            let own = r.out.op(Op::And, Scalar::U32, &[self.own, mask]);
            let has = r.out.op(Op::Eq, Scalar::U32, &[own, wanted]);
            owner = both(r, owner, Some(has));
        }
        let most = (16 / element.bytes()).trailing_zeros() as u8;
        let places = self.addresses(r, layout, stored, most);
        let registers = registers.clone();
        where_it_holds(r, owner, |r| {
            for (index, list) in places {
                let values: Vec<ValueId> = list.iter().map(|i| registers[*i + register]).collect();
                let (ty, value) = vector(r, element, &values);
                r.out.store(ty, handle, index, value);
            }
        });
    }

    /// Where the registers of a factor stand, those of its first slice where it is one: vectors of at most so many bits of neighbours, and the index of each, in vectors.
    pub(super) fn addresses(
        &mut self,
        r: &mut Rewriter<'_>,
        layout: LayoutId,
        stored: Stored,
        most: u8,
    ) -> Vec<(ValueId, Vec<usize>)> {
        let held = self.plan.layouts[layout].clone();
        // Bits that say in which slice an element is say nothing about where it is there.
        let place = |bit: u8| if stored.has(bit) { stored.place(bit) } else { super::FREE };
        let threads: Vec<u8> = held.threads.iter().map(|bit| place(*bit)).collect();
        let base = self.scattered(r, &threads);
        let width = held.run(stored.fast.0).min(most).min(stored.width());
        let log = r.out.u32(width.into());
        let base = if stored.gap > 0 { self.with_gaps(r, base, stored) } else { self.swizzled(r, base, stored) };
        let base = r.out.op(Op::Shr, Scalar::U32, &[base, log]);
        let bits: Vec<usize> = (stored.fast.0..stored.fast.0 + width).filter_map(|bit| held.part_bit(bit)).collect();
        let inside: usize = bits.iter().map(|bit| 1 << bit).sum();
        let mut out = vec![];
        let fixed = held.registers.iter().enumerate().filter(|(_, bit)| !stored.has(**bit)).map(|(i, _)| 1 << i);
        let fixed: usize = inside + fixed.sum::<usize>();
        for register in (0..held.count()).filter(|register| register & fixed == 0) {
            let within = held.registers.iter().enumerate().filter(|(_, bit)| stored.has(**bit));
            let address: u32 = within.map(|(i, bit)| ((register >> i & 1) as u32) << stored.place(*bit)).sum();
            let index = if stored.gap > 0 {
                let own = r.out.u32((address + stored.gaps(address)) >> width);
                r.out.op(Op::Add, Scalar::U32, &[base, own])
            } else {
                let own = r.out.u32(stored.swizzled(address) >> width);
                r.out.op(Op::Xor, Scalar::U32, &[base, own])
            };
            let lane = |i: usize| register + bits.iter().enumerate().map(|(k, bit)| (i >> k & 1) << bit).sum::<usize>();
            out.push((index, (0..1 << width).map(lane).collect()));
        }
        out
    }

    /// An address with the gaps before its row.
    fn with_gaps(&self, r: &mut Rewriter<'_>, address: ValueId, stored: Stored) -> ValueId {
        let (width, gap) = (r.out.u32(stored.fast.1.into()), r.out.u32(stored.gap));
        let row = r.out.op(Op::Shr, Scalar::U32, &[address, width]);
        let gaps = r.out.op(Op::Mul, Scalar::U32, &[row, gap]);
        r.out.op(Op::Add, Scalar::U32, &[address, gaps])
    }

    /// An address with its chunks exchanged.
    fn swizzled(&self, r: &mut Rewriter<'_>, base: ValueId, stored: Stored) -> ValueId {
        let (six, mask, three) = (r.out.u32(6), r.out.u32(stored.chunks()), r.out.u32(3));
        let row = r.out.op(Op::Shr, Scalar::U32, &[base, six]);
        let row = r.out.op(Op::And, Scalar::U32, &[row, mask]);
        let moved = r.out.op(Op::Shl, Scalar::U32, &[row, three]);
        r.out.op(Op::Xor, Scalar::U32, &[base, moved])
    }

    /// Starts the products themselves: for each piece of 64 rows of a warpgroup all steps of the depth. Gives the accumulators, which are in flight.
    fn multiplied(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        before: &[ValueId],
        by: Warpgroups,
        factors: (Factor, Factor),
        element: Scalar,
    ) -> Registers {
        let sides = dimensions(r.old.ty(inst.operands[2]).shape());
        let columns = sides[1].1;
        let depth = dimensions(r.old.ty(inst.operands[0]).shape())[1].1;
        let own = columns - by.along.1;
        let (ty, _) = accumulators(by, r.old.ty(inst.operands[2]));
        // The warpgroup's number, which its lanes agree on.
        let (seven, zero) = (r.out.u32(7), r.out.u32(0));
        let group = r.out.op(Op::Shr, Scalar::U32, &[self.own, seven]);
        let group = r.out.op(Op::Broadcast, Scalar::U32, &[group, zero]);
        let mask = r.out.u32((1 << by.along.0) - 1);
        let down = r.out.op(Op::And, Scalar::U32, &[group, mask]);
        let along = r.out.u32(by.along.0.into());
        let across = r.out.op(Op::Shr, Scalar::U32, &[group, along]);
        // A row's piece of 64 and a column's piece begin at multiples of these elements.
        let left_step = if by.left.by_depth { 64 << by.left.width() } else { 64 << depth };
        let right_step = if by.right.by_depth { 1 << (own + by.right.width()) } else { 1u32 << (own + depth) };
        let left = self.begins(r, factors.0, down, left_step);
        let right = self.begins(r, factors.1, across, right_step);
        let mut accumulators = before.to_vec();
        r.out.op_with(Op::WgmmaFence, None, &[], &[]);
        let shape = MatrixShape { m: 64, n: 1 << own, k: DEPTH as u16 };
        for (piece, acc) in accumulators.iter_mut().enumerate() {
            for k in (0..1u32 << depth).step_by(DEPTH as usize) {
                let a = ((piece as u32 * left_step) << by.along.0) + step_of(by.left, k);
                let b = step_of(by.right, k);
                let attrs = [
                    Attr::Offset(a as i32),
                    Attr::SourceOffset(b as i32),
                    Attr::Shape(shape),
                    Attr::MatrixA(matrix(by.left)),
                    Attr::MatrixB(matrix(by.right)),
                ];
                let operands = [*acc, factors.0.handle, left, factors.1.handle, right];
                let mut new = Inst::new(Op::Wgmma, Some(Type::Scalar(element)), &operands, inst.span);
                attrs.into_iter().for_each(|attr| new.set(attr));
                let id = r.out.push(new, &[ty]);
                *acc = r.out.function.insts[id].results[0];
            }
        }
        r.out.op_with(Op::WgmmaCommit, None, &[], &[]);
        accumulators.into()
    }

    /// Where a warpgroup's piece of a factor begins.
    fn begins(&mut self, r: &mut Rewriter<'_>, factor: Factor, piece: ValueId, step: u32) -> ValueId {
        let step = r.out.u32(step);
        let at = r.out.op(Op::Mul, Scalar::U32, &[piece, step]);
        match factor.start {
            Some(start) => r.out.op(Op::Add, Scalar::U32, &[at, start]),
            None => at,
        }
    }
}

/// How far into a factor the depth `k` begins.
fn step_of(stored: Stored, k: u32) -> u32 {
    let width = stored.width();
    if stored.by_depth {
        let panel = k >> width;
        (panel << (width + stored.slow.1)) + (k & ((1 << width) - 1))
    } else {
        k << width
    }
}

fn matrix(stored: Stored) -> SharedMatrix {
    let row = 2u32 << stored.width();
    let leading = if stored.by_depth { 16 } else { row << stored.slow.1 };
    SharedMatrix { k_major: stored.by_depth, swizzle: row as u16, leading, stride: 8 * row }
}
