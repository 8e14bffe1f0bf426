//! Positions in the launch, and barriers.

use super::error;
use super::positions::{self, Position};
use super::writer::ShaderWriter;
use girih_base::diag::Diagnostic;
use girih_ir::Inst;
use girih_ir::attrs::Spaces;
use naga::{Barrier, Expression, Statement, TypeInner};

/// Writes an operation that gives a position.
pub fn position(w: &mut ShaderWriter<'_, '_>, inst: &Inst) -> Result<(), Diagnostic> {
    let position = positions::given(inst.op).ok_or_else(|| error::operation(inst.span, inst.op))?;
    if let (Position::WorkgroupSize, Some(launch)) = (position, &w.source.launch) {
        let size = w.u32(launch.workgroup[inst.dim() as usize]);
        w.define(inst.results[0], vec![size]);
        return Ok(());
    }
    let whole = w.position(position)?;
    let value = match position.ty() {
        TypeInner::Vector { .. } => w.add(Expression::AccessIndex { base: whole, index: inst.dim() as u32 }),
        _ => whole,
    };
    w.define(inst.results[0], vec![value]);
    Ok(())
}

/// Writes a barrier. It waits for the workgroup even if it orders no memory.
pub fn barrier(w: &mut ShaderWriter<'_, '_>, spaces: Spaces) {
    let mut flags = Barrier::empty();
    flags.set(Barrier::STORAGE, spaces.global);
    flags.set(Barrier::WORK_GROUP, spaces.shared || !spaces.global);
    w.statement(Statement::ControlBarrier(flags));
}
