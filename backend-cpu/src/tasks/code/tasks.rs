//! Forks, joins, globals.
//!
//! In the open version of a function a fork notes the call in the thread's list; the join takes it from there and calls, unless somebody
//! else has it. Within many forked calls that are larger it is not worth it: the call is only made at the join, in the closed version, in
//! which no forked call is noted. A call that is forked *aside* a recursion, such as one for each element of a list, is not larger than what the recursion
//! forks next, which is not within it therefore.

use super::form::{TaskTranslator, branch_away, call, cold_block, context, count, declared, help, invoke, of_context};
use super::{Helper, Result, Version, cells};
use crate::kernels::refused;
use crate::tasks::{context as at, work_stealing};
use crate::translate::{arguments, machine_type, not_legal};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AliasRegion, BlockArg, InstBuilder, MemFlags, StackSlot, StackSlotData, StackSlotKind, Value, types,
};
use cranelift_module::FuncId;
use girih_ir::heap::NO_REUSE_TOKEN;
use girih_ir::{Def, FunctionId, Inst, Op, ValueId};

/// A forked call that is not joined yet.
pub(super) struct Forked {
    token: ValueId,
    /// How many functions are being written where it was forked.
    depth: usize,
    callee: FunctionId,
    state: State,
}

enum State {
    /// It is made when it is joined, with these arguments.
    Later(Vec<Value>),
    /// If the level that it was forked at is below the most, it is noted in this record; if not, it is made when it is joined.
    Noted { slot: StackSlot, level: Value, given: Vec<Value>, is_aside: bool },
    /// It is over.
    Over(Vec<Value>),
}

/// Within how many forked calls another one is too small to be noted.
const LEVELS: i64 = 8;

/// How records are accessed.
fn of_records() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Table))
}

/// `fork`.
pub(super) fn fork(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let (Some(callee), [token]) = (inst.callee(), &inst.results[..]) else { return Err(not_legal(inst)) };
    let given = t.get_all(&inst.operands)?;
    let plan = t.form.plan;
    if plan.variant.count {
        count(t, at::FORKS);
    }
    let state = match plan.tasks.get(&callee) {
        Some(task) if t.form.version == Version::Open => open_fork(t, (callee, *token), *task, &given)?,
        _nobody_takes_it => State::Later(given),
    };
    let depth = t.form.stack.len();
    t.form.forked.push(Forked { token: *token, depth, callee, state });
    Ok(())
}

/// A fork that others may take.
fn open_fork(
    t: &mut TaskTranslator<'_, '_>,
    (callee, token): (FunctionId, ValueId),
    task: FuncId,
    given: &[Value],
) -> Result<State> {
    let function = &t.form.plan.module.functions[callee];
    let slots = function.params.len().max(function.results.len());
    let bytes = work_stealing::SLOTS as u32 + 8 * slots as u32;
    let slot = t.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
    let (note_it, on) = (t.b.create_block(), t.b.create_block());
    let context = context(t);
    let level = t.b.ins().load(types::I32, of_context(), context, at::LEVEL);
    let is_small = t.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, level, LEVELS);
    t.b.ins().brif(is_small, on, &[], note_it, &[]);

    t.b.switch_to_block(note_it);
    let record = t.b.ins().stack_addr(types::I64, slot, 0);
    let task = t.module.declare_func_in_func(task, t.b.func);
    let entry = t.b.ins().func_addr(types::I64, task);
    t.b.ins().store(of_records(), entry, record, work_stealing::ENTRY);
    let nobody = t.b.ins().iconst(types::I64, 0);
    t.b.ins().store(of_records(), nobody, record, work_stealing::WANTED);
    for (i, value) in (0..).zip(given) {
        t.b.ins().store(of_records(), *value, record, work_stealing::SLOTS + 8 * i);
    }
    let is_aside = is_aside(t, token, callee);
    if !is_aside {
        enter_level(t, level);
    }
    note(t, record);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
    Ok(State::Noted { slot, level, given: given.to_vec(), is_aside })
}

/// Whether a call is forked that does not lead back to the function, and the function calls itself, directly or through others, before it is joined.
fn is_aside(t: &TaskTranslator<'_, '_>, token: ValueId, callee: FunctionId) -> bool {
    let (function, groups) = (t.function, &t.form.plan.groups);
    let (Some(here), Def::Result(fork, _)) = (t.form.stack.last(), function.values[token].def) else { return false };
    let is_recursive = |callee: FunctionId| groups[callee] == groups[*here];
    let around = function.regions.iter().find(|region| region.insts.contains(&fork));
    let behind = around.into_iter().flat_map(|region| region.insts.iter().skip_while(|id| **id != fork));
    let mut meanwhile =
        behind.map(|id| &function.insts[*id]).take_while(|inst| !(inst.op == Op::Join && inst.operands[..] == [token]));
    !is_recursive(callee) && meanwhile.any(|inst| inst.op == Op::Call && inst.callee().is_some_and(is_recursive))
}

/// Within many forked calls the closed version of the function goes on.
pub(super) fn close_if_small(t: &mut TaskTranslator<'_, '_>, closed: FuncId, params: &[Value]) {
    let context = context(t);
    let level = t.b.ins().load(types::I32, of_context(), context, at::LEVEL);
    let is_small = t.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, level, LEVELS);
    let away = t.b.create_block();
    branch_away(t, is_small, away);
    let on = t.b.current_block();
    t.b.switch_to_block(away);
    let closed = t.module.declare_func_in_func(closed, t.b.func);
    t.b.ins().return_call(closed, params);
    if let Some(on) = on {
        t.b.switch_to_block(on);
    }
}

/// Puts a record at the end of the thread's list.
fn note(t: &mut TaskTranslator<'_, '_>, record: Value) {
    let context = context(t);
    let top = t.b.ins().load(types::I64, of_context(), context, at::TOP);
    t.b.ins().store(of_records(), record, top, 0);
    let after = t.b.ins().iadd_imm(top, 8);
    t.b.ins().store(of_context(), after, context, at::TOP);
    let hungry = t.b.ins().load(types::I32, of_context(), context, at::HUNGRY);
    let (away, on) = (cold_block(t), t.b.create_block());
    t.b.ins().brif(hungry, away, &[], on, &[]);
    t.b.switch_to_block(away);
    help(t, Helper::Promote, &[]);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
}

/// `join`.
pub(super) fn join(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let [token] = inst.operands[..] else { return Err(not_legal(inst)) };
    let depth = t.form.stack.len();
    let is_wanted = |forked: &Forked| forked.token == token && forked.depth == depth;
    let Some(position) = t.form.forked.iter().rposition(is_wanted) else { return Err(not_legal(inst)) };
    // The list is a stack: what was forked later ends first.
    for later in (position..t.form.forked.len()).rev() {
        let callee = t.form.forked[later].callee;
        let results = match &t.form.forked[later].state {
            State::Noted { slot, level, given, is_aside } => {
                let (slot, level, given, is_aside) = (*slot, *level, given.clone(), *is_aside);
                end(t, inst, callee, slot, (level, &given, is_aside))?
            }
            State::Later(given) => {
                let given = given.clone();
                invoke(t, inst, callee, &given)?
            }
            State::Over(_) => continue,
        };
        t.form.forked[later].state = State::Over(results);
    }
    if let State::Over(results) = t.form.forked.remove(position).state {
        inst.results.iter().zip(results).for_each(|(result, value)| t.set(*result, value));
    }
    Ok(())
}

/// The results of a call that has been noted last, or that is made now with these arguments, in the closed version.
fn end(
    t: &mut TaskTranslator<'_, '_>,
    inst: &Inst,
    callee: FunctionId,
    slot: StackSlot,
    (level, given, is_aside): (Value, &[Value], bool),
) -> Result<Vec<Value>> {
    let function = &t.form.plan.module.functions[callee];
    let span = inst.span;
    let machine = |ty| machine_type(ty).ok_or_else(|| refused(span, &format!("a value of type `{ty}`")));
    let results = function.results.iter().map(|ty| machine(*ty)).collect::<Result<Vec<_>>>()?;
    let (small, noted, on) = (t.b.create_block(), t.b.create_block(), t.b.create_block());
    let values: Vec<Value> = results.iter().map(|ty| t.b.append_block_param(on, *ty)).collect();
    let was_small = t.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, level, LEVELS);
    t.b.ins().brif(was_small, small, &[], noted, &[]);

    t.b.switch_to_block(small);
    let code = declared(t, inst, callee)?.version(Version::Closed);
    let called = call(t, code, given);
    t.b.ins().jump(on, &arguments(&called));

    t.b.switch_to_block(noted);
    let context = context(t);
    let top = t.b.ins().load(types::I64, of_context(), context, at::TOP);
    let top = t.b.ins().iadd_imm(top, -8);
    t.b.ins().store(of_context(), top, context, at::TOP);
    let bottom = t.b.ins().load(types::I64, of_context(), context, at::BOTTOM);
    let is_task = t.b.ins().icmp(IntCC::UnsignedLessThan, top, bottom);
    let (task, call_it, done) = (cold_block(t), t.b.create_block(), cold_block(t));
    t.b.ins().brif(is_task, task, &[], call_it, &[]);

    t.b.switch_to_block(task);
    let record = t.b.ins().stack_addr(types::I64, slot, 0);
    let is_ours = help(t, Helper::Join, &[record]).ok_or_else(|| refused(span, "the runtime joins nothing"))?;
    t.b.ins().brif(is_ours, call_it, &[], done, &[]);

    t.b.switch_to_block(done);
    let record = t.b.ins().stack_addr(types::I64, slot, 0);
    let load = |t: &mut TaskTranslator<'_, '_>, i: i32, ty| {
        t.b.ins().load(ty, of_records(), record, work_stealing::SLOTS + 8 * i)
    };
    let loaded: Vec<Value> = (0..).zip(&results).map(|(i, ty)| load(t, i, *ty)).collect();
    leave_level(t, level);
    t.b.ins().jump(on, &arguments(&loaded));

    t.b.switch_to_block(call_it);
    if is_aside {
        enter_level(t, level);
    }
    let called = invoke(t, inst, callee, given)?;
    leave_level(t, level);
    t.b.ins().jump(on, &arguments(&called));
    t.b.switch_to_block(on);
    Ok(values)
}

/// What comes is within one more forked call.
fn enter_level(t: &mut TaskTranslator<'_, '_>, level: Value) {
    let context = context(t);
    let deeper = t.b.ins().iadd_imm(level, 1);
    t.b.ins().store(of_context(), deeper, context, at::LEVEL);
}

/// What was within a forked call is over.
fn leave_level(t: &mut TaskTranslator<'_, '_>, level: Value) {
    let context = context(t);
    t.b.ins().store(of_context(), level, context, at::LEVEL);
}

/// `global.get`.
pub(super) fn global(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let plan = t.form.plan;
    let id = inst.global().ok_or_else(|| not_legal(inst))?;
    let context = context(t);
    let globals = t.b.ins().load(types::I64, of_context(), context, at::GLOBALS);
    let place = t.b.ins().iadd_imm(globals, 4 * id.index() as i64);
    let word = if plan.variant.parallel {
        t.b.ins().atomic_load(types::I32, MemFlags::trusted(), place)
    } else {
        t.b.ins().load(types::I32, MemFlags::trusted(), place, 0)
    };
    let is_absent = t.b.ins().icmp_imm(IntCC::Equal, word, i64::from(NO_REUSE_TOKEN));
    let (absent, on) = (cold_block(t), t.b.create_block());
    let result = t.b.append_block_param(on, types::I32);
    branch_away(t, is_absent, absent);
    cells::share(t, word);
    t.b.ins().jump(on, &[BlockArg::Value(word)]);

    t.b.switch_to_block(absent);
    let size = size_of::<at::Computing>() as u32;
    let slot = t.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3));
    let node = t.b.ins().stack_addr(types::I64, slot, 0);
    let number = t.b.ins().iconst(types::I32, id.index() as i64);
    help(t, Helper::Compute, &[node, number]);
    let code = declared(t, inst, plan.module.globals[id].function)?.version(Version::Open);
    let computed = call(t, code, &[]);
    let node = t.b.ins().stack_addr(types::I64, slot, 0);
    let [computed] = computed[..] else { return Err(not_legal(inst)) };
    let word = help(t, Helper::Computed, &[node, computed]).unwrap_or(computed);
    t.b.ins().jump(on, &[BlockArg::Value(word)]);
    t.b.switch_to_block(on);
    t.give(inst, result)
}
