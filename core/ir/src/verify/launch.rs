//! Parameters and the launch record: what a function may take and give, how a kernel may be launched, and what the host can run of
//! its `launch` region.

use super::names;
use super::structure::Context;
use super::types::is_possible;
use crate::eval;
use crate::function::{Def, Inst, Launch, ValueId};
use crate::ops::{Family, Op};
use crate::types::{Space, Type};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::collections::HashSet;

/// Checks parameters, results and the launch record.
pub(super) fn signature(cx: &mut Context<'_>) {
    let function = cx.function;
    if function.name.as_str().is_empty() {
        report(cx, Code::IrName, "the name is empty".into(), "callers and devices know a function by its name");
    }
    for param in &function.params {
        parameter(cx, *param);
    }
    for ty in &function.results {
        if matches!(ty, Type::Memory(_)) {
            let message = format!("`@{}` returns a memory, which is not a value", function.name);
            report(cx, Code::IrHandle, message, "return the index instead");
        } else if !is_possible(*ty) {
            report(
                cx,
                Code::IrType,
                format!("`@{}` cannot return `{ty}`", function.name),
                "see the types in the reference",
            );
        }
    }
    if let Some(launch) = &function.launch {
        if !function.results.is_empty() {
            let message = format!("the kernel `@{}` returns something", function.name);
            report(cx, Code::IrLaunch, message, "store it to a buffer");
        }
        record(cx, launch);
    }
}

fn report(cx: &mut Context<'_>, code: Code, message: String, hint: &str) {
    report_at(cx, Span::NONE, code, message, hint);
}

/// Reports something about a place in the signature, or about the function's name if the place is not known.
fn report_at(cx: &mut Context<'_>, place: Span, code: Code, message: String, hint: &str) {
    let span = if place.is_none() { cx.function.span } else { place };
    cx.found.push(Diagnostic::new(code, span, message).hint(hint));
}

fn parameter(cx: &mut Context<'_>, param: ValueId) {
    let (ty, attrs) = (cx.ty(param), cx.function.param_attrs(param));
    let name = cx.name(param);
    let kernel = cx.function.launch.is_some();
    let place = cx.function.span_of(param);
    let mut wrong = |message: String, hint: &str| report_at(cx, place, Code::IrParameter, message, hint);
    if kernel && !matches!(ty, Type::Scalar(_) | Type::Memory(Space::Global)) {
        let message = format!("{name} is `{ty}`, which no launch can give");
        return wrong(message, "kernels take buffers and scalars; declare shared memory in the body");
    }
    if !is_possible(ty) {
        return wrong(format!("{name} cannot be of type `{ty}`"), "see the types in the reference");
    }
    let integer = matches!(ty, Type::Scalar(s) if s.is_integer());
    if attrs.divisible > 1 && !integer {
        let message = format!("{name} is `{ty}`, and `divisible` belongs to integers");
        wrong(message, "leave it out");
    }
    if attrs.borrowed && ty != Type::Term {
        let message = format!("{name} is `{ty}`, and `borrowed` belongs to terms");
        wrong(message, "leave it out");
    }
    let memory = matches!(ty, Type::Memory(_));
    if !memory && (attrs.align != 0 || attrs.readonly || attrs.noalias) {
        let message = format!("{name} is `{ty}`, and `align`, `readonly` and `noalias` belong to memories");
        wrong(message, "leave them out");
    } else if attrs.align != 0 && !(attrs.align.is_power_of_two() && attrs.align <= 256) {
        let message = format!("{name} cannot be aligned to {} bytes", attrs.align);
        wrong(message, "alignment of buffers is a power of two up to 256");
    }
}

fn record(cx: &mut Context<'_>, launch: &Launch) {
    let ([x, y, z], places) = (launch.workgroup, launch.places);
    if launch.workgroup.contains(&0) || x.checked_mul(y).and_then(|xy| xy.checked_mul(z)).is_none() {
        let message = format!("a workgroup of {x} x {y} x {z} invocations is not possible");
        report_at(
            cx,
            places.workgroup,
            Code::IrLaunch,
            message,
            "each dimension is at least 1, and most devices allow 256 or 1024 in all",
        );
    }
    if let Some(n) = launch.subgroup
        && !(n.is_power_of_two() && n <= 128)
    {
        report_at(
            cx,
            places.subgroup,
            Code::IrLaunch,
            format!("a subgroup of {n} lanes is not possible"),
            "its width is a power of two up to 128",
        );
    }
    if let Some(n) = launch.registers
        && !(16..=255).contains(&n)
    {
        report_at(
            cx,
            places.registers,
            Code::IrLaunch,
            format!("{n} registers an invocation are not possible"),
            "give 16 to 255, or leave it out",
        );
    }
    specialisations(cx, launch);
    if let Some(traps) = launch.traps {
        let is_buffer =
            matches!(cx.function.values[traps].def, Def::Param(_)) && cx.ty(traps) == Type::Memory(Space::Global);
        if !is_buffer {
            report(
                cx,
                Code::IrLaunch,
                "traps are noted in a value that is no buffer".into(),
                "it is a parameter of the kernel",
            );
        }
    }
}

fn specialisations(cx: &mut Context<'_>, launch: &Launch) {
    let mut seen = HashSet::new();
    for spec in &launch.specialisations {
        let (ty, name, place) = (cx.ty(spec.value), cx.name(spec.value), cx.function.span_of(spec.value));
        match ty {
            Type::Scalar(s) if spec.default & !s.mask() != 0 => {
                let message = format!("the default of {name} is not a `{ty}`");
                report_at(cx, place, Code::IrConstant, message, "its bits are zero above the type's width");
            }
            Type::Scalar(_) => {}
            _ => report_at(
                cx,
                place,
                Code::IrLaunch,
                format!("{name} is `{ty}`, but constants are scalars"),
                "give it a scalar type",
            ),
        }
        if let Some(text) = &cx.function.values[spec.value].name
            && !seen.insert(text.clone())
        {
            report_at(
                cx,
                place,
                Code::IrRepeated,
                format!("{name} appears twice"),
                "callers name specialisation constants; rename one",
            );
        }
    }
}

/// Checks an instruction of a `launch` region: arithmetic on scalars, and `grid`.
pub(super) fn instruction(cx: &mut Context<'_>, inst: &Inst) {
    let scalar = |v: &ValueId| matches!(cx.ty(*v), Type::Scalar(_));
    if !is_arithmetic(inst.op) && inst.op != Op::Grid && inst.op != Op::Return {
        let message = format!("{} cannot be run by the host", names::operation(inst));
        cx.report(Code::IrLaunch, inst, message, "a `launch` region has arithmetic on scalars, and ends with `grid`");
    } else if !inst.operands.iter().chain(&inst.results).all(scalar) {
        let message = format!("{} is not about scalars, so the host cannot run it", names::operation(inst));
        cx.report(Code::IrLaunch, inst, message, "a `launch` region uses only the scalar parameters");
    }
}

/// Checks that the host knows what an instruction of a `launch` region gives, whose operands have the right types: it has no math
/// library, and what native approximations give is the device's own.
pub(super) fn meaning(cx: &mut Context<'_>, inst: &Inst) {
    let Some(source) = inst.operands.last().map(|v| cx.ty(*v)) else { return };
    let (true, Type::Scalar(source)) = (is_arithmetic(inst.op), source) else { return };
    if eval::function(inst.op, inst.element(), source).is_none() {
        let message = format!("{} cannot be run by the host, which has no math library", names::operation(inst));
        cx.report(Code::IrLaunch, inst, message, "compute it in the kernel's body, or pass it as a parameter");
    }
}

fn is_arithmetic(op: Op) -> bool {
    op.row().family == Family::Scalar && op.is_pure()
}
