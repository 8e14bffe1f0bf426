//! How a function in task form begins, ends and calls. Tail calls of the function itself are jumps to its start.

use super::inline::Countdown;
use super::{Declared, Helper, Result, TranslationInput, Version, calls, cells, frames, tasks};
use crate::kernels::refused;
use crate::tasks::context;
use crate::translate::{Callees, Form, Translator, arguments, machine_type, not_legal};
use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AliasRegion, Block, InstBuilder, MemFlags, TrapCode, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Module as Target};
use girih_ir::{FunctionId, Inst, InstId, Op, Type, ValueId};

/// The end of code that nothing reaches.
const UNREACHABLE: TrapCode = TrapCode::unwrap_user(1);

/// Where a function in task form is.
pub(super) struct TaskForm<'a> {
    pub(super) plan: &'a TranslationInput<'a>,
    pub(super) version: Version,
    /// The functions that are being written, each within the one before.
    pub(super) stack: Vec<FunctionId>,
    /// Where each of the inlined ones goes when it returns; none if that is the end of the outermost one.
    exits: Vec<Option<Block>>,
    /// Where the outermost one begins.
    head: Block,
    /// Instructions that may still be inlined.
    room: usize,
    /// Whether the end of a counted recursion is being written: its calls are written within each other.
    at_bottom: bool,
    /// The frame of a profile that has called it.
    pub(super) caller: Option<Value>,
    /// Forked calls that are not joined yet.
    pub(super) forked: Vec<tasks::Forked>,
}

/// A function on its way.
pub(super) type TaskTranslator<'a, 'b> = Translator<'a, 'b, TaskForm<'a>>;

/// How the context is accessed.
pub(super) fn of_context() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Vmctx))
}

/// Writes a function.
pub(super) fn write(
    plan: &TranslationInput<'_>,
    id: FunctionId,
    version: Version,
    target: &mut dyn Target,
    context: &mut Context,
    builder: &mut FunctionBuilderContext,
) -> Result<()> {
    let function = &plan.module.functions[id];
    let mut b = FunctionBuilder::new(&mut context.func, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let head = b.create_block();
    for param in b.block_params(entry).to_vec() {
        let ty = b.func.dfg.value_type(param);
        b.append_block_param(head, ty);
    }
    let room = plan.inlining.room(id);
    let given = arguments(b.block_params(entry));
    let params = b.block_params(head).to_vec();
    let form = TaskForm {
        plan,
        version,
        stack: vec![id],
        exits: vec![],
        head,
        room,
        at_bottom: false,
        caller: None,
        forked: vec![],
    };
    let none = Callees::default();
    let mut t = Translator::new(b, function, target, &none, form);
    t.form.caller = frames::enter(&mut t, id);
    t.b.ins().jump(head, &given);
    t.b.switch_to_block(head);
    function.params.iter().zip(&params).for_each(|(param, value)| t.set(*param, *value));
    if calls(function) {
        let both = plan.versions[id].filter(|declared| declared.has_both());
        if let (Some(declared), Version::Open) = (both, version) {
            tasks::close_if_small(&mut t, declared.closed, &params);
        }
        let other = both.filter(|_| version == Version::Closed);
        check(&mut t, other.map(|declared| (declared.open, &params[..])))?;
    }
    if plan.variant.count {
        count(&mut t, context::CALLS);
    }
    frames::count_call(&mut t, id);
    if version == Version::Closed
        && plan.profiler.is_none()
        && let Some(countdown) = plan.inlining.countdown(id)
    {
        bottom(&mut t, id, &params, countdown)?;
    }
    t.body()?;
    t.finish();
    Ok(())
}

/// The last levels of a counted recursion, from a known depth on. So nothing is left there of calls, tests and the depth itself.
fn bottom(t: &mut TaskTranslator<'_, '_>, id: FunctionId, params: &[Value], countdown: Countdown) -> Result<()> {
    let Countdown { position, bottom } = countdown;
    let is_there = t.b.ins().icmp_imm(IntCC::Equal, params[position], i64::from(bottom));
    let (here, on) = (t.b.create_block(), t.b.create_block());
    t.b.ins().brif(is_there, here, &[], on, &[]);
    t.b.switch_to_block(here);
    let mut given = params.to_vec();
    given[position] = t.b.ins().iconst(types::I32, i64::from(bottom));
    let room = std::mem::replace(&mut t.form.room, t.form.plan.inlining.room(id));
    t.form.at_bottom = true;
    write_here(t, id, &given, None)?;
    t.form.at_bottom = false;
    t.form.room = room;
    t.b.switch_to_block(on);
    Ok(())
}

/// The thread's context.
pub(super) fn context(t: &mut TaskTranslator<'_, '_>) -> Value {
    t.b.ins().get_pinned_reg(types::I64)
}

/// Adds one to a count.
pub(super) fn count(t: &mut TaskTranslator<'_, '_>, at: i32) {
    let context = context(t);
    let before = t.b.ins().load(types::I64, of_context(), context, at);
    let after = t.b.ins().iadd_imm(before, 1);
    t.b.ins().store(of_context(), after, context, at);
}

/// Calls a function of the runtime.
pub(super) fn help(t: &mut TaskTranslator<'_, '_>, helper: Helper, given: &[Value]) -> Option<Value> {
    let callee = t.module.declare_func_in_func(t.form.plan.helpers[&helper], t.b.func);
    let mut all = vec![context(t)];
    all.extend(given);
    let call = t.b.ins().call(callee, &all);
    t.b.inst_results(call).first().copied()
}

/// A block that is rarely entered.
pub(super) fn cold_block(t: &mut TaskTranslator<'_, '_>) -> Block {
    let block = t.b.create_block();
    t.b.set_cold_block(block);
    block
}

/// A block that is as rarely entered as the one that is being written: what stands beside a cold block is not in the way of the others.
pub(super) fn block(t: &mut TaskTranslator<'_, '_>) -> Block {
    let is_cold = t.b.current_block().is_some_and(|current| t.b.func.layout.is_cold(current));
    if is_cold { cold_block(t) } else { t.b.create_block() }
}

/// Goes to a block if the condition holds, else on.
pub(super) fn branch_away(t: &mut TaskTranslator<'_, '_>, condition: Value, away: Block) {
    let on = block(t);
    t.b.ins().brif(condition, away, &[], on, &[]);
    t.b.switch_to_block(on);
}

/// Looks whether there is stack left, whether the run is to end, and whether another thread has nothing to do: then the other version of
/// the function goes on.
fn check(t: &mut TaskTranslator<'_, '_>, other: Option<(FuncId, &[Value])>) -> Result<()> {
    let context = context(t);
    let limit = if other.is_some() { context::OPENING } else { context::LIMIT };
    let limit = t.b.ins().load(types::I64, of_context(), context, limit);
    let here = t.b.ins().get_stack_pointer(types::I64);
    let low = t.b.ins().icmp(IntCC::UnsignedLessThan, here, limit);
    let (away, on) = (cold_block(t), t.b.create_block());
    t.b.ins().brif(low, away, &[], on, &[]);
    t.b.switch_to_block(away);
    let function = t.form.stack.last().map_or(0, |id| id.index() as i64);
    let function = t.b.ins().iconst(types::I32, function);
    let opens = t.b.ins().iconst(types::I32, i64::from(other.is_some()));
    let is_asked = help(t, Helper::Look, &[function, opens]);
    match (other, is_asked) {
        (Some((other, params)), Some(is_asked)) => {
            let change = cold_block(t);
            t.b.ins().brif(is_asked, change, &[], on, &[]);
            t.b.switch_to_block(change);
            let other = t.module.declare_func_in_func(other, t.b.func);
            t.b.ins().return_call(other, params);
        }
        _no_other => {
            t.b.ins().jump(on, &[]);
        }
    }
    t.b.switch_to_block(on);
    Ok(())
}

fn trap_if(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let condition = t.get(inst.operands[0])?;
    let away = cold_block(t);
    branch_away(t, condition, away);
    let on = t.b.current_block();
    t.b.switch_to_block(away);
    let code = t.b.ins().iconst(types::I32, i64::from(inst.code()));
    help(t, Helper::Trap, &[code]);
    t.b.ins().trap(UNREACHABLE);
    if let Some(on) = on {
        t.b.switch_to_block(on);
    }
    Ok(())
}

/// Calls a function with these arguments, or writes it here.
pub(super) fn invoke(
    t: &mut TaskTranslator<'_, '_>,
    inst: &Inst,
    id: FunctionId,
    given: &[Value],
) -> Result<Vec<Value>> {
    if is_inlined(t, id, given) {
        let exit = exit_of(t, id)?;
        write_here(t, id, given, Some(exit))?;
        t.b.switch_to_block(exit);
        return Ok(t.b.block_params(exit).to_vec());
    }
    let callee = declared(t, inst, id)?.version(t.form.version);
    let inlining = &t.form.plan.inlining;
    match inlining
        .entrance(t.form.stack[0], id)
        .filter(|_| t.form.version == Version::Closed && !frames::is_apart(t.form.plan, id))
    {
        Some(count) => {
            let exit = exit_of(t, id)?;
            if enter_here(t, id, given, exit, count)? {
                let called = call(t, callee, given);
                t.b.ins().jump(exit, &arguments(&called));
            }
            t.b.switch_to_block(exit);
            Ok(t.b.block_params(exit).to_vec())
        }
        None => Ok(call(t, callee, given)),
    }
}

/// A block that takes what a function gives.
fn exit_of(t: &mut TaskTranslator<'_, '_>, id: FunctionId) -> Result<Block> {
    let exit = t.b.create_block();
    for result in &t.form.plan.module.functions[id].results {
        let ty = machine(t, *result)?;
        t.b.append_block_param(exit, ty);
    }
    Ok(exit)
}

/// The code of a function.
pub(super) fn declared(t: &TaskTranslator<'_, '_>, inst: &Inst, id: FunctionId) -> Result<Declared> {
    t.form.plan.versions.get(id).copied().flatten().ok_or_else(|| not_legal(inst))
}

/// Calls code.
pub(super) fn call(t: &mut TaskTranslator<'_, '_>, callee: FuncId, given: &[Value]) -> Vec<Value> {
    let callee = t.module.declare_func_in_func(callee, t.b.func);
    let call = t.b.ins().call(callee, given);
    t.b.inst_results(call).to_vec()
}

pub(super) fn machine(t: &TaskTranslator<'_, '_>, ty: Type) -> Result<cranelift_codegen::ir::Type> {
    machine_type(ty).ok_or_else(|| refused(t.function.span, &format!("a value of type `{ty}`")))
}

fn is_inlined(t: &TaskTranslator<'_, '_>, id: FunctionId, given: &[Value]) -> bool {
    let inlining = &t.form.plan.inlining;
    let Some(declared) = t.form.plan.versions.get(id).copied().flatten() else { return false };
    if frames::is_apart(t.form.plan, id) {
        return false;
    }
    // In an open version, calls in which others are noted cost more than calling.
    let is_open = t.form.version == Version::Open && declared.has_both();
    let room = if is_open { 0 } else { t.form.room };
    if t.form.at_bottom && id == t.form.stack[0] {
        let depth = inlining.countdown(id).and_then(|countdown| t.known(*given.get(countdown.position)?));
        return depth.is_some() && room > 0;
    }
    inlining.is_worthwhile(&t.form.stack, id, room)
}

/// Writes a function where the builder stands; `return` goes to the exit.
fn write_here<'a>(t: &mut TaskTranslator<'a, '_>, id: FunctionId, given: &[Value], exit: Option<Block>) -> Result<()> {
    let plan: &'a TranslationInput<'a> = t.form.plan;
    t.form.room = t.form.room.saturating_sub(plan.inlining.size(id));
    let function = &plan.module.functions[id];
    let outer = t.suspend(function);
    t.form.stack.push(id);
    t.form.exits.push(exit);
    function.params.iter().zip(given).for_each(|(param, value)| t.set(*param, *value));
    t.body()?;
    t.form.exits.pop();
    t.form.stack.pop();
    t.resume(outer);
    Ok(())
}

/// Writes so many instructions that a function begins with; where it returns goes to the exit. Whether it may go on.
fn enter_here<'a>(
    t: &mut TaskTranslator<'a, '_>,
    id: FunctionId,
    given: &[Value],
    exit: Block,
    count: usize,
) -> Result<bool> {
    let plan: &'a TranslationInput<'a> = t.form.plan;
    let function = &plan.module.functions[id];
    let outer = t.suspend(function);
    t.form.exits.push(Some(exit));
    function.params.iter().zip(given).for_each(|(param, value)| t.set(*param, *value));
    let goes_on = t.beginning(count)?;
    t.form.exits.pop();
    t.resume(outer);
    Ok(goes_on)
}

/// `tail`.
fn tail(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let id = inst.callee().ok_or_else(|| not_legal(inst))?;
    let given = t.get_all(&inst.operands)?;
    if let Some(exit) = t.form.exits.last().copied().flatten() {
        let results = invoke(t, inst, id, &given)?;
        t.b.ins().jump(exit, &arguments(&results));
    } else if id == t.form.stack[0] {
        t.b.ins().jump(t.form.head, &arguments(&given));
    } else if is_inlined(t, id, &given) {
        write_here(t, id, &given, None)?;
    } else {
        let callee = declared(t, inst, id)?.version(t.form.version);
        let callee = t.module.declare_func_in_func(callee, t.b.func);
        frames::leave(t);
        t.b.ins().return_call(callee, &given);
    }
    Ok(())
}

impl<'a> Form<'a> for TaskForm<'a> {
    fn barrier(t: &mut Translator<'a, '_, Self>, _: InstId, _: usize) -> Result<()> {
        Err(refused(t.function.span, "a barrier outside of kernels"))
    }
    fn position(t: &mut Translator<'a, '_, Self>, _: &Inst) -> Result<Value> {
        Err(refused(t.function.span, "a position outside of kernels"))
    }
    fn outside(t: &mut Translator<'a, '_, Self>, _: &Inst, _: ValueId, _: Value, _: Value) -> Result<()> {
        Err(refused(t.function.span, "a memory outside of kernels"))
    }
    fn hidden(_: &mut Translator<'a, '_, Self>, _: FunctionId) -> Result<Vec<Value>> {
        Ok(vec![])
    }
    fn leave(t: &mut Translator<'a, '_, Self>, results: &[Value]) -> Result<()> {
        match t.form.exits.last().copied().flatten() {
            Some(exit) => t.b.ins().jump(exit, &arguments(results)),
            None => {
                frames::leave(t);
                t.b.ins().return_(results)
            }
        };
        Ok(())
    }
    fn poll(t: &mut Translator<'a, '_, Self>, _: &Inst) -> Result<()> {
        check(t, None)?;
        frames::count_turn(t);
        Ok(())
    }
    fn call(t: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<()> {
        let id = inst.callee().ok_or_else(|| not_legal(inst))?;
        let given = t.get_all(&inst.operands)?;
        let results = invoke(t, inst, id, &given)?;
        inst.results.iter().zip(results).for_each(|(result, value)| t.set(*result, value));
        Ok(())
    }
    fn task(t: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::TrapIf => trap_if(t, inst),
            Op::Tail => tail(t, inst),
            Op::Fork => tasks::fork(t, inst),
            Op::Join => tasks::join(t, inst),
            Op::GlobalGet => tasks::global(t, inst),
            Op::CellNew
            | Op::CellGet
            | Op::CellLayout
            | Op::CellOpen
            | Op::CellFill
            | Op::CellFree
            | Op::ChainNew
            | Op::ChainGrow
            | Op::ChainEnd
            | Op::TermShare
            | Op::TermDrop
            | Op::TermPack
            | Op::TermTag
            | Op::TermPayload => cells::operation(t, inst),
            _others => Err(not_legal(inst)),
        }
    }
}
