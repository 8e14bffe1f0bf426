//! Communication in a subgroup. Those who take part are its lanes that run.

use super::activation::Origin;
use super::checks::{Reason, Row};
use super::code::{Slot, Step};
use super::fault::Fault;
use super::machine::Machine;
use girih_ir::eval::{self, Function as Meaning};
use girih_ir::groups::{
    aggregates, all_positions, arithmetic, asynchronous, barriers, control, fragments, masks, memory, shuffles,
    task_form, votes,
};
use girih_ir::ops::{Convergence, Op};
use girih_ir::types::Scalar;

/// How values of several lanes become one.
struct Combination {
    op: Op,
    /// What stands for no lane at all.
    identity: fn(Scalar) -> u64,
    extent: Extent,
}

/// Of which lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    UpToThis,
    BelowThis,
}

fn zero(_: Scalar) -> u64 {
    0
}
fn one(ty: Scalar) -> u64 {
    eval::scalar(Op::Convert, ty, Scalar::U32, &[1]).unwrap_or(1)
}

fn combination(op: Op) -> Option<Combination> {
    let (op, identity, extent): (Op, fn(Scalar) -> u64, Extent) = match op {
        Op::SubgroupAdd => (Op::Add, zero, Extent::All),
        Op::SubgroupMul => (Op::Mul, one, Extent::All),
        Op::SubgroupMin => (Op::Min, zero, Extent::All),
        Op::SubgroupMax => (Op::Max, zero, Extent::All),
        Op::SubgroupAnd => (Op::And, zero, Extent::All),
        Op::SubgroupOr => (Op::Or, zero, Extent::All),
        Op::SubgroupXor => (Op::Xor, zero, Extent::All),
        Op::InclusiveAdd => (Op::Add, zero, Extent::UpToThis),
        Op::ExclusiveAdd => (Op::Add, zero, Extent::BelowThis),
        Op::InclusiveMul => (Op::Mul, one, Extent::UpToThis),
        Op::ExclusiveMul => (Op::Mul, one, Extent::BelowThis),
        Op::InclusiveMin => (Op::Min, zero, Extent::UpToThis),
        Op::InclusiveMax => (Op::Max, zero, Extent::UpToThis),
        arithmetic!()
        | girih_ir::tile_operations!()
        | task_form!()
        | memory!()
        | asynchronous!()
        | control!()
        | all_positions!()
        | masks!()
        | shuffles!()
        | votes!()
        | fragments!()
        | aggregates!()
        | barriers!() => return None,
    };
    Some(Combination { op, identity, extent })
}

impl Machine<'_> {
    /// The lanes that run, subgroup by subgroup.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![];
        let width = self.team.width;
        for lane in self.mask.iter() {
            match groups.last_mut() {
                Some(group) if group[0] / width == lane / width => group.push(lane),
                _ => groups.push(vec![lane]),
            }
        }
        groups
    }

    fn converged_and_same(&self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Subgroup)?;
        let operands = step.op.row().same.iter();
        operands.into_iter().try_for_each(|operand| self.same(step, *operand, self.team.width))
    }

    /// One bit from each lane.
    pub(super) fn vote(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Subgroup)?;
        let condition = step.operands.first().map(|slot| slot.offset);
        if condition.is_some() {
            self.defined(step, 0, "is asked of a subgroup")?;
        }
        let width = self.team.width;
        let result = step.results[0];
        for group in self.groups() {
            let holds = |lane: &usize| condition.is_none_or(|c| self.activation.values[c + lane] != 0);
            let ballot = group.iter().filter(|lane| holds(lane)).fold(0u64, |bits, lane| bits | 1 << (lane % width));
            let all = group.iter().all(holds);
            for (i, lane) in group.iter().enumerate() {
                for component in 0..result.components {
                    let value = match step.op {
                        Op::Any => u64::from(ballot != 0),
                        Op::All => u64::from(all),
                        Op::Elect => u64::from(i == 0),
                        Op::Ballot => ballot.checked_shr(32 * component as u32).unwrap_or(0) & 0xffff_ffff,
                        other => unreachable!("`{}` is no vote", other.name()),
                    };
                    self.activation.values[result.offset + component * self.team.lanes + lane] = value;
                }
            }
        }
        self.clear_origins(step);
        Ok(())
    }

    /// A value of another lane.
    pub(super) fn shuffle(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged_and_same(step)?;
        self.defined(step, 1, "says which lane is meant")?;
        let (width, lanes) = (self.team.width as i64, self.team.lanes);
        let (from, by, result) = (step.operands[0], step.operands[1].offset, step.results[0]);
        let row = Row { reason: Reason::NoLane, span: self.inst(step).span };
        for lane in self.mask.iter() {
            let own = lane as i64 % width;
            let by = self.activation.values[by + lane] as i64;
            let target = match step.op {
                Op::ShuffleXor => own ^ by,
                Op::ShuffleUp => own - by,
                Op::ShuffleDown => own + by,
                Op::Shuffle | Op::Broadcast => by,
                other => unreachable!("`{}` is no shuffle", other.name()),
            };
            let source = lane as i64 - own + target;
            let there = (0..width).contains(&target) && self.mask.has(source as usize);
            for component in 0..result.components {
                let place = |slot: Slot, lane: usize| slot.offset + component * lanes + lane;
                let value = if there { self.activation.values[place(from, source as usize)] } else { 0 };
                self.activation.values[place(result, lane)] = value;
                if let Some(checks) = &mut self.checks {
                    let origin: Origin =
                        if there { self.activation.origins[place(from, source as usize)] } else { checks.origin(row) };
                    self.activation.origins[place(result, lane)] = origin;
                }
            }
        }
        Ok(())
    }

    /// Reductions and scans, in the order of the lanes.
    pub(super) fn combine(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Subgroup)?;
        let ty = step.ty.element().unwrap_or(Scalar::U32);
        let Some(combination) = combination(step.op) else {
            unreachable!("`{}` is neither a reduction nor a scan", step.op.name())
        };
        let Some(Meaning::Binary(f)) = eval::function(combination.op, ty, ty) else { return Ok(()) };
        let (from, to) = (step.operands[0].offset, step.results[0].offset);
        let checked = self.checks.is_some();
        for group in self.groups() {
            let (values, origins) = (&mut self.activation.values, &mut self.activation.origins);
            let mut sum: Option<u64> = None;
            let mut origin = 0;
            for lane in &group {
                let below = sum.unwrap_or_else(|| (combination.identity)(ty));
                let with = sum.map_or(values[from + lane], |sum| f(sum, values[from + lane]));
                values[to + lane] = if combination.extent == Extent::BelowThis { below } else { with };
                if checked {
                    let before = origin;
                    origin = origin.max(origins[from + lane]);
                    origins[to + lane] = if combination.extent == Extent::BelowThis { before } else { origin };
                }
                sum = Some(with);
            }
            if combination.extent == Extent::All {
                group.iter().for_each(|lane| values[to + lane] = sum.unwrap_or(0));
                if checked {
                    group.iter().for_each(|lane| origins[to + lane] = origin);
                }
            }
        }
        Ok(())
    }
}
