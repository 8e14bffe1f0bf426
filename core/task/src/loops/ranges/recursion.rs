//! Recursion with one call of itself, whose results only become part of the function's, as a loop that carries what it has found so far.
//!
//! Each result of the call becomes part of the function's result at the same position, in one of three ways ([`Part`]); the loop goes on where the function
//! called itself, and ends where it did not.
//!
//! Invariant: the loop gives what the function gave, and ends where the function did.

use super::super::parts::{Places, Search};
use super::super::{add_results, enter_loop};
use super::form::{decided, in_loop, is_op, mirrored, neutral, opposite};
use crate::lower::remove_unused;
use girih_base::hash::FastMap;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueId};
use std::collections::HashSet;

/// What becomes of a result of the call.
enum Part {
    /// It is the function's.
    Whole,
    /// It is put together with others: these values have become of it.
    Sum { op: Op, parts: HashSet<ValueId> },
    /// It is the function's, or else another number is, which goes with the sum at position `by`: the call's where `call test own` holds.
    Chosen { by: usize, test: Op, selects: Vec<Select> },
}

/// A selection between the number of the call and another one.
struct Select {
    inst: InstId,
    /// The comparison, and which of its operands is not the call's.
    compared: InstId,
    key: usize,
    /// Which operand is selected if the call's is not.
    own: usize,
}

impl Part {
    /// Whether a value is one of these parts, which are of a result of the call.
    fn has(&self, function: &Function, result: ValueId, value: ValueId) -> bool {
        let is_made = |inst: InstId| function.insts[inst].results.contains(&value);
        value == result
            || match self {
                Part::Whole => false,
                Part::Sum { parts, .. } => parts.contains(&value),
                Part::Chosen { selects, .. } => selects.iter().any(|select| is_made(select.inst)),
            }
    }
}

/// A function that calls itself once, as a loop.
pub(super) fn as_loop(function: &Function, id: FunctionId) -> Option<(Function, InstId)> {
    let [call, join] = own_call(function, id)?;
    let results = function.insts[join].results.clone();
    let parts = parts(function, &results)?;

    let mut looped = function.clone();
    for region in looped.regions.iter_mut() {
        region.insts.retain(|id| *id != call && *id != join);
    }
    call_the_last_fork(&mut looped);
    let around = enter_loop(&mut looped);
    let body = looped.insts[around].regions[0];
    let carried: Vec<Option<ValueId>> =
        results.iter().zip(&parts).map(|(result, part)| carry(&mut looped, around, *result, part)).collect();
    choose(&mut looped, &parts, &carried);
    let stands: FastMap<ValueId, ValueId> =
        results.iter().zip(&carried).filter_map(|(result, carried)| Some((*result, (*carried)?))).collect();
    for inst in looped.insts.iter_mut() {
        inst.operands.iter_mut().for_each(|value| *value = stands.get(value).copied().unwrap_or(*value));
    }
    let mut ends = vec![];
    in_loop(&looped, body, &mut |region, id| ends.extend((looped.insts[id].op == Op::Break).then_some((region, id))));
    let arguments = looped.insts[call].operands.clone();
    for place in ends {
        end(&mut looped, place, (&results, &parts, &carried), &arguments)?;
    }
    while remove_unused(&mut looped) {}
    Some((looped, around))
}

/// The only call of the function itself, and where its results come back: the same, if it is not forked.
fn own_call(function: &Function, id: FunctionId) -> Option<[InstId; 2]> {
    let (mut own, mut is_fine) = (vec![], true);
    function.walk(function.body, &mut |at, inst| {
        let is_own = inst.callee() == Some(id);
        if is_own && inst.op != Op::Join {
            own.push(at);
        }
        is_fine &= inst.op != Op::Tail && !(inst.op == Op::Loop && returns(function, inst.regions[0]));
    });
    let [call] = own[..] else { return None };
    let join = match function.insts[call].op {
        Op::Call => call,
        Op::Fork => joined(function, call)?,
        _no_rule => return None,
    };
    is_fine.then_some([call, join])
}

fn returns(function: &Function, region: RegionId) -> bool {
    let mut found = false;
    function.walk(region, &mut |_, inst| found |= inst.op == Op::Return);
    found
}

/// The join of a fork.
fn joined(function: &Function, fork: InstId) -> Option<InstId> {
    let token = *function.insts[fork].results.first()?;
    let mut found = None;
    function.walk(function.body, &mut |id, inst| {
        if inst.op == Op::Join && inst.operands.contains(&token) {
            found = Some(id);
        }
    });
    found
}

/// The only call that is still forked has nothing beside it any more.
fn call_the_last_fork(function: &mut Function) {
    let mut forks = vec![];
    function.walk(function.body, &mut |id, inst| forks.extend((inst.op == Op::Fork).then_some(id)));
    let [fork] = forks[..] else { return };
    let Some(join) = joined(function, fork) else { return };
    let (operands, attrs) = (function.insts[fork].operands.clone(), function.insts[fork].attrs.clone());
    let made = Inst { op: Op::Call, operands, attrs, ..function.insts[join].clone() };
    function.insts[join] = made;
    for region in function.regions.iter_mut() {
        region.insts.retain(|id| *id != fork);
    }
}

/// What becomes of the call's results; `None` if one becomes anything else, or none is put together with anything.
fn parts(function: &Function, results: &[ValueId]) -> Option<Vec<Part>> {
    let places = Places::of(function);
    let chosen: Vec<Option<Part>> =
        (0..results.len()).map(|position| chosen(function, &places, results, position)).collect();
    let tests = |by: usize| {
        chosen.iter().flatten().flat_map(move |part| match part {
            Part::Chosen { by: other, selects, .. } if *other == by => &selects[..],
            Part::Chosen { .. } | Part::Whole | Part::Sum { .. } => &[],
        })
    };
    let mut sums = vec![];
    for (position, result) in results.iter().enumerate().filter(|(position, _)| chosen[*position].is_none()) {
        // Results of other types are at most handed on.
        let ty = function.ty(*result);
        let scalar = ty.element().filter(|_| matches!(ty, Type::U32 | Type::I32)).unwrap_or(Scalar::U32);
        let ignored = tests(position).map(|select| select.compared).collect();
        let search = Search { is_op, ty: scalar, carried: None, given: Some(position), ignored: &ignored };
        let mut op = None;
        let parts = places.parts(&[*result], &search, &mut op)?;
        sums.push(match op {
            Some(op) => Part::Sum { op, parts },
            None => Part::Whole,
        });
    }
    let mut sums = sums.into_iter();
    let parts: Vec<Part> = chosen.into_iter().map(|part| part.or_else(|| sums.next())).collect::<Option<_>>()?;
    let is_decided = |part: &Part| match part {
        Part::Chosen { by, .. } => matches!(parts[*by], Part::Sum { op: Op::Max | Op::Min, .. }),
        Part::Sum { .. } | Part::Whole => true,
    };
    let has_sum = parts.iter().any(|part| matches!(part, Part::Sum { .. }));
    (has_sum && parts.iter().all(is_decided)).then_some(parts)
}

/// Whether a result is the function's own, or else is selected by a comparison of another result, whose larger or smaller one is the function's.
fn chosen(function: &Function, places: &Places<'_>, results: &[ValueId], position: usize) -> Option<Part> {
    let result = results[position];
    let mut found: Option<(usize, Op, Vec<Select>)> = None;
    for (user, at) in places.uses(result) {
        if function.insts[user].op == Op::Return && at == position {
            continue;
        }
        let decided = decided(function, user)?;
        let (by, side) = results.iter().enumerate().find_map(|(by, key)| Some((by, decided.side_of(*key)?)))?;
        // That of the call is taken where this holds for the other number and the call's.
        let test = mirrored(decided.taken_over(side, result).map(opposite)?);
        let (key, own) = decided.others(side, result);
        let given = function.insts[user].results[0];
        let mut ends = places.uses(given);
        let is_returned = |end: InstId| {
            let end = &function.insts[end];
            end.op == Op::Return && decided.keeps(function, end.operands[by], test)
        };
        let is_given = ends.next().is_some_and(|(end, at)| at == position && is_returned(end)) && ends.next().is_none();
        let is_alone = places.uses(function.insts[decided.compared].results[0]).all(|(user, at)| {
            at == 0
                && function.insts[user].op == Op::Select
                && results.iter().any(|result| function.insts[user].operands[1..].contains(result))
        });
        if !is_given || !is_alone || found.as_ref().is_some_and(|(other, old, _)| (*other, *old) != (by, test)) {
            return None;
        }
        let select = Select { inst: user, compared: decided.compared, key, own };
        found.get_or_insert((by, test, vec![])).2.push(select);
    }
    let (by, test, selects) = found.filter(|(by, ..)| *by != position)?;
    Some(Part::Chosen { by, test, selects })
}

/// A number that the loop carries in the place of a result, unless that is only handed on.
fn carry(looped: &mut Function, around: InstId, result: ValueId, part: &Part) -> Option<ValueId> {
    let ty = looped.ty(result);
    let bits = match part {
        Part::Whole => return None,
        Part::Sum { op, .. } => neutral(*op, ty),
        Part::Chosen { .. } => 0,
    };
    let start = looped.constant(ty, bits);
    looped.insts[around].operands.push(start);
    let body = looped.insts[around].regions[0];
    let position = looped.regions[body].params.len() as u32;
    let value = looped.values.push(Value { ty, name: None, def: Def::Argument(body, position) });
    looped.regions[body].params.push(value);
    Some(value)
}

/// Selections choose between what was found before and the iteration's own: what stood behind it stands before it now.
fn choose(looped: &mut Function, parts: &[Part], carried: &[Option<ValueId>]) {
    for (part, before) in parts.iter().zip(carried) {
        let (Part::Chosen { by, test, selects }, Some(before)) = (part, before) else { continue };
        let Some(key_before) = carried[*by] else { continue };
        for select in selects {
            let ty = looped.ty(key_before);
            let span = looped.insts[select.inst].span;
            let key = looped.insts[select.compared].operands[select.key];
            let own = looped.insts[select.inst].operands[select.own];
            let compared = looped.insts.push(Inst::new(*test, Some(ty), &[key, key_before], span));
            let is_taken = add_results(looped, compared, &[Type::BOOL])[0];
            looped.insts[select.inst].operands = [is_taken, own, *before][..].into();
            for region in looped.regions.iter_mut() {
                if let Some(at) = region.insts.iter().position(|id| *id == select.inst) {
                    region.insts.insert(at, compared);
                }
            }
        }
    }
}

/// A `break` that gives what has become of the call's results begins the next iteration; another one gives its own with what was found before.
fn end(
    looped: &mut Function,
    (region, end): (RegionId, InstId),
    (results, parts, carried): (&[ValueId], &[Part], &[Option<ValueId>]),
    arguments: &[ValueId],
) -> Option<()> {
    let given = looped.insts[end].operands.clone();
    let span = looped.insts[end].span;
    let is_part = |position: usize| {
        let value = given[position];
        Some(value) == carried[position] || parts[position].has(looped, results[position], value)
    };
    let goes_on: Vec<bool> = (0..results.len()).map(is_part).collect();
    if goes_on.iter().all(|is_part| *is_part) {
        let mut operands = arguments.to_vec();
        operands.extend(given.iter().zip(carried).filter(|(_, carried)| carried.is_some()).map(|(value, _)| *value));
        looped.insts[end] = Inst::new(Op::Continue, None, &operands, span);
        return Some(());
    }
    if goes_on.contains(&true) {
        return None;
    }
    let place = |looped: &mut Function, op: Op, ty: Type, operands: &[ValueId]| {
        let inst = looped.insts.push(Inst::new(op, Some(ty), operands, span));
        let result = if matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge) { Type::BOOL } else { ty };
        let at = looped.regions[region].insts.len() - 1;
        looped.regions[region].insts.insert(at, inst);
        add_results(looped, inst, &[result])[0]
    };
    for (position, part) in parts.iter().enumerate() {
        let (Some(before), value) = (carried[position], given[position]) else { continue };
        let ty = looped.ty(value);
        let all = match part {
            Part::Whole => value,
            Part::Sum { op, .. } => place(looped, *op, ty, &[before, value]),
            Part::Chosen { by, test, .. } => {
                let (key, key_before) = (given[*by], carried[*by]?);
                let key_ty = looped.ty(key);
                let is_taken = place(looped, *test, key_ty, &[key, key_before]);
                place(looped, Op::Select, ty, &[is_taken, value, before])
            }
        };
        looped.insts[end].operands[position] = all;
    }
    Some(())
}
