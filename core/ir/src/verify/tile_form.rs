//! Which functions are in tile form, and what follows: a whole program runs them at once, so they know nothing about invocations and
//! access memory only by tile operations.

use super::calls;
use super::task_form::first;
use crate::function::{Function, FunctionId, Module};
use crate::ops::{Family, Op};
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;

/// Which functions are in tile form: those that use its operations or types, that call such a function, or that a kernel in tile form
/// calls. Of a kernel in tile form each workgroup is one program.
pub fn tile_form(module: &Module) -> IndexVec<FunctionId, bool> {
    let calls = calls::of_module(module);
    let mut form: IndexVec<FunctionId, bool> = module.functions.iter().map(|f| own(f).is_some()).collect();
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
    let kernels: Vec<FunctionId> = module.kernels().filter(|id| form[*id]).collect();
    for (id, _) in calls::reached(&calls, kernels.into_iter()) {
        form[id] = true;
    }
    form
}

fn is_tile(ty: Type) -> bool {
    matches!(ty, Type::Tile(_))
}

/// Something of tile form in a function itself: what it is and where it stands.
fn own(function: &Function) -> Option<(String, Span)> {
    // Most functions have neither, which the tables tell without a walk.
    let tiles = function.results.iter().copied().chain(function.values.iter().map(|v| v.ty)).any(is_tile);
    if !tiles && !function.insts.iter().any(|inst| inst.op.row().family == Family::Tile) {
        return None;
    }
    if function.results.iter().copied().any(is_tile) || function.params.iter().any(|p| is_tile(function.ty(*p))) {
        return Some(("a tile".into(), function.span));
    }
    first(function, |function, inst| {
        let tiles = inst.op.row().family == Family::Tile
            || inst.operands.iter().chain(&inst.results).any(|v| is_tile(function.ty(*v)));
        tiles.then(|| format!("`{}`", inst.op.name()))
    })
}

/// Something in a function that tile form does not have.
fn foreign(function: &Function) -> Option<(String, Span)> {
    let possible = |ty: Type| matches!(ty, Type::Scalar(_) | Type::Tile(_) | Type::Memory(_));
    if !function.memories.is_empty() {
        return Some(("a memory of its own".into(), function.span));
    }
    first(function, |function, inst| match inst.op.row().family {
        Family::Sync if matches!(inst.op, Op::WorkgroupId | Op::NumWorkgroups) => None,
        Family::Memory | Family::Sync | Family::Heap | Family::Task | Family::Mask => {
            Some(format!("`{}`", inst.op.name()))
        }
        Family::Control | Family::Scalar | Family::Tile => {
            let values = inst.operands.iter().chain(&inst.results);
            let ty = values.map(|v| function.ty(*v)).find(|ty| !possible(*ty))?;
            Some(format!("a value of type `{ty}`"))
        }
    })
}

/// Holds functions in tile form to what that has. Those in task form have been told so.
pub(super) fn check(module: &Module, task_form: &IndexVec<FunctionId, bool>, found: &mut Vec<Diagnostic>) {
    let form = tile_form(module);
    for (id, function) in module.functions.iter_enumerated().filter(|(id, _)| form[*id] && !task_form[*id]) {
        if let Some((what, span)) = foreign(function) {
            let message = format!("`@{}` is in tile form, which cannot contain {what}", module.functions[id].name);
            let hint = "a program reaches buffers by `tile.load`, `tile.store` and `tile.atomic`, and knows its `workgroup_id` only";
            found.push(Diagnostic::new(Code::IrTileForm, span, message).hint(hint));
        }
    }
}
