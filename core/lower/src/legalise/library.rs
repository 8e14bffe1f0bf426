//! The math library as calls of its routines.
//!
//! Invariant: afterwards no operation of the class [`Class::Library`] is left, and no approximation is `total` that the device's own function
//! does not keep for all arguments. Shorter floats go through `f32`, rounded once more.

use super::Context;
use super::emit::Emit;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::ops::Class;
use girih_ir::{AttrKind, Builder, Caps, Feature, Function, Inst, Op, Scalar, Type, ValueId, math};

pub(super) struct Library<'c, 'a> {
    pub cx: &'c mut Context<'a>,
}

/// The operation of the library that an instruction is computed by on a device, if it is.
fn routine_of(inst: &Inst, caps: &Caps) -> Option<Op> {
    let row = inst.op.row();
    match row.approximates {
        Some(exact) => is_refined(inst, caps).then_some(exact),
        None => matches!(row.class, Class::Library(_)).then_some(inst.op),
    }
}

/// Whether an approximation has to keep its bound where the device's own function does not. Without exact division the greatest divisors are too
/// much for a quotient: their reciprocals are below the normal numbers.
pub(super) fn is_refined(inst: &Inst, caps: &Caps) -> bool {
    let keeps = caps.has(Feature::NativeMath) && (inst.op != Op::DivApprox || caps.has(Feature::ExactDivision));
    inst.has(AttrKind::Total) && !keeps
}

/// A quotient that keeps its bound: the device's own where that is near, otherwise the exact one.
fn quotient(b: &mut Builder, caps: &Caps, x: ValueId, y: ValueId) -> ValueId {
    if caps.has(Feature::ExactDivision) {
        return b.op(Op::Div, Scalar::F32, &[x, y]);
    }
    if caps.has(Feature::NativeMath) {
        return scaled_quotient(b, x, y);
    }
    let exponents = b.u32(0x7f80_0000);
    let [of_x, of_y] = [x, y].map(|value| {
        let bits = b.bitcast(Scalar::U32, value);
        b.same(Op::And, &[bits, exponents])
    });
    let is_finite = b.compare(Op::Lt, of_x, exponents);
    // From 2^-126 up to 2^126.
    let (least, count) = (b.u32(1 << 23), b.u32(252 << 23));
    let above = b.same(Op::Sub, &[of_y, least]);
    let is_moderate = b.compare(Op::Lt, above, count);
    let is_near = b.op(Op::And, Scalar::Bool, &[is_finite, is_moderate]);
    let given = b.if_else(
        is_near,
        &[Type::F32],
        |b| {
            let own = b.op(Op::DivApprox, Scalar::F32, &[x, y]);
            b.end(Op::Yield, &[own]);
        },
        |b| {
            let exact = b.op(Op::Div, Scalar::F32, &[x, y]);
            b.end(Op::Yield, &[exact]);
        },
    );
    given[0]
}

/// The device's own quotient of both numbers divided by four where the divisor is beyond 2^126, whose reciprocal is no normal number. Everything else, zeros
/// and infinities included, is right without that on such a device. A loop that divides by one number scales it once.
fn scaled_quotient(b: &mut Builder, x: ValueId, y: ValueId) -> ValueId {
    let bits = b.bitcast(Scalar::U32, y);
    let (exponents, most) = (b.u32(0x7f80_0000), b.u32((126 + 127) << 23));
    let exponent = b.same(Op::And, &[bits, exponents]);
    let is_large = b.compare(Op::Ge, exponent, most);
    let (quarter, one) = (b.f32(0.25), b.f32(1.0));
    let scale = b.op(Op::Select, Scalar::F32, &[is_large, quarter, one]);
    let [x, y] = [x, y].map(|value| b.op(Op::Mul, Scalar::F32, &[value, scale]));
    b.op(Op::DivApprox, Scalar::F32, &[x, y])
}

impl Pass for Library<'_, '_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        routine_of(inst, self.cx.caps).is_some()
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let Some(op) = routine_of(inst, self.cx.caps) else { return Ok(None) };
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let operands: Vec<ValueId> = operands.into_iter().map(|x| r.out.convert(Scalar::F32, x)).collect();
        let result = if op == Op::Div {
            quotient(&mut r.out, self.cx.caps, operands[0], operands[1])
        } else {
            let routine = math::routine(op, Scalar::F32);
            self.cx.routines.call(&mut r.out, routine, &operands)?[0]
        };
        Ok(Some(vec![vec![r.out.convert(inst.element(), result)]]))
    }
}
