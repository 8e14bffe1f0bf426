//! Inlining: a call becomes a copy of the callee's body.
//!
//! Calls that pass memory are always inlined, because a device may not pass memory to functions, and so are functions
//! that trap, hold memories of their own, ask for their position in the grid or communicate with other invocations (a device may run invocations
//! one after another, and could not switch to the next within a call). Small functions and functions with one call are inlined because it is faster.

use super::single_exit;
use crate::rewrite::{Compact, Pass, Rewriter};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_ir::ops::Convergence;
use girih_ir::{Attr, Caps, Feature, Function, FunctionId, Inst, InstId, Module, Op, Type, ValueId};

/// A function of at most so many instructions is inlined wherever it is called.
const SMALL: usize = 24;
/// The most instructions of a function with what it calls: functions that call several others each grow without bounds.
pub const MOST: usize = 1 << 20;

/// Inlines calls in all functions, callees before callers.
pub fn run(module: &mut Module, caps: &Caps) -> Result<(), Diagnostic> {
    let calls = count_calls(module);
    let mut done: IndexVec<FunctionId, Calls> = module.functions.iter().map(|_| Calls::Stay).collect();
    for id in callees_first(module) {
        if let Some(function) = copied(&module.functions[id], &module.functions, &done, any)? {
            module.functions[id] = function;
        }
        let function = &module.functions[id];
        if function.launch.is_none() && is_inlined(function, calls[id], caps) {
            done[id] = Calls::of(function)?;
        }
    }
    Ok(())
}

/// Inlines all calls of the functions that fit, callees before callers.
///
/// # Errors
/// If a function would become too large.
pub fn calls_of(module: &mut Module, fits: impl Fn(FunctionId, &Function) -> bool) -> Result<(), Diagnostic> {
    let mut done: IndexVec<FunctionId, Calls> = module.functions.iter().map(|_| Calls::Stay).collect();
    for id in callees_first(module) {
        if let Some(function) = copied(&module.functions[id], &module.functions, &done, any)? {
            module.functions[id] = function;
        }
        if fits(id, &module.functions[id]) {
            done[id] = Calls::of(&module.functions[id])?;
        }
    }
    Ok(())
}

/// Inlines what loops of functions call, and what that calls in turn, where the copies of a function are so many instructions at most: then what does not
/// change in a loop can leave it, and no round has to make a call. Other calls of these functions stay.
pub fn in_loops(module: &mut Module, most: usize) -> Result<(), Diagnostic> {
    // For these calls there are functions of their own.
    let mut own: IndexVec<FunctionId, Option<FunctionId>> = module.functions.iter().map(|_| None).collect();
    let first = module.functions.len();
    let mut next = 0;
    while next < module.functions.len() {
        let id = FunctionId::new(next as u32);
        next += 1;
        // A kernel's own loops go over all that there is to do.
        if module.functions[id].launch.is_some() {
            continue;
        }
        for call in calls_in_loops(&module.functions[id], id.index() >= first) {
            // A loop within another one has been looked at already.
            let callee = module.functions[id].insts[call].callee().filter(|callee| callee.index() < first);
            let Some(callee) = callee else { continue };
            let copy = *own[callee].get_or_insert_with(|| {
                let mut copy = module.functions[callee].clone();
                copy.name = format!("{}..{}", copy.name, module.functions.len()).into();
                module.functions.push(copy)
            });
            module.functions[id].insts[call].set(Attr::Callee(copy));
        }
    }
    let calls = count_calls(module);
    let mut done: IndexVec<FunctionId, Calls> = module.functions.iter().map(|_| Calls::Stay).collect();
    for id in callees_first(module) {
        if let Some(function) = copied(&module.functions[id], &module.functions, &done, any)? {
            module.functions[id] = function;
        }
        let function = &module.functions[id];
        let mut size = 0;
        function.walk(function.body, &mut |_, _| size += 1);
        if id.index() >= first && size * calls[id] <= most {
            done[id] = Calls::of(function)?;
        }
    }
    Ok(())
}

/// Inlines calls that pass a float that is known to be zero, and says whether there were any. Much of such a function goes then; and products
/// with zero have to be seen as such, because drivers inline calls, too, and some take all of these products for zero.
pub(crate) fn of_zeros(module: &mut Module) -> Result<bool, Diagnostic> {
    let mut found = false;
    for id in callees_first(module) {
        let function = &module.functions[id];
        let mut callees = vec![];
        function.walk(function.body, &mut |_, inst| {
            callees.extend(inst.callee().filter(|_| inst.op == Op::Call && passes_zero(function, inst)));
        });
        if callees.is_empty() {
            continue;
        }
        let mut done: IndexVec<FunctionId, Calls> = module.functions.iter().map(|_| Calls::Stay).collect();
        for callee in callees {
            done[callee] = Calls::of(&module.functions[callee])?;
        }
        // Where the copies would be too many, the calls stay.
        if let Ok(Some(function)) = copied(function, &module.functions, &done, passes_zero) {
            module.functions[id] = function;
            found = true;
        }
    }
    Ok(found)
}

/// Whether an operand is a float that is known to be zero, of either sign.
fn passes_zero(function: &Function, call: &Inst) -> bool {
    call.operands.iter().any(|value| {
        let Type::Scalar(scalar) = function.ty(*value) else { return false };
        scalar.is_float() && function.as_constant(*value).is_some_and(|bits| bits & (scalar.mask() >> 1) == 0)
    })
}

/// The calls within the loops of a function, or all of them.
fn calls_in_loops(function: &Function, all: bool) -> Vec<InstId> {
    let mut found = vec![];
    function.walk(function.body, &mut |id, inst| {
        if inst.op == Op::Call && all {
            found.push(id);
        } else if inst.op == Op::Loop && !all {
            let calls = &mut |id, inner: &Inst| found.extend((inner.op == Op::Call).then_some(id));
            function.walk(inst.regions[0], calls);
        }
    });
    found
}

/// A function with the calls inlined that are: `functions` are its callees, in which this was done, and so many `calls` of each there are.
pub(crate) fn function(
    function: Function,
    functions: &IndexVec<FunctionId, Function>,
    calls: &IndexVec<FunctionId, usize>,
    caps: &Caps,
) -> Result<Function, Diagnostic> {
    let mut done: IndexVec<FunctionId, Calls> = functions.iter().map(|_| Calls::Stay).collect();
    let mut callees = vec![];
    function.walk(function.body, &mut |_, inst| callees.extend(inst.callee()));
    for id in callees {
        if matches!(done[id], Calls::Stay) && is_inlined(&functions[id], calls[id], caps) {
            done[id] = Calls::of(&functions[id])?;
        }
    }
    Ok(copied(&function, functions, &done, any)?.unwrap_or(function))
}

/// Which calls of a function are meant.
type Wanted = fn(&Function, &Inst) -> bool;

fn any(_: &Function, _: &Inst) -> bool {
    true
}

/// A copy of a function with copies in place of the calls that are wanted; none if no call changes.
fn copied(
    function: &Function,
    functions: &IndexVec<FunctionId, Function>,
    done: &IndexVec<FunctionId, Calls>,
    wanted: Wanted,
) -> Result<Option<Function>, Diagnostic> {
    let (mut changes, mut size, mut too_large) = (false, function.insts.len(), None);
    function.walk(function.body, &mut |_, inst| {
        let Some(callee) = inst.callee().filter(|_| inst.op == Op::Call && wanted(function, inst)) else { return };
        let Some(body) = done[callee].body(&functions[callee]) else { return };
        changes = true;
        size += body.insts.len();
        if size > MOST && too_large.is_none() {
            let message = format!("`@{}` would have more than {MOST} instructions with what it calls", function.name);
            let hint = "what takes memory, waits for others or may trap is copied to where it is called: call it in a loop instead";
            too_large = Some(Diagnostic::new(Code::OverLimit, inst.span, message).hint(hint));
        }
    });
    match too_large {
        Some(error) => Err(error),
        None if changes => Rewriter::run(function, &mut Inline { functions, done, wanted }).map(Some),
        None => Ok(None),
    }
}

/// What becomes of the calls of a function.
enum Calls {
    /// They stay.
    Stay,
    /// Copies of its body.
    Copy,
    /// Copies of this body.
    CopyOf(Box<Function>),
}

impl Calls {
    /// Copies of this function's body.
    fn of(function: &Function) -> Result<Calls, Diagnostic> {
        let one_exit = single_exit::holds(function);
        Ok(if one_exit { Calls::Copy } else { Calls::CopyOf(Box::new(single_exit::run(function)?)) })
    }

    /// What is copied for a call of this function; none if the call stays.
    fn body<'a>(&'a self, function: &'a Function) -> Option<&'a Function> {
        match self {
            Calls::Stay => None,
            Calls::Copy => Some(function),
            Calls::CopyOf(body) => Some(body),
        }
    }
}

struct Inline<'a> {
    functions: &'a IndexVec<FunctionId, Function>,
    done: &'a IndexVec<FunctionId, Calls>,
    wanted: Wanted,
}

impl Pass for Inline<'_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        inst.op == Op::Call
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let is_wanted = inst.op == Op::Call && (self.wanted)(r.old, inst);
        let Some(id) = inst.callee().filter(|_| is_wanted) else { return Ok(None) };
        let Some(callee) = self.done[id].body(&self.functions[id]) else { return Ok(None) };
        let arguments = r.operands(inst);
        let results = r.splice(callee, &arguments)?;
        Ok(Some(results.into_iter().map(|v| vec![v]).collect()))
    }
}

/// How many calls of each function there are.
pub(crate) fn count_calls(module: &Module) -> IndexVec<FunctionId, usize> {
    let mut calls: IndexVec<FunctionId, usize> = module.functions.iter().map(|_| 0).collect();
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| {
            if let Some(callee) = inst.callee() {
                calls[callee] += 1;
            }
        });
    }
    calls
}

fn is_inlined(function: &Function, calls: usize, caps: &Caps) -> bool {
    let (mut size, mut traps, mut speaks) = (0, false, false);
    function.walk(function.body, &mut |_, inst| {
        let row = inst.op.row();
        size += 1;
        traps |= inst.op == Op::TrapIf;
        speaks |= row.convergence != Convergence::Free || row.needs == Some(Feature::Subgroups);
        // Only the kernel knows how its grid is folded, or gone through in rounds.
        speaks |= inst.op.asks_for_workgroup();
    });
    let takes_memory = function.params.iter().any(|p| matches!(function.ty(*p), Type::Memory(_)));
    let bound = takes_memory || traps || speaks;
    bound || !function.memories.is_empty() || !caps.has(Feature::Calls) || size <= SMALL || calls <= 1
}

/// All functions, each after those it calls. A verified module has no cycles among what kernels call; a cycle elsewhere
/// is left in any order, and its functions keep the calls that close it.
fn callees_first(module: &Module) -> Vec<FunctionId> {
    fn visit(module: &Module, id: FunctionId, seen: &mut IndexVec<FunctionId, bool>, order: &mut Vec<FunctionId>) {
        if std::mem::replace(&mut seen[id], true) {
            return;
        }
        let function = &module.functions[id];
        let mut callees = vec![];
        function.walk(function.body, &mut |_, inst| callees.extend(inst.callee()));
        callees.into_iter().for_each(|callee| visit(module, callee, seen, order));
        order.push(id);
    }
    let mut seen = module.functions.iter().map(|_| false).collect();
    let mut order = vec![];
    module.functions.ids().for_each(|id| visit(module, id, &mut seen, &mut order));
    order
}

impl Rewriter<'_> {
    /// Copies the body of a function with one exit to where the output stands; gives its results.
    fn splice(&mut self, callee: &Function, arguments: &[ValueId]) -> Result<Vec<ValueId>, Diagnostic> {
        let mut inner = Rewriter::continued(callee, self, arguments);
        let result = inner.splice_body();
        inner.give_back(self);
        result
    }

    fn splice_body(&mut self) -> Result<Vec<ValueId>, Diagnostic> {
        self.memories(&mut Compact)?;
        let callee = self.old;
        for id in &callee.regions[callee.body].insts {
            let inst = &callee.insts[*id];
            if inst.op == Op::Return {
                return Ok(self.operands(inst).to_vec());
            }
            self.out.span = inst.span;
            self.copy(&mut Compact, inst)?;
        }
        Ok(vec![])
    }
}
