//! Loops and branches that carry tiles.
//!
//! A tile that is carried has an array from before the loop or branch until after it. A jump computes what it gives into that array: straight away if the old
//! elements are read only where they are replaced, otherwise into an array beside it first.

use super::super::predication::where_it_holds;
use super::super::region_exits::{RegionExit, targets};
use super::{Array, LoopNest, Made, is_tile, tile};
use crate::rewrite::{Pass, Rewriter};
use girih_ir::{Def, Function, Inst, InstId, Op, Regions, Type, ValueId};

impl LoopNest<'_> {
    /// `if`, `switch`, `loop`.
    pub(super) fn branch_or_loop(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<Vec<Vec<ValueId>>> {
        if self.enclosing.iter().any(|exit| matches!(exit, RegionExit::Element)) {
            return self.on_numbers(r, inst);
        }
        self.settle(r, None)?;
        for result in inst.results.iter().filter(|v| is_tile(r.old, **v)) {
            let (element, shape) = tile(r, *result);
            let array = self.array(r, element, shape);
            self.arrays.insert(*result, array);
        }
        let exit = if inst.op == Op::Loop {
            let params = r.old.regions[inst.regions[0]].params.clone();
            for ((param, value), result) in params.iter().zip(&inst.operands).zip(0..) {
                if !is_tile(r.old, *param) {
                    continue;
                }
                // What a loop ends with is what it carried last, unless it ends by `break` with something else.
                let same = inst.results.get(result).filter(|v| r.old.ty(**v) == r.old.ty(*param));
                let array = match same.and_then(|v| self.arrays.get(v)) {
                    Some(array) => *array,
                    None => {
                        let (element, shape) = tile(r, *param);
                        self.array(r, element, shape)
                    }
                };
                self.fill(r, array, *value)?;
                self.arrays.insert(*param, array);
            }
            RegionExit::Loop { params, results: inst.results.to_vec(), carries_all: true }
        } else {
            RegionExit::Branch(inst.results.to_vec())
        };
        self.enclosing.push(exit);
        let written = self.regions(r, inst);
        self.enclosing.pop();
        let mut new =
            Inst { attrs: inst.attrs.clone(), regions: written?, ..Inst::new(inst.op, inst.ty, &[], inst.span) };
        for operand in &inst.operands {
            new.operands.push(r.value(self, *operand));
        }
        let types: Vec<Type> = inst.results.iter().map(|v| self.types(r.old.ty(*v)).0).collect();
        let id = r.out.push(new, &types);
        Ok(results(r, id))
    }

    /// The regions of a branch or loop. An array that is made in one of them is not there outside.
    fn regions(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<Regions> {
        let mut regions = Regions::new();
        for region in &inst.regions {
            let before = self.arrays.clone();
            let written = r.inner(self, *region);
            self.arrays = before;
            self.pending.clear();
            regions.push(written?);
        }
        Ok(regions)
    }

    /// The same in a region on elements, which has no tiles.
    fn on_numbers(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<Vec<Vec<ValueId>>> {
        self.enclosing.push(if inst.op == Op::Loop {
            RegionExit::Loop { params: vec![], results: vec![], carries_all: true }
        } else {
            RegionExit::Branch(vec![])
        });
        let written = r.copy(self, inst);
        self.enclosing.pop();
        Ok(results(r, written?))
    }

    /// `yield`, `break`, `continue`, `while`.
    pub(super) fn jump(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<Option<Vec<Vec<ValueId>>>> {
        if let (Op::Yield, Some(RegionExit::Element)) = (inst.op, self.enclosing.last()) {
            self.yielded = inst.operands.iter().map(|v| r.value(self, *v)).collect();
            return Ok(Some(vec![]));
        }
        let targets: Vec<(ValueId, Array)> = targets(&self.enclosing, inst)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|(value, to)| Some((value, *self.arrays.get(&to)?)))
            .filter(|(value, array)| self.arrays.get(value) != Some(array))
            .collect();
        if targets.is_empty() {
            return Ok(None);
        }
        let condition = if inst.op == Op::While { Some(r.value(self, inst.operands[0])) } else { None };
        let mut done = Ok(());
        let before = self.arrays.clone();
        where_it_holds(r, condition, |r| done = self.give(r, &targets));
        if condition.is_some() {
            // What was computed under the condition is not there beside it.
            self.arrays = before;
        }
        done.map(|()| None)
    }

    /// Computes tiles into arrays, all from what the arrays held before.
    fn give(&mut self, r: &mut Rewriter<'_>, targets: &[(ValueId, Array)]) -> Made<()> {
        let (mut copies, mut direct) = (vec![], vec![]);
        for (value, array) in targets {
            let others: Vec<Array> = targets.iter().map(|(_, other)| *other).filter(|other| other != array).collect();
            let alone = targets.iter().all(|(v, to)| to == array || !self.reads(r.old, *v, *array));
            let apart = !others.iter().any(|other| self.reads(r.old, *value, *other));
            if alone && apart && self.reads_in_place(r.old, *value, *array) {
                direct.push((*value, *array));
                continue;
            }
            let aside = self.array(r, array.element, array.shape);
            self.fill(r, aside, *value)?;
            copies.push((aside, *array));
        }
        for (value, array) in direct {
            self.fill(r, array, value)?;
        }
        for (aside, array) in copies {
            self.copy(r, aside, array)?;
        }
        self.pending.clear();
        Ok(())
    }

    /// Whether computing a value reads an array, or could.
    fn reads(&self, f: &Function, value: ValueId, array: Array) -> bool {
        if !is_tile(f, value) {
            return false;
        }
        if let Some(own) = self.arrays.get(&value) {
            return *own == array;
        }
        let Def::Result(id, _) = f.values[value].def else { return true };
        f.insts[id].operands.iter().any(|operand| self.reads(f, *operand, array))
    }

    /// Whether computing an element of a value reads that element of an array and no other one.
    fn reads_in_place(&self, f: &Function, value: ValueId, array: Array) -> bool {
        if !is_tile(f, value) || self.arrays.contains_key(&value) {
            return true;
        }
        let Def::Result(id, _) = f.values[value].def else { return false };
        let inst = &f.insts[id];
        let in_place = inst.op.lifts() || matches!(inst.op, Op::TileMap | Op::TileHint);
        inst.operands.iter().all(|operand| {
            if in_place { self.reads_in_place(f, *operand, array) } else { !self.reads(f, *operand, array) }
        })
    }
}

/// The results of an instruction that has been written.
fn results(r: &Rewriter<'_>, id: InstId) -> Vec<Vec<ValueId>> {
    r.out.function.insts[id].results.iter().map(|v| vec![*v]).collect()
}
