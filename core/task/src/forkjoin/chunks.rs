//! Memory of a workgroup for the cells that its lanes make: a chunk of the heap, which is made new between rounds.
//!
//! Where a heap may not grow, lanes run *tightly* ([`TIGHT`](super::memory::TIGHT)): no segment begins if the chunk might not have enough for it and for what others
//! have begun. So nobody finds no memory half way, and the epoch ends when there is no chunk; then the host may find some, and all goes on.

use super::machine::Machine;
use super::memory::{CHUNK, control, group};
use girih_ir::{Op, Type, ValueId};

impl Machine {
    /// Units that all lanes of the workgroup take at most for a segment each, whose loops go round once.
    fn most_taken(&self) -> u32 {
        self.shape.workgroup * self.shape.reserve.max(1)
    }

    /// Between rounds: the workgroup has memory for cells, if there is any.
    pub(super) fn new_chunk(&mut self) {
        let (unit, end) = (self.lane.get(&mut self.b, group::UNIT), self.lane.get(&mut self.b, group::END));
        let most = self.most_taken();
        let chunk = CHUNK * self.shape.workgroup;
        let (few, some) = (self.b.u32(self.shape.workgroup), self.b.u32(most.max(chunk / 4)));
        let least = self.select(self.tight, some, few);
        let little = self.op(Op::Add, unit, least);
        let lacks = self.op(Op::Gt, little, end);
        let lacks = self.b.op(Op::Convert, Type::U32, &[lacks]);
        let lacks = self.is_not(lacks, 0);
        self.when(lacks, |m| {
            let (top, all) = (m.get(control::HEAP_TOP), m.get(control::HEAP_END));
            let (large, small) = (m.b.u32(chunk.max(2 * most)), m.b.u32(most));
            let (chunk, twice) = (m.b.u32(chunk), m.b.u32(2 * chunk));
            // Where little is left, lanes take what they need one by one, or the least that all of them may need.
            let after = m.op(Op::Add, top, large);
            let is_much = m.op(Op::Le, after, all);
            let either = m.select(is_much, large, small);
            let size = m.select(m.tight, either, chunk);
            let needed = m.select(m.tight, either, twice);
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
        self.when(self.tight, |m| {
            let (unit, end) = (m.lane.get(&mut m.b, group::UNIT), m.lane.get(&mut m.b, group::END));
            let left = m.op(Op::Sub, end, unit);
            let zero = m.b.u32(0);
            let is_over = m.op(Op::Gt, unit, end);
            let left = m.select(is_over, zero, left);
            // So every lane can begin a segment, and half of what is there is taken before none can.
            let (twice, one) = (m.b.u32(2 * most), m.b.u32(1));
            let turns = m.op(Op::Div, left, twice);
            let turns = m.op(Op::Max, turns, one);
            m.lane.set(&mut m.b, group::TURNS, turns);
        });
    }

    /// How often loops go round in a segment of this round, and the units that all lanes may take for one then.
    pub(super) fn quantum(&mut self) -> (ValueId, ValueId) {
        let turns = self.lane.get(&mut self.b, group::TURNS);
        let most = self.b.u32(self.most_taken());
        let units = self.op(Op::Mul, turns, most);
        (turns, units)
    }

    /// Whether lanes run tightly and the workgroup's chunk might not have so many units: 1 or 0.
    fn starves(&mut self, units: ValueId) -> ValueId {
        self.choose(
            self.tight,
            1,
            |m| {
                let (unit, end) = (m.lane.get(&mut m.b, group::UNIT), m.lane.get(&mut m.b, group::END));
                let after = m.op(Op::Add, unit, units);
                let starves = m.op(Op::Gt, after, end);
                vec![m.b.op(Op::Convert, Type::U32, &[starves])]
            },
            |m| vec![m.b.u32(0)],
        )[0]
    }

    /// Leaves the round if the next segment might find no memory.
    pub(super) fn leave_if_starving(&mut self, units: ValueId, words: &[ValueId]) {
        let starves = self.starves(units);
        let starves = self.is(starves, 1);
        self.leave_if(starves, words);
    }

    /// What the workgroup does next: it stops if there is no chunk for it, and the host is told.
    pub(super) fn or_starves(&mut self, found: ValueId, stop: u32, population: ValueId) -> ValueId {
        let most = self.b.u32(self.most_taken());
        let starves = self.starves(most);
        let starves = self.is(starves, 1);
        let has_work = self.is_not(population, 0);
        let starves = self.both(Op::And, starves, has_work);
        let one = self.b.u32(1);
        self.when(starves, |m| m.set(control::STARVED, one));
        let stop = self.b.u32(stop);
        self.select(starves, stop, found)
    }

    /// Steps that a segment may take: tightly its loops go round so often.
    pub(super) fn steps_within(&mut self, turns: ValueId, steps: ValueId) -> ValueId {
        let less = self.b.u32(u32::MAX);
        let turns = self.op(Op::Add, turns, less);
        self.select(self.tight, turns, steps)
    }
    /// The steps that are left behind a segment.
    pub(super) fn steps_behind(&mut self, before: ValueId, after: ValueId) -> ValueId {
        self.select(self.tight, before, after)
    }
}
