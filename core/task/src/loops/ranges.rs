//! Loops over a range of numbers that only put results together become recursion that halves the range, so that its parts run at the same time:
//! `count(n) = is_prime(n) + count(n - 1)`, or a loop that carries the sum.
//!
//! A function is changed if it is one loop ([`form`] looks), which carries
//!
//! - *inductions*, numbers that go up or down by a constant in each iteration,
//! - numbers that stay as they are,
//! - *sums*: what is put together by one associative and commutative operation each, and used for nothing else, and
//! - *chosen* numbers, which go with the largest or smallest of others: the place of a maximum,
//!
//! and which ends when a test compares an induction with a number that stays. Then it is known beforehand how many iterations there are, and where each
//! begins. (Fisher and Ghuloum, *Parallelizing complex scans and reductions*, 1994.) `f` becomes
//!
//! ```text
//! f(i, sum)          = base(i + step * trip, sum + f.range(i, trip))
//! f.range(i, length)  = length <= grain ? the sum of so many iterations
//!                                      : fork f.range(i, length / 2) + f.range(i + step * (length / 2), length - length / 2)
//! ```
//!
//! Invariant: a call gives what it gave. A loop that never ends, because the number that is tested passes by, is left as it is.

mod form;
mod recursion;
mod split;

use form::Form;
use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_ir::{Function, FunctionId, InstId, Module, Op};

/// Instructions of a part, and how many iterations it has at least and at most.
const WORK: usize = 8192;
const FEWEST: u32 = 8;
const MOST: u32 = 1024;
/// Iterations of a part whose body has loops of a length that is not known here.
const LOOPS: u32 = 8;

/// The name of the function of a range's parts.
pub fn name(function: &str) -> String {
    format!("{function}.range")
}

/// Changes all functions of which that is true.
pub fn ranges(module: &mut Module) {
    let forms: Vec<(FunctionId, Form)> =
        module.functions.ids().filter_map(|id| Some((id, Form::of(&module.functions[id], id)?))).collect();
    let weights = Weights::of(module, &forms);
    for (id, form) in forms {
        let grain = weights.grain(&form.function, form.around);
        let mut wanted = name(&module.functions[id].name);
        while module.find(&wanted).is_some() {
            wanted.push('2');
        }
        let part = module.functions.next_id();
        module.functions[id] = split::whole(&module.functions[id], &form, part);
        module.functions.push(split::part(form, (part, &wanted), grain));
    }
}

/// How much work calls are.
struct Weights {
    /// Functions that take long: they call themselves, make tasks, or will be split here.
    long: IndexVec<FunctionId, bool>,
    /// Functions that have loops, or call such.
    loops: IndexVec<FunctionId, bool>,
}

impl Weights {
    fn of(module: &Module, forms: &[(FunctionId, Form)]) -> Weights {
        let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
        let mut long = cycles::on_cycle(&edges);
        let mut loops: IndexVec<FunctionId, bool> = module.functions.iter().map(|f| has(f, &[Op::Loop])).collect();
        for (id, function) in module.functions.iter_enumerated() {
            long[id] |= has(function, &[Op::Fork]);
        }
        forms.iter().for_each(|(id, _)| long[*id] = true);
        let mut changed = true;
        while changed {
            changed = false;
            for (id, called) in edges.iter_enumerated() {
                for set in [&mut long, &mut loops] {
                    let is_new = !set[id] && called.iter().any(|callee| set[*callee]);
                    changed |= is_new;
                    set[id] |= is_new;
                }
            }
        }
        Weights { long, loops }
    }

    /// How many iterations of a loop are one task.
    fn grain(&self, function: &Function, around: InstId) -> u32 {
        let body = function.insts[around].regions[0];
        let (mut count, mut is_long, mut has_loops) = (0, false, false);
        function.walk(body, &mut |_, inst| {
            count += 1;
            has_loops |= inst.op == Op::Loop;
            is_long |= inst.op == Op::Fork;
            if let Some(callee) = inst.callee() {
                is_long |= self.long[callee];
                has_loops |= self.loops[callee];
            }
        });
        match (is_long, has_loops) {
            (true, _) => 1,
            (false, true) => LOOPS,
            (false, false) => ((WORK / usize::max(count, 1)) as u32).clamp(FEWEST, MOST).next_power_of_two(),
        }
    }
}

fn has(function: &Function, ops: &[Op]) -> bool {
    let mut found = false;
    function.walk(function.body, &mut |_, inst| found |= ops.contains(&inst.op));
    found
}
