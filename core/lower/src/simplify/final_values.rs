//! Final values of counted loops.
//!
//! A loop that goes on while `i < n`, where `i` starts as `a` and grows by one, ends with `i` as the larger of `a` and `n`: whether it runs at all or not,
//! and whatever the order of the numbers is, signed or unsigned. One that goes on while `i > n`, down by one, ends with the smaller; one that goes on while
//! `i != n` ends with `n`. This determines the other carried values that are constant from the second iteration on, or that grow by a fixed number. The results
//! are computed from these, so that nothing waits for the loop; a loop without other uses is then dead (scalar evolution, after Bachmann, Wang and
//! Zima, "Chains of recurrences", ISSAC 1994, for the two shortest chains).
//!
//! Drivers do this too, not always correctly: see `docs/conformance.md`.
//!
//! Invariant: if a loop ends, its values have the same bits. A loop that does not end gives no results.

use super::control::jumps;
use super::facts::opposite;
use super::forward::Forward;
use super::inference::mirrored;
use girih_ir::{InstId, Op, RegionId, Scalar, Type, ValueId, Values};

/// Narrower counters are left alone: after legalisation their operations are not those of registers.
const NARROWEST: u32 = 32;

/// The course of a loop that is left at one place: after the instructions that all iterations run.
struct Course {
    /// It goes on if this compares like that.
    test: Test,
    /// What its parameters are next, and what it gives if it does not go on.
    next: Values,
    given: Values,
}

/// `param + ahead` compared with `bound`.
struct Test {
    op: Op,
    /// Which parameter.
    position: usize,
    scalar: Scalar,
    ahead: u64,
    bound: ValueId,
}

/// A loop whose iterations can be counted.
struct Counted {
    test: Test,
    /// What its counter is at first, and whether it grows or shrinks by one.
    first: ValueId,
    up: bool,
}

impl Forward<'_> {
    /// Gives results of a loop, which stands before this place and began at `start`, as values that do not depend on it.
    pub(super) fn counted_results(&mut self, region: RegionId, initial: &[ValueId], results: &[ValueId], start: u32) {
        let wanted = |walk: &Self, result: &ValueId| walk.is_used(*result) && walk.mapped(*result) == *result;
        if !results.iter().any(|result| wanted(self, result)) {
            return;
        }
        let Some(course) = self.course(region, start) else { return };
        let params = Values::from_slice(&self.f.regions[region].params);
        let Course { test, next, given } = course;
        let Some(counted) = self.counted(test, &next, &params, initial) else { return };
        for (result, given) in results.iter().zip(&given) {
            if wanted(self, result)
                && let Some(i) = params.iter().position(|param| param == given)
                && let Some(value) = self.at_the_end(&counted, i, params[i], initial[i], next[i], start)
            {
                self.replace(*result, value);
            }
        }
    }

    /// How a loop goes that began at `start`.
    fn course(&self, region: RegionId, start: u32) -> Option<Course> {
        let loop_ = &self.f.regions[region];
        let jumps = jumps(self.f, region);
        let last = loop_.insts.last().filter(|last| jumps.last() == Some(*last))?;
        let last = &self.f.insts[*last];
        match (last.op, &jumps[..]) {
            (Op::While, [_]) => {
                let (condition, next) = last.operands.split_first()?;
                let test = self.test(*condition, true, &loop_.params, start)?;
                Some(Course { test, next: Values::from_slice(next), given: Values::from_slice(&loop_.params) })
            }
            (Op::Continue, [leaves, _]) if self.f.insts[*leaves].op == Op::Break => {
                let holds = |id: &InstId| {
                    let inst = &self.f.insts[*id];
                    let arms = if inst.op == Op::If { &inst.regions[..] } else { &[] };
                    let leaving = arms.iter().position(|arm| self.f.regions[*arm].insts.last() == Some(leaves))?;
                    Some((inst.operands[0], leaving == 1))
                };
                let (condition, stays) = loop_.insts.iter().find_map(holds)?;
                let test = self.test(condition, stays, &loop_.params, start)?;
                Some(Course { test, next: last.operands.clone(), given: self.f.insts[*leaves].operands.clone() })
            }
            _no_rule => None,
        }
    }

    /// Reads the condition of a loop, which goes on if it holds, or if it does not.
    fn test(&self, condition: ValueId, stays: bool, params: &[ValueId], start: u32) -> Option<Test> {
        let inst = self.def(condition)?;
        let (&[a, b], Some(Type::Scalar(scalar))) = (&inst.operands[..], inst.ty) else { return None };
        if !scalar.is_integer() || scalar.bits() < NARROWEST {
            return None;
        }
        let op = if stays { inst.op } else { opposite(inst.op)? };
        [(op, a, b), (mirrored(op), b, a)].into_iter().find_map(|(op, counter, bound)| {
            let (param, ahead) = match self.is_binary(counter, Op::Add) {
                Some((param, ahead, _)) => (param, self.bits(ahead)?),
                None => (counter, 0),
            };
            let position = params.iter().position(|p| *p == param)?;
            (self.born(bound) < start).then_some(Test { op, position, scalar, ahead, bound })
        })
    }

    fn counted(&self, test: Test, next: &[ValueId], params: &[ValueId], initial: &[ValueId]) -> Option<Counted> {
        let step = self.grows_by(next[test.position], params[test.position])?;
        let up = match self.bits(step)? {
            1 => true,
            down if down == test.scalar.mask() => false,
            _farther => return None,
        };
        let towards_the_bound = matches!((test.op, up), (Op::Ne, _) | (Op::Lt, true) | (Op::Gt, false));
        towards_the_bound.then(|| Counted { first: initial[test.position], up, test })
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
        if position == counted.test.position {
            return Some(self.at_last(counted));
        }
        let scalar = self.scalar(param)?;
        if self.born(next) < start {
            let repeats = self.repeats(counted);
            return Some(self.emit(Op::Select, scalar, &[repeats, next, initial], false));
        }
        let step = self.grows_by(next, param).filter(|step| self.born(*step) < start)?;
        if scalar.bits() != counted.test.scalar.bits() {
            return None;
        }
        let trips = self.trips(counted);
        let trips = self.emit(Op::Bitcast, scalar, &[trips], false);
        let growth = self.emit(Op::Mul, scalar, &[trips, step], false);
        Some(self.emit(Op::Add, scalar, &[initial, growth], false))
    }

    /// What is compared at first.
    fn at_first(&mut self, counted: &Counted) -> ValueId {
        let Test { scalar, ahead, .. } = counted.test;
        let ahead = self.constant(scalar, ahead);
        self.emit(Op::Add, scalar, &[counted.first, ahead], false)
    }

    /// Whether there is a second iteration.
    fn repeats(&mut self, counted: &Counted) -> ValueId {
        let from = self.at_first(counted);
        self.emit(counted.test.op, counted.test.scalar, &[from, counted.test.bound], false)
    }

    /// What the counter is at the end: what is compared has come to the bound then, unless it began beyond.
    fn at_last(&mut self, counted: &Counted) -> ValueId {
        let Test { op, scalar, ahead, bound, .. } = counted.test;
        let farthest = if counted.up { Op::Max } else { Op::Min };
        let to = if op == Op::Ne {
            bound
        } else {
            let from = self.at_first(counted);
            self.emit(farthest, scalar, &[from, bound], false)
        };
        let ahead = self.constant(scalar, ahead);
        self.emit(Op::Sub, scalar, &[to, ahead], false)
    }

    /// How often the loop goes on.
    fn trips(&mut self, counted: &Counted) -> ValueId {
        let (first, last) = (counted.first, self.at_last(counted));
        let way = if counted.up { [last, first] } else { [first, last] };
        self.emit(Op::Sub, counted.test.scalar, &way, false)
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
