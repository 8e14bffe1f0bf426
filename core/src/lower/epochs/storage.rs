//! A lane's own words, its stack, the pool's frames, and the queue of tasks.

use super::machine::Machine;
use super::memory::{control, frame, label};
use crate::ir::{Op, Scalar, Type, ValueId};

impl Machine<'_> {
    /// Where a word of the lane stands.
    fn own_word(&mut self, word: ValueId) -> ValueId {
        let row = self.op(Op::Mul, word, self.lane_count);
        self.op(Op::Add, row, self.number)
    }
    pub(super) fn load_own(&mut self, word: u32) -> ValueId {
        let word = self.b.u32(word);
        let at = self.own_word(word);
        self.b.load(Type::U32, self.lanes, at)
    }
    pub(super) fn store_own(&mut self, word: u32, value: ValueId) {
        let word = self.b.u32(word);
        let at = self.own_word(word);
        self.b.store(Type::U32, self.lanes, at, value);
    }
    /// Where a word of a frame of the stack stands.
    pub(super) fn stack_word(&mut self, depth: ValueId, word: u32) -> ValueId {
        let size = self.b.u32(self.shape.stack_frame());
        let frame = self.op(Op::Mul, depth, size);
        let word = self.plus(frame, self.shape.lane_words() + word);
        self.own_word(word)
    }
    pub(super) fn push(&mut self, depth: ValueId, behind: ValueId, kept: &[ValueId]) {
        for (i, value) in (0..).zip([behind].iter().chain(kept)) {
            let at = self.stack_word(depth, i);
            self.b.store(Type::U32, self.lanes, at, *value);
        }
    }

    /// Where a word of a frame of the pool stands.
    fn frame_word(&mut self, frame: ValueId, word: u32) -> ValueId {
        let size = self.b.u32(self.shape.pool_frame());
        let first = self.op(Op::Mul, frame, size);
        self.plus(first, word)
    }
    pub(super) fn load_frame(&mut self, frame: ValueId, word: u32) -> ValueId {
        let at = self.frame_word(frame, word);
        self.b.load(Type::U32, self.frames, at)
    }
    pub(super) fn store_frame(&mut self, frame: ValueId, word: u32, value: ValueId) {
        let at = self.frame_word(frame, word);
        self.b.store(Type::U32, self.frames, at, value);
    }
    /// Where a place of the ring of free frames stands.
    fn ring_word(&mut self, place: ValueId) -> ValueId {
        // As many places again as there are frames: what is given back in an epoch never comes where something was taken in it.
        let one = self.b.u32(1);
        let places = self.op(Op::Shl, self.pool_frames, one);
        let mask = self.op(Op::Sub, places, one);
        let place = self.op(Op::And, place, mask);
        let begin = self.frame_word(self.pool_frames, 0);
        self.op(Op::Add, begin, place)
    }
    /// A frame of the pool; 0 if there is none.
    pub(super) fn new_frame(&mut self) -> ValueId {
        let (place, limit) = (self.count(control::FRAME_HEAD, 1), self.get(control::FRAME_LIMIT));
        let left = self.op(Op::Sub, limit, place);
        let left = self.b.op(Op::Bitcast, Type::I32, &[left]);
        let zero = self.b.constant(Scalar::I32, 0);
        let is_there = self.b.op(Op::Gt, Type::I32, &[left, zero]);
        let load = |m: &mut Self| {
            let at = m.ring_word(place);
            vec![m.b.load(Type::U32, m.frames, at)]
        };
        self.choose(is_there, 1, load, |m| vec![m.b.u32(0)])[0]
    }
    pub(super) fn free_frame(&mut self, frame: ValueId) {
        let place = self.count(control::FRAME_TAIL, 1);
        let at = self.ring_word(place);
        self.b.store(Type::U32, self.frames, at, frame);
    }
    /// A frame that waits for a call alone.
    pub(super) fn fill_frame(&mut self, frame: ValueId, behind: ValueId, base: ValueId, kept: &[ValueId]) {
        let zero = self.b.u32(0);
        self.store_frame(frame, frame::LABEL, behind);
        self.store_frame(frame, frame::BASE, base);
        self.store_frame(frame, frame::WAITS, zero);
        self.keep(frame, kept);
    }
    pub(super) fn keep(&mut self, frame: ValueId, kept: &[ValueId]) {
        for (i, value) in (0..).zip(kept) {
            self.store_frame(frame, frame::RESULTS + self.shape.kept + i, *value);
        }
    }
    pub(super) fn kept_of(&mut self, frame: ValueId) -> Vec<ValueId> {
        let words = 0..self.shape.most_kept;
        words.map(|i| self.load_frame(frame, frame::RESULTS + self.shape.kept + i)).collect()
    }

    pub(super) fn task_word(&mut self, place: ValueId, word: u32) -> ValueId {
        let one = self.b.u32(1);
        let mask = self.op(Op::Sub, self.tasks, one);
        let place = self.op(Op::And, place, mask);
        let size = self.b.u32(self.shape.task());
        let first = self.op(Op::Mul, place, size);
        self.plus(first, word)
    }
    pub(super) fn new_task(&mut self, label: ValueId, frame: ValueId, registers: &[ValueId]) {
        let place = self.count(control::TAIL, 1);
        for (i, value) in (0..).zip([label, frame].iter().chain(registers)) {
            let at = self.task_word(place, i);
            self.b.store(Type::U32, self.queue, at, *value);
        }
    }

    /// A frame has one thing less to wait for; if that was the last one, it is a task.
    pub(super) fn arrive(&mut self, frame: ValueId) {
        let less = self.b.u32(u32::MAX);
        let before = self.b.op(Op::AtomicAdd, Type::U32, &[self.pending, frame, less]);
        let was_last = self.is(before, 1);
        self.when(was_last, |m| {
            let resume = m.b.u32(label::RESUME);
            m.new_task(resume, frame, &[]);
        });
    }
}
