//! Memory of a workgroup for the cells that its lanes make: a chunk of the heap, which is made new between rounds.
//!
//! Where a heap may not grow, lanes run *tightly* ([`control::TIGHT`]): no segment begins if the chunk might not have enough for it and for what others
//! have begun. So nobody finds no memory half way, and the epoch ends when there is no chunk; then the host may find some, and all goes on.

use super::machine::Machine;
use super::memory::{CHUNK, control, group};
use crate::ir::{Op, Type, ValueId};

impl Machine {
    /// Units that all lanes of the workgroup take at most for a segment each.
    fn most_taken(&self) -> u32 {
        self.shape.workgroup * self.shape.reserve.max(1)
    }

    /// Between rounds: the workgroup has memory for cells, if there is any.
    pub(super) fn new_chunk(&mut self) {
        let (unit, end) = (self.lane.get(&mut self.b, group::UNIT), self.lane.get(&mut self.b, group::END));
        let (few, most) = (self.b.u32(self.shape.workgroup), self.b.u32(self.most_taken()));
        let (tight, least) = (self.tight, self.select(self.tight, most, few));
        let little = self.op(Op::Add, unit, least);
        let lacks = self.op(Op::Gt, little, end);
        let lacks = self.b.op(Op::Convert, Type::U32, &[lacks]);
        let lacks = self.is_not(lacks, 0);
        self.when(lacks, |m| {
            let (top, all) = (m.get(control::HEAP_TOP), m.get(control::HEAP_END));
            let chunk = m.b.u32(CHUNK * m.shape.workgroup);
            let twice = m.b.u32(2 * CHUNK * m.shape.workgroup);
            // Where little is left, lanes take what they need one by one, or the least that all of them may need.
            let large = m.op(Op::Max, chunk, most);
            let after = m.op(Op::Add, top, large);
            let is_much = m.op(Op::Le, after, all);
            let either = m.select(is_much, large, most);
            let size = m.select(tight, either, chunk);
            let needed = m.select(tight, either, twice);
            let after = m.op(Op::Add, top, needed);
            let fits = m.op(Op::Le, after, all);
            m.when(fits, |m| {
                let begin = m.add(control::HEAP_TOP, size);
                let end = m.op(Op::Add, begin, size);
                let fits = m.op(Op::Le, end, all);
                m.when(fits, |m| {
                    m.lane.set(&mut m.b, group::UNIT, begin);
                    m.lane.set(&mut m.b, group::END, end);
                });
            });
        });
    }

    /// Whether lanes run tightly and the workgroup's chunk might not have enough: 1 or 0.
    pub(super) fn starves(&mut self) -> ValueId {
        self.choose(
            self.tight,
            1,
            |m| {
                let (unit, end) = (m.lane.get(&mut m.b, group::UNIT), m.lane.get(&mut m.b, group::END));
                let after = m.plus(unit, m.most_taken());
                let starves = m.op(Op::Gt, after, end);
                vec![m.b.op(Op::Convert, Type::U32, &[starves])]
            },
            |m| vec![m.b.u32(0)],
        )[0]
    }

    /// Leaves the round if the next segment might find no memory.
    pub(super) fn leave_if_starving(&mut self, words: &[ValueId]) {
        let starves = self.starves();
        let starves = self.is(starves, 1);
        self.leave_if(starves, words);
    }

    /// What the workgroup does next: it stops if there is no chunk for it, and the host is told.
    pub(super) fn or_starves(&mut self, found: ValueId, stop: u32, population: ValueId) -> ValueId {
        let starves = self.starves();
        let starves = self.is(starves, 1);
        let has_work = self.is_not(population, 0);
        let starves = self.both(Op::And, starves, has_work);
        let one = self.b.u32(1);
        self.when(starves, |m| m.set(control::STARVED, one));
        let stop = self.b.u32(stop);
        self.select(starves, stop, found)
    }

    /// Steps of a segment's loops: tightly they go round once.
    pub(super) fn steps_within(&mut self, steps: ValueId) -> ValueId {
        let none = self.b.u32(0);
        self.select(self.tight, none, steps)
    }
    /// The steps that are left behind a segment.
    pub(super) fn steps_behind(&mut self, before: ValueId, after: ValueId) -> ValueId {
        self.select(self.tight, before, after)
    }
}
