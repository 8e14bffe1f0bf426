//! Stacks that are full: their frames go to the pool, and what is behind their forks can become tasks from there, too.
//!
//! A frame of the pool that waits for a call belongs to the lane that makes the call, and so do the frames that wait for that one, up to the
//! first that waits for a fork. Among them those that a spill has left are *latent*: they stand behind a fork whose call is made at once. A
//! recursion whose forks nest thousands deep would otherwise be serial as soon as stacks have been full.
//!
//! Invariant: only the lane whose results a chain of such frames waits for changes them.

use super::machine::{Machine, State};
use super::memory::{frame, label};
use super::steps::RETURNING;
use girih_ir::{Op, ValueId};

/// How many frames of the pool a lane looks through at most, each time that it makes tasks.
const FAR: u32 = 16;

impl Machine {
    /// The state with room on the stack for what a segment puts there.
    pub(super) fn with_room(&mut self, state: &State) -> State {
        // A step may run two segments.
        let after = self.plus(state.depth, 2 * self.shape.pushes + 1);
        let room = self.b.u32(self.shape.stack);
        let is_full = self.op(Op::Ge, after, room);
        self.change(is_full, state, |m| {
            let base = m.spill(state);
            m.sink(state.label, state.depth);
            let zero = m.b.u32(0);
            State { base, depth: zero, bottom: zero, near: zero, ..state.clone() }
        })
    }

    /// Moves all frames of the stack into the pool; gives the last one as a base.
    pub(super) fn spill(&mut self, state: &State) -> ValueId {
        let doing = state.label;
        self.repeat(&[state.base, state.bottom], |m, params| {
            let (base, depth) = (params[0], params[1]);
            let over = m.op(Op::Ge, depth, state.depth);
            m.leave_if(over, params);
            let first = m.b.u32(0);
            let label = m.frame_of_stack(state, depth, first);
            let frame = m.new_frame();
            let is_none = m.is(frame, 0);
            m.choose(
                is_none,
                0,
                |m| {
                    // A lane that returns is at no place of its own.
                    let returns = m.is(doing, RETURNING);
                    let doing = m.select(returns, label, doing);
                    m.lacks_frames(doing, base);
                    vec![]
                },
                |m| {
                    let label = m.as_latent(label);
                    m.fill_frame_of(state, (frame, label, base), depth);
                    vec![]
                },
            );
            let base = m.base(frame, false);
            let next = m.plus(depth, 1);
            m.b.end(Op::Continue, &[base, next]);
        })[0]
    }

    /// A label of the stack as it stands in the pool while it is latent.
    fn as_latent(&mut self, word: ValueId) -> ValueId {
        let (flag, latent, zero) = (self.b.u32(label::FORK), self.b.u32(label::LATENT), self.b.u32(0));
        let flag = self.op(Op::And, word, flag);
        let is_fork = self.is_not(flag, 0);
        let latent = self.select(is_fork, latent, zero);
        let word = self.without_fork(word);
        self.op(Op::Or, word, latent)
    }
    /// The label without what says so.
    pub(super) fn without_latent(&mut self, label: ValueId) -> ValueId {
        let mask = self.b.u32(!label::LATENT);
        self.op(Op::And, label, mask)
    }

    /// Makes tasks of what is behind forks whose frames have left the stack, so many at most; gives the lane's base and how many more may
    /// become tasks.
    pub(super) fn promote_spilled(&mut self, base: ValueId, most: ValueId) -> (ValueId, ValueId) {
        let zero = self.b.u32(0);
        // The frame whose base is looked at, 0 for the lane itself; the frame that joins it if it has become a task; what that base is.
        let begin = [zero, zero, base, base, most, zero];
        let last = self.repeat(&begin, |m, params| {
            let [holder, join, link, base, left, looked] = params[..] else { unreachable!("so many are carried") };
            let (none, one, far) = (m.is(link, 0), m.b.u32(1), m.b.u32(FAR));
            let kind = m.op(Op::And, link, one);
            let is_shared = m.is_not(kind, 0);
            let over = m.both(Op::Or, none, is_shared);
            let enough = m.is(left, 0);
            let over = m.both(Op::Or, over, enough);
            let too_far = m.op(Op::Ge, looked, far);
            let over = m.both(Op::Or, over, too_far);
            m.leave_if(over, params);
            let frame = m.op(Op::Shr, link, one);
            let word = m.load_frame(frame, frame::LABEL);
            let next = m.load_frame(frame, frame::BASE);
            let latent = m.b.u32(label::LATENT);
            let latent = m.op(Op::And, word, latent);
            let is_latent = m.is_not(latent, 0);
            let looked = m.plus(looked, 1);
            let words = m.choose(
                is_latent,
                6,
                |m| m.promote_latent((frame, word, next), (holder, join), (base, left, looked)),
                |m| vec![frame, m.b.u32(0), next, base, left, looked],
            );
            m.b.end(Op::Continue, &words);
        });
        (last[3], last[4])
    }

    /// The same for one of them. Gives what the loop over them carries.
    fn promote_latent(
        &mut self,
        (frame, word, next): (ValueId, ValueId, ValueId),
        (holder, before): (ValueId, ValueId),
        (base, left, looked): (ValueId, ValueId, ValueId),
    ) -> Vec<ValueId> {
        let join = self.new_frame();
        let is_none = self.is(join, 0);
        let zero = self.b.u32(0);
        self.choose(
            is_none,
            6,
            |_| vec![holder, before, zero, base, zero, looked],
            |m| {
                m.wait_for_two(join);
                let label = m.without_latent(word);
                let flag = m.b.u32(label::FORK);
                let waiting = m.op(Op::Or, label, flag);
                m.store_frame(join, frame::LABEL, waiting);
                m.store_frame(join, frame::BASE, next);
                m.store_frame(frame, frame::LABEL, label);
                // The token is the first word that is kept.
                m.store_frame(frame, frame::RESULTS + m.shape.results, join);
                m.new_resumption(frame);
                let link = m.base(join, true);
                let is_lane = m.is(holder, 0);
                let base = m.select(is_lane, link, base);
                let is_frame = m.is_not(holder, 0);
                m.when(is_frame, |m| m.store_frame(holder, frame::BASE, link));
                let has_join = m.is_not(before, 0);
                m.when(has_join, |m| m.store_frame(before, frame::BASE, link));
                vec![frame, join, next, base, m.plus(left, u32::MAX), looked]
            },
        )
    }
}
