//! The kernel that goes on for one epoch.
//!
//! An epoch is *rounds*. At the beginning of one, lanes that have nothing to do take tasks from the queue, at most the workgroup's share
//! at once; if there are none any more, they get the oldest ones, with most of the work, from the stacks of other lanes of the workgroup. Then each
//! lane does steps, with what is left for later on its stack, which it goes down into first. When the queue is empty and
//! a quarter of all workgroups have nothing to do, the others give all that is on their stacks to the queue, and it is shared out in the next
//! epoch. If there are tasks left when an epoch has taken long enough, all keep what they have.
//!
//! What is put into the queue is taken in a later epoch, so nobody waits for anybody but at barriers.

use super::Form;
use super::code::{Measured, StepWriter};
use super::lane::{IDLE, Lane, both, change, for_each, is, leave_if, left, op, when};
use super::memory::{control, fault, group};
use crate::Refusal;
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::{Builder, Function, Inst, Op, Type, ValueId};

/// Rounds of an epoch after which a workgroup gives what it has, if others have nothing: when most of its lanes have something, and in any case.
const SOON: u32 = 2;
const LATE: u32 = 8;
/// Steps of the first rounds of an epoch that few workgroups take part in, and how many rounds those are: work spreads between them.
const FEW: u32 = 4;

/// Why a workgroup stops: nobody has work, or few; all keep what they have.
const GIVE: u32 = u32::MAX;
const KEEP: u32 = u32::MAX - 1;

/// The kernel on its way.
struct Kernel<'w, 'm> {
    w: &'w mut StepWriter<'m>,
    form: Form,
    pushes: u32,
    /// Whether few workgroups take part in the epoch.
    hungry: ValueId,
}

/// What a lane is doing: its head or [`IDLE`], the stack's depth, what it has put together of each result, the arguments, and where its stack's parts
/// begin.
#[derive(Clone)]
struct State {
    words: Vec<ValueId>,
    /// How many results there are.
    sums: usize,
}

impl State {
    /// The same with other words.
    fn of(&self, words: Vec<ValueId>) -> State {
        State { words, sums: self.sums }
    }
    fn head(&self) -> ValueId {
        self.words[0]
    }
    fn depth(&self) -> ValueId {
        self.words[1]
    }
    fn sums(&self) -> &[ValueId] {
        &self.words[2..2 + self.sums]
    }
    fn arguments(&self) -> &[ValueId] {
        &self.words[2 + self.sums..self.words.len() - 2]
    }
    fn base(&self) -> ValueId {
        self.words[self.words.len() - 2]
    }
    fn bottom(&self) -> ValueId {
        self.words[self.words.len() - 1]
    }
    /// Whether the stack has no room for the entries of another step.
    fn is_full(&self, b: &mut Builder, form: &Form, pushes: u32) -> ValueId {
        let used = op(b, Op::Sub, self.depth(), self.bottom());
        let room = b.u32(form.stack.saturating_sub(pushes));
        op(b, Op::Gt, used, room)
    }
    /// The same lane with another task.
    fn with_task(&self, task: &[ValueId]) -> State {
        self.of([&[task[0], self.depth()], self.sums(), &task[1..], &[self.base(), self.bottom()]].concat())
    }
}

/// Writes the kernel; a step puts at most `pushes` entries onto the stack.
pub(super) fn kernel(mut writer: StepWriter<'_>, form: &Form, pushes: u32) -> Result<(Function, Measured), Refusal> {
    let lane = writer.lane;
    let hungry = writer.b.u32(0);
    let mut kernel = Kernel { w: &mut writer, form: *form, pushes, hungry };
    let state = kernel.begin();
    let b = &mut kernel.w.b;
    let zero = b.u32(0);
    let carried: Vec<ValueId> = [zero].iter().chain(&state.words).copied().collect();
    let types = vec![Type::U32; carried.len()];
    let region = b.new_region(&types);
    let params = b.function.regions[region].params.clone();
    let outer = std::mem::replace(&mut b.region, region);
    let rounds = params[0];
    let state = kernel.supplied(rounds, &state.of(params[1..].to_vec()), &params);
    let state = kernel.round(rounds, &state)?;
    let b = &mut kernel.w.b;
    let is_full = state.is_full(b, form, pushes);
    when(b, is_full, |b| {
        let one = b.u32(1);
        lane.add(b, lane.group, group::FULL, one);
    });
    let one = b.u32(1);
    let rounds = op(b, Op::Add, rounds, one);
    let next: Vec<ValueId> = [rounds].iter().chain(&state.words).copied().collect();
    b.end(Op::Continue, &next);
    let b = &mut kernel.w.b;
    b.region = outer;
    let mut around = Inst::new(Op::Loop, None, &carried, Span::NONE);
    around.regions.push(region);
    let around = b.push(around, &types);
    let last = state.of(b.function.insts[around].results[1..].to_vec());
    kernel.finish(&last);
    Ok((writer.b.function, writer.measured))
}

impl Kernel<'_, '_> {
    /// Nothing is counted yet, and lanes have what they kept.
    fn begin(&mut self) -> State {
        let (lane, found) = (self.w.lane, self.w.found);
        let b = &mut self.w.b;
        let zero = b.u32(0);
        let neutral: Vec<ValueId> = found.monoids.iter().map(|monoid| b.u32(monoid.neutral())).collect();
        lane.by_one(b, |b| {
            for word in [group::IDLE, group::FULL, group::GIVEN, group::POSTED] {
                lane.set(b, lane.group, word, zero);
            }
            for (word, neutral) in (group::SUM..).zip(&neutral) {
                lane.set(b, lane.group, word, *neutral);
            }
        });
        self.hungry = lane.get(b, lane.control, control::HUNGRY);
        Lane::barrier(b);
        let at = lane.kept_word(b, zero);
        let depth = b.load(Type::U32, lane.kept, at);
        for_each(b, depth, |b, i| {
            let load = |word: u32| {
                let at = lane.kept_task_word(b, i, word);
                b.load(Type::U32, lane.kept, at)
            };
            let words: Vec<ValueId> = (0..lane.width).map(load).collect();
            lane.stack.store_far(b, i, &words);
        });
        let mut words = vec![b.u32(IDLE), depth];
        words.extend(&neutral);
        words.resize(1 + neutral.len() + lane.width as usize, zero);
        words.extend([depth, zero]);
        State { words, sums: neutral.len() }
    }

    /// The state at the beginning of a round: lanes that had nothing to do have tasks, if there are any. Leaves the loop if the workgroup shall stop.
    fn supplied(&mut self, rounds: ValueId, state: &State, carried: &[ValueId]) -> State {
        let lane = self.w.lane;
        let b = &mut self.w.b;
        let zero = b.u32(0);
        let idle = is(b, state.head(), IDLE);
        let empty = op(b, Op::Eq, state.depth(), state.bottom());
        let idle = both(b, Op::And, idle, empty);
        let number = change(b, idle, &[zero], |b| {
            let one = b.u32(1);
            vec![lane.add(b, lane.group, group::IDLE, one)]
        })[0];
        Lane::barrier(b);
        let [place, found, lacking] = self.look(rounds);
        let b = &mut self.w.b;
        let least = b.u32(KEEP);
        let stops = op(b, Op::Ge, found, least);
        leave_if(b, stops, carried);
        let gets = op(b, Op::Lt, number, found);
        let gets = both(b, Op::And, gets, idle);
        let state = state.of(change(b, gets, &state.words, |b| {
            let place = op(b, Op::Add, place, number);
            let load = |i: u32| {
                let at = lane.task_word(b, place, i);
                b.load(Type::U32, lane.queue, at)
            };
            let words: Vec<ValueId> = (0..lane.width).map(load).collect();
            state.with_task(&words).words
        }));
        let shares = op(b, Op::Ne, lacking, zero);
        let number = op(b, Op::Sub, number, found);
        state.of(change(b, shares, &state.words, |b| posted(b, &lane, &state, (number, lacking)).words))
    }

    /// What one lane finds out for all: from which place in the queue lanes take tasks, how many do or why the workgroup stops, and how many lanes
    /// got none.
    fn look(&mut self, rounds: ValueId) -> [ValueId; 3] {
        let (lane, workgroup) = (self.w.lane, self.form.workgroup);
        let b = &mut self.w.b;
        let zero = b.u32(0);
        lane.agree(b, |b| {
            let words = [control::FAULT, control::ROUNDS, control::EXITED, control::GROUPS];
            let [fault, most, exited, groups] = words.map(|word| lane.get(b, lane.control, word));
            let full = lane.get(b, lane.group, group::FULL);
            let over = op(b, Op::Ge, rounds, most);
            let full = op(b, Op::Or, full, fault);
            let full = op(b, Op::Ne, full, zero);
            let over = both(b, Op::Or, over, full);
            let idle = lane.get(b, lane.group, group::IDLE);
            lane.set(b, lane.group, group::IDLE, zero);
            lane.set(b, lane.group, group::POSTED, zero);
            let asks = op(b, Op::Ne, idle, zero);
            let goes_on = b.op(Op::Not, Type::BOOL, &[over]);
            let asks = both(b, Op::And, asks, goes_on);
            let taken = change(b, asks, &[zero, zero], |b| {
                let share = lane.get(b, lane.control, control::SHARE);
                let share = op(b, Op::Min, share, idle);
                let place = lane.add(b, lane.control, control::HEAD, share);
                let limit = lane.get(b, lane.control, control::LIMIT);
                let there = left(b, place, limit);
                vec![place, op(b, Op::Min, there, share)]
            });
            let lacking = op(b, Op::Sub, idle, taken[1]);
            // Without supply: nobody has work; or most have, or it has taken long to share what there is, and other workgroups have none.
            let all = b.u32(workgroup);
            let (most, soon, late) = (b.u32(workgroup / 4), b.u32(SOON), b.u32(LATE));
            let none = op(b, Op::Eq, idle, all);
            let few = op(b, Op::Le, idle, most);
            let soon = op(b, Op::Ge, rounds, soon);
            let few = both(b, Op::And, few, soon);
            let late = op(b, Op::Ge, rounds, late);
            let gives = both(b, Op::Or, few, late);
            let four = b.u32(4);
            let others = op(b, Op::Mul, exited, four);
            let others = op(b, Op::Ge, others, groups);
            let gives = both(b, Op::And, gives, others);
            let ends = both(b, Op::Or, none, gives);
            let head = lane.get(b, lane.control, control::HEAD);
            let limit = lane.get(b, lane.control, control::LIMIT);
            let there = left(b, head, limit);
            let some = op(b, Op::Ne, there, zero);
            let got_none = op(b, Op::Eq, taken[1], zero);
            let lacks = b.op(Op::Not, Type::BOOL, &[some]);
            let ends = both(b, Op::And, ends, lacks);
            let ends = both(b, Op::And, ends, got_none);
            let ends = both(b, Op::Or, ends, over);
            let spare = b.op(Op::Not, Type::BOOL, &[full]);
            let keeps = both(b, Op::And, some, spare);
            let (give, keep) = (b.u32(GIVE), b.u32(KEEP));
            let stop = b.op(Op::Select, Type::U32, &[keeps, keep, give]);
            [taken[0], b.op(Op::Select, Type::U32, &[ends, stop, taken[1]]), lacking]
        })
    }

    /// Steps of a round: until the lane has nothing more to do, or its stack has no room for those of another step.
    fn round(&mut self, rounds: ValueId, state: &State) -> Result<State, Refusal> {
        let (lane, form, pushes) = (self.w.lane, self.form, self.pushes);
        let b = &mut self.w.b;
        let (steps, few) = (b.u32(form.steps), b.u32(FEW));
        let (is_hungry, begins) = (is(b, self.hungry, 1), op(b, Op::Lt, rounds, few));
        let is_short = both(b, Op::And, is_hungry, begins);
        let steps = b.op(Op::Select, Type::U32, &[is_short, few, steps]);
        let carried: Vec<ValueId> = [steps].iter().chain(&state.words).copied().collect();
        let types = vec![Type::U32; carried.len()];
        let region = b.new_region(&types);
        let params = b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut b.region, region);
        let state = state.of(params[1..].to_vec());
        let idle = is(b, state.head(), IDLE);
        let empty = op(b, Op::Eq, state.depth(), state.bottom());
        let nothing = both(b, Op::And, idle, empty);
        let over = is(b, params[0], 0);
        let full = state.is_full(b, &form, pushes);
        let ends = both(b, Op::Or, nothing, over);
        let ends = both(b, Op::Or, ends, full);
        leave_if(b, ends, &params);
        let state = state.of(change(b, idle, &state.words, |b| {
            let one = b.u32(1);
            let depth = op(b, Op::Sub, state.depth(), one);
            let task = lane.stack.load(b, lane.local, depth, state.base());
            let mut popped = state.with_task(&task);
            // What was far is near nowhere.
            let far = op(b, Op::Eq, state.base(), state.depth());
            let base = b.op(Op::Select, Type::U32, &[far, depth, state.base()]);
            let at = popped.words.len() - 2;
            (popped.words[1], popped.words[at]) = (depth, base);
            popped.words
        }));
        let base = lane.stack.with_room(b, lane.local, (state.depth(), state.base()), pushes);
        let next = self.steps(&state)?;
        let b = &mut self.w.b;
        let one = b.u32(1);
        let left = op(b, Op::Sub, params[0], one);
        let next: Vec<ValueId> = [left].iter().chain(&next).chain(&[base, state.bottom()]).copied().collect();
        b.end(Op::Continue, &next);
        b.region = outer;
        let mut around = Inst::new(Op::Loop, None, &carried, Span::NONE);
        around.regions.push(region);
        let around = b.push(around, &types);
        Ok(state.of(b.function.insts[around].results[1..].to_vec()))
    }

    /// The step of the lane's head; gives the state but for where the stack's parts begin.
    fn steps(&mut self, state: &State) -> Result<Vec<ValueId>, Refusal> {
        let entries = self.w.entries;
        let (depth, sums, words) = (state.depth(), state.sums(), state.arguments());
        if let [entry] = entries {
            return Ok(self.w.step(*entry, (depth, sums), words)?.words);
        }
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[state.head()], Span::NONE);
        for entry in entries {
            let region = self.w.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.w.b.region, region);
            let next = self.w.step(*entry, (depth, sums), words)?.words;
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

    /// Puts all that is left into the queue, or keeps it, and adds the sums to those of all.
    fn finish(&mut self, state: &State) {
        let (lane, found) = (self.w.lane, self.w.found);
        let b = &mut self.w.b;
        let (zero, one) = (b.u32(0), b.u32(1));
        let busy = is(b, state.head(), IDLE);
        let busy = b.op(Op::Select, Type::U32, &[busy, zero, one]);
        let count = op(b, Op::Sub, state.depth(), state.bottom());
        let count = op(b, Op::Add, count, busy);
        let first = lane.add(b, lane.group, group::GIVEN, count);
        let why = b.op(Op::UniformLoad, Type::U32, &[lane.found, one]);
        let keeps = is(b, why, KEEP);
        for (word, (monoid, sum)) in (group::SUM..).zip(found.monoids.iter().zip(state.sums())) {
            let at = b.u32(word);
            monoid.add_to(b, lane.group, at, *sum);
        }
        Lane::barrier(b);
        let [place, fits] = lane.agree(b, |b| {
            for (i, monoid) in (0..).zip(&found.monoids) {
                let sum = lane.get(b, lane.group, group::SUM + i);
                let at = b.u32(control::SUM + i);
                monoid.add_to(b, lane.control, at, sum);
            }
            let given = lane.get(b, lane.group, group::GIVEN);
            let some = op(b, Op::Min, given, one);
            let kept = b.op(Op::Select, Type::U32, &[keeps, some, zero]);
            lane.add(b, lane.control, control::KEPT, kept);
            lane.add(b, lane.control, control::EXITED, one);
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
    fn leave(&mut self, state: &State, body: impl Fn(&mut Builder, ValueId, &[ValueId])) {
        let lane = self.w.lane;
        let b = &mut self.w.b;
        let count = op(b, Op::Sub, state.depth(), state.bottom());
        for_each(b, count, |b, i| {
            let entry = op(b, Op::Add, state.bottom(), i);
            let words = lane.stack.load(b, lane.local, entry, state.base());
            body(b, i, &words);
        });
        let idle = is(b, state.head(), IDLE);
        let busy = b.op(Op::Not, Type::BOOL, &[idle]);
        when(b, busy, |b| {
            let words = [&[state.head()], state.arguments()].concat();
            body(b, count, &words);
        });
    }
}

/// Lanes that have more than one task post their oldest one, as many as others lack; who lacks one has a number and takes that one.
fn posted(b: &mut Builder, lane: &Lane, state: &State, (number, lacking): (ValueId, ValueId)) -> State {
    let (zero, one) = (b.u32(0), b.u32(1));
    let idle = is(b, state.head(), IDLE);
    let kept = b.op(Op::Select, Type::U32, &[idle, one, zero]);
    let count = op(b, Op::Sub, state.depth(), state.bottom());
    let offers = op(b, Op::Gt, count, kept);
    let state = state.of(change(b, offers, &state.words, |b| {
        let slot = lane.add(b, lane.group, group::POSTED, one);
        let is_wanted = op(b, Op::Lt, slot, lacking);
        change(b, is_wanted, &state.words, |b| {
            let words = lane.stack.load(b, lane.local, state.bottom(), state.base());
            for (i, word) in (0..).zip(words) {
                let at = lane.entry_word(b, slot, i);
                b.store(Type::U32, lane.post, at, word);
            }
            let mut less = state.clone();
            let bottom = op(b, Op::Add, state.bottom(), one);
            // What was near at the very bottom is near no more.
            let near = op(b, Op::Eq, state.base(), state.bottom());
            let base = b.op(Op::Select, Type::U32, &[near, bottom, state.base()]);
            let at = less.words.len() - 2;
            (less.words[at], less.words[at + 1]) = (base, bottom);
            less.words
        })
    }));
    Lane::barrier(b);
    let there = lane.get(b, lane.group, group::POSTED);
    let there = op(b, Op::Min, there, lacking);
    let empty = op(b, Op::Eq, count, zero);
    let lacks = both(b, Op::And, idle, empty);
    let gets = op(b, Op::Lt, number, there);
    let gets = both(b, Op::And, gets, lacks);
    state.of(change(b, gets, &state.words, |b| {
        let load = |i: u32| {
            let at = lane.entry_word(b, number, i);
            b.load(Type::U32, lane.post, at)
        };
        let words: Vec<ValueId> = (0..lane.width).map(load).collect();
        state.with_task(&words).words
    }))
}
