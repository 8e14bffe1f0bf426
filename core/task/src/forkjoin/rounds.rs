//! What a workgroup does between two rounds: how long the next one is, whether lanes make tasks of what they do, whether the epoch ends.

use super::lane::Lane;
use super::machine::{Machine, State};
use super::memory::{control, group, label};
use girih_ir::{Op, Type, ValueId};

/// Rounds of an epoch after which a workgroup gives away what it has, if most others have stopped.
const SOON: u32 = 16;
/// Steps after which it does so if it makes little, at first and at most: see [`control::PATIENCE`].
pub(super) const PATIENCE: u32 = 64;
pub(super) const MOST_PATIENCE: u32 = 4096;
/// Tasks that are few for a workgroup, and for the device.
pub(super) const FEW: u32 = 16;
/// In one of so many rounds a workgroup looks what happens elsewhere.
const LOOK: u32 = 4;
/// Steps of a round at most, if it is not a narrow workgroup's, and twice those before which lanes that lack work may not end it.
pub(super) const LONG: u32 = 256;
/// Steps that a lane runs in an epoch however few it is told to.
pub(super) const LEAST_STEPS: u32 = 16;
/// Steps of a lane between two looks at whether others lack work.
pub(super) const STRETCH: u32 = 4;
/// Steps before which they may not end it at first, and then: what is over sooner is not worth a task.
pub(super) const HASTE: u32 = 1;
/// Rounds of an epoch that are hasty.
const BEGIN: u32 = 12;
const SHORT: u32 = 24;
/// A workgroup that has no more than so many tasks and lanes with work is narrow. If tasks have not become more several times, work does not
/// spread, and its rounds get longer by a quarter each, up to so many steps before lanes that lack work may end them. So what it makes
/// tasks of costs little beside what it does, and what it finds later comes late by no more than a quarter. (Heartbeat scheduling: Acar,
/// Charguéraud, Guatto, Rainey, Sieczkowski 2018.)
const NARROW: u32 = 4;
const LONGEST: u32 = 512;
/// How many times the first patience the present one must be.
const SEVERAL: u32 = 16;

/// What a workgroup does in its next round: steps above bit 2, and one of these.
pub(super) mod verdict {
    /// Goes on.
    pub const RUN: u32 = 0;
    /// First makes tasks of what can be done apart.
    pub const PROMOTE: u32 = 1;
    /// Gives all away, and stops.
    pub const STOP: u32 = 2;
    /// Where the steps begin before which the round does not end.
    pub const STEPS: u32 = 2;
    /// Where the rest ends.
    pub const MASK: u32 = 3;
}

impl Machine {
    /// What the workgroup does next, after so many rounds, the last one of so many steps at least.
    pub(super) fn judge(&mut self, so_far: (ValueId, ValueId), least: ValueId, state: &State) -> ValueId {
        let is_busy = self.is_not(state.label, label::IDLE);
        self.when(is_busy, |m| {
            m.lane.count(&mut m.b, group::BUSY, 1);
        });
        Lane::barrier(&mut self.b);
        self.agree(|m| {
            let tasks = m.turn_rings();
            m.new_chunk();
            let busy = m.lane.get(&mut m.b, group::BUSY);
            let zero = m.b.u32(0);
            m.lane.set(&mut m.b, group::BUSY, zero);
            m.lane.set(&mut m.b, group::IDLE, zero);
            m.verdict(so_far, least, tasks, busy)
        })
    }

    fn verdict(
        &mut self,
        (rounds, spent): (ValueId, ValueId),
        least: ValueId,
        tasks: ValueId,
        busy: ValueId,
    ) -> ValueId {
        let population = self.op(Op::Add, tasks, busy);
        let all = self.b.u32(self.shape.workgroup);
        let lacks = self.op(Op::Lt, population, all);
        // At first every lane shares what it has, and soon: so tasks are of one size. Where work does not spread then, there is little to spread.
        let begin = self.b.u32(BEGIN);
        let begins = self.op(Op::Lt, rounds, begin);
        let hungry = self.is_not(self.want, 0);
        let need = self.op(Op::Sub, all, population);
        let need = self.select(begins, all, need);
        self.lane.set(&mut self.b, group::NEED, need);
        // Where few have work, each may make many of frames that its stack has spilled: a deep recursion soon gives all something to do.
        let one = self.b.u32(1);
        let makers = self.op(Op::Max, busy, one);
        let each = self.op(Op::Div, need, makers);
        let each = self.op(Op::Max, each, one);
        self.lane.set(&mut self.b, group::EACH, each);
        let some = self.is_not(busy, 0);
        let lacks = self.both(Op::And, lacks, some);
        let lacks = self.b.op(Op::Convert, Type::U32, &[lacks]);
        let least = self.least(begins, least, tasks, population);
        let shift = self.b.u32(verdict::STEPS);
        let least = self.op(Op::Shl, least, shift);
        let found = self.op(Op::Or, lacks, least);
        // Others lack work from the beginning.
        let enough = self.op(Op::Ge, population, self.want);
        let (few, first) = (self.b.u32(FEW), self.b.u32(PATIENCE));
        let has_little = self.op(Op::Le, population, few);
        let patience = self.select(has_little, self.patience, first);
        let late = self.op(Op::Ge, spent, patience);
        let one = self.b.u32(1);
        let several = self.op(Op::Gt, population, one);
        let late = self.both(Op::And, late, several);
        let gives = self.both(Op::Or, enough, late);
        let gives = self.both(Op::And, gives, hungry);
        let long = self.b.u32(LONG);
        let most = self.op(Op::Div, self.steps, long);
        let over = self.op(Op::Gt, rounds, most);
        let least_steps = self.b.u32(LEAST_STEPS);
        let some = self.op(Op::Ge, spent, least_steps);
        let over = self.both(Op::And, over, some);
        let none = self.is(population, 0);
        let stops = self.both(Op::Or, over, none);
        let stops = self.both(Op::Or, stops, gives);
        let stop = self.b.u32(verdict::STOP);
        let found = self.select(stops, stop, found);
        let mask = self.b.u32(LOOK - 1);
        let turn = self.op(Op::And, rounds, mask);
        let looks = self.is(turn, 0);
        let found = self.choose(looks, 1, |m| vec![m.verdict_of_all(rounds, population, found)], |_| vec![found])[0];
        self.or_starves(found, verdict::STOP, population)
    }

    /// The steps of the next round, before which lanes that lack work do not end it: more and more of them where there is nothing to make tasks
    /// of, or little comes of it.
    fn least(&mut self, begins: ValueId, least: ValueId, tasks: ValueId, population: ValueId) -> ValueId {
        let few = self.b.u32(NARROW);
        let is_narrow = self.op(Op::Le, population, few);
        let (long, longest) = (self.b.u32(LONG / 2), self.b.u32(LONGEST));
        let most = self.select(is_narrow, longest, long);
        let (haste, short) = (self.b.u32(HASTE), self.b.u32(SHORT));
        let short = self.select(begins, haste, short);
        let two = self.b.u32(2);
        let quarter = self.op(Op::Shr, least, two);
        let more = self.op(Op::Add, least, quarter);
        let more = self.plus(more, 1);
        let more = self.op(Op::Max, more, short);
        let several = self.b.u32(SEVERAL * PATIENCE);
        let is_lasting = self.op(Op::Gt, self.patience, several);
        let is_late = self.b.op(Op::Not, Type::BOOL, &[begins]);
        let grows = self.both(Op::And, is_narrow, is_lasting);
        let grows = self.both(Op::And, grows, is_late);
        let next = self.select(grows, more, short);
        let twice = self.op(Op::Add, least, least);
        let none = self.is(tasks, 0);
        let next = self.select(none, twice, next);
        self.op(Op::Min, next, most)
    }

    /// What the workgroup does when it has looked what happens elsewhere.
    fn verdict_of_all(&mut self, rounds: ValueId, population: ValueId, found: ValueId) -> ValueId {
        let (exited, fault, top) = (self.get(control::EXITED), self.get(control::FAULT), self.get(control::HEAP_TOP));
        let twice = self.op(Op::Add, exited, exited);
        let most = self.op(Op::Gt, twice, self.groups);
        let soon = self.b.u32(SOON);
        let late = self.op(Op::Ge, rounds, soon);
        let full = self.b.u32(self.shape.workgroup / 2);
        let full = self.op(Op::Ge, population, full);
        let had_work = self.is(self.want, 0);
        let gives = self.both(Op::And, most, late);
        let gives = self.both(Op::And, gives, full);
        let gives = self.both(Op::And, gives, had_work);
        let lacks = self.op(Op::Gt, top, self.heap_soft);
        let faulty = self.is_not(fault, 0);
        let ends = self.both(Op::Or, lacks, faulty);
        let ends = self.both(Op::Or, ends, gives);
        let stop = self.b.u32(verdict::STOP);
        self.select(ends, stop, found)
    }
}
