//! Refuses operations that nothing can replace, before anything is rewritten, so that all such errors of a kernel come at once, in
//! the words of the program.
//!
//! Invariant: a function that passes needs no feature that the device lacks, except emulated ones.

use super::lacks;
use crate::compile;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::attrs::{Order, Precision};
use girih_ir::groups::{
    aggregates, all_positions, arithmetic, atomics, barriers, control, fragments, masks, memory, reductions, scans,
    shuffles, task_form, votes,
};
use girih_ir::types::{CoopUse, MatrixShape};
use girih_ir::{Caps, Feature, Function, Inst, Op, Scalar, Type};

/// Invocations that make a product of warpgroups together.
const WARPGROUP: u32 = 128;

/// All that a device cannot run of a function.
pub(super) fn run(function: &Function, caps: &Caps) -> Vec<Diagnostic> {
    let mut errors: Vec<Diagnostic> = memories(function, caps);
    if let Some(launch) = &function.launch
        && launch.cooperative
        && !caps.has(Feature::CooperativeLaunch)
    {
        errors.push(compile::lacks(Feature::CooperativeLaunch, caps, "`cooperative`", function.span));
    }
    errors.extend(function.params.iter().filter_map(|p| double(function.ty(*p), function.span, caps)));
    function.walk(function.body, &mut |_, inst| errors.extend(instruction(function, inst, caps)));
    if function.launch.is_some() && !caps.has(Feature::Vectors) {
        function.walk(function.body, &mut |_, inst| {
            if matches!(inst.op, masks!()) {
                errors.push(compile::lacks(Feature::Vectors, caps, &format!("`{}`", inst.op.name()), inst.span));
            }
        });
    }
    if errors.is_empty() {
        errors.extend(partly_there(function, caps));
    }
    errors
}

/// Why matrix units cannot be used in a kernel, if its workgroup is no multiple of the invocations that work as one.
fn partly_there(kernel: &Function, caps: &Caps) -> Option<Diagnostic> {
    let invocations: u32 = kernel.launch.as_ref()?.workgroup.iter().product();
    let mut wrong = None;
    kernel.walk(kernel.body, &mut |_, inst| {
        let together = match inst.op {
            fragments!() => caps.subgroup.min,
            Op::Wgmma => WARPGROUP,
            Op::AsyncCopy
            | Op::AsyncCommit
            | Op::AsyncWait
            | Op::MbarrierInit
            | Op::MbarrierArrive
            | Op::MbarrierArriveCopies
            | Op::MbarrierWait
            | Op::MbarrierTest
            | Op::FenceAsync
            | Op::WgmmaFence
            | Op::WgmmaCommit
            | Op::WgmmaWait
            | arithmetic!()
            | girih_ir::tile_operations!()
            | task_form!()
            | memory!()
            | control!()
            | all_positions!()
            | reductions!()
            | scans!()
            | masks!()
            | shuffles!()
            | votes!()
            | aggregates!()
            | barriers!() => 1,
        };
        if wrong.is_none() && !invocations.is_multiple_of(together) {
            let name = inst.op.name();
            let message =
                format!("`{name}` is for {together} invocations at once, but the workgroup has {invocations}");
            let hint = format!("make `workgroup` a multiple of {together}");
            wrong = Some(Diagnostic::new(Code::IrLaunch, inst.span, message).hint(hint));
        }
    });
    wrong
}

fn memories(function: &Function, caps: &Caps) -> Vec<Diagnostic> {
    let mut errors = vec![];
    for memory in function.memories.iter() {
        errors.extend(double(memory.element, function.span, caps));
        if function.as_constant(memory.length).is_none() && !caps.has(Feature::DynamicShared) {
            let what = "shared memory of a length that is chosen at launch";
            errors.push(compile::lacks(Feature::DynamicShared, caps, what, function.span));
        }
    }
    errors
}

/// Why an instruction cannot run, if it cannot.
fn instruction(function: &Function, inst: &Inst, caps: &Caps) -> Option<Diagnostic> {
    let name = || match inst.ty {
        Some(ty) => format!("`{}.{ty}`", inst.op.name()),
        None => format!("`{}`", inst.op.name()),
    };
    let fragment = matches!(inst.op, fragments!());
    if let Some(feature) = inst.op.row().needs
        && !caps.has(feature)
        && (feature != Feature::Subgroups || fragment)
    {
        return Some(compile::lacks(feature, caps, &name(), inst.span));
    }
    if fragment {
        return fragments(function, inst, caps);
    }
    if inst.order() != Order::Relaxed && !caps.has(Feature::OrderedAtomics) {
        return Some(compile::lacks(Feature::OrderedAtomics, caps, &format!("the order of {}", name()), inst.span));
    }
    let wide = matches!(inst.op, atomics!()) && inst.element().bits() == 64;
    if wide && !(caps.has(Feature::Atomic64) && caps.arithmetic.has(inst.element().as_bits())) {
        return Some(compile::lacks(Feature::Atomic64, caps, &name(), inst.span));
    }
    let operands = inst.operands.iter().chain(&inst.results).map(|v| function.ty(*v));
    inst.ty.into_iter().chain(operands).find_map(|ty| double(ty, inst.span, caps))
}

/// Nothing stands for `f64` where a device lacks it.
fn double(ty: Type, span: Span, caps: &Caps) -> Option<Diagnostic> {
    let lacking = ty.element() == Some(Scalar::F64) && !caps.arithmetic.has(Scalar::F64);
    lacking.then(|| lacks(caps, span, "this needs `f64`", "use `f32`, or a device that has 64-bit floats"))
}

/// Fragments are as the device has them or not at all.
fn fragments(function: &Function, inst: &Inst, caps: &Caps) -> Option<Diagnostic> {
    let types = || inst.operands.iter().chain(&inst.results).map(|v| function.ty(*v));
    let known = |of: CoopUse, shape: MatrixShape, scalar: Scalar| {
        let element = |p: &girih_ir::caps::CoopProduct| if of == CoopUse::Acc { p.acc } else { p.factor };
        caps.coop.iter().any(|p| p.shape == shape && element(p) == scalar)
    };
    let lacking = types().find(|ty| matches!(ty, Type::Coop(of, shape, s) if !known(*of, *shape, *s)));
    if let Some(ty) = lacking {
        return Some(lacks(caps, inst.span, &format!("a fragment `{ty}`"), products(caps)));
    }
    let factor = types().find_map(|ty| match ty {
        Type::Coop(CoopUse::A, _, s) => Some(s),
        _ => None,
    });
    if let (Op::CoopMma, Some(Type::Coop(_, shape, acc)), Some(factor)) = (inst.op, inst.ty, factor)
        && !caps.coop.iter().any(|p| (p.shape, p.factor, p.acc, p.precision) == (shape, factor, acc, inst.precision()))
    {
        let how = match inst.precision() {
            Precision::Ieee => "",
            Precision::Tf32 => " rounded to `tf32`",
            Precision::Tf32x3 => " taken as sums of `tf32`",
        };
        let what = format!("a product of `{factor}` fragments{how} added to `{acc}` in {shape}");
        return Some(lacks(caps, inst.span, &what, products(caps)));
    }
    None
}

fn products(caps: &Caps) -> &'static str {
    if caps.coop.is_empty() {
        "this device has no matrix fragments: write the product with loops"
    } else {
        "`girih devices` lists the products that it has"
    }
}
