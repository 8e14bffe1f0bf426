//! What a lane does when calls end or must wait, and when others lack work.
//!
//! Forks are calls: the stack says of a frame whether it waits for a fork. Only when lanes lack work, what is behind the *oldest* fork of a
//! stack, which is most of what is left there, becomes a task, and the fork's results go to a frame of the pool. (Lazy task creation: Mohr,
//! Kranz, Halstead 1990.)
//!
//! A frame of the pool is filled before it is named to others, and freed by who goes on with it.

use super::machine::{Machine, State};
use super::memory::{control, fault, frame, label, lane};
use super::steps::RETURNING;
use girih_ir::{Op, Type, ValueId};

impl Machine {
    pub(super) fn idle(&mut self, state: &State) -> State {
        let zero = self.b.u32(0);
        State { label: self.b.u32(label::IDLE), base: zero, depth: zero, bottom: zero, near: zero, ..state.clone() }
    }
    /// A frame's number as a base: whether it waits for a fork.
    pub(super) fn base(&mut self, frame: ValueId, is_fork: bool) -> ValueId {
        let one = self.b.u32(1);
        let base = self.op(Op::Shl, frame, one);
        self.plus(base, u32::from(is_fork))
    }
    pub(super) fn without_fork(&mut self, label: ValueId) -> ValueId {
        let mask = self.b.u32(!label::FORK);
        self.op(Op::And, label, mask)
    }

    /// Returns from a stack that is empty.
    pub(super) fn give(&mut self, from: &State) -> State {
        let is_root = self.is(from.base, 0);
        let count = from.words().len();
        State::of(&self.choose(is_root, count, |m| m.end(from).words(), |m| m.give_to_frame(from).words()))
    }

    /// The label of the newest frame of a stack that ends there, where the stack ends without it, and where its newest frames begin.
    pub(super) fn pop(&mut self, depth: ValueId, near: ValueId) -> (ValueId, ValueId, ValueId) {
        let depth = self.plus(depth, u32::MAX);
        let near = self.moved_in(depth, near);
        let label = self.lane.load_stack(&mut self.b, depth, 0);
        (self.without_fork(label), depth, near)
    }

    /// The call of the host is over.
    fn end(&mut self, from: &State) -> State {
        for (i, value) in (0..self.shape.results).zip(&from.registers) {
            self.set(control::RESULTS + i, *value);
        }
        let one = self.b.u32(1);
        self.set(control::DONE, one);
        self.idle(from)
    }

    /// The frame of a base, and whether it waits for a fork.
    fn frame_of(&mut self, base: ValueId) -> (ValueId, ValueId) {
        let one = self.b.u32(1);
        let bit = self.op(Op::And, base, one);
        (self.op(Op::Shr, base, one), self.is(bit, 1))
    }

    /// Returns from a stack that is empty, but leaves what is behind the call to whoever takes its frame.
    fn hand_over(&mut self, from: &State) -> State {
        let is_root = self.is(from.base, 0);
        let leave = |m: &mut Self| {
            let (frame, is_fork) = m.frame_of(from.base);
            m.give_results(frame, &from.registers);
            let arrive = |m: &mut Self| {
                m.arrive(frame);
                vec![]
            };
            m.choose(is_fork, 0, arrive, |m| {
                m.new_resumption(frame);
                vec![]
            });
            m.idle(from).words()
        };
        State::of(&self.choose(is_root, from.words().len(), |m| m.end(from).words(), leave))
    }

    fn give_to_frame(&mut self, from: &State) -> State {
        let (frame, is_fork) = self.frame_of(from.base);
        let words = self.choose(
            is_fork,
            from.words().len(),
            |m| {
                m.give_results(frame, &from.registers);
                m.arrive(frame);
                m.idle(from).words()
            },
            |m| m.return_to(frame, &from.registers).words(),
        );
        State::of(&words)
    }

    /// What is behind a join waits in the fork's frame.
    pub(super) fn wait(&mut self, from: &State) -> State {
        // The lane itself has nothing to do now: what was done after this can be done before.
        let (base, one) = (self.spill(from), self.b.u32(1));
        let (base, _) = self.promote_spilled(base, one);
        let frame = from.registers[0];
        self.fill_frame(frame, from.label, base, from.depth);
        self.arrive(frame);
        self.idle(from)
    }

    pub(super) fn trap(&mut self, from: &State) -> State {
        let why = self.plus(from.registers[0], fault::TRAP);
        self.end_with(why);
        self.idle(from)
    }

    /// There was no memory for a cell that the segment made: what the lane was doing is given up, before others see anything of it.
    pub(super) fn lack(&mut self, from: &State) -> State {
        let (why, word) = (self.b.u32(fault::MEMORY), self.b.u32(lane::LACKS));
        let place = self.b.load(Type::U32, self.lane.own, word);
        self.end_at(why, place, from.base);
        self.idle(from)
    }

    /// Makes tasks of what is behind the oldest forks of the stack, so many at most; gives how many more it might have been.
    pub(super) fn promote(&mut self, state: &State, most: ValueId) -> (State, ValueId) {
        let last = self.repeat(&[state.base, state.bottom, most], |m, params| {
            let (base, bottom, left) = (params[0], params[1], params[2]);
            let over = m.op(Op::Ge, bottom, state.depth);
            let stop = m.is(left, 0);
            let over = m.both(Op::Or, over, stop);
            m.leave_if(over, params);
            let frame = m.new_frame();
            let is_none = m.is(frame, 0);
            let none = params.to_vec();
            let words = m.choose(
                is_none,
                3,
                |m| vec![none[0], none[1], m.b.u32(0)],
                |m| {
                    let first = m.b.u32(0);
                    let word = m.frame_of_stack(state, bottom, first);
                    let flag = m.b.u32(label::FORK);
                    let flag = m.op(Op::And, word, flag);
                    let is_call = m.is(flag, 0);
                    m.choose(
                        is_call,
                        3,
                        |m| {
                            m.fill_frame_of(state, (frame, word, base), bottom);
                            vec![m.base(frame, false), m.plus(bottom, 1), left]
                        },
                        |m| m.promote_fork(state, (frame, word), (base, bottom, left)),
                    )
                },
            );
            m.b.end(Op::Continue, &words);
        });
        let near = self.op(Op::Max, state.near, last[1]);
        (State { base: last[0], bottom: last[1], near, ..state.clone() }, last[2])
    }

    /// What is behind a fork goes into a frame and becomes a task; another frame waits for it and for the fork.
    fn promote_fork(
        &mut self,
        state: &State,
        (frame, word): (ValueId, ValueId),
        (base, bottom, left): (ValueId, ValueId, ValueId),
    ) -> Vec<ValueId> {
        let join = self.new_frame();
        let is_none = self.is(join, 0);
        self.choose(
            is_none,
            3,
            |m| {
                m.free_frame(frame);
                vec![base, bottom, m.b.u32(0)]
            },
            |m| {
                m.wait_for_two(join);
                // Until the code behind the fork comes, whoever looks up from here finds those who wait for both.
                // Its label still says that it is a fork's: what it holds until then are the fork's results.
                m.store_frame(join, frame::LABEL, word);
                m.store_frame(join, frame::BASE, base);
                let label = m.without_fork(word);
                m.fill_frame_of(state, (frame, label, base), bottom);
                // The token is the first word that is kept.
                m.store_frame(frame, frame::RESULTS + m.shape.results, join);
                m.new_resumption(frame);
                vec![m.base(join, true), m.plus(bottom, 1), m.plus(left, u32::MAX)]
            },
        )
    }

    /// Makes a task of what the lane is doing, whose stack has been promoted. If there were too few frames for that, the run ends.
    pub(super) fn suspend(&mut self, state: &State) {
        let has_frames = self.op(Op::Lt, state.bottom, state.depth);
        let returns = self.is(state.label, RETURNING);
        self.when(has_frames, |m| {
            // A lane that returns is at no place of its own.
            let first = m.b.u32(0);
            let oldest = m.frame_of_stack(state, state.bottom, first);
            let doing = m.select(returns, oldest, state.label);
            m.lacks_frames(doing, state.base);
        });
        let is_empty = self.b.op(Op::Not, Type::BOOL, &[has_frames]);
        let returns = self.both(Op::And, returns, is_empty);
        let state = self.change(returns, state, |m| m.hand_over(state));
        let is_busy = self.is_not(state.label, label::IDLE);
        self.when(is_busy, |m| {
            let flag = m.b.u32(label::KEPT);
            let flag = m.op(Op::And, state.label, flag);
            let has_kept = m.is_not(flag, 0);
            m.choose(
                has_kept,
                0,
                |m| {
                    m.suspend_kept(&state);
                    vec![]
                },
                |m| {
                    m.new_task(state.label, state.base, &state.registers);
                    vec![]
                },
            );
        });
    }
    fn suspend_kept(&mut self, state: &State) {
        let frame = self.new_frame();
        let is_none = self.is(frame, 0);
        self.choose(
            is_none,
            0,
            |m| {
                m.lacks_frames(state.label, state.base);
                vec![]
            },
            |m| {
                let label = m.without_fork(state.label);
                m.fill_frame(frame, label, state.base, state.depth);
                m.give_results(frame, &state.registers);
                m.new_resumption(frame);
                vec![]
            },
        );
    }
    /// There is no frame for a lane that goes on at a label and gives its results to a frame.
    pub(super) fn lacks_frames(&mut self, label: ValueId, base: ValueId) {
        let (why, number) = (self.b.u32(fault::FRAMES), self.b.u32(label::NUMBER));
        let place = self.op(Op::And, label, number);
        self.end_at(why, place, base);
    }
}
