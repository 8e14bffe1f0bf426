//! Loops, branches and the jumps that end their regions; regions on elements, written out for given values.

use super::super::region_exits::{RegionExit, gives_all, targets};
use super::{Distributed, Made, Registers, impossible};
use crate::rewrite::Rewriter;
use girih_ir::attrs::Dim;
use girih_ir::{Caps, Feature, Inst, InstId, Op, RegionId, Regions, Scalar, Type, ValueId};

impl Distributed<'_> {
    /// The types of what stands for a value that comes out of control flow.
    fn types_of(&self, r: &Rewriter<'_>, value: ValueId) -> Vec<Type> {
        if let Some(flight) = self.in_flight(value) {
            return flight.types(r);
        }
        match (r.old.ty(value), self.plan.home[value]) {
            (Type::Tile(tile), Some(home)) => {
                let ty = self.fragment_type(home, tile.element).unwrap_or(Type::Scalar(tile.element));
                vec![ty; self.plan.layouts[home].count()]
            }
            (other, _) => vec![other],
        }
    }

    /// What such a value is from now on.
    fn come(&mut self, r: &mut Rewriter<'_>, value: ValueId, registers: &[ValueId]) -> Made<()> {
        if let Some(flight) = self.in_flight_mut(value) {
            flight.now = registers.into();
            return Ok(());
        }
        match self.plan.home[value] {
            Some(home) => self.hold(r, value, home, registers.into()),
            None => {
                r.set(value, registers);
                Ok(())
            }
        }
    }

    /// What goes where a value of this home is expected.
    pub(super) fn goes(&mut self, r: &mut Rewriter<'_>, value: ValueId, to: ValueId) -> Made<Registers> {
        if let Some(flight) = self.in_flight(to) {
            return Ok(flight.now.clone());
        }
        match self.plan.home[to] {
            Some(home) => self.registers(r, value, home),
            None => Ok([r.value(self, value)].into()),
        }
    }

    /// Whether a loop's result is carried out: not if nobody wants it, unless the loop ends by `while`, which carries out everything.
    pub(super) fn carried_out(&self, r: &Rewriter<'_>, result: ValueId) -> bool {
        r.old.ty(result).shape().is_none() || self.used[result]
    }

    /// What the results of control flow are from now on.
    pub(super) fn results(&mut self, r: &mut Rewriter<'_>, results: &[ValueId], new: &[ValueId]) -> Made<()> {
        let mut at = 0;
        for result in results {
            let count = self.types_of(r, *result).len();
            self.come(r, *result, &new[at..at + count])?;
            at += count;
        }
        Ok(())
    }

    pub(super) fn branch(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let condition = r.value(self, inst.operands[0]);
        let mut regions = Regions::new();
        self.enclosing.push(RegionExit::Branch(inst.results.to_vec()));
        for old in &inst.regions {
            let region = r.out.new_region(&[]);
            regions.push(region);
            self.within(r, region, *old)?;
        }
        self.enclosing.pop();
        let types: Vec<Type> = inst.results.iter().flat_map(|v| self.types_of(r, *v)).collect();
        let mut new = Inst::new(inst.op, inst.ty, &[condition], inst.span);
        (new.attrs, new.regions) = (inst.attrs.clone(), regions);
        let id = r.out.push(new, &types);
        let values = r.out.function.insts[id].results.to_vec();
        self.results(r, &inst.results, &values)
    }

    /// Writes an old region into a new one.
    fn within(&mut self, r: &mut Rewriter<'_>, region: RegionId, old: RegionId) -> Made<()> {
        let outer = std::mem::replace(&mut r.out.region, region);
        self.rooms.unknown();
        let written = self.region(r, old);
        self.rooms.unknown();
        r.out.region = outer;
        written
    }

    pub(super) fn loop_(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let standing = self.stand(r, inst.regions[0])?;
        let written = self.any_loop(r, id, inst);
        self.standing.truncate(self.standing.len() - standing);
        written
    }

    fn any_loop(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        if self.depth > u32::from(self.caps.has(Feature::AsyncCopy))
            && let Some(pipeline) = self.pipelines.get(&id).cloned()
        {
            return self.copying_loop(r, inst, &pipeline);
        }
        let body = inst.regions[0];
        let params = r.old.regions[body].params.clone();
        let mut initial = vec![];
        for (param, value) in params.iter().zip(&inst.operands) {
            initial.extend_from_slice(&self.goes(r, *value, *param)?);
        }
        let region = r.out.new_region(&[]);
        let outer = std::mem::replace(&mut r.out.region, region);
        self.rooms.unknown();
        self.enter(r, &params, region)?;
        let all = ends_by_while(r, body);
        let results: Vec<ValueId> = inst.results.iter().copied().filter(|v| all || self.carried_out(r, *v)).collect();
        self.enclosing.push(RegionExit::Loop { params, results: inst.results.to_vec(), carries_all: all });
        self.extras.push(vec![]);
        let written = self.region(r, body);
        self.extras.pop();
        self.enclosing.pop();
        self.rooms.unknown();
        r.out.region = outer;
        written?;
        let values = self.close(r, inst, (region, &initial), &results);
        self.results(r, &results, &values)
    }

    /// Gives a loop's region its parameters; how many there are.
    pub(super) fn enter(&mut self, r: &mut Rewriter<'_>, params: &[ValueId], region: RegionId) -> Made<usize> {
        for param in params {
            let types = self.types_of(r, *param);
            let values: Vec<ValueId> = types.iter().map(|ty| r.argument(region, *ty)).collect();
            self.come(r, *param, &values)?;
        }
        Ok(r.out.function.regions[region].params.len())
    }

    /// Ends a loop that carries out these results; gives what stands for them.
    pub(super) fn close(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        (region, initial): (RegionId, &[ValueId]),
        results: &[ValueId],
    ) -> Vec<ValueId> {
        let types: Vec<Type> = results.iter().flat_map(|v| self.types_of(r, *v)).collect();
        let mut new = Inst::new(Op::Loop, None, initial, inst.span);
        new.attrs.clone_from(&inst.attrs);
        new.regions.push(region);
        let id = r.out.push(new, &types);
        r.out.function.insts[id].results.to_vec()
    }

    pub(super) fn jump(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        if let (Op::Yield, Some(RegionExit::Element)) = (inst.op, self.enclosing.last()) {
            self.yielded = inst.operands.iter().map(|v| r.value(self, *v)).collect();
            return Ok(());
        }
        let all = gives_all(&self.enclosing, inst.op);
        let targets = targets(&self.enclosing, inst).ok_or_else(|| impossible("a jump of nothing"))?;
        let mut operands = vec![];
        if inst.op == Op::While {
            operands.push(r.value(self, inst.operands[0]));
        }
        for (value, to) in targets {
            if !all && !self.carried_out(r, to) {
                continue;
            }
            operands.extend_from_slice(&self.goes(r, value, to)?);
        }
        if inst.op == Op::Continue
            && let Some(extra) = self.extras.last()
        {
            operands.extend_from_slice(extra);
        }
        r.out.end(inst.op, &operands);
        Ok(())
    }

    /// A region on elements, written out for these values; gives what it yields.
    pub(super) fn written_out(
        &mut self,
        r: &mut Rewriter<'_>,
        region: RegionId,
        arguments: &[ValueId],
    ) -> Made<Vec<ValueId>> {
        let old = r.old;
        for (param, argument) in old.regions[region].params.iter().zip(arguments) {
            r.set(*param, &[*argument]);
        }
        self.enclosing.push(RegionExit::Element);
        let written = self.region(r, region);
        self.enclosing.pop();
        written?;
        Ok(std::mem::take(&mut self.yielded))
    }
}

/// Where a loop of so many iterations ends. Where code that is written out is expensive, a driver must not know: Mesa writes short loops out, and its
/// compiler then takes as long as these have accesses, squared.
pub(super) fn end_of(caps: &Caps, r: &mut Rewriter<'_>, count: u32) -> ValueId {
    let end = r.out.u32(count);
    if !caps.rolled {
        return end;
    }
    // There is at least one program.
    let (programs, one) = (r.out.position(Op::NumWorkgroups, Dim::X), r.out.u32(1));
    let one = r.out.op(Op::Min, Scalar::U32, &[programs, one]);
    r.out.op(Op::Mul, Scalar::U32, &[one, end])
}

/// Whether a loop ends by `while`.
fn ends_by_while(r: &Rewriter<'_>, region: RegionId) -> bool {
    r.old.regions[region].insts.iter().any(|id| {
        let inst = &r.old.insts[*id];
        let branches = matches!(inst.op, Op::If | Op::Switch);
        inst.op == Op::While || branches && inst.regions.iter().any(|inner| ends_by_while(r, *inner))
    })
}
