//! Traps: `trap_if` becomes a compare-exchange on a hidden buffer, so that the first trap of a launch is kept.

use super::entry::{Entry, Slot};
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::{Function, Inst, Op, ParamAttrs, Scalar, Space, Type, ValueId};

struct Traps {
    buffer: ValueId,
}

/// Adds the buffer of traps to a kernel that can trap.
pub(crate) fn run(kernel: &mut Function, entry: &mut Entry) -> Result<(), Diagnostic> {
    let mut can_trap = false;
    kernel.walk(kernel.body, &mut |_, inst| can_trap |= inst.op == Op::TrapIf);
    if !can_trap {
        return Ok(());
    }
    let attrs = ParamAttrs { noalias: true, align: 4, ..ParamAttrs::default() };
    let buffer = kernel.param("traps", Type::Memory(Space::Global), attrs);
    entry.slots.push(Slot::Traps);
    if let Some(launch) = &mut kernel.launch {
        launch.traps = Some(buffer);
    }
    *kernel = Rewriter::run(kernel, &mut Traps { buffer })?;
    Ok(())
}

impl Pass for Traps {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        if inst.op != Op::TrapIf {
            return Ok(None);
        }
        let old = self.buffer;
        let buffer = r.value(self, old);
        let condition = r.value(self, inst.operands[0]);
        let code = r.out.u32(inst.code());
        let note = |b: &mut girih_ir::Builder| {
            let zero = b.u32(0);
            b.op(Op::AtomicCompareExchange, Scalar::U32, &[buffer, zero, zero, code]);
            b.end(Op::Yield, &[]);
        };
        r.out.if_else(condition, &[], note, |b| b.end(Op::Yield, &[]));
        Ok(Some(vec![]))
    }
}
