//! Which values may differ between the lanes that run.
//!
//! All lanes that are in a loop have made the same number of iterations. So a value that the loop carries is the same for them if it starts the same and
//! each iteration changes it in the same way, although lanes leave at different times. The values with which they leave then differ.

use girih_base::idx::IndexVec;
use girih_ir::groups::{aggregates, arithmetic, cells, masks, memory, of_kernels};
use girih_ir::{Function, FunctionId, Inst, Op, RegionId, ValueId};

/// Which values of a function differ between lanes if these parameters do. `own` is the function's number: a tail call of itself is a
/// jump to its start.
pub(super) fn varying(function: &Function, own: FunctionId, params: &[bool]) -> IndexVec<ValueId, bool> {
    let mut varies: IndexVec<ValueId, bool> = function.values.iter().map(|_| false).collect();
    for (param, differs) in function.params.iter().zip(params) {
        varies[*param] = *differs;
    }
    let mut walk = Walk { function, own, varies, changed: true, levels: vec![], yields: vec![] };
    while std::mem::take(&mut walk.changed) {
        walk.levels.push(Level::default());
        walk.region(function.body);
        if let Some(level) = walk.levels.pop() {
            walk.carried(&function.params, &level);
        }
    }
    walk.varies
}

/// A loop, or the function as the outermost one.
#[derive(Default)]
struct Level {
    /// Whether only some of its lanes come here.
    some: bool,
    /// What each jump to the next round gives.
    rounds: Vec<Vec<ValueId>>,
    /// Whether only some lanes make one of these jumps, or leave.
    apart: bool,
    /// What lanes leave with.
    exits: Vec<Vec<ValueId>>,
}

struct Walk<'f> {
    function: &'f Function,
    own: FunctionId,
    varies: IndexVec<ValueId, bool>,
    changed: bool,
    levels: Vec<Level>,
    /// What the regions of the choices around yield.
    yields: Vec<Vec<Vec<ValueId>>>,
}

impl Walk<'_> {
    fn mark(&mut self, value: ValueId, differs: bool) {
        if differs && !self.varies[value] {
            self.varies[value] = true;
            self.changed = true;
        }
    }
    fn any(&self, values: &[ValueId]) -> bool {
        values.iter().any(|v| self.varies[*v])
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        for id in &function.regions[region].insts {
            self.inst(&function.insts[*id]);
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match inst.op {
            Op::If | Op::Switch => self.choice(inst),
            Op::Loop => self.repeat(inst),
            Op::Yield => {
                if let Some(yields) = self.yields.last_mut() {
                    yields.push(inst.operands.to_vec());
                }
            }
            Op::Continue => self.round(inst.operands.to_vec()),
            Op::Break => self.exit(inst.operands.to_vec()),
            Op::While => {
                let differs = self.varies[inst.operands[0]];
                self.round(inst.operands[1..].to_vec());
                if let Some(level) = self.levels.last_mut() {
                    level.apart |= differs;
                }
            }
            Op::Tail if inst.callee() == Some(self.own) => {
                if let Some(level) = self.levels.first_mut() {
                    level.rounds.push(inst.operands.to_vec());
                    level.apart |= level.some;
                }
            }
            Op::Return | Op::Tail => {}
            Op::Call
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
            | aggregates!() => {
                let differs = self.any(&inst.operands);
                inst.results.iter().for_each(|result| self.mark(*result, differs));
            }
        }
    }

    fn round(&mut self, given: Vec<ValueId>) {
        if let Some(level) = self.levels.last_mut() {
            level.rounds.push(given);
            level.apart |= level.some;
        }
    }
    fn exit(&mut self, given: Vec<ValueId>) {
        if let Some(level) = self.levels.last_mut() {
            level.exits.push(given);
            level.apart |= level.some;
        }
    }

    /// Something that only some lanes may come to.
    fn partly(&mut self, some: bool, walk: impl FnOnce(&mut Self)) {
        let before: Vec<bool> = self.levels.iter().map(|level| level.some).collect();
        self.levels.iter_mut().for_each(|level| level.some |= some);
        walk(self);
        self.levels.iter_mut().zip(before).for_each(|(level, before)| level.some = before);
    }

    fn choice(&mut self, inst: &Inst) {
        let differs = self.varies[inst.operands[0]];
        self.yields.push(vec![]);
        self.partly(differs, |walk| inst.regions.iter().for_each(|region| walk.region(*region)));
        let yields = self.yields.pop().unwrap_or_default();
        for (i, result) in inst.results.iter().enumerate() {
            let apart = differs && yields.len() > 1;
            let differs = apart || yields.iter().any(|values| self.varies[values[i]]);
            self.mark(*result, differs);
        }
    }

    fn repeat(&mut self, inst: &Inst) {
        let params = &self.function.regions[inst.regions[0]].params;
        for (param, initial) in params.iter().zip(&inst.operands) {
            let differs = self.varies[*initial];
            self.mark(*param, differs);
        }
        // Lanes come to what stands in a loop at different times, as seen from outside.
        let mut inner = None;
        self.partly(true, |walk| {
            walk.levels.push(Level::default());
            walk.region(inst.regions[0]);
            inner = walk.levels.pop();
        });
        let Some(mut level) = inner else { return };
        self.carried(params, &level);
        // `while` leaves with what the loop carries.
        if level.exits.iter().all(|exit| exit.len() == inst.results.len()) && params.len() == inst.results.len() {
            level.exits.push(params.clone());
        }
        for (i, result) in inst.results.iter().enumerate() {
            let differs = level.apart || level.exits.iter().any(|values| self.varies[values[i]]);
            self.mark(*result, differs);
        }
    }

    /// What a level carries from round to round.
    fn carried(&mut self, params: &[ValueId], level: &Level) {
        for (i, param) in params.iter().enumerate() {
            let mut given = level.rounds.iter().map(|values| values[i]);
            let first = given.next();
            let apart = level.apart && given.any(|value| Some(value) != first);
            let differs = apart || level.rounds.iter().any(|values| self.varies[values[i]]);
            self.mark(*param, differs);
        }
    }
}
