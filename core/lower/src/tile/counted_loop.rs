//! A loop that counts and carries values, as both lowerings write it.

use crate::rewrite::Rewriter;
use girih_base::diag::Diagnostic;
use girih_ir::{Inst, Op, Scalar, Type, ValueId};

/// `for j in first..end`, with values that it carries; `body` gives the next ones. `end` is computed in the loop.
pub(super) fn count_up(
    r: &mut Rewriter<'_>,
    first: u32,
    end: impl FnOnce(&mut Rewriter<'_>) -> ValueId,
    carried: &[ValueId],
    body: impl FnOnce(&mut Rewriter<'_>, ValueId, &[ValueId]) -> Result<Vec<ValueId>, Diagnostic>,
) -> Result<Vec<ValueId>, Diagnostic> {
    let mut initial = vec![r.out.u32(first)];
    initial.extend_from_slice(carried);
    let types: Vec<Type> = initial.iter().map(|v| r.out.ty(*v)).collect();
    let region = r.out.new_region(&types);
    let params = r.out.function.regions[region].params.clone();
    let outer = std::mem::replace(&mut r.out.region, region);
    let end = end(r);
    let over = r.out.op(Op::Ge, Scalar::U32, &[params[0], end]);
    let kept = params[1..].to_vec();
    r.out.if_else(over, &[], |b| b.end(Op::Break, &kept), |b| b.end(Op::Yield, &[]));
    let next = body(r, params[0], &params[1..]);
    if let Ok(next) = &next {
        let one = r.out.u32(1);
        let mut values = vec![r.out.op(Op::Add, Scalar::U32, &[params[0], one])];
        values.extend_from_slice(next);
        r.out.end(Op::Continue, &values);
    }
    r.out.region = outer;
    next?;
    let mut inst = Inst::new(Op::Loop, None, &initial, r.out.span);
    inst.regions.push(region);
    let id = r.out.push(inst, &types[1..]);
    Ok(r.out.function.insts[id].results.to_vec())
}
