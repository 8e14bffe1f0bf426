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
//! f(i, sum)                 = base(i + step * trip, sum + f.range(i, trip, level))
//! f.range(i, length, level) = level == 0 ? the sum of so many iterations
//!                                        : fork f.range(i, length / 2, level - 1)
//!                                            + f.range(i + step * (length / 2), length - length / 2, level - 1)
//! ```
//!
//! All parts of a range are as deep, and the level alone decides what a part does: so the parts of one level are instances of one step of a device
//! ([`flatten`](crate::flatten)), whether or not they are of one length. A part of one iteration that makes calls has no level; its range is cut at a power of
//! two, so that few of its parts differ in length.
//!
//! A range in a range need not be cut if the outer one has many iterations: there are two kinds of parts then, and how many iterations there are decides
//! between them ([`inner`]).
//!
//! Invariant: a call gives what it gave. A loop that never ends, because the number that is tested passes by, is left as it is.

mod form;
mod inner;
mod recursion;
mod split;

use form::Form;
use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_ir::{Function, FunctionId, Module, Op};

/// Instructions of a part, and how many iterations it has at least and at most, as binary logarithms.
const WORK: u32 = 13;
const FEWEST: u32 = 3;
const MOST: u32 = 10;
/// Iterations of a part whose body has loops of a length that is not known here, likewise; and of one of a lane: what its loops take is more even then than
/// what each takes.
const LOOPS: u32 = 3;
const LOOPS_OF_LANE: u32 = 6;
/// Parts of a range that lanes shall have before parts become longer, likewise.
const LANES: u32 = 16;
/// How many iterations are enough, so that ranges inside of one need not be cut, for threads and for lanes.
const MANY: u32 = 1 << 11;
const MANY_FOR_LANES: u32 = 1 << 14;

/// How many iterations are one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grain {
    /// One, which makes calls that are worth tasks of their own.
    One,
    /// 2^`most` at most, but as few as 2^`least` as long as there are fewer parts than 2^[`LANES`].
    Many { least: u32, most: u32 },
}

/// The name of the function of a range's parts.
pub fn name(function: &str) -> String {
    format!("{function}.range")
}

/// Changes all functions of which that is true, for lanes of a device or for threads.
pub fn ranges(module: &mut Module, for_lanes: bool) {
    let forms: Vec<(FunctionId, Form)> =
        module.functions.ids().filter_map(|id| Some((id, Form::of(&module.functions[id], id)?))).collect();
    let weights = Weights::of(module, &forms);
    let mut inner = inner::Loops::default();
    let around: Vec<Option<Form>> = forms.iter().map(|(_, form)| inner.stay_in(module, &forms, form)).collect();
    for ((id, form), around) in forms.into_iter().zip(around) {
        let grain = weights.grain(id, &form, for_lanes);
        let (part, other) = (module.functions.next_id(), FunctionId::new(module.functions.len() as u32 + 1));
        let mut parts = vec![split::Parts { part, grain, least: 0 }];
        if around.is_some() {
            let grain = weights.uneven(id, for_lanes);
            parts.push(split::Parts { part: other, grain, least: if for_lanes { MANY_FOR_LANES } else { MANY } });
        }
        module.functions[id] = split::whole(&module.functions[id], &form, &parts);
        let wanted = name(&module.functions[id].name);
        for (parts, form) in parts.into_iter().zip([Some(form), around]) {
            let Some(form) = form else { continue };
            let name = free_name(module, &wanted);
            module.functions.push(split::part(form, (parts.part, &name), parts.grain));
        }
    }
}

/// A name that no function has yet.
fn free_name(module: &Module, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while module.find(&name).is_some() {
        name.push('2');
    }
    name
}

/// How much work calls are.
struct Weights {
    /// Functions that take long: they call themselves, make tasks, or will be split here.
    long: IndexVec<FunctionId, bool>,
    /// Functions that have loops, or call such.
    loops: IndexVec<FunctionId, bool>,
    /// Functions that are called again and again: by those that take long, but for themselves, or that have loops.
    repeated: IndexVec<FunctionId, bool>,
}

impl Weights {
    fn of(module: &Module, forms: &[(FunctionId, Form)]) -> Weights {
        let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
        let cycle = cycles::on_cycle(&edges);
        let mut long = cycle.clone();
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
        let mut repeated: IndexVec<FunctionId, bool> = module.functions.iter().map(|_| false).collect();
        let mut next: Vec<FunctionId> = vec![];
        for (id, called) in edges.iter_enumerated() {
            let is_form = forms.iter().any(|(form, _)| *form == id);
            if cycle[id] || is_form || has(&module.functions[id], &[Op::Loop]) {
                next.extend(called.iter().filter(|callee| **callee != id));
            }
        }
        while let Some(id) = next.pop() {
            if !std::mem::replace(&mut repeated[id], true) {
                next.extend(&edges[id]);
            }
        }
        Weights { long, loops, repeated }
    }

    /// How many iterations of a function's loop are one task.
    fn grain(&self, id: FunctionId, form: &Form, for_lanes: bool) -> Grain {
        let (mut count, mut is_long, mut has_loops) = (0, false, false);
        form.function.walk(form.body(), &mut |_, inst| {
            count += 1;
            has_loops |= inst.op == Op::Loop;
            is_long |= inst.op == Op::Fork;
            if let Some(callee) = inst.callee() {
                is_long |= self.long[callee];
                has_loops |= self.loops[callee];
            }
        });
        if is_long {
            return Grain::One;
        }
        if has_loops {
            return self.uneven(id, for_lanes);
        }
        let most = WORK.saturating_sub(u32::ilog2(u32::max(count, 1))).clamp(FEWEST, MOST);
        Grain::Many { least: most, most }
    }

    /// The same, if they have loops.
    fn uneven(&self, id: FunctionId, for_lanes: bool) -> Grain {
        match for_lanes && !self.repeated[id] {
            true => Grain::Many { least: 0, most: LOOPS_OF_LANE },
            false => Grain::Many { least: LOOPS, most: LOOPS },
        }
    }
}

fn has(function: &Function, ops: &[Op]) -> bool {
    let mut found = false;
    function.walk(function.body, &mut |_, inst| found |= ops.contains(&inst.op));
    found
}
