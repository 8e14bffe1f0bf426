//! Sums that a loop carries while products are added to them.
//!
//! The matrix unit would be idle if each iteration waited for its own products. So an iteration starts its products and waits for those of the
//! iteration before it, and the sums are accumulators of the matrix unit until the loop is over. What the iteration before the last one has read is
//! free then, so factors are copied one stage less ahead.
//!
//! Invariant: the sums of such a loop are taken by its only product, and given by it to the next iteration; nothing else in the loop looks at them.

use super::super::layout::dimensions;
use super::super::pipeline::Pipeline;
use super::super::product::{Unit, Warpgroups};
use super::software_pipeline::LEAST_IN_FLIGHT;
use super::{Distributed, Made, Registers, lanes};
use crate::rewrite::Rewriter;
use girih_ir::{Feature, Inst, InstId, Op, RegionId, Scalar, Type, ValueId};

/// The sums of a loop whose products are in flight.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// What the loop carries them as, the result of its product, and the loop's result.
    param: ValueId,
    product: ValueId,
    result: Option<ValueId>,
    by: Warpgroups,
    /// The accumulators as they are now, one for each piece of 64 rows.
    pub now: Registers,
}

/// The type of a warpgroup's accumulator for sums of such a tile, and how many it has.
pub(super) fn accumulators(by: Warpgroups, sums: Type) -> (Type, usize) {
    let sides = dimensions(sums.shape());
    let (rows, columns) = (sides[0].1, sides[1].1);
    let registers = 1u16 << (columns - by.along.1 - 1);
    (Type::Regs(Scalar::F32, registers), 1 << (rows - 6 - by.along.0))
}

impl Flight {
    /// The types of its accumulators.
    pub fn types(&self, r: &Rewriter<'_>) -> Vec<Type> {
        let (ty, pieces) = accumulators(self.by, r.old.ty(self.param));
        vec![ty; pieces]
    }
}

impl Distributed<'_> {
    /// The sums in flight, if that is what a value is.
    pub(super) fn in_flight(&self, value: ValueId) -> Option<&Flight> {
        self.flight.as_ref().filter(|f| value == f.param || value == f.product || Some(value) == f.result)
    }

    pub(super) fn in_flight_mut(&mut self, value: ValueId) -> Option<&mut Flight> {
        self.flight.as_mut().filter(|f| value == f.param || value == f.product || Some(value) == f.result)
    }

    /// Whether the sums of a loop can be in flight: begins to carry them as accumulators then.
    pub(super) fn take_off(&mut self, r: &mut Rewriter<'_>, inst: &Inst, pipeline: &Pipeline) -> Made<bool> {
        let Some((slot, mut flight)) = self.can_fly(r, inst, pipeline) else { return Ok(false) };
        let initial = self.goes(r, inst.operands[slot], flight.param)?;
        let types = flight.types(r);
        let each = initial.len() / types.len();
        let parts = initial.chunks(each).zip(types).map(|(part, ty)| r.out.op(Op::Vector, ty, part));
        flight.now = parts.collect();
        self.flight = Some(flight);
        Ok(true)
    }

    /// Waits for the last products, and gives the loop's sums.
    pub(super) fn land(&mut self, r: &mut Rewriter<'_>) -> Made<()> {
        let Some(flight) = self.flight.take() else { return Ok(()) };
        let finished = wait(r, &flight.now, 0);
        let (Some(result), Some(home)) = (flight.result, self.plan.home[flight.param]) else { return Ok(()) };
        let (ty, _) = accumulators(flight.by, r.old.ty(flight.param));
        let count = if let Type::Regs(_, count) = ty { count.into() } else { 1 };
        let mut sums = vec![];
        for accumulator in &*finished {
            sums.extend(lanes(r, Scalar::F32, *accumulator, count));
        }
        self.hold(r, result, home, sums.into())
    }

    /// The position of a loop's sums among what it carries, if they can be in flight.
    fn can_fly(&self, r: &Rewriter<'_>, inst: &Inst, pipeline: &Pipeline) -> Option<(usize, Flight)> {
        let old = r.old;
        let body = inst.regions[0];
        if !self.caps.has(Feature::AsyncCopy) || self.depth < LEAST_IN_FLIGHT || self.flight.is_some() {
            return None;
        }
        let mut products = vec![];
        old.walk(body, &mut |id, inner| products.extend((inner.op == Op::TileDot).then_some(id)));
        let [id] = products[..] else { return None };
        let made = self.plan.products.get(&id)?;
        let Unit::Warpgroups(by) = made.by else { return None };
        let dot = &old.insts[id];
        let there = |i: usize| {
            pipeline.copied.iter().any(|c| c.factor == dot.operands[i]) || self.standing(dot.operands[i], i).is_some()
        };
        let (param, product) = (dot.operands[2], dot.results[0]);
        let slot = old.regions[body].params.iter().position(|p| *p == param)?;
        let (of_param, of_product) = (uses(r, body, param), uses(r, body, product));
        let (left, taken): (Vec<_>, Vec<_>) = of_param.into_iter().partition(|u| old.insts[u.0].op == Op::Break);
        let carried = of_product == [(pipeline.next, slot)] && taken == [(id, 2)] && left.len() < 2;
        let result = left.first().map(|(_, position)| inst.results[*position]);
        let result = result.filter(|v| self.carried_out(r, *v));
        let at_home =
            |v: ValueId| self.plan.home[v] == Some(made.sums) && self.plan.demands[v].iter().all(|d| *d == made.sums);
        let stays = at_home(param) && at_home(product) && result.is_none_or(|v| self.plan.home[v] == Some(made.sums));
        let inside = old.regions[body].insts.contains(&id);
        let flight = Flight { param, product, result, by, now: [].into() };
        (there(0) && there(1) && carried && stays && inside).then_some((slot, flight))
    }
}

/// What takes a value in a region: instructions, as which of their operands.
fn uses(r: &Rewriter<'_>, region: RegionId, value: ValueId) -> Vec<(InstId, usize)> {
    let mut found = vec![];
    r.old.walk(region, &mut |id, inst| {
        found.extend(inst.operands.iter().enumerate().filter(|(_, v)| **v == value).map(|(i, _)| (id, i)));
    });
    found
}

/// Waits until so many of the latest groups of products are in flight; gives the accumulators.
pub(super) fn wait(r: &mut Rewriter<'_>, accumulators: &[ValueId], pending: u32) -> Registers {
    let types: Vec<Type> = accumulators.iter().map(|v| r.out.ty(*v)).collect();
    let mut inst = Inst::new(Op::WgmmaWait, None, accumulators, r.out.span);
    if pending > 0 {
        inst.set(girih_ir::Attr::Pending(pending));
    }
    let id = r.out.push(inst, &types);
    r.out.function.insts[id].results.as_slice().into()
}
