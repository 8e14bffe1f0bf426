//! Writing the machine: arithmetic, words of `control`, choices and loops that carry words, what one lane does for its workgroup.

use super::machine::{Machine, State};
use super::memory::control;
use girih_base::span::Span;
use girih_ir::{Inst, Op, RegionId, Scalar, Type, ValueId};

impl Machine {
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
    /// The run ends, for this reason if it is the first one; gives the one before, or 0.
    pub(super) fn end_with(&mut self, why: ValueId) -> ValueId {
        let (at, none) = (self.b.u32(control::FAULT), self.b.u32(0));
        self.b.op(Op::AtomicCompareExchange, Type::U32, &[self.lane.control, at, none, why])
    }
    /// The same, with the place where it happened and the frame that waits there.
    pub(super) fn end_at(&mut self, why: ValueId, place: ValueId, base: ValueId) {
        let before = self.end_with(why);
        let is_first = self.is(before, 0);
        self.when(is_first, |m| {
            m.set(control::PLACE, place);
            m.set(control::CHAIN, base);
        });
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
    pub(super) fn within(&mut self, region: RegionId, body: impl FnOnce(&mut Self) -> Vec<ValueId>) {
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
    pub(super) fn change(&mut self, condition: ValueId, state: &State, then: impl FnOnce(&mut Self) -> State) -> State {
        let words = state.words();
        State::of(&self.choose(condition, words.len(), |m| then(m).words(), |_| words.clone()))
    }
    /// A loop that carries words and gives them; the body ends itself.
    pub(super) fn repeat(&mut self, initial: &[ValueId], body: impl FnOnce(&mut Self, &[ValueId])) -> Vec<ValueId> {
        let types = vec![Type::U32; initial.len()];
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut self.b.region, region);
        body(self, &params);
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, initial, Span::NONE);
        inst.regions.extend([region]);
        let id = self.b.push(inst, &types);
        self.b.function.insts[id].results.to_vec()
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
}
