//! Loops: iterate while any lane wants another iteration. A function that calls itself last is a loop, too.

use super::control::VersionWriter;
use super::lanes::{Wide, any, blend, both, without};
use super::state::{End, Mask, Slot};
use super::{MASK, Why, vectorised};
use girih_ir::groups::{not_control, other_control};
use girih_ir::{Inst, InstId, Op, RegionId, Type, ValueId};

/// A loop on its way.
pub(super) struct Level {
    /// What it carries, as the function names it.
    params: Vec<ValueId>,
    /// Whether it is the function.
    pub is_function: bool,
    /// How many jumps lead to its next round.
    pub rounds: usize,
    /// The lanes that want another round, and what they take there.
    again: Slot,
    next: Vec<Slot>,
    /// The lanes that have left it for what follows, if others may leave for elsewhere.
    left: Option<Slot>,
    /// What they have left with.
    results: Vec<Slot>,
    /// Slots that are carried from round to round.
    carried: Vec<Slot>,
}

impl VersionWriter<'_, '_> {
    fn shape(&self, value: ValueId) -> (Type, bool) {
        let (ty, each) = (self.old.ty(value), self.varies[value]);
        (if each { vectorised(ty).unwrap_or(ty) } else { ty }, each)
    }

    /// A loop with new slots of its own.
    fn level(&mut self, params: &[ValueId], results: &[ValueId], rounds: usize, leaves: bool) -> Level {
        let shapes: Vec<Type> = params.iter().chain(results).map(|v| self.shape(*v).0).collect();
        let (of_params, of_results) = shapes.split_at(params.len());
        let again = self.state.slot(MASK);
        let next = of_params.iter().map(|ty| self.state.slot(*ty)).collect();
        let left = leaves.then(|| self.state.slot(MASK));
        let results: Vec<Slot> = of_results.iter().map(|ty| self.state.slot(*ty)).collect();
        let mut carried: Vec<Slot> = left.iter().chain(&results).copied().collect();
        if leaves {
            carried.extend(&self.results);
            if let Some(outermost) = self.levels.first().filter(|level| level.is_function) {
                carried.push(outermost.again);
                carried.extend(&outermost.next);
            }
            carried.sort();
            carried.dedup();
        }
        Level { params: params.to_vec(), is_function: false, rounds, again, next, left, results, carried }
    }

    /// The function as a loop around its body.
    pub(super) fn function_as_loop(&mut self, given: &[Wide], rounds: usize) -> Result<(), Why> {
        let old = self.old;
        let mut level = self.level(&old.params, &[], rounds, false);
        level.is_function = true;
        level.carried.clone_from(&self.results);
        self.rounds(level, given, &old.regions[old.body].insts)?;
        self.state.active = Mask::Nobody;
        Ok(())
    }

    /// `loop`.
    pub(super) fn repeat(&mut self, inst: &Inst) -> Result<(), Why> {
        let body = inst.regions[0];
        let (before, slots) = (self.state.active, self.state.len());
        let params = self.old.regions[body].params.clone();
        let leaves = self.returns(body);
        let level = self.level(&params, &inst.results, self.jumps_to_next(body), leaves);
        let (left, results) = (level.left, level.results.clone());
        let initial = self.wides(&inst.operands);
        self.rounds(level, &initial, &self.old.regions[body].insts)?;
        self.state.active = match left {
            None => before,
            Some(left) => self.state.get(left).map_or(Mask::Nobody, Mask::Where),
        };
        self.state.someone = None;
        for (old, slot) in inst.results.iter().zip(results) {
            let value = self.state.value(&mut self.b, slot);
            self.map[*old] = Some(Wide::of(value, self.varies[*old]));
        }
        self.state.forget(slots);
        Ok(())
    }

    /// How many jumps lead to the next round of a loop.
    fn jumps_to_next(&self, region: RegionId) -> usize {
        let mut found = 0;
        for id in &self.old.regions[region].insts {
            let inst = &self.old.insts[*id];
            found += match inst.op {
                Op::Continue | Op::While => 1,
                Op::Loop => 0,
                Op::If | Op::Switch | Op::Yield | Op::Break | not_control!() | other_control!() => {
                    inst.regions.iter().map(|region| self.jumps_to_next(*region)).sum()
                }
            };
        }
        found
    }

    /// Writes a loop. What is carried out of it is in the slots afterwards.
    fn rounds(&mut self, level: Level, initial: &[Wide], insts: &[InstId]) -> Result<(), Why> {
        let shapes: Vec<(Type, bool)> = level.params.iter().map(|v| self.shape(*v)).collect();
        let carried = level.carried.clone();
        let mut enter = vec![self.state.mask(&mut self.b)];
        for (wide, (_, each)) in initial.iter().zip(&shapes) {
            enter.push(wide.shaped(&mut self.b, *each));
        }
        enter.extend(carried.iter().map(|slot| self.state.value(&mut self.b, *slot)));
        let types: Vec<Type> = enter.iter().map(|v| self.b.ty(*v)).collect();
        let region = self.b.new_region(&types);
        let outer = std::mem::replace(&mut self.b.region, region);
        let inside = self.b.function.regions[region].params.clone();
        let before = self.state.clone();
        self.begin_round(&level, &inside, &shapes);
        let (rounds, again) = (level.rounds, level.again);
        let next = level.next.clone();
        self.levels.push(level);
        let end = self.row(insts, Some(self.levels.len() - 1))?;
        self.levels.pop();
        if !matches!(end, End::Left) {
            self.end_round(again, &next, &carried, rounds);
        }
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, &enter, self.b.span);
        inst.regions.extend([region]);
        let types: Vec<Type> = carried.iter().map(|slot| before.ty(*slot)).collect();
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        self.state = before;
        self.state.someone = None;
        carried.iter().zip(results).for_each(|(slot, value)| self.state.put(*slot, Some(value)));
        Ok(())
    }

    fn begin_round(&mut self, level: &Level, inside: &[ValueId], shapes: &[(Type, bool)]) {
        self.state.active = Mask::Where(inside[0]);
        self.state.someone = None;
        for ((old, value), (_, each)) in level.params.iter().zip(&inside[1..]).zip(shapes) {
            self.map[*old] = Some(Wide::of(*value, *each));
        }
        for (slot, value) in level.carried.iter().zip(&inside[1 + shapes.len()..]) {
            self.state.put(*slot, Some(*value));
        }
    }

    /// Ends a round: another one if any lane wants it.
    fn end_round(&mut self, again: Slot, next: &[Slot], carried: &[Slot], rounds: usize) {
        let out: Vec<ValueId> = carried.iter().map(|slot| self.state.value(&mut self.b, *slot)).collect();
        let wanted = self.state.get(again);
        if let Some(wanted) = wanted.filter(|_| rounds > 0) {
            let condition = any(&mut self.b, wanted);
            self.b.if_else(condition, &[], |b| b.end(Op::Yield, &[]), |b| b.end(Op::Break, &out));
            let mut given = vec![wanted];
            given.extend(next.iter().map(|slot| self.state.value(&mut self.b, *slot)));
            given.extend(out);
            self.b.end(Op::Continue, &given);
        } else {
            self.b.end(Op::Break, &out);
        }
    }

    /// `break`.
    pub(super) fn exit(&mut self, operands: &[ValueId]) -> End {
        let values = self.wides(operands);
        self.exit_with(&values);
        self.state.active = Mask::Nobody;
        End::Jumped
    }

    /// The lanes that run leave the innermost loop with these values.
    fn exit_with(&mut self, values: &[Wide]) {
        let Some(level) = self.levels.last() else { return };
        let (slots, left) = (level.results.clone(), level.left);
        for (slot, wide) in slots.into_iter().zip(values) {
            if matches!(self.state.ty(slot), Type::Vector(..)) {
                let value = wide.each(&mut self.b);
                self.leave_behind(slot, value);
            } else if let Wide::Same(value) = wide {
                self.leave_same(slot, *value);
            }
        }
        if let (Some(left), Mask::Where(mask)) = (left, self.state.active) {
            self.gather(left, mask);
        }
    }

    /// Puts a number into a slot, if any lane runs: all that ever come here bring the same.
    fn leave_same(&mut self, slot: Slot, value: ValueId) {
        let value = match (self.state.get(slot), self.state.active) {
            (Some(before), Mask::Where(mask)) if self.state.someone != Some(mask) => {
                let someone = any(&mut self.b, mask);
                let ty = self.b.ty(value);
                self.b.op(Op::Select, ty, &[someone, value, before])
            }
            (Some(before), Mask::Nobody) => before,
            (Some(_), Mask::Where(_)) | (None, _) => value,
        };
        self.state.put(slot, Some(value));
    }

    /// Adds lanes to a mask in a slot.
    fn gather(&mut self, slot: Slot, mask: ValueId) {
        let all = match self.state.get(slot) {
            Some(before) => self.b.op(Op::Or, MASK, &[before, mask]),
            None => mask,
        };
        self.state.put(slot, Some(all));
    }

    /// `while`.
    pub(super) fn again_while(&mut self, inst: &Inst, last: Option<usize>) -> End {
        let level = self.levels.len() - 1;
        let now: Vec<ValueId> = self.levels[level].params.clone();
        let active = self.state.mask(&mut self.b);
        let wants = self.wide(inst.operands[0]).each(&mut self.b);
        let leaving = without(&mut self.b, active, wants);
        let going = both(&mut self.b, active, wants);
        self.state.active = Mask::Where(leaving);
        self.state.someone = None;
        let now = self.wides(&now);
        self.exit_with(&now);
        self.state.active = Mask::Where(going);
        self.again(level, &inst.operands[1..], last)
    }

    /// The lanes that run go on with another round of a loop.
    pub(super) fn again(&mut self, level: usize, operands: &[ValueId], last: Option<usize>) -> End {
        let Mask::Where(mask) = self.state.active else { return End::Jumped };
        let given = self.wides(operands);
        let Level { again, ref next, ref carried, rounds, .. } = self.levels[level];
        let (next, carried) = (next.clone(), carried.clone());
        let mut values = vec![];
        for (slot, wide) in next.iter().zip(&given) {
            let each = matches!(self.state.ty(*slot), Type::Vector(..));
            values.push(wide.shaped(&mut self.b, each));
        }
        if last == Some(level) && rounds == 1 {
            // Nobody else goes on: the jump itself can be written.
            let mut all = vec![mask];
            all.extend(values);
            all.extend(carried.iter().map(|slot| self.state.value(&mut self.b, *slot)));
            self.state.active = Mask::Nobody;
            if self.state.someone == Some(mask) {
                self.b.end(Op::Continue, &all);
                return End::Left;
            }
            let condition = any(&mut self.b, mask);
            self.b.if_else(condition, &[], |b| b.end(Op::Continue, &all), |b| b.end(Op::Yield, &[]));
            return End::Jumped;
        }
        for (slot, value) in next.into_iter().zip(values) {
            let value = match (self.state.get(slot), self.b.ty(value)) {
                (Some(before), Type::Vector(..)) => blend(&mut self.b, mask, value, before),
                (Some(before), _) if before != value => {
                    let someone = any(&mut self.b, mask);
                    let ty = self.b.ty(value);
                    self.b.op(Op::Select, ty, &[someone, value, before])
                }
                (Some(_) | None, _) => value,
            };
            self.state.put(slot, Some(value));
        }
        self.gather(again, mask);
        self.state.active = Mask::Nobody;
        End::Jumped
    }
}
