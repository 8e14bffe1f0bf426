//! Warpgroups: 128 neighbouring invocations, which start matrix products together. Which values number them, and that workgroups are made
//! of them.

use super::calls::{self, Calls};
use crate::attrs::Dim;
use crate::function::{Def, Function, FunctionId, Inst, Module, ValueId};
use crate::ops::{Convergence, Op};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;

/// Invocations of a warpgroup.
const WARPGROUP: u64 = 128;
/// Lanes of a subgroup on devices with warpgroups.
const LANES: u64 = 32;

/// Which functions have something for a warpgroup, or call one that has. They are for devices whose invocations are numbered
/// subgroup by subgroup; elsewhere `local_index` says nothing about subgroups.
pub(super) fn speaking(module: &Module, calls: &Calls) -> IndexVec<FunctionId, bool> {
    let own = |function: &Function| {
        let mut some = false;
        function.walk(function.body, &mut |_, inst| some |= is_for_warpgroups(inst));
        some
    };
    let mut speaking: IndexVec<FunctionId, bool> = module.functions.iter().map(own).collect();
    let callers = calls::callers(calls);
    let mut new: Vec<FunctionId> = speaking.ids().filter(|id| speaking[*id]).collect();
    while let Some(id) = new.pop() {
        for caller in &callers[id] {
            if !std::mem::replace(&mut speaking[*caller], true) {
                new.push(*caller);
            }
        }
    }
    speaking
}

/// Whether a warpgroup must reach an instruction together.
fn is_for_warpgroups(inst: &Inst) -> bool {
    inst.op.row().convergence == Convergence::Warpgroup
}

/// Whether an instruction computes a number that all of a warpgroup have: the invocation's divided by a multiple of 128, or the
/// subgroup's by one of 4.
pub(super) fn number(function: &Function, inst: &Inst) -> bool {
    let [x, by] = inst.operands[..] else { return false };
    let divisor = match (inst.op, function.as_constant(by)) {
        (Op::Div, Some(n)) => n,
        (Op::Shr, Some(n)) if n < 32 => 1 << n,
        _no_rule => return false,
    };
    let multiple = |each: u64| divisor > 0 && divisor.saturating_mul(each).is_multiple_of(WARPGROUP);
    invocations(function, x).is_some_and(multiple)
}

/// How many neighbouring invocations have the same value, if it numbers them.
fn invocations(function: &Function, value: ValueId) -> Option<u64> {
    let Def::Result(id, _) = function.values[value].def else { return None };
    let (inst, launch) = (&function.insts[id], function.launch.as_ref());
    let line = launch.is_some_and(|launch| launch.workgroup[1..] == [1, 1]);
    match inst.op {
        Op::LocalIndex => Some(1),
        Op::LocalId if line && inst.dim() == Dim::X => Some(1),
        Op::SubgroupId => Some(launch.and_then(|launch| launch.subgroup).map_or(LANES, u64::from)),
        _no_rule => None,
    }
}

/// Reports kernels that come to something for a warpgroup, but whose workgroup is not made of them.
pub(super) fn whole(module: &Module, found: &mut Vec<Diagnostic>) {
    let calls = calls::of_module(module);
    let speaking = speaking(module, &calls);
    for kernel in module.kernels().filter(|id| speaking[*id]) {
        let Some(launch) = &module.functions[kernel].launch else { continue };
        let count: u64 = launch.workgroup.iter().map(|n| u64::from(*n)).product();
        if count.is_multiple_of(WARPGROUP) {
            continue;
        }
        for (id, _) in calls::reached(&calls, std::iter::once(kernel)) {
            found.extend(partly_there(module, kernel, &module.functions[id], count));
        }
    }
}

/// The first operation of a function that is for more invocations than there are.
fn partly_there(module: &Module, kernel: FunctionId, function: &Function, count: u64) -> Option<Diagnostic> {
    let mut first = None;
    function.walk(function.body, &mut |_, inst| {
        if first.is_none() && is_for_warpgroups(inst) {
            first = Some((inst.op.name(), inst.span));
        }
    });
    let (name, span) = first?;
    let kernel = &module.functions[kernel];
    let message = format!("`{name}` is for {WARPGROUP} invocations at once, but `@{}` has {count}", kernel.name);
    let diagnostic = Diagnostic::new(Code::IrLaunch, span, message).label(kernel.span, "its workgroup is said here");
    Some(diagnostic.hint("make `workgroup` a multiple of 128"))
}
