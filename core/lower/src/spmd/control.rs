//! Choices and jumps.
//!
//! Where lanes differ, both sides of a choice run, each for its own lanes. A side that no lane takes is skipped, unless it is so short that
//! running it is quicker than testing. A jump removes its lanes from those that run, and the following code continues with the others.

use super::lanes::{Wide, any, blend, both, without};
use super::repeat::Level;
use super::state::{Arm, End, Mask, Slot, State, join};
use super::varying::varying;
use super::{MASK, Versions, Why, vectorised};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::groups::{
    aggregates, arithmetic, bits, cells, compares, conversions, counts, functions, jumps, loop_jumps, masks, memory,
    of_kernels, plain_arithmetic,
};
use girih_ir::{Attr, Builder, Function, FunctionId, Inst, InstId, Op, RegionId, Scalar, Type, ValueId};

/// What instructions may cost that are run although perhaps no lane wants them.
const CHEAP: usize = 8;

/// A version on its way.
pub(super) struct VersionWriter<'v, 'm> {
    pub versions: &'v mut Versions<'m>,
    /// The function that is read, and its number.
    pub old: &'m Function,
    pub own: FunctionId,
    pub b: Builder,
    pub varies: IndexVec<ValueId, bool>,
    pub map: IndexVec<ValueId, Option<Wide>>,
    pub state: State,
    /// Where the results of lanes are that have returned.
    pub results: Vec<Slot>,
    /// The loops around; the first one is the function, if it calls itself last.
    pub levels: Vec<Level>,
}

/// Writes the version of a function in which these parameters differ; it has been declared at `at`.
pub(super) fn write(versions: &mut Versions<'_>, id: FunctionId, differs: &[bool], at: usize) -> Result<Function, Why> {
    let old = &versions.module.functions[id];
    let declared = std::mem::replace(&mut versions.made[at], Function::new("", Span::NONE));
    let params = declared.params.clone();
    let mut state = State::new(params[0]);
    let results = old.results.iter().map(|ty| state.slot(vectorised(*ty).unwrap_or(*ty))).collect();
    let varies = varying(old, id, differs);
    let map = old.values.iter().map(|_| None).collect();
    let b = Builder::new(declared);
    let mut w = VersionWriter { versions, old, own: id, b, varies, map, state, results, levels: vec![] };
    let given: Vec<Wide> = params[1..].iter().zip(differs).map(|(value, each)| Wide::of(*value, *each)).collect();
    w.function(&given)?;
    Ok(w.b.function)
}

impl VersionWriter<'_, '_> {
    fn function(&mut self, given: &[Wide]) -> Result<(), Why> {
        let (old, own) = (self.old, self.own);
        let mut again = 0;
        old.walk(old.body, &mut |_, inst| again += usize::from(inst.op == Op::Tail && inst.callee() == Some(own)));
        if again > 0 {
            self.function_as_loop(given, again)?;
        } else {
            old.params.iter().zip(given).for_each(|(param, wide)| self.map[*param] = Some(*wide));
            self.row(&old.regions[old.body].insts, None)?;
        }
        let results: Vec<ValueId> = self.results.iter().map(|slot| self.state.value(&mut self.b, *slot)).collect();
        self.b.end(Op::Return, &results);
        Ok(())
    }

    /// What stands for a value.
    pub fn wide(&mut self, old: ValueId) -> Wide {
        match (self.map[old], self.old.as_constant(old)) {
            (Some(wide), _) => wide,
            (None, bits) => {
                let ty = self.old.ty(old);
                // A verified function defines values before their uses.
                let wide = Wide::Same(self.b.function.constant(ty, bits.unwrap_or(0)));
                self.map[old] = Some(wide);
                wide
            }
        }
    }
    /// The one number that stands for a value which does not differ.
    pub fn same(&mut self, old: ValueId) -> ValueId {
        match self.wide(old) {
            Wide::Same(value) | Wide::Each(value) => value,
        }
    }
    pub fn wides(&mut self, old: &[ValueId]) -> Vec<Wide> {
        old.iter().map(|v| self.wide(*v)).collect()
    }

    /// Writes instructions up to the terminator of their region. `last` is the loop of which nothing but its end follows.
    pub fn row(&mut self, insts: &[InstId], last: Option<usize>) -> Result<End, Why> {
        let old = self.old;
        for (i, id) in insts.iter().enumerate() {
            let inst = &old.insts[*id];
            self.b.span = inst.span;
            match inst.op {
                Op::Yield => return Ok(End::Yields(self.wides(&inst.operands))),
                Op::Return => return Ok(self.leave(&inst.operands)),
                Op::Break => return Ok(self.exit(&inst.operands)),
                Op::Continue => {
                    let level = self.levels.len() - 1;
                    return Ok(self.again(level, &inst.operands, last));
                }
                Op::While => return Ok(self.again_while(inst, last)),
                Op::Tail => return self.tail(inst, last),
                Op::TrapIf => self.trap_if(inst),
                Op::Call => self.call(inst)?,
                Op::If if self.goes_round(inst, last) => return self.round_last(inst, &insts[i + 1..], last),
                Op::If | Op::Switch | Op::Loop => {
                    let before = self.state.active;
                    if inst.op == Op::Loop {
                        self.repeat(inst)?;
                    } else if self.wide(inst.operands[0]).differs() {
                        self.choose(inst)?;
                    } else {
                        self.choose_together(inst)?;
                    }
                    if self.state.active == Mask::Nobody {
                        return Ok(End::Jumped);
                    }
                    let rest = &insts[i + 1..];
                    if self.state.active != before && self.cost(rest) > CHEAP {
                        return self.if_any(rest, last);
                    }
                }
                Op::Grid
                | Op::Fork
                | Op::Join
                | arithmetic!()
                | of_kernels!()
                | girih_ir::tile_operations!()
                | memory!()
                | cells!()
                | masks!()
                | aggregates!() => self.compute(inst)?,
            }
        }
        Ok(End::Yields(vec![]))
    }

    /// What instructions cost, roughly.
    fn cost(&self, insts: &[InstId]) -> usize {
        let mut cost = 0;
        for id in insts {
            let inst = &self.old.insts[*id];
            cost += match inst.op {
                Op::Call | Op::Tail | Op::Loop => CHEAP,
                Op::Div | Op::Rem | Op::Sqrt => 4,
                Op::TrapIf => 2,
                Op::If
                | Op::Switch
                | Op::Return
                | Op::Grid
                | Op::MulHi
                | Op::Neg
                | Op::Abs
                | Op::Fma
                | Op::Mad
                | Op::Shl
                | Op::Shr
                | Op::Fork
                | Op::Join
                | of_kernels!()
                | functions!()
                | girih_ir::tile_operations!()
                | memory!()
                | cells!()
                | compares!()
                | masks!()
                | plain_arithmetic!()
                | bits!()
                | jumps!()
                | counts!()
                | aggregates!()
                | conversions!() => 1,
            };
            cost += inst.regions.iter().map(|region| self.cost(&self.old.regions[*region].insts)).sum::<usize>();
        }
        cost
    }

    /// Writes instructions that are skipped if no lane runs.
    fn if_any(&mut self, insts: &[InstId], last: Option<usize>) -> Result<End, Why> {
        let Mask::Where(mask) = self.state.active else { return Ok(End::Jumped) };
        if self.state.someone == Some(mask) {
            return self.row(insts, last);
        }
        let condition = any(&mut self.b, mask);
        let nobody = self.state.clone();
        let (then, otherwise) = (self.b.new_region(&[]), self.b.new_region(&[]));
        let outer = std::mem::replace(&mut self.b.region, then);
        self.state.someone = Some(mask);
        let end = self.row(insts, last)?;
        self.b.region = outer;
        let has_left = matches!(end, End::Left);
        let (yields, types, each) = match &end {
            End::Yields(values) => (true, self.types(values), values.iter().map(|v| v.differs()).collect()),
            End::Jumped | End::Left => (false, vec![], vec![]),
        };
        let mut skipped = Arm { region: otherwise, end: End::Jumped, state: nobody };
        if has_left || self.state.active == Mask::Nobody {
            // In neither case does a lane go on behind it.
            skipped.state.active = Mask::Nobody;
        }
        let arm = Arm { region: then, end, state: self.state.clone() };
        let inst = self.branch(Op::If, None, condition, vec![then, otherwise]);
        let (values, state) = join(&mut self.b, inst, vec![arm, skipped], &types, &each);
        self.state = state;
        Ok(if yields { End::Yields(values) } else { End::Jumped })
    }

    fn types(&self, values: &[Wide]) -> Vec<Type> {
        values.iter().map(|(Wide::Same(value) | Wide::Each(value))| self.b.ty(*value)).collect()
    }

    fn branch(&self, op: Op, ty: Option<Type>, condition: ValueId, regions: Vec<RegionId>) -> Inst {
        Inst { regions: regions.into(), ..Inst::new(op, ty, &[condition], self.b.span) }
    }

    /// The types of a choice's results, and which of them differ.
    fn given(&self, inst: &Inst) -> (Vec<Type>, Vec<bool>) {
        let each: Vec<bool> = inst.results.iter().map(|result| self.varies[*result]).collect();
        let ty = |(result, each): (&ValueId, &bool)| {
            let ty = self.old.ty(*result);
            if *each { vectorised(ty).unwrap_or(ty) } else { ty }
        };
        (inst.results.iter().zip(&each).map(ty).collect(), each)
    }

    /// `if` or `switch` on what is the same in all lanes: they all go the same way.
    fn choose_together(&mut self, inst: &Inst) -> Result<(), Why> {
        let condition = self.same(inst.operands[0]);
        let (types, each) = self.given(inst);
        let before = self.state.clone();
        let mut arms = vec![];
        for region in &inst.regions {
            let new = self.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.b.region, new);
            self.state = before.clone();
            let end = self.row(&self.old.regions[*region].insts, None)?;
            self.b.region = outer;
            if !matches!(end, End::Yields(_)) {
                self.state.active = Mask::Nobody;
            }
            arms.push(Arm { region: new, end, state: self.state.clone() });
        }
        let mut new = self.branch(inst.op, inst.ty, condition, arms.iter().map(|arm| arm.region).collect());
        if inst.op == Op::Switch {
            new.set(Attr::Cases(inst.cases()));
        }
        let (values, state) = join(&mut self.b, new, arms, &types, &each);
        self.state = state;
        self.state.someone = before.someone.filter(|_| self.state.active == before.active);
        // Behind a choice all of whose lanes have jumped there are no values.
        inst.results.iter().zip(values).for_each(|(old, wide)| self.map[*old] = Some(wide));
        Ok(())
    }

    /// `if` or `switch` on what differs: one side after the other, each for its lanes.
    fn choose(&mut self, inst: &Inst) -> Result<(), Why> {
        let before = self.state.clone();
        let active = self.state.mask(&mut self.b);
        let sides = self.sides(inst, active);
        let (_, each) = self.given(inst);
        let mut values: Option<Vec<Wide>> = None;
        let mut on: Option<Mask> = None;
        let mut stays = true;
        for (region, wanted) in inst.regions.iter().zip(sides) {
            let insts = &self.old.regions[*region].insts;
            stays &= !self.jumps(*region);
            let mask = both(&mut self.b, active, wanted);
            self.state.active = Mask::Where(mask);
            self.state.someone = None;
            let end = if self.cost(insts) > CHEAP { self.if_any(insts, None)? } else { self.row(insts, None)? };
            let End::Yields(given) = end else { continue };
            on = Some(match (on, self.state.active) {
                (None, active) => active,
                (Some(before), Mask::Nobody) | (Some(Mask::Nobody), before) => before,
                (Some(Mask::Where(x)), Mask::Where(y)) => Mask::Where(self.b.op(Op::Or, MASK, &[x, y])),
            });
            values = Some(match values {
                None => given,
                Some(before) => self.blended(wanted, &given, &before, &each),
            });
        }
        self.state.active = if stays { before.active } else { on.unwrap_or(Mask::Nobody) };
        self.state.someone = before.someone.filter(|_| stays);
        let values = values.unwrap_or_default();
        inst.results.iter().zip(values).for_each(|(old, wide)| self.map[*old] = Some(wide));
        Ok(())
    }

    /// Whether an `if` on what differs sends its first side to the next round of a loop, all others being done with the round behind it.
    fn goes_round(&mut self, inst: &Inst, last: Option<usize>) -> bool {
        let Some(level) = last.filter(|level| self.levels[*level].rounds == 1) else { return false };
        let [then, otherwise] = inst.regions[..] else { return false };
        let old = self.old;
        let is_empty = old.regions[otherwise].insts.len() == 1 && !self.jumps(otherwise);
        let jump = if self.levels[level].is_function { Op::Tail } else { Op::Continue };
        let ends = old
            .terminator(then)
            .is_some_and(|end| end.op == jump && (jump == Op::Continue || end.callee() == Some(self.own)));
        is_empty && ends && inst.results.is_empty() && self.wide(inst.operands[0]).differs()
    }

    /// Such an `if`: what follows it comes first, so that the round ends with the jump.
    fn round_last(&mut self, inst: &Inst, rest: &[InstId], last: Option<usize>) -> Result<End, Why> {
        let active = self.state.mask(&mut self.b);
        let wants = self.wide(inst.operands[0]).each(&mut self.b);
        let (staying, going) = (without(&mut self.b, active, wants), both(&mut self.b, active, wants));
        self.state.active = Mask::Where(staying);
        self.state.someone = None;
        if self.cost(rest) > CHEAP {
            self.if_any(rest, None)?;
        } else {
            self.row(rest, None)?;
        }
        self.state.active = Mask::Where(going);
        self.state.someone = None;
        self.if_any(&self.old.regions[inst.regions[0]].insts, last)
    }

    /// The values of the first row in the mask's lanes, those of the second elsewhere.
    fn blended(&mut self, mask: ValueId, x: &[Wide], y: &[Wide], each: &[bool]) -> Vec<Wide> {
        let mut all = vec![];
        for (i, each) in each.iter().enumerate() {
            all.push(if *each {
                let (x, y) = (x[i].each(&mut self.b), y[i].each(&mut self.b));
                Wide::Each(blend(&mut self.b, mask, x, y))
            } else {
                // It is the same whichever way lanes went.
                x[i]
            });
        }
        all
    }

    /// For each region of a choice, the lanes that want it, among others that do not run.
    fn sides(&mut self, inst: &Inst, active: ValueId) -> Vec<ValueId> {
        let value = self.wide(inst.operands[0]).each(&mut self.b);
        if inst.op == Op::If {
            let otherwise = self.b.op(Op::Not, MASK, &[value]);
            return vec![value, otherwise];
        }
        let mut sides = vec![];
        let mut rest = active;
        for cases in inst.cases() {
            let mut side: Option<ValueId> = None;
            for case in cases {
                let case = self.b.constant(inst.element(), case as u64);
                let case = super::lanes::splat(&mut self.b, case);
                let here = self.b.op(Op::MaskEq, self.b.ty(value), &[value, case]);
                side = Some(side.map_or(here, |side| self.b.op(Op::Or, MASK, &[side, here])));
            }
            let side = side.unwrap_or_else(|| super::zero(&mut self.b, MASK));
            rest = without(&mut self.b, rest, side);
            sides.push(side);
        }
        sides.push(rest);
        sides
    }

    /// Whether lanes may leave a region other than by its end.
    pub fn jumps(&self, region: RegionId) -> bool {
        self.old.regions[region].insts.iter().any(|id| {
            let inst = &self.old.insts[*id];
            match inst.op {
                Op::Return | Op::Tail | loop_jumps!() => true,
                Op::Loop => inst.regions.iter().any(|region| self.returns(*region)),
                Op::If
                | Op::Switch
                | Op::Call
                | Op::Yield
                | Op::Grid
                | Op::TrapIf
                | Op::Fork
                | Op::Join
                | arithmetic!()
                | of_kernels!()
                | girih_ir::tile_operations!()
                | memory!()
                | cells!()
                | masks!()
                | aggregates!() => inst.regions.iter().any(|region| self.jumps(*region)),
            }
        })
    }
    /// Whether lanes may leave the function in a region.
    pub fn returns(&self, region: RegionId) -> bool {
        let mut found = false;
        self.old.walk(region, &mut |_, inst| found |= inst.op.leaves_function());
        found
    }

    /// `return`.
    fn leave(&mut self, operands: &[ValueId]) -> End {
        let values = self.wides(operands);
        self.leave_with(&values)
    }
    fn leave_with(&mut self, values: &[Wide]) -> End {
        for (slot, value) in self.results.clone().into_iter().zip(values) {
            let value = value.each(&mut self.b);
            self.leave_behind(slot, value);
        }
        self.state.active = Mask::Nobody;
        End::Jumped
    }

    /// Puts a vector into a slot for the lanes that run.
    pub fn leave_behind(&mut self, slot: Slot, value: ValueId) {
        let value = match (self.state.get(slot), self.state.active) {
            (Some(before), Mask::Where(mask)) => blend(&mut self.b, mask, value, before),
            (Some(before), Mask::Nobody) => before,
            (None, _) => value,
        };
        self.state.put(slot, Some(value));
    }

    /// `tail`.
    fn tail(&mut self, inst: &Inst, last: Option<usize>) -> Result<End, Why> {
        if inst.callee() == Some(self.own) {
            return Ok(self.again(0, &inst.operands, last));
        }
        let values = self.call_values(inst)?;
        Ok(self.leave_with(&values))
    }

    /// `trap_if`.
    fn trap_if(&mut self, inst: &Inst) {
        let Mask::Where(mask) = self.state.active else { return };
        let condition = match self.wide(inst.operands[0]) {
            Wide::Each(wants) => {
                let wants = both(&mut self.b, wants, mask);
                any(&mut self.b, wants)
            }
            Wide::Same(condition) if self.state.someone == Some(mask) => condition,
            Wide::Same(condition) => {
                let someone = any(&mut self.b, mask);
                self.b.op(Op::And, Scalar::Bool, &[condition, someone])
            }
        };
        self.b.op_with(Op::TrapIf, None, &[condition], &inst.attrs);
    }
}
