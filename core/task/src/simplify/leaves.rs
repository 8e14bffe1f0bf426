//! Small functions that compute numbers from numbers, without loops and calls, become part of whoever calls them.
//!
//! Invariant: calls that are forked, and tail calls, stay.

use girih_base::diag::Diagnostic;
use girih_ir::{Function, Module, Op, Type};
use girih_lower::calls::inline;

/// Instructions of such a function at most.
const SMALL: usize = 12;

/// Puts the bodies of such functions where they are called.
pub(super) fn leaves(module: &mut Module) -> Result<(), Diagnostic> {
    inline::calls_of(module, |_, function| is_leaf(function))
}

fn is_leaf(function: &Function) -> bool {
    let is_number = |ty: Type| matches!(ty, Type::U32 | Type::I32 | Type::F32 | Type::BOOL);
    let numbers = function.results.iter().copied().chain(function.params.iter().map(|param| function.ty(*param)));
    let (mut size, mut is_plain) = (0, function.launch.is_none() && numbers.into_iter().all(is_number));
    function.walk(function.body, &mut |_, inst| {
        size += 1;
        is_plain &= inst.op.is_pure() || matches!(inst.op, Op::If | Op::Yield | Op::Return);
    });
    is_plain && size <= SMALL
}
