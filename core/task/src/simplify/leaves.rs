//! Small functions that compute numbers from numbers, without loops and calls, become part of whoever calls them, at the end of a function as well.
//!
//! Invariant: calls that are forked stay.

use crate::loops::add_results;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::{Function, FunctionId, Inst, Module, Op, Type};
use girih_lower::calls::inline;

/// Instructions of such a function at most.
const SMALL: usize = 12;

/// Puts the bodies of such functions where they are called.
pub(super) fn leaves(module: &mut Module) -> Result<(), Diagnostic> {
    let is_one: IndexVec<FunctionId, bool> = module.functions.iter().map(is_leaf).collect();
    for function in module.functions.iter_mut() {
        call_at_the_end(function, &is_one);
    }
    inline::calls_of(module, |_, function| is_leaf(function))
}

/// Ends with what a call of such a function gives, instead of with the function.
fn call_at_the_end(function: &mut Function, is_one: &IndexVec<FunctionId, bool>) {
    let mut ends = vec![];
    function.walk(function.body, &mut |id, inst| {
        ends.extend((inst.op == Op::Tail && inst.callee().is_some_and(|callee| is_one[callee])).then_some(id));
    });
    for id in ends {
        let (mut call, span) = (function.insts[id].clone(), function.insts[id].span);
        call.op = Op::Call;
        let call = function.insts.push(call);
        let types = function.results.clone();
        let given = add_results(function, call, &types);
        function.insts[id] = Inst::new(Op::Return, None, &given, span);
        for region in function.regions.iter_mut().filter(|region| region.insts.last() == Some(&id)) {
            region.insts.insert(region.insts.len() - 1, call);
        }
    }
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
