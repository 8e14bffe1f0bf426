//! Values without arithmetic: vectors, register arrays, selections, casts between shapes; positions in the launch; and how
//! being undefined spreads through what is computed.

use super::checks::{Reason, Row};
use super::code::{Owner, Slot, Step};
use super::fault::Fault;
use super::machine::{Machine, places};
use girih_base::diag::Code;
use girih_ir::AttrKind;
use girih_ir::attrs::Dim;
use girih_ir::eval;
use girih_ir::ops::Op;
use girih_ir::types::Scalar;

impl Machine<'_> {
    /// Sets a component of a value for all lanes that run.
    pub(super) fn set(&mut self, slot: Slot, component: usize, mut value: impl FnMut(usize) -> u64) {
        let start = slot.offset + component * self.team.lanes;
        let values = &mut self.activation.values;
        self.mask.each(|lane| values[start + lane] = value(lane));
    }

    /// Where an instruction stands in the launch.
    pub(super) fn position(&mut self, step: &Step) {
        let (team, dim) = (self.team, self.inst(step).dim() as usize);
        let (workgroup, grid) = (self.workgroup, self.grid);
        let result = step.results[0];
        debug_assert!(dim < Dim::ALL.len());
        let mut set = |f: &dyn Fn(usize) -> u32| self.set(result, 0, |lane| f(lane).into());
        let global = |lane| workgroup[dim].wrapping_mul(team.size[dim]).wrapping_add(team.position(lane)[dim]);
        match step.op {
            Op::GlobalId => set(&global),
            Op::LocalId => set(&|lane| team.position(lane)[dim]),
            Op::LocalIndex => set(&|lane| lane as u32),
            Op::WorkgroupId => set(&|_| workgroup[dim]),
            Op::NumWorkgroups => set(&|_| grid[dim]),
            Op::WorkgroupSize => set(&|_| team.size[dim]),
            Op::SubgroupSize => set(&|_| team.width as u32),
            Op::SubgroupId => set(&|lane| (lane / team.width) as u32),
            Op::NumSubgroups => set(&|_| team.subgroups() as u32),
            Op::Lane => set(&|lane| (lane % team.width) as u32),
            other => unreachable!("`{}` is no position", other.name()),
        }
    }

    pub(super) fn select(&mut self, step: &Step) {
        let lanes = self.team.lanes;
        let [condition, a, b] = step.operands[..] else { return };
        let result = step.results[0];
        let (values, origins) = (&mut self.activation.values, &mut self.activation.origins);
        let poisoned = self.checks.as_ref().is_some_and(|checks| checks.poisoned);
        for shift in (0..result.components).map(|component| component * lanes) {
            // A tile has a condition for each element.
            let own = if condition.components > 1 { shift } else { 0 };
            self.mask.each(|lane| {
                let condition = condition.offset + own + lane;
                let chosen = if values[condition] != 0 { a } else { b };
                let (from, to) = (chosen.offset + shift + lane, result.offset + shift + lane);
                values[to] = values[from];
                if poisoned {
                    origins[to] = origins[condition].max(origins[from]);
                }
            });
        }
    }

    /// Whether some lane of a mask is on.
    pub(super) fn any_of_mask(&mut self, step: &Step) {
        let lanes = self.team.lanes;
        let (from, to) = (step.operands[0], step.results[0]);
        let (values, origins) = (&mut self.activation.values, &mut self.activation.origins);
        let poisoned = self.checks.as_ref().is_some_and(|checks| checks.poisoned);
        self.mask.each(|lane| {
            let places = (0..from.components).map(|component| from.offset + component * lanes + lane);
            values[to.offset + lane] = places.clone().any(|place| values[place] != 0).into();
            if poisoned {
                origins[to.offset + lane] = places.map(|place| origins[place]).max().unwrap_or_default();
            }
        });
    }

    /// The same bits as lanes of another width.
    pub(super) fn bitcast(&mut self, step: &Step) {
        let (from, to) = (step.operands[0], step.results[0]);
        let function = &self.program.module.functions[self.activation.function];
        let element = |v| function.ty(v).element().map_or(32, Scalar::bits);
        let inst = self.inst(step);
        let (wide, narrow) = (element(inst.operands[0]), element(inst.results[0]));
        let lanes = self.team.lanes;
        for component in 0..to.components as u32 {
            let values = &mut self.activation.values;
            self.mask.each(|lane| {
                let at = |slot: Slot, component: u32| slot.offset + component as usize * lanes + lane;
                values[at(to, component)] = if wide >= narrow {
                    let per = wide / narrow;
                    let bits = values[at(from, component / per)] >> (component % per * narrow);
                    bits & (u64::MAX >> (64 - narrow))
                } else {
                    let per = narrow / wide;
                    (0..per).map(|i| values[at(from, component * per + i)] << (i * wide)).fold(0, |a, b| a | b)
                };
            });
        }
        self.spread_whole(step);
    }

    /// A vector of its elements, or of one for all.
    pub(super) fn gather(&mut self, step: &Step) {
        let lanes = self.team.lanes;
        let result = step.results[0];
        for component in 0..result.components {
            let from = step.operands.get(if step.op == Op::Splat { 0 } else { component }).map_or(0, |s| s.offset);
            let to = result.offset + component * lanes;
            let (values, origins) = (&mut self.activation.values, &mut self.activation.origins);
            self.mask.each(|lane| values[to + lane] = values[from + lane]);
            if !origins.is_empty() {
                self.mask.each(|lane| origins[to + lane] = origins[from + lane]);
            }
        }
    }

    /// An element of an aggregate, or the aggregate with one replaced.
    pub(super) fn element(&mut self, step: &Step) -> Result<(), Fault> {
        self.defined(step, 1, "is the position of an element")?;
        let (aggregate, position, result, lanes) =
            (step.operands[0], step.operands[1].offset, step.results[0], self.team.lanes);
        let count = aggregate.components as u64;
        if let Some(lane) = self.mask.iter().find(|lane| self.activation.values[position + lane] >= count) {
            let element = self.activation.values[position + lane];
            let message = format!("{} asks for element {element} of {count}", self.operation(step));
            return Err(self.fault_of(Code::OutOfBounds, step, lane, message).hint("positions count from 0").into());
        }
        if step.op == Op::Insert {
            let moves = super::code::Moves { pairs: vec![(aggregate, result)], overlap: false };
            self.moves(&moves);
        }
        let (values, origins) = (&mut self.activation.values, &mut self.activation.origins);
        let value = step.operands.get(2).map(|slot| slot.offset);
        self.mask.each(|lane| {
            let inside = values[position + lane] as usize * lanes + lane;
            let (from, to) = match value {
                Some(value) => (value + lane, result.offset + inside),
                None => (aggregate.offset + inside, result.offset + lane),
            };
            values[to] = values[from];
            if !origins.is_empty() {
                origins[to] = origins[from];
            }
        });
        Ok(())
    }

    /// Components computed from undefined ones are undefined, and so is what `nowrap` arithmetic makes when it wraps.
    pub(super) fn spread(&mut self, step: &Step) {
        if self.checks.is_none() {
            return;
        }
        if self.inst(step).has(AttrKind::NoWrap) {
            self.find_wrapped(step);
        }
        if !self.checks.as_ref().is_some_and(|checks| checks.poisoned) {
            return;
        }
        let (result, lanes) = (step.results[0], self.team.lanes);
        let wrapped = self.inst(step).has(AttrKind::NoWrap);
        let absorbing = absorbing(step);
        for shift in (0..result.components).map(|component| component * lanes) {
            let (origins, values) = (&mut self.activation.origins, &self.activation.values);
            self.mask.each(|lane| {
                let to = result.offset + shift + lane;
                let own = if wrapped { origins[to] } else { 0 };
                let places = step.operands.iter().map(|slot| slot.offset + shift + lane);
                let decided =
                    absorbing.is_some() && places.clone().any(|p| origins[p] == 0 && Some(values[p]) == absorbing);
                origins[to] = if decided { 0 } else { places.map(|p| origins[p]).fold(own, u32::max) };
            });
        }
    }

    /// All of a result is undefined where some component of an operand is.
    pub(super) fn spread_whole(&mut self, step: &Step) {
        if !self.checks.as_ref().is_some_and(|checks| checks.poisoned) {
            return;
        }
        let lanes = self.team.lanes;
        for lane in self.mask.iter() {
            let of = |slot: &Slot| {
                let components = if slot.owner == Owner::Lane { slot.components } else { 0 };
                (0..components).map(|c| self.activation.origins[slot.offset + c * lanes + lane]).max().unwrap_or(0)
            };
            let origin = step.operands.iter().map(of).max().unwrap_or(0);
            for result in &step.results {
                (0..result.components).for_each(|c| self.activation.origins[result.offset + c * lanes + lane] = origin);
            }
        }
    }

    /// A result that depends on no operand is defined.
    pub(super) fn clear_origins(&mut self, step: &Step) {
        if self.checks.as_ref().is_some_and(|checks| checks.poisoned) {
            let origins = &mut self.activation.origins;
            step.results.iter().for_each(|slot| places(*slot, &self.mask, self.team, |place| origins[place] = 0));
        }
    }

    /// Marks the lanes where the exact result does not fit.
    fn find_wrapped(&mut self, step: &Step) {
        let Some(ty) = step.ty.element().filter(|ty| ty.is_integer()) else { return };
        let (result, lanes) = (step.results[0], self.team.lanes);
        let row = Row { reason: Reason::Wrapped, span: self.inst(step).span };
        for shift in (0..result.components).map(|component| component * lanes) {
            for lane in self.mask.iter() {
                let place = |slot: &Slot| slot.offset + shift + lane;
                let operand = |i: usize| {
                    step.operands.get(i).map_or(0, |slot| eval::int_value(self.activation.values[place(slot)], ty))
                };
                let (a, b, c) = (operand(0), operand(1), operand(2));
                let exact = match step.op {
                    Op::Add => a.checked_add(b),
                    Op::Sub => a.checked_sub(b),
                    Op::Mul => a.checked_mul(b),
                    Op::Mad => a.checked_mul(b).and_then(|product| product.checked_add(c)),
                    Op::Shl => a.checked_mul(1 << (b as u32 % ty.bits())),
                    // Nothing else promises not to wrap.
                    _no_rule => return,
                };
                let found = eval::int_value(self.activation.values[place(&result)], ty);
                if let Some(checks) = &mut self.checks {
                    let origin = if exact == Some(found) { 0 } else { checks.origin(row) };
                    self.activation.origins[place(&result)] = origin;
                }
            }
        }
    }
}

/// The operand that decides the result whatever the other is.
fn absorbing(step: &Step) -> Option<u64> {
    match step.op {
        Op::And => Some(0),
        Op::Or => step.ty.element().map(Scalar::mask),
        _no_rule => None,
    }
}
