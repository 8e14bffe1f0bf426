//! The kernel that goes on for one epoch: what a workgroup and its lanes do over and over.
//!
//! An epoch is *rounds*, with a barrier between two of them. In a round a lane that has nothing to do takes a task of its workgroup, then runs
//! segments, as many as it has steps. Calls and forks alike go to the lane's own stack. At the end of a round the workgroup looks how many of
//! its lanes have work: if there are too few, each lane makes a task of the oldest thing in its stack that can be done apart. When most
//! workgroups have nothing to do, one that has much gives all of it away.
//!
//! What a lane leaves for others of its workgroup they see from the next round on; what it leaves for other workgroups, in the next epoch.

use super::lane::Lane;
use super::memory::{ProgramSizes, TIGHT, control, group, label, lane, pending};
use super::rounds::{HASTE, LONG, STRETCH, verdict};
use super::segments::SegmentWriter;
use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::attrs::{Attr, Dim};
use girih_ir::{Builder, Function, Launch, Op, ParamAttrs, Scalar, Space, Type, ValueId};

/// Registers of an invocation, where a lane carries no more than so many words from segment to segment: with more of them fewer lanes are there
/// to hide how long each waits.
const REGISTERS: u32 = 64;
const FEW_WORDS: u32 = 16;

/// What a lane is doing.
#[derive(Clone)]
pub(super) struct State {
    pub label: ValueId,
    /// The frame that gets its results.
    pub base: ValueId,
    /// Where its stack ends, and where it begins.
    pub depth: ValueId,
    pub bottom: ValueId,
    /// Where its frames begin that stand in shared memory: [`near`](super::near).
    pub near: ValueId,
    pub registers: Vec<ValueId>,
}

impl State {
    pub fn words(&self) -> Vec<ValueId> {
        [self.label, self.base, self.depth, self.bottom, self.near].iter().chain(&self.registers).copied().collect()
    }
    pub fn of(words: &[ValueId]) -> State {
        let [label, base, depth, bottom, near, registers @ ..] = words else { unreachable!("a state has these words") };
        State { label: *label, base: *base, depth: *depth, bottom: *bottom, near: *near, registers: registers.to_vec() }
    }
}

/// The kernel on its way.
pub(super) struct Machine {
    pub b: Builder,
    pub shape: ProgramSizes,
    pub lane: Lane,
    pub frames: ValueId,
    pub pending: ValueId,
    pub queue: ValueId,
    /// Shared by the workgroup: what all do next.
    pub verdict: ValueId,
    /// Shared by the workgroup: free frames.
    pub spare: ValueId,
    /// Parameters: how many frames of the pool and tasks of the queue there are, powers of 2.
    pub pool_frames: ValueId,
    pub tasks: ValueId,
    /// The workgroup, and the lane's number in it.
    pub group: ValueId,
    pub local: ValueId,
    /// What stands in a frame's [`pending`] word when the lane was there.
    pub stamp: ValueId,
    /// [`control::WANT`], [`control::PATIENCE`], [`control::GROUPS`], [`control::STEPS`] and [`control::HEAP_SOFT`], which stay the same in an epoch.
    pub want: ValueId,
    pub patience: ValueId,
    pub groups: ValueId,
    pub steps: ValueId,
    pub heap_soft: ValueId,
    /// Whether lanes run tightly: [`TIGHT`].
    pub tight: ValueId,
}

/// Writes the kernel.
pub(super) fn machine(writer: &mut SegmentWriter<'_, '_>, shape: &ProgramSizes) -> Result<Function, Diagnostic> {
    let mut m = Machine::new(shape);
    let initial = m.begin();
    let zero = m.b.u32(0);
    let run = m.b.u32(verdict::RUN | HASTE << verdict::STEPS);
    let carried: Vec<ValueId> = [zero, zero, run].into_iter().chain(initial.words()).collect();
    let mut failed = None;
    let last = m.repeat(&carried, |m, params| {
        let (rounds, spent, word) = (params[0], params[1], params[2]);
        let mask = m.b.u32(verdict::MASK);
        let found = m.op(Op::And, word, mask);
        let stops = m.is(found, verdict::STOP);
        let state = m.promoted((found, stops), &State::of(&params[3..]));
        let last: Vec<ValueId> = params[..3].iter().copied().chain(state.words()).collect();
        m.leave_if(stops, &last);
        let state = m.taken(&state);
        let shift = m.b.u32(verdict::STEPS);
        let least = m.op(Op::Shr, word, shift);
        match m.round(writer, least, &state) {
            Err(error) => {
                failed = Some(error);
                m.b.end(Op::Break, params);
            }
            Ok(state) => {
                let rounds = m.plus(rounds, 1);
                let spent = m.op(Op::Add, spent, least);
                let verdict = m.judge((rounds, spent), least, &state);
                let next: Vec<ValueId> = [rounds, spent, verdict].into_iter().chain(state.words()).collect();
                m.b.end(Op::Continue, &next);
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    m.finish(&State::of(&last[3..]));
    Ok(m.b.function)
}

impl Machine {
    fn new(shape: &ProgramSizes) -> Machine {
        let mut function = Function::new("run", Span::NONE);
        let registers = (shape.registers <= FEW_WORDS).then_some(REGISTERS);
        function.launch = Some(Launch { workgroup: [shape.workgroup, 1, 1], registers, ..Launch::default() });
        let buffers = ["heap", "frames", "pending", "queue", "control"];
        let attrs = ParamAttrs::default;
        let buffers = buffers.map(|name| function.param(name, Type::Memory(Space::Global), attrs()));
        let [heap, frames, pending, queue, control] = buffers;
        let sizes = ["lane_count", "pool_frames", "tasks"];
        let [lane_count, pool_frames, tasks] = sizes.map(|name| function.param(name, Type::U32, attrs()));
        let mut memory = |name: &str, space: Space, words: u32| {
            let words = function.constant(Type::U32, u64::from(words));
            function.memory(Some(name.into()), space, Type::U32, words)
        };
        let own = memory("own", Space::Private, lane::LACKS + 1);
        let stack = memory("stack", Space::Private, shape.stack * shape.stack_frame());
        let newest = match shape.near {
            0 => stack,
            near => memory("near", Space::Shared, near * shape.stack_frame() * shape.workgroup),
        };
        let spare = memory("spare", Space::Shared, shape.spare());
        let shared = memory("group", Space::Shared, group::WORDS);
        let verdict = memory("verdict", Space::Shared, 1);
        let mut b = Builder::new(function);
        let number = b.position(Op::GlobalId, Dim::X);
        let group = b.position(Op::WorkgroupId, Dim::X);
        let local = b.position(Op::LocalId, Dim::X);
        let mut fixed = |word: u32| {
            let at = b.u32(word);
            b.op(Op::AtomicLoad, Type::U32, &[control, at])
        };
        let words = [control::WANT, control::GROUPS, control::STEPS, control::HEAP_SOFT, control::EPOCHS];
        let [want, groups, steps, heap_soft, epoch] = words.map(&mut fixed);
        let patience = fixed(control::PATIENCE);
        let heap_end = fixed(control::HEAP_END);
        let shape = *shape;
        let lane = Lane {
            heap,
            pool_frames,
            control,
            own,
            stack,
            newest,
            shared,
            lane_count,
            number,
            local,
            heap_end,
            place: 1,
            shape,
        };
        let tight = b.function.specialisation(TIGHT, Scalar::Bool, 0);
        let (shift, came) = (b.u32(pending::EPOCH), b.u32(pending::CAME));
        let epoch = b.op(Op::Shl, Type::U32, &[epoch, shift]);
        let stamp = b.op(Op::Or, Type::U32, &[epoch, came]);
        let stamp = b.op(Op::Or, Type::U32, &[stamp, group]);
        Machine {
            stamp,
            want,
            patience,
            groups,
            steps,
            heap_soft,
            tight,
            b,
            shape,
            lane,
            frames,
            pending,
            queue,
            verdict,
            spare,
            pool_frames,
            tasks,
            group,
            local,
        }
    }

    /// The place of a word of the workgroup between epochs.
    fn group_word(&mut self, word: u32) -> ValueId {
        let words = self.b.u32(self.shape.group());
        let first = self.op(Op::Mul, self.group, words);
        self.plus(first, self.shape.groups() + word)
    }
    /// Does something for so many places of the ring of free frames, and for the words in `control` where they are kept.
    fn each_spare(&mut self, count: ValueId, body: impl FnOnce(&mut Self, ValueId, ValueId)) {
        let begin = self.group_word(group::KEPT.len() as u32);
        self.for_each(self.local, count, self.shape.workgroup, |m, i| {
            let at = m.op(Op::Add, begin, i);
            body(m, i, at);
        });
    }

    /// Takes the workgroup's words and its share of the tasks; gives what the lane does: nothing.
    fn begin(&mut self) -> State {
        let zero = self.b.u32(0);
        self.by_one(|m| {
            for (i, word) in (0..).zip(group::KEPT) {
                let at = m.group_word(i);
                let value = m.b.op(Op::AtomicLoad, Type::U32, &[m.lane.control, at]);
                m.lane.set(&mut m.b, word, value);
                if word == group::FRAME_TAIL {
                    m.lane.set(&mut m.b, group::FRAME_LIMIT, value);
                }
            }
            for word in [group::BUSY, group::IDLE, group::FRAME_HEAD, group::FRAME_FIRST] {
                m.lane.set(&mut m.b, word, zero);
            }
            m.new_chunk();
        });
        let at = self.group_word(0);
        let count = self.b.op(Op::AtomicLoad, Type::U32, &[self.lane.control, at]);
        self.each_spare(count, |m, i, at| {
            let frame = m.b.op(Op::AtomicLoad, Type::U32, &[m.lane.control, at]);
            m.b.store(Type::U32, m.spare, i, frame);
        });
        let lacks = self.b.u32(lane::LACKS);
        self.b.store(Type::U32, self.lane.own, lacks, zero);
        for class in 0..lane::CLASSES {
            let class = self.b.u32(class);
            let at = self.lane.own_word(&mut self.b, class);
            let list = self.b.load(Type::U32, self.frames, at);
            self.b.store(Type::U32, self.lane.own, class, list);
        }
        self.take_share();
        Lane::barrier(&mut self.b);
        let registers = vec![zero; self.shape.registers as usize];
        State { label: self.b.u32(label::IDLE), base: zero, depth: zero, bottom: zero, near: zero, registers }
    }

    /// A round, of so many steps at least; gives what the lane is doing at its end.
    fn round(
        &mut self,
        writer: &mut SegmentWriter<'_, '_>,
        least: ValueId,
        state: &State,
    ) -> Result<State, Diagnostic> {
        let (long, twice) = (self.b.u32(LONG), self.op(Op::Add, least, least));
        let all = self.op(Op::Max, long, twice);
        // Where memory is tight, the workgroup has looked whether there is enough for one step.
        let (one, stretch) = (self.b.u32(1), self.b.u32(STRETCH));
        let stretch = self.op(Op::Min, stretch, least);
        let stretch = self.select(self.tight, one, stretch);
        // No lane ends the round before this many steps are left.
        let least = self.op(Op::Sub, all, least);
        let (turns, units) = self.quantum();
        let carried: Vec<ValueId> = [all].into_iter().chain(state.words()).collect();
        let mut failed = None;
        let last = self.repeat(&carried, |m, params| {
            let (steps, state) = (params[0], State::of(&params[1..]));
            let (enough, idle) = (m.is(steps, 0), m.is(state.label, label::IDLE));
            // Others see it at once: behind the loop, lanes that run together may wait for each other.
            m.when(idle, |m| {
                m.lane.count(&mut m.b, group::IDLE, 1);
            });
            let over = m.both(Op::Or, enough, idle);
            m.leave_if(over, params);
            let looks = m.op(Op::Le, steps, least);
            let (few, many) = (m.b.u32(m.shape.workgroup / 8), m.b.u32(m.shape.workgroup / 2));
            let hungry = m.is_not(m.want, 0);
            let quorum = m.select(hungry, few, many);
            let lacks = m.choose(
                looks,
                1,
                |m| {
                    let idle = m.lane.get(&mut m.b, group::IDLE);
                    let lacks = m.op(Op::Gt, idle, quorum);
                    vec![m.b.op(Op::Convert, Type::U32, &[lacks])]
                },
                |m| vec![m.b.u32(0)],
            )[0];
            let lacks = m.is(lacks, 1);
            m.leave_if(lacks, params);
            m.leave_if_starving(units, params);
            match m.stretch(writer, (stretch, turns), steps, &state) {
                Err(error) => {
                    failed = Some(error);
                    m.b.end(Op::Break, params);
                }
                Ok(next) => m.b.end(Op::Continue, &next),
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let state = State::of(&last[1..]);
        Ok(state)
    }

    /// So many steps, or fewer if the lane has nothing to do any more; gives how many are left of the round's, and what it is doing.
    fn stretch(
        &mut self,
        writer: &mut SegmentWriter<'_, '_>,
        (stretch, turns): (ValueId, ValueId),
        steps: ValueId,
        state: &State,
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let carried: Vec<ValueId> = [stretch, steps].into_iter().chain(state.words()).collect();
        let mut failed = None;
        let last = self.repeat(&carried, |m, params| {
            let (left, steps, state) = (params[0], params[1], State::of(&params[2..]));
            let (none, enough, idle) = (m.is(left, 0), m.is(steps, 0), m.is(state.label, label::IDLE));
            let over = m.both(Op::Or, enough, idle);
            let over = m.both(Op::Or, over, none);
            m.leave_if(over, params);
            let state = m.with_room(&state);
            let (left, steps) = (m.plus(left, u32::MAX), m.plus(steps, u32::MAX));
            let within = m.steps_within(turns, steps);
            match m.step(writer, within, &state) {
                Err(error) => {
                    failed = Some(error);
                    m.b.end(Op::Break, params);
                }
                Ok((next, behind)) => {
                    let steps = m.steps_behind(steps, behind);
                    let next: Vec<ValueId> = [left, steps].into_iter().chain(next.words()).collect();
                    m.b.end(Op::Continue, &next);
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(last[1..].to_vec()),
        }
    }

    /// A state whose oldest frames have become tasks, if the workgroup has found that there are too few; one without frames in its stack if the
    /// workgroup stops.
    fn promoted(&mut self, (found, stops): (ValueId, ValueId), state: &State) -> State {
        let lacks = self.is(found, verdict::PROMOTE);
        let promotes = self.both(Op::Or, lacks, stops);
        let has_frames = self.op(Op::Lt, state.bottom, state.depth);
        let has_base = self.is_not(state.base, 0);
        let has_some = self.both(Op::Or, has_frames, has_base);
        let promotes = self.both(Op::And, promotes, has_some);
        self.change(promotes, state, |m| {
            let (each, none, all) = (m.lane.get(&mut m.b, group::EACH), m.b.u32(0), m.b.u32(u32::MAX));
            let each = m.select(stops, none, each);
            let less = m.op(Op::Sub, none, each);
            let at = m.b.u32(group::NEED);
            let needed = m.b.op(Op::AtomicAdd, Type::U32, &[m.lane.shared, at, less]);
            let needed = m.b.op(Op::Bitcast, Type::I32, &[needed]);
            let zero = m.b.constant(Scalar::I32, 0);
            let is_needed = m.b.op(Op::Gt, Type::I32, &[needed, zero]);
            let is_needed = m.both(Op::Or, is_needed, stops);
            m.change(is_needed, state, |m| {
                let (base, left) = m.promote_spilled(state.base, each);
                let one = m.b.u32(1);
                let most = m.op(Op::Min, left, one);
                let most = m.select(stops, all, most);
                let (state, same) = m.promote(&State { base, ..state.clone() }, most);
                let made = m.op(Op::Sub, most, same);
                let left = m.op(Op::Sub, left, made);
                // Nobody asks any more what is needed where the workgroup stops.
                m.b.op(Op::AtomicAdd, Type::U32, &[m.lane.shared, at, left]);
                state
            })
        })
    }

    /// Gives all away that is left.
    fn finish(&mut self, state: &State) {
        self.suspend(state);
        Lane::barrier(&mut self.b);
        self.give_tasks_away();
        for class in 0..lane::CLASSES {
            let class = self.b.u32(class);
            let list = self.b.load(Type::U32, self.lane.own, class);
            let at = self.lane.own_word(&mut self.b, class);
            self.b.store(Type::U32, self.frames, at, list);
        }
        // The ring of free frames begins at its first place in the next epoch.
        let head = self.lane.get(&mut self.b, group::FRAME_HEAD);
        let tail = self.lane.get(&mut self.b, group::FRAME_TAIL);
        let count = self.op(Op::Sub, tail, head);
        self.each_spare(count, |m, i, at| {
            let place = m.op(Op::Add, head, i);
            let place = m.spare_word(place);
            let frame = m.b.load(Type::U32, m.spare, place);
            m.b.op_with(Op::AtomicStore, Some(Type::U32), &[m.lane.control, at, frame], &[] as &[Attr]);
        });
        self.by_one(|m| {
            for (i, word) in (0..).zip(group::KEPT) {
                let value = if word == group::FRAME_TAIL { count } else { m.lane.get(&mut m.b, word) };
                let at = m.group_word(i);
                m.b.op_with(Op::AtomicStore, Some(Type::U32), &[m.lane.control, at, value], &[] as &[Attr]);
            }
            m.count(control::EXITED);
        });
        self.b.end(Op::Return, &[]);
    }
}
