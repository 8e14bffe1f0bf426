//! Subgroups on devices without them: consecutive invocations of the workgroup that exchange words through shared memory,
//! or single invocations, where not all of them reach an operation together.
//!
//! Invariant: each operation waits for all invocations before it writes and before it reads, so that operations do not disturb each
//! other. If the workgroup is one subgroup, what was uniform in the subgroup comes from a `uniform_load` and so is uniform in the
//! workgroup.

use super::emit::Emit;
use super::subgroups::{concerns, fold, in_work_type, neutral, position};
use super::word_packing;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::{
    accesses, aggregates, arithmetic, asynchronous, atomics, barriers, control, exclusive_scans, fragments,
    inclusive_scans, masks, matrix_products, positions, reductions, scans, shuffles, subgroup_positions, task_form,
    votes,
};
use girih_ir::{Builder, Function, Inst, Op, Space, Type, ValueId};

/// Rewrites a kernel whose subgroups are `width` invocations wide.
pub(super) fn run(kernel: &Function, width: u32) -> Result<Function, Diagnostic> {
    let invocations = kernel.launch.as_ref().map_or(1, |l| l.workgroup.iter().product());
    Rewriter::run(kernel, &mut Emulated { width, invocations, exchange: None, words: most_words(kernel) })
}

/// The most words that an operation moves.
fn most_words(kernel: &Function) -> u32 {
    let mut most = 1;
    kernel.walk(kernel.body, &mut |_, inst| {
        if let (true, Some(ty)) = (concerns(inst.op), inst.ty) {
            most = most.max(word_packing::count(ty));
        }
    });
    most
}

struct Emulated {
    width: u32,
    invocations: u32,
    /// The shared array: for each word of a value one word an invocation, then one for the result.
    exchange: Option<ValueId>,
    words: u32,
}

impl Pass for Emulated {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        if !concerns(inst.op) {
            // Regions are rewritten by the walk.
            return Ok(None);
        }
        let x: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let b = &mut r.out;
        let result = match inst.op {
            Op::SubgroupSize => b.u32(self.width),
            Op::NumSubgroups => b.u32(self.invocations.div_ceil(self.width)),
            Op::SubgroupId => {
                let index = position(b, Op::LocalIndex);
                if self.is_one() { b.u32(0) } else { b.shr_by(index, self.width.trailing_zeros()) }
            }
            Op::Lane => self.lane(b),
            Op::Elect => {
                let lane = self.lane(b);
                b.compare_bits(Op::Eq, lane, 0)
            }
            Op::Ballot | Op::Any | Op::All | shuffles!() | reductions!() | scans!() if self.width == 1 => {
                alone(b, inst, &x)
            }
            Op::Ballot => self.ballot(b, x[0]),
            Op::Any | Op::All => self.vote(b, inst.op, x[0]),
            shuffles!() => self.shuffle(b, inst.op, x[0], x[1]),
            reductions!() | scans!() => in_work_type(b, inst.element(), x[0], |b, x| self.collective(b, inst.op, x)),
            arithmetic!() | aggregates!() | control!() | positions!() | barriers!() => return Ok(None),
            accesses!()
            | atomics!()
            | matrix_products!()
            | fragments!()
            | asynchronous!()
            | task_form!()
            | masks!()
            | girih_ir::tile_operations!() => {
                return Ok(None);
            }
        };
        Ok(Some(vec![vec![result]]))
    }
}

/// An operation of a subgroup of one.
fn alone(b: &mut Builder, inst: &Inst, x: &[ValueId]) -> ValueId {
    match inst.op {
        Op::Ballot => {
            let (one, none) = (b.flag(x[0]), b.u32(0));
            b.vector(&[one, none, none, none])
        }
        exclusive_scans!() => neutral(b, inst.op, inst.element()),
        Op::Any | Op::All | shuffles!() | reductions!() | inclusive_scans!() => x[0],
        Op::Elect | not_of_a_subgroup!() => {
            unreachable!("`{}` has no value of its own to give", inst.op.name())
        }
    }
}

impl Emulated {
    /// Whether the workgroup is one subgroup.
    fn is_one(&self) -> bool {
        self.width >= self.invocations
    }
    fn lane(&self, b: &mut Builder) -> ValueId {
        let index = position(b, Op::LocalIndex);
        if self.width == 1 {
            return b.u32(0);
        }
        if self.is_one() { index } else { b.and_bits(index, u64::from(self.width - 1)) }
    }
    /// The first invocation of the subgroup.
    fn first(&self, b: &mut Builder) -> ValueId {
        if self.is_one() {
            return b.u32(0);
        }
        let index = position(b, Op::LocalIndex);
        b.and_bits(index, u64::from(!(self.width - 1)))
    }
    /// How many invocations the subgroup has.
    fn count(&self, b: &mut Builder, first: ValueId) -> ValueId {
        if self.is_one() || self.invocations.is_multiple_of(self.width) {
            return b.u32(self.width.min(self.invocations));
        }
        let (all, most) = (b.u32(self.invocations), b.u32(self.width));
        let rest = b.sub(all, first);
        b.same(Op::Min, &[rest, most])
    }
    /// Where results stand.
    fn result_slot(&self) -> u32 {
        self.invocations.next_multiple_of(self.width)
    }
    fn slots(&self) -> u32 {
        self.result_slot() + 1
    }

    fn exchange(&mut self, b: &mut Builder) -> ValueId {
        let slots = self.slots() * self.words;
        *self.exchange.get_or_insert_with(|| {
            let length = b.u32(slots);
            b.function.memory(Some("lanes".into()), Space::Shared, Type::U32, length)
        })
    }

    /// Lets all lanes see a value.
    fn publish(&mut self, b: &mut Builder, value: ValueId) {
        let memory = self.exchange(b);
        let index = position(b, Op::LocalIndex);
        b.end(Op::Barrier, &[]);
        for (i, word) in (0..).zip(word_packing::to_words(b, value)) {
            let at = self.slot(b, index, i);
            b.store(Type::U32, memory, at, word);
        }
        b.end(Op::Barrier, &[]);
    }
    /// The index of a word of a value.
    fn slot(&self, b: &mut Builder, invocation: ValueId, word: u32) -> ValueId {
        let offset = b.u32(word * self.slots());
        b.add(invocation, offset)
    }
    /// What an invocation has published.
    fn seen(&mut self, b: &mut Builder, ty: Type, invocation: ValueId) -> ValueId {
        let memory = self.exchange(b);
        let words: Vec<ValueId> = (0..word_packing::count(ty))
            .map(|i| {
                let at = self.slot(b, invocation, i);
                b.load(Type::U32, memory, at)
            })
            .collect();
        word_packing::from_words(b, ty, &words)
    }
    /// What one invocation has published, for all invocations of the workgroup.
    fn seen_by_all(&mut self, b: &mut Builder, ty: Type, invocation: ValueId) -> ValueId {
        let memory = self.exchange(b);
        let words: Vec<ValueId> = (0..word_packing::count(ty))
            .map(|i| {
                let at = self.slot(b, invocation, i);
                b.op(Op::UniformLoad, Type::U32, &[memory, at])
            })
            .collect();
        word_packing::from_words(b, ty, &words)
    }

    fn shuffle(&mut self, b: &mut Builder, op: Op, x: ValueId, other: ValueId) -> ValueId {
        let ty = b.ty(x);
        self.publish(b, x);
        let lane = self.lane(b);
        let from = match op {
            Op::ShuffleXor => b.xor(lane, other),
            Op::ShuffleUp => b.sub(lane, other),
            Op::ShuffleDown => b.add(lane, other),
            Op::Shuffle | Op::Broadcast => other,
            votes!() | reductions!() | scans!() | not_of_a_subgroup!() => {
                unreachable!("`{}` is no shuffle", op.name())
            }
        };
        // A lane that does not exist gives anything, but is looked for inside the array.
        let from = b.and_bits(from, u64::from(self.width - 1));
        if op == Op::Broadcast && self.is_one() {
            return self.seen_by_all(b, ty, from);
        }
        let first = self.first(b);
        let from = b.add(first, from);
        self.seen(b, ty, from)
    }

    /// A value that is made from those of all lanes, the same in all of them.
    fn same_in_all(
        &mut self,
        b: &mut Builder,
        ty: Type,
        make: impl FnOnce(&mut Self, &mut Builder) -> ValueId,
    ) -> ValueId {
        if !self.is_one() {
            return make(self, b);
        }
        let memory = self.exchange(b);
        let index = position(b, Op::LocalIndex);
        let chosen = b.compare_bits(Op::Eq, index, 0);
        let result = b.u32(self.result_slot());
        let write = |b: &mut Builder| {
            let value = make(self, b);
            for (i, word) in (0..).zip(word_packing::to_words(b, value)) {
                let at = self.slot(b, result, i);
                b.store(Type::U32, memory, at, word);
            }
            b.end(Op::Yield, &[]);
        };
        b.if_else(chosen, &[], write, |b| b.end(Op::Yield, &[]));
        self.seen_by_all(b, ty, result)
    }

    /// Combines what lanes `from` to before `to` have published.
    fn combine(
        &mut self,
        b: &mut Builder,
        start: ValueId,
        from: u32,
        to: ValueId,
        add: impl FnOnce(&mut Self, &mut Builder, ValueId, ValueId) -> ValueId,
    ) -> ValueId {
        let from = b.u32(from);
        let types = [Type::U32, b.ty(start)];
        b.loop_with(&[from, start], &types, |b, params| {
            let done = b.compare(Op::Ge, params[0], to);
            b.if_else(done, &[], |b| b.end(Op::Break, params), |b| b.end(Op::Yield, &[]));
            let sum = add(self, b, params[1], params[0]);
            let one = b.u32(1);
            let next = b.add(params[0], one);
            b.end(Op::Continue, &[next, sum]);
        })[1]
    }

    fn collective(&mut self, b: &mut Builder, op: Op, x: ValueId) -> ValueId {
        let ty = b.ty(x);
        self.publish(b, x);
        let first = self.first(b);
        let folded = |this: &mut Self, b: &mut Builder, start: ValueId, from: u32, to: ValueId| {
            this.combine(b, start, from, to, |this, b, sum, lane| {
                let at = b.add(first, lane);
                let other = this.seen(b, ty, at);
                b.same(fold(op), &[sum, other])
            })
        };
        match op {
            exclusive_scans!() => {
                let scalar = b.scalar(x);
                let (neutral, lane) = (neutral(b, op, scalar), self.lane(b));
                folded(self, b, neutral, 0, lane)
            }
            inclusive_scans!() => {
                let start = self.seen(b, ty, first);
                let (lane, one) = (self.lane(b), b.u32(1));
                let end = b.add(lane, one);
                folded(self, b, start, 1, end)
            }
            reductions!() => {
                let count = self.count(b, first);
                self.same_in_all(b, ty, |this, b| {
                    let start = this.seen(b, ty, first);
                    folded(this, b, start, 1, count)
                })
            }
            votes!() | shuffles!() | not_of_a_subgroup!() => {
                unreachable!("`{}` is neither a reduction nor a scan", op.name())
            }
        }
    }

    fn vote(&mut self, b: &mut Builder, op: Op, x: ValueId) -> ValueId {
        let word = b.flag(x);
        let reduction = if op == Op::Any { Op::SubgroupOr } else { Op::SubgroupAnd };
        let result = self.collective(b, reduction, word);
        b.compare_bits(Op::Ne, result, 0)
    }

    fn ballot(&mut self, b: &mut Builder, x: ValueId) -> ValueId {
        let word = b.flag(x);
        self.publish(b, word);
        let first = self.first(b);
        let count = self.count(b, first);
        let mut words = vec![];
        for lowest in (0..self.width).step_by(32) {
            let most = b.u32(lowest + 32);
            let end = b.same(Op::Min, &[count, most]);
            words.push(self.same_in_all(b, Type::U32, |this, b| {
                let none = b.u32(0);
                this.combine(b, none, lowest, end, |this, b, bits, lane| {
                    let at = b.add(first, lane);
                    let flag = this.seen(b, Type::U32, at);
                    let place = b.and_bits(lane, 31);
                    let flag = b.same(Op::Shl, &[flag, place]);
                    b.or(bits, flag)
                })
            }));
        }
        let none = b.u32(0);
        words.resize(4, none);
        b.vector(&words)
    }
}
