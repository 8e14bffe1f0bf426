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
pub(super) struct Liveness {
    /// Behind each instruction that code may be gone on with behind, its results apart.
    behind: FastMap<InstId, Values>,
    /// At the beginning of each loop's next iteration, what it carries apart.
    heads: FastMap<InstId, Values>,
}

impl Liveness {
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

#[cfg(test)]
mod tests {
    use super::*;
    use girih_base::span::Span;
    use girih_ir::{Module, text};

    /// A function of a text, and its first call of `@f`, `@g` and so on by their names.
    fn function(text: &str) -> (Module, Function) {
        let module = text::parse(Span::NONE.source, text).expect("it is right").module;
        let function = module.functions.iter().last().expect("there is one").clone();
        (module, function)
    }
    fn named(function: &Function, values: &[ValueId]) -> Vec<String> {
        values.iter().map(|v| function.values[*v].name.as_deref().unwrap_or("").to_owned()).collect()
    }
    /// What is live behind the first call of a function.
    fn behind(text: &str, callee: &str) -> Vec<String> {
        let (module, function) = function(text);
        let mut found = None;
        function.walk(function.body, &mut |id, inst| {
            let is_it = inst.callee().is_some_and(|callee_id| module.functions[callee_id].name == callee);
            found = found.or(is_it.then_some(id));
        });
        named(&function, &Liveness::of(&function).behind(found.expect("it is called")))
    }

    const CALLEES: &str = "\
fn @f(%x: u32) -> u32 {
  return %x
}
fn @g(%x: u32) -> u32 {
  return %x
}
";

    #[test]
    fn an_arm_that_ends_its_loop_needs_nothing_of_what_comes_behind_the_choice() {
        let text = format!(
            "{CALLEES}
fn @loops(%n: u32, %after: u32) -> u32 {{
  %sum: u32 = loop (%i: u32 = %n, %a: u32 = 0) {{
    if (eq.u32 %i, 0) {{
      %last = call @f(%a)
      break %last
    }}
    %next = call @g(%a)
    continue (sub.u32 %i, 1), (add.u32 %next, %a)
  }}
  return (add.u32 %sum, %after)
}}
"
        );
        assert_eq!(behind(&text, "f"), ["after"]);
        assert_eq!(behind(&text, "g"), ["after", "i", "a"]);
    }

    #[test]
    fn the_next_iteration_needs_what_this_one_used() {
        let text = format!(
            "{CALLEES}
fn @loops(%n: u32, %step: u32) -> u32 {{
  %sum: u32 = loop (%i: u32 = %n, %a: u32 = 0) {{
    %by = add.u32 %a, %step
    %next = call @f(%by)
    if (eq.u32 %i, 0) {{
      %last = call @g(%next)
      break %last
    }}
    continue (sub.u32 %i, 1), %next
  }}
  return %sum
}}
"
        );
        assert_eq!(behind(&text, "f"), ["step", "i"]);
        assert!(behind(&text, "g").is_empty());
    }
}
