//! What only few lanes need is computed only if one does.
//!
//! Routines of the math library choose between a common result and one for rare arguments (denormal results of `exp`, say). A number alone computes both,
//! which is cheap. In vectors the rare one is not: shifts by counts that differ between lanes take instructions for each lane. So what serves only the rare result
//! stands in a branch, which is taken if a lane asks for it.
//!
//! Invariant: every lane keeps its bits. What moves into the branch is pure and has no other use.

use super::Made;
use crate::rewrite::{Pass, Rewriter};
use crate::spmd::MASK;
use crate::spmd::lanes::any;
use girih_base::hash::{FastMap, FastSet};
use girih_ir::{Def, Function, Inst, InstId, Op, ValueId};

/// A choice between two vectors by a mask, of which one is computed only if a lane takes it.
struct Choice {
    /// Whether that is the one for lanes of the mask.
    first: bool,
    /// What only that one needs, in order.
    needs: Vec<InstId>,
}

/// The choices of a function, by their results, and the values that move into their branches.
struct RareLanes {
    choices: FastMap<ValueId, Choice>,
    moved: FastSet<ValueId>,
}

/// The function with branches around what is costly and serves one side of a choice.
pub(super) fn run(function: &Function) -> Made<Function> {
    let mut found = RareLanes { choices: FastMap::default(), moved: FastSet::default() };
    found.find(function);
    if found.choices.is_empty() { Ok(function.clone()) } else { Rewriter::run(function, &mut found) }
}

impl RareLanes {
    fn find(&mut self, f: &Function) {
        let mut uses: FastMap<ValueId, u32> = FastMap::default();
        f.walk(f.body, &mut |_, inst| inst.operands.iter().for_each(|value| *uses.entry(*value).or_default() += 1));
        let insts = &f.regions[f.body].insts;
        // The innermost choices first: outer ones are between all that a routine computes and a constant.
        for (position, id) in insts.iter().enumerate() {
            let inst = &f.insts[*id];
            if inst.op != Op::MaskSelect {
                continue;
            }
            for (arm, first) in [(inst.operands[1], true), (inst.operands[2], false)] {
                let needs = self.needs(f, &insts[..position], arm, &uses);
                if needs.iter().any(|id| is_costly(f, &f.insts[*id])) {
                    self.moved.extend(needs.iter().map(|id| f.insts[*id].results[0]));
                    self.choices.insert(inst.results[0], Choice { first, needs });
                    break;
                }
            }
        }
    }

    /// What among some instructions serves nothing but one use of a value.
    fn needs(&self, f: &Function, before: &[InstId], value: ValueId, uses: &FastMap<ValueId, u32>) -> Vec<InstId> {
        let mut served: FastMap<ValueId, u32> = FastMap::default();
        served.insert(value, 1);
        let mut needs = vec![];
        for id in before.iter().rev() {
            let inst = &f.insts[*id];
            let [result] = inst.results[..] else { continue };
            let alone = served.get(&result).is_some_and(|served| uses.get(&result) == Some(served));
            let alone = alone && !self.choices.contains_key(&result);
            if alone && inst.op.is_pure() && inst.regions.is_empty() && !self.moved.contains(&result) {
                inst.operands.iter().for_each(|operand| *served.entry(*operand).or_default() += 1);
                needs.push(*id);
            }
        }
        needs.reverse();
        needs
    }
}

/// Whether an instruction is a shift by counts that differ between lanes.
fn is_costly(f: &Function, inst: &Inst) -> bool {
    let splat = |value: ValueId| match f.values[value].def {
        Def::Result(id, _) => f.insts[id].op == Op::Splat,
        Def::Param(_) | Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => false,
    };
    matches!(inst.op, Op::Shl | Op::Shr) && !splat(inst.operands[1])
}

impl Pass for RareLanes {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<Option<Vec<Vec<ValueId>>>> {
        let [result] = inst.results[..] else { return Ok(None) };
        if self.moved.contains(&result) {
            return Ok(Some(vec![vec![]]));
        }
        let Some(Choice { first, needs }) = self.choices.remove(&result) else { return Ok(None) };
        let ty = r.old.ty(result);
        let mask = r.value(self, inst.operands[0]);
        let rare = if first { mask } else { r.out.op(Op::Not, MASK, &[mask]) };
        let condition = any(&mut r.out, rare);
        let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
        let outer = std::mem::replace(&mut r.out.region, then);
        for id in needs {
            let need = &r.old.insts[id];
            let copy = r.copy(self, need)?;
            let value = r.out.function.insts[copy].results[0];
            r.set(need.results[0], &[value]);
        }
        let arms = [1, 2].map(|arm| r.value(self, inst.operands[arm]));
        let chosen = r.out.op(Op::MaskSelect, ty, &[mask, arms[0], arms[1]]);
        r.out.end(Op::Yield, &[chosen]);
        r.out.region = otherwise;
        r.out.end(Op::Yield, &[arms[usize::from(first)]]);
        r.out.region = outer;
        let mut branch = Inst::new(Op::If, None, &[condition], inst.span);
        branch.regions.extend([then, otherwise]);
        let id = r.out.push(branch, &[ty]);
        Ok(Some(vec![vec![r.out.function.insts[id].results[0]]]))
    }
}
