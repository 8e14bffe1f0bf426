//! Which kinds of numbers operators and primitives give.

use super::Numbers;
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;

/// The kinds that an operator gives for operands of these kinds; none where it fails.
pub fn operator(op: BinOp, left: Numbers, right: Numbers) -> Numbers {
    let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
    pairs.filter_map(|(a, b)| operator_on(op, a, b)).collect()
}

fn operator_on(op: BinOp, left: NumKind, right: NumKind) -> Option<NumKind> {
    let kind = left.join(right)?;
    if op.is_comparison() { Some(NumKind::U24) } else { op.is_defined_on(kind).then_some(kind) }
}

/// The kinds that a primitive gives for arguments of these kinds.
pub fn primitive(prim: Prim, args: &[Numbers]) -> Numbers {
    match (prim, args) {
        (Prim::To(kind), [from]) if !from.is_empty() => Numbers::one(kind),
        (Prim::Sin | Prim::Cos | Prim::Tan, [x]) => x.iter().filter(|kind| kind.is_float()).collect(),
        (Prim::Log | Prim::Atan2, [x, y]) => {
            let pairs = x.iter().flat_map(|a| y.iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| a.is_float() && b.is_float()).filter_map(|(a, b)| a.join(b)).collect()
        }
        (Prim::To(_) | Prim::Sin | Prim::Cos | Prim::Tan | Prim::Log | Prim::Atan2, _) => Numbers::NONE,
    }
}

/// The kind of the predecessor of a number of this kind.
pub(super) fn predecessor(kind: NumKind) -> NumKind {
    match kind {
        NumKind::U24 | NumKind::I24 | NumKind::F24 => NumKind::U24,
        NumKind::U32 | NumKind::I32 | NumKind::F32 => NumKind::U32,
    }
}
