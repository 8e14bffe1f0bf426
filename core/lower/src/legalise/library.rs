//! The math library as calls of its routines.
//!
//! Invariant: afterwards no operation of the class [`Class::Library`] is left, and no approximation is `total` that the device's own function
//! does not keep for all arguments. Shorter floats go through `f32`, rounded once more.

use super::Context;
use super::emit::Emit;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::ops::Class;
use girih_ir::{AttrKind, Caps, Feature, Function, Inst, Op, Scalar, ValueId, math};

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

/// Whether an approximation has to keep its bound where the device's own function does not.
pub(super) fn is_refined(inst: &Inst, caps: &Caps) -> bool {
    inst.has(AttrKind::Total) && !caps.has(Feature::NativeMath)
}

impl Pass for Library<'_, '_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        routine_of(inst, self.cx.caps).is_some()
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let Some(op) = routine_of(inst, self.cx.caps) else { return Ok(None) };
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let operands: Vec<ValueId> = operands.into_iter().map(|x| r.out.convert(Scalar::F32, x)).collect();
        let routine = math::routine(op, Scalar::F32);
        let result = self.cx.routines.call(&mut r.out, routine, &operands)?[0];
        Ok(Some(vec![vec![r.out.convert(inst.element(), result)]]))
    }
}
