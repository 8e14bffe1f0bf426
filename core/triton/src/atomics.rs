//! Atomic operations. Which a device has, and in what order they are seen, the lowering says.
//!
//! Invariant: an access here is made ready like a load's. Its mask also holds the assertions that are made of its index.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::memory::Access;
use super::pointer::Pointer;
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_ir::attrs::Update;
use girih_ir::{Attr, InstId, Op, Scalar, Type, ValueId};

fn atomic(body: &mut Body<'_, '_>, a: &Arguments, update: Update) -> Made<Value> {
    let pointer = body.pointer(a.value(0), "atomic operations", a.span(0))?;
    if pointer.pointee.bits() < 16 {
        let message = format!("there are no atomic operations on `{}`", Body::scalar_shown(pointer.pointee));
        return body.fail(Code::KernelType, a.call, message, "use numbers of 32 or 64 bits");
    }
    if pointer.pointee.is_float() && matches!(update, Update::And | Update::Or | Update::Xor) {
        return body.fail(Code::KernelType, a.call, "floats have no bitwise operations", "");
    }
    if pointer.pointee.bits() >= 32 && pointer.pointee.is_float() && matches!(update, Update::Max | Update::Min) {
        return extreme_of_floats(body, a, pointer, update);
    }
    let mut attrs = body.order(a, 3, 4)?;
    attrs.push(Attr::Update(update));
    let access = body.access(pointer, a.value(2), a.span(2))?;
    let value = body.fitting(&access, a.value(1), a.span(1))?;
    Ok(in_each_buffer(body, &access, |body, buffer, inside| {
        let operands = [buffer, access.index, value, inside];
        let id = body.b.op_with(Op::TileAtomic, Some(access.stored), &operands, &attrs);
        old(body, &access, id)
    }))
}

/// What an atomic operation gives.
fn old(body: &Body<'_, '_>, access: &Access, id: InstId) -> Tensor {
    Tensor { value: body.b.function.insts[id].results[0], ty: access.stored }
}

/// Does it in each buffer that the pointer may point into; gives what was there.
fn in_each_buffer(
    body: &mut Body<'_, '_>,
    access: &Access,
    mut write: impl FnMut(&mut Body<'_, '_>, ValueId, ValueId) -> Tensor,
) -> Value {
    let mut found: Option<Tensor> = None;
    for (buffer, inside, here) in body.by_buffer(access) {
        let old = write(body, buffer, inside);
        found = Some(match (found, here) {
            (Some(others), Some(here)) => body.pick(here, old, others),
            _first => old,
        });
    }
    found.map_or(Value::None, Value::Tensor)
}

/// The greater or the lesser float, by its bits, as Triton does it. The bits of floats without a sign are ordered like signed integers, and lie above
/// all floats with one. Those with a sign are ordered the other way round, like unsigned integers, and lie above all floats without one.
fn extreme_of_floats(body: &mut Body<'_, '_>, a: &Arguments, pointer: Pointer, update: Update) -> Made<Value> {
    let order = body.order(a, 3, 4)?;
    let access = body.access(pointer, a.value(2), a.span(2))?;
    let value = body.fitting(&access, a.value(1), a.span(1))?;
    let other_way = if update == Update::Max { Update::Min } else { Update::Max };
    let unsigned = pointer.pointee.as_bits();
    let signed = if unsigned.bits() == 64 { Scalar::I64 } else { Scalar::I32 };
    let bits = body.op(Op::Bitcast, Type::block(pointer.shape, signed), &[value]);
    let zero = body.int(signed, 0);
    let zero = body.splat(zero, pointer.shape);
    let negative = body.op(Op::Lt, bits.ty, &[bits.value, zero]);
    let positive = body.op(Op::Ge, bits.ty, &[bits.value, zero]);
    let half =
        |body: &mut Body<'_, '_>, inside: ValueId, buffer: ValueId, (scalar, update, of): (Scalar, Update, Tensor)| {
            let ty = Type::block(pointer.shape, scalar);
            let value = if scalar == signed { bits } else { body.op(Op::Bitcast, ty, &[bits.value]) };
            let whole = Tensor { value: inside, ty: body.b.ty(inside) };
            let whole = body.broadcast_tensor(whole, pointer.shape);
            let inside = body.op(Op::And, of.ty, &[whole.value, of.value]);
            let attrs: Vec<Attr> = order.iter().cloned().chain([Attr::Update(update)]).collect();
            let operands = [buffer, access.index, value.value, inside.value];
            let id = body.b.op_with(Op::TileAtomic, Some(ty), &operands, &attrs);
            let old = body.b.function.insts[id].results[0];
            body.op(Op::Bitcast, access.stored, &[old])
        };
    Ok(in_each_buffer(body, &access, |body, buffer, inside| {
        let above = half(body, inside, buffer, (signed, update, positive));
        let below = half(body, inside, buffer, (unsigned, other_way, negative));
        body.pick(negative, below, above)
    }))
}

pub(super) fn atomic_add(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::Add)
}
pub(super) fn atomic_max(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::Max)
}
pub(super) fn atomic_min(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::Min)
}
pub(super) fn atomic_and(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::And)
}
pub(super) fn atomic_or(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::Or)
}
pub(super) fn atomic_xor(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::Xor)
}
pub(super) fn atomic_exchange(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    atomic(body, a, Update::Exchange)
}

/// `tl.atomic_cas(pointer, cmp, val)`.
pub(super) fn atomic_cas(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let pointer = body.pointer(a.value(0), "atomic_cas", a.span(0))?;
    let attrs = body.order(a, 3, 4)?;
    let access = body.access(pointer, &Value::None, a.call)?;
    let expected = body.fitting(&access, a.value(1), a.span(1))?;
    let new = body.fitting(&access, a.value(2), a.span(2))?;
    Ok(in_each_buffer(body, &access, |body, buffer, inside| {
        let operands = [buffer, access.index, expected, new, inside];
        let id = body.b.op_with(Op::TileCompareExchange, Some(access.stored), &operands, &attrs);
        old(body, &access, id)
    }))
}
