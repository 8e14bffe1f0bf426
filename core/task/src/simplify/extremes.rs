//! The larger or the smaller of two whole numbers, as an operation: `if a > b: a else: b` is `max a, b`, whether it gives a value, ends the function or
//! begins a loop's next iteration. Operations can be put together in any order; choices cannot. What is chosen with it, of two numbers each, is a selection.
//!
//! Floats stay: of two zeros, and beside what is no number, a comparison does not choose as `max` does.

use crate::lower::remove_unused;
use girih_base::hash::FastMap;
use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, Type, Value, ValueId};

/// Changes all such choices of a function, the innermost ones first.
pub(super) fn extremes(function: &mut Function) {
    let mut stands = FastMap::default();
    visit(function, function.body, &mut stands);
    let stands = |value: &mut ValueId| {
        while let Some(new) = stands.get(value) {
            *value = *new;
        }
    };
    function.insts.iter_mut().for_each(|inst| inst.operands.iter_mut().for_each(stands));
    // The comparisons.
    while remove_unused(function) {}
}

/// `stands` says which values stand for others that are no more.
fn visit(function: &mut Function, region: RegionId, stands: &mut FastMap<ValueId, ValueId>) {
    let mut at = 0;
    while let Some(id) = function.regions[region].insts.get(at).copied() {
        for inner in function.insts[id].regions.clone() {
            visit(function, inner, stands);
        }
        match function.insts[id].op {
            Op::Select => select(function, id),
            Op::If => at += value(function, (region, at), id, stands),
            _no_rule => {}
        }
        at += 1;
    }
    end(function, region);
}

/// An instruction that a choice between two numbers becomes.
struct Chosen {
    op: Op,
    ty: Type,
    operands: Vec<ValueId>,
}

impl Chosen {
    /// The larger or the smaller of two numbers, if it is one: `yes` where the condition holds, otherwise `no`.
    fn extreme(function: &Function, condition: ValueId, [yes, no]: [ValueId; 2]) -> Option<Chosen> {
        let Def::Result(compared, 0) = function.values[condition].def else { return None };
        let compared = &function.insts[compared];
        let ty = compared.ty.filter(|ty| matches!(*ty, Type::U32 | Type::I32))?;
        let [x, y] = compared.operands[..] else { return None };
        let (in_order, crossed) = match compared.op {
            Op::Gt | Op::Ge => (Op::Max, Op::Min),
            Op::Lt | Op::Le => (Op::Min, Op::Max),
            _no_rule => return None,
        };
        let is = |a, b| is_same(function, a, b);
        let op = match (is(x, yes) && is(y, no), is(x, no) && is(y, yes)) {
            (true, _) => in_order,
            (_, true) => crossed,
            (false, false) => return None,
        };
        Some(Chosen { op, ty, operands: vec![x, y] })
    }

    /// What becomes of such pairs, if one of them is a larger or a smaller number.
    fn all(function: &Function, condition: ValueId, pairs: &[[ValueId; 2]]) -> Option<Vec<Chosen>> {
        let (mut all, mut has_extreme) = (vec![], false);
        for [yes, no] in pairs {
            let extreme = Chosen::extreme(function, condition, [*yes, *no]);
            has_extreme |= extreme.is_some();
            let ty = function.ty(*yes);
            let is_number = matches!(ty, Type::U32 | Type::I32 | Type::F32 | Type::BOOL);
            let selected = Chosen { op: Op::Select, ty, operands: vec![condition, *yes, *no] };
            all.push(extreme.or(is_number.then_some(selected))?);
        }
        has_extreme.then_some(all)
    }

    /// The instruction, which stands nowhere yet, and its result.
    fn add(self, function: &mut Function, like: InstId) -> (InstId, ValueId) {
        let span = function.insts[like].span;
        let inst = function.insts.push(Inst::new(self.op, Some(self.ty), &self.operands, span));
        let value = function.values.push(Value { ty: self.ty, name: None, def: Def::Result(inst, 0) });
        function.insts[inst].results.push(value);
        (inst, value)
    }
}

/// Whether two values are the same number.
fn is_same(function: &Function, a: ValueId, b: ValueId) -> bool {
    let known = |value: ValueId| function.as_constant(value).map(|bits| (bits, function.ty(value)));
    a == b || known(a).is_some() && known(a) == known(b)
}

fn select(function: &mut Function, id: InstId) {
    let [condition, yes, no] = function.insts[id].operands[..] else { return };
    if let Some(Chosen { op, ty, operands }) = Chosen::extreme(function, condition, [yes, no]) {
        let inst = &mut function.insts[id];
        (inst.op, inst.ty, inst.operands) = (op, Some(ty), operands[..].into());
    }
}

/// A choice that gives values, in the place `at` of a region; how many instructions stand before it now that did not before.
fn value(
    function: &mut Function,
    (region, at): (RegionId, usize),
    id: InstId,
    stands: &mut FastMap<ValueId, ValueId>,
) -> usize {
    let inst = &function.insts[id];
    let [yes, no] = inst.regions[..] else { return 0 };
    let only = |region: RegionId| match &function.regions[region].insts[..] {
        [end] if function.insts[*end].op == Op::Yield => Some(&function.insts[*end].operands),
        _more => None,
    };
    let (Some(yes), Some(no)) = (only(yes), only(no)) else { return 0 };
    let condition = inst.operands[0];
    let pairs: Vec<[ValueId; 2]> = yes.iter().zip(no).map(|(yes, no)| [*yes, *no]).collect();
    let Some(found) = Chosen::all(function, condition, &pairs) else { return 0 };
    let results = inst.results.clone();
    let mut new = vec![];
    for (chosen, result) in found.into_iter().zip(results) {
        let (inst, value) = chosen.add(function, id);
        new.push(inst);
        stands.insert(result, value);
    }
    let more = new.len() - 1;
    function.regions[region].insts.splice(at..=at, new);
    more
}

/// Two ways to end a region that differ in nothing but which of two numbers they go on with: `if a > b { return a }`, `return b`.
fn end(function: &mut Function, region: RegionId) {
    let insts = &function.regions[region].insts;
    let Some(at) = insts.iter().rposition(|id| !function.insts[*id].regions.is_empty()) else { return };
    let id = insts[at];
    let choice = &function.insts[id];
    let ([yes, no], true, Op::If) = (&choice.regions[..], choice.results.is_empty(), choice.op) else { return };
    let falls =
        |region: RegionId| matches!(function.regions[region].insts[..], [end] if function.insts[end].op == Op::Yield);
    let rest = &insts[at + 1..];
    let (one, other, one_is_yes) = match (falls(*yes), falls(*no)) {
        (false, true) => (&function.regions[*yes].insts[..], rest, true),
        (true, false) => (&function.regions[*no].insts[..], rest, false),
        _neither => return,
    };
    let Some(ends) = Ends::of(function, one, other) else { return };
    let condition = choice.operands[0];
    let in_order = |(_, [one, other]): &(usize, [ValueId; 2])| if one_is_yes { [*one, *other] } else { [*other, *one] };
    let pairs: Vec<[ValueId; 2]> = ends.differ.iter().map(in_order).collect();
    let Some(found) = Chosen::all(function, condition, &pairs) else { return };
    let kept = one[..one.len() - 1].to_vec();
    let mut operands = function.insts[ends.last].operands.clone();
    let mut new = vec![];
    for ((position, _), chosen) in ends.differ.iter().zip(found) {
        let (inst, value) = chosen.add(function, id);
        new.push(inst);
        operands[*position] = value;
    }
    function.insts[ends.last].operands = operands;
    let insts = &mut function.regions[region].insts;
    insts.truncate(at);
    insts.extend(new);
    insts.extend(kept);
    insts.push(ends.last);
}

/// Two ways that do the same up to their ends, and end alike.
struct Ends {
    /// The instruction that ends the first one.
    last: InstId,
    /// Which of its operands differ, and what they are on both ways: values from before.
    differ: Vec<(usize, [ValueId; 2])>,
}

impl Ends {
    fn of(function: &Function, one: &[InstId], other: &[InstId]) -> Option<Ends> {
        if one.len() != other.len() {
            return None;
        }
        let mut as_one: FastMap<ValueId, ValueId> = FastMap::default();
        let ((last, before), (other_last, other_before)) = (one.split_last()?, other.split_last()?);
        for (one, other) in before.iter().zip(other_before) {
            let (one, other) = (&function.insts[*one], &function.insts[*other]);
            let is_plain = one.op.is_pure() && one.regions.is_empty() && other.regions.is_empty();
            if !is_plain || !is_alike(one, other) || !differ(function, &as_one, one, other).is_empty() {
                return None;
            }
            as_one.extend(other.results.iter().copied().zip(one.results.iter().copied()));
        }
        let (end, other_end) = (&function.insts[*last], &function.insts[*other_last]);
        let ends = matches!(end.op, Op::Return | Op::Break | Op::Continue | Op::Tail);
        if !ends || !is_alike(end, other_end) {
            return None;
        }
        let differ = differ(function, &as_one, end, other_end);
        let made: Vec<ValueId> = before.iter().flat_map(|id| function.insts[*id].results.iter().copied()).collect();
        // What a way has computed itself is not there where the choice is.
        let is_from_before = |[one, other]: [ValueId; 2]| !made.contains(&one) && !as_one.contains_key(&other);
        let fits = !differ.is_empty() && differ.iter().all(|(_, pair)| is_from_before(*pair));
        fits.then_some(Ends { last: *last, differ })
    }
}

/// Whether two instructions do the same with their operands.
fn is_alike(one: &Inst, other: &Inst) -> bool {
    one.op == other.op
        && one.ty == other.ty
        && one.attrs == other.attrs
        && one.operands.len() == other.operands.len()
        && one.results.len() == other.results.len()
}

/// The operands in which they differ.
fn differ(
    function: &Function,
    as_one: &FastMap<ValueId, ValueId>,
    one: &Inst,
    other: &Inst,
) -> Vec<(usize, [ValueId; 2])> {
    let pairs = one.operands.iter().copied().zip(other.operands.iter().copied()).enumerate();
    let is_other = |(_, (one, other)): &(usize, (ValueId, ValueId))| {
        !is_same(function, *one, as_one.get(other).copied().unwrap_or(*other))
    };
    pairs.filter(is_other).map(|(position, (one, other))| (position, [one, other])).collect()
}
