//! The kernel that goes on for one epoch: what a lane does over and over.
//!
//! A lane takes a task if it has nothing to do, runs the segment of its label, and does what the segment asks for: jumps, calls, returns, forks,
//! waits. It stops when there are no tasks, when it has run its share of segments, or when the run has ended; then it keeps what it needs to
//! go on in the next epoch.

use super::labels::Labels;
use super::memory::{Shape, WORKGROUP, control, fault, frame, label, lane};
use super::points::Points;
use super::segments::{Copier, Writer};
use crate::diag::Diagnostic;
use crate::idx::IndexVec;
use crate::ir::attrs::{Attr, Dim};
use crate::ir::heap::{GlobalId, NULL_HOLE};
use crate::ir::{
    Builder, Function, FunctionId, Inst, Launch, Module, Op, ParamAttrs, RegionId, Scalar, Space, Type, ValueId,
};
use crate::span::Span;
use std::collections::{HashMap, HashSet};

/// How a segment is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To a label.
    Jump,
    /// To a label; what is behind comes when that returns.
    Call,
    /// The same, but what is behind can go on meanwhile.
    Fork,
    /// To whoever called, with the first registers.
    Return,
    /// What is behind comes when the frame in the first register has what it waits for.
    Wait,
    /// The program is wrong: the first register says how.
    Trap,
}

impl Way {
    const ALL: [Way; 6] = [Way::Jump, Way::Call, Way::Fork, Way::Return, Way::Wait, Way::Trap];
}

/// Where a segment leads.
#[derive(Clone, Debug)]
pub(super) struct Transition {
    pub way: Way,
    pub label: u32,
    /// Registers, as far as they matter.
    pub registers: Vec<ValueId>,
    /// The label behind a call.
    pub behind: u32,
    /// What is kept for it.
    pub kept: Vec<ValueId>,
}

impl Transition {
    pub fn of(way: Way, label: u32) -> Transition {
        Transition { way, label, registers: vec![], behind: 0, kept: vec![] }
    }
}

/// The names of what a lane works on.
pub(super) struct Lane {
    pub heap: ValueId,
    /// The lane's chunk and lists of free cells, from [`lane::UNIT`] on.
    pub own: ValueId,
    control: ValueId,
    shape: Shape,
}

impl Lane {
    /// How many words a transition is: way and label, the label behind, registers, what is kept.
    pub fn transition_words(&self) -> usize {
        2 + (self.shape.registers + self.shape.most_kept) as usize
    }

    pub fn words_of(&self, b: &mut Builder, transition: Transition) -> Vec<ValueId> {
        let zero = b.u32(0);
        let mut words = vec![b.u32(transition.label | (transition.way as u32) << 16), b.u32(transition.behind)];
        words.extend(transition.registers);
        words.resize(2 + self.shape.registers as usize, zero);
        words.extend(transition.kept);
        words.resize(self.transition_words(), zero);
        words
    }

    /// Whether the value of a global can be seen, and the value.
    pub fn global(&self, b: &mut Builder, global: GlobalId) -> (ValueId, ValueId) {
        let at = b.u32(control::GLOBALS + global.index() as u32);
        let word = b.op(Op::AtomicLoad, Type::U32, &[self.control, at]);
        let (zero, none) = (b.u32(0), b.u32(NULL_HOLE));
        (b.op(Op::Ne, Type::U32, &[word, zero]), b.op(Op::Xor, Type::U32, &[word, none]))
    }

    /// Shows the value of a global to all lanes, from the next epoch on; gives it as a shared word.
    pub fn publish(&self, b: &mut Builder, global: GlobalId, value: ValueId) -> ValueId {
        let shared = super::cells::as_shared(b, value);
        let none = b.u32(NULL_HOLE);
        let word = b.op(Op::Xor, Type::U32, &[shared, none]);
        let at = b.u32(control::GLOBALS + self.shape.globals + global.index() as u32);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[self.control, at, word], &[]);
        shared
    }
}

/// What a lane is doing.
#[derive(Clone)]
pub(super) struct State {
    pub label: ValueId,
    /// The frame that gets its results.
    pub base: ValueId,
    /// How many frames its stack has.
    pub depth: ValueId,
    /// How many forks it has made tasks of since it took its own.
    pub spawned: ValueId,
    pub registers: Vec<ValueId>,
}

impl State {
    pub fn words(&self) -> Vec<ValueId> {
        [self.label, self.base, self.depth, self.spawned].iter().chain(&self.registers).copied().collect()
    }
    pub fn of(words: &[ValueId]) -> State {
        let [label, base, depth, spawned, registers @ ..] = words else { unreachable!("a state has these words") };
        State { label: *label, base: *base, depth: *depth, spawned: *spawned, registers: registers.to_vec() }
    }
}

/// The kernel on its way.
pub(super) struct Machine<'a> {
    pub b: Builder,
    pub shape: &'a Shape,
    pub lane: Lane,
    pub lanes: ValueId,
    pub frames: ValueId,
    pub pending: ValueId,
    pub queue: ValueId,
    control: ValueId,
    /// Parameters: how many lanes, frames of a stack, frames of the pool, and tasks of the queue there are; the last two are powers of 2.
    pub lane_count: ValueId,
    pub stack_frames: ValueId,
    pub pool_frames: ValueId,
    pub tasks: ValueId,
    /// The number of the lane.
    pub number: ValueId,
}

/// Writes the kernel.
pub(super) fn machine(
    module: &Module,
    framed: &HashSet<FunctionId>,
    labels: &Labels,
    shape: &Shape,
    pure: &IndexVec<FunctionId, Option<FunctionId>>,
) -> Result<Function, Diagnostic> {
    let mut m = Machine::new(shape);
    let initial = m.begin();
    let steps = m.b.u32(0);
    let types = vec![Type::U32; initial.words().len()];
    let carried: Vec<ValueId> = [steps].iter().chain(&initial.words()).copied().collect();
    let body = m.b.new_region(&vec![Type::U32; carried.len()]);
    let params = m.b.function.regions[body].params.clone();
    let outer = std::mem::replace(&mut m.b.region, body);
    let taken = m.taken(&State::of(&params[1..]));
    m.leave_if_over(params[0], &taken);
    let transition = m.segments(module, framed, labels, pure, &taken)?;
    let next = m.follow(&taken, &transition);
    let one = m.b.u32(1);
    let steps = m.op(Op::Add, params[0], one);
    let again: Vec<ValueId> = [steps].iter().chain(&next.words()).copied().collect();
    m.b.end(Op::Continue, &again);
    m.b.region = outer;
    let mut inst = Inst::new(Op::Loop, None, &carried, Span::NONE);
    inst.regions.extend([body]);
    let id = m.b.push(inst, &types);
    let last = m.b.function.insts[id].results.clone();
    m.finish(&State::of(&last));
    Ok(m.b.function)
}

impl<'a> Machine<'a> {
    fn new(shape: &'a Shape) -> Machine<'a> {
        let mut function = Function::new("run", Span::NONE);
        function.launch = Some(Launch { workgroup: [WORKGROUP, 1, 1], ..Launch::default() });
        let buffers = ["heap", "lanes", "frames", "pending", "queue", "control"];
        let attrs = ParamAttrs::default;
        let buffers = buffers.map(|name| function.param(name, Type::Memory(Space::Global), attrs()));
        let [heap, lanes, frames, pending, queue, control] = buffers;
        let sizes = ["lane_count", "stack_frames", "pool_frames", "tasks"];
        let [lane_count, stack_frames, pool_frames, tasks] = sizes.map(|name| function.param(name, Type::U32, attrs()));
        let words = function.constant(Type::U32, u64::from(2 + lane::CLASSES));
        let own = function.memory(Some("own".into()), Space::Private, Type::U32, words);
        let mut b = Builder::new(function);
        let number = b.position(Op::GlobalId, Dim::X);
        let lane = Lane { heap, own, control, shape: *shape };
        Machine {
            b,
            shape,
            lane,
            lanes,
            frames,
            pending,
            queue,
            control,
            lane_count,
            stack_frames,
            pool_frames,
            tasks,
            number,
        }
    }

    pub(super) fn op(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(op, Type::U32, &[x, y])
    }
    pub(super) fn plus(&mut self, x: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.op(Op::Add, x, constant)
    }
    pub(super) fn is(&mut self, x: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.op(Op::Eq, x, constant)
    }
    pub(super) fn get(&mut self, word: u32) -> ValueId {
        let at = self.b.u32(word);
        self.b.op(Op::AtomicLoad, Type::U32, &[self.control, at])
    }
    pub(super) fn set(&mut self, word: u32, value: ValueId) {
        let at = self.b.u32(word);
        self.b.op_with(Op::AtomicStore, Some(Type::U32), &[self.control, at, value], &[]);
    }
    pub(super) fn count(&mut self, word: u32, by: u32) -> ValueId {
        let (at, by) = (self.b.u32(word), self.b.u32(by));
        self.b.op(Op::AtomicAdd, Type::U32, &[self.control, at, by])
    }
    pub(super) fn end_with(&mut self, why: ValueId) {
        let (at, none) = (self.b.u32(control::FAULT), self.b.u32(0));
        self.b.op(Op::AtomicCompareExchange, Type::U32, &[self.control, at, none, why]);
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
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        inst.regions.extend([a, b]);
        let id = self.b.push(inst, &vec![Type::U32; results]);
        self.b.function.insts[id].results.to_vec()
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

    /// What the lane was doing in the last epoch.
    fn begin(&mut self) -> State {
        let is_none = self.op(Op::Ge, self.number, self.lane_count);
        self.b.if_else(is_none, &[], |b| b.end(Op::Return, &[]), |b| b.end(Op::Yield, &[]));
        for word in lane::UNIT..lane::REGISTERS {
            let value = self.load_own(word);
            let at = self.b.u32(word - lane::UNIT);
            self.b.store(Type::U32, self.lane.own, at, value);
        }
        let stored = self.load_own(lane::LABEL);
        let idle = self.b.u32(label::IDLE);
        // So that nothing but zeros is a lane with nothing to do.
        let label = self.op(Op::Xor, stored, idle);
        let (base, depth) = (self.load_own(lane::BASE), self.load_own(lane::DEPTH));
        let registers = (0..self.shape.registers).map(|i| self.load_own(lane::REGISTERS + i)).collect();
        State { label, base, depth, spawned: self.b.u32(0), registers }
    }

    /// Keeps what the lane is doing.
    fn finish(&mut self, state: &State) {
        for word in lane::UNIT..lane::REGISTERS {
            let at = self.b.u32(word - lane::UNIT);
            let value = self.b.load(Type::U32, self.lane.own, at);
            self.store_own(word, value);
        }
        let idle = self.b.u32(label::IDLE);
        let stored = self.op(Op::Xor, state.label, idle);
        self.store_own(lane::LABEL, stored);
        self.store_own(lane::BASE, state.base);
        self.store_own(lane::DEPTH, state.depth);
        for (i, value) in (0..).zip(&state.registers) {
            self.store_own(lane::REGISTERS + i, *value);
        }
        let is_busy = self.op(Op::Ne, state.label, idle);
        self.when(is_busy, |m| {
            m.count(control::BUSY, 1);
        });
        self.b.end(Op::Return, &[]);
    }

    /// The state with a task, if the lane has nothing to do and there is one.
    fn taken(&mut self, state: &State) -> State {
        let idle = self.is(state.label, label::IDLE);
        let count = state.words().len();
        let words = self.choose(
            idle,
            count,
            |m| {
                let (place, limit) = (m.count(control::HEAD, 1), m.get(control::LIMIT));
                let left = m.op(Op::Sub, limit, place);
                let left = m.b.op(Op::Bitcast, Type::I32, &[left]);
                let zero = m.b.constant(Scalar::I32, 0);
                let is_there = m.b.op(Op::Gt, Type::I32, &[left, zero]);
                m.choose(is_there, count, |m| m.task(place).words(), |_| state.words())
            },
            |_| state.words(),
        );
        State::of(&words)
    }

    fn task(&mut self, place: ValueId) -> State {
        let load = |m: &mut Self, word: u32| {
            let at = m.task_word(place, word);
            m.b.load(Type::U32, m.queue, at)
        };
        let (begins, frame) = (load(self, 0), load(self, 1));
        let zero = self.b.u32(0);
        let is_frame = self.is(begins, label::RESUME);
        let registers = self.shape.registers;
        let words = self.choose(
            is_frame,
            4 + registers as usize,
            |m| {
                let (label, base) = (m.load_frame(frame, frame::LABEL), m.load_frame(frame, frame::BASE));
                let mut words: Vec<ValueId> = vec![label, base, zero, zero];
                words.extend((0..m.shape.kept).map(|i| m.load_frame(frame, frame::RESULTS + i)).collect::<Vec<_>>());
                words.extend(m.kept_of(frame));
                words.resize(4 + registers as usize, zero);
                m.free_frame(frame);
                words
            },
            |m| {
                let mut words = vec![begins, frame, zero, zero];
                words.extend((0..registers).map(|i| load(m, 2 + i)).collect::<Vec<_>>());
                words
            },
        );
        State::of(&words)
    }

    /// Leaves the loop if there is nothing to do or enough was done, and sees to it that there is memory for a segment.
    fn leave_if_over(&mut self, steps: ValueId, state: &State) {
        let most = self.get(control::STEPS);
        let enough = self.op(Op::Ge, steps, most);
        let idle = self.is(state.label, label::IDLE);
        let why = self.get(control::FAULT);
        let zero = self.b.u32(0);
        let has_ended = self.op(Op::Ne, why, zero);
        let over = self.b.op(Op::Or, Type::BOOL, &[enough, idle]);
        let over = self.b.op(Op::Or, Type::BOOL, &[over, has_ended]);
        let words = state.words();
        let leave = |m: &mut Self, condition: ValueId| {
            m.b.if_else(condition, &[], |b| b.end(Op::Break, &words), |b| b.end(Op::Yield, &[]));
        };
        leave(self, over);
        if self.shape.need == 0 {
            return;
        }
        let (first, second) = (self.b.u32(0), self.b.u32(1));
        let unit = self.b.load(Type::U32, self.lane.own, first);
        let end = self.b.load(Type::U32, self.lane.own, second);
        let after = self.plus(unit, self.shape.need);
        let lacks = self.op(Op::Gt, after, end);
        let failed = self.choose(
            lacks,
            1,
            |m| {
                let chunk = m.shape.chunk();
                let begin = m.count(control::HEAP_TOP, chunk);
                let (limit, end) = (m.get(control::HEAP_END), m.plus(begin, chunk));
                let fits = m.op(Op::Le, end, limit);
                let fits = m.b.op(Op::Convert, Type::U32, &[fits]);
                let is_there = m.is(fits, 1);
                m.choose(
                    is_there,
                    1,
                    |m| {
                        let own = m.lane.own;
                        m.b.store(Type::U32, own, first, begin);
                        m.b.store(Type::U32, own, second, end);
                        vec![m.b.u32(0)]
                    },
                    |m| {
                        let why = m.b.u32(fault::MEMORY);
                        m.end_with(why);
                        vec![m.b.u32(1)]
                    },
                )
            },
            |m| vec![m.b.u32(0)],
        );
        let failed = self.is(failed[0], 1);
        leave(self, failed);
    }

    /// The segments, by label.
    fn segments(
        &mut self,
        module: &Module,
        framed: &HashSet<FunctionId>,
        labels: &Labels,
        pure: &IndexVec<FunctionId, Option<FunctionId>>,
        state: &State,
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[state.label], Span::NONE);
        let mut cases = vec![];
        let mut points: HashMap<FunctionId, Points<'_>> = HashMap::new();
        for (number, label) in (0i64..).zip(&labels.all) {
            let function = &module.functions[label.function];
            let points = points.entry(label.function).or_insert_with(|| Points::of(function, framed));
            let region = self.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.b.region, region);
            let copier = Copier { b: &mut self.b, function, new: pure, lane: Some(&self.lane), known: HashMap::new() };
            let mut writer = Writer { module, labels, id: label.function, points, lane: &self.lane, copier };
            writer.segment(label.point, &state.registers)?;
            self.b.region = outer;
            cases.push(vec![number]);
            inst.regions.push(region);
        }
        // A label that there is not cannot be.
        let region = self.b.new_region(&[]);
        let outer = std::mem::replace(&mut self.b.region, region);
        let code = self.b.u32(u32::MAX - fault::TRAP);
        let words =
            self.lane.words_of(&mut self.b, Transition { registers: vec![code], ..Transition::of(Way::Trap, 0) });
        self.b.end(Op::Yield, &words);
        self.b.region = outer;
        inst.regions.push(region);
        inst.set(Attr::Cases(cases));
        self.b.span = Span::NONE;
        let id = self.b.push(inst, &vec![Type::U32; self.lane.transition_words()]);
        Ok(self.b.function.insts[id].results.to_vec())
    }

    /// Does what a segment asks for.
    fn follow(&mut self, state: &State, transition: &[ValueId]) -> State {
        let (low, high) = (self.b.u32(0xffff), self.b.u32(16));
        let label = self.op(Op::And, transition[0], low);
        let way = self.op(Op::Shr, transition[0], high);
        let behind = transition[1];
        let (registers, kept) = transition[2..].split_at(self.shape.registers as usize);
        let to = State { label, registers: registers.to_vec(), ..state.clone() };
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[way], Span::NONE);
        let mut cases = vec![];
        for (number, way) in (0i64..).zip(Way::ALL) {
            let region = self.b.new_region(&[]);
            self.within(region, |m| match way {
                Way::Jump => to.words(),
                Way::Call => m.call(&to, behind, kept).words(),
                Way::Fork => m.fork(&to, behind, kept).words(),
                Way::Return => m.give_back(&to).words(),
                Way::Wait => m.wait(&to, behind, kept).words(),
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
        State::of(&self.b.function.insts[id].results)
    }
}
