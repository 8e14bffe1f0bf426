//! The shape of a kernel's workgroups, and what follows for the ids of its invocations.
//!
//! naga gives lanes to workgroups of one dimension alone, and Vulkan does not say in which order invocations of several dimensions make subgroups. So a
//! kernel of several dimensions that has to do with subgroups becomes one of a single dimension, and works its ids out of the index in the workgroup.
//!
//! Invariant: invocations that follow each other in a workgroup follow each other in its subgroups.

use super::positions::Position;
use super::writer::{Expr, ShaderWriter};
use naga::{BinaryOperator as B, Expression, Literal};

/// The shape of workgroups.
pub(super) enum WorkgroupShape {
    /// As the kernel says.
    Said([u32; 3]),
    /// As many invocations in a line.
    Line([u32; 3]),
}

impl WorkgroupShape {
    /// The shape for a kernel that says this one.
    pub fn of(said: [u32; 3], in_subgroups: bool) -> WorkgroupShape {
        if in_subgroups && said[1..] != [1, 1] { WorkgroupShape::Line(said) } else { WorkgroupShape::Said(said) }
    }

    /// What the entry point has.
    pub fn entry(&self) -> [u32; 3] {
        match *self {
            WorkgroupShape::Said(size) => size,
            WorkgroupShape::Line(size) => [size.iter().product(), 1, 1],
        }
    }

    /// An id in the shape that the kernel says.
    pub fn position(&self, w: &mut ShaderWriter<'_, '_>, position: Position) -> Expr {
        match (self, position) {
            (WorkgroupShape::Said(size) | WorkgroupShape::Line(size), Position::WorkgroupSize) => {
                let size = size.map(|n| w.literal(Literal::U32(n)));
                compose(w, position, size)
            }
            (WorkgroupShape::Line(size), Position::Local) => {
                let local = local(w, *size);
                compose(w, position, local)
            }
            (WorkgroupShape::Line(size), Position::Global) => {
                let (workgroup, local) = (w.builtin(Position::Workgroup), local(w, *size));
                let mut global = local;
                for (dim, (own, n)) in (0..).zip(global.iter_mut().zip(size)) {
                    let workgroup = w.add(Expression::AccessIndex { base: workgroup, index: dim });
                    let n = w.literal(Literal::U32(*n));
                    let before = w.binary(B::Multiply, workgroup, n);
                    *own = w.binary(B::Add, before, *own);
                }
                compose(w, position, global)
            }
            (
                WorkgroupShape::Line(_),
                Position::LocalIndex
                | Position::Workgroup
                | Position::Workgroups
                | Position::SubgroupSize
                | Position::Subgroup
                | Position::Subgroups
                | Position::Lane,
            )
            | (WorkgroupShape::Said(_), _) => w.builtin(position),
        }
    }
}

/// The position in a workgroup, out of the index there.
fn local(w: &mut ShaderWriter<'_, '_>, [x, y, _]: [u32; 3]) -> [Expr; 3] {
    let index = w.builtin(Position::LocalIndex);
    let [row, plane] = [x, x * y].map(|n| w.literal(Literal::U32(n)));
    let height = w.literal(Literal::U32(y));
    let rows = w.binary(B::Divide, index, row);
    [w.binary(B::Modulo, index, row), w.binary(B::Modulo, rows, height), w.binary(B::Divide, index, plane)]
}

fn compose(w: &mut ShaderWriter<'_, '_>, position: Position, components: [Expr; 3]) -> Expr {
    let ty = w.ty(position.ty());
    w.add(Expression::Compose { ty, components: components.to_vec() })
}
