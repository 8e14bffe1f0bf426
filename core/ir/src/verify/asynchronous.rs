//! Asynchronous copies, products of warpgroups, and fragments: sizes and shapes that hardware has.

use super::names;
use super::structure::Context;
use crate::attrs::{Attr, Precision};
use crate::function::Inst;
use crate::groups::{
    aggregates, all_positions, arithmetic, barriers, control, masks, memory, reductions, scans, shuffles, task_form,
    votes,
};
use crate::ops::Op;
use crate::types::{CoopUse, MatrixShape, Scalar, Type};
use girih_base::diag::Code;

/// Groups of warpgroup products that can be waited for.
const PRODUCT_GROUPS: u32 = 7;

/// Checks an instruction whose operands have the right types.
pub(super) fn check(cx: &mut Context<'_>, inst: &Inst) {
    match inst.op {
        Op::AsyncCopy => copy(cx, inst),
        Op::Wgmma => product(cx, inst),
        Op::WgmmaWait => wait(cx, inst),
        Op::CoopMma => fragments(cx, inst),
        Op::CoopStore | Op::CoopLoad | Op::CoopSplat => {}
        Op::AsyncCommit
        | Op::AsyncWait
        | Op::MbarrierInit
        | Op::MbarrierArrive
        | Op::MbarrierArriveCopies
        | Op::MbarrierWait
        | Op::MbarrierTest
        | Op::FenceAsync
        | Op::WgmmaFence
        | Op::WgmmaCommit
        | arithmetic!()
        | crate::tile_operations!()
        | task_form!()
        | memory!()
        | control!()
        | all_positions!()
        | reductions!()
        | scans!()
        | masks!()
        | shuffles!()
        | votes!()
        | aggregates!()
        | barriers!() => {}
    }
}

fn copy(cx: &mut Context<'_>, inst: &Inst) {
    let bytes = inst.ty.map_or(0, Type::bytes);
    if !matches!(bytes, 4 | 8 | 16) {
        let message = format!("{} copies {bytes} bytes", names::operation(inst));
        cx.report(Code::IrAsync, inst, message, "asynchronous copies are of 4, 8 or 16 bytes; copy a vector");
    }
}

fn product(cx: &mut Context<'_>, inst: &Inst) {
    let Some(shape) = inst.attrs.iter().find_map(|a| if let Attr::Shape(s) = a { Some(*s) } else { None }) else {
        return;
    };
    if shape.m != 64 || shape.k != 16 || shape.n == 0 || shape.n % 8 != 0 || shape.n > 256 {
        let message = format!("there is no product of shape {shape} for a warpgroup");
        return cx.report(Code::IrAsync, inst, message, "shapes are 64xNx16, N a multiple of 8 up to 256");
    }
    let asked = Type::Regs(Scalar::F32, shape.n / 2);
    let Some(found) = inst.operands.first().map(|v| cx.ty(*v)).filter(|found| *found != asked) else {
        return matrices(cx, inst);
    };
    let message = format!("a product of shape {shape} has accumulators `{asked}`, here are `{found}`");
    cx.report(Code::IrAsync, inst, message, "each of 128 invocations keeps 64 * N / 128 sums");
}

fn matrices(cx: &mut Context<'_>, inst: &Inst) {
    for attr in &inst.attrs {
        let (Attr::MatrixA(matrix) | Attr::MatrixB(matrix)) = attr else { continue };
        // A descriptor counts 16 bytes in 14 bits.
        let possible = |bytes: u32| bytes.is_multiple_of(16) && bytes / 16 < 1 << 14;
        if !matches!(matrix.swizzle, 0 | 32 | 64 | 128) || !possible(matrix.leading) || !possible(matrix.stride) {
            let message = format!("the factor `{}` cannot lie like that in shared memory", attr.kind().name());
            let hint = "swizzles are 0, 32, 64 or 128 bytes, `leading` and `stride` multiples of 16 below 262144";
            cx.report(Code::IrAsync, inst, message, hint);
        }
    }
}

fn wait(cx: &mut Context<'_>, inst: &Inst) {
    if inst.pending() > PRODUCT_GROUPS {
        let message = format!("`{}` cannot leave {} groups under way", inst.op.name(), inst.pending());
        cx.report(Code::IrAsync, inst, message, "at most 7 groups of products are pending");
    }
    let same = inst.operands.len() == inst.results.len()
        && inst.operands.iter().zip(&inst.results).all(|(a, b)| cx.ty(*a) == cx.ty(*b));
    if !same {
        let message = format!("`{}` gives its operands as finished values, but its results are others", inst.op.name());
        return cx.report(Code::IrCount, inst, message, "name one result for each operand");
    }
    if let Some(operand) = inst.operands.iter().find(|v| !matches!(cx.ty(**v), Type::Regs(..))) {
        let message = format!("{} is not an accumulator", cx.name(*operand));
        cx.blame(Code::IrAsync, inst, *operand, message, "accumulators are `regs<f32, N / 2>`");
    }
}

fn fragments(cx: &mut Context<'_>, inst: &Inst) {
    let types: Vec<Type> = inst.operands.iter().map(|v| cx.ty(*v)).collect();
    let use_and_shape = |ty: &Type| -> Option<(CoopUse, MatrixShape)> {
        if let Type::Coop(u, shape, _) = ty { Some((*u, *shape)) } else { None }
    };
    let parts: Vec<_> = types.iter().filter_map(use_and_shape).collect();
    let [(a, sa), (b, sb), (c, sc)] = parts[..] else { return };
    let fits = (a, b, c) == (CoopUse::A, CoopUse::B, CoopUse::Acc) && sa == sb && sb == sc;
    if !fits || types[0].element() != types[1].element() {
        let message = format!("`{}`, `{}` and `{}` cannot be multiplied", types[0], types[1], types[2]);
        let hint = "a product takes fragments `a` and `b` of one element and an accumulator `acc`, all of one shape";
        cx.report(Code::IrAsync, inst, message, hint);
    }
    let rounds = match inst.precision() {
        Precision::Ieee => true,
        Precision::Tf32 | Precision::Tf32x3 => types[0].element() == Some(Scalar::F32),
    };
    if !rounds {
        let message = format!("factors of `{}` are not rounded in this way", types[0]);
        cx.report(Code::IrAsync, inst, message, "`precision(tf32)` and `precision(tf32x3)` are for factors of `f32`");
    }
}
