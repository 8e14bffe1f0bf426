//! The values that enter and leave regions: how many regions an instruction holds, which terminator may appear where, and whether
//! yields, breaks, continues and returns give what the instruction, the loop and the function require.

use super::structure::Context;
use super::{calls, names};
use crate::attrs::Attr;
use crate::function::{Inst, InstId, RegionId, ValueId};
use crate::groups::{
    aggregates, arithmetic, by_element, cells, effects_and_positions, jumps, masks, memory, of_kernels, other_control,
    regions, whole_tiles,
};
use crate::ops::Op;
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};

/// Checks an instruction; `around` is the innermost loop, `launch` whether it stands in a `launch` region.
pub(super) fn check(cx: &mut Context<'_>, id: InstId, inst: &Inst, around: Option<&Inst>, launch: bool) {
    match inst.op {
        Op::If => arms(cx, inst, 2),
        Op::Switch => arms(cx, inst, cases(inst).len() + 1),
        Op::Loop => looped(cx, inst),
        by_element!() => {}
        op @ (whole_tiles!() | effects_and_positions!() | arithmetic!() | jumps!() | other_control!()) => {
            if !inst.regions.is_empty() {
                let message = format!("`{}` has no regions, here are {}", op.name(), inst.regions.len());
                cx.report(
                    Code::IrCount,
                    inst,
                    message,
                    "only `if`, `switch`, `loop` and what works by element hold regions",
                );
            }
        }
    }
    match inst.op {
        Op::Call | Op::Fork | Op::Join | Op::Tail => calls::call(cx, inst),
        Op::Yield => yielded(cx, id, inst),
        Op::Break => {
            if let Some(around) = in_loop(cx, inst, around) {
                gives(cx, inst, &inst.operands, &types(cx, &around.results), around, "the loop gives");
            }
        }
        Op::Continue => {
            if let Some(around) = in_loop(cx, inst, around) {
                next_iteration(cx, inst, &inst.operands, around);
            }
        }
        Op::While => {
            if let Some(around) = in_loop(cx, inst, around) {
                next_iteration(cx, inst, inst.operands.get(1..).unwrap_or(&[]), around);
                gives_parameters(cx, inst, around);
            }
        }
        Op::Return => returned(cx, inst, launch),
        Op::Grid if launch => {}
        Op::Grid => {
            let hint = "write `launch { .. grid x, y, z }` before the body";
            cx.report(Code::IrTerminator, inst, "`grid` is outside a `launch` region", hint);
        }
        Op::TrapIf
        | arithmetic!()
        | of_kernels!()
        | crate::tile_operations!()
        | memory!()
        | cells!()
        | masks!()
        | aggregates!()
        | regions!() => {}
    }
}

/// The values of each region of a switch but the last.
pub(super) fn cases(inst: &Inst) -> &[Vec<i64>] {
    inst.attrs.iter().find_map(|a| if let Attr::Cases(cases) = a { Some(&cases[..]) } else { None }).unwrap_or(&[])
}

fn types(cx: &Context<'_>, values: &[ValueId]) -> Vec<Type> {
    values.iter().map(|v| cx.ty(*v)).collect()
}

fn arms(cx: &mut Context<'_>, inst: &Inst, regions: usize) {
    if inst.regions.len() != regions {
        let (name, regions) = (names::operation(inst), names::count(regions, "region"));
        let message = format!("{name} has {regions}, here are {}", inst.regions.len());
        let hint = "an `if` has two regions, and a `switch` has one for each `case` and one for the `default`";
        cx.report(Code::IrCount, inst, message, hint);
    }
    let has_parameters = |r: &RegionId| !cx.function.regions[*r].params.is_empty();
    if inst.regions.iter().any(has_parameters) {
        let message = format!("a region of {} has parameters", names::operation(inst));
        cx.report(Code::IrCount, inst, message, "only the region of a loop has parameters");
    }
}

fn looped(cx: &mut Context<'_>, inst: &Inst) {
    let [region] = inst.regions[..] else {
        let message = format!("`loop` has 1 region, here are {}", inst.regions.len());
        return cx.report(Code::IrCount, inst, message, "put the whole iteration into one region");
    };
    let carried = types(cx, &cx.function.regions[region].params);
    gives(cx, inst, &inst.operands, &carried, inst, "the loop carries");
}

fn in_loop<'a>(cx: &mut Context<'_>, inst: &Inst, around: Option<&'a Inst>) -> Option<&'a Inst> {
    if around.is_none() {
        let message = format!("`{}` is outside a loop", inst.op.name());
        cx.report(
            Code::IrTerminator,
            inst,
            message,
            "end the region of an `if` or `switch` with `yield`, a body with `return`",
        );
    }
    around
}

fn next_iteration(cx: &mut Context<'_>, inst: &Inst, given: &[ValueId], around: &Inst) {
    let [region] = around.regions[..] else { return };
    let carried = types(cx, &cx.function.regions[region].params);
    gives(cx, inst, given, &carried, around, "the loop carries");
}

/// A loop that ends by `while` gives its parameters.
fn gives_parameters(cx: &mut Context<'_>, inst: &Inst, around: &Inst) {
    let [region] = around.regions[..] else { return };
    let carried = types(cx, &cx.function.regions[region].params);
    let results = types(cx, &around.results);
    if carried != results {
        let diagnostic = Diagnostic::new(
            Code::IrCount,
            inst.span,
            "`while` leaves the loop with its parameters, but the loop's results are others",
        );
        let what = format!("carries {} and gives {}", list(&carried), list(&results));
        let hint = "let the loop give its parameters, or leave it by `break`";
        cx.found.push(diagnostic.label(around.span, what).hint(hint));
    }
}

fn list(types: &[Type]) -> String {
    if types.is_empty() {
        return "nothing".into();
    }
    types.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ")
}

fn yielded(cx: &mut Context<'_>, id: InstId, inst: &Inst) {
    let parent = cx.form.region_of(id).and_then(|region| cx.form.owner(region)).map(|id| &cx.function.insts[id]);
    if let Some(parent) = parent.filter(|p| p.op.is_by_element()) {
        let elements: Vec<Type> = parent.results.iter().filter_map(|v| cx.ty(*v).element()).map(Type::Scalar).collect();
        let what = format!("the `{}` gives elements of", parent.op.name());
        return gives(cx, inst, &inst.operands, &elements, parent, &what);
    }
    let Some(parent) = parent.filter(|p| matches!(p.op, Op::If | Op::Switch)) else {
        let hint = "a loop's region ends with `break`, `continue` or `while`, a body with `return`";
        return cx.report(Code::IrTerminator, inst, "`yield` ends only regions of `if` and `switch`", hint);
    };
    let what = format!("the `{}` gives", parent.op.name());
    gives(cx, inst, &inst.operands, &types(cx, &parent.results), parent, &what);
}

fn returned(cx: &mut Context<'_>, inst: &Inst, launch: bool) {
    if launch {
        return cx.report(
            Code::IrTerminator,
            inst,
            "`return` is inside a `launch` region",
            "end it with `grid x, y, z`",
        );
    }
    let function = cx.function;
    if function.results.len() != inst.operands.len() {
        let (asked, given) = (names::count(function.results.len(), "value"), inst.operands.len());
        let message = format!("`@{}` returns {asked}, here are {given}", function.name);
        let diagnostic = Diagnostic::new(Code::IrCount, inst.span, message).label(function.span, "defined here");
        return cx.found.push(diagnostic.hint("give a value for each result after `->`; kernels return nothing"));
    }
    for (value, ty) in inst.operands.iter().zip(&function.results) {
        let given = cx.ty(*value);
        if given != *ty && !matches!(ty, Type::Memory(_)) && !handle(cx, inst, *value) {
            let message = format!("{} is `{given}`, but `@{}` returns `{ty}`", cx.name(*value), function.name);
            cx.blame(Code::IrType, inst, *value, message, "convert it, or change the result's type");
        }
    }
}

/// Whether the values that an instruction gives fit the types that are asked for.
fn gives(cx: &mut Context<'_>, inst: &Inst, given: &[ValueId], asked: &[Type], asker: &Inst, what: &str) {
    if given.len() != asked.len() {
        let message =
            format!("`{}` has {}, but {what} {}", inst.op.name(), names::count(given.len(), "value"), asked.len());
        let mut diagnostic = Diagnostic::new(Code::IrCount, inst.span, message);
        if asker.span != inst.span {
            diagnostic = diagnostic.label(asker.span, format!("this `{}`", asker.op.name()));
        }
        return cx.found.push(diagnostic.hint("give one value for each"));
    }
    for (value, ty) in given.iter().zip(asked) {
        let found = cx.ty(*value);
        // A memory that is asked for has been reported where it is.
        if !matches!(ty, Type::Memory(_)) && !handle(cx, inst, *value) && found != *ty {
            let message = format!("{} is `{found}`, but {what} `{ty}` at this place", cx.name(*value));
            cx.blame(Code::IrType, inst, *value, message, "convert it to the required type");
        }
    }
}

/// Refuses a memory among values that regions give or get.
fn handle(cx: &mut Context<'_>, inst: &Inst, value: ValueId) -> bool {
    let is_handle = matches!(cx.ty(value), Type::Memory(_));
    if is_handle {
        let message = format!("`{}` gives {}, which is a memory and not a value", inst.op.name(), cx.name(value));
        let hint = "give the index instead, or access each memory in a region of its own";
        cx.blame(Code::IrHandle, inst, value, message, hint);
    }
    is_handle
}
