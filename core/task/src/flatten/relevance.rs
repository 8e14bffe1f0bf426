//! Which parameters decide what is done next: what is known of the numbers that others hold is not worth a script of its own.

use girih_base::idx::IndexVec;
use girih_ir::{Def, Function, FunctionId, Inst, Module, Op, RegionId, Type, ValueId};
use std::collections::HashSet;

/// For each function, whether each parameter may decide something.
pub(super) type Relevance = IndexVec<FunctionId, Vec<bool>>;

/// The numbers of functions that have no frames.
type Pure = IndexVec<FunctionId, Option<FunctionId>>;

/// Finds them. What is decided about calls of functions that neither share anything out nor call themselves, each instance can decide on its own: that counts
/// only if `all` does.
pub(super) fn of(module: &Module, pure: &Pure, all: bool) -> Relevance {
    let shares = sharing(module);
    let matters = |callee: FunctionId| pure[callee].is_none() && (all || shares[callee]);
    let mut found: Relevance = module.functions.iter().map(|f| vec![false; f.params.len()]).collect();
    loop {
        let next: Relevance = module.functions.iter().map(|f| deciding(f, &found, &matters)).collect();
        if next == found {
            return found;
        }
        found = next;
    }
}

/// Functions that fork, that may come to call themselves, or that call such.
fn sharing(module: &Module) -> IndexVec<FunctionId, bool> {
    let mut calls: IndexVec<FunctionId, Vec<FunctionId>> = IndexVec::new();
    let mut shares: IndexVec<FunctionId, bool> = IndexVec::new();
    for function in module.functions.iter() {
        let (mut callees, mut forks) = (vec![], false);
        function.walk(function.body, &mut |_, inst| {
            callees.extend(inst.callee());
            forks |= inst.op == Op::Fork;
        });
        calls.push(callees);
        shares.push(forks);
    }
    for id in module.functions.ids() {
        let (mut seen, mut next) = (HashSet::new(), calls[id].clone());
        while let Some(callee) = next.pop() {
            if seen.insert(callee) {
                next.extend(&calls[callee]);
            }
        }
        shares[id] |= seen.contains(&id);
    }
    loop {
        let more = |id: &FunctionId| !shares[*id] && calls[*id].iter().any(|callee| shares[*callee]);
        let found: Vec<FunctionId> = module.functions.ids().filter(more).collect();
        if found.is_empty() {
            return shares;
        }
        found.into_iter().for_each(|id| shares[id] = true);
    }
}

/// Whether a region calls functions that matter.
fn has_calls(function: &Function, region: RegionId, matters: &dyn Fn(FunctionId) -> bool) -> bool {
    let mut has = false;
    function.walk(region, &mut |_, inst| {
        has |= match inst.op {
            Op::Call | Op::Fork | Op::Tail => inst.callee().is_some_and(matters),
            Op::GlobalGet => true,
            _others => false,
        };
    });
    has
}

/// The parameters of one function, as far as those of others are known.
fn deciding(function: &Function, found: &Relevance, matters: &dyn Fn(FunctionId) -> bool) -> Vec<bool> {
    let mut work: Vec<ValueId> = vec![];
    function.walk(function.body, &mut |_, inst| match inst.op {
        // What each instance can choose on its own decides nothing.
        Op::If | Op::Switch if inst.regions.iter().any(|region| has_calls(function, *region, matters)) => {
            work.extend(inst.operands.first());
        }
        Op::Loop if inst.regions.iter().any(|region| has_calls(function, *region, matters)) => {
            for region in &inst.regions {
                function.walk(*region, &mut |_, inner| {
                    if matches!(inner.op, Op::If | Op::Switch | Op::While) {
                        work.extend(inner.operands.first());
                    }
                });
            }
        }
        Op::Call | Op::Fork | Op::Tail => {
            let relevant = inst.callee().map(|callee| &found[callee]).into_iter().flatten();
            work.extend(inst.operands.iter().zip(relevant).filter(|(_, is)| **is).map(|(v, _)| *v));
        }
        _others => {}
    });
    let mut seen: HashSet<ValueId> = HashSet::new();
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        match function.values[value].def {
            Def::Result(id, position) => {
                let inst = &function.insts[id];
                let is_word = function.ty(value) == Type::Term;
                let words = |v: &&ValueId| function.ty(**v) == Type::Term;
                match (inst.op, inst.callee()) {
                    // What a cell is does not depend on numbers, but on those that decide in the callee.
                    (Op::Call | Op::Fork, Some(callee)) if is_word || inst.op == Op::Fork => {
                        let decides = |(i, v): &(usize, &ValueId)| found[callee][*i] || words(v);
                        work.extend(inst.operands.iter().enumerate().filter(decides).map(|(_, v)| *v));
                    }
                    (Op::CellNew | Op::CellFill | Op::CellOpen | Op::CellGet, _) => {
                        work.extend(inst.operands.iter().filter(words));
                    }
                    (Op::If | Op::Switch, _) => {
                        if !is_word || inst.regions.iter().any(|region| has_calls(function, *region, matters)) {
                            work.extend(&inst.operands);
                        }
                        yields(function, inst, position as usize, &mut work);
                    }
                    (Op::Loop, _) => {
                        work.extend(inst.operands.get(position as usize));
                        yields(function, inst, position as usize, &mut work);
                    }
                    _others => work.extend(&inst.operands),
                }
            }
            Def::Argument(region, position) => {
                function.walk(function.body, &mut |_, inst| {
                    if inst.regions.contains(&region) {
                        work.extend(inst.operands.get(position as usize));
                    }
                });
                function.walk(region, &mut |_, inner| match inner.op {
                    Op::Continue => work.extend(inner.operands.get(position as usize)),
                    Op::While => work.extend(inner.operands.get(position as usize + 1)),
                    _others => {}
                });
            }
            Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) => {}
        }
    }
    function.params.iter().map(|param| seen.contains(param)).collect()
}

/// What regions of an instruction give for one of its results.
fn yields(function: &Function, inst: &Inst, position: usize, work: &mut Vec<ValueId>) {
    for region in &inst.regions {
        function.walk(*region, &mut |_, inner| match inner.op {
            Op::Yield | Op::Break | Op::Continue => work.extend(inner.operands.get(position)),
            Op::While => work.extend(inner.operands.get(position + 1)),
            _others => {}
        });
    }
}
