//! How functions are called from outside of code, and the runtime's from inside.

use super::Result;
use crate::kernels::refused;
use crate::tasks::runtime_calls::Helper;
use crate::translate::machine_type;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlags, Signature, Type as Machine, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module as Target};
use girih_ir::{Function, Type};

/// The signature of an [`Entry`](super::Entry): context, arguments, results.
fn entry_signature(target: &dyn Target) -> Signature {
    let mut signature = Signature::new(target.isa().default_call_conv());
    signature.params.extend([AbiParam::new(types::I64); 3]);
    signature
}

/// Declares the entry of a function.
pub(super) fn declare(target: &mut dyn Target, function: &Function) -> Result<FuncId> {
    let signature = entry_signature(target);
    target.declare_anonymous_function(&signature).map_err(|e| refused(function.span, &e.to_string()))
}

/// How many slots a value takes between the host and code: a vector one for each lane.
pub(in crate::tasks) fn slots(ty: Type) -> usize {
    match ty {
        Type::Vector(_, lanes) => lanes.into(),
        Type::Scalar(_)
        | Type::Regs(..)
        | Type::Coop(..)
        | Type::Tile(_)
        | Type::Token
        | Type::Term
        | Type::Memory(_) => 1,
    }
}

/// Reads a value from its slots.
fn read(b: &mut FunctionBuilder<'_>, ty: Machine, from: Value, slot: i32) -> Value {
    if !ty.is_vector() {
        return b.ins().load(ty, MemFlags::trusted(), from, 8 * slot);
    }
    let first = b.ins().load(ty.lane_type(), MemFlags::trusted(), from, 8 * slot);
    let splat = b.ins().splat(ty, first);
    (1..ty.lane_count() as u8).fold(splat, |vector, lane| {
        let at = 8 * (slot + i32::from(lane));
        let element = b.ins().load(ty.lane_type(), MemFlags::trusted(), from, at);
        b.ins().insertlane(vector, element, lane)
    })
}

/// Writes a value to its slots.
fn write_slots(b: &mut FunctionBuilder<'_>, value: Value, to: Value, slot: i32) -> i32 {
    let ty = b.func.dfg.value_type(value);
    if !ty.is_vector() {
        b.ins().store(MemFlags::trusted(), value, to, 8 * slot);
        return slot + 1;
    }
    for lane in 0..ty.lane_count() as u8 {
        let element = b.ins().extractlane(value, lane);
        b.ins().store(MemFlags::trusted(), element, to, 8 * (slot + i32::from(lane)));
    }
    slot + ty.lane_count() as i32
}

/// Writes the entry of a function: it sets the pinned register, which whoever calls it may use for something else.
pub(super) fn write(
    target: &mut dyn Target,
    function: &Function,
    callee: FuncId,
    context: &mut Context,
    builder: &mut FunctionBuilderContext,
) -> Result<()> {
    context.func.signature = entry_signature(target);
    let mut b = FunctionBuilder::new(&mut context.func, builder);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    b.seal_block(block);
    let [given, arguments, results] = b.block_params(block)[..] else {
        return Err(refused(function.span, "an entry of another signature"));
    };
    let before = b.ins().get_pinned_reg(types::I64);
    b.ins().set_pinned_reg(given);
    let mut values = vec![];
    let mut slot = 0;
    for param in &function.params {
        let ty = machine_type(function.ty(*param)).ok_or_else(|| refused(function.span, "a type of a parameter"))?;
        values.push(read(&mut b, ty, arguments, slot));
        slot += slots(function.ty(*param)) as i32;
    }
    let callee = target.declare_func_in_func(callee, b.func);
    let call = b.ins().call(callee, &values);
    let mut slot = 0;
    for value in b.inst_results(call).to_vec() {
        slot = write_slots(&mut b, value, results, slot);
    }
    b.ins().set_pinned_reg(before);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize();
    Ok(())
}

/// Declares a function of the runtime.
pub(super) fn import(target: &mut dyn Target, helper: Helper) -> Result<FuncId> {
    let row = helper.row();
    let mut signature = Signature::new(helper.convention(target.isa().default_call_conv()));
    signature.params.push(AbiParam::new(types::I64));
    signature.params.extend(row.takes.iter().map(|ty| AbiParam::new(*ty)));
    if row.gives {
        signature.returns.push(AbiParam::new(types::I32));
    }
    target
        .declare_function(row.symbol, Linkage::Import, &signature)
        .map_err(|e| refused(girih_base::span::Span::NONE, &e.to_string()))
}
