//! The newest frames of a lane's stack stand in shared memory, in a ring; the others stand in private memory, which a device keeps in its
//! caches at best. A search goes up and down by a few frames most of the time, so it hardly touches the others.
//!
//! Lanes whose stacks are of different depths touch different lines of private memory, each its own, while in the ring the words of neighbours always
//! stand beside each other.
//!
//! Invariant: frames from `near` to the end of the stack stand in the ring, and there is room in it for what the next segment pushes. The frame just
//! above the end, which a return has popped, stands there as well.

use super::machine::{Machine, State};
use girih_ir::{Op, Type, ValueId};

impl Machine {
    /// Moves the oldest frames of the ring to private memory until there is room for those that a segment pushes.
    pub(super) fn with_near_room(&mut self, depth: ValueId, near: ValueId) -> ValueId {
        if self.shape.near == 0 {
            return near;
        }
        // A segment may end with a frame above the end that it has pushed to.
        let kept = self.b.u32(self.shape.near - self.shape.pushes - 1);
        self.repeat(&[near], |m, params| {
            let near = params[0];
            let there = m.op(Op::Sub, depth, near);
            let fits = m.op(Op::Le, there, kept);
            m.leave_if(fits, params);
            m.move_out(near);
            let next = m.plus(near, 1);
            m.b.end(Op::Continue, &[next]);
        })[0]
    }

    /// Copies a frame of the ring to private memory.
    fn move_out(&mut self, depth: ValueId) {
        let words: Vec<ValueId> =
            (0..self.shape.stack_frame()).map(|word| self.lane.load_stack(&mut self.b, depth, word)).collect();
        for (word, value) in (0..).zip(words) {
            self.lane.store_far(&mut self.b, depth, word, value);
        }
    }

    /// Has a frame stand in the ring that a return needs; gives where those begin then that stand there.
    pub(super) fn moved_in(&mut self, depth: ValueId, near: ValueId) -> ValueId {
        if self.shape.near == 0 {
            return near;
        }
        let is_far = self.op(Op::Lt, depth, near);
        self.when(is_far, |m| {
            let words: Vec<ValueId> =
                (0..m.shape.stack_frame()).map(|word| m.lane.load_far(&mut m.b, depth, word)).collect();
            for (word, value) in (0..).zip(words) {
                m.lane.store_stack(&mut m.b, depth, word, value);
            }
        });
        self.op(Op::Min, near, depth)
    }

    /// A word of any frame of a stack: of these the first ones stand in private memory.
    pub(super) fn frame_of_stack(&mut self, state: &State, depth: ValueId, word: ValueId) -> ValueId {
        let near = |m: &mut Self| {
            let at = m.lane.stack_word(&mut m.b, depth, word);
            m.b.load(Type::U32, m.lane.newest, at)
        };
        if self.shape.near == 0 {
            return near(self);
        }
        let is_far = self.op(Op::Lt, depth, state.near);
        self.choose(
            is_far,
            1,
            |m| {
                let at = m.lane.far_word(&mut m.b, depth, word);
                vec![m.b.load(Type::U32, m.lane.stack, at)]
            },
            |m| vec![near(m)],
        )[0]
    }
}
