//! Calls: the callee and what it takes, recursion, and writes through the parameters of functions.

use super::names;
use super::structure::Context;
use crate::function::{Def, Function, FunctionId, Inst, InstId, Module, ValueId};
use crate::ops::{Op, Transfer};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use std::collections::HashSet;

/// The calls of each function: the instruction and the callee.
pub(super) type Calls = IndexVec<FunctionId, Vec<(InstId, FunctionId)>>;

/// Checks one call against its callee.
pub(super) fn call(cx: &mut Context<'_>, inst: &Inst) {
    let Some(id) = inst.callee() else { return };
    let Some(callee) = cx.module.functions.get(id) else {
        let message = format!("there is no function {}", id.index());
        return cx.report(Code::IrCall, inst, message, "the module that built the call has lost its callee");
    };
    if callee.launch.is_some() {
        let message = format!("`@{}` is a kernel and cannot be called", callee.name);
        return cx.report(Code::IrCall, inst, message, "move what is shared into a function");
    }
    let mut mismatch = |message: String| {
        let diagnostic = Diagnostic::new(Code::IrCall, inst.span, message).label(callee.span, "defined here");
        cx.found.push(diagnostic.hint("pass what its definition requires"));
    };
    // A join takes the token, and its results are the call's; a fork and a tail call have none of them.
    let arguments: &[ValueId] = if inst.op == Op::Join { &[] } else { &inst.operands };
    let gives = matches!(inst.op, Op::Call | Op::Join);
    if inst.op != Op::Join && callee.params.len() != arguments.len() {
        let asked = names::count(callee.params.len(), "argument");
        mismatch(format!("`@{}` takes {asked}, here are {}", callee.name, arguments.len()));
    }
    if gives && callee.results.len() != inst.results.len() {
        let asked = names::count(callee.results.len(), "result");
        mismatch(format!("`@{}` gives {asked}, here are {}", callee.name, inst.results.len()));
    }
    for (param, argument) in callee.params.iter().zip(arguments) {
        // A callee whose tables do not fit together has been reported already.
        let Some(param) = callee.values.get(*param) else { return };
        let found = cx.ty(*argument);
        if found != param.ty {
            let message =
                format!("{} is `{found}`, but `@{}` takes `{}` here", cx.name(*argument), callee.name, param.ty);
            cx.blame(Code::IrCall, inst, *argument, message, "pass what its definition requires");
        } else if let Def::Param(attrs) = param.def
            && attrs.readonly
            && !cx.function.param_attrs(*argument).readonly
        {
            let message =
                format!("{} may be written, but `@{}` takes a `readonly` one here", cx.name(*argument), callee.name);
            cx.blame(Code::IrCall, inst, *argument, message, "mark it `readonly` too, or leave the callee's mark out");
        }
    }
    for (result, ty) in inst.results.iter().zip(&callee.results).filter(|_| gives) {
        let found = cx.ty(*result);
        if found != *ty {
            let message = format!("`@{}` gives `{ty}`, but {} is `{found}`", callee.name, cx.name(*result));
            cx.report(Code::IrCall, inst, message, "leave the type out, or convert the result");
        }
    }
}

/// All calls of all functions, forked ones and tail calls included, in the text's order.
pub(super) fn of_module(module: &Module) -> Calls {
    let calls_of = |function: &Function| {
        let mut calls = vec![];
        function.walk(function.body, &mut |id, inst| {
            if let (Op::Call | Op::Fork | Op::Tail, Some(callee)) = (inst.op, inst.callee())
                && module.functions.get(callee).is_some()
            {
                calls.push((id, callee));
            }
        });
        calls
    };
    module.functions.iter().map(calls_of).collect()
}

/// Who calls each function.
pub(super) fn callers(calls: &Calls) -> IndexVec<FunctionId, Vec<FunctionId>> {
    let mut callers: IndexVec<FunctionId, Vec<FunctionId>> = calls.iter().map(|_| vec![]).collect();
    for (caller, list) in calls.iter_enumerated() {
        list.iter().for_each(|(_, callee)| callers[*callee].push(caller));
    }
    callers
}

/// All functions that some functions come to by calls, themselves included, each with the one of them from which it was found.
pub(super) fn reached(calls: &Calls, roots: impl Iterator<Item = FunctionId>) -> Vec<(FunctionId, FunctionId)> {
    let mut seen: IndexVec<FunctionId, bool> = calls.iter().map(|_| false).collect();
    let mut order: Vec<(FunctionId, FunctionId)> = roots.map(|root| (root, root)).collect();
    order.iter().for_each(|(id, _)| seen[*id] = true);
    let mut next = 0;
    while let Some((caller, root)) = order.get(next).copied() {
        next += 1;
        for (_, callee) in &calls[caller] {
            if !std::mem::replace(&mut seen[*callee], true) {
                order.push((*callee, root));
            }
        }
    }
    order
}

/// The functions from which calls lead into a cycle: all that are left when those that call nothing more are taken away again and
/// again.
pub(super) fn recursive(calls: &Calls) -> Vec<FunctionId> {
    let ended: HashSet<FunctionId> = callees_first(calls).into_iter().collect();
    calls.ids().filter(|id| !ended.contains(id)).collect()
}

/// The other functions, those that are called before those that call them.
pub(super) fn callees_first(calls: &Calls) -> Vec<FunctionId> {
    let callers = callers(calls);
    let mut waiting: IndexVec<FunctionId, usize> = calls.iter().map(Vec::len).collect();
    let mut ended: Vec<FunctionId> = waiting.ids().filter(|id| waiting[*id] == 0).collect();
    let mut next = 0;
    while let Some(id) = ended.get(next).copied() {
        next += 1;
        for caller in &callers[id] {
            waiting[*caller] -= 1;
            if waiting[*caller] == 0 {
                ended.push(*caller);
            }
        }
    }
    ended
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Reports the calls by which a kernel comes back to a function it is in. Gives whether there are any.
pub(super) fn recursion(module: &Module, found: &mut Vec<Diagnostic>) -> bool {
    let calls = of_module(module);
    let mut marks: IndexVec<FunctionId, Mark> = calls.iter().map(|_| Mark::New).collect();
    let before = found.len();
    for root in module.kernels() {
        let mut path = vec![(root, 0)];
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        while let Some((caller, next)) = path.last_mut() {
            let Some((inst, callee)) = calls[*caller].get(*next).copied() else {
                marks[*caller] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[callee] {
                Mark::Done => {}
                Mark::Open => found.push(recursive_call(module, root, *caller, inst, callee)),
                Mark::New => {
                    marks[callee] = Mark::Open;
                    path.push((callee, 0));
                }
            }
        }
    }
    found.len() > before
}

fn recursive_call(
    module: &Module,
    root: FunctionId,
    caller: FunctionId,
    inst: InstId,
    callee: FunctionId,
) -> Diagnostic {
    let (root, caller, callee) = (&module.functions[root], &module.functions[caller], &module.functions[callee]);
    let span = caller.insts[inst].span;
    let message = format!("the kernel `@{}` calls back to `@{}` by this call", root.name, callee.name);
    Diagnostic::new(Code::IrCall, span, message)
        .label(callee.span, "it is still running")
        .hint("devices have no stack: use a loop with an explicit one in private or shared memory")
}

/// Reports `readonly` memories that are given to functions which write them.
pub(super) fn writes(module: &Module, found: &mut Vec<Diagnostic>) {
    let calls = of_module(module);
    if calls.iter().all(Vec::is_empty) {
        return;
    }
    let mut written: IndexVec<FunctionId, Vec<bool>> = IndexVec::new();
    for function in module.functions.iter() {
        let mut own = vec![false; function.params.len()];
        function.walk(function.body, &mut |_, inst| {
            if inst.op.writes_memory()
                && let Some(i) = inst.operands.first().and_then(|m| function.params.iter().position(|p| p == m))
            {
                own[i] = true;
            }
        });
        written.push(own);
    }
    // What a callee writes its callers write: a memory comes down at most as many calls as there are functions.
    let mut changed = true;
    while changed {
        changed = false;
        for (caller, list) in calls.iter_enumerated() {
            let function = &module.functions[caller];
            for (inst, callee) in list {
                for (i, argument) in function.insts[*inst].operands.iter().enumerate() {
                    let position = function.params.iter().position(|p| p == argument);
                    if written[*callee].get(i) == Some(&true)
                        && let Some(p) = position
                        && !std::mem::replace(&mut written[caller][p], true)
                    {
                        changed = true;
                    }
                }
            }
        }
    }
    for (caller, list) in calls.iter_enumerated() {
        let function = &module.functions[caller];
        for (inst, callee) in list {
            let inst = &function.insts[*inst];
            let given = inst.operands.iter().zip(&written[*callee]);
            for (argument, _) in given.filter(|(a, written)| **written && function.param_attrs(**a).readonly) {
                found.push(written_through(module, function, inst, *argument, *callee));
            }
        }
    }
}

fn written_through(
    module: &Module,
    function: &Function,
    inst: &Inst,
    argument: ValueId,
    callee: FunctionId,
) -> Diagnostic {
    let (name, callee) = (names::value(function, argument), &module.functions[callee]);
    let message = format!("`@{}` writes {name}, which is `readonly`", callee.name);
    Diagnostic::new(Code::IrReadonly, inst.span, message)
        .label(callee.span, "defined here")
        .hint("leave `readonly` out of its parameter")
}

/// Which functions give results that their operands alone decide: they read no memory and no position. Those of the math library are.
pub(super) fn decided_by_operands(module: &Module) -> IndexVec<FunctionId, bool> {
    let mut decided: IndexVec<FunctionId, bool> = module.functions.iter().map(|_| true).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (id, function) in module.functions.iter_enumerated() {
            let mut still = decided[id];
            function.walk(function.body, &mut |_, inst| {
                still &= match inst.callee() {
                    Some(callee) => decided.get(callee).is_some_and(|d| *d),
                    None => matches!(inst.op.row().transfer, Transfer::Operands | Transfer::Regions),
                }
            });
            changed |= std::mem::replace(&mut decided[id], still) != still;
        }
    }
    decided
}
