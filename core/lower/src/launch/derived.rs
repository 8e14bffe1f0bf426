//! Derived parameters: values that a kernel's `launch` region defines become parameters that the host computes.

use super::entry::{Entry, LaunchScalar, Slot};
use girih_base::hash::FastSet;
use girih_ir::{Def, Function, ParamAttrs, ValueId};

/// Takes the `launch` region away; values of it that the body uses become parameters at the end.
pub(crate) fn run(kernel: &mut Function, entry: &mut Entry) {
    let Some(prologue) = kernel.launch.as_mut().and_then(|launch| launch.prologue.take()) else { return };
    let mut used: FastSet<ValueId> = FastSet::default();
    kernel.walk(kernel.body, &mut |_, inst| used.extend(&inst.operands));
    used.extend(kernel.memories.iter().map(|m| m.length));
    let insts = std::mem::take(&mut kernel.regions[prologue].insts);
    for (position, inst) in insts.into_iter().enumerate() {
        // The terminator has no results; a pure instruction has one.
        for result in kernel.insts[inst].results.clone() {
            if used.contains(&result) {
                kernel.values[result].def = Def::Param(ParamAttrs::default());
                kernel.params.push(result);
                entry.slots.push(Slot::Scalar(LaunchScalar::Derived(position)));
            }
        }
    }
}
