//! What a loop does when it is over stands behind it.
//!
//! A loop whose iterations stay in it is one piece of code, behind which lanes that run together meet. One that ends with a call or a return *inside* is
//! not, so that each of its iterations would be a segment. Here such an end becomes a `break` that says which end it is, and its code an arm of
//! a choice behind the loop; what it needs of the loop's values becomes results of the loop.
//!
//! Invariant: a function does what it did. A loop changes only if all that may leave it can be moved: then its iterations stay in it.

use super::pointers;
use super::points::leaves_code;
use girih_base::hash::FastMap;
use girih_ir::attrs::Attr;
use girih_ir::heap::IMMEDIATE;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, Value, ValueId};
use std::collections::HashSet;

/// Moves the ends of all loops of which that is true; calls of these functions leave.
pub(super) fn loop_exits(module: &mut Module, framed: &HashSet<FunctionId>) {
    for id in module.functions.ids() {
        let function = &mut module.functions[id];
        let mut loops = vec![];
        function.walk(function.body, &mut |id, inst| {
            if inst.op == Op::Loop {
                loops.push(id);
            }
        });
        for id in loops {
            let mut ends = vec![];
            let body = function.insts[id].regions[0];
            if find(function, body, framed, &mut ends)
                && !ends.is_empty()
                && let Some(moved) = moved(function, id, ends)
            {
                change(function, id, moved);
            }
        }
    }
}

/// What stands in a place among a loop's results.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    ty: Type,
    is_chain: bool,
}

/// Where code begins that can be moved.
struct End {
    region: RegionId,
    at: usize,
}

/// That code, what it needs of the loop's values, and which of the results that ends share these become.
struct Moved {
    end: End,
    code: Vec<InstId>,
    needs: Vec<ValueId>,
    slots: Vec<usize>,
}

/// Finds where code of a loop leaves it for good; whether all that leaves can be moved.
fn find(function: &Function, region: RegionId, framed: &HashSet<FunctionId>, ends: &mut Vec<End>) -> bool {
    for (at, id) in function.regions[region].insts.iter().enumerate() {
        let inst = &function.insts[*id];
        if inst.op == Op::While {
            return false;
        }
        if leaves_code(inst, framed) {
            ends.push(End { region, at });
            return can_move(function, &function.regions[region].insts[at..]);
        }
        if !inst.regions.iter().all(|inner| find(function, *inner, framed, ends)) {
            return false;
        }
    }
    true
}

/// Whether nothing of this goes on with the loop: it ends the function, or the loop at its end.
fn can_move(function: &Function, insts: &[InstId]) -> bool {
    let [rest @ .., last] = insts else { return false };
    let ends = matches!(function.insts[*last].op, Op::Return | Op::Tail | Op::Break);
    ends && rest.iter().chain([last]).all(|id| {
        let inst = &function.insts[*id];
        inst.op == Op::Loop || inst.regions.iter().all(|region| stays_behind(function, *region))
    })
}

/// Whether no part of a region goes on with the loop around, or ends it.
fn stays_behind(function: &Function, region: RegionId) -> bool {
    function.regions[region].insts.iter().all(|id| {
        let inst = &function.insts[*id];
        let stays = !matches!(inst.op, Op::Continue | Op::While | Op::Break);
        stays && (inst.op == Op::Loop || inst.regions.iter().all(|inner| stays_behind(function, *inner)))
    })
}

/// All values that a region defines, and what is inside of it.
fn defined(function: &Function, region: RegionId, found: &mut HashSet<ValueId>) {
    found.extend(&function.regions[region].params);
    for id in &function.regions[region].insts {
        define(function, *id, found);
    }
}
fn define(function: &Function, id: InstId, found: &mut HashSet<ValueId>) {
    found.extend(&function.insts[id].results);
    for region in &function.insts[id].regions {
        defined(function, *region, found);
    }
}

/// All that instructions use, and what is inside of them.
fn used(function: &Function, insts: &[InstId]) -> Vec<ValueId> {
    let mut found = vec![];
    for id in insts {
        let inst = &function.insts[*id];
        found.extend(&inst.operands);
        inst.regions.iter().for_each(|region| function.walk(*region, &mut |_, inner| found.extend(&inner.operands)));
    }
    found
}

/// What an end needs of the loop's values.
fn needed(function: &Function, insts: &[InstId], of_loop: &HashSet<ValueId>) -> Vec<ValueId> {
    let mut own = HashSet::new();
    insts.iter().for_each(|id| define(function, *id, &mut own));
    let mut needed: Vec<ValueId> = vec![];
    for value in used(function, insts) {
        if of_loop.contains(&value) && !own.contains(&value) && !needed.contains(&value) {
            needed.push(value);
        }
    }
    needed
}

/// What moves; none if it cannot.
fn moved(function: &Function, id: InstId, ends: Vec<End>) -> Option<Vec<Moved>> {
    let mut of_loop = HashSet::new();
    defined(function, function.insts[id].regions[0], &mut of_loop);
    // Whoever looks for cells knows holes and tokens by what makes them.
    let holes = pointers::holes(function);
    let is_word = |value: &ValueId| function.ty(*value) != Type::Token && !holes.contains(value);
    let moved = ends.into_iter().map(|end| {
        let code = function.regions[end.region].insts[end.at..].to_vec();
        let needs = needed(function, &code, &of_loop);
        Moved { end, code, needs, slots: vec![] }
    });
    let moved: Vec<Moved> = moved.collect();
    let mut all = moved.iter().flat_map(|end| &end.needs).chain(&function.insts[id].results);
    all.all(is_word).then_some(moved)
}

/// Gives each value that ends need a place among results that they share, each for values of one kind; gives the places.
fn share(slot_of: impl Fn(&ValueId) -> Slot, moved: &mut [Moved]) -> Vec<Slot> {
    let mut all: Vec<Slot> = vec![];
    for Moved { needs, slots, .. } in moved {
        for value in needs {
            let slot = slot_of(value);
            let free = (0..all.len()).find(|i| all[*i] == slot && !slots.contains(i));
            slots.push(free.unwrap_or_else(|| {
                all.push(slot);
                all.len() - 1
            }));
        }
    }
    all
}

fn change(function: &mut Function, id: InstId, mut moved: Vec<Moved>) {
    let chains = pointers::chains(function);
    let slot_of = |value: &ValueId| Slot { ty: function.ty(*value), is_chain: chains.contains(value) };
    let shared = share(slot_of, &mut moved);
    let old: Vec<ValueId> = function.insts[id].results.to_vec();
    let own: Vec<Slot> = old.iter().map(slot_of).collect();
    end_loop(function, id, &own, &shared, &moved);
    let number = Slot { ty: Type::U32, is_chain: false };
    let slots: Vec<Slot> = [number].iter().chain(&own).chain(&shared).copied().collect();
    let results: Vec<(ValueId, Slot)> = (0..)
        .zip(slots)
        .map(|(i, slot)| (function.values.push(Value { ty: slot.ty, name: None, def: Def::Result(id, i) }), slot))
        .collect();
    function.insts[id].results = results.iter().map(|(value, _)| *value).collect();
    let (given, shared) = results[1..].split_at(old.len());
    let mut arms = vec![];
    for Moved { code, needs, slots, .. } in moved {
        let new: FastMap<ValueId, ValueId> =
            needs.iter().zip(&slots).map(|(value, slot)| (*value, shared[*slot].0)).collect();
        let others = (0..shared.len()).filter(|slot| !slots.contains(slot)).map(|slot| shared[slot]);
        let mut all = drops(function, id, others.chain(given.iter().copied()));
        all.extend(arm(function, code, &new));
        arms.push(region_of(function, all));
    }
    let mut all = drops(function, id, shared.iter().copied());
    let given: Vec<ValueId> = given.iter().map(|(value, _)| *value).collect();
    all.push(function.insts.push(Inst::new(Op::Yield, None, &given, function.insts[id].span)));
    arms.push(region_of(function, all));
    choose(function, id, results[0].0, arms, &old);
}

/// Takes the ends out of a loop, and has it say by a number which end it was: 0 for what ended it already.
fn end_loop(function: &mut Function, id: InstId, own: &[Slot], shared: &[Slot], moved: &[Moved]) {
    for Moved { end, .. } in moved {
        function.regions[end.region].insts.truncate(end.at);
    }
    let zero = function.constant(Type::U32, 0);
    for inst in breaks(function, function.insts[id].regions[0]) {
        let (region, at) = place(function, inst);
        let none = fill(function, shared, &[], &[], (region, at));
        let given = function.insts[inst].operands.to_vec();
        function.insts[inst].operands = [zero].iter().chain(&given).chain(&none).copied().collect();
    }
    for (number, Moved { end, needs, slots, .. }) in (1u64..).zip(moved) {
        let none = fill(function, own, &[], &[], (end.region, end.at));
        let given = fill(function, shared, slots, needs, (end.region, end.at));
        let number = function.constant(Type::U32, number);
        let operands: Vec<ValueId> = [number].iter().chain(&none).chain(&given).copied().collect();
        let inst = function.insts.push(Inst::new(Op::Break, None, &operands, function.insts[id].span));
        function.regions[end.region].insts.push(inst);
    }
}

/// Values for these places: those that are there for some of them, and for the others values that mean nothing. A word that names no cell, and
/// chains without cells, are made where code ends.
fn fill(
    function: &mut Function,
    slots: &[Slot],
    filled: &[usize],
    values: &[ValueId],
    (region, at): (RegionId, usize),
) -> Vec<ValueId> {
    let mut no_cell = None;
    let mut all = vec![];
    for (i, slot) in slots.iter().enumerate() {
        if let Some(place) = filled.iter().position(|filled| *filled == i) {
            all.push(values[place]);
            continue;
        }
        all.push(match slot.ty {
            Type::Term if slot.is_chain => {
                let (inst, value) = make(function, Op::ChainNew, &[]);
                function.regions[region].insts.insert(at, inst);
                value
            }
            Type::Term => *no_cell.get_or_insert_with(|| {
                let (inst, value) = make_no_cell(function);
                function.regions[region].insts.insert(at, inst);
                value
            }),
            number => function.constant(number, 0),
        });
    }
    all
}

/// An instruction that gives a term.
fn make(function: &mut Function, op: Op, operands: &[ValueId]) -> (InstId, ValueId) {
    let inst = function.insts.push(Inst::new(op, None, operands, function.span));
    let value = function.values.push(Value { ty: Type::Term, name: None, def: Def::Result(inst, 0) });
    function.insts[inst].results.push(value);
    (inst, value)
}
fn make_no_cell(function: &mut Function) -> (InstId, ValueId) {
    let [tag, zero] = [IMMEDIATE, 0].map(|number| function.constant(Type::U32, u64::from(number)));
    make(function, Op::TermPack, &[tag, zero])
}

/// Where an instruction stands.
fn place(function: &Function, id: InstId) -> (RegionId, usize) {
    let mut found = (function.body, 0);
    for (region, inner) in function.regions.iter_enumerated() {
        if let Some(at) = inner.insts.iter().position(|inst| *inst == id) {
            found = (region, at);
        }
    }
    found
}

/// What an arm does with words that are there for others: here they name no cells.
fn drops(function: &mut Function, id: InstId, values: impl Iterator<Item = (ValueId, Slot)>) -> Vec<InstId> {
    let span = function.insts[id].span;
    let mut insts = vec![];
    for (mut value, slot) in values.filter(|(_, slot)| slot.ty == Type::Term) {
        if slot.is_chain {
            let (none, no_cell) = make_no_cell(function);
            let zero = function.constant(Type::U32, 0);
            let (end, first) = make(function, Op::ChainEnd, &[value, zero, no_cell]);
            insts.extend([none, end]);
            value = first;
        }
        insts.push(function.insts.push(Inst::new(Op::TermDrop, None, &[value], span)));
    }
    insts
}

fn region_of(function: &mut Function, insts: Vec<InstId>) -> RegionId {
    let region = function.regions.push(Default::default());
    function.regions[region].insts = insts;
    region
}

/// The loop's own `break`s.
fn breaks(function: &Function, region: RegionId) -> Vec<InstId> {
    let mut found = vec![];
    for id in &function.regions[region].insts {
        let inst = &function.insts[*id];
        match inst.op {
            Op::Break => found.push(*id),
            Op::Loop => {}
            _other => inst.regions.iter().for_each(|inner| found.extend(breaks(function, *inner))),
        }
    }
    found
}

/// These instructions with other values for some, as they stand behind the loop.
fn arm(function: &mut Function, insts: Vec<InstId>, new: &FastMap<ValueId, ValueId>) -> Vec<InstId> {
    let mut all = insts.clone();
    for id in &insts {
        for region in &function.insts[*id].regions {
            function.walk(*region, &mut |inner, _| all.push(inner));
        }
    }
    for id in all {
        function.insts[id].operands.iter_mut().for_each(|value| *value = new.get(value).copied().unwrap_or(*value));
    }
    if let Some(last) = insts.last()
        && function.insts[*last].op == Op::Break
    {
        let Inst { operands, span, .. } = &function.insts[*last];
        function.insts[*last] = Inst::new(Op::Yield, None, operands, *span);
    }
    insts
}

/// Puts a choice of these arms behind the loop, the last one for all other numbers; it gives what the loop gave.
fn choose(function: &mut Function, id: InstId, number: ValueId, arms: Vec<RegionId>, old: &[ValueId]) {
    let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[number], function.insts[id].span);
    inst.set(Attr::Cases((1..arms.len() as i64).map(|number| vec![number]).collect()));
    inst.regions.extend(arms);
    inst.results = old.iter().copied().collect();
    let switch = function.insts.push(inst);
    for (i, value) in (0..).zip(old) {
        function.values[*value].def = Def::Result(switch, i);
    }
    let (region, at) = place(function, id);
    function.regions[region].insts.insert(at + 1, switch);
}
