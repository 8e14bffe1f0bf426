//! Frames of the pool.

use super::machine::{Machine, State};
use super::memory::{control, frame, group, label, pending};
use girih_ir::attrs::Attr;
use girih_ir::{Op, Type, ValueId};

impl Machine {
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

    /// Does something for each word that is kept for a label, by its place in a stack's frame and in a frame of the pool.
    fn each_kept(&mut self, label: ValueId, body: impl FnOnce(&mut Self, ValueId, ValueId)) {
        let (shift, zero) = (self.b.u32(label::COUNT), self.b.u32(0));
        let label = self.without_latent(label);
        let count = self.op(Op::Shr, label, shift);
        let all = self.b.u32((1 << (label::END - label::COUNT)) - 1);
        let count = self.op(Op::And, count, all);
        let before = frame::RESULTS + self.shape.results;
        self.for_each(zero, count, 1, |m, i| {
            let (stack, pool) = (m.plus(i, 1), m.plus(i, before));
            body(m, stack, pool);
        });
    }
    /// Copies what is kept for a label into a frame, whose words are found by their place in the stack's frame.
    fn keep(&mut self, label: ValueId, frame: ValueId, find: impl FnOnce(&mut Self, ValueId) -> ValueId) {
        self.each_kept(label, |m, stack, pool| {
            let word = find(m, stack);
            let at = m.frame_word(frame, pool);
            m.b.store(Type::U32, m.frames, at, word);
        });
    }
    /// Copies what may be kept from a frame to the stack's begin: all words at once, so that the lane waits for memory once.
    fn unkeep(&mut self, frame: ValueId) {
        let zero = self.b.u32(0);
        let first = frame::RESULTS + self.shape.results;
        let words: Vec<ValueId> = (0..self.shape.kept).map(|i| self.load_frame(frame, first + i)).collect();
        for (i, word) in (1..).zip(words) {
            self.lane.store_stack(&mut self.b, zero, i, word);
        }
    }
    /// Copies it from one place of the stack to its begin.
    pub(super) fn sink(&mut self, label: ValueId, depth: ValueId) {
        let zero = self.b.u32(0);
        self.each_kept(label, |m, stack, _| {
            let at = m.lane.stack_word(&mut m.b, depth, stack);
            let word = m.b.load(Type::U32, m.lane.newest, at);
            let at = m.lane.stack_word(&mut m.b, zero, stack);
            m.b.store(Type::U32, m.lane.newest, at, word);
        });
    }

    /// Fills a frame from the place just above the stack's end.
    pub(super) fn fill_frame(&mut self, frame: ValueId, label: ValueId, base: ValueId, depth: ValueId) {
        self.store_frame(frame, frame::LABEL, label);
        self.store_frame(frame, frame::BASE, base);
        self.keep(label, frame, |m, word| {
            let at = m.lane.stack_word(&mut m.b, depth, word);
            m.b.load(Type::U32, m.lane.newest, at)
        });
    }
    /// Fills a frame, with this label and this base, from any place of a stack.
    pub(super) fn fill_frame_of(
        &mut self,
        state: &State,
        (frame, label, base): (ValueId, ValueId, ValueId),
        depth: ValueId,
    ) {
        self.store_frame(frame, frame::LABEL, label);
        self.store_frame(frame, frame::BASE, base);
        self.keep(label, frame, |m, word| m.frame_of_stack(state, depth, word));
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
        let label = self.without_latent(label);
        self.unkeep(frame);
        self.free_frame(frame);
        let zero = self.b.u32(0);
        State { label, base, depth: zero, bottom: zero, near: zero, registers: registers.to_vec() }
    }
    /// Goes on with a frame that has what it waits for.
    pub(super) fn resume(&mut self, frame: ValueId) -> State {
        let zero = self.b.u32(0);
        let mut registers: Vec<ValueId> =
            (0..self.shape.results).map(|i| self.load_frame(frame, frame::RESULTS + i)).collect();
        registers.resize(self.shape.registers as usize, zero);
        self.return_to(frame, &registers)
    }

    /// Where a place of the ring of free frames stands, and the frame that a word of 0 means there: at first the ring holds the frames that no
    /// workgroup has, in their order, and nobody has to write them.
    fn ring_word(&mut self, place: ValueId) -> (ValueId, ValueId) {
        // As many places again as there are frames: what is given back in an epoch never comes where something was taken in it.
        let one = self.b.u32(1);
        let places = self.op(Op::Shl, self.pool_frames, one);
        let mask = self.op(Op::Sub, places, one);
        let place = self.op(Op::And, place, mask);
        let begin = self.b.u32(self.shape.pool_frame());
        let zero = self.b.u32(0);
        let begin = self.frame_word(zero, begin);
        let workgroup = self.b.u32(self.shape.workgroup);
        let groups = self.op(Op::Div, self.lane.lane_count, workgroup);
        let own = self.b.u32(self.shape.own_frames());
        let first = self.op(Op::Mul, groups, own);
        let first = self.plus(first, 1);
        (self.op(Op::Add, begin, place), self.op(Op::Add, first, place))
    }
    /// The same of the workgroup's own ring, in shared memory.
    pub(super) fn spare_word(&mut self, place: ValueId) -> ValueId {
        let mask = self.b.u32(self.shape.spare() - 1);
        self.op(Op::And, place, mask)
    }
    /// A frame of the pool; 0 if there is none.
    pub(super) fn new_frame(&mut self) -> ValueId {
        let place = self.lane.count(&mut self.b, group::FRAME_HEAD, 1);
        let limit = self.lane.get(&mut self.b, group::FRAME_LIMIT);
        let is_own = self.is_before(place, limit);
        let own = |m: &mut Self| {
            let at = m.spare_word(place);
            vec![m.b.load(Type::U32, m.spare, at)]
        };
        self.choose(is_own, 1, own, |m| {
            let (place, limit) = (m.count(control::FRAME_HEAD), m.get(control::FRAME_LIMIT));
            let is_there = m.is_before(place, limit);
            let load = |m: &mut Self| {
                let (at, usual) = m.ring_word(place);
                let word = m.b.load(Type::U32, m.frames, at);
                vec![m.op(Op::Xor, word, usual)]
            };
            m.choose(is_there, 1, load, |m| vec![m.b.u32(0)])
        })[0]
    }
    pub(super) fn free_frame(&mut self, frame: ValueId) {
        let place = self.lane.count(&mut self.b, group::FRAME_TAIL, 1);
        let first = self.lane.get(&mut self.b, group::FRAME_FIRST);
        let filled = self.op(Op::Sub, place, first);
        let room = self.b.u32(self.shape.spare());
        let fits = self.op(Op::Lt, filled, room);
        self.choose(
            fits,
            0,
            |m| {
                let at = m.spare_word(place);
                m.b.store(Type::U32, m.spare, at, frame);
                vec![]
            },
            |m| {
                let place = m.count(control::FRAME_TAIL);
                let (at, usual) = m.ring_word(place);
                let word = m.op(Op::Xor, frame, usual);
                m.b.store(Type::U32, m.frames, at, word);
                vec![]
            },
        );
    }

    /// A new frame waits for two: a fork, and the code behind it.
    pub(super) fn wait_for_two(&mut self, frame: ValueId) {
        let none = self.b.u32(0);
        self.b.op_with(Op::AtomicStore, Some(Type::U32), &[self.pending, frame, none], &[] as &[Attr]);
    }
    /// One of the two has come that a frame waits for; if it was the second one, the frame is a task: of this workgroup if what the first one
    /// wrote can be read here, else of all, from the next epoch on.
    pub(super) fn arrive(&mut self, frame: ValueId) {
        let mine = self.stamp;
        let first = self.b.op(Op::AtomicExchange, Type::U32, &[self.pending, frame, mine]);
        let was_last = self.is_not(first, 0);
        self.when(was_last, |m| {
            let differs = m.op(Op::Xor, first, mine);
            let shift = m.b.u32(pending::EPOCH);
            let earlier = m.op(Op::Shr, differs, shift);
            let earlier = m.is_not(earlier, 0);
            let own = m.is(differs, 0);
            let is_there = m.both(Op::Or, earlier, own);
            m.choose(
                is_there,
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
