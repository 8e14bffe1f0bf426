//! Functions that are a loop become functions that begin anew: an iteration is a step like any other then.
//!
//! Invariant: the functions give what they gave.

use crate::loops::whole_loop;
use girih_base::name::Name;
use girih_ir::attrs::{Attr, ParamAttrs};
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId};

/// Opens the loops of these functions, if their body is one.
pub(super) fn open_loops(module: &mut Module, which: impl Fn(FunctionId) -> bool) {
    for id in module.functions.ids().filter(|id| which(*id)).collect::<Vec<_>>() {
        if let Some(around) = whole(&module.functions[id]) {
            open(module, id, around);
        }
    }
}

/// The loop that is all of a function, and is repeated by `continue` alone.
fn whole(function: &Function) -> Option<InstId> {
    let around = whole_loop(function)?;
    let mut ends = vec![];
    jumps(function, *function.insts[around].regions.first()?, &mut ends);
    ends.iter().all(|id| function.insts[*id].op != Op::While).then_some(around)
}

/// The instructions in a region that leave its loop, or repeat it.
fn jumps(function: &Function, region: RegionId, found: &mut Vec<InstId>) {
    for id in &function.regions[region].insts {
        let inst = &function.insts[*id];
        match inst.op {
            Op::Break | Op::Continue | Op::While => found.push(*id),
            // Those within are another loop's.
            Op::Loop => {}
            _other => inst.regions.iter().for_each(|inner| jumps(function, *inner, found)),
        }
    }
}

fn open(module: &mut Module, id: FunctionId, around: InstId) {
    let function = &module.functions[id];
    let inst = &function.insts[around];
    let (region, initial, span) = (inst.regions[0], inst.operands.clone(), inst.span);
    let is_same = initial[..] == function.params[..];
    let new = if is_same { id } else { module.functions.next_id() };
    let mut looped = function.clone();
    let mut ends = vec![];
    jumps(&looped, region, &mut ends);
    for end in ends {
        let old = &looped.insts[end];
        let op = if old.op == Op::Break { Op::Return } else { Op::Tail };
        let mut made = Inst::new(op, None, &old.operands, old.span);
        if op == Op::Tail {
            made.set(Attr::Callee(new));
        }
        looped.insts[end] = made;
    }
    looped.body = region;
    looped.params = std::mem::take(&mut looped.regions[region].params);
    for param in looped.params.clone() {
        looped.values[param].def = Def::Param(ParamAttrs::default());
    }
    if is_same {
        module.functions[id] = looped;
        return;
    }
    looped.name = Name::from(format!("{}.loop", looped.name));
    module.functions.push(looped);
    let function = &mut module.functions[id];
    let mut tail = Inst::new(Op::Tail, None, &initial, span);
    tail.set(Attr::Callee(new));
    let tail = function.insts.push(tail);
    function.regions[function.body].insts = vec![tail];
}
