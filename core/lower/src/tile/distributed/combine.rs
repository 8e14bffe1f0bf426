//! Reductions and scans along an axis.
//!
//! A reduction goes through the bits of the axis: those of registers are combined in registers, those of lanes by exchanges within the subgroup,
//! those of subgroups through shared memory. The region is only known to be associative, so bits go from the lowest to the highest, and of
//! two halves the one with the lower elements comes first, unless the region is one operation for which the order does not matter.

use super::super::assign_layouts::LayoutId;
use super::super::layout::{FREE, dimensions};
use super::super::predication::where_it_holds;
use super::layout_conversion::TOGETHER;
use super::{Distributed, Made, Registers, element_of, impossible};
use crate::rewrite::Rewriter;
use girih_base::diag::Diagnostic;
use girih_ir::{AttrKind, Inst, InstId, Op, RegionId, Scalar, Type, ValueId};

/// A place in which a bit of the axis stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Register(usize),
    Thread(u8),
}

/// What is being reduced: for each operand its registers, and where bits of registers stand now.
struct State {
    values: Vec<Vec<ValueId>>,
    bits: Vec<u8>,
    /// Invocations that differ in these bits hold the same.
    same: u32,
}

/// More values of one operation than there are rooms for.
fn too_many(count: usize, what: &str) -> Diagnostic {
    let most = TOGETHER.len();
    let why = format!("{count} values are {what} at once, and registers take {most}");
    impossible(&why)
        .hint(format!("the result is the same, but slower; at most {most} values are {what} at once without this"))
}

impl Distributed<'_> {
    pub(super) fn reduce(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let layout = self.plan.access[&id];
        let held = self.plan.layouts[layout].clone();
        let (first, count) = dimensions(r.old.ty(inst.operands[0]).shape())[inst.axis() as usize];
        let mut values = vec![];
        for operand in &inst.operands {
            values.push(self.registers(r, *operand, layout)?.to_vec());
        }
        let elements: Vec<Scalar> = inst.operands.iter().map(|v| element_of(r, *v)).collect();
        let region = inst.regions[0];
        let any_order = is_commutative(r, region);
        let mut places: Vec<Place> = (first..first + count)
            .map(|bit| match held.threads.iter().position(|b| *b == bit) {
                Some(thread) => Place::Thread(thread as u8),
                None => Place::Register(bit.into()),
            })
            .collect();
        if any_order {
            places.sort_unstable();
        }
        let mut state = State { values, bits: held.registers.clone(), same: held.free() };
        let mut at = 0;
        while at < places.len() {
            match places[at] {
                Place::Register(bit) => {
                    self.halve(r, region, &mut state, bit as u8)?;
                    at += 1;
                }
                Place::Thread(thread) if thread < self.lanes => {
                    self.among_lanes(r, region, &mut state, thread, any_order)?;
                    at += 1;
                }
                Place::Thread(_) => {
                    let threads = places[at..].iter().map_while(|place| match place {
                        Place::Thread(thread) if *thread >= self.lanes => Some(*thread),
                        _another => None,
                    });
                    let threads: Vec<u8> = threads.collect();
                    self.among_subgroups(r, region, &mut state, &threads, &elements)?;
                    at += threads.len();
                }
            }
        }
        for ((result, registers), element) in inst.results.iter().zip(state.values).zip(&elements) {
            let mut registers: Vec<ValueId> = registers;
            let home = match self.plan.home[*result] {
                Some(home) => home,
                None => {
                    if self.decides_control[*result] {
                        registers[0] = self.uniform(r, registers[0], *element);
                    }
                    super::super::assign_layouts::Assignment::SCALAR
                }
            };
            self.hold(r, *result, home, registers.into())?;
        }
        Ok(())
    }

    /// Combines the registers that differ in one bit.
    fn halve(&mut self, r: &mut Rewriter<'_>, region: RegionId, state: &mut State, bit: u8) -> Made<()> {
        let at = state.bits.iter().position(|b| *b == bit);
        let at = at.ok_or_else(|| impossible("a bit of the axis that nobody holds"))?;
        state.bits.remove(at);
        let low = (1 << at) - 1;
        let mut values = vec![vec![]; state.values.len()];
        for register in 0..1usize << state.bits.len() {
            let first = (register & !low) << 1 | register & low;
            let mut arguments: Vec<ValueId> = state.values.iter().map(|v| v[first]).collect();
            arguments.extend(state.values.iter().map(|v| v[first | 1 << at]));
            let made = self.written_out(r, region, &arguments)?;
            values.iter_mut().zip(made).for_each(|(list, value)| list.push(value));
        }
        state.values = values;
        Ok(())
    }

    /// Combines what lanes hold that differ in one bit.
    fn among_lanes(
        &mut self,
        r: &mut Rewriter<'_>,
        region: RegionId,
        state: &mut State,
        bit: u8,
        any_order: bool,
    ) -> Made<()> {
        let mask = r.out.u32(1 << bit);
        let upper = if any_order { None } else { Some(self.lane_bit(r, bit)) };
        let mut values = vec![vec![]; state.values.len()];
        for register in 0..state.values[0].len() {
            let own: Vec<ValueId> = state.values.iter().map(|v| v[register]).collect();
            let other: Vec<ValueId> = own.iter().map(|v| shuffled(r, *v, mask)).collect();
            let pick = |r: &mut Rewriter<'_>, a: ValueId, b: ValueId| match upper {
                Some(upper) => {
                    let ty = r.out.ty(a);
                    r.out.op(Op::Select, ty, &[upper, b, a])
                }
                None => a,
            };
            let mut arguments: Vec<ValueId> = own.iter().zip(&other).map(|(a, b)| pick(r, *a, *b)).collect();
            arguments.extend(own.iter().zip(&other).map(|(a, b)| pick(r, *b, *a)).collect::<Vec<_>>());
            let made = self.written_out(r, region, &arguments)?;
            values.iter_mut().zip(made).for_each(|(list, value)| list.push(value));
        }
        (state.values, state.same) = (values, state.same | 1 << bit);
        Ok(())
    }

    /// Combines what invocations hold that differ in these bits, through shared memory.
    fn among_subgroups(
        &mut self,
        r: &mut Rewriter<'_>,
        region: RegionId,
        state: &mut State,
        bits: &[u8],
        elements: &[Scalar],
    ) -> Made<()> {
        // In shared memory the bits that are combined are the lowest, then those in which invocations differ, then the registers'.
        let own = self.threads.trailing_zeros() as u8;
        let combined: u32 = bits.iter().map(|bit| 1 << bit).sum();
        let apart: Vec<u8> = (0..own).filter(|bit| (state.same | combined) >> bit & 1 == 0).collect();
        let mut places = vec![FREE; own.into()];
        bits.iter().zip(0..).for_each(|(bit, to)| places[usize::from(*bit)] = to);
        let write = |places: &[u8], apart: &[u8]| {
            let mut places = places.to_vec();
            apart.iter().zip(bits.len() as u8..).for_each(|(bit, to)| places[usize::from(*bit)] = to);
            places
        };
        let to = self.scattered(r, &write(&places, &apart));
        let from = self.scattered(r, &write(&vec![FREE; own.into()], &apart));
        let share = 1u64 << (bits.len() + apart.len());
        let registers = state.values[0].len();
        // One room for each operand: they are written before one barrier.
        let rooms = match elements.len() {
            1 => &[],
            n => TOGETHER.get(..n).ok_or_else(|| too_many(n, "reduced"))?,
        };
        let mut handles = vec![];
        let mut used = vec![];
        if rooms.is_empty() {
            let (room, handle) = self.small_room(r, elements[0], share * registers as u64);
            handles.push(handle);
            used.push(room);
        } else {
            for (room, element) in rooms.iter().zip(elements) {
                handles.push(self.room(r, *room, *element, share * registers as u64));
                used.push(*room);
            }
        }
        let writer = self.is_zero(r, state.same);
        let values = state.values.clone();
        where_it_holds(r, writer, |r| {
            for ((list, handle), element) in values.iter().zip(&handles).zip(elements) {
                for (register, value) in list.iter().enumerate() {
                    let at = plus(r, to, register as u64 * share);
                    self.put(r, *handle, *element, at, *value);
                }
            }
        });
        self.written(r, &used);
        let mut combined_values = vec![vec![]; elements.len()];
        for register in 0..registers {
            let mut sum: Vec<ValueId> = vec![];
            for which in 0..1u64 << bits.len() {
                let mut next = vec![];
                for (handle, element) in handles.iter().zip(elements) {
                    let at = plus(r, from, register as u64 * share + which);
                    next.push(self.fetch(r, *handle, *element, at));
                }
                if which == 0 {
                    sum = next;
                } else {
                    let mut arguments = sum;
                    arguments.extend(next);
                    sum = self.written_out(r, region, &arguments)?;
                }
            }
            combined_values.iter_mut().zip(sum).for_each(|(list, value)| list.push(value));
        }
        (state.values, state.same) = (combined_values, state.same | combined);
        Ok(())
    }

    /// Each element takes what lies 1, 2, 4, .. before it, until all are taken.
    pub(super) fn scan(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let layout = self.plan.access[&id];
        let shape = r.old.ty(inst.operands[0]).shape();
        let (first, count) = dimensions(shape)[inst.axis() as usize];
        let reverse = inst.has(AttrKind::Reverse);
        let elements: Vec<Scalar> = inst.operands.iter().map(|v| element_of(r, *v)).collect();
        let rooms = TOGETHER.get(..elements.len()).ok_or_else(|| too_many(elements.len(), "scanned"))?;
        let mut values: Vec<Registers> = vec![];
        for operand in &inst.operands {
            values.push(self.registers(r, *operand, layout)?);
        }
        for step in 0..count {
            let mut staged = vec![];
            for ((registers, element), room) in values.iter().zip(&elements).zip(rooms) {
                staged.push(self.stage(r, (*room, false), registers, layout, *element, shape));
            }
            self.written(r, rooms);
            let mut next: Vec<Vec<ValueId>> = vec![vec![]; values.len()];
            for register in 0..self.plan.layouts[layout].count() {
                let (at, before) = self.neighbour(r, layout, register, (first, count), step, reverse);
                let own: Vec<ValueId> = values.iter().map(|registers| registers[register]).collect();
                let mut arguments = vec![];
                for (staged, element) in staged.iter().zip(&elements) {
                    arguments.push(self.fetch(r, staged.handle, *element, at));
                }
                arguments.extend_from_slice(&own);
                let made = self.written_out(r, inst.regions[0], &arguments)?;
                for (((list, made), own), element) in next.iter_mut().zip(made).zip(own).zip(&elements) {
                    list.push(r.out.op(Op::Select, Type::Scalar(*element), &[before, made, own]));
                }
            }
            values = next.into_iter().map(Registers::from).collect();
        }
        for (result, registers) in inst.results.iter().zip(values) {
            self.hold(r, *result, layout, registers)?;
        }
        Ok(())
    }

    /// The number of the element so many before another one along the axis (or that one's own), and whether there is one.
    fn neighbour(
        &mut self,
        r: &mut Rewriter<'_>,
        layout: LayoutId,
        register: usize,
        (first, count): (u8, u8),
        step: u8,
        reverse: bool,
    ) -> (ValueId, ValueId) {
        let base = self.bases[layout];
        let element = plus(r, base, self.plan.layouts[layout].element(register).into());
        let (down, mask) = (r.out.u32(first.into()), r.out.u32((1 << count) - 1));
        let shifted = r.out.op(Op::Shr, Scalar::U32, &[element, down]);
        let along = r.out.op(Op::And, Scalar::U32, &[shifted, mask]);
        let (distance, stride) = (1u32 << step, r.out.u32(1 << (step + first)));
        let (there, at) = if reverse {
            let last = r.out.u32((1 << count) - distance);
            (r.out.op(Op::Lt, Scalar::U32, &[along, last]), r.out.op(Op::Add, Scalar::U32, &[element, stride]))
        } else {
            let least = r.out.u32(distance);
            (r.out.op(Op::Ge, Scalar::U32, &[along, least]), r.out.op(Op::Sub, Scalar::U32, &[element, stride]))
        };
        (r.out.op(Op::Select, Scalar::U32, &[there, at, element]), there)
    }
}

/// A number and a constant.
fn plus(r: &mut Rewriter<'_>, value: ValueId, constant: u64) -> ValueId {
    if constant == 0 {
        return value;
    }
    let constant = r.out.u32(constant as u32);
    r.out.op(Op::Add, Scalar::U32, &[value, constant])
}

/// What the lane holds whose number differs by a mask.
fn shuffled(r: &mut Rewriter<'_>, value: ValueId, mask: ValueId) -> ValueId {
    let ty = r.out.ty(value);
    if ty == Type::BOOL {
        let word = r.out.op(Op::Convert, Scalar::U32, &[value]);
        let word = r.out.op(Op::ShuffleXor, Scalar::U32, &[word, mask]);
        return r.out.op(Op::Convert, Scalar::Bool, &[word]);
    }
    r.out.op(Op::ShuffleXor, ty, &[value, mask])
}

/// Whether a region is one operation that gives the same for its operands in any order.
fn is_commutative(r: &Rewriter<'_>, region: RegionId) -> bool {
    let region = &r.old.regions[region];
    let [only, end] = region.insts[..] else { return false };
    let (only, end) = (&r.old.insts[only], &r.old.insts[end]);
    let commutes = matches!(only.op, Op::Add | Op::Mul | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor);
    commutes && end.operands == only.results && only.operands[..] == region.params[..]
}
