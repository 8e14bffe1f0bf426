//! Rewrites what a device lacks in terms of what it has, or refuses it by name.
//!
//! Each pass is a file. Every function goes through all passes in this order, including math routines that a pass calls. A pass may
//! write operations that a later pass rewrites, never operations that an earlier pass has removed.
//!
//! | pass | afterwards |
//! |---|---|
//! | [`refuse`] | (what nothing can replace is an error) |
//! | [`params`] | a kernel's numbers are 32-bit words, or 64-bit numbers that the device has |
//! | [`subgroups`] | communication is on 32-bit words, or through shared memory |
//! | [`storage`] | memory is accessed as what the device can store; its atomic operations ([`atomics`]) are those that the device has |
//! | [`scalarise`] | arithmetic is on scalars; vectors stay around memory |
//! | [`library`] | the math library is calls |
//! | [`floats`] | short floats that the device lacks are their bits in a `u32`; rounding is right |
//! | [`short_integers`] | integers of 8 and 16 bits are 32-bit ones of the same value |
//! | [`int64`] | integers of 64 bits that the device lacks are two words |
//! | [`integers`] | shifts, divisions and bit operations are defined where the device's own are |
//! | [`f16_rounding`] | numbers rounded to `f16` stay rounded, whatever the device does with conversions |
//! | [`limits`] | (checks sizes) |
//!
//! Invariant: the legal module gives the same results as the original, on every input, up to each operation's numeric class. [`check()`] defines
//! "legal".

#[macro_use]
mod groups;
mod atomics;
mod check;
mod convert;
mod emit;
mod emulated;
mod f16_rounding;
mod floats;
mod int64;
mod integers;
mod legal_routines;
mod library;
pub(super) mod limits;
mod params;
mod refuse;
mod routines;
mod scalarise;
mod short_integers;
pub mod split;
mod storage;
mod subgroups;
mod word_packing;

pub use check::check;

use super::rewrite::{Pass, Rewriter};
use crate::calls::unused;
use crate::launch::entry::Entry;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::ops::Uniformity;
use girih_ir::verify::uniformity;
use girih_ir::{Caps, Feature, Function, FunctionId, Module, Op, Scalar, Type};
use routines::Routines;
use subgroups::SubgroupPlan;

/// Makes the kernels of `entries` and what they call legal for a device; what they do not reach is dropped.
///
/// Kernels come without `launch` region, specialisation constants, `trap_if` and folded grids: these are the loader's
/// part. An entry's slots follow its parameters.
pub fn run(module: &mut Module, entries: &mut [Entry], caps: &Caps) -> Result<(), Vec<Diagnostic>> {
    unused::run(module, entries);
    let mut errors = vec![];
    for entry in entries.iter_mut() {
        errors.extend(limits::launch(&module.functions[entry.kernel], caps));
        params::run(&mut module.functions[entry.kernel], &mut entry.slots, caps);
    }
    for function in module.functions.iter() {
        errors.extend(refuse::run(function, caps));
    }
    let mut plans = vec![];
    for (id, function) in module.functions.iter_enumerated() {
        let plan = subgroups::plan(function, caps, |one| reached_together(module, id, one));
        plans.push(plan.unwrap_or_else(|error| {
            errors.push(error);
            SubgroupPlan::None
        }));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    errors.extend(all(module, &plans, caps, caps.has(Feature::Vectors)));
    for entry in entries.iter() {
        errors.extend(limits::memory(&module.functions[entry.kernel], caps));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    // One look at each instruction, after passes that write each anew. Whatever these missed would come out wrong.
    let missed = check(module, caps);
    debug_assert!(missed.is_empty(), "legalised, but not legal: {missed:#?}");
    if missed.is_empty() { Ok(()) } else { Err(missed) }
}

/// Makes the functions of a module legal that are in task form or that those call. Kernels stay as they are.
pub fn tasks(module: &mut Module, caps: &Caps) -> Result<(), Vec<Diagnostic>> {
    let is_kernel = |function: &Function| function.launch.is_some() || !function.memories.is_empty();
    let mut errors: Vec<Diagnostic> =
        module.functions.iter().filter(|f| !is_kernel(f)).flat_map(|function| refuse::run(function, caps)).collect();
    errors.extend(all(module, &[], caps, caps.has(Feature::Vectors)));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Makes arithmetic on vectors arithmetic on their elements, in functions that no device runs: a vector is as many values, wherever it
/// stands.
pub fn lane_by_lane(module: &mut Module) -> Result<(), Diagnostic> {
    let caps = Caps::web();
    let routines = Routines::new(&caps, module.functions.len());
    let mut cx = Context { caps: &caps, routines, keeps_regs: false, keeps_vectors: false };
    let is_kernel = |function: &Function| function.launch.is_some() || !function.memories.is_empty();
    for function in module.functions.iter_mut().filter(|f| !is_kernel(f)) {
        if function.values.iter().any(|value| matches!(value.ty, Type::Vector(..))) {
            let whole = std::mem::replace(function, Function::new("", Span::NONE));
            *function = pass(whole, &mut scalarise::Scalarise { cx: &mut cx })?;
        }
    }
    Ok(())
}

/// All passes over all functions, the first ones by these plans for subgroups; gives the errors.
fn all(module: &mut Module, plans: &[SubgroupPlan], caps: &Caps, keeps_vectors: bool) -> Vec<Diagnostic> {
    let mut errors = vec![];
    let mut cx = Context {
        caps,
        routines: Routines::new(caps, module.functions.len()),
        keeps_regs: module.functions.iter().any(|f| uses(f, Op::Wgmma)),
        keeps_vectors,
    };
    for id in module.functions.ids() {
        let plan = plans.get(id.index()).copied().unwrap_or(SubgroupPlan::None);
        let function = std::mem::replace(&mut module.functions[id], Function::new("", Span::NONE));
        match legalise(function, &mut cx, plan) {
            Ok(function) => module.functions[id] = function,
            Err(error) => errors.push(error),
        }
        module.functions[id].simplified = false;
    }
    for routine in cx.routines.take() {
        module.functions.push(routine);
    }
    errors
}

/// What all passes know.
#[derive(Debug)]
struct Context<'a> {
    /// The device.
    caps: &'a Caps,
    /// The math library, as far as the module has it.
    routines: Routines<'a>,
    /// Whether register arrays stay together: matrix products take them.
    keeps_regs: bool,
    /// Whether arithmetic on vectors of four 32-bit numbers stays as it is.
    keeps_vectors: bool,
}

impl Context<'_> {
    /// Whether the device computes with a scalar as it is.
    fn native(&self, scalar: Scalar) -> bool {
        self.caps.arithmetic.has(scalar)
    }
}

/// All passes over one function.
fn legalise(function: Function, cx: &mut Context<'_>, plan: SubgroupPlan) -> Result<Function, Diagnostic> {
    let function = subgroups::run(function, cx, plan)?;
    let function = storage::run(function, cx)?;
    let function = pass(function, &mut scalarise::Scalarise { cx })?;
    let function = pass(function, &mut library::Library { cx })?;
    let function = pass(function, &mut floats::Floats { cx })?;
    let function = pass(function, &mut short_integers::Narrow)?;
    let function = pass(function, &mut int64::Wide { cx })?;
    let function = pass(function, &mut integers::Integers { cx })?;
    f16_rounding::run(function, cx)
}

/// One pass over a function, if it has something to do there.
fn pass(function: Function, pass: &mut dyn Pass) -> Result<Function, Diagnostic> {
    let mut concerned = function.values.iter().any(|value| pass.types(value.ty) != (value.ty, 1));
    if !concerned {
        function.walk(function.body, &mut |_, inst| concerned |= pass.concerns(&function, inst));
    }
    if concerned { Rewriter::run(&function, pass) } else { Ok(function) }
}

/// Whether all invocations of a workgroup reach the subgroup operations of a function together, if the workgroup `is_one`
/// subgroup or if it is several.
fn reached_together(module: &Module, id: FunctionId, is_one: bool) -> bool {
    let levels = uniformity::analyse(module, id);
    let enough = if is_one { Uniformity::Subgroup } else { Uniformity::Workgroup };
    let function = &module.functions[id];
    let mut all = true;
    function.walk(function.body, &mut |inst, i| all &= !subgroups::concerns(i.op) || levels.control(inst) <= enough);
    all
}

/// Whether a function has an operation.
fn uses(function: &Function, op: Op) -> bool {
    let mut found = false;
    function.walk(function.body, &mut |_, inst| found |= inst.op == op);
    found
}

/// An error for what a device lacks; `what` is a clause.
fn lacks(caps: &Caps, span: Span, what: &str, hint: &str) -> Diagnostic {
    let message = format!("{what}, which the device profile `{}` does not have", caps.name);
    Diagnostic::new(Code::NeedsFeature, span, message).hint(hint)
}
