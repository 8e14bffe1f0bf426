//! A lane's own words, and frames of the pool.

use super::machine::{Machine, State};
use super::memory::{control, frame, group, label, pending};
use crate::ir::attrs::Attr;
use crate::ir::{Op, Type, ValueId};

/// Words that are copied one by one instead of in a loop.
const FEW: u32 = 6;

impl Machine {
    pub(super) fn load_own(&mut self, word: u32) -> ValueId {
        let word = self.b.u32(word);
        let at = self.lane.own_word(&mut self.b, word);
        self.b.load(Type::U32, self.lane.lanes, at)
    }
    pub(super) fn store_own(&mut self, word: u32, value: ValueId) {
        let word = self.b.u32(word);
        let at = self.lane.own_word(&mut self.b, word);
        self.b.store(Type::U32, self.lane.lanes, at, value);
    }

    /// Where a word of a frame of the pool stands.
    fn frame_word(&mut self, frame: ValueId, word: ValueId) -> ValueId {
        let row = self.op(Op::Mul, word, self.pool_frames);
        self.op(Op::Add, row, frame)
    }
    pub(super) fn load_frame(&mut self, frame: ValueId, word: u32) -> ValueId {
        let word = self.b.u32(word);
        let at = self.frame_word(frame, word);
        self.b.load(Type::U32, self.frames, at)
    }
    pub(super) fn store_frame(&mut self, frame: ValueId, word: u32, value: ValueId) {
        let word = self.b.u32(word);
        let at = self.frame_word(frame, word);
        self.b.store(Type::U32, self.frames, at, value);
    }

    /// Does something for each word that is kept, by its place in a stack's frame and in a frame of the pool.
    fn each_kept(&mut self, body: impl Fn(&mut Self, ValueId, ValueId)) {
        let before = frame::RESULTS + self.shape.results;
        if self.shape.kept <= FEW {
            for i in 0..self.shape.kept {
                let (stack, pool) = (self.b.u32(1 + i), self.b.u32(before + i));
                body(self, stack, pool);
            }
            return;
        }
        let (zero, count) = (self.b.u32(0), self.b.u32(self.shape.kept));
        self.for_each(zero, count, 1, |m, i| {
            let (stack, pool) = (m.plus(i, 1), m.plus(i, before));
            body(m, stack, pool);
        });
    }
    /// Copies what is kept from the stack into a frame.
    fn keep(&mut self, frame: ValueId, depth: ValueId) {
        self.each_kept(|m, stack, pool| {
            let at = m.lane.stack_word(&mut m.b, depth, stack);
            let word = m.b.load(Type::U32, m.lane.lanes, at);
            let at = m.frame_word(frame, pool);
            m.b.store(Type::U32, m.frames, at, word);
        });
    }
    /// Copies what is kept from a frame to the stack's begin.
    fn unkeep(&mut self, frame: ValueId) {
        let zero = self.b.u32(0);
        self.each_kept(|m, stack, pool| {
            let at = m.frame_word(frame, pool);
            let word = m.b.load(Type::U32, m.frames, at);
            let at = m.lane.stack_word(&mut m.b, zero, stack);
            m.b.store(Type::U32, m.lane.lanes, at, word);
        });
    }
    /// Copies what is kept from one place of the stack to its begin.
    pub(super) fn sink(&mut self, depth: ValueId) {
        let zero = self.b.u32(0);
        self.each_kept(|m, stack, _| {
            let at = m.lane.stack_word(&mut m.b, depth, stack);
            let word = m.b.load(Type::U32, m.lane.lanes, at);
            let at = m.lane.stack_word(&mut m.b, zero, stack);
            m.b.store(Type::U32, m.lane.lanes, at, word);
        });
    }

    /// Fills a frame from a place of the stack.
    pub(super) fn fill_frame(&mut self, frame: ValueId, label: ValueId, base: ValueId, depth: ValueId) {
        self.store_frame(frame, frame::LABEL, label);
        self.store_frame(frame, frame::BASE, base);
        self.keep(frame, depth);
    }
    /// Puts results into a frame.
    pub(super) fn give_results(&mut self, frame: ValueId, registers: &[ValueId]) {
        for (i, value) in (0..self.shape.results).zip(registers) {
            self.store_frame(frame, frame::RESULTS + i, *value);
        }
    }
    /// Goes on behind a call whose frame this is, with what it gives in registers.
    pub(super) fn return_to(&mut self, frame: ValueId, registers: &[ValueId]) -> State {
        let (label, base) = (self.load_frame(frame, frame::LABEL), self.load_frame(frame, frame::BASE));
        self.unkeep(frame);
        self.free_frame(frame);
        let zero = self.b.u32(0);
        State { label, base, depth: zero, bottom: zero, registers: registers.to_vec() }
    }
    /// Goes on with a frame that has what it waits for.
    pub(super) fn resume(&mut self, frame: ValueId) -> State {
        let zero = self.b.u32(0);
        let mut registers: Vec<ValueId> =
            (0..self.shape.results).map(|i| self.load_frame(frame, frame::RESULTS + i)).collect();
        registers.resize(self.shape.registers as usize, zero);
        self.return_to(frame, &registers)
    }

    /// Where a place of the ring of free frames stands.
    fn ring_word(&mut self, place: ValueId) -> ValueId {
        // As many places again as there are frames: what is given back in an epoch never comes where something was taken in it.
        let one = self.b.u32(1);
        let places = self.op(Op::Shl, self.pool_frames, one);
        let mask = self.op(Op::Sub, places, one);
        let place = self.op(Op::And, place, mask);
        let begin = self.b.u32(self.shape.pool_frame());
        let zero = self.b.u32(0);
        let begin = self.frame_word(zero, begin);
        self.op(Op::Add, begin, place)
    }
    /// The same of the workgroup's own ring.
    fn own_ring_word(&mut self, place: ValueId) -> ValueId {
        let ring = self.shape.ring();
        let mask = self.b.u32(ring - 1);
        let place = self.op(Op::And, place, mask);
        let begin = self.b.u32(self.shape.pool_frame() + 2);
        let zero = self.b.u32(0);
        let begin = self.frame_word(zero, begin);
        let each = self.b.u32(ring);
        let own = self.op(Op::Mul, self.group, each);
        let begin = self.op(Op::Add, begin, own);
        self.op(Op::Add, begin, place)
    }
    /// A frame of the pool; 0 if there is none.
    pub(super) fn new_frame(&mut self) -> ValueId {
        let place = self.lane.count(&mut self.b, group::FRAME_HEAD, 1);
        let limit = self.lane.get(&mut self.b, group::FRAME_LIMIT);
        let is_own = self.is_before(place, limit);
        let own = |m: &mut Self| {
            let at = m.own_ring_word(place);
            vec![m.b.load(Type::U32, m.frames, at)]
        };
        self.choose(is_own, 1, own, |m| {
            let (place, limit) = (m.count(control::FRAME_HEAD), m.get(control::FRAME_LIMIT));
            let is_there = m.is_before(place, limit);
            let load = |m: &mut Self| {
                let at = m.ring_word(place);
                vec![m.b.load(Type::U32, m.frames, at)]
            };
            m.choose(is_there, 1, load, |m| vec![m.b.u32(0)])
        })[0]
    }
    pub(super) fn free_frame(&mut self, frame: ValueId) {
        let place = self.lane.count(&mut self.b, group::FRAME_TAIL, 1);
        let first = self.lane.get(&mut self.b, group::FRAME_FIRST);
        let filled = self.op(Op::Sub, place, first);
        let room = self.b.u32(self.shape.ring());
        let fits = self.op(Op::Lt, filled, room);
        self.choose(
            fits,
            0,
            |m| {
                let at = m.own_ring_word(place);
                m.b.store(Type::U32, m.frames, at, frame);
                vec![]
            },
            |m| {
                let place = m.count(control::FRAME_TAIL);
                let at = m.ring_word(place);
                m.b.store(Type::U32, m.frames, at, frame);
                vec![]
            },
        );
    }

    /// A new frame's word of those that wait for it: a fork, and the code behind it.
    pub(super) fn wait_for_two(&mut self, frame: ValueId) {
        let shift = self.b.u32(pending::OWNER);
        let owner = self.op(Op::Shl, self.group, shift);
        let two = self.b.u32(2);
        let word = self.op(Op::Or, owner, two);
        self.b.op_with(Op::AtomicStore, Some(Type::U32), &[self.pending, frame, word], &[] as &[Attr]);
    }
    /// A frame has one thing less to wait for; if that was the last one, it is a task: of this workgroup if all came from here, else of all,
    /// because what others wrote can only be read in the next epoch.
    pub(super) fn arrive(&mut self, frame: ValueId) {
        let word = self.b.op(Op::AtomicLoad, Type::U32, &[self.pending, frame]);
        let shift = self.b.u32(pending::OWNER);
        let owner = self.op(Op::Shr, word, shift);
        let is_foreign = self.op(Op::Ne, owner, self.group);
        let (here, elsewhere) = (self.b.u32(u32::MAX), self.b.u32(pending::FOREIGN - 1));
        let by = self.select(is_foreign, elsewhere, here);
        let before = self.b.op(Op::AtomicAdd, Type::U32, &[self.pending, frame, by]);
        let mask = self.b.u32(pending::FOREIGN - 1);
        let count = self.op(Op::And, before, mask);
        let was_last = self.is(count, 1);
        self.when(was_last, |m| {
            let after = m.op(Op::Add, before, by);
            let mask = m.b.u32((1 << pending::OWNER) - pending::FOREIGN);
            let foreign = m.op(Op::And, after, mask);
            let is_own = m.is(foreign, 0);
            m.choose(
                is_own,
                0,
                |m| {
                    m.new_resumption(frame);
                    vec![]
                },
                |m| {
                    let resume = m.b.u32(label::RESUME);
                    m.new_common_task(&[resume, frame]);
                    vec![]
                },
            );
        });
    }
}
