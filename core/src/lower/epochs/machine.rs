//! The kernel that goes on for one epoch: what a workgroup and its lanes do over and over.
//!
//! An epoch is *rounds*, with a barrier between two of them. In a round a lane that has nothing to do takes a task of its workgroup, then runs
//! segments, as many as it has steps. Calls and forks alike go to the lane's own stack. At the end of a round the workgroup looks how many of
//! its lanes have work: if there are too few, each lane makes a task of the oldest thing in its stack that can be done apart. When most
//! workgroups have nothing to do, one that has much gives all of it away.
//!
//! What a lane leaves for others of its workgroup they see from the next round on; what it leaves for other workgroups, in the next epoch.

use super::lane::Lane;
use super::memory::{Shape, control, group, label, lane};
use super::segments::{Way, Writer};
use crate::diag::Diagnostic;
use crate::ir::attrs::{Attr, Dim};
use crate::ir::{Builder, Function, Inst, Launch, Op, ParamAttrs, RegionId, Scalar, Space, Type, ValueId};
use crate::span::Span;

/// Rounds of an epoch after which a workgroup gives away little, too.
const PATIENCE: u32 = 24;
/// Steps of a round while lanes have nothing to do, and else.
const SHORT: u32 = 8;
const LONG: u32 = 128;

/// What a workgroup does in its next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Goes on.
    Run,
    /// First makes tasks of what can be done apart.
    Promote,
    /// Gives all away, and stops.
    Flush,
    /// Stops.
    Stop,
}

/// What a lane is doing.
#[derive(Clone)]
pub(super) struct State {
    pub label: ValueId,
    /// The frame that gets its results.
    pub base: ValueId,
    /// Where its stack ends, and where it begins.
    pub depth: ValueId,
    pub bottom: ValueId,
    pub registers: Vec<ValueId>,
}

impl State {
    pub fn words(&self) -> Vec<ValueId> {
        [self.label, self.base, self.depth, self.bottom].iter().chain(&self.registers).copied().collect()
    }
    pub fn of(words: &[ValueId]) -> State {
        let [label, base, depth, bottom, registers @ ..] = words else { unreachable!("a state has these words") };
        State { label: *label, base: *base, depth: *depth, bottom: *bottom, registers: registers.to_vec() }
    }
}

/// The kernel on its way.
pub(super) struct Machine {
    pub b: Builder,
    pub shape: Shape,
    pub lane: Lane,
    pub frames: ValueId,
    pub pending: ValueId,
    pub queue: ValueId,
    /// Shared by the workgroup: what all do next.
    verdict: ValueId,
    /// Parameters: how many frames of a stack, frames of the pool, and tasks of the queue there are; the last two are powers of 2.
    pub stack_frames: ValueId,
    pub pool_frames: ValueId,
    pub tasks: ValueId,
    /// The workgroup, and the lane's number in it.
    pub group: ValueId,
    pub local: ValueId,
}

/// Writes the kernel.
pub(super) fn machine(writer: &mut Writer<'_, '_>, shape: &Shape) -> Result<Function, Diagnostic> {
    let mut m = Machine::new(shape);
    let initial = m.begin();
    let zero = m.b.u32(0);
    let run = m.b.u32(Verdict::Run as u32);
    let carried: Vec<ValueId> = [zero, run].into_iter().chain(initial.words()).collect();
    let mut failed = None;
    let last = m.repeat(&carried, |m, params| {
        let (rounds, verdict) = (params[0], params[1]);
        let stop = m.b.u32(Verdict::Flush as u32);
        let stops = m.b.op(Op::Ge, Type::U32, &[verdict, stop]);
        m.leave_if(stops, params);
        let state = m.promoted(verdict, &State::of(&params[2..]));
        let state = m.taken(&state);
        match m.round(writer, verdict, &state) {
            Err(error) => {
                failed = Some(error);
                m.b.end(Op::Break, params);
            }
            Ok(state) => {
                let rounds = m.plus(rounds, 1);
                let verdict = m.judge(rounds, &state);
                let next: Vec<ValueId> = [rounds, verdict].into_iter().chain(state.words()).collect();
                m.b.end(Op::Continue, &next);
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    m.finish(last[1], &State::of(&last[2..]));
    Ok(m.b.function)
}

impl Machine {
    fn new(shape: &Shape) -> Machine {
        let mut function = Function::new("run", Span::NONE);
        function.launch = Some(Launch { workgroup: [shape.workgroup, 1, 1], ..Launch::default() });
        let buffers = ["heap", "lanes", "frames", "pending", "queue", "control"];
        let attrs = ParamAttrs::default;
        let buffers = buffers.map(|name| function.param(name, Type::Memory(Space::Global), attrs()));
        let [heap, lanes, frames, pending, queue, control] = buffers;
        let sizes = ["lane_count", "stack_frames", "pool_frames", "tasks"];
        let [lane_count, stack_frames, pool_frames, tasks] = sizes.map(|name| function.param(name, Type::U32, attrs()));
        let mut memory = |name: &str, space: Space, words: u32| {
            let words = function.constant(Type::U32, u64::from(words));
            function.memory(Some(name.into()), space, Type::U32, words)
        };
        let own = memory("own", Space::Private, lane::CLASSES);
        let shared = memory("group", Space::Shared, group::WORDS);
        let verdict = memory("verdict", Space::Shared, 1);
        let mut b = Builder::new(function);
        let number = b.position(Op::GlobalId, Dim::X);
        let group = b.position(Op::WorkgroupId, Dim::X);
        let local = b.position(Op::LocalId, Dim::X);
        let lane = Lane { heap, lanes, control, own, shared, lane_count, number, shape: *shape };
        Machine {
            b,
            shape: *shape,
            lane,
            frames,
            pending,
            queue,
            verdict,
            stack_frames,
            pool_frames,
            tasks,
            group,
            local,
        }
    }

    pub(super) fn op(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(op, Type::U32, &[x, y])
    }
    pub(super) fn both(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(op, Type::BOOL, &[x, y])
    }
    pub(super) fn plus(&mut self, x: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.op(Op::Add, x, constant)
    }
    pub(super) fn is(&mut self, x: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.op(Op::Eq, x, constant)
    }
    pub(super) fn is_not(&mut self, x: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.op(Op::Ne, x, constant)
    }
    pub(super) fn select(&mut self, condition: ValueId, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(Op::Select, Type::U32, &[condition, x, y])
    }
    /// Whether a place in a ring comes before another one; they wrap around.
    pub(super) fn is_before(&mut self, place: ValueId, limit: ValueId) -> ValueId {
        let left = self.op(Op::Sub, limit, place);
        let left = self.b.op(Op::Bitcast, Type::I32, &[left]);
        let zero = self.b.constant(Scalar::I32, 0);
        self.b.op(Op::Gt, Type::I32, &[left, zero])
    }
    pub(super) fn get(&mut self, word: u32) -> ValueId {
        let at = self.b.u32(word);
        self.b.op(Op::AtomicLoad, Type::U32, &[self.lane.control, at])
    }
    pub(super) fn set(&mut self, word: u32, value: ValueId) {
        let at = self.b.u32(word);
        self.b.op_with(Op::AtomicStore, Some(Type::U32), &[self.lane.control, at, value], &[]);
    }
    pub(super) fn add(&mut self, word: u32, value: ValueId) -> ValueId {
        let at = self.b.u32(word);
        self.b.op(Op::AtomicAdd, Type::U32, &[self.lane.control, at, value])
    }
    pub(super) fn count(&mut self, word: u32) -> ValueId {
        let one = self.b.u32(1);
        self.add(word, one)
    }
    pub(super) fn end_with(&mut self, why: ValueId) {
        let (at, none) = (self.b.u32(control::FAULT), self.b.u32(0));
        self.b.op(Op::AtomicCompareExchange, Type::U32, &[self.lane.control, at, none, why]);
    }

    /// A choice of these results; both arms yield.
    pub(super) fn choose(
        &mut self,
        condition: ValueId,
        results: usize,
        then: impl FnOnce(&mut Self) -> Vec<ValueId>,
        otherwise: impl FnOnce(&mut Self) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let (a, b) = (self.b.new_region(&[]), self.b.new_region(&[]));
        self.within(a, then);
        self.within(b, otherwise);
        let mut inst = Inst::new(Op::If, None, vec![condition], Span::NONE);
        inst.regions = vec![a, b];
        let id = self.b.push(inst, &vec![Type::U32; results]);
        self.b.function.insts[id].results.clone()
    }
    fn within(&mut self, region: RegionId, body: impl FnOnce(&mut Self) -> Vec<ValueId>) {
        let outer = std::mem::replace(&mut self.b.region, region);
        let given = body(self);
        self.b.end(Op::Yield, &given);
        self.b.region = outer;
    }
    pub(super) fn when(&mut self, condition: ValueId, then: impl FnOnce(&mut Self)) {
        let then = |m: &mut Self| {
            then(m);
            vec![]
        };
        self.choose(condition, 0, then, |_| vec![]);
    }
    /// Another state if a condition holds.
    pub(super) fn change(
        &mut self,
        condition: ValueId,
        state: &State,
        then: impl FnOnce(&mut Self) -> State,
    ) -> State {
        let words = state.words();
        State::of(&self.choose(condition, words.len(), |m| then(m).words(), |_| words.clone()))
    }
    /// A loop that carries words and gives them; the body ends itself.
    pub(super) fn repeat(
        &mut self,
        initial: &[ValueId],
        body: impl FnOnce(&mut Self, &[ValueId]),
    ) -> Vec<ValueId> {
        let types = vec![Type::U32; initial.len()];
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut self.b.region, region);
        body(self, &params);
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, initial.to_vec(), Span::NONE);
        inst.regions = vec![region];
        let id = self.b.push(inst, &types);
        self.b.function.insts[id].results.clone()
    }
    /// Leaves the loop around with these words.
    pub(super) fn leave_if(&mut self, condition: ValueId, words: &[ValueId]) {
        self.b.if_else(condition, &[], |b| b.end(Op::Break, words), |b| b.end(Op::Yield, &[]));
    }
    /// Does something for each number below another one.
    pub(super) fn for_each(&mut self, from: ValueId, to: ValueId, step: u32, body: impl FnOnce(&mut Self, ValueId)) {
        self.repeat(&[from], |m, params| {
            let over = m.op(Op::Ge, params[0], to);
            m.leave_if(over, params);
            body(m, params[0]);
            let next = m.plus(params[0], step);
            m.b.end(Op::Continue, &[next]);
        });
    }
    /// What one invocation of the workgroup does.
    pub(super) fn by_one(&mut self, body: impl FnOnce(&mut Self)) {
        let is_first = self.is(self.local, 0);
        self.when(is_first, body);
    }
    /// Shows all lanes of the workgroup what one has found.
    pub(super) fn agree(&mut self, find: impl FnOnce(&mut Self) -> ValueId) -> ValueId {
        let zero = self.b.u32(0);
        let memory = self.verdict;
        self.by_one(|m| {
            let found = find(m);
            m.b.store(Type::U32, memory, zero, found);
        });
        self.b.op(Op::UniformLoad, Type::U32, &[memory, zero])
    }
    /// The place of a word of the workgroup between epochs.
    fn group_word(&mut self, word: u32) -> ValueId {
        let words = self.b.u32(group::WORDS);
        let first = self.op(Op::Mul, self.group, words);
        self.plus(first, self.shape.groups() + word)
    }

    /// Takes the workgroup's words and its share of the tasks; gives what the lane was doing.
    fn begin(&mut self) -> State {
        self.by_one(|m| {
            for word in 0..group::WORDS {
                let at = m.group_word(word);
                let value = m.b.op(Op::AtomicLoad, Type::U32, &[m.lane.control, at]);
                m.lane.set(&mut m.b, word, value);
            }
        });
        Lane::barrier(&mut self.b);
        self.take_share();
        for i in 0..lane::CLASSES {
            let value = self.load_own(lane::FREE + i);
            let at = self.b.u32(i);
            self.b.store(Type::U32, self.lane.own, at, value);
        }
        let was_busy = self.lane.get(&mut self.b, group::BUSY);
        let was_busy = self.is_not(was_busy, 0);
        let zero = self.b.u32(0);
        let idle = State {
            label: self.b.u32(label::IDLE),
            base: zero,
            depth: zero,
            bottom: zero,
            registers: vec![zero; self.shape.registers as usize],
        };
        let state = self.change(was_busy, &idle, Self::kept);
        Lane::barrier(&mut self.b);
        self.by_one(|m| {
            m.lane.set(&mut m.b, group::BUSY, zero);
            m.turn_rings();
            m.new_chunk();
        });
        Lane::barrier(&mut self.b);
        state
    }

    /// What the lane has kept.
    fn kept(&mut self) -> State {
        let stored = self.load_own(lane::LABEL);
        let idle = self.b.u32(label::IDLE);
        // So that nothing but zeros is a lane with nothing to do.
        let label = self.op(Op::Xor, stored, idle);
        let (base, depth, bottom) =
            (self.load_own(lane::BASE), self.load_own(lane::DEPTH), self.load_own(lane::BOTTOM));
        let registers = (0..self.shape.registers).map(|i| self.load_own(lane::REGISTERS + i)).collect();
        State { label, base, depth, bottom, registers }
    }

    /// A round: gives what the lane is doing at its end.
    fn round(&mut self, writer: &mut Writer<'_, '_>, verdict: ValueId, state: &State) -> Result<State, Diagnostic> {
        let promotes = self.is(verdict, Verdict::Promote as u32);
        let (short, long) = (self.b.u32(SHORT), self.b.u32(LONG));
        let steps = self.select(promotes, short, long);
        let carried: Vec<ValueId> = [steps].into_iter().chain(state.words()).collect();
        let mut failed = None;
        let last = self.repeat(&carried, |m, params| {
            let state = State::of(&params[1..]);
            let (enough, idle) = (m.is(params[0], 0), m.is(state.label, label::IDLE));
            let over = m.both(Op::Or, enough, idle);
            m.leave_if(over, params);
            let state = m.with_room(&state);
            let less = m.b.u32(u32::MAX);
            let steps = m.op(Op::Add, params[0], less);
            match m.segments(writer, steps, &state) {
                Err(error) => {
                    failed = Some(error);
                    m.b.end(Op::Break, params);
                }
                Ok(words) => {
                    let next = m.follow(&state, &words);
                    let next: Vec<ValueId> = [words[2]].into_iter().chain(next.words()).collect();
                    m.b.end(Op::Continue, &next);
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(State::of(&last[1..])),
        }
    }

    /// The segments, by number. Which there are is found while they are written.
    fn segments(&mut self, writer: &mut Writer<'_, '_>, steps: ValueId, state: &State) -> Result<Vec<ValueId>, Diagnostic> {
        let number = self.b.u32(label::NUMBER);
        let number = self.op(Op::And, state.label, number);
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), vec![number], Span::NONE);
        let mut cases = vec![];
        let mut next = 0;
        while let Some(point) = writer.labels.all.get(next).copied() {
            let region = self.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.b.region, region);
            writer.segment(&mut self.b, self.lane, point, (state.depth, steps, &state.registers))?;
            self.b.region = outer;
            inst.regions.push(region);
            cases.push(vec![next as i64]);
            next += 1;
        }
        // A label that there is not cannot be: the last one stands for it.
        cases.pop();
        inst.set(Attr::Cases(cases));
        self.b.span = Span::NONE;
        let id = self.b.push(inst, &vec![Type::U32; 3 + self.shape.registers as usize]);
        Ok(self.b.function.insts[id].results.clone())
    }

    /// Goes where a segment leads.
    fn follow(&mut self, state: &State, words: &[ValueId]) -> State {
        let (low, high) = (self.b.u32(0xffff), self.b.u32(Way::BIT));
        let label = self.op(Op::And, words[0], low);
        let way = self.op(Op::Shr, words[0], high);
        let to = State { label, depth: words[1], registers: words[3..].to_vec(), ..state.clone() };
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), vec![way], Span::NONE);
        let mut cases = vec![];
        for (number, way) in (0i64..).zip(Way::ALL) {
            let region = self.b.new_region(&[]);
            self.within(region, |m| match way {
                Way::Go => to.words(),
                Way::Return => m.give_back(&to).words(),
                Way::Wait => m.wait(&to).words(),
                Way::Trap => m.trap(&to).words(),
            });
            if number > 0 {
                cases.push(vec![number]);
            }
            inst.regions.push(region);
        }
        // The most frequent one is what is done if it is no other.
        let first = inst.regions.remove(0);
        inst.regions.push(first);
        inst.set(Attr::Cases(cases));
        let id = self.b.push(inst, &vec![Type::U32; to.words().len()]);
        State::of(&self.b.function.insts[id].results.clone())
    }

    /// A state whose oldest frames have become tasks, if the workgroup has found that there are too few.
    fn promoted(&mut self, verdict: ValueId, state: &State) -> State {
        let promotes = self.is(verdict, Verdict::Promote as u32);
        let has_frames = self.op(Op::Lt, state.bottom, state.depth);
        let promotes = self.both(Op::And, promotes, has_frames);
        self.change(promotes, state, |m| m.promote(state))
    }

    /// What the workgroup does next.
    fn judge(&mut self, rounds: ValueId, state: &State) -> ValueId {
        let is_busy = self.is_not(state.label, label::IDLE);
        self.when(is_busy, |m| {
            m.lane.count(&mut m.b, group::BUSY, 1);
        });
        Lane::barrier(&mut self.b);
        self.agree(|m| {
            let tasks = m.turn_rings();
            m.new_chunk();
            let busy = m.lane.get(&mut m.b, group::BUSY);
            let zero = m.b.u32(0);
            m.lane.set(&mut m.b, group::BUSY, zero);
            m.verdict(rounds, tasks, busy)
        })
    }

    fn verdict(&mut self, rounds: ValueId, tasks: ValueId, busy: ValueId) -> ValueId {
        let all = self.b.u32(self.shape.workgroup);
        let population = self.op(Op::Add, tasks, busy);
        let idle = self.op(Op::Sub, all, busy);
        let lacks = self.op(Op::Lt, tasks, idle);
        let some = self.is_not(busy, 0);
        let lacks = self.both(Op::And, lacks, some);
        let verdict = |m: &mut Self, v: Verdict| m.b.u32(v as u32);
        let (run, promote, flush, stop) = (
            verdict(self, Verdict::Run),
            verdict(self, Verdict::Promote),
            verdict(self, Verdict::Flush),
            verdict(self, Verdict::Stop),
        );
        let found = self.select(lacks, promote, run);
        // Others lack work from the beginning, or because most have stopped meanwhile.
        let (hungry, exited, groups) =
            (self.get(control::HUNGRY), self.get(control::EXITED), self.get(control::GROUPS));
        let hungry = self.is(hungry, 1);
        let twice = self.op(Op::Add, exited, exited);
        let most = self.op(Op::Ge, twice, groups);
        let patience = self.b.u32(PATIENCE);
        let late = self.op(Op::Ge, rounds, patience);
        let many = self.b.u32(self.shape.workgroup * 3 / 4);
        let many = self.op(Op::Ge, population, many);
        let two = self.b.u32(2);
        let several = self.op(Op::Ge, population, two);
        let late = self.both(Op::And, late, several);
        let ready = self.both(Op::Or, many, late);
        let hungry = self.both(Op::Or, hungry, most);
        let gives = self.both(Op::And, ready, hungry);
        let alone = self.is(groups, 1);
        let zero = self.b.u32(0);
        let gives = self.choose(alone, 1, |_| vec![zero], |m| vec![m.b.op(Op::Convert, Type::U32, &[gives])])[0];
        let gives = self.is(gives, 1);
        let found = self.select(gives, flush, found);
        let steps = self.get(control::STEPS);
        let long = self.b.u32(LONG);
        let most = self.op(Op::Div, steps, long);
        let enough = self.op(Op::Gt, rounds, most);
        let fault = self.get(control::FAULT);
        let (top, end) = (self.get(control::HEAP_TOP), self.get(control::HEAP_END));
        let lacks = self.op(Op::Gt, top, end);
        let faulty = self.is_not(fault, 0);
        let none = self.is(population, 0);
        let mut stops = self.both(Op::Or, enough, none);
        stops = self.both(Op::Or, stops, faulty);
        stops = self.both(Op::Or, stops, lacks);
        self.select(stops, stop, found)
    }

    /// Gives away what is to be given away, and keeps the rest.
    fn finish(&mut self, verdict: ValueId, state: &State) {
        let flushes = self.is(verdict, Verdict::Flush as u32);
        let state = self.change(flushes, state, |m| m.suspend(state));
        let is_busy = self.is_not(state.label, label::IDLE);
        self.when(is_busy, |m| {
            m.lane.count(&mut m.b, group::BUSY, 1);
        });
        Lane::barrier(&mut self.b);
        self.give_tasks_away(flushes);
        for i in 0..lane::CLASSES {
            let at = self.b.u32(i);
            let value = self.b.load(Type::U32, self.lane.own, at);
            self.store_own(lane::FREE + i, value);
        }
        let busy = self.lane.get(&mut self.b, group::BUSY);
        let is_busy = self.is_not(busy, 0);
        self.when(is_busy, |m| m.keep_state(&state));
        self.by_one(|m| {
            let tasks = m.own_tasks();
            let rest = m.op(Op::Add, busy, tasks);
            let has_rest = m.is_not(rest, 0);
            m.when(has_rest, |m| {
                m.count(control::BUSY);
            });
            m.count(control::EXITED);
            for word in 0..group::WORDS {
                let value = m.lane.get(&mut m.b, word);
                let at = m.group_word(word);
                m.b.op_with(Op::AtomicStore, Some(Type::U32), &[m.lane.control, at, value], &[] as &[Attr]);
            }
        });
        self.b.end(Op::Return, &[]);
    }

    fn keep_state(&mut self, state: &State) {
        let idle = self.b.u32(label::IDLE);
        let stored = self.op(Op::Xor, state.label, idle);
        self.store_own(lane::LABEL, stored);
        self.store_own(lane::BASE, state.base);
        self.store_own(lane::DEPTH, state.depth);
        self.store_own(lane::BOTTOM, state.bottom);
        for (i, value) in (0..).zip(&state.registers) {
            self.store_own(lane::REGISTERS + i, *value);
        }
    }
}
