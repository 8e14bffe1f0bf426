//! The two functions that a loop over a range becomes: one that counts the iterations, and one that halves them.
//!
//! Invariant: both count iterations in numbers of 24 bits, which no loop over such a number exceeds.

use super::super::add_results;
use super::form::{Exit, Form, LOW, Role, neutral};
use super::{Grain, LANES};
use crate::lower::remove_unused;
use girih_base::hash::FastMap;
use girih_base::name::Name;
use girih_ir::attrs::ParamAttrs;
use girih_ir::{Builder, Def, Function, FunctionId, Inst, InstId, Op, Type, Value, ValueId};

/// Parts of a range.
pub(super) struct Parts {
    /// Their function.
    pub part: FunctionId,
    pub grain: Grain,
    /// How many iterations the range has at least.
    pub least: u32,
}

/// The function, which leaves the iterations to its parts: the last of these of which it has enough.
pub(super) fn whole(function: &Function, form: &Form, parts: &[Parts]) -> Function {
    let mut b = Builder::new(function.clone());
    let body = b.function.body;
    let before = std::mem::take(&mut b.function.regions[body].insts);
    b.region = body;
    let initial = &form.function.insts[form.around].operands;
    let initial: Vec<ValueId> = initial.iter().map(|value| outside(&mut b, form, *value)).collect();
    let with = match form.function.values[form.exit.with].def {
        Def::Argument(_, at) => initial[at as usize],
        _outside => outside(&mut b, form, form.exit.with),
    };
    let (trip, ends) = trip(&mut b, form, initial[form.exit.induction], with);
    match ends {
        None => by_parts(&mut b, form, parts, &initial, trip),
        Some(ends) => {
            let otherwise = |b: &mut Builder| b.end(Op::Yield, &[]);
            b.if_else(ends, &[], |b| by_parts(b, form, parts, &initial, trip), otherwise);
            b.function.regions[body].insts.extend(before);
        }
    }
    let mut function = b.function;
    while remove_unused(&mut function) {}
    function
}

/// Gives what all iterations give.
fn by_parts(b: &mut Builder, form: &Form, parts: &[Parts], initial: &[ValueId], trip: ValueId) {
    let results = types(form);
    let mut operands: Vec<ValueId> =
        initial.iter().zip(&form.roles).filter(|(_, role)| !role.is_found()).map(|(value, _)| *value).collect();
    operands.extend(form.captured());
    operands.push(trip);
    let starts = found(form, initial);
    let zero = b.u32(0);
    let is_empty = b.op(Op::Eq, Type::U32, &[trip, zero]);
    let found = b.if_else(
        is_empty,
        &results,
        |b| b.end(Op::Yield, &starts),
        |b| {
            let found = found_by(b, parts, &results, &operands);
            let given = combined(b, form, &starts, &found);
            b.end(Op::Yield, &given);
        },
    );
    let mut found = found.into_iter();
    let last: Vec<ValueId> = (0..form.roles.len())
        .map(|at| match form.roles[at] {
            Role::Stays => initial[at],
            Role::Induction { .. } => advanced(b, form, at, initial[at], trip),
            Role::Sum(_) | Role::Chosen { .. } => found.next().unwrap_or(initial[at]),
        })
        .collect();
    let given = at_the_end(b, form, &last);
    b.end(Op::Return, &given);
}

/// What parts find, of which the last argument is how many iterations there are.
fn found_by(b: &mut Builder, parts: &[Parts], results: &[Type], arguments: &[ValueId]) -> Vec<ValueId> {
    let (Some((Parts { part, grain, least }, others)), Some(trip)) = (parts.split_last(), arguments.last()) else {
        return vec![];
    };
    let found = |b: &mut Builder| {
        let arguments: Vec<ValueId> = arguments.iter().copied().chain(level(b, *trip, *grain)).collect();
        b.call(*part, results, &arguments)
    };
    if others.is_empty() {
        return found(b);
    }
    let least = b.u32(*least);
    let is_enough = b.op(Op::Ge, Type::U32, &[*trip, least]);
    b.if_else(
        is_enough,
        results,
        |b| {
            let found = found(b);
            b.end(Op::Yield, &found);
        },
        |b| {
            let found = found_by(b, others, results, arguments);
            b.end(Op::Yield, &found);
        },
    )
}

/// How often a range of so many iterations, one at least, is halved.
fn level(b: &mut Builder, trip: ValueId, grain: Grain) -> Option<ValueId> {
    let Grain::Many { least, most } = grain else { return None };
    let (one, width) = (b.u32(1), b.u32(u32::BITS));
    let last = b.op(Op::Sub, Type::U32, &[trip, one]);
    let zeros = b.op(Op::Clz, Type::U32, &[last]);
    // A range of 2^bits iterations has room for them.
    let bits = b.op(Op::Sub, Type::U32, &[width, zeros]);
    let (lanes, fewest) = (b.u32(LANES), b.u32(least));
    let mut iterations = fewest;
    if least < most {
        let beyond = b.op(Op::Max, Type::U32, &[bits, lanes]);
        let beyond = b.op(Op::Sub, Type::U32, &[beyond, lanes]);
        let most = b.u32(most);
        iterations = b.op(Op::Min, Type::U32, &[beyond, most]);
        if least > 0 {
            iterations = b.op(Op::Max, Type::U32, &[iterations, fewest]);
        }
    }
    let bits = if least > 0 { b.op(Op::Max, Type::U32, &[bits, iterations]) } else { bits };
    Some(b.op(Op::Sub, Type::U32, &[bits, iterations]))
}

/// What earlier iterations have found, together with what later ones have.
fn combined(b: &mut Builder, form: &Form, earlier: &[ValueId], later: &[ValueId]) -> Vec<ValueId> {
    let roles: Vec<(usize, Role)> =
        form.roles.iter().copied().enumerate().filter(|(_, role)| role.is_found()).collect();
    let mut given = vec![];
    for ((_, role), (earlier_one, later_one)) in roles.iter().zip(earlier.iter().zip(later)) {
        let value = match role {
            Role::Sum(op) => sum(b, *op, *earlier_one, *later_one),
            Role::Chosen { by, test } => {
                let at = roles.iter().position(|(position, _)| position == by).unwrap_or(0);
                let ty = b.ty(later[at]);
                let is_taken = b.op(*test, ty, &[later[at], earlier[at]]);
                let ty = b.ty(*later_one);
                b.op(Op::Select, ty, &[is_taken, *later_one, *earlier_one])
            }
            Role::Stays | Role::Induction { .. } => *later_one,
        };
        given.push(value);
    }
    given
}

/// Two sums together.
fn sum(b: &mut Builder, op: Op, x: ValueId, y: ValueId) -> ValueId {
    let ty = b.ty(x);
    let nothing = neutral(op, ty);
    match (b.function.as_constant(x), b.function.as_constant(y)) {
        (Some(known), _) if known == nothing => y,
        (_, Some(known)) if known == nothing => x,
        _both => b.op(op, ty, &[x, y]),
    }
}

/// What stands where parts find something, of what stands at all positions.
fn found(form: &Form, all: &[ValueId]) -> Vec<ValueId> {
    all.iter().zip(&form.roles).filter(|(_, role)| role.is_found()).map(|(value, _)| *value).collect()
}

/// The types of what parts find.
fn types(form: &Form) -> Vec<Type> {
    found(form, form.carried()).into_iter().map(|param| form.function.ty(param)).collect()
}

/// A parameter or a constant of the loop's function, in the function from which it was made.
fn outside(b: &mut Builder, form: &Form, value: ValueId) -> ValueId {
    let ty = form.function.ty(value);
    match form.function.as_constant(value) {
        Some(bits) => b.function.constant(ty, bits),
        None => value,
    }
}

/// A number so many iterations later.
fn advanced(b: &mut Builder, form: &Form, at: usize, value: ValueId, iterations: ValueId) -> ValueId {
    let Role::Induction { step, masked } = form.roles[at] else { return value };
    let mut way = iterations;
    if step.abs() != 1 {
        let by = b.u32(step.unsigned_abs() as u32);
        way = b.op(Op::Mul, Type::U32, &[way, by]);
    }
    let moved = b.op(if step < 0 { Op::Sub } else { Op::Add }, Type::U32, &[value, way]);
    if masked { low(b, moved) } else { moved }
}

fn low(b: &mut Builder, value: ValueId) -> ValueId {
    let mask = b.u32(LOW as u32);
    b.op(Op::And, Type::U32, &[value, mask])
}

/// How many iterations there are, and, where that is not certain, whether the loop ends at all.
fn trip(b: &mut Builder, form: &Form, from: ValueId, with: ValueId) -> (ValueId, Option<ValueId>) {
    let Exit { test, induction, .. } = form.exit;
    let step = match form.roles[induction] {
        Role::Induction { step, .. } => step,
        Role::Stays | Role::Sum(_) | Role::Chosen { .. } => 1,
    };
    let ends = b.op(test, Type::U32, &[from, with]);
    let (high, low_end) = if step < 0 { (from, with) } else { (with, from) };
    let mut distance = high;
    if b.function.as_constant(low_end) != Some(0) {
        distance = b.op(Op::Sub, Type::U32, &[high, low_end]);
        distance = low(b, distance);
    }
    let by = b.u32(step.unsigned_abs() as u32);
    let one = b.u32(1);
    let zero = b.u32(0);
    let is_strict = matches!(test, Op::Lt | Op::Gt);
    let count = if step.abs() == 1 {
        if is_strict { b.op(Op::Add, Type::U32, &[distance, one]) } else { distance }
    } else if is_strict {
        let steps = b.op(Op::Div, Type::U32, &[distance, by]);
        b.op(Op::Add, Type::U32, &[steps, one])
    } else {
        let more = b.u32(step.unsigned_abs() as u32 - 1);
        let distance = b.op(Op::Add, Type::U32, &[distance, more]);
        b.op(Op::Div, Type::U32, &[distance, by])
    };
    let trip = b.op(Op::Select, Type::U32, &[ends, zero, count]);
    let never = never(&form.exit, b.function.as_constant(with)).map(|never| b.u32(never));
    (trip, never.map(|never| b.op(Op::Ne, Type::U32, &[with, never])))
}

/// The number with which a test never holds, if it may be compared with that: nothing is less than 0, nor more than all.
fn never(exit: &Exit, with: Option<u64>) -> Option<u32> {
    let never = match exit.test {
        Op::Lt => 0,
        Op::Gt => LOW as u32,
        _no_rule => return None,
    };
    with.is_none_or(|with| with == u64::from(never)).then_some(never)
}

/// Whether a loop ends, whatever it begins with.
pub(super) fn always_ends(form: &Form) -> bool {
    never(&form.exit, form.function.as_constant(form.exit.with)).is_none()
}

/// What the loop gives when it carries these numbers at its end.
fn at_the_end(b: &mut Builder, form: &Form, last: &[ValueId]) -> Vec<ValueId> {
    let looped = &form.function;
    let mut stands: FastMap<ValueId, ValueId> = form.carried().iter().copied().zip(last.iter().copied()).collect();
    let body = &looped.regions[form.body()].insts;
    let until = body.iter().position(|id| *id == form.exit.branch).unwrap_or(0);
    let ending = &looped.regions[looped.insts[form.exit.branch].regions[form.exit.ends]].insts;
    let mut operands = vec![];
    for id in body[..until].iter().chain(ending) {
        let inst = &looped.insts[*id];
        operands = inst
            .operands
            .iter()
            .map(|value| match stands.get(value) {
                Some(value) => *value,
                None => outside(b, form, *value),
            })
            .collect();
        if inst.op != Op::Break {
            let types: Vec<Type> = inst.results.iter().map(|value| looped.ty(*value)).collect();
            let copy = Inst { operands: operands.clone().into(), results: Default::default(), ..inst.clone() };
            let made = b.push(copy, &types);
            let made = b.function.insts[made].results.clone();
            stands.extend(inst.results.iter().copied().zip(made));
        }
    }
    operands
}

/// The function of parts of a range: parameters are the numbers that are no sums, those of the function that the loop reads, how many iterations
/// there are, and how often they are halved where parts have many.
pub(super) fn part(form: Form, (id, name): (FunctionId, &str), grain: Grain) -> Function {
    let results = types(&form);
    let mut function = form.function.clone();
    let span = function.span;
    function.name = Name::from(name);
    function.results = results.clone();
    let mut params = vec![];
    let mut starts = vec![];
    for (param, role) in form.carried().iter().zip(&form.roles) {
        let ty = function.ty(*param);
        match role {
            Role::Sum(op) => starts.push(function.constant(ty, neutral(*op, ty))),
            // Until the first one is chosen, nobody looks at it.
            Role::Chosen { .. } => starts.push(function.constant(ty, 0)),
            Role::Stays | Role::Induction { .. } => {
                let value = function.values.push(Value { ty, name: None, def: Def::Param(ParamAttrs::default()) });
                params.push(value);
                starts.push(value);
            }
        }
    }
    let mut number =
        || function.values.push(Value { ty: Type::U32, name: None, def: Def::Param(ParamAttrs::default()) });
    let length = number();
    let level = (grain != Grain::One).then(number);
    let captured = form.captured();
    function.params = params.iter().chain(&captured).copied().chain([length]).chain(level).collect();
    let test = match grain {
        Grain::One => {
            one(&mut function, &form, &starts);
            None
        }
        Grain::Many { .. } => Some(loop_over(&mut function, &form, &starts)),
    };

    // Before it: two parts, if there are more iterations than one has.
    let mut b = Builder::new(function);
    b.span = span;
    let body = b.function.body;
    let after = std::mem::take(&mut b.function.regions[body].insts);
    b.region = body;
    let is_long = match level {
        Some(level) => {
            let none = b.u32(0);
            b.op(Op::Ne, Type::U32, &[level, none])
        }
        None => {
            let one = b.u32(1);
            b.op(Op::Gt, Type::U32, &[length, one])
        }
    };
    b.if_else(
        is_long,
        &[],
        |b| {
            let one = b.u32(1);
            let below = level.map(|level| b.op(Op::Sub, Type::U32, &[level, one]));
            let half = match level {
                Some(_) => b.op(Op::Shr, Type::U32, &[length, one]),
                None => power_below(b, length),
            };
            let rest = b.op(Op::Sub, Type::U32, &[length, half]);
            let first: Vec<ValueId> = params.iter().chain(&captured).copied().chain([half]).chain(below).collect();
            let token = b.fork(id, &first);
            let moved = (0..form.roles.len()).filter(|at| !form.roles[*at].is_found());
            let mut second: Vec<ValueId> = vec![];
            for (at, param) in moved.zip(&params) {
                let value = advanced(b, &form, at, *param, half);
                second.push(value);
            }
            second.extend(&captured);
            second.push(rest);
            second.extend(below);
            let right = b.call(id, &results, &second);
            let left = b.join(id, &results, token);
            let given = combined(b, &form, &left, &right);
            b.end(Op::Return, &given);
        },
        |b| b.end(Op::Yield, &[]),
    );
    if let Some(test) = test {
        let induction = form.exit.induction;
        let last = advanced(&mut b, &form, induction, starts[induction], length);
        b.function.insts[test].operands[1] = last;
    }
    b.function.regions[body].insts.extend(after);
    let mut function = b.function;
    while remove_unused(&mut function) {}
    function
}

/// The largest power of two that is less than a number, which is 2 at least.
fn power_below(b: &mut Builder, number: ValueId) -> ValueId {
    let (one, highest) = (b.u32(1), b.u32(u32::BITS - 1));
    let last = b.op(Op::Sub, Type::U32, &[number, one]);
    let zeros = b.op(Op::Clz, Type::U32, &[last]);
    let bits = b.op(Op::Sub, Type::U32, &[highest, zeros]);
    b.op(Op::Shl, Type::U32, &[one, bits])
}

/// The body once, as the function's own.
fn one(function: &mut Function, form: &Form, starts: &[ValueId]) {
    let stands: FastMap<ValueId, ValueId> = form.carried().iter().copied().zip(starts.iter().copied()).collect();
    for id in &form.again {
        let inst = &function.insts[*id];
        let given = found(form, &inst.operands);
        function.insts[*id] = Inst::new(Op::Return, None, &given, inst.span);
    }
    for inst in function.insts.iter_mut() {
        inst.operands.iter_mut().for_each(|value| *value = stands.get(value).copied().unwrap_or(*value));
    }
    let body = form.body();
    function.regions[body].insts.retain(|id| *id != form.exit.branch);
    function.regions[body].params.clear();
    function.body = body;
}

/// A loop that ends where the part does: gives the comparison of the induction with its last number, which is still to be put in.
fn loop_over(function: &mut Function, form: &Form, starts: &[ValueId]) -> InstId {
    let (body, span) = (form.body(), function.span);
    function.insts[form.around].operands = starts.into();
    let zero = function.constant(Type::U32, 0);
    let number = function.regions[body].params[form.exit.induction];
    let op = if form.exit.ends == 0 { Op::Eq } else { Op::Ne };
    let test = function.insts.push(Inst::new(op, Some(Type::U32), &[number, zero], span));
    let is_over = add_results(function, test, &[Type::BOOL])[0];
    function.insts[form.exit.branch].operands[0] = is_over;
    let at = function.regions[body].insts.iter().position(|id| *id == form.exit.branch).unwrap_or(0);
    function.regions[body].insts.insert(at, test);

    let ending = function.insts[form.exit.branch].regions[form.exit.ends];
    let sums = found(form, form.carried());
    let end = function.insts.push(Inst::new(Op::Break, None, &sums, span));
    function.regions[ending].insts = vec![end];
    function.insts[form.around].results.clear();
    let results = function.results.clone();
    let given = add_results(function, form.around, &results);
    let end = function.regions[function.body].insts[1];
    function.insts[end].operands = given.into();
    test
}
