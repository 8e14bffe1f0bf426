//! What counted loops end with.
//!
//! A loop that goes on while `i < n`, where `i` starts as `a` and grows by one, ends with `i` as the larger of `a` and `n`: whether it runs at all or not,
//! and whatever the order of the numbers is, signed or unsigned. One that goes on while `i != n` ends with `n`. From that follows what else it carries that
//! is the same from the second iteration on, or grows by a fixed number. The results are computed from these, so that nothing waits for the loop; if they
//! were all that it was for, it is dead (scalar evolution, after Bachmann, Wang and Zima, "Chains of recurrences", ISSAC 1994, for the two shortest chains).
//!
//! Invariant: for a loop that ends, the values are the same bits. One that does not end gives no results.

use super::control::jumps;
use super::forward::Forward;
use super::learning::mirrored;
use crate::ir::{Op, RegionId, Scalar, Type, ValueId};

/// Narrower counters are left alone: after legalisation their operations are not those of registers.
const NARROWEST: u32 = 32;

/// A loop whose iterations can be counted.
struct Counted {
    /// Which of its parameters counts.
    position: usize,
    scalar: Scalar,
    /// What that is at first, and at the end.
    first: ValueId,
    last: ValueId,
    /// Whether there is a second iteration.
    goes_on: ValueId,
}

/// The comparison at a loop's end: it goes on while `param + ahead` compares like that with `bound`.
struct Test {
    op: Op,
    position: usize,
    scalar: Scalar,
    ahead: u64,
    bound: ValueId,
}

impl Forward<'_> {
    /// Gives results of a loop, which stands before this place and began at `start`, as values that do not depend on it.
    pub(super) fn counted_results(
        &mut self,
        region: RegionId,
        params: &[ValueId],
        initial: &[ValueId],
        results: &[ValueId],
        start: u32,
    ) {
        let wanted = |walk: &Self, result: &ValueId| walk.is_used(*result) && walk.mapped(*result) == *result;
        if !results.iter().any(|result| wanted(self, result)) {
            return;
        }
        let Some((condition, next)) = self.only_way_out(region) else { return };
        let Some(counted) = self.counted(condition, &next, params, initial, start) else { return };
        for (i, result) in results.iter().enumerate() {
            if wanted(self, result)
                && let Some(value) = self.at_the_end(&counted, i, params[i], initial[i], next[i], start)
            {
                self.replace(*result, value);
            }
        }
    }

    /// The condition and the next values of a loop that is left at its end only.
    fn only_way_out(&self, region: RegionId) -> Option<(ValueId, Vec<ValueId>)> {
        let jumps = jumps(self.f, region);
        let last = self.f.regions[region].insts.last()?;
        let [only] = jumps[..] else { return None };
        let inst = &self.f.insts[only];
        if only != *last || inst.op != Op::While {
            return None;
        }
        let (condition, next) = inst.operands.split_first()?;
        Some((*condition, next.to_vec()))
    }

    fn counted(
        &mut self,
        condition: ValueId,
        next: &[ValueId],
        params: &[ValueId],
        initial: &[ValueId],
        start: u32,
    ) -> Option<Counted> {
        let Test { op, position, scalar, ahead, bound } = self.test(condition, params, start)?;
        let is_next = self.grows_by(next[position], params[position]).and_then(|step| self.bits(step)) == Some(1);
        if !is_next || scalar.bits() < NARROWEST {
            return None;
        }
        let first = initial[position];
        // What is compared runs from here to the bound.
        let ahead = self.constant(scalar, ahead);
        let from = self.emit(Op::Add, scalar, &[first, ahead], false);
        let to = if op == Op::Ne { bound } else { self.emit(Op::Max, scalar, &[from, bound], false) };
        let last = self.emit(Op::Sub, scalar, &[to, ahead], false);
        let goes_on = self.emit(op, scalar, &[from, bound], false);
        Some(Counted { position, scalar, first, last, goes_on })
    }

    /// Reads the condition of a loop that began at `start`.
    fn test(&self, condition: ValueId, params: &[ValueId], start: u32) -> Option<Test> {
        let inst = self.def(condition)?;
        let (&[a, b], Some(Type::Scalar(scalar))) = (&inst.operands[..], inst.ty) else { return None };
        if !scalar.is_integer() {
            return None;
        }
        let sides = [(inst.op, a, b), (mirrored(inst.op), b, a)];
        sides.into_iter().find_map(|(op, counter, bound)| {
            let (param, ahead) = match self.is_binary(counter, Op::Add) {
                Some((param, ahead, _)) => (param, self.bits(ahead)?),
                None => (counter, 0),
            };
            let position = params.iter().position(|p| *p == param)?;
            let is_counted = matches!(op, Op::Lt | Op::Ne) && self.born(bound) < start;
            is_counted.then_some(Test { op, position, scalar, ahead, bound })
        })
    }

    /// What a parameter is when the loop ends.
    fn at_the_end(
        &mut self,
        counted: &Counted,
        position: usize,
        param: ValueId,
        initial: ValueId,
        next: ValueId,
        start: u32,
    ) -> Option<ValueId> {
        if position == counted.position {
            return Some(counted.last);
        }
        let scalar = self.scalar(param)?;
        if self.born(next) < start {
            return Some(self.emit(Op::Select, scalar, &[counted.goes_on, next, initial], false));
        }
        let step = self.grows_by(next, param).filter(|step| self.born(*step) < start)?;
        if scalar.bits() != counted.scalar.bits() {
            return None;
        }
        let times = self.emit(Op::Sub, counted.scalar, &[counted.last, counted.first], false);
        let times = self.emit(Op::Bitcast, scalar, &[times], false);
        let growth = self.emit(Op::Mul, scalar, &[times, step], false);
        Some(self.emit(Op::Add, scalar, &[initial, growth], false))
    }

    /// By what an integer is more than this parameter.
    fn grows_by(&self, next: ValueId, param: ValueId) -> Option<ValueId> {
        let (a, b, _) = self.is_binary(next, Op::Add).filter(|_| self.scalar(param).is_some_and(Scalar::is_integer))?;
        match (a == param, b == param) {
            (true, false) => Some(b),
            (false, true) => Some(a),
            (true, true) | (false, false) => None,
        }
    }
}
