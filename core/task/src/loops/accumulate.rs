//! Recursion of which only a sum is left to do becomes a loop: `f(x) = k + f(y)` carries what was added so far instead of leaving a frame.
//!
//! A function is changed if it gives one whole number, if each of some calls of itself is followed, up to the `return`, by nothing but pure
//! instructions and one or more applications of *one* operation to its result, and if that operation is associative, commutative and has a
//! neutral number. (Wadler and others call the new parameter an accumulator; the transformation is that of Huet and Lang, 1978.)
//!
//! Only recursion that visibly *descends* is changed: a number that is tested goes down, or a cell is followed into. One without end still ends
//! for lack of memory, and is not a loop for ever.
//!
//! Invariant: the function gives the same number for the same arguments.

use super::{enter_loop, neutral, walk_regions, whole_loop};
use girih_base::hash::FastMap;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Scalar, Type, Value, ValueId};

/// Changes all functions of which that is true.
pub(crate) fn accumulate(module: &mut Module) {
    for id in module.functions.ids() {
        let function = &mut module.functions[id];
        if calls(function, id).is_none() {
            continue;
        }
        // The loop has parameters of its own, and these are what is combined.
        let mut looped = function.clone();
        if only_loop(&looped).is_none() {
            enter_loop(&mut looped);
        }
        if let Some(found) = calls(&looped, id)
            && descends(&looped, &found)
        {
            change(&mut looped, &found);
            *function = looped;
        }
    }
}

/// A call of the function itself, and what its result is combined with until it is given.
struct Step {
    region: RegionId,
    call: InstId,
    combined: Vec<InstId>,
    with: Vec<ValueId>,
}

/// The operation, and the calls that are followed by it alone.
struct Found {
    op: Op,
    steps: Vec<Step>,
}

fn calls(function: &Function, id: FunctionId) -> Option<Found> {
    if function.results[..] != [Type::U32] || function.launch.is_some() {
        return None;
    }
    let mut uses: FastMap<ValueId, usize> = FastMap::default();
    let mut ends = vec![];
    let mut has_tails = false;
    let whole = only_loop(function);
    walk_regions(function, function.body, &mut |region| {
        for id in &function.regions[region].insts {
            let inst = &function.insts[*id];
            inst.operands.iter().for_each(|v| *uses.entry(*v).or_default() += 1);
            has_tails |= inst.op == Op::Tail;
        }
        ends.push(region);
    });
    // What another function gives at the end would have to come back first.
    if has_tails || (whole.is_none() && has_loops(function)) {
        return None;
    }
    let end = if whole.is_some() { Op::Break } else { Op::Return };
    let mut found: Option<Found> = None;
    for region in ends {
        if whole.is_some() && region == function.body {
            continue;
        }
        let Some((op, step)) = step(function, id, region, end, &uses) else { continue };
        let found = found.get_or_insert(Found { op, steps: vec![] });
        if found.op == op {
            found.steps.push(step);
        }
    }
    found
}

fn has_loops(function: &Function) -> bool {
    let mut found = false;
    function.walk(function.body, &mut |_, inst| found |= inst.op == Op::Loop);
    found
}

/// The loop that is all of a function, with no other one inside.
fn only_loop(function: &Function) -> Option<InstId> {
    let mut loops = 0;
    function.walk(function.body, &mut |_, inst| {
        loops += usize::from(matches!(inst.op, Op::Loop | Op::While | Op::Return));
    });
    whole_loop(function).filter(|_| loops == 2)
}

/// The call of the function itself whose result a region gives in the end, and the operation that it goes through on the way.
fn step(
    function: &Function,
    id: FunctionId,
    region: RegionId,
    end: Op,
    uses: &FastMap<ValueId, usize>,
) -> Option<(Op, Step)> {
    let insts = &function.regions[region].insts;
    let last = &function.insts[*insts.last()?];
    if last.op != end {
        return None;
    }
    let [given] = last.operands[..] else { return None };
    let here = |value: ValueId| match function.values[value].def {
        Def::Result(inst, 0) if insts.contains(&inst) && uses.get(&value) == Some(&1) => Some(inst),
        _elsewhere => None,
    };
    let is_own = |inst: InstId| {
        let inst = &function.insts[inst];
        inst.op == Op::Call && inst.callee() == Some(id)
    };
    let op = function.insts[here(given)?].op;
    neutral(op, Scalar::U32)?;
    let (mut combined, mut with, mut value) = (vec![], vec![], given);
    let call = loop {
        let inst = here(value)?;
        if is_own(inst) {
            break inst;
        }
        let found = &function.insts[inst];
        let [x, y] = found.operands[..] else { return None };
        if found.op != op || found.ty != Some(Type::U32) || x == y {
            return None;
        }
        // One of both leads to the call.
        let leads = |value: ValueId| here(value).is_some_and(|inst| is_own(inst) || function.insts[inst].op == op);
        let (on, other) = match (leads(x), leads(y)) {
            (true, false) => (x, y),
            (false, true) => (y, x),
            (true, true) if here(y).is_some_and(is_own) => (y, x),
            (true, true) => (x, y),
            (false, false) => return None,
        };
        combined.push(inst);
        with.push(other);
        value = on;
    };
    let position = insts.iter().position(|inst| *inst == call)?;
    let behind = &insts[position + 1..insts.len() - 1];
    let stays = |inst: &InstId| function.insts[*inst].op.is_pure() && function.insts[*inst].regions.is_empty();
    behind.iter().all(stays).then_some((op, Step { region, call, combined, with }))
}

/// Whether some parameter of the loop gets smaller whenever it goes on: a number that is compared with a constant somewhere, or a cell.
fn descends(function: &Function, found: &Found) -> bool {
    let Some(around) = only_loop(function) else { return false };
    let params = &function.regions[function.insts[around].regions[0]].params;
    let mut again: Vec<InstId> = found.steps.iter().map(|step| step.call).collect();
    let mut tested = vec![];
    function.walk(function.body, &mut |id, inst| match inst.op {
        Op::Continue => again.push(id),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge
            if inst.operands.iter().any(|v| function.as_constant(*v).is_some()) =>
        {
            tested.extend(inst.operands.iter().copied());
        }
        _no_rule => {}
    });
    let is_smaller = |param: ValueId, mut value: ValueId| loop {
        let Def::Result(inst, _) = function.values[value].def else { return false };
        let inst = &function.insts[inst];
        return match inst.op {
            // Numbers of 24 bits.
            Op::And if function.as_constant(inst.operands[1]).is_some() => {
                value = inst.operands[0];
                continue;
            }
            Op::Sub => inst.operands[0] == param && function.as_constant(inst.operands[1]).is_some_and(|by| by > 0),
            Op::CellOpen | Op::CellGet => inst.operands[0] == param,
            _no_rule => false,
        };
    };
    let is_number = |param: ValueId| function.ty(param) != Type::Term;
    params.iter().enumerate().any(|(i, param)| {
        again.iter().all(|id| function.insts[*id].operands.get(i).is_some_and(|value| is_smaller(*param, *value)))
            && (!is_number(*param) || tested.contains(param))
    })
}

/// Has the loop carry what the operation was applied to so far.
fn change(function: &mut Function, found: &Found) {
    let Some(around) = only_loop(function) else { return };
    let body = function.insts[around].regions[0];
    let neutral = function.constant(Type::U32, neutral(found.op, Scalar::U32).unwrap_or(0));
    function.insts[around].operands.push(neutral);
    let position = function.regions[body].params.len() as u32;
    let sum = function.values.push(Value { ty: Type::U32, name: None, def: Def::Argument(body, position) });
    function.regions[body].params.push(sum);
    let mut regions = vec![];
    walk_regions(function, body, &mut |region| regions.push(region));
    for region in regions {
        let Some(last) = function.regions[region].insts.pop() else { continue };
        let step = found.steps.iter().find(|step| step.region == region);
        let end = match (function.insts[last].op, step) {
            (Op::Break, Some(step)) => {
                let gone = |id: &InstId| *id == step.call || step.combined.contains(id);
                function.regions[region].insts.retain(|id| !gone(id));
                let mut sum = sum;
                for value in step.with.iter().rev() {
                    sum = combine(function, region, found.op, sum, *value);
                }
                let mut arguments = function.insts[step.call].operands.clone();
                arguments.push(sum);
                let span = function.insts[step.call].span;
                function.insts.push(Inst::new(Op::Continue, None, &arguments, span))
            }
            (Op::Break, None) => {
                let value = function.insts[last].operands[0];
                let value = combine(function, region, found.op, sum, value);
                function.insts[last].operands[0] = value;
                last
            }
            (Op::Continue, _) => {
                function.insts[last].operands.push(sum);
                last
            }
            _no_rule => last,
        };
        function.regions[region].insts.push(end);
    }
}

/// Applies the operation at the end of a region.
fn combine(function: &mut Function, region: RegionId, op: Op, x: ValueId, y: ValueId) -> ValueId {
    let span = function.span;
    let inst = function.insts.push(Inst::new(op, Some(Type::U32), &[x, y], span));
    let value = function.values.push(Value { ty: Type::U32, name: None, def: Def::Result(inst, 0) });
    function.insts[inst].results.push(value);
    function.regions[region].insts.push(inst);
    value
}
