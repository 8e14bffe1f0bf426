//! Writes a loop in a loop as one loop. The outer loop's body is cut into what stands before the inner loop and what stands behind it; choices on the way to
//! the inner loop have what follows them in the arms beside.

use super::{Nest, Step};
use girih_base::hash::FastMap;
use girih_ir::{Builder, Function, Inst, InstId, Op, RegionId, Type, ValueId};

/// What an invocation does next: a new iteration of the outer loop, one of the inner loop, or what stands behind that.
const NEW: u32 = 0;
const INNER: u32 = 1;
const ENDED: u32 = 2;

/// Where code is that is copied, for what jumps become there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Outer,
    Inner,
    /// Inside of another loop, whose jumps stay.
    Deeper,
}

/// The one loop while it is written.
struct Merger<'a> {
    b: &'a mut Builder,
    old: Function,
    nest: &'a Nest,
    names: FastMap<ValueId, ValueId>,
    /// What the inner loop's iteration has: what the outer loop carries, and what lives.
    outer: Vec<ValueId>,
    lives: Vec<ValueId>,
}

/// Writes the loops of a nest as one, in the place of the outer one.
pub(super) fn merge(b: &mut Builder, nest: &Nest) {
    let old = b.function.clone();
    let span = b.span;
    let (outer, inner) = (&old.insts[nest.outer], &old.insts[nest.inner]);
    let own = &old.regions[nest.body(&old)].params;
    let params = &old.regions[nest.inner_body(&old)].params;
    let types = |values: &[ValueId]| values.iter().map(|value| old.ty(*value)).collect::<Vec<Type>>();
    let parts = [types(own), types(params), types(&nest.lives), types(&inner.results)];
    let mut all = parts.concat();
    all.push(Type::U32);
    b.span = outer.span;
    let mut operands = outer.operands.to_vec();
    for ty in parts[1..].iter().flatten() {
        operands.push(b.zero(*ty));
    }
    operands.push(b.u32(NEW));
    let region = b.new_region(&all);
    let carried = b.function.regions[region].params.clone();
    let mut left = &carried[..];
    let mut next = |count: usize| {
        let (first, others) = left.split_at(count);
        left = others;
        first.to_vec()
    };
    let [numbers, going, lives, gave] = [own.len(), params.len(), nest.lives.len(), inner.results.len()].map(&mut next);
    let state = next(1)[0];
    let (own, params) = (own.clone(), params.clone());
    let results = inner.results.clone();
    let mut m = Merger { b, old, nest, names: FastMap::default(), outer: numbers.clone(), lives: lives.clone() };
    let outside = std::mem::replace(&mut m.b.region, region);

    // What is to be done before an iteration of the inner loop, if that has not begun.
    let goes_on = m.is(state, INNER);
    let ready: Vec<Type> = [&parts[1][..], &parts[2], &parts[0]].concat();
    let begun = m.either(
        goes_on,
        &ready,
        |_| Some([&going[..], &lives, &numbers].concat()),
        |m| {
            let has_ended = m.is(state, ENDED);
            let begins = m.either(
                has_ended,
                &parts[0],
                |m| {
                    m.name(&own, &numbers);
                    m.name(&m.nest.lives, &lives);
                    m.name(&results, &gave);
                    m.after()
                },
                |_| Some(numbers.clone()),
            );
            m.names.clear();
            m.name(&own, &begins);
            m.outer.clone_from(&begins);
            let mut begun = m.before(0)?;
            begun.extend(begins);
            Some(begun)
        },
    );
    let (going, others) = begun.split_at(params.len());
    let (lives, numbers) = others.split_at(lives.len());
    m.names.clear();
    m.name(&own, numbers);
    m.name(&m.nest.lives, lives);
    m.name(&params, going);
    (m.outer, m.lives) = (numbers.to_vec(), lives.to_vec());
    let body = m.nest.inner_body(&m.old);
    m.copy_all(body, 0, Part::Inner);

    m.b.region = outside;
    m.b.span = span;
    let b = m.b;
    let inst = &mut b.function.insts[nest.outer];
    inst.operands = operands.into();
    inst.regions[0] = region;
    b.function.simplified = false;
}

impl Merger<'_> {
    fn name(&mut self, old: &[ValueId], new: &[ValueId]) {
        self.names.extend(old.iter().copied().zip(new.iter().copied()));
    }
    fn value(&self, value: ValueId) -> ValueId {
        self.names.get(&value).copied().unwrap_or(value)
    }
    fn values(&self, values: &[ValueId]) -> Vec<ValueId> {
        values.iter().map(|value| self.value(*value)).collect()
    }
    fn is(&mut self, value: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.b.op(Op::Eq, Type::U32, &[value, constant])
    }

    /// A choice whose arms give values, unless they have ended by a jump.
    fn either(
        &mut self,
        condition: ValueId,
        types: &[Type],
        yes: impl FnOnce(&mut Self) -> Option<Vec<ValueId>>,
        no: impl FnOnce(&mut Self) -> Option<Vec<ValueId>>,
    ) -> Vec<ValueId> {
        let mut inst = Inst::new(Op::If, None, &[condition], self.b.span);
        let outer = self.b.region;
        let region = self.b.new_region(&[]);
        self.b.region = region;
        if let Some(values) = yes(self) {
            self.b.end(Op::Yield, &values);
        }
        inst.regions.push(region);
        let region = self.b.new_region(&[]);
        self.b.region = region;
        if let Some(values) = no(self) {
            self.b.end(Op::Yield, &values);
        }
        inst.regions.push(region);
        self.b.region = outer;
        let id = self.b.push(inst, types);
        self.b.function.insts[id].results.to_vec()
    }

    /// Writes what stands before the inner loop, from a step of the path on: gives what the loop begins with and what lives, unless that is never reached.
    fn before(&mut self, step: usize) -> Option<Vec<ValueId>> {
        let Step { region, at } = self.nest.path[step];
        let insts = self.old.regions[region].insts.clone();
        for id in &insts[..at] {
            self.copy(*id, Part::Outer);
        }
        let inst = self.old.insts[insts[at]].clone();
        self.b.span = inst.span;
        if insts[at] == self.nest.inner {
            let mut begun = self.values(&inst.operands);
            begun.extend(self.values(&self.nest.lives));
            return Some(begun);
        }
        // What lives of the arm is known there alone.
        let begins = self.old.insts[self.nest.inner].operands.clone();
        let types: Vec<Type> = begins.iter().chain(&self.nest.lives).map(|value| self.old.ty(*value)).collect();
        let within = self.nest.path[step + 1].region;
        let condition = self.value(inst.operands[0]);
        let arm = |region: RegionId| {
            move |m: &mut Self| {
                let names = m.names.clone();
                let given = if region == within { m.before(step + 1) } else { m.beside(region, step) };
                m.names = names;
                given
            }
        };
        Some(self.either(condition, &types, arm(inst.regions[0]), arm(inst.regions[1])))
    }

    /// Writes an arm beside the one with the inner loop, and all that follows: the outer loop goes on.
    fn beside(&mut self, region: RegionId, step: usize) -> Option<Vec<ValueId>> {
        for id in self.old.regions[region].insts.clone() {
            let inst = self.old.insts[id].clone();
            if inst.op == Op::Yield {
                let Step { region, at } = self.nest.path[step];
                let choice = self.old.regions[region].insts[at];
                self.name(&self.old.insts[choice].results.clone(), &self.values(&inst.operands));
                if let Some(next) = self.from(region, at + 1, step) {
                    self.goes_on(&next);
                }
                return None;
            }
            self.copy(id, Part::Outer);
        }
        None
    }

    /// Writes what stands behind the inner loop: gives what the outer loop goes on with, unless that ends.
    fn after(&mut self) -> Option<Vec<ValueId>> {
        let step = self.nest.path.len() - 1;
        let Step { region, at } = self.nest.path[step];
        self.from(region, at + 1, step)
    }

    /// Writes the rest of a region on the path, and of those around it.
    fn from(&mut self, region: RegionId, first: usize, step: usize) -> Option<Vec<ValueId>> {
        let insts = self.old.regions[region].insts[first..].to_vec();
        for id in insts {
            let inst = self.old.insts[id].clone();
            if inst.op == Op::Continue {
                return Some(self.values(&inst.operands));
            }
            if inst.op == Op::While {
                self.leave_unless(&inst, Part::Outer);
                return Some(self.values(&inst.operands[1..]));
            }
            if inst.op == Op::Yield {
                let around = self.nest.path[step.checked_sub(1)?];
                let choice = self.old.regions[around.region].insts[around.at];
                self.name(&self.old.insts[choice].results.clone(), &self.values(&inst.operands));
                return self.from(around.region, around.at + 1, step - 1);
            }
            self.copy(id, Part::Outer);
        }
        None
    }

    /// Copies a region's instructions from one on.
    fn copy_all(&mut self, region: RegionId, first: usize, part: Part) {
        let insts = self.old.regions[region].insts[first..].to_vec();
        for id in insts {
            self.copy(id, part);
        }
    }

    fn copy(&mut self, id: InstId, part: Part) {
        let inst = self.old.insts[id].clone();
        self.b.span = inst.span;
        let operands = self.values(&inst.operands);
        if part != Part::Deeper && (inst.op == Op::Continue || inst.op == Op::While) {
            let first = usize::from(inst.op == Op::While);
            if first == 1 {
                self.leave_unless(&inst, part);
            }
            return if part == Part::Outer {
                self.goes_on(&operands[first..])
            } else {
                self.goes_round(&operands[first..])
            };
        }
        if part == Part::Inner && inst.op == Op::Break {
            return self.ends(&operands);
        }
        let mut made = Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &operands, inst.span) };
        for region in &inst.regions {
            let params = self.old.regions[*region].params.clone();
            let types: Vec<Type> = params.iter().map(|value| self.old.ty(*value)).collect();
            let copy = self.b.new_region(&types);
            let new = self.b.function.regions[copy].params.clone();
            self.name(&params, &new);
            let outer = std::mem::replace(&mut self.b.region, copy);
            self.copy_all(*region, 0, if inst.op == Op::Loop { Part::Deeper } else { part });
            self.b.region = outer;
            made.regions.push(copy);
        }
        let types: Vec<Type> = inst.results.iter().map(|value| self.old.ty(*value)).collect();
        let made = self.b.push(made, &types);
        let results = self.b.function.insts[made].results.to_vec();
        self.name(&inst.results, &results);
    }

    /// In the place of a `while`: ends the loop with what it carries, unless the condition holds.
    fn leave_unless(&mut self, inst: &Inst, part: Part) {
        let condition = self.value(inst.operands[0]);
        let body = if part == Part::Outer { self.nest.body(&self.old) } else { self.nest.inner_body(&self.old) };
        let carried = self.values(&self.old.regions[body].params);
        self.either(
            condition,
            &[],
            |_| Some(vec![]),
            |m| {
                if part == Part::Outer {
                    m.b.end(Op::Break, &carried)
                } else {
                    m.ends(&carried)
                }
                None
            },
        );
    }

    // What the loop goes on with.

    /// A new iteration of the outer loop.
    fn goes_on(&mut self, numbers: &[ValueId]) {
        let [going, lives, gave] = [self.no_numbers(), self.no_lives(), self.no_results()];
        self.next(&[numbers, &going, &lives, &gave], NEW);
    }
    /// Another iteration of the inner loop.
    fn goes_round(&mut self, going: &[ValueId]) {
        let gave = self.no_results();
        let (numbers, lives) = (self.outer.clone(), self.lives.clone());
        self.next(&[&numbers, going, &lives, &gave], INNER);
    }
    /// The inner loop has ended.
    fn ends(&mut self, gave: &[ValueId]) {
        let going = self.no_numbers();
        let (numbers, lives) = (self.outer.clone(), self.lives.clone());
        self.next(&[&numbers, &going, &lives, gave], ENDED);
    }
    fn next(&mut self, parts: &[&[ValueId]; 4], state: u32) {
        let mut all = parts.concat();
        all.push(self.b.u32(state));
        self.b.end(Op::Continue, &all);
    }
    fn no_numbers(&mut self) -> Vec<ValueId> {
        let params = self.old.regions[self.nest.inner_body(&self.old)].params.clone();
        self.zeros(&params)
    }
    fn no_lives(&mut self) -> Vec<ValueId> {
        self.zeros(&self.nest.lives)
    }
    fn no_results(&mut self) -> Vec<ValueId> {
        let results = self.old.insts[self.nest.inner].results.clone();
        self.zeros(&results)
    }
    fn zeros(&mut self, like: &[ValueId]) -> Vec<ValueId> {
        like.iter().map(|value| self.b.zero(self.old.ty(*value))).collect()
    }
}
