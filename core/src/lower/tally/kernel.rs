//! The kernel that goes on for one epoch.
//!
//! An epoch is *rounds*. At the beginning of one, lanes that have nothing to do take tasks from the queue, as many as a workgroup needs at
//! once; then each lane does steps, with what is left for later on a stack of its own, which it goes down into first. When the queue is empty and
//! a quarter of a workgroup's lanes have nothing to do, the workgroup gives all that is on its stacks to the queue: there the oldest entries,
//! with most of the work, are shared out in the next epoch. If there are tasks left when an epoch has taken long enough, all keep what they have.
//!
//! What is put into the queue is taken in a later epoch, so nobody waits for anybody but at barriers.

use super::code::{Measured, Writer};
use super::memory::{control, fault, group};
use super::{Form, Refusal};
use crate::ir::attrs::{Attr, Dim, Spaces};
use crate::ir::{Builder, Function, Inst, Launch, Op, ParamAttrs, Space, Type, ValueId};
use crate::span::Span;

/// The head of a lane that has nothing to do.
pub(super) const IDLE: u32 = u32::MAX;

/// What code of a lane needs the names of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub queue: ValueId,
    pub control: ValueId,
    /// What lanes keep between two epochs.
    kept: ValueId,
    /// The lane's stack, in private memory.
    pub stack: ValueId,
    /// Words of a task.
    pub width: u32,
    /// The workgroup's words, in shared memory: counters, and what one lane has found out for all.
    group: ValueId,
    found: ValueId,
    local: ValueId,
    /// How many tasks the queue has room for.
    tasks: ValueId,
    /// How many lanes there are at most, and which one this is.
    lanes: ValueId,
    number: ValueId,
}

impl Lane {
    pub fn new(form: &Form, width: u32) -> (Builder, Lane) {
        let mut function = Function::new("run", Span::NONE);
        function.launch = Some(Launch { workgroup: [form.workgroup, 1, 1], ..Launch::default() });
        let mut buffer = |name: &str| function.param(name, Type::Memory(Space::Global), ParamAttrs::default());
        let (queue, control, kept) = (buffer("queue"), buffer("control"), buffer("kept"));
        let tasks = function.param("tasks", Type::U32, ParamAttrs::default());
        let lanes = function.param("lanes", Type::U32, ParamAttrs::default());
        let mut memory = |name: &str, space: Space, words: u32| {
            let words = function.constant(Type::U32, u64::from(words));
            function.memory(Some(name.into()), space, Type::U32, words)
        };
        let stack = memory("stack", Space::Private, form.stack * width);
        let group = memory("group", Space::Shared, group::WORDS);
        let found = memory("found", Space::Shared, 2);
        let mut b = Builder::new(function);
        let local = b.position(Op::LocalId, Dim::X);
        let number = b.position(Op::GlobalId, Dim::X);
        (b, Lane { queue, control, kept, stack, width, group, found, local, tasks, lanes, number })
    }

    fn entry_word(&self, b: &mut Builder, depth: ValueId, word: u32) -> ValueId {
        let (width, word) = (b.u32(self.width), b.u32(word));
        let first = b.op(Op::Mul, Type::U32, &[depth, width]);
        b.op(Op::Add, Type::U32, &[first, word])
    }
    /// Writes an entry of the stack.
    pub fn store(&self, b: &mut Builder, depth: ValueId, words: &[ValueId]) {
        for (i, word) in (0..).zip(words) {
            let at = self.entry_word(b, depth, i);
            b.store(Type::U32, self.stack, at, *word);
        }
    }
    fn load(&self, b: &mut Builder, depth: ValueId) -> Vec<ValueId> {
        let load = |i: u32| {
            let at = self.entry_word(b, depth, i);
            b.load(Type::U32, self.stack, at)
        };
        (0..self.width).map(load).collect()
    }
    /// Where a word of what the lane keeps stands.
    fn kept_word(&self, b: &mut Builder, word: ValueId) -> ValueId {
        let row = b.op(Op::Mul, Type::U32, &[word, self.lanes]);
        b.op(Op::Add, Type::U32, &[row, self.number])
    }
    /// Where a word of a task that the lane keeps stands.
    fn kept_task_word(&self, b: &mut Builder, place: ValueId, word: u32) -> ValueId {
        let word = self.entry_word(b, place, 1 + word);
        self.kept_word(b, word)
    }
    /// Where a word of a task stands in the queue.
    fn task_word(&self, b: &mut Builder, place: ValueId, word: u32) -> ValueId {
        let one = b.u32(1);
        let mask = b.op(Op::Sub, Type::U32, &[self.tasks, one]);
        let place = b.op(Op::And, Type::U32, &[place, mask]);
        self.entry_word(b, place, word)
    }

    fn get(&self, b: &mut Builder, memory: ValueId, word: u32) -> ValueId {
        let at = b.u32(word);
        b.op(Op::AtomicLoad, Type::U32, &[memory, at])
    }
    fn set(&self, b: &mut Builder, memory: ValueId, word: u32, value: ValueId) {
        let at = b.u32(word);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[memory, at, value], &[]);
    }
    fn add(&self, b: &mut Builder, memory: ValueId, word: u32, value: ValueId) -> ValueId {
        let at = b.u32(word);
        b.op(Op::AtomicAdd, Type::U32, &[memory, at, value])
    }
    fn barrier(b: &mut Builder) {
        b.op_with(Op::Barrier, None, &[], &[Attr::Spaces(Spaces { global: true, shared: true })]);
    }
    /// What one lane does.
    fn by_one(&self, b: &mut Builder, body: impl FnOnce(&mut Builder)) {
        let zero = b.u32(0);
        let is_first = b.op(Op::Eq, Type::U32, &[self.local, zero]);
        when(b, is_first, body);
    }
    /// Shows all lanes what one has found out.
    fn agree(&self, b: &mut Builder, find: impl FnOnce(&mut Builder) -> [ValueId; 2]) -> [ValueId; 2] {
        let places = [b.u32(0), b.u32(1)];
        self.by_one(b, |b| {
            let words = find(b);
            for (place, word) in places.iter().zip(words) {
                b.store(Type::U32, self.found, *place, word);
            }
        });
        places.map(|place| b.op(Op::UniformLoad, Type::U32, &[self.found, place]))
    }
}

fn op(b: &mut Builder, op: Op, x: ValueId, y: ValueId) -> ValueId {
    b.op(op, Type::U32, &[x, y])
}
fn both(b: &mut Builder, op: Op, x: ValueId, y: ValueId) -> ValueId {
    b.op(op, Type::BOOL, &[x, y])
}
fn is(b: &mut Builder, x: ValueId, constant: u32) -> ValueId {
    let constant = b.u32(constant);
    op(b, Op::Eq, x, constant)
}
fn when(b: &mut Builder, condition: ValueId, body: impl FnOnce(&mut Builder)) {
    let then = |b: &mut Builder| {
        body(b);
        b.end(Op::Yield, &[]);
    };
    b.if_else(condition, &[], then, |b| b.end(Op::Yield, &[]));
}
/// Other words if a condition holds.
fn change(
    b: &mut Builder,
    condition: ValueId,
    words: &[ValueId],
    then: impl FnOnce(&mut Builder) -> Vec<ValueId>,
) -> Vec<ValueId> {
    let types: Vec<Type> = words.iter().map(|word| b.ty(*word)).collect();
    let then = |b: &mut Builder| {
        let words = then(b);
        b.end(Op::Yield, &words);
    };
    b.if_else(condition, &types, then, |b| b.end(Op::Yield, words))
}
fn leave_if(b: &mut Builder, condition: ValueId, words: &[ValueId]) {
    b.if_else(condition, &[], |b| b.end(Op::Break, words), |b| b.end(Op::Yield, &[]));
}
/// How much is left up to a place of the ring; nothing if it is behind.
fn left(b: &mut Builder, place: ValueId, limit: ValueId) -> ValueId {
    let left = op(b, Op::Sub, limit, place);
    let signed = b.op(Op::Bitcast, Type::I32, &[left]);
    let none = b.constant(crate::ir::Scalar::I32, 0);
    let some = b.op(Op::Gt, Type::I32, &[signed, none]);
    let zero = b.u32(0);
    b.op(Op::Select, Type::U32, &[some, left, zero])
}

/// Does something for each number below another one.
fn for_each(b: &mut Builder, count: ValueId, body: impl FnOnce(&mut Builder, ValueId)) {
    let zero = b.u32(0);
    b.loop_with(&[zero], &[Type::U32], |b, params| {
        let over = op(b, Op::Ge, params[0], count);
        leave_if(b, over, params);
        body(b, params[0]);
        let one = b.u32(1);
        let next = op(b, Op::Add, params[0], one);
        b.end(Op::Continue, &[next]);
    });
}

/// Why a workgroup stops: nobody has work, or few; all keep what they have.
const GIVE: u32 = u32::MAX;
const KEEP: u32 = u32::MAX - 1;

/// The kernel on its way.
struct Kernel<'w, 'm> {
    w: &'w mut Writer<'m>,
    form: Form,
}

/// Writes the kernel; the stack is so deep that a step finds room for `pushes` entries.
pub(super) fn kernel(mut writer: Writer<'_>, form: &Form, pushes: u32) -> Result<(Function, Measured), Refusal> {
    let lane = writer.lane;
    let mut kernel = Kernel { w: &mut writer, form: *form };
    let state = kernel.begin();
    let b = &mut kernel.w.b;
    let zero = b.u32(0);
    let carried: Vec<ValueId> = [zero].iter().chain(&state).copied().collect();
    let types: Vec<Type> = carried.iter().map(|word| b.ty(*word)).collect();
    let region = b.new_region(&types);
    let params = b.function.regions[region].params.clone();
    let outer = std::mem::replace(&mut b.region, region);
    let (rounds, state) = (params[0], &params[1..]);
    let state = kernel.supplied(rounds, state, &params);
    let state = kernel.round(&state, pushes)?;
    let b = &mut kernel.w.b;
    let room = b.u32(form.stack.saturating_sub(pushes));
    let is_full = op(b, Op::Gt, state[1], room);
    when(b, is_full, |b| {
        let one = b.u32(1);
        lane.add(b, lane.group, group::FULL, one);
    });
    let one = b.u32(1);
    let rounds = op(b, Op::Add, rounds, one);
    let next: Vec<ValueId> = [rounds].iter().chain(&state).copied().collect();
    b.end(Op::Continue, &next);
    b.region = outer;
    let mut around = Inst::new(Op::Loop, None, &carried, Span::NONE);
    around.regions.push(region);
    let around = b.push(around, &types);
    let last = b.function.insts[around].results.to_vec();
    kernel.finish(&last[1..]);
    Ok((writer.b.function, writer.measured))
}

impl Kernel<'_, '_> {
    /// Nothing is counted yet, and lanes have what they kept.
    fn begin(&mut self) -> Vec<ValueId> {
        let (lane, monoid) = (self.w.lane, self.w.found.monoid);
        let b = &mut self.w.b;
        let zero = b.u32(0);
        let neutral = b.u32(monoid.neutral());
        lane.by_one(b, |b| {
            for word in [group::IDLE, group::FULL, group::GIVEN] {
                lane.set(b, lane.group, word, zero);
            }
            lane.set(b, lane.group, group::SUM, neutral);
        });
        Lane::barrier(b);
        let at = lane.kept_word(b, zero);
        let depth = b.load(Type::U32, lane.kept, at);
        for_each(b, depth, |b, i| {
            let load = |word: u32| {
                let at = lane.kept_task_word(b, i, word);
                b.load(Type::U32, lane.kept, at)
            };
            let words: Vec<ValueId> = (0..lane.width).map(load).collect();
            lane.store(b, i, &words);
        });
        let mut state = vec![b.u32(IDLE), depth, neutral];
        state.resize(2 + lane.width as usize, zero);
        state
    }

    /// The state at the beginning of a round: lanes that had nothing to do have tasks, if there are any. Leaves the loop if the workgroup shall stop.
    fn supplied(&mut self, rounds: ValueId, state: &[ValueId], carried: &[ValueId]) -> Vec<ValueId> {
        let (lane, workgroup) = (self.w.lane, self.form.workgroup);
        let b = &mut self.w.b;
        let zero = b.u32(0);
        let idle = is(b, state[0], IDLE);
        let empty = is(b, state[1], 0);
        let idle = both(b, Op::And, idle, empty);
        let number = change(b, idle, &[zero], |b| {
            let one = b.u32(1);
            vec![lane.add(b, lane.group, group::IDLE, one)]
        })[0];
        Lane::barrier(b);
        let [place, found] = lane.agree(b, |b| {
            let [full, fault, most] =
                [(lane.group, group::FULL), (lane.control, control::FAULT), (lane.control, control::ROUNDS)]
                    .map(|(memory, word)| lane.get(b, memory, word));
            let over = op(b, Op::Ge, rounds, most);
            let full = op(b, Op::Or, full, fault);
            let full = op(b, Op::Ne, full, zero);
            let over = both(b, Op::Or, over, full);
            let idle = lane.get(b, lane.group, group::IDLE);
            lane.set(b, lane.group, group::IDLE, zero);
            let asks = op(b, Op::Ne, idle, zero);
            let goes_on = b.op(Op::Not, Type::BOOL, &[over]);
            let asks = both(b, Op::And, asks, goes_on);
            let taken = change(b, asks, &[zero, zero], |b| {
                let place = lane.add(b, lane.control, control::HEAD, idle);
                let limit = lane.get(b, lane.control, control::LIMIT);
                let there = left(b, place, limit);
                vec![place, op(b, Op::Min, there, idle)]
            });
            // Without supply: nobody has work, or a quarter of the lanes have none.
            let all = b.u32(workgroup);
            let busy = op(b, Op::Sub, all, idle);
            let none = op(b, Op::Eq, busy, zero);
            let most = b.u32(workgroup - workgroup / 4);
            let few = op(b, Op::Lt, busy, most);
            let began = op(b, Op::Ne, rounds, zero);
            let few = both(b, Op::And, few, began);
            let ends = both(b, Op::Or, none, few);
            let got_none = op(b, Op::Eq, taken[1], zero);
            let ends = both(b, Op::And, ends, got_none);
            let ends = both(b, Op::Or, ends, over);
            let head = lane.get(b, lane.control, control::HEAD);
            let limit = lane.get(b, lane.control, control::LIMIT);
            let there = left(b, head, limit);
            let some = op(b, Op::Ne, there, zero);
            let spare = b.op(Op::Not, Type::BOOL, &[full]);
            let keeps = both(b, Op::And, some, spare);
            let (give, keep) = (b.u32(GIVE), b.u32(KEEP));
            let stop = b.op(Op::Select, Type::U32, &[keeps, keep, give]);
            [taken[0], b.op(Op::Select, Type::U32, &[ends, stop, taken[1]])]
        });
        let least = b.u32(KEEP);
        let stops = op(b, Op::Ge, found, least);
        leave_if(b, stops, carried);
        let gets = op(b, Op::Lt, number, found);
        let gets = both(b, Op::And, gets, idle);
        change(b, gets, state, |b| {
            let place = op(b, Op::Add, place, number);
            let load = |i: u32| {
                let at = lane.task_word(b, place, i);
                b.load(Type::U32, lane.queue, at)
            };
            let words: Vec<ValueId> = (0..lane.width).map(load).collect();
            [&[words[0]], &state[1..3], &words[1..]].concat()
        })
    }

    /// Steps of a round: until the lane has nothing more to do, or its stack has no room for those of another step.
    fn round(&mut self, state: &[ValueId], pushes: u32) -> Result<Vec<ValueId>, Refusal> {
        let (lane, form) = (self.w.lane, self.form);
        let b = &mut self.w.b;
        let steps = b.u32(form.steps);
        let carried: Vec<ValueId> = [steps].iter().chain(state).copied().collect();
        let types: Vec<Type> = carried.iter().map(|word| b.ty(*word)).collect();
        let region = b.new_region(&types);
        let params = b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut b.region, region);
        let idle = is(b, params[1], IDLE);
        let empty = is(b, params[2], 0);
        let nothing = both(b, Op::And, idle, empty);
        let over = is(b, params[0], 0);
        let room = b.u32(form.stack.saturating_sub(pushes));
        let full = op(b, Op::Gt, params[2], room);
        let ends = both(b, Op::Or, nothing, over);
        let ends = both(b, Op::Or, ends, full);
        leave_if(b, ends, &params);
        let state = change(b, idle, &params[1..], |b| {
            let one = b.u32(1);
            let depth = op(b, Op::Sub, params[2], one);
            let words = lane.load(b, depth);
            [&[words[0], depth, params[3]], &words[1..]].concat()
        });
        let next = self.steps(&state)?;
        let b = &mut self.w.b;
        let one = b.u32(1);
        let left = op(b, Op::Sub, params[0], one);
        let next: Vec<ValueId> = [left].iter().chain(&next).copied().collect();
        b.end(Op::Continue, &next);
        b.region = outer;
        let mut around = Inst::new(Op::Loop, None, &carried, Span::NONE);
        around.regions.push(region);
        let around = b.push(around, &types);
        Ok(b.function.insts[around].results[1..].to_vec())
    }

    /// The step of the lane's head.
    fn steps(&mut self, state: &[ValueId]) -> Result<Vec<ValueId>, Refusal> {
        let entries = self.w.entries;
        let (depth, sum, words) = (state[1], state[2], &state[3..]);
        if let [entry] = entries {
            return Ok(self.w.step(*entry, (depth, sum), words)?.words);
        }
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[state[0]], Span::NONE);
        for entry in entries {
            let region = self.w.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.w.b.region, region);
            let next = self.w.step(*entry, (depth, sum), words)?.words;
            self.w.b.end(Op::Yield, &next);
            self.w.b.region = outer;
            inst.regions.push(region);
        }
        // There are no others, so the last one needs no number.
        inst.set(Attr::Cases((0..entries.len() as i64 - 1).map(|i| vec![i]).collect()));
        let types = self.w.types();
        let id = self.w.b.push(inst, &types);
        Ok(self.w.b.function.insts[id].results.to_vec())
    }

    /// Puts all that is left into the queue, or keeps it, and adds the sum to that of all.
    fn finish(&mut self, state: &[ValueId]) {
        let (lane, monoid) = (self.w.lane, self.w.found.monoid);
        let b = &mut self.w.b;
        let (zero, one, sum_at) = (b.u32(0), b.u32(1), b.u32(group::SUM));
        let busy = is(b, state[0], IDLE);
        let busy = b.op(Op::Select, Type::U32, &[busy, zero, one]);
        let count = op(b, Op::Add, state[1], busy);
        let first = lane.add(b, lane.group, group::GIVEN, count);
        let why = b.op(Op::UniformLoad, Type::U32, &[lane.found, one]);
        let keeps = is(b, why, KEEP);
        b.op(monoid.atomic(), Type::U32, &[lane.group, sum_at, state[2]]);
        Lane::barrier(b);
        let [place, fits] = lane.agree(b, |b| {
            let sum = lane.get(b, lane.group, group::SUM);
            let at = b.u32(control::SUM);
            b.op(monoid.atomic(), Type::U32, &[lane.control, at, sum]);
            let given = lane.get(b, lane.group, group::GIVEN);
            let some = op(b, Op::Min, given, one);
            let kept = b.op(Op::Select, Type::U32, &[keeps, some, zero]);
            lane.add(b, lane.control, control::KEPT, kept);
            let given = b.op(Op::Select, Type::U32, &[keeps, zero, given]);
            let place = lane.add(b, lane.control, control::TAIL, given);
            let begin = lane.get(b, lane.control, control::FIRST);
            let used = op(b, Op::Sub, place, begin);
            let used = op(b, Op::Add, used, given);
            let fits = op(b, Op::Le, used, lane.tasks);
            let lacks = b.op(Op::Not, Type::BOOL, &[fits]);
            when(b, lacks, |b| {
                let words = [control::FAULT, 0, fault::QUEUE].map(|word| b.u32(word));
                b.op(Op::AtomicCompareExchange, Type::U32, &[lane.control, words[0], words[1], words[2]]);
            });
            [place, b.op(Op::Convert, Type::U32, &[fits])]
        });
        let place = op(b, Op::Add, place, first);
        let fits = is(b, fits, 1);
        let kept = b.op(Op::Select, Type::U32, &[keeps, count, zero]);
        let at = lane.kept_word(b, zero);
        b.store(Type::U32, lane.kept, at, kept);
        self.leave(state, |b, i, words| {
            let keep = |b: &mut Builder| {
                for (word, value) in (0..).zip(words) {
                    let at = lane.kept_task_word(b, i, word);
                    b.store(Type::U32, lane.kept, at, *value);
                }
                b.end(Op::Yield, &[]);
            };
            let give = |b: &mut Builder| {
                let place = op(b, Op::Add, place, i);
                when(b, fits, |b| {
                    for (word, value) in (0..).zip(words) {
                        let at = lane.task_word(b, place, word);
                        b.store(Type::U32, lane.queue, at, *value);
                    }
                });
                b.end(Op::Yield, &[]);
            };
            b.if_else(keeps, &[], keep, give);
        });
        self.w.b.end(Op::Return, &[]);
    }

    /// Does something with each task that the lane has left.
    fn leave(&mut self, state: &[ValueId], body: impl Fn(&mut Builder, ValueId, &[ValueId])) {
        let lane = self.w.lane;
        let b = &mut self.w.b;
        for_each(b, state[1], |b, i| {
            let words = lane.load(b, i);
            body(b, i, &words);
        });
        let idle = is(b, state[0], IDLE);
        let busy = b.op(Op::Not, Type::BOOL, &[idle]);
        when(b, busy, |b| {
            let words = [&[state[0]], &state[3..]].concat();
            body(b, state[1], &words);
        });
    }
}

/// The kernel between two epochs, of one invocation: what may be taken, and how many workgroups take it. The grid of the next dispatch stands in
/// its own buffer, three words.
pub(super) fn planner(form: &Form) -> Function {
    let mut function = Function::new("plan", Span::NONE);
    function.launch = Some(Launch { workgroup: [1, 1, 1], ..Launch::default() });
    let mut param = |name: &str| function.param(name, Type::Memory(Space::Global), ParamAttrs::default());
    let (words, grid) = (param("control"), param("grid"));
    let mut builder = Builder::new(function);
    let b = &mut builder;
    let get = |b: &mut Builder, word: u32| {
        let at = b.u32(word);
        b.op(Op::AtomicLoad, Type::U32, &[words, at])
    };
    let set = |b: &mut Builder, word: u32, value: ValueId| {
        let at = b.u32(word);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[words, at, value], &[]);
    };
    let [head, limit, tail, fault, groups] =
        [control::HEAD, control::LIMIT, control::TAIL, control::FAULT, control::GROUPS].map(|word| get(b, word));
    // More may have been asked for than there was.
    let unread = left(b, head, limit);
    let head = op(b, Op::Sub, limit, unread);
    let tasks = op(b, Op::Sub, tail, head);
    let fine = is(b, fault, 0);
    let (zero, one) = (b.u32(0), b.u32(1));
    let tasks = b.op(Op::Select, Type::U32, &[fine, tasks, zero]);
    for (word, value) in [(control::HEAD, head), (control::FIRST, head), (control::LIMIT, tail)] {
        set(b, word, value);
    }
    let (more, size) = (b.u32(form.workgroup - 1), b.u32(form.workgroup));
    let wanted = op(b, Op::Add, tasks, more);
    let wanted = op(b, Op::Div, wanted, size);
    let wanted = op(b, Op::Min, wanted, groups);
    let kept = get(b, control::KEPT);
    let some = op(b, Op::Min, kept, one);
    let all = op(b, Op::Mul, some, groups);
    let wanted = op(b, Op::Max, wanted, all);
    let wanted = b.op(Op::Select, Type::U32, &[fine, wanted, zero]);
    set(b, control::KEPT, zero);
    for (i, value) in (0..).zip([wanted, one, one]) {
        let at = b.u32(i);
        b.store(Type::U32, grid, at, value);
    }
    let some = op(b, Op::Min, wanted, one);
    for (word, by) in [(control::EPOCHS, some), (control::TASKS, tasks)] {
        let before = get(b, word);
        let after = op(b, Op::Add, before, by);
        set(b, word, after);
    }
    b.end(Op::Return, &[]);
    builder.function
}
