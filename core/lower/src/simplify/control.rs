//! Branches and loops in the forward walk: conditions that are known, arms that are empty or cheap, values that are the same
//! on every path, loops that run once.

use super::facts::Facts;
use super::forward::{Around, Forward};
use super::memory::touch;
use girih_ir::attrs::Attr;
use girih_ir::groups::{
    bits, compares, control, conversions, counts, functions, jumps, loop_jumps, masks, memory, not_control, of_kernels,
    other_control, regions, task_form,
};
use girih_ir::ops::{Class, Effect};
use girih_ir::{Def, Function, InstId, Op, RegionId, Regions, Scalar, Type, ValueId, Values};

/// Most instructions of both arms that are computed whichever way is taken.
const CHEAP: usize = 4;
/// Most values that are selected instead of being yielded.
const SELECTS: usize = 3;

impl Forward<'_> {
    /// Walks over a control instruction; whether it ends the region.
    pub(super) fn control(&mut self, id: InstId) -> bool {
        match self.f.insts[id].op {
            Op::If => self.choice(id),
            Op::Switch => self.switch(id),
            Op::Loop => self.repetition(id),
            Op::Call => {
                let touch = touch(&self.f.insts[id]);
                self.versions.note(self.f, touch);
                self.push(id);
                false
            }
            Op::Return | Op::Grid | Op::TrapIf | not_control!() | jumps!() => {
                self.terminator(id);
                true
            }
        }
    }

    fn terminator(&mut self, id: InstId) {
        let inst = &self.f.insts[id];
        let op = if inst.op == Op::While {
            match inst.operands.first().and_then(|c| self.bits(*c)) {
                Some(0) => self.leaves_with_parameters(id),
                Some(_) => {
                    let inst = &mut self.f.insts[id];
                    inst.op = Op::Continue;
                    inst.operands.remove(0);
                    self.revise();
                    Op::Continue
                }
                None => Op::While,
            }
        } else {
            inst.op
        };
        if !op.begins_iteration() {
            return self.out.push(id);
        }
        let skip = usize::from(op == Op::While);
        if op == Op::While {
            // What goes on to the next iteration has met the condition.
            let mark = self.open();
            let condition = self.f.insts[id].operands[0];
            self.learn_condition(condition, true);
            self.note_next(id, skip);
            self.close(mark);
        } else {
            self.note_next(id, skip);
        }
        self.out.push(id);
    }

    /// A `while` whose condition never holds is a `break`.
    fn leaves_with_parameters(&mut self, id: InstId) -> Op {
        let Some(around) = self.loops.last().map(|l| l.inst) else { return Op::While };
        let region = self.f.insts[around].regions[0];
        let params: Values = self.f.regions[region].params.iter().map(|p| self.mapped(*p)).collect();
        let inst = &mut self.f.insts[id];
        inst.op = Op::Break;
        inst.operands = params;
        self.revise();
        Op::Break
    }

    /// Notes what the loop's parameters are in the next iteration.
    fn note_next(&mut self, id: InstId, skip: usize) {
        let facts: Vec<Facts> = self.f.insts[id].operands.iter().skip(skip).map(|v| self.facts(*v)).collect();
        let Some(around) = self.loops.last_mut() else { return };
        for (slot, new) in around.next.iter_mut().zip(facts) {
            *slot = Some(slot.map_or(new, |old| old.or(new)));
        }
    }

    // Branches.

    fn choice(&mut self, id: InstId) -> bool {
        let inst = &mut self.f.insts[id];
        let &[condition] = &inst.operands[..] else { return self.keep(id) };
        let &[then, otherwise] = &inst.regions[..] else { return self.keep(id) };
        if let Some(bits) = self.bits(condition) {
            return self.splice(id, if bits != 0 { then } else { otherwise });
        }
        if let Some(negated) = self.is_unary(condition, Op::Not) {
            let inst = &mut self.f.insts[id];
            inst.operands[0] = negated;
            inst.regions.swap(0, 1);
            return self.choice(id);
        }
        match [then, otherwise].map(|arm| ends_by_yield(self.f, arm)) {
            // The arm that goes on is what follows.
            [true, false] => return self.goes_on(id, condition, then, true),
            [false, true] => return self.goes_on(id, condition, otherwise, false),
            [true, true] | [false, false] => {}
        }
        let mut yields = vec![];
        for (arm, holds) in [(then, true), (otherwise, false)] {
            let mark = self.open();
            self.learn_condition(condition, holds);
            self.arm(arm, &mut yields);
            self.close(mark);
        }
        if yields.len() == 2 && self.becomes_select(id, condition, then, otherwise) {
            return false;
        }
        self.merge(id, &yields);
        self.push(id);
        false
    }

    fn keep(&mut self, id: InstId) -> bool {
        self.push(id);
        false
    }

    /// Walks over an arm; if it yields, what is known of what it yields is added to `yields`.
    fn arm(&mut self, arm: RegionId, yields: &mut Vec<Vec<(ValueId, Facts)>>) {
        // The facts have to be read before the region's knowledge is taken back, so its end is read in its own log.
        let insts = std::mem::take(&mut self.f.regions[arm].insts);
        let outer = std::mem::replace(&mut self.out, Vec::with_capacity(insts.len()));
        for id in insts {
            if self.inst(id) {
                break;
            }
        }
        if let Some(end) = self.out.last().map(|id| &self.f.insts[*id]).filter(|end| end.op == Op::Yield) {
            yields.push(end.operands.iter().map(|v| (*v, self.facts(*v))).collect());
        }
        self.f.regions[arm].insts = std::mem::replace(&mut self.out, outer);
    }

    /// One arm leaves: the other one's instructions come after the branch.
    fn goes_on(&mut self, id: InstId, condition: ValueId, arm: RegionId, holds: bool) -> bool {
        let leaving = self.f.insts[id].regions.iter().copied().find(|r| *r != arm);
        if let Some(leaving) = leaving {
            let mark = self.open();
            self.learn_condition(condition, !holds);
            self.region(leaving);
            self.close(mark);
        }
        let mut insts = std::mem::take(&mut self.f.regions[arm].insts);
        let Some(end) = insts.pop() else { return self.keep(id) };
        let yielded = std::mem::take(&mut self.f.insts[end].operands);
        let results = std::mem::take(&mut self.f.insts[id].results);
        self.f.regions[arm].insts = vec![end];
        self.push(id);
        self.learn_condition(condition, holds);
        for id in insts {
            if self.inst(id) {
                return true;
            }
        }
        for (result, value) in results.into_iter().zip(yielded) {
            let value = self.mapped(value);
            self.replace(result, value);
        }
        false
    }

    /// Puts a region's instructions here, in place of the instruction that holds it.
    fn splice(&mut self, id: InstId, region: RegionId) -> bool {
        self.revise();
        let results = Values::from_slice(&self.f.insts[id].results);
        for inner in std::mem::take(&mut self.f.regions[region].insts) {
            if self.f.insts[inner].op == Op::Yield {
                for (result, value) in results.into_iter().zip(Values::from_slice(&self.f.insts[inner].operands)) {
                    let value = self.mapped(value);
                    self.replace(result, value);
                }
                return false;
            }
            if self.inst(inner) {
                return true;
            }
        }
        false
    }

    /// Results that are one value whichever way is taken, and what is known of the others.
    fn merge(&mut self, id: InstId, yields: &[Vec<(ValueId, Facts)>]) {
        let results = Values::from_slice(&self.f.insts[id].results);
        for (i, result) in results.into_iter().enumerate() {
            let mut values = yields.iter().filter_map(|y| y.get(i));
            let Some((first, facts)) = values.next().copied() else { continue };
            let (mut same, mut all) = (yields.len() > 1, facts);
            for (value, facts) in values {
                same &= *value == first;
                all = all.or(*facts);
            }
            if same || matches!(self.f.values[first].def, Def::Constant(_)) && yields.len() == 1 {
                self.replace(result, first);
            } else if matches!(self.f.ty(result), Type::Scalar(s) if s.is_integer() || s == Scalar::Bool) {
                self.learn(result, all);
            }
        }
    }

    /// Computes both arms and selects, if that is cheap.
    fn becomes_select(&mut self, id: InstId, condition: ValueId, then: RegionId, otherwise: RegionId) -> bool {
        let results = Values::from_slice(&self.f.insts[id].results);
        let arms = [then, otherwise].map(|arm| self.f.regions[arm].insts.clone());
        let cost = arms.iter().map(|insts| insts.len() - 1).sum::<usize>();
        let scalars = results.iter().all(|v| matches!(self.f.ty(*v), Type::Scalar(_)));
        if cost > CHEAP || results.len() > SELECTS || !scalars || (results.is_empty() && cost > 0) {
            return false;
        }
        let [(then_end, then), (else_end, otherwise)] =
            arms.each_ref().map(|insts| (insts.last(), &insts[..insts.len() - 1]));
        let (Some(then_end), Some(else_end)) = (then_end, else_end) else { return false };
        if !then.iter().chain(otherwise).all(|id| is_cheap(self.f, *id)) {
            return false;
        }
        let ends = [then_end, else_end].map(|end| Values::from_slice(&self.f.insts[*end].operands));
        for inner in then.iter().chain(otherwise) {
            // Nothing in an arm is a terminator but its end.
            self.inst(*inner);
        }
        let [a, b] = ends;
        for ((result, a), b) in results.into_iter().zip(a).zip(b) {
            let (a, b, ty) = (self.mapped(a), self.mapped(b), self.f.ty(result));
            let selected = self.emit(Op::Select, ty, &[condition, a, b], false);
            self.replace(result, selected);
        }
        true
    }

    fn switch(&mut self, id: InstId) -> bool {
        let inst = &self.f.insts[id];
        let &[value] = &inst.operands[..] else { return self.keep(id) };
        let (regions, cases) = (Regions::from_slice(&inst.regions), inst.cases());
        let Some((default, others)) = regions.split_last() else { return self.keep(id) };
        let Some(Type::Scalar(scalar)) = inst.ty else { return self.keep(id) };
        let bits = |case: i64| case as u64 & scalar.mask();
        if let Some(known) = self.bits(value) {
            let taken = others.iter().zip(&cases).find(|(_, cases)| cases.iter().any(|c| bits(*c) == known));
            return self.splice(id, taken.map_or(*default, |(region, _)| *region));
        }
        if others.is_empty() {
            return self.splice(id, *default);
        }
        let mut yields = vec![];
        for (i, region) in regions.iter().enumerate() {
            let mark = self.open();
            if let Some([case]) = cases.get(i).map(|c| &c[..]) {
                let constant = self.constant(scalar, bits(*case));
                self.stands_for(value, constant);
            }
            self.arm(*region, &mut yields);
            self.close(mark);
        }
        if yields.len() == regions.len() {
            self.merge(id, &yields);
        }
        self.push(id);
        false
    }

    // Loops.

    fn repetition(&mut self, id: InstId) -> bool {
        let inst = &self.f.insts[id];
        let &[region] = &inst.regions[..] else { return self.keep(id) };
        self.memo.has_loops = true;
        let (initial, results) = (Values::from_slice(&inst.operands), Values::from_slice(&inst.results));
        let params = self.f.regions[region].params.clone();
        let jumps = jumps(self.f, region);
        if let [only] = jumps[..]
            && self.f.insts[only].op == Op::Break
            && self.f.regions[region].insts.last() == Some(&only)
        {
            return self.once(id, region, only, &params, &initial);
        }
        let start = self.now();
        let started = self.open();
        let constant = self.invariant_parameters(&jumps, &params, &initial);
        for param in &params {
            if let Some(known) = self.memo.loops.get(param).copied() {
                self.learn(*param, known);
            }
        }
        self.versions.note_region(self.f, region);
        self.define(&params);
        self.loops.push(Around { inst: id, next: vec![None; params.len()] });
        self.region(region);
        self.close(started);
        let next = self.loops.pop().map(|around| around.next).unwrap_or_default();
        for ((param, first), later) in params.iter().zip(&initial).zip(next) {
            if matches!(self.f.ty(*param), Type::Scalar(s) if s.is_integer() || s == Scalar::Bool) {
                let first = self.facts(*first);
                let known = later.map_or(first, |later| first.or(later));
                self.memo.again |= self.memo.loops.insert(*param, known) != Some(known);
            }
        }
        self.push(id);
        self.common_results(region, &constant, &results, start);
        self.counted_results(region, &initial, &results, start);
        false
    }

    /// Parameters that never change are what they start as. Gives what each is when the loop ends.
    fn invariant_parameters(&mut self, jumps: &[InstId], params: &[ValueId], initial: &[ValueId]) -> Vec<ValueId> {
        let mut last = params.to_vec();
        for (i, (param, first)) in params.iter().zip(initial).enumerate() {
            let unchanged = jumps.iter().all(|jump| {
                let inst = &self.f.insts[*jump];
                let next = match inst.op {
                    Op::Continue => inst.operands.get(i),
                    Op::While => inst.operands.get(i + 1),
                    Op::Yield | Op::Break | not_control!() | other_control!() | regions!() => return true,
                };
                next.is_some_and(|next| next == param || next == first)
            });
            if unchanged {
                self.stands_for(*param, *first);
                last[i] = *first;
            }
        }
        last
    }

    /// Results that every way out of a loop gives as one value from outside; `last` is what the parameters are then.
    fn common_results(&mut self, region: RegionId, last: &[ValueId], results: &[ValueId], start: u32) {
        let jumps = jumps(self.f, region);
        for (i, result) in results.iter().enumerate() {
            let ways_out = jumps.iter().filter_map(|jump| {
                let inst = &self.f.insts[*jump];
                match inst.op {
                    Op::Break => inst.operands.get(i).copied(),
                    Op::While => last.get(i).copied(),
                    Op::Yield | Op::Continue | not_control!() | other_control!() | regions!() => None,
                }
            });
            let values: Vec<ValueId> = ways_out.collect();
            let Some((first, rest)) = values.split_first() else { continue };
            if rest.iter().all(|v| v == first) && self.born(*first) < start {
                self.replace(*result, *first);
            }
        }
    }

    /// A loop that leaves in its first iteration.
    fn once(&mut self, id: InstId, region: RegionId, end: InstId, params: &[ValueId], initial: &[ValueId]) -> bool {
        self.revise();
        for (param, first) in params.iter().zip(initial) {
            self.stands_for(*param, *first);
        }
        let results = Values::from_slice(&self.f.insts[id].results);
        for inner in std::mem::take(&mut self.f.regions[region].insts) {
            if inner == end {
                break;
            }
            if self.inst(inner) {
                return true;
            }
        }
        for (result, value) in results.into_iter().zip(Values::from_slice(&self.f.insts[end].operands)) {
            let value = self.mapped(value);
            self.replace(result, value);
        }
        false
    }
}

/// Whether a region ends by `yield`.
fn ends_by_yield(f: &Function, region: RegionId) -> bool {
    f.terminator(region).is_some_and(|end| end.op == Op::Yield)
}

/// The loops of a region and the regions that they stand in, inner ones first.
pub(super) fn loops(f: &Function, region: RegionId) -> Vec<(InstId, RegionId)> {
    let mut found = vec![];
    for id in &f.regions[region].insts {
        f.insts[*id].regions.iter().for_each(|inner| found.extend(loops(f, *inner)));
        if f.insts[*id].op == Op::Loop {
            found.push((*id, region));
        }
    }
    found
}

/// The jumps of a loop: its own `break`, `continue` and `while` instructions, not those of loops inside.
pub(super) fn jumps(f: &Function, region: RegionId) -> Vec<InstId> {
    let mut found = vec![];
    collect_jumps(f, region, &mut found);
    found
}

fn collect_jumps(f: &Function, region: RegionId, found: &mut Vec<InstId>) {
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        match inst.op {
            loop_jumps!() => found.push(*id),
            Op::If | Op::Switch => inst.regions.iter().for_each(|r| collect_jumps(f, *r, found)),
            Op::Loop | Op::Yield | not_control!() | other_control!() => {}
        }
    }
}

/// Whether an instruction may as well be computed where its result is not used.
pub fn is_cheap(f: &Function, id: InstId) -> bool {
    let inst = &f.insts[id];
    let row = inst.op.row();
    let slow = match inst.op {
        Op::Div | Op::Rem | Op::Sqrt | Op::MulHi | Op::Vector | Op::Splat | Op::Insert => true,
        Op::Mul | Op::Mad | Op::Fma => inst.element().bits() == 64,
        Op::Add
        | Op::Sub
        | Op::Neg
        | Op::Abs
        | Op::Min
        | Op::Max
        | Op::Shl
        | Op::Shr
        | Op::Extract
        | of_kernels!()
        | functions!()
        | girih_ir::tile_operations!()
        | task_form!()
        | memory!()
        | control!()
        | compares!()
        | masks!()
        | bits!()
        | counts!()
        | conversions!() => false,
    };
    let native = !matches!(row.class, Class::Library(_)) && !inst.op.name().contains(".approx");
    row.effect == Effect::Pure && native && !slow && inst.attrs.iter().all(|a| matches!(a, Attr::NoWrap | Attr::Dim(_)))
}
