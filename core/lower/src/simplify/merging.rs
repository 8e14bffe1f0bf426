//! Loops in loops become one loop, where invocations that run in step would wait for each other.
//!
//! ```text
//! for each number: before; while ..: inner; after          state = new
//!                                                          loop: if state != inner: (if state == ended: after); before; state = inner
//!                                                                inner, or state = ended
//! ```
//!
//! An invocation whose inner loop ends waits until those of all others that run in step with it have ended: a trial division ends at once for one number and goes
//! on for a thousand steps for the next. In one loop, it goes on with its next number meanwhile. All of them together take as long as the one whose
//! numbers take longest together, and not as long as the longest of each round, one after another. (Von Hanxleden and Kennedy, *Relaxing SIMD control flow
//! constraints using loop transformations*, 1992.)
//!
//! This is worth it if the outer loop's numbers decide when the inner loop ends, and if what is done around it is not much more than an iteration of it.
//!
//! Invariant: an invocation does what it did, in the same order.

mod write;

use super::control::{jumps, loops};
use girih_base::hash::FastSet;
use girih_ir::{Builder, Function, Inst, InstId, Op, RegionId, Type, ValueId};
use write::merge;

/// How many times as much as an iteration of the inner loop may be done around it.
const AROUND: usize = 2;
/// Most instructions of a loop that is merged with one inside.
const MOST: usize = 1 << 10;

/// Merges the loops of a function. `budget` is a number from which loops of it count down to end what takes too long: the last one that a loop carries.
pub fn run(function: &mut Function, budget: Option<u32>) {
    let (name, span) = (function.name.clone(), function.span);
    let taken = std::mem::replace(function, Function::new(name, span));
    let loops = loops(&taken, taken.body);
    let mut b = Builder::new(taken);
    for (around, _) in loops {
        let mut counts = FastSet::default();
        if let Some(budget) = budget {
            counting(&b.function, b.function.body, budget, &mut counts);
        }
        if let Some(nest) = Nest::of(&b.function, around, &counts) {
            merge(&mut b, &nest);
        }
    }
    *function = b.function;
}

/// What is left of the budget, at all places.
fn counting(f: &Function, region: RegionId, budget: u32, found: &mut FastSet<ValueId>) {
    let is_one = |value: &ValueId, found: &FastSet<ValueId>| {
        found.contains(value) || f.as_constant(*value) == Some(u64::from(budget)) && f.ty(*value) == Type::U32
    };
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        let less = inst.operands.get(1).filter(|less| f.as_constant(**less) == Some(u64::from(u32::MAX)));
        if inst.op == Op::Add && less.is_some() && is_one(&inst.operands[0], found) {
            found.extend(&inst.results);
        }
        let is_carried = inst.op == Op::Loop && inst.operands.last().is_some_and(|left| is_one(left, found));
        if is_carried {
            found.extend(f.regions[inst.regions[0]].params.last());
        }
        inst.regions.iter().for_each(|inner| counting(f, *inner, budget, found));
        if is_carried {
            found.extend(inst.results.last());
        } else if inst.op != Op::Loop {
            for (i, result) in inst.results.iter().enumerate().filter(|_| !inst.regions.is_empty()) {
                let mut ends = inst.regions.iter().filter_map(|arm| f.terminator(*arm)).filter(|e| e.op == Op::Yield);
                if ends.all(|end| is_one(&end.operands[i], found)) {
                    found.insert(*result);
                }
            }
        }
    }
}

/// A place on the way to the inner loop: a region, and the instruction of it that is the loop, or the choice that has it in an arm.
#[derive(Clone, Copy)]
struct Step {
    region: RegionId,
    at: usize,
}

/// A loop with one loop inside.
struct Nest {
    outer: InstId,
    inner: InstId,
    /// From the outer loop's body on; the last one is of the inner loop.
    path: Vec<Step>,
    /// What is computed before the inner loop and needed in it or behind it.
    lives: Vec<ValueId>,
}

impl Nest {
    /// The loops, if they can be merged and it is worth it.
    fn of(f: &Function, outer: InstId, counts: &FastSet<ValueId>) -> Option<Nest> {
        let body = f.insts[outer].regions[0];
        let (mut loops, mut size, mut is_fine) = (vec![], 0, true);
        walk_once(f, body, &mut |id, inst| loops.extend((inst.op == Op::Loop).then_some(id)));
        f.walk(body, &mut |_, inst| {
            size += 1;
            is_fine &= !inst.op.leaves_function() && inst.op != Op::Grid;
        });
        let [inner] = loops[..] else { return None };
        let path = path(f, body, inner)?;
        let nest = Nest { outer, inner, lives: lives(f, body, inner, &path), path };
        let carried = [&f.regions[body].params[..], &f.regions[f.insts[inner].regions[0]].params, &nest.lives].concat();
        let results = &f.insts[inner].results;
        is_fine &= carried.iter().chain(results).all(|value| matches!(f.ty(*value), Type::Scalar(_)));
        (is_fine && size <= MOST && nest.is_uneven(f, counts) && nest.is_light(f)).then_some(nest)
    }

    fn body(&self, f: &Function) -> RegionId {
        f.insts[self.outer].regions[0]
    }
    fn inner_body(&self, f: &Function) -> RegionId {
        f.insts[self.inner].regions[0]
    }

    /// Whether the inner loop's end depends on what changes from one iteration of the outer loop to the next.
    fn is_uneven(&self, f: &Function, counts: &FastSet<ValueId>) -> bool {
        let (body, inner) = (self.body(f), self.inner_body(f));
        let mut varies: FastSet<ValueId> = FastSet::default();
        loop {
            let before = varies.len();
            let is_one = |value: &ValueId, varies: &FastSet<ValueId>| varies.contains(value) && !counts.contains(value);
            for (region, starts) in [(body, None), (inner, Some(&f.insts[self.inner].operands))] {
                for (i, param) in f.regions[region].params.iter().enumerate() {
                    let mut next = goes_on_with(f, region, i);
                    // What the outer loop does not hand on unchanged, and what the inner one begins or goes on with that varies.
                    let is_new = match starts {
                        None => next.any(|value| value != *param),
                        Some(starts) => is_one(&starts[i], &varies) || next.any(|value| is_one(&value, &varies)),
                    };
                    if is_new {
                        varies.insert(*param);
                    }
                }
            }
            f.walk(body, &mut |_, inst| {
                let mut given = inst.regions.iter().flat_map(|region| ends(f, *region)).flatten();
                // What is read from memory may be anything.
                let is_new = inst.op == Op::Load
                    || inst.operands.iter().any(|value| is_one(value, &varies))
                    || given.any(|value| is_one(&value, &varies));
                if is_new {
                    varies.extend(&inst.results);
                }
            });
            if varies.len() == before {
                break;
            }
        }
        let mut is_uneven = false;
        walk_once(f, inner, &mut |_, inst| {
            let decides = inst.op == Op::While || inst.op != Op::Loop && inst.regions.iter().any(|arm| breaks(f, *arm));
            is_uneven |=
                decides && inst.operands.first().is_some_and(|value| varies.contains(value) && !counts.contains(value));
        });
        is_uneven
    }

    /// Whether not too much is done around the inner loop.
    fn is_light(&self, f: &Function) -> bool {
        let (mut around, mut within) = (0, 0);
        f.walk(self.body(f), &mut |_, inst| around += weight(inst));
        f.walk(self.inner_body(f), &mut |_, inst| within += weight(inst));
        around - within <= AROUND * within
    }
}

/// What an instruction takes, in cheap ones.
fn weight(inst: &Inst) -> usize {
    let is_slow = matches!(inst.op, Op::Div | Op::Rem | Op::Load | Op::Store | Op::Sqrt);
    match (is_slow, inst.op == Op::Call) {
        (true, _) => 8,
        (_, true) => 32,
        (false, false) => usize::from(!inst.op.ends_iteration() && inst.regions.is_empty()),
    }
}

/// Visits the instructions of a loop's body that are not inside of another loop.
fn walk_once(f: &Function, region: RegionId, visit: &mut impl FnMut(InstId, &Inst)) {
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        visit(*id, inst);
        if inst.op != Op::Loop {
            inst.regions.iter().for_each(|inner| walk_once(f, *inner, visit));
        }
    }
}

/// What a loop goes on with in the place of one of its parameters.
fn goes_on_with(f: &Function, body: RegionId, position: usize) -> impl Iterator<Item = ValueId> {
    jumps(f, body).into_iter().map(|id| &f.insts[id]).filter(|jump| jump.op != Op::Break).map(move |jump| {
        let first = usize::from(jump.op == Op::While);
        jump.operands[first + position]
    })
}

/// What a region gives to the choice or the loop that it is of.
fn ends(f: &Function, region: RegionId) -> Vec<Vec<ValueId>> {
    let mut found = vec![];
    walk_once(f, region, &mut |_, inst| {
        if matches!(inst.op, Op::Yield | Op::Break | Op::While) {
            found.push(inst.operands.to_vec());
        }
    });
    found
}

/// Whether code in a region leaves the loop around.
fn breaks(f: &Function, region: RegionId) -> bool {
    jumps(f, region).into_iter().any(|id| f.insts[id].op == Op::Break)
}

/// The way to an instruction through the arms of choices.
fn path(f: &Function, region: RegionId, wanted: InstId) -> Option<Vec<Step>> {
    f.regions[region].insts.iter().enumerate().find_map(|(at, id)| {
        let step = Step { region, at };
        let inst = &f.insts[*id];
        if *id == wanted {
            return Some(vec![step]);
        }
        let arms = inst.regions.iter().filter(|_| inst.op == Op::If);
        let below = arms.filter_map(|arm| path(f, *arm, wanted)).next()?;
        Some([&[step], &below[..]].concat())
    })
}

/// What is computed before the inner loop and needed in it or behind it.
fn lives(f: &Function, body: RegionId, inner: InstId, path: &[Step]) -> Vec<ValueId> {
    let mut before: FastSet<ValueId> = FastSet::default();
    let mut needed: Vec<ValueId> = vec![];
    f.walk(f.insts[inner].regions[0], &mut |_, inst| needed.extend(&inst.operands));
    for Step { region, at } in path {
        let insts = &f.regions[*region].insts;
        before.extend(insts[..*at].iter().flat_map(|id| f.insts[*id].results.iter().copied()));
        for id in &insts[at + 1..] {
            needed.extend(&f.insts[*id].operands);
            for arm in &f.insts[*id].regions {
                f.walk(*arm, &mut |_, inst| needed.extend(&inst.operands));
            }
        }
    }
    debug_assert!(f.regions[body].params.iter().all(|param| !before.contains(param)));
    needed.retain(|value| before.contains(value));
    needed.sort_unstable();
    needed.dedup();
    needed
}
