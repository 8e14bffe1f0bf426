//! What a lane does when a segment ends: calls, forks, returns, waits, traps.
//!
//! A frame of the pool is filled before it is named to others, and freed by who goes on with it.

use super::machine::{Machine, State};
use super::memory::{control, fault, frame, label};
use crate::ir::{Inst, Op, Type, ValueId};
use crate::span::Span;

impl Machine<'_> {
    /// Whether forks become tasks here: they shall, and there is nothing in the stack that would have to go with them.
    fn can_spawn(&mut self, state: &State) -> ValueId {
        let expand = self.get(control::EXPAND);
        let expand = self.is(expand, 1);
        let is_bare = self.is(state.depth, 0);
        self.b.op(Op::And, Type::BOOL, &[expand, is_bare])
    }

    /// A frame of the pool if forks become tasks here; 0 if not, or if there is none.
    fn frame_to_spawn(&mut self, state: &State) -> ValueId {
        let can = self.can_spawn(state);
        self.choose(can, 1, |m| vec![m.new_frame()], |m| vec![m.b.u32(0)])[0]
    }

    /// A call or a fork in a frame of the pool, if forks become tasks here; else on the stack.
    fn in_frame(
        &mut self,
        to: &State,
        behind: ValueId,
        kept: &[ValueId],
        spawn: impl FnOnce(&mut Self, ValueId) -> State,
    ) -> State {
        let frame = self.frame_to_spawn(to);
        let is_none = self.is(frame, 0);
        let on_stack = |m: &mut Self| m.call_on_stack(to, behind, kept).words();
        let words = self.choose(is_none, to.words().len(), on_stack, |m| spawn(m, frame).words());
        State::of(&words)
    }

    pub(super) fn call(&mut self, to: &State, behind: ValueId, kept: &[ValueId]) -> State {
        self.in_frame(to, behind, kept, |m, frame| {
            m.fill_frame(frame, behind, to.base, kept);
            let inside = State { base: frame, ..to.clone() };
            // Whoever has made tasks leaves the rest to others too, so that all are of about the same size.
            let zero = m.b.u32(0);
            let has_spawned = m.op(Op::Ne, to.spawned, zero);
            let leave = |m: &mut Self| {
                m.new_task(to.label, frame, &to.registers);
                m.idle(to).words()
            };
            State::of(&m.choose(has_spawned, to.words().len(), leave, |_| inside.words()))
        })
    }

    fn idle(&mut self, state: &State) -> State {
        State { label: self.b.u32(label::IDLE), spawned: self.b.u32(0), ..state.clone() }
    }

    fn call_on_stack(&mut self, to: &State, behind: ValueId, kept: &[ValueId]) -> State {
        let is_full = self.op(Op::Ge, to.depth, self.stack_frames);
        let spilled = self.choose(is_full, 2, |m| m.spill(to), |_| vec![to.base, to.depth]);
        self.push(spilled[1], behind, kept);
        let depth = self.plus(spilled[1], 1);
        State { base: spilled[0], depth, ..to.clone() }
    }

    /// Moves all frames of the stack into the pool. Gives the last one, and the empty stack's depth.
    fn spill(&mut self, state: &State) -> Vec<ValueId> {
        let zero = self.b.u32(0);
        let body = self.b.new_region(&[Type::U32, Type::U32]);
        let params = self.b.function.regions[body].params.clone();
        let (depth, base) = (params[0], params[1]);
        let outer = std::mem::replace(&mut self.b.region, body);
        let over = self.op(Op::Ge, depth, state.depth);
        self.b.if_else(over, &[], |b| b.end(Op::Break, &[base]), |b| b.end(Op::Yield, &[]));
        let frame = self.new_frame();
        let words: Vec<ValueId> = (0..self.shape.stack_frame())
            .map(|i| {
                let at = self.stack_word(depth, i);
                self.b.load(Type::U32, self.lanes, at)
            })
            .collect();
        let is_none = self.is(frame, 0);
        self.choose(
            is_none,
            0,
            |m| {
                let why = m.b.u32(fault::FRAMES);
                m.end_with(why);
                vec![]
            },
            |m| {
                m.fill_frame(frame, words[0], base, &words[1..]);
                vec![]
            },
        );
        let next = self.plus(depth, 1);
        self.b.end(Op::Continue, &[next, frame]);
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, &[zero, state.base], Span::NONE);
        inst.regions.extend([body]);
        let id = self.b.push(inst, &[Type::U32]);
        vec![self.b.function.insts[id].results[0], zero]
    }

    pub(super) fn fork(&mut self, to: &State, behind: ValueId, kept: &[ValueId]) -> State {
        self.in_frame(to, behind, kept, |m, frame| {
            let (one, two) = (m.b.u32(1), m.b.u32(2));
            m.store_frame(frame, frame::WAITS, one);
            m.b.op_with(Op::AtomicStore, Some(Type::U32), &[m.pending, frame, two], &[]);
            m.new_task(to.label, frame, &to.registers);
            // On with what is behind: the frame stands where 0 was kept.
            let zero = m.b.u32(0);
            let mut registers = vec![zero; m.shape.kept as usize];
            registers.push(frame);
            registers.extend(&kept[1..]);
            registers.resize(m.shape.registers as usize, zero);
            let spawned = m.plus(to.spawned, 1);
            State { label: behind, spawned, registers, ..to.clone() }
        })
    }

    /// The registers behind a call: its results, and what was kept.
    fn behind(&mut self, results: &[ValueId], kept: Vec<ValueId>) -> Vec<ValueId> {
        let zero = self.b.u32(0);
        let mut registers = results[..self.shape.kept as usize].to_vec();
        registers.extend(kept);
        registers.resize(self.shape.registers as usize, zero);
        registers
    }

    pub(super) fn give_back(&mut self, from: &State) -> State {
        let count = from.words().len();
        let zero = self.b.u32(0);
        let has_frames = self.op(Op::Ne, from.depth, zero);
        let words = self.choose(
            has_frames,
            count,
            |m| {
                let less = m.b.u32(u32::MAX);
                let depth = m.op(Op::Add, from.depth, less);
                let words: Vec<ValueId> = (0..m.shape.stack_frame())
                    .map(|i| {
                        let at = m.stack_word(depth, i);
                        m.b.load(Type::U32, m.lanes, at)
                    })
                    .collect();
                let registers = m.behind(&from.registers, words[1..].to_vec());
                State { label: words[0], depth, registers, ..from.clone() }.words()
            },
            |m| {
                let is_root = m.is(from.base, 0);
                m.choose(is_root, count, |m| m.end(from).words(), |m| m.give_to_frame(from).words())
            },
        );
        State::of(&words)
    }

    /// The call of the host is over.
    fn end(&mut self, from: &State) -> State {
        for (i, value) in (0..self.shape.kept).zip(&from.registers) {
            self.set(control::RESULTS + i, *value);
        }
        let one = self.b.u32(1);
        self.set(control::DONE, one);
        self.idle(from)
    }

    fn give_to_frame(&mut self, from: &State) -> State {
        let frame = from.base;
        let waits = self.load_frame(frame, frame::WAITS);
        let is_call = self.is(waits, 0);
        let words = self.choose(
            is_call,
            from.words().len(),
            |m| {
                let (label, base) = (m.load_frame(frame, frame::LABEL), m.load_frame(frame, frame::BASE));
                let kept = m.kept_of(frame);
                let registers = m.behind(&from.registers, kept);
                m.free_frame(frame);
                State { label, base, registers, ..from.clone() }.words()
            },
            |m| {
                for (i, value) in (0..m.shape.kept).zip(&from.registers) {
                    m.store_frame(frame, frame::RESULTS + i, *value);
                }
                m.arrive(frame);
                m.idle(from).words()
            },
        );
        State::of(&words)
    }

    pub(super) fn wait(&mut self, from: &State, behind: ValueId, kept: &[ValueId]) -> State {
        let frame = from.registers[0];
        self.store_frame(frame, frame::LABEL, behind);
        self.store_frame(frame, frame::BASE, from.base);
        self.keep(frame, kept);
        self.arrive(frame);
        self.idle(from)
    }

    pub(super) fn trap(&mut self, from: &State) -> State {
        let why = self.plus(from.registers[0], fault::TRAP);
        self.end_with(why);
        self.idle(from)
    }
}
