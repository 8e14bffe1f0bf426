//! Which calls become the callee's code: small functions, and a few levels of small recursive ones, whose own calls are as frequent as
//! what they do.

use super::Plan;
use girih_core::ir::{Function, FunctionId, Module, Op};
use std::collections::BTreeSet;

/// Instructions of a function that is always inlined.
const SMALL: usize = 40;
/// Instructions of a function that is inlined into itself.
const RECURSIVE: usize = 70;
/// How many levels of a recursive function become one.
const LEVELS: usize = 2;
/// How deep other functions are inlined into each other.
const DEPTH: usize = 8;
/// Instructions that may come to a function, and how many times its own.
const ROOM: (usize, usize) = (300, 4);

/// Instructions of a function.
pub(super) fn size(function: &Function) -> usize {
    let mut size = 0;
    function.walk(function.body, &mut |_, _| size += 1);
    size
}

/// Instructions that may come to a function.
pub(super) fn room(size: usize) -> usize {
    ROOM.0 + ROOM.1 * size
}

/// Functions that are forked.
pub(super) fn forked(module: &Module) -> Vec<FunctionId> {
    let mut forked = BTreeSet::new();
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| {
            if inst.op == Op::Fork {
                forked.extend(inst.callee());
            }
        });
    }
    forked.into_iter().collect()
}

/// Whether a call becomes the callee's code where these functions are being written, the outermost first.
pub(super) fn is_worthwhile(plan: &Plan<'_>, stack: &[FunctionId], callee: FunctionId, room: usize) -> bool {
    let size = plan.sizes[callee];
    let copies = stack.iter().filter(|id| **id == callee).count();
    let limit = if copies == 0 { SMALL } else { RECURSIVE };
    size <= limit.min(room) && copies <= LEVELS && stack.len() <= DEPTH
}
