//! Queues of tasks: the one of all, and each workgroup's own.
//!
//! A task is a label, a frame that gets the results, and registers; or a frame that has what it waits for. What is put into a workgroup's
//! queue in a round is taken in a later one, what is put into the queue of all in an epoch, in a later epoch.

use super::machine::{Machine, State};
use super::memory::{control, group, label};
use girih_ir::{Op, Type, ValueId};

impl Machine {
    /// Where a word of a task in the queue of all stands.
    fn task_word(&mut self, place: ValueId, word: u32) -> ValueId {
        let one = self.b.u32(1);
        let mask = self.op(Op::Sub, self.tasks, one);
        let place = self.op(Op::And, place, mask);
        let size = self.b.u32(self.shape.task());
        let first = self.op(Op::Mul, place, size);
        self.plus(first, word)
    }
    /// Where a word of a task in the workgroup's queue stands.
    fn own_task_word(&mut self, place: ValueId, word: u32) -> ValueId {
        let ring = self.shape.ring();
        let mask = self.b.u32(ring - 1);
        let place = self.op(Op::And, place, mask);
        let sizes = self.b.u32(self.shape.task());
        let all = self.op(Op::Mul, self.tasks, sizes);
        let each = self.b.u32(self.shape.task() * ring);
        let first = self.op(Op::Mul, self.group, each);
        let first = self.op(Op::Add, all, first);
        let first = self.plus(first, word * ring);
        self.op(Op::Add, first, place)
    }

    /// Adds a task to the workgroup's queue, or if that is full to that of all.
    pub(super) fn new_task(&mut self, label: ValueId, base: ValueId, registers: &[ValueId]) {
        let place = self.lane.count(&mut self.b, group::QUEUE_TAIL, 1);
        let first = self.lane.get(&mut self.b, group::QUEUE_FIRST);
        let filled = self.op(Op::Sub, place, first);
        let room = self.b.u32(self.shape.ring());
        let fits = self.op(Op::Lt, filled, room);
        let words: Vec<ValueId> = [label, base].iter().chain(registers).copied().collect();
        self.choose(
            fits,
            0,
            |m| {
                for (i, word) in (0..).zip(&words) {
                    let at = m.own_task_word(place, i);
                    m.b.store(Type::U32, m.queue, at, *word);
                }
                vec![]
            },
            |m| {
                m.new_common_task(&words);
                vec![]
            },
        );
    }
    /// Adds a task to the queue of all.
    pub(super) fn new_common_task(&mut self, words: &[ValueId]) {
        let place = self.count(control::TAIL);
        for (i, word) in (0..).zip(words) {
            let at = self.task_word(place, i);
            self.b.store(Type::U32, self.queue, at, *word);
        }
    }
    /// The frame is a task.
    pub(super) fn new_resumption(&mut self, frame: ValueId) {
        let resume = self.b.u32(label::RESUME);
        self.new_task(resume, frame, &[]);
    }

    /// The state with a task, if the lane has nothing to do and there is one.
    pub(super) fn taken(&mut self, state: &State) -> State {
        let idle = self.is(state.label, label::IDLE);
        self.change(idle, state, |m| {
            let place = m.lane.count(&mut m.b, group::QUEUE_HEAD, 1);
            let limit = m.lane.get(&mut m.b, group::QUEUE_LIMIT);
            let is_there = m.is_before(place, limit);
            m.change(is_there, state, |m| m.task(place))
        })
    }
    fn task(&mut self, place: ValueId) -> State {
        let load = |m: &mut Self, word: u32| {
            let at = m.own_task_word(place, word);
            m.b.load(Type::U32, m.queue, at)
        };
        let (label, base) = (load(self, 0), load(self, 1));
        let zero = self.b.u32(0);
        let is_frame = self.is(label, label::RESUME);
        let registers = self.shape.registers;
        let words = self.choose(
            is_frame,
            5 + registers as usize,
            |m| m.resume(base).words(),
            |m| {
                let registers = (0..registers).map(|i| load(m, 2 + i)).collect();
                State { label, base, depth: zero, bottom: zero, near: zero, registers }.words()
            },
        );
        State::of(&words)
    }

    /// Copies the workgroup's share of the tasks of all into its own queue, which is empty.
    pub(super) fn take_share(&mut self) {
        // One workgroup after the other takes a task: those that come from one place are alike, and shall not all go to one.
        let (share, handed, head) = (self.get(control::SHARE), self.get(control::HANDED), self.get(control::HEAD));
        let one = self.b.u32(1);
        let less = self.op(Op::Sub, share, one);
        let groups = self.op(Op::Add, handed, less);
        let groups = self.op(Op::Div, groups, share);
        let groups = self.op(Op::Max, groups, one);
        let before = self.op(Op::Min, self.group, handed);
        let behind = self.op(Op::Sub, handed, before);
        let count = self.op(Op::Add, behind, groups);
        let count = self.op(Op::Sub, count, one);
        let count = self.op(Op::Div, count, groups);
        let has_one = self.op(Op::Lt, self.local, count);
        self.when(has_one, |m| {
            let from = m.op(Op::Mul, m.local, groups);
            let from = m.op(Op::Add, from, m.group);
            let from = m.op(Op::Add, head, from);
            for word in 0..m.shape.task() {
                let at = m.task_word(from, word);
                let value = m.b.load(Type::U32, m.queue, at);
                let at = m.own_task_word(m.local, word);
                m.b.store(Type::U32, m.queue, at, value);
            }
        });
        self.by_one(|m| {
            let zero = m.b.u32(0);
            for (word, value) in [
                (group::QUEUE_HEAD, zero),
                (group::QUEUE_FIRST, zero),
                (group::QUEUE_LIMIT, count),
                (group::QUEUE_TAIL, count),
            ] {
                m.lane.set(&mut m.b, word, value);
            }
        });
    }

    /// Puts all tasks of the workgroup into the queue of all. All lanes come here.
    pub(super) fn give_tasks_away(&mut self) {
        let place = self.agree(|m| {
            let tasks = m.turn_rings();
            m.add(control::FLUSHED, tasks);
            m.add(control::TAIL, tasks)
        });
        let head = self.lane.get(&mut self.b, group::QUEUE_HEAD);
        let limit = self.lane.get(&mut self.b, group::QUEUE_LIMIT);
        let count = self.op(Op::Sub, limit, head);
        self.for_each(self.local, count, self.shape.workgroup, |m, i| {
            let from = m.op(Op::Add, head, i);
            let to = m.op(Op::Add, place, i);
            for word in 0..m.shape.task() {
                let at = m.own_task_word(from, word);
                let value = m.b.load(Type::U32, m.queue, at);
                let at = m.task_word(to, word);
                m.b.store(Type::U32, m.queue, at, value);
            }
        });
    }

    /// Between rounds: rings begin behind what was taken and end where they were added to. Gives how many tasks there are.
    pub(super) fn turn_rings(&mut self) -> ValueId {
        use group::{FRAME_FIRST, FRAME_HEAD, FRAME_LIMIT, FRAME_TAIL};
        use group::{QUEUE_FIRST, QUEUE_HEAD, QUEUE_LIMIT, QUEUE_TAIL};
        let (ring, spare) = (self.shape.ring(), self.shape.spare());
        self.turn([FRAME_HEAD, FRAME_LIMIT, FRAME_TAIL, FRAME_FIRST], spare);
        self.turn([QUEUE_HEAD, QUEUE_LIMIT, QUEUE_TAIL, QUEUE_FIRST], ring)
    }
    fn turn(&mut self, words: [u32; 4], room: u32) -> ValueId {
        let [head, limit, tail, first] = words.map(|word| self.lane.get(&mut self.b, word));
        // More was asked for than there was, more was offered than there is room.
        let over = self.is_before(limit, head);
        let head = self.select(over, limit, head);
        let most = self.plus(first, room);
        let over = self.is_before(most, tail);
        let full = self.select(over, most, tail);
        for (word, value) in words.into_iter().zip([head, full, full, head]) {
            self.lane.set(&mut self.b, word, value);
        }
        self.op(Op::Sub, full, head)
    }
}
