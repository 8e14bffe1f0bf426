//! Calls: of a version, with the mask of the lanes that run; of the function itself, once if its arguments are the same in all lanes and lane
//! by lane if it cannot be vectorised; or no call at all, if the function is short.

use super::control::VersionWriter;
use super::lanes::{Wide, any};
use super::state::Mask;
use super::varying::varying;
use super::{LANES, MASK, Why, vectorised, zero};
use girih_ir::groups::{jumps, not_control, regions};
use girih_ir::ops::Family;
use girih_ir::{Builder, Function, FunctionId, Inst, Op, Scalar, Type, ValueId};

/// Instructions of a function that is written wherever it is called.
const SHORT: usize = 48;

impl VersionWriter<'_, '_> {
    /// `call`.
    pub(super) fn call(&mut self, inst: &Inst) -> Result<(), Why> {
        let values = self.call_values(inst)?;
        inst.results.iter().zip(values).for_each(|(result, wide)| self.map[*result] = Some(wide));
        Ok(())
    }

    /// What a call gives.
    pub(super) fn call_values(&mut self, inst: &Inst) -> Result<Vec<Wide>, Why> {
        let Some(id) = inst.callee() else { return Err(self.why("a call of nothing", inst)) };
        let callee = &self.versions.module.functions[id];
        let given = self.wides(&inst.operands);
        let varies: Vec<bool> = given.iter().map(|wide| wide.differs()).collect();
        let takes_words = callee.params.iter().map(|v| callee.ty(*v)).chain(callee.results.iter().copied());
        if takes_words.into_iter().any(|ty| vectorised(ty).is_none()) {
            return Err(self.why(&format!("a call of `@{}`, which is not of 32-bit numbers alone", callee.name), inst));
        }
        if !varies.contains(&true) {
            let given: Vec<ValueId> = inst.operands.iter().map(|v| self.same(*v)).collect();
            let results = self.call_plain(id, &given, None);
            return Ok(results.into_iter().map(Wide::Same).collect());
        }
        if let Err(why) = self.versions.fits(id) {
            return self.lane_by_lane(id, &given).map_err(|()| why);
        }
        if is_short(callee) && !self.versions.facts.recursive[id] {
            return self.inline(id, &given);
        }
        let version = self.versions.version(id, &varies)?;
        Ok(self.call_version(version, id, &given).into_iter().map(Wide::Each).collect())
    }

    fn why(&self, what: &str, inst: &Inst) -> Why {
        Why { function: self.old.name.clone(), what: what.to_owned(), span: inst.span }
    }

    /// Calls a version for the lanes that run; if there are none, a function that calls itself is not called.
    fn call_version(&mut self, version: FunctionId, id: FunctionId, given: &[Wide]) -> Vec<ValueId> {
        let callee = &self.versions.module.functions[id];
        let types: Vec<Type> = callee.results.iter().map(|ty| vectorised(*ty).unwrap_or(*ty)).collect();
        let mask = self.state.mask(&mut self.b);
        let mut arguments = vec![mask];
        for wide in given {
            let each = wide.differs();
            arguments.push(wide.shaped(&mut self.b, each));
        }
        if !self.versions.facts.recursive[id] || self.state.someone == Some(mask) {
            return self.b.call(version, &types, &arguments);
        }
        let condition = any(&mut self.b, mask);
        guarded(&mut self.b, condition, &types, |b| b.call(version, &types, &arguments))
    }

    /// Calls the function itself, if the lane that the condition is of runs; without one if any lane runs, or if calling it cannot be noticed.
    fn call_plain(&mut self, id: FunctionId, given: &[ValueId], wanted: Option<ValueId>) -> Vec<ValueId> {
        let types = self.versions.module.functions[id].results.clone();
        let someone = self.state.someone.is_some_and(|mask| self.state.active == Mask::Where(mask));
        if wanted.is_none() && (someone || self.versions.facts.total[id]) {
            return self.b.call(id, &types, given);
        }
        let condition = wanted.unwrap_or_else(|| {
            let mask = self.state.mask(&mut self.b);
            any(&mut self.b, mask)
        });
        guarded(&mut self.b, condition, &types, |b| b.call(id, &types, given))
    }

    /// Calls a function that cannot be vectorised once for each lane.
    fn lane_by_lane(&mut self, id: FunctionId, given: &[Wide]) -> Result<Vec<Wide>, ()> {
        let callee = &self.versions.module.functions[id];
        if callee.launch.is_some() || !callee.memories.is_empty() {
            return Err(());
        }
        // A test for each lane is quicker than most calls.
        let is_trifle = self.versions.facts.total[id] && is_short(callee) && !calls(callee);
        let mask = self.state.mask(&mut self.b);
        let mut lanes: Vec<Vec<ValueId>> = vec![vec![]; callee.results.len()];
        for lane in 0..u32::from(LANES) {
            let mut arguments = vec![];
            for (wide, param) in given.iter().zip(&callee.params) {
                arguments.push(match wide {
                    Wide::Same(value) => *value,
                    Wide::Each(value) => extract(&mut self.b, *value, lane, callee.ty(*param)),
                });
            }
            let wanted = (!is_trifle).then(|| extract(&mut self.b, mask, lane, Type::BOOL));
            let results = self.call_plain(id, &arguments, wanted);
            lanes.iter_mut().zip(results).for_each(|(lanes, result)| lanes.push(result));
        }
        Ok(lanes.into_iter().map(|lanes| Wide::Each(gather(&mut self.b, &lanes))).collect())
    }

    /// Writes the callee's code, which has no choices, loops or jumps.
    fn inline(&mut self, id: FunctionId, given: &[Wide]) -> Result<Vec<Wide>, Why> {
        let callee = &self.versions.module.functions[id];
        let differs: Vec<bool> = given.iter().map(|wide| wide.differs()).collect();
        let old = std::mem::replace(&mut self.old, callee);
        let varies = std::mem::replace(&mut self.varies, varying(callee, id, &differs));
        let map = std::mem::replace(&mut self.map, callee.values.iter().map(|_| None).collect());
        callee.params.iter().zip(given).for_each(|(param, wide)| self.map[*param] = Some(*wide));
        let results = self.straight();
        self.old = old;
        self.varies = varies;
        self.map = map;
        results
    }

    fn straight(&mut self) -> Result<Vec<Wide>, Why> {
        let old = self.old;
        for id in &old.regions[old.body].insts {
            let inst = &old.insts[*id];
            match inst.op {
                Op::Return => return Ok(self.wides(&inst.operands)),
                Op::Call => self.call(inst)?,
                Op::Grid | Op::TrapIf | not_control!() | jumps!() | regions!() => self.compute(inst)?,
            }
        }
        Ok(vec![])
    }
}

/// Whether a function is a short row of operations and calls.
fn is_short(function: &Function) -> bool {
    let insts = &function.regions[function.body].insts;
    let plain = |inst: &Inst| inst.op.row().family == Family::Scalar || matches!(inst.op, Op::Call | Op::Return);
    insts.len() <= SHORT && insts.iter().all(|id| plain(&function.insts[*id]))
}

/// Whether a function calls others.
fn calls(function: &Function) -> bool {
    function.regions[function.body].insts.iter().any(|id| function.insts[*id].op == Op::Call)
}

/// What `then` gives if the condition holds, else zeros.
fn guarded(
    b: &mut Builder,
    condition: ValueId,
    types: &[Type],
    then: impl FnOnce(&mut Builder) -> Vec<ValueId>,
) -> Vec<ValueId> {
    let called = |b: &mut Builder| {
        let results = then(b);
        b.end(Op::Yield, &results);
    };
    let left_out = |b: &mut Builder| {
        let zeros: Vec<ValueId> = types.iter().map(|ty| zero(b, *ty)).collect();
        b.end(Op::Yield, &zeros);
    };
    b.if_else(condition, types, called, left_out)
}

/// A lane of a vector, as a value of this type.
fn extract(b: &mut Builder, vector: ValueId, lane: u32, ty: Type) -> ValueId {
    let element = b.ty(vector).element().unwrap_or(Scalar::U32);
    let position = b.u32(lane);
    let value = b.op(Op::Extract, element, &[vector, position]);
    if ty != Type::BOOL {
        return value;
    }
    let none = b.u32(0);
    b.op(Op::Ne, Scalar::U32, &[value, none])
}

/// A vector of these numbers, or a mask of these truth values.
fn gather(b: &mut Builder, lanes: &[ValueId]) -> ValueId {
    let ty = b.ty(lanes[0]);
    if ty != Type::BOOL {
        return b.op(Op::Vector, vectorised(ty).unwrap_or(ty), lanes);
    }
    let (ones, none) = (b.u32(u32::MAX), b.u32(0));
    let words: Vec<ValueId> = lanes.iter().map(|lane| b.op(Op::Select, Scalar::U32, &[*lane, ones, none])).collect();
    b.op(Op::Vector, MASK, &words)
}
