//! Which functions are in task form, and what follows: no kernel reaches them, and they have no memory, no positions and no operations that a
//! workgroup does together.

use super::calls;
use crate::function::{Function, FunctionId, Inst, Module};
use crate::ops::{Family, Op};
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;

/// Which functions are in task form: those that use its operations or types, that come back to themselves, or that call such a
/// function. Kernels never are.
pub fn task_form(module: &Module) -> IndexVec<FunctionId, bool> {
    let calls = calls::of_module(module);
    let mut form: IndexVec<FunctionId, bool> =
        module.functions.iter().map(|f| f.launch.is_none() && own(f).is_some()).collect();
    for global in module.globals.iter().filter(|g| module.functions.get(g.function).is_some()) {
        form[global.function] = true;
    }
    for id in calls::recursive(&calls) {
        form[id] = true;
    }
    let callers = calls::callers(&calls);
    let mut order: Vec<FunctionId> = form.ids().filter(|id| form[*id]).collect();
    let mut next = 0;
    while let Some(id) = order.get(next).copied() {
        next += 1;
        for caller in &callers[id] {
            if !std::mem::replace(&mut form[*caller], true) {
                order.push(*caller);
            }
        }
    }
    for kernel in module.kernels() {
        form[kernel] = false;
    }
    form
}

/// Something of task form in a function itself: what it is and where it stands.
fn own(function: &Function) -> Option<(String, Span)> {
    let term = |ty: &Type| *ty == Type::Term;
    if function.results.iter().any(term) || function.params.iter().any(|p| term(&function.ty(*p))) {
        return Some(("a `term`".into(), function.span));
    }
    first(function, |_, inst| match inst.op.row().family {
        Family::Heap | Family::Task => Some(format!("`{}`", inst.op.name())),
        Family::Control | Family::Scalar | Family::Mask | Family::Memory | Family::Sync | Family::Tile => None,
    })
}

/// Something in a function that task form does not have.
fn foreign(function: &Function) -> Option<(String, Span)> {
    let possible = |ty: Type| matches!(ty, Type::Scalar(_) | Type::Vector(..) | Type::Term | Type::Token);
    if let Some(param) = function.params.iter().find(|p| !possible(function.ty(**p))) {
        return Some((format!("a parameter of type `{}`", function.ty(*param)), function.span));
    }
    if !function.memories.is_empty() {
        return Some(("a memory of its own".into(), function.span));
    }
    first(function, |function, inst| match inst.op.row().family {
        Family::Memory | Family::Sync | Family::Tile => Some(format!("`{}`", inst.op.name())),
        Family::Control | Family::Scalar | Family::Heap | Family::Task | Family::Mask => {
            // What is forked waits in words.
            let fits = |ty: &Type| {
                possible(*ty) && !(matches!(ty, Type::Vector(..)) && matches!(inst.op, Op::Fork | Op::Join))
            };
            let values = inst.operands.iter().chain(&inst.results);
            let ty = values.map(|v| function.ty(*v)).find(|ty| !fits(ty))?;
            Some(format!("a value of type `{ty}`"))
        }
    })
}

/// The first instruction of which something can be said.
pub(super) fn first(function: &Function, say: impl Fn(&Function, &Inst) -> Option<String>) -> Option<(String, Span)> {
    let mut found = None;
    function.walk(function.body, &mut |_, inst| {
        if found.is_none() {
            found = say(function, inst).map(|what| (what, inst.span));
        }
    });
    found
}

/// Holds kernels and functions in task form apart.
pub(super) fn check(module: &Module, form: &IndexVec<FunctionId, bool>, found: &mut Vec<Diagnostic>) {
    let calls = calls::of_module(module);
    for kernel in module.kernels() {
        let reached = calls::reached(&calls, [kernel].into_iter());
        let first =
            reached.iter().find_map(|(id, _)| own(&module.functions[*id]).map(|(what, span)| (*id, what, span)));
        if let Some((id, what, span)) = first {
            let message =
                format!("the kernel `@{}` comes to {what}, which devices do not have", module.functions[kernel].name);
            let diagnostic = Diagnostic::new(Code::IrTaskForm, span, message);
            let diagnostic =
                if id == kernel { diagnostic } else { diagnostic.label(module.functions[kernel].span, "this kernel") };
            found.push(diagnostic.hint("terms, cells and forks are for functions that no kernel reaches"));
        }
    }
    for (id, caller) in calls::reached(&calls, form.ids().filter(|id| form[*id])) {
        let function = &module.functions[id];
        if let Some((what, span)) = foreign(function) {
            let message = format!("`@{}` is run in task form, which cannot contain {what}", function.name);
            let mut diagnostic = Diagnostic::new(Code::IrTaskForm, span, message);
            if caller != id {
                let what = format!("`@{}` is in task form and reaches it", module.functions[caller].name);
                diagnostic = diagnostic.label(module.functions[caller].span, what);
            }
            found.push(
                diagnostic.hint("task form has numbers, short vectors, terms and cells only; keep data in cells"),
            );
        }
    }
    tails(module, found);
}

/// A tail call gives what the function gives.
fn tails(module: &Module, found: &mut Vec<Diagnostic>) {
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| {
            let Some(callee) = inst.callee().and_then(|id| module.functions.get(id)) else { return };
            if inst.op == Op::Tail && callee.results != function.results {
                let message = format!("`@{}` does not give what `@{}` gives", callee.name, function.name);
                let diagnostic = Diagnostic::new(Code::IrCall, inst.span, message).label(callee.span, "defined here");
                found.push(diagnostic.hint("use `call`, and return what this function gives"));
            }
        });
    }
}
