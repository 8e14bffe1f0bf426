//! A step of a lane: the segment where it is, then the one behind the call that this ends.
//!
//! Lanes that run together take turns where they do different things. So all first *enter*, those that begin a function or go round a loop, and
//! then all *return*, those that go on behind a call, the ones whose function has just ended among them. A lane that calls and returns in turn
//! does both in one step, with most of the others beside it. A lane whose segment behind a call has returned as well goes on in the next step.
//!
//! Invariant: each segment's code stands in the kernel once.

use super::machine::{Machine, State};
use super::memory::{label, lane};
use super::segments::{SegmentWriter, Way};
use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::{Inst, InstId, Op, RegionId, Type, ValueId};

/// Where the way stands in a segment's first word.
const WAYS: u32 = !((1 << Way::BIT) - 1);
/// What a lane does that returns, in the place of a label.
pub(super) const RETURNING: u32 = (Way::Return as u32) << Way::BIT;

/// A choice of segments on its way: where to go on and in which way, the stack's end, the steps that are left, and registers.
struct Choice {
    switch: InstId,
    /// What its segments begin with, and what it gives.
    given: Vec<ValueId>,
    results: Vec<ValueId>,
    regions: Vec<RegionId>,
    cases: Vec<Vec<i64>>,
}

impl Machine {
    /// A step of so many iterations of loops at most; gives what the lane does next, and how many are left.
    pub(super) fn step(
        &mut self,
        writer: &mut SegmentWriter<'_, '_>,
        steps: ValueId,
        state: &State,
    ) -> Result<(State, ValueId), Diagnostic> {
        let near = self.with_near_room(state.depth, state.near);
        let state = &State { near, ..state.clone() };
        let given: Vec<ValueId> = [state.label, state.depth, steps].iter().chain(&state.registers).copied().collect();
        let mask = self.b.u32(label::KEPT | WAYS);
        let kept = self.op(Op::And, state.label, mask);
        let enters = self.is(kept, 0);
        let enter = self.choice(enters, given);
        let (given, near) = self.popped(state, &enter.results);
        let returns = self.returns(enters, given[0]);
        let near = self.with_near_room(given[1], near);
        let state = &State { near, ..state.clone() };
        let back = self.choice(returns, given);
        let words = back.results.clone();
        self.segments(writer, enter, back)?;
        Ok((self.follow(state, &words), words[2]))
    }

    /// The words with the newest frame of the stack in the place of a return to it, and where the newest frames begin.
    fn popped(&mut self, state: &State, words: &[ValueId]) -> (Vec<ValueId>, ValueId) {
        let bits = self.b.u32(Way::BIT);
        let way = self.op(Op::Shr, words[0], bits);
        let is_return = self.is(way, Way::Return as u32);
        let has_frames = self.op(Op::Lt, state.bottom, words[1]);
        let pops = self.both(Op::And, is_return, has_frames);
        let same = [words[0], words[1]];
        let first = self.choose(
            pops,
            3,
            |m| {
                let (label, depth, near) = m.pop(same[1], state.near);
                vec![label, depth, near]
            },
            |_| vec![same[0], same[1], state.near],
        );
        (first[..2].iter().chain(&words[2..]).copied().collect(), first[2])
    }

    /// Whether a lane goes on behind a call. Where memory is tight it does not if it has entered a segment, for which there had to be some.
    fn returns(&mut self, entered: ValueId, word: ValueId) -> ValueId {
        let mask = self.b.u32(label::KEPT | WAYS);
        let kept = self.op(Op::And, word, mask);
        let returns = self.is(kept, label::KEPT);
        if self.shape.reserve == 0 {
            return returns;
        }
        let at = self.b.u32(lane::LACKS);
        let lacks = self.b.load(Type::U32, self.lane.own, at);
        let has_memory = self.is(lacks, 0);
        let is_tight = self.both(Op::And, self.tight, entered);
        let is_loose = self.b.op(Op::Not, Type::BOOL, &[is_tight]);
        let may = self.both(Op::And, has_memory, is_loose);
        self.both(Op::And, returns, may)
    }

    /// A choice of segments by the label in the first of the words that are given; these are what it gives if a condition does not hold.
    fn choice(&mut self, condition: ValueId, given: Vec<ValueId>) -> Choice {
        let types = vec![Type::U32; given.len()];
        let (inner, outer) = (self.b.new_region(&[]), self.b.region);
        self.b.region = inner;
        let number = self.b.u32(label::NUMBER);
        let number = self.op(Op::And, given[0], number);
        let switch = self.b.push(Inst::new(Op::Switch, Some(Type::U32), &[number], Span::NONE), &types);
        let results = self.b.function.insts[switch].results.to_vec();
        self.b.end(Op::Yield, &results);
        self.b.region = outer;
        let otherwise = self.b.new_region(&[]);
        self.within(otherwise, |_| given.clone());
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        inst.regions.extend([inner, otherwise]);
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.to_vec();
        Choice { switch, given, results, regions: vec![], cases: vec![] }
    }

    /// Writes all segments into one choice or the other. Which there are is found while they are written.
    fn segments(
        &mut self,
        writer: &mut SegmentWriter<'_, '_>,
        mut enter: Choice,
        mut back: Choice,
    ) -> Result<(), Diagnostic> {
        let mut next = 0;
        while let Some((function, point)) = writer.labels.all.get(next).copied() {
            let is_kept = writer.label(function, point)? & label::KEPT != 0;
            let choice = if is_kept { &mut back } else { &mut enter };
            let [_, depth, steps, registers @ ..] = &choice.given[..] else { unreachable!("a state has these words") };
            let region = self.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.b.region, region);
            writer.segment(&mut self.b, self.lane, (function, point), (*depth, *steps, registers))?;
            self.b.region = outer;
            choice.regions.push(region);
            choice.cases.push(vec![next as i64]);
            next += 1;
        }
        self.b.span = Span::NONE;
        for mut choice in [enter, back] {
            if choice.regions.is_empty() {
                let region = self.b.new_region(&[]);
                self.within(region, |_| choice.given.clone());
                choice.regions.push(region);
            }
            // A label that there is not cannot be: the last one stands for it.
            choice.cases.pop();
            let inst = &mut self.b.function.insts[choice.switch];
            inst.regions.extend(choice.regions);
            inst.set(Attr::Cases(choice.cases));
        }
        Ok(())
    }

    /// Goes where a segment leads. A return to a frame of the stack waits for the next step.
    fn follow(&mut self, state: &State, words: &[ValueId]) -> State {
        let high = self.b.u32(Way::BIT);
        let way = self.op(Op::Shr, words[0], high);
        let way = if self.shape.reserve == 0 { way } else { self.unless_lacking(way) };
        let to = State { label: words[0], depth: words[1], registers: words[3..].to_vec(), ..state.clone() };
        let has_frames = self.op(Op::Lt, to.bottom, to.depth);
        let usual = self.b.op(Op::Convert, Type::U32, &[has_frames]);
        // Going on is way 0, and returning way 1.
        let is_rare = self.op(Op::Gt, way, usual);
        self.change(is_rare, &to, |m| m.follow_rarely(&to, way))
    }

    /// The same where a lane's stack does not say how it goes on.
    fn follow_rarely(&mut self, to: &State, way: ValueId) -> State {
        let low = self.b.u32(!WAYS);
        let label = self.op(Op::And, to.label, low);
        let to = State { label, ..to.clone() };
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[way], Span::NONE);
        let mut cases = vec![];
        for way in Way::ALL.into_iter().filter(|way| *way != Way::Go) {
            let region = self.b.new_region(&[]);
            self.within(region, |m| match way {
                Way::Go => to.words(),
                Way::Return => m.give(&to).words(),
                Way::Wait => m.wait(&to).words(),
                Way::Trap => m.trap(&to).words(),
                Way::Lack => m.lack(&to).words(),
            });
            if way != Way::Return {
                cases.push(vec![way as i64]);
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

    /// The way, unless there was no memory for a cell that the step has made.
    fn unless_lacking(&mut self, way: ValueId) -> ValueId {
        let at = self.b.u32(lane::LACKS);
        let lacks = self.b.load(Type::U32, self.lane.own, at);
        let (lacks, lack) = (self.is_not(lacks, 0), self.b.u32(Way::Lack as u32));
        self.select(lacks, lack, way)
    }
}
