//! Small functions that work on cells and call nothing become part of whoever calls them.
//!
//! A call of such a function can end a segment, so a loop with one inside goes from segment to segment in each iteration, and lanes that run together drift
//! apart in it. Without the call it is one piece of code, behind which they meet again.

use super::points::leaves_code;
use girih_base::diag::Diagnostic;
use girih_ir::{Function, FunctionId, Module, Op};
use girih_lower::calls::inline;
use std::collections::HashSet;

/// Instructions of such a function at most.
const SMALL: usize = 24;

/// Puts the bodies of leaves where they are called; these functions have frames.
pub(super) fn leaves(module: &mut Module, framed: &HashSet<FunctionId>) -> Result<(), Diagnostic> {
    inline::calls_of(module, |id, function| framed.contains(&id) && is_leaf(function, framed))
}

fn is_leaf(function: &Function, framed: &HashSet<FunctionId>) -> bool {
    let (mut size, mut stays) = (0, true);
    function.walk(function.body, &mut |_, inst| {
        size += 1;
        stays &= inst.op == Op::Return || !leaves_code(inst, framed);
    });
    stays && size <= SMALL
}
