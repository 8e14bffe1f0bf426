//! Which frame of a profile runs. Code of a function with a label goes to its frame when it begins, and back to its caller's when it ends.
//!
//! Invariant: where a function with a label ends, by a return or by a tail call, the frame that it was called in runs again.

use super::form::{TaskTranslator, cold_block, help};
use super::{Helper, TranslationInput};
use crate::tasks::profile::{self, Profiler};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value, types};
use girih_ir::{Function, FunctionId, Op};
use girih_runtime::Label;

/// How a function is booked, if that is to be found out and it has a label.
pub(super) fn label<'a>(plan: &TranslationInput<'a>, id: FunctionId) -> Option<(&'a Profiler, Label)> {
    let profiler = plan.profiler?;
    Some((profiler, profiler.label(id.index())?))
}

/// Whether a function must be code of its own, because it is booked.
pub(super) fn is_apart(plan: &TranslationInput<'_>, id: FunctionId) -> bool {
    label(plan, id).is_some()
}

fn current(t: &mut TaskTranslator<'_, '_>, profiler: &Profiler) -> Value {
    let place = t.b.ins().iconst(types::I64, profiler.place());
    t.b.ins().load(types::I64, MemFlags::trusted(), place, 0)
}

fn go_to(t: &mut TaskTranslator<'_, '_>, profiler: &Profiler, frame: Value) {
    let place = t.b.ins().iconst(types::I64, profiler.place());
    t.b.ins().store(MemFlags::trusted(), frame, place, 0);
}

/// A function begins: its frame runs. Gives the one that has called it.
pub(super) fn enter(t: &mut TaskTranslator<'_, '_>, id: FunctionId) -> Option<Value> {
    let (profiler, label) = label(t.form.plan, id)?;
    let caller = current(t, profiler);
    let slot = profile::cached(label.number);
    let cached = t.b.ins().load(types::I64, MemFlags::trusted(), caller, slot);
    let is_other = t.b.ins().icmp_imm(IntCC::NotEqual, cached, i64::from(label.number) + 1);
    let (away, there, on) = (cold_block(t), t.b.create_block(), t.b.create_block());
    t.b.ins().brif(is_other, away, &[], there, &[]);
    t.b.switch_to_block(away);
    let number = t.b.ins().iconst(types::I32, i64::from(label.number));
    help(t, Helper::Enter, &[number]);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(there);
    let frame = t.b.ins().load(types::I64, MemFlags::trusted(), caller, slot + profile::CACHED_FRAME);
    go_to(t, profiler, frame);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
    Some(caller)
}

/// A function ends, or a tail call of its begins: the frame that it was called in runs again.
pub(super) fn leave(t: &mut TaskTranslator<'_, '_>) {
    if let (Some(profiler), Some(caller)) = (t.form.plan.profiler, t.form.caller) {
        go_to(t, profiler, caller);
    }
}

/// Whether each call of itself is a turn of a loop that the function is.
fn is_loop(function: &Function) -> bool {
    function.regions[function.body].insts.iter().any(|id| function.insts[*id].op == Op::Loop)
}

/// Counts a call of the function that begins, also where a tail call of itself begins it again.
pub(super) fn count_call(t: &mut TaskTranslator<'_, '_>, id: FunctionId) {
    if let Some((profiler, Label { is_call: true, .. })) = label(t.form.plan, id)
        && !is_loop(t.function)
    {
        count(t, profiler, profile::CALLS);
    }
}

/// A turn of a loop begins. If calls of the function itself have become the loop, it is one of them.
pub(super) fn count_turn(t: &mut TaskTranslator<'_, '_>) {
    if let [id] = t.form.stack[..]
        && let Some((profiler, Label { is_call: true, .. })) = label(t.form.plan, id)
        && is_loop(t.function)
    {
        count(t, profiler, profile::CALLS);
    }
}

/// Counts a cell.
pub(super) fn count_cell(t: &mut TaskTranslator<'_, '_>) {
    if let Some(profiler) = t.form.plan.profiler {
        count(t, profiler, profile::CELLS);
    }
}

fn count(t: &mut TaskTranslator<'_, '_>, profiler: &Profiler, at: i32) {
    let frame = current(t, profiler);
    let before = t.b.ins().load(types::I64, MemFlags::trusted(), frame, at);
    let after = t.b.ins().iadd_imm(before, 1);
    t.b.ins().store(MemFlags::trusted(), after, frame, at);
}
