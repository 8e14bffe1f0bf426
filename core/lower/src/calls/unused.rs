//! Drops functions that no kernel reaches, such as those that have been inlined everywhere.

use crate::launch::entry::Entry;
use girih_base::idx::IndexVec;
use girih_ir::attrs::Attr;
use girih_ir::{FunctionId, Module};

/// Keeps the functions that the entries reach, in their order, renumbered.
pub(crate) fn run(module: &mut Module, entries: &mut [Entry]) {
    let live = live(module, entries);
    if live.iter().all(|live| *live) {
        return;
    }
    let mut new: IndexVec<FunctionId, Option<FunctionId>> = live.iter().map(|_| None).collect();
    let mut kept = IndexVec::new();
    for (id, function) in live.ids().zip(std::mem::take(&mut module.functions)) {
        if live[id] {
            new[id] = Some(kept.push(function));
        }
    }
    let renumber = |id: FunctionId| new[id].expect("a live function was kept");
    for function in kept.iter_mut() {
        let mut calls = vec![];
        function.walk(function.body, &mut |id, inst| calls.extend(inst.callee().map(|callee| (id, callee))));
        for (id, callee) in calls {
            function.insts[id].set(Attr::Callee(renumber(callee)));
        }
    }
    entries.iter_mut().for_each(|e| e.kernel = renumber(e.kernel));
    module.functions = kept;
}

fn live(module: &Module, entries: &[Entry]) -> IndexVec<FunctionId, bool> {
    let mut stack: Vec<FunctionId> = entries.iter().map(|e| e.kernel).collect();
    let mut live: IndexVec<FunctionId, bool> = module.functions.iter().map(|_| false).collect();
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut live[id], true) {
            stack.extend(module.functions[id].callees());
        }
    }
    live
}
