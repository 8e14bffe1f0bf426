//! What both lowerings write under a condition: code for some invocations, accesses, and atomic operations.
//!
//! Invariant: where the condition does not hold, memory is not touched.

use crate::rewrite::Rewriter;
use girih_ir::attrs::Update;
use girih_ir::{Attr, AttrKind, Builder, Inst, Op, Scalar, Type, ValueId};

/// Does something in those invocations where a condition holds; everywhere without one.
pub(super) fn where_it_holds(r: &mut Rewriter<'_>, condition: Option<ValueId>, body: impl FnOnce(&mut Rewriter<'_>)) {
    let Some(condition) = condition else { return body(r) };
    let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
    let outer = std::mem::replace(&mut r.out.region, then);
    body(r);
    r.out.end(Op::Yield, &[]);
    r.out.region = otherwise;
    r.out.end(Op::Yield, &[]);
    r.out.region = outer;
    let mut inst = Inst::new(Op::If, None, &[condition], r.out.span);
    inst.regions.extend([then, otherwise]);
    r.out.push(inst, &[]);
}

/// The condition that holds where both do; a missing one holds everywhere.
pub(super) fn both(r: &mut Rewriter<'_>, a: Option<ValueId>, b: Option<ValueId>) -> Option<ValueId> {
    match (a, b) {
        (Some(a), Some(b)) => Some(r.out.op(Op::And, Scalar::Bool, &[a, b])),
        (a, b) => a.or(b),
    }
}

/// What an access of a tile says that each of its accesses says, too.
pub(super) fn access_attrs(inst: &Inst) -> Vec<Attr> {
    inst.attrs.iter().filter(|a| matches!(a.kind(), AttrKind::Cache | AttrKind::Volatile)).cloned().collect()
}

/// An atomic operation where a condition holds, or everywhere without one; gives what was there, and 0 where it was not done.
pub(super) fn atomic_where(
    b: &mut Builder,
    condition: Option<ValueId>,
    op: Op,
    element: Scalar,
    (operands, attrs): (&[ValueId], &[Attr]),
) -> ValueId {
    let ty = Type::Scalar(element);
    let (nothing, always) = (b.zero(ty), b.bool(true));
    b.if_else(
        condition.unwrap_or(always),
        &[ty],
        |b| {
            let id = b.op_with(op, Some(ty), operands, attrs);
            let value = b.function.insts[id].results[0];
            b.end(Op::Yield, &[value]);
        },
        |b| b.end(Op::Yield, &[nothing]),
    )[0]
}

/// The operation that updates memory so.
pub(super) fn operation(update: Update) -> Op {
    match update {
        Update::Add => Op::AtomicAdd,
        Update::Min => Op::AtomicMin,
        Update::Max => Op::AtomicMax,
        Update::And => Op::AtomicAnd,
        Update::Or => Op::AtomicOr,
        Update::Xor => Op::AtomicXor,
        Update::Exchange => Op::AtomicExchange,
    }
}
