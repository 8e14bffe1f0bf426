//! The lesser and the greater: of two values, of several, and within limits.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Op, Scalar};

/// What becomes of a NaN among the operands of `maximum`, `minimum` and `clamp`: whether the result is NaN (`tl.PropagateNan.ALL`) or the
/// other operand (`tl.PropagateNan.NONE`, the default).
fn propagates_nan(body: &mut Body<'_, '_>, a: &Arguments, i: usize) -> Made<bool> {
    match a.value(i) {
        Value::None => Ok(false),
        Value::Str(text) if &**text == "NONE" => Ok(false),
        Value::Str(text) if &**text == "ALL" => Ok(true),
        other => {
            let message = format!("`propagate_nan` is {}, which is no rule for NaN", other.kind());
            body.fail(Code::KernelArgument, a.span(i), message, "it is `tl.PropagateNan.NONE` or `tl.PropagateNan.ALL`")
        }
    }
}

/// The lesser or greater of two constants.
fn constant_extreme(op: Op, x: f64, y: f64, nan: bool) -> bool {
    match (x.is_nan(), y.is_nan()) {
        (false, false) => {
            if op == Op::Max {
                x >= y
            } else {
                x <= y
            }
        }
        (first, _) => first == nan,
    }
}

impl Body<'_, '_> {
    /// `chosen`, but `x` where that is NaN.
    pub(super) fn or_nan(&mut self, x: Tensor, chosen: Tensor) -> Tensor {
        if !x.element().is_float() {
            return chosen;
        }
        let is_nan = self.two(Op::Ne, x, x);
        self.pick(is_nan, x, chosen)
    }
}

/// The lesser or greater of two values.
fn extreme(body: &mut Body<'_, '_>, op: Op, (x, y): (&Value, &Value), nan: bool, span: Span) -> Made<Value> {
    if let (Value::Int(x), Value::Int(y)) = (x, y) {
        // Floats do not tell all of them apart.
        return Ok(Value::Int(if op == Op::Max { *x.max(y) } else { *x.min(y) }));
    }
    if let (Some(a), Some(b)) = (super::operator::float_of(x), super::operator::float_of(y)) {
        return Ok(if constant_extreme(op, a, b, nan) { x.clone() } else { y.clone() });
    }
    let (x, y) = body.meet(x, y, false, span)?;
    let (x, y) = (body.computable(x), body.computable(y));
    let (x, y) =
        if x.element() == Scalar::Bool { (body.cast(x, Scalar::I32), body.cast(y, Scalar::I32)) } else { (x, y) };
    let mut chosen = body.two(op, x, y);
    if nan {
        chosen = body.or_nan(y, chosen);
        chosen = body.or_nan(x, chosen);
    }
    Ok(Value::Tensor(chosen))
}

/// `tl.maximum(x, y)`.
pub(super) fn maximum(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let nan = propagates_nan(body, a, 2)?;
    extreme(body, Op::Max, (a.value(0), a.value(1)), nan, a.call)
}
/// `tl.minimum(x, y)`.
pub(super) fn minimum(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let nan = propagates_nan(body, a, 2)?;
    extreme(body, Op::Min, (a.value(0), a.value(1)), nan, a.call)
}

/// Python's `max` and `min`: of several values, or of the elements of one.
fn extreme_of(body: &mut Body<'_, '_>, a: &Arguments, op: Op) -> Made<Value> {
    let nan = propagates_nan(body, a, 1)?;
    let items = match a.starred() {
        [one] => body.iterate(one.clone(), a.call)?,
        several => several.to_vec(),
    };
    let mut rest = items.into_iter();
    let Some(mut best) = rest.next() else {
        return body.fail(Code::KernelArgument, a.call, format!("there is no `{}` of nothing", op.name()), "");
    };
    for item in rest {
        best = extreme(body, op, (&best, &item), nan, a.call)?;
    }
    Ok(best)
}
/// `max(..)`.
pub(super) fn max_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    extreme_of(body, a, Op::Max)
}
/// `min(..)`.
pub(super) fn min_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    extreme_of(body, a, Op::Min)
}

/// `tl.clamp(x, min, max)`: a NaN becomes `min`, or stays if it is to be propagated.
pub(super) fn clamp(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let nan = propagates_nan(body, a, 3)?;
    let (x, least) = body.meet(a.value(0), a.value(1), false, a.call)?;
    let (x, least) = (body.computable(x), body.computable(least));
    let above = body.two(Op::Max, x, least);
    let (above, most) = body.meet(&Value::Tensor(above), a.value(2), false, a.call)?;
    let mut inside = body.two(Op::Min, above, most);
    if nan {
        let x = body.cast(x, inside.element());
        let x = body.broadcast_tensor(x, inside.shape());
        inside = body.or_nan(x, inside);
    }
    Ok(Value::Tensor(inside))
}
