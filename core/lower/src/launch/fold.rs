//! Grid folding: a grid of any size on a device whose dimensions are short.
//!
//! The host starts a grid of two or three dimensions that covers the wanted number of workgroups; the kernel computes its
//! position from all of them, and workgroups beyond the end return at once. Kernels that ask for folding have grids of one dimension. Kernels that were in
//! tile form may have any grid, because it is not known when they are compiled.

use super::entry::{Entry, LaunchScalar, Slot};
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::attrs::Dim;
use girih_ir::groups::{
    aggregates, arithmetic, control, convergent, local_positions, masks, memory, subgroup_positions, task_form,
};
use girih_ir::{Builder, Caps, Function, Inst, Op, ParamAttrs, Scalar, Type, ValueId};

struct Fold {
    /// Parameters that hold the wanted numbers of workgroups in each dimension (one dimension, or all three); 0 if the grid came from a buffer.
    wanted: Vec<ValueId>,
    /// Position and number of workgroups in each dimension, once they are computed.
    position: Option<[[ValueId; 2]; 3]>,
    workgroup: [u32; 3],
}

/// Folds the grid of a kernel that asks for it, or was in tile form, on devices that need it.
pub(crate) fn run(kernel: &mut Function, entry: &mut Entry, caps: &Caps, is_program: bool) -> Result<(), Diagnostic> {
    let Some(launch) = &kernel.launch else { return Ok(()) };
    if !(launch.fold || is_program) || !is_possible(caps) {
        return Ok(());
    }
    let workgroup = launch.workgroup;
    let dimensions = if launch.fold { &Dim::ALL[..1] } else { &Dim::ALL[..] };
    let mut wanted = vec![];
    for dim in dimensions {
        wanted.push(kernel.param(format!("grid.{}", dim.name()), Type::U32, ParamAttrs::default()));
        entry.slots.push(Slot::Scalar(LaunchScalar::GridSize(*dim)));
    }
    entry.folded = true;
    *kernel = Rewriter::run(kernel, &mut Fold { wanted, position: None, workgroup })?;
    Ok(())
}

/// Whether grids are folded on a device: 2^31 - 1 workgroups in x are more than any buffer has use for.
fn is_possible(caps: &Caps) -> bool {
    caps.grid[0] < i32::MAX as u32
}

impl Fold {
    /// Writes the prologue: linear position, number of workgroups, the early end.
    fn begin(&mut self, r: &mut Rewriter<'_>) -> [[ValueId; 2]; 3] {
        let wanted: Vec<ValueId> = self.wanted.clone().into_iter().map(|old| r.value(self, old)).collect();
        let b = &mut r.out;
        let product = |b: &mut Builder, x, y| b.op(Op::Mul, Scalar::U32, &[x, y]);
        let [x, y, z] = Dim::ALL.map(|dim| b.position(Op::WorkgroupId, dim));
        let [width, height, depth] = Dim::ALL.map(|dim| b.position(Op::NumWorkgroups, dim));
        let above = product(b, height, z);
        let row = b.op(Op::Add, Scalar::U32, &[y, above]);
        let before = product(b, width, row);
        let position = b.op(Op::Add, Scalar::U32, &[x, before]);
        let (zero, one) = (b.u32(0), b.u32(1));
        let given = b.op(Op::Ne, Scalar::U32, &[wanted[0], zero]);
        let (sizes, count) = match &wanted[..] {
            [line] => {
                let area = product(b, width, height);
                let all = product(b, area, depth);
                let count = b.op(Op::Select, Scalar::U32, &[given, *line, all]);
                ([count, one, one], count)
            }
            all => {
                let mut size = |i: usize, own| b.op(Op::Select, Scalar::U32, &[given, all[i], own]);
                let sizes = [size(0, width), size(1, height), size(2, depth)];
                let area = product(b, sizes[0], sizes[1]);
                (sizes, product(b, area, sizes[2]))
            }
        };
        let beyond = b.op(Op::Ge, Scalar::U32, &[position, count]);
        b.if_else(beyond, &[], |b| b.end(Op::Return, &[]), |b| b.end(Op::Yield, &[]));
        if wanted.len() == 1 {
            return [[position, count], [zero, one], [zero, one]];
        }
        let row = b.op(Op::Div, Scalar::U32, &[position, sizes[0]]);
        let x = b.op(Op::Rem, Scalar::U32, &[position, sizes[0]]);
        let (y, z) = (b.op(Op::Rem, Scalar::U32, &[row, sizes[1]]), b.op(Op::Div, Scalar::U32, &[row, sizes[1]]));
        [[x, sizes[0]], [y, sizes[1]], [z, sizes[2]]]
    }
}

impl Pass for Fold {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        // The first instruction of the body comes first: what it computes is visible everywhere.
        let position = match self.position {
            Some(position) => position,
            None => {
                let begun = self.begin(r);
                *self.position.insert(begun)
            }
        };
        let new = match inst.op {
            Op::WorkgroupId => position[inst.dim() as usize][0],
            Op::NumWorkgroups => position[inst.dim() as usize][1],
            Op::GlobalId => {
                let (dim, first) = (inst.dim(), position[inst.dim() as usize][0]);
                let size = r.out.u32(self.workgroup[dim as usize]);
                let local = r.out.position(Op::LocalId, dim);
                let first = r.out.op(Op::Mul, Scalar::U32, &[first, size]);
                r.out.op(Op::Add, Scalar::U32, &[first, local])
            }
            local_positions!()
            | arithmetic!()
            | convergent!()
            | girih_ir::tile_operations!()
            | task_form!()
            | memory!()
            | control!()
            | masks!()
            | aggregates!()
            | subgroup_positions!() => return Ok(None),
        };
        Ok(Some(vec![vec![new]]))
    }
}
