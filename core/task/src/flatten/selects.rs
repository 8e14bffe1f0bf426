//! If-conversion: choices between a few operations become operations of both and selections of the results (Allen, Kennedy, Porterfield, Warren 1983).
//!
//! What a choice gives is needed by nobody yet if its condition waits for calls. A selection can wait with them, so that other calls are made together with
//! these: `if x > y { x } else { y }` behind two calls of a recursion would have each pair of calls made alone.
//!
//! Invariant: each function gives what it gave. What owns a cell is consumed on one way alone, so choices that give or touch such stay.

use girih_ir::ops::Family;
use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, Type, ValueId};
use girih_lower::simplify::is_cheap;

/// Weights of the operations of both ways at most.
const MOST: usize = 16;
/// What a division weighs, or a function of the library, where an addition weighs one.
const SLOW: usize = 8;

/// Converts all choices of a function of which that is true.
pub(super) fn select(function: &mut Function) {
    region(function, function.body);
}

fn region(function: &mut Function, id: RegionId) {
    let mut insts = vec![];
    for inst in std::mem::take(&mut function.regions[id].insts) {
        for inner in function.insts[inst].regions.clone() {
            region(function, inner);
        }
        match is_short(function, &function.insts[inst]) {
            true => convert(function, inst, &mut insts),
            false => insts.push(inst),
        }
    }
    function.regions[id].insts = insts;
}

fn is_scalar(ty: Type) -> bool {
    matches!(ty, Type::BOOL | Type::U32 | Type::I32 | Type::F32)
}

/// Whether both ways of a choice are a few operations that can be done in any case.
fn is_short(function: &Function, inst: &Inst) -> bool {
    if inst.op != Op::If || !inst.results.iter().all(|result| is_scalar(function.ty(*result))) {
        return false;
    }
    let mut weight = 0;
    for arm in &inst.regions {
        let Some((end, others)) = function.regions[*arm].insts.split_last() else { return false };
        if function.insts[*end].op != Op::Yield {
            return false;
        }
        for id in others {
            let inner = &function.insts[*id];
            let touches = matches!(inner.op.row().family, Family::Heap | Family::Task);
            if !inner.op.is_pure() || touches || !inner.regions.is_empty() {
                return false;
            }
            weight += if is_cheap(function, *id) { 1 } else { SLOW };
        }
    }
    weight <= MOST
}

/// Puts both ways before the selections of what they give.
fn convert(function: &mut Function, choice: InstId, insts: &mut Vec<InstId>) {
    let Inst { operands, results, regions, span, .. } = function.insts[choice].clone();
    let mut given: Vec<Vec<ValueId>> = vec![];
    for arm in &regions {
        let mut all = std::mem::take(&mut function.regions[*arm].insts);
        let end = all.pop().map(|end| function.insts[end].operands.to_vec());
        given.push(end.unwrap_or_default());
        insts.append(&mut all);
    }
    let [then, otherwise] = &given[..] else { unreachable!("a choice has two ways") };
    for ((result, x), y) in results.iter().zip(then).zip(otherwise) {
        let mut inst = Inst::new(Op::Select, Some(function.ty(*result)), &[operands[0], *x, *y], span);
        inst.results.push(*result);
        let id = function.insts.push(inst);
        function.values[*result].def = Def::Result(id, 0);
        insts.push(id);
    }
}

/// Whether a function is at most so many operations that give one word each: it can be done where it is called, and wait there.
pub(super) fn is_straight(function: &Function, most: usize) -> bool {
    let insts = &function.regions[function.body].insts;
    let is_word = |value: &ValueId| is_scalar(function.ty(*value)) || function.ty(*value) == Type::Term;
    let is_one = |id: &InstId| {
        let inst = &function.insts[*id];
        let gives_one = inst.op == Op::Return || inst.results.len() == 1;
        gives_one && inst.regions.is_empty() && inst.operands.iter().chain(&inst.results).all(is_word)
    };
    insts.len() <= most && function.params.iter().all(is_word) && insts.iter().all(is_one)
}
