//! Liveness: which values the code behind an instruction needs, and which a loop's next iteration needs.
//!
//! A value that is live owns what it names, so what lanes keep over calls is exactly this: one value too many would name memory that has
//! been given away. So an arm that ends its loop or the function needs nothing of what stands behind its choice.
//!
//! Invariant: a value is live if and only if some path from there uses it. Constants never are.

use girih_base::hash::FastMap;
use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, ValueId};
use std::collections::BTreeSet;

type Values = BTreeSet<ValueId>;

/// The live values of a function's points.
#[derive(Default)]
pub struct Liveness {
    /// Behind each instruction that code may be gone on with behind, its results apart.
    behind: FastMap<InstId, Values>,
    /// At the beginning of each loop's next iteration, what it carries apart.
    heads: FastMap<InstId, Values>,
}

impl Liveness {
    /// What is live in a function.
    pub fn of(function: &Function) -> Liveness {
        let mut walk = Walk { function, loops: vec![], found: Liveness::default() };
        walk.region(function.body, &Values::new());
        walk.found
    }
    /// What is needed behind an instruction besides its results, in the order of their numbers.
    pub fn behind(&self, inst: InstId) -> Vec<ValueId> {
        self.behind.get(&inst).into_iter().flatten().copied().collect()
    }
    /// What a loop's iterations need besides what they carry, and what comes behind the loop, in the order of their numbers.
    pub fn head(&self, inst: InstId) -> Vec<ValueId> {
        self.heads.get(&inst).into_iter().flatten().copied().collect()
    }
}

/// A loop around the code that is looked at.
struct Around {
    /// What its next iteration needs, as far as is known.
    head: Values,
    /// What the code behind it needs.
    behind: Values,
    params: Vec<ValueId>,
}

/// A walk through a function, from the end of each region to its beginning.
struct Walk<'f> {
    function: &'f Function,
    loops: Vec<Around>,
    found: Liveness,
}

impl Walk<'_> {
    /// What a region needs if the code behind its `yield` needs this.
    fn region(&mut self, region: RegionId, behind: &Values) -> Values {
        let function = self.function;
        let end = function.terminator(region).map(|inst| inst.op);
        let mut live = match (end, self.loops.last()) {
            (Some(Op::Yield), _) => behind.clone(),
            (Some(Op::Break), Some(around)) => around.behind.clone(),
            (Some(Op::Continue), Some(around)) => around.head.clone(),
            // Its results are what was carried.
            (Some(Op::While), Some(around)) => {
                around.head.iter().chain(&around.behind).chain(&around.params).copied().collect()
            }
            _ends => Values::new(),
        };
        for id in function.regions[region].insts.iter().rev() {
            self.inst(*id, &mut live);
        }
        for param in &function.regions[region].params {
            live.remove(param);
        }
        live
    }

    /// Goes from what is live behind an instruction to what is live before it.
    fn inst(&mut self, id: InstId, live: &mut Values) {
        let function = self.function;
        let inst = &function.insts[id];
        for result in &inst.results {
            live.remove(result);
        }
        if may_be_gone_on_with(inst.op) {
            self.found.behind.insert(id, live.clone());
        }
        match inst.op {
            Op::Loop => *live = self.around(id, inst, live),
            Op::If | Op::Switch => {
                let behind = std::mem::take(live);
                for region in &inst.regions {
                    live.extend(self.region(*region, &behind));
                }
            }
            _others => {
                let behind = live.clone();
                for region in &inst.regions {
                    live.extend(self.region(*region, &behind));
                }
            }
        }
        let is_constant = |value: &ValueId| matches!(function.values[*value].def, Def::Constant(_));
        live.extend(inst.operands.iter().filter(|value| !is_constant(value)));
    }

    /// What is live at a loop's head. No iteration defines what the next one needs from outside, so the second walk finds all.
    fn around(&mut self, id: InstId, inst: &Inst, behind: &Values) -> Values {
        let [body, ..] = inst.regions[..] else { return behind.clone() };
        let params = self.function.regions[body].params.clone();
        let mut head = Values::new();
        for _walk in 0..2 {
            self.loops.push(Around { head, behind: behind.clone(), params: params.clone() });
            head = self.region(body, &Values::new());
            self.loops.pop();
        }
        self.found.heads.insert(id, head.clone());
        head
    }
}

/// Whether there is a point behind such an instruction.
fn may_be_gone_on_with(op: Op) -> bool {
    matches!(op, Op::Call | Op::Fork | Op::Join | Op::GlobalGet | Op::If | Op::Switch | Op::Loop)
}
