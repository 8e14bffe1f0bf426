//! The math library as calls of its routines.
//!
//! Invariant: afterwards no operation of the class [`Class::Library`] is left. Shorter floats go through `f32`, rounded once more.

use super::Context;
use super::emit::Emit;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::ops::Class;
use girih_ir::{Function, Inst, Scalar, ValueId, math};

pub(super) struct Library<'c, 'a> {
    pub cx: &'c mut Context<'a>,
}

impl Pass for Library<'_, '_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        matches!(inst.op.row().class, Class::Library(_))
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let operands: Vec<ValueId> = operands.into_iter().map(|x| r.out.convert(Scalar::F32, x)).collect();
        let routine = math::routine(inst.op, Scalar::F32);
        let result = self.cx.routines.call(&mut r.out, routine, &operands)?[0];
        Ok(Some(vec![vec![r.out.convert(inst.element(), result)]]))
    }
}
