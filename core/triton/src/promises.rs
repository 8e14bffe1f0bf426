//! Promises about numbers: `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`.
//!
//! Invariant: a promise changes no result. It says of a value what the compiler cannot see, one number for each dimension.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::pointer::Pointer;
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_ir::{Attr, Inst, Op, Shape};

fn promise(body: &mut Body<'_, '_>, a: &Arguments, attr: fn(Vec<u32>) -> Attr) -> Made<Value> {
    let numbers = body.constant_ints(a.value(1), "a promise", a.span(1))?;
    let numbers: Option<Vec<u32>> = numbers.into_iter().map(|n| u32::try_from(n).ok().filter(|n| *n > 0)).collect();
    let (value, ty) = match a.value(0) {
        Value::Pointer(Pointer { index: Some(index), .. }) => (*index, body.b.ty(*index)),
        Value::Tensor(t) => (t.value, t.ty),
        // Nothing is promised that is not known already.
        other => return Ok(other.clone()),
    };
    let rank = ty.shape().map_or(1, Shape::rank);
    let Some(numbers) = numbers.filter(|n| n.len() == rank) else {
        let message = format!("a promise about this has {rank} positive numbers, one for each dimension");
        return body.fail(Code::KernelArgument, a.span(1), message, "");
    };
    let mut inst = Inst::new(Op::TileHint, Some(ty), &[value], a.call);
    inst.set(attr(numbers));
    let id = body.b.push(inst, &[ty]);
    let value = body.b.function.insts[id].results[0];
    Ok(match a.value(0) {
        Value::Pointer(pointer) => Value::Pointer(Pointer { index: Some(value), ..*pointer }),
        _tensor => Value::Tensor(Tensor { value, ty }),
    })
}

/// `tl.multiple_of(input, values)`.
pub(super) fn multiple_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    promise(body, a, Attr::Multiple)
}
/// `tl.max_contiguous(input, values)`.
pub(super) fn max_contiguous(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    promise(body, a, Attr::Contiguous)
}
/// `tl.max_constancy(input, values)`.
pub(super) fn max_constancy(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    promise(body, a, Attr::Constancy)
}
