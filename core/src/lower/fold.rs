//! Grid folding: a one-dimensional grid of any size on a device whose dimensions are short.
//!
//! The host starts a grid of two or three dimensions that covers the wanted number of workgroups; the kernel computes its
//! position from all of them, and workgroups beyond the end return at once.

use super::entry::{Entry, Scalar, Slot};
use super::rewrite::{Pass, Rewriter};
use crate::diag::Diagnostic;
use crate::ir::attrs::Dim;
use crate::ir::{Builder, Caps, Function, Inst, Op, ParamAttrs, Scalar as Ty, Type, ValueId};

struct Fold {
    /// The parameter that holds the wanted number of workgroups; 0 if the grid came from a buffer.
    wanted: ValueId,
    /// Position and number of workgroups, once they are computed.
    position: Option<[ValueId; 2]>,
    workgroup: u32,
}

/// Folds the grid of a kernel that asks for it, on devices that need it.
pub(super) fn run(kernel: &mut Function, entry: &mut Entry, caps: &Caps) -> Result<(), Diagnostic> {
    let Some(launch) = &kernel.launch else { return Ok(()) };
    // 2^31 - 1 workgroups in x are more than any buffer has use for.
    if !launch.fold || caps.grid[0] >= i32::MAX as u32 {
        return Ok(());
    }
    let workgroup = launch.workgroup[0];
    let wanted = kernel.param("grid.x", Type::U32, ParamAttrs::default());
    entry.slots.push(Slot::Scalar(Scalar::GridSize(Dim::X)));
    entry.folded = true;
    *kernel = Rewriter::run(kernel, &mut Fold { wanted, position: None, workgroup })?;
    Ok(())
}

impl Fold {
    /// Writes the prologue: linear position, number of workgroups, the early end.
    fn begin(&mut self, r: &mut Rewriter<'_>) -> [ValueId; 2] {
        let old = self.wanted;
        let wanted = r.value(self, old);
        let b = &mut r.out;
        let product = |b: &mut Builder, x, y| b.op(Op::Mul, Ty::U32, &[x, y]);
        let [x, y, z] = Dim::ALL.map(|dim| b.position(Op::WorkgroupId, dim));
        let [width, height, depth] = Dim::ALL.map(|dim| b.position(Op::NumWorkgroups, dim));
        let above = product(b, height, z);
        let row = b.op(Op::Add, Ty::U32, &[y, above]);
        let before = product(b, width, row);
        let position = b.op(Op::Add, Ty::U32, &[x, before]);
        let zero = b.u32(0);
        let given = b.op(Op::Ne, Ty::U32, &[wanted, zero]);
        let area = product(b, width, height);
        let all = product(b, area, depth);
        let count = b.op(Op::Select, Ty::U32, &[given, wanted, all]);
        let beyond = b.op(Op::Ge, Ty::U32, &[position, count]);
        b.if_else(beyond, &[], |b| b.end(Op::Return, &[]), |b| b.end(Op::Yield, &[]));
        [position, count]
    }
}

impl Pass for Fold {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        // The first instruction of the body comes first: what it computes is visible everywhere.
        if self.position.is_none() {
            self.position = Some(self.begin(r));
        }
        let Some([position, count]) = self.position else { return Ok(None) };
        let new = match (inst.op, inst.dim()) {
            (Op::WorkgroupId, Dim::X) => position,
            (Op::NumWorkgroups, Dim::X) => count,
            (Op::WorkgroupId, _) => r.out.u32(0),
            (Op::NumWorkgroups, _) => r.out.u32(1),
            (Op::GlobalId, Dim::X) => {
                let size = r.out.u32(self.workgroup);
                let local = r.out.position(Op::LocalId, Dim::X);
                let first = r.out.op(Op::Mul, Ty::U32, &[position, size]);
                r.out.op(Op::Add, Ty::U32, &[first, local])
            }
            (Op::GlobalId, _) => r.out.position(Op::LocalId, inst.dim()),
            _ => return Ok(None),
        };
        Ok(Some(vec![vec![new]]))
    }
}
