//! One exit: a function whose only `return` is the last instruction of its body, so that it can be copied into a caller.
//!
//! Outside loops, the code after a construct that may return moves into the `else` of a test of whether it did. Inside a
//! loop, a `return` becomes a `break` that carries a flag and the results; the loop's user tests the flag.

use crate::rewrite::{Compact, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::not_control;
use girih_ir::{Builder, Function, Inst, InstId, Op, RegionId, Regions, Type, ValueId, Values};

/// Whether the only `return` ends the body.
pub(super) fn holds(function: &Function) -> bool {
    !function.regions[function.body].insts.iter().any(|id| may_return(function, &function.insts[*id]))
}

/// Rewrites a function to one exit.
pub(super) fn run(function: &Function) -> Result<Function, Diagnostic> {
    let exit = SingleExit { results: function.results.clone() };
    let mut r = Rewriter::begin(function, &mut Compact)?;
    let insts = &function.regions[function.body].insts;
    let values = exit.open(&mut r, insts)?;
    if let Some(values) = values {
        r.out.end(Op::Return, &values);
    }
    Ok(r.out.function)
}

/// Whether a construct holds a `return`.
fn may_return(function: &Function, inst: &Inst) -> bool {
    let mut found = false;
    for region in &inst.regions {
        function.walk(*region, &mut |_, inner| found |= inner.op == Op::Return);
    }
    found
}

struct SingleExit {
    results: Vec<Type>,
}

/// The innermost loop that may return.
struct Around<'a> {
    /// What it gave before flag and results were added.
    results: &'a [Type],
    /// Its parameters, which `while` gives when it ends.
    params: &'a [ValueId],
}

impl SingleExit {
    /// Copies instructions that stand outside of all loops. Gives the function's results if they end by `return`;
    /// otherwise the last instruction was a `yield`, and its operands are given.
    fn open(&self, r: &mut Rewriter<'_>, insts: &[InstId]) -> Result<Option<Vec<ValueId>>, Diagnostic> {
        for (i, id) in insts.iter().enumerate() {
            let inst = &r.old.insts[*id];
            r.out.span = inst.span;
            if matches!(inst.op, Op::Return | Op::Yield) {
                return Ok(Some(r.operands(inst).to_vec()));
            }
            if !may_return(r.old, inst) {
                r.copy(&mut Compact, inst)?;
                continue;
            }
            let (returned, values) = self.construct(r, inst, None)?;
            return self.follow(r, returned, values, &insts[i + 1..]).map(Some);
        }
        Ok(None)
    }

    /// `if returned { its values } else { the rest }`, for a rest that ends by `return`.
    fn follow(
        &self,
        r: &mut Rewriter<'_>,
        returned: ValueId,
        values: Vec<ValueId>,
        rest: &[InstId],
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
        r.out.within(then, |b| b.end(Op::Yield, &values));
        let outer = std::mem::replace(&mut r.out.region, otherwise);
        let values = self.open(r, rest)?;
        r.out.end(Op::Yield, &values.unwrap_or_default());
        r.out.region = outer;
        let mut inst = Inst::new(Op::If, None, &[returned], r.out.span);
        inst.regions.extend([then, otherwise]);
        let id = r.out.push(inst, &self.results);
        Ok(r.out.function.insts[id].results.to_vec())
    }

    /// Copies a construct that may return; gives the flag and the function's results.
    fn construct(
        &self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        around: Option<&Around<'_>>,
    ) -> Result<(ValueId, Vec<ValueId>), Diagnostic> {
        let own: Vec<Type> = inst.results.iter().map(|v| r.old.ty(*v)).collect();
        let mut types = own.clone();
        types.push(Type::BOOL);
        types.extend(&self.results);
        let mut new =
            Inst { operands: r.operands(inst), results: Values::new(), regions: Regions::new(), ..inst.clone() };
        for region in &inst.regions {
            let copy = r.out.new_region(&[]);
            r.arguments(&mut Compact, *region, copy);
            let outer = std::mem::replace(&mut r.out.region, copy);
            let params = r.out.function.regions[copy].params.clone();
            if inst.op == Op::Loop {
                self.inside(r, *region, &Around { results: &own, params: &params })?;
            } else {
                debug_assert!(around.is_none(), "arms inside of loops are copied by `inside`");
                self.arm(r, *region, &own)?;
            }
            r.out.region = outer;
            new.regions.push(copy);
        }
        let id = r.out.push(new, &types);
        let results = r.out.function.insts[id].results.clone();
        for (old, new) in inst.results.iter().zip(&results) {
            r.set(*old, &[*new]);
        }
        Ok((results[own.len()], results[own.len() + 1..].to_vec()))
    }

    /// Copies an arm outside of loops: it yields its own values, the flag, the function's results.
    fn arm(&self, r: &mut Rewriter<'_>, region: RegionId, own: &[Type]) -> Result<(), Diagnostic> {
        let insts = &r.old.regions[region].insts;
        self.arm_rest(r, insts, own)
    }

    fn arm_rest(&self, r: &mut Rewriter<'_>, insts: &[InstId], own: &[Type]) -> Result<(), Diagnostic> {
        for (i, id) in insts.iter().enumerate() {
            let inst = &r.old.insts[*id];
            r.out.span = inst.span;
            if inst.op == Op::Return {
                let values = r.operands(inst);
                let yielded = returned(&mut r.out, own, &values);
                r.out.end(Op::Yield, &yielded);
            } else if inst.op == Op::Yield {
                let mut yielded = r.operands(inst);
                yielded.extend(stayed(&mut r.out, &self.results));
                r.out.end(Op::Yield, &yielded);
            } else if may_return(r.old, inst) {
                let (flag, values) = self.construct(r, inst, None)?;
                return self.arm_follow(r, flag, &values, &insts[i + 1..], own);
            } else {
                r.copy(&mut Compact, inst)?;
            }
        }
        Ok(())
    }

    fn arm_follow(
        &self,
        r: &mut Rewriter<'_>,
        flag: ValueId,
        values: &[ValueId],
        rest: &[InstId],
        own: &[Type],
    ) -> Result<(), Diagnostic> {
        let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
        r.out.within(then, |b| {
            let yielded = returned(b, own, values);
            b.end(Op::Yield, &yielded);
        });
        let outer = std::mem::replace(&mut r.out.region, otherwise);
        self.arm_rest(r, rest, own)?;
        r.out.region = outer;
        let mut inst = Inst::new(Op::If, None, &[flag], r.out.span);
        inst.regions.extend([then, otherwise]);
        let types: Vec<Type> = own.iter().chain(&[Type::BOOL]).chain(&self.results).copied().collect();
        let id = r.out.push(inst, &types);
        let results = r.out.function.insts[id].results.clone();
        r.out.end(Op::Yield, &results);
        Ok(())
    }

    /// Copies a region inside of a loop that may return: the loop's body, or an arm in it.
    fn inside(&self, r: &mut Rewriter<'_>, region: RegionId, around: &Around<'_>) -> Result<(), Diagnostic> {
        let old = r.old;
        for id in &old.regions[region].insts {
            let inst = &old.insts[*id];
            r.out.span = inst.span;
            match inst.op {
                Op::Return => {
                    let values = r.operands(inst);
                    let broken = returned(&mut r.out, around.results, &values);
                    r.out.end(Op::Break, &broken);
                }
                Op::Break => {
                    let mut broken = r.operands(inst);
                    broken.extend(stayed(&mut r.out, &self.results));
                    r.out.end(Op::Break, &broken);
                }
                Op::While => self.while_inside(r, inst, around),
                Op::Loop if may_return(old, inst) => {
                    let (flag, values) = self.construct(r, inst, Some(around))?;
                    let leave = |b: &mut Builder| {
                        let broken = returned(b, around.results, &values);
                        b.end(Op::Break, &broken);
                    };
                    r.out.if_else(flag, &[], leave, |b| b.end(Op::Yield, &[]));
                }
                Op::If | Op::Switch => self.arms_inside(r, inst, around)?,
                Op::Loop | Op::Call | Op::Yield | Op::Continue | Op::Grid | Op::TrapIf | not_control!() => {
                    r.copy(&mut Compact, inst)?;
                }
            }
        }
        Ok(())
    }

    /// An `if` or `switch` in such a loop: its arms may break out of the loop, whose values have changed.
    fn arms_inside(&self, r: &mut Rewriter<'_>, inst: &Inst, around: &Around<'_>) -> Result<(), Diagnostic> {
        let mut new =
            Inst { operands: r.operands(inst), results: Values::new(), regions: Regions::new(), ..inst.clone() };
        for region in &inst.regions {
            let copy = r.out.new_region(&[]);
            let outer = std::mem::replace(&mut r.out.region, copy);
            self.inside(r, *region, around)?;
            r.out.region = outer;
            new.regions.push(copy);
        }
        let types: Vec<Type> = inst.results.iter().map(|v| r.old.ty(*v)).collect();
        let id = r.out.push(new, &types);
        for (old, new) in inst.results.iter().zip(r.out.function.insts[id].results.clone()) {
            r.set(*old, &[new]);
        }
        Ok(())
    }

    fn while_inside(&self, r: &mut Rewriter<'_>, inst: &Inst, around: &Around<'_>) {
        let operands = r.operands(inst);
        let results = self.results.clone();
        let params = around.params.to_vec();
        let leave = |b: &mut Builder| {
            let mut broken = params;
            broken.extend(stayed(b, &results));
            b.end(Op::Break, &broken);
        };
        r.out.if_else(operands[0], &[], |b| b.end(Op::Yield, &[]), leave);
        r.out.end(Op::Continue, &operands[1..]);
    }
}

/// What a construct gives when the function has returned: zeros for its own values, the flag, the results.
fn returned(b: &mut Builder, own: &[Type], values: &[ValueId]) -> Vec<ValueId> {
    let mut all: Vec<ValueId> = own.iter().map(|ty| b.zero(*ty)).collect();
    all.push(b.bool(true));
    all.extend(values);
    all
}

/// What a construct adds to its own values when the function has not returned.
fn stayed(b: &mut Builder, results: &[Type]) -> Vec<ValueId> {
    let mut all = vec![b.bool(false)];
    all.extend(results.iter().map(|ty| b.zero(*ty)));
    all
}
