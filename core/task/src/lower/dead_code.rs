//! What is done to a function when it is written: what is not used goes, and reuse tokens that nothing fills are freed where they arise.

use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, ValueId};
use std::collections::{HashMap, HashSet};

/// All of it.
pub(super) fn tidy(function: &mut Function) {
    while free_inside(function) {}
    free_early(function);
    while remove_unused(function) {}
}

/// Which values are operands of something else than `cell.free`.
fn used(function: &Function) -> HashSet<ValueId> {
    let mut used = HashSet::new();
    function.walk(function.body, &mut |_, inst| {
        if inst.op != Op::CellFree {
            used.extend(&inst.operands);
        }
    });
    used
}

/// Removes instructions without effect whose results nobody needs; whether there were any.
pub(crate) fn remove_unused(function: &mut Function) -> bool {
    let used = used(function);
    let Function { insts, regions, .. } = function;
    let mut removed = false;
    for region in regions.iter_mut() {
        region.insts.retain(|id| {
            let inst = &insts[*id];
            let unused = inst.op.is_pure() && inst.regions.is_empty() && !inst.results.iter().any(|r| used.contains(r));
            removed |= unused;
            !unused
        });
    }
    removed
}

/// A reuse token that a choice gives only to be freed is freed in the arms instead; whether there was one.
fn free_inside(function: &mut Function) -> bool {
    let used = used(function);
    let mut found: Option<(InstId, usize, ValueId)> = None;
    function.walk(function.body, &mut |_, inst| {
        if inst.op == Op::CellFree
            && !used.contains(&inst.operands[0])
            && let Def::Result(choice, position) = function.values[inst.operands[0]].def
            && matches!(function.insts[choice].op, Op::If | Op::Switch)
        {
            found = Some((choice, position as usize, inst.operands[0]));
        }
    });
    let Some((choice, position, token)) = found else { return false };
    let Function { insts, regions, .. } = function;
    for region in regions.iter_mut() {
        region.insts.retain(|id| insts[*id].op != Op::CellFree || insts[*id].operands[0] != token);
    }
    for region in function.insts[choice].regions.clone() {
        free_at_end(function, region, position);
    }
    function.insts[choice].results.remove(position);
    for (i, result) in function.insts[choice].results.clone().into_iter().enumerate() {
        function.values[result].def = Def::Result(choice, i as u32);
    }
    true
}

/// Frees a reuse token that a region yields, instead of yielding it.
fn free_at_end(function: &mut Function, region: RegionId, position: usize) {
    let Some(end) = function.regions[region].insts.last().copied() else { return };
    if function.insts[end].op != Op::Yield {
        return;
    }
    let token = function.insts[end].operands.remove(position);
    let is_none = match function.values[token].def {
        Def::Result(id, _) => function.insts[id].op == Op::TermPack,
        Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => false,
    };
    if !is_none {
        let span = function.insts[end].span;
        let free = function.insts.push(Inst::new(Op::CellFree, None, &[token], span));
        let insts = &mut function.regions[region].insts;
        insts.insert(insts.len() - 1, free);
    }
}

/// Frees the reuse tokens that nothing fills where they are made, and not only where the ways end: what runs between may use the memory.
fn free_early(function: &mut Function) {
    let used = used(function);
    let mut frees: HashMap<ValueId, InstId> = HashMap::new();
    function.walk(function.body, &mut |id, inst| {
        if inst.op == Op::CellFree {
            frees.entry(inst.operands[0]).or_insert(id);
        }
    });
    let is_opened = |token: &ValueId| match function.values[*token].def {
        Def::Result(id, 0) => function.insts[id].op == Op::CellOpen,
        Def::Result(..)
        | Def::Constant(_)
        | Def::Param(_)
        | Def::Specialisation(_)
        | Def::Memory(_)
        | Def::Argument(..) => false,
    };
    frees.retain(|token, _| is_opened(token) && !used.contains(token));
    let insts = &function.insts;
    for region in function.regions.iter_mut() {
        let is_moved = |id: &InstId| insts[*id].op == Op::CellFree && frees.contains_key(&insts[*id].operands[0]);
        if !region.insts.iter().any(|id| is_moved(id) || insts[*id].op == Op::CellOpen) {
            continue;
        }
        let mut ordered = Vec::with_capacity(region.insts.len());
        for id in region.insts.iter().copied().filter(|id| !is_moved(id)) {
            ordered.push(id);
            if insts[id].op == Op::CellOpen {
                ordered.extend(frees.get(&insts[id].results[0]));
            }
        }
        region.insts = ordered;
    }
}
