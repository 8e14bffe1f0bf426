//! Attributes: only those that the row names, each once, those that are needed, with values that make sense.

use super::flow::cases;
use super::names;
use super::structure::Context;
use crate::attrs::{Attr, AttrKind, Order};
use crate::function::Inst;
use crate::groups::atomic_updates;
use crate::ops::Op;
use crate::types::{Scalar, Space, Type};
use girih_base::diag::Code;
use std::collections::HashSet;

/// Checks the attributes of an instruction.
pub(super) fn check(cx: &mut Context<'_>, inst: &Inst) {
    let row = inst.op.row();
    for (i, attr) in inst.attrs.iter().enumerate() {
        let kind = attr.kind();
        if !row.attrs.contains(&kind) {
            let message = format!("`{}` has no attribute `{}`", row.name, kind.name());
            let allowed: Vec<String> = row.attrs.iter().map(|k| format!("`{}`", k.name())).collect();
            let hint = match &allowed[..] {
                [] => "it has no attributes".into(),
                _ => format!("it can have {}", allowed.join(", ")),
            };
            cx.report(Code::IrAttribute, inst, message, &hint);
        } else if inst.attrs[..i].iter().any(|a| a.kind() == kind) {
            let message = format!("`{}` appears twice", kind.name());
            cx.report(Code::IrAttribute, inst, message, "give each attribute once");
        } else if let Err((message, hint)) = value(cx, inst, attr) {
            cx.report(Code::IrAttribute, inst, message, hint);
        }
    }
    for kind in row.attrs {
        if is_needed(inst.op, *kind) && !inst.has(*kind) {
            let message = format!("`{}` needs the attribute `{}`", row.name, kind.name());
            cx.report(Code::IrAttribute, inst, message, kind.doc());
        }
    }
    if inst.op == Op::Switch {
        switch(cx, inst);
    }
}

/// Kinds without a default.
fn is_needed(op: Op, kind: AttrKind) -> bool {
    match kind {
        AttrKind::Callee
        | AttrKind::Cases
        | AttrKind::Shape
        | AttrKind::MatrixA
        | AttrKind::MatrixB
        | AttrKind::Code
        | AttrKind::Cell
        | AttrKind::Field
        | AttrKind::Global
        | AttrKind::Axes
        | AttrKind::Update => true,
        AttrKind::Order => op == Op::Fence,
        AttrKind::Dim
        | AttrKind::Offset
        | AttrKind::SourceOffset
        | AttrKind::NoWrap
        | AttrKind::Total
        | AttrKind::Scope
        | AttrKind::Spaces
        | AttrKind::Cache
        | AttrKind::Volatile
        | AttrKind::Unroll
        | AttrKind::Flat
        | AttrKind::Pending
        | AttrKind::Layout
        | AttrKind::Axis
        | AttrKind::Reverse
        | AttrKind::Precision
        | AttrKind::Multiple
        | AttrKind::Contiguous
        | AttrKind::Constancy
        | AttrKind::Eviction
        | AttrKind::Text => false,
    }
}

/// Whether an operation can order accesses so. Those whose rows have no orders are not asked.
fn ordered(op: Op, order: Order) -> Result<(), (String, &'static str)> {
    match (op, order) {
        (Op::AtomicLoad, Order::Release | Order::AcquireRelease) => {
            Err(("a load cannot release".into(), "use `order(acquire)` or a fence"))
        }
        (Op::AtomicStore, Order::Acquire | Order::AcquireRelease) => {
            Err(("a store cannot acquire".into(), "use `order(release)` or a fence"))
        }
        (Op::Fence, Order::Relaxed) => {
            Err(("a relaxed fence orders nothing".into(), "use `order(acquire)`, `order(release)` or both"))
        }
        (Op::AtomicLoad, Order::Relaxed | Order::Acquire)
        | (Op::AtomicStore, Order::Relaxed | Order::Release)
        | (Op::Fence, Order::Acquire | Order::Release | Order::AcquireRelease)
        | (atomic_updates!() | Op::AtomicCompareExchange | Op::TileAtomic | Op::TileCompareExchange, _) => Ok(()),
        (other, _) => unreachable!("`{}` has no orders", other.name()),
    }
}

/// Whether an attribute's value makes sense for the operation.
fn value(cx: &Context<'_>, inst: &Inst, attr: &Attr) -> Result<(), (String, &'static str)> {
    let name = inst.op.name();
    match attr {
        Attr::NoWrap if !inst.ty.and_then(Type::element).is_some_and(Scalar::is_integer) => {
            Err((format!("{} does not wrap", names::operation(inst)), "`nowrap` belongs to integers; leave it out"))
        }
        Attr::Code(0) => {
            Err(("the code of a trap is not 0".into(), "0 means that nothing was reported; use another number"))
        }
        Attr::Order(order) => ordered(inst.op, *order),
        Attr::Cache(_) => match inst.operands.first().map(|m| cx.ty(*m)) {
            Some(Type::Memory(Space::Shared | Space::Private)) => {
                Err((format!("`{name}` has a caching hint, but its memory is not a buffer"), "leave `cache` out"))
            }
            _not_known_to_be_another => Ok(()),
        },
        Attr::NoWrap
        | Attr::Total
        | Attr::Code(_)
        | Attr::Cell(_)
        | Attr::Field(_)
        | Attr::Global(_)
        | Attr::Dim(_)
        | Attr::Callee(_)
        | Attr::Cases(_)
        | Attr::Offset(_)
        | Attr::SourceOffset(_)
        | Attr::Scope(_)
        | Attr::Spaces(_)
        | Attr::Volatile
        | Attr::Unroll
        | Attr::Flat
        | Attr::Pending(_)
        | Attr::Shape(_)
        | Attr::MatrixA(_)
        | Attr::MatrixB(_)
        | Attr::Layout(_)
        // The rules of tiles look at these.
        | Attr::Axis(_)
        | Attr::Axes(_)
        | Attr::Reverse
        | Attr::Update(_)
        | Attr::Precision(_)
        | Attr::Multiple(_)
        | Attr::Contiguous(_)
        | Attr::Constancy(_)
        | Attr::Eviction(_)
        | Attr::Text(_) => Ok(()),
    }
}

/// The cases of a switch: different numbers of its type, at least one a region.
fn switch(cx: &mut Context<'_>, inst: &Inst) {
    let Some(Type::Scalar(scalar)) = inst.ty.filter(|ty| ty.element().is_some_and(Scalar::is_integer)) else { return };
    let mut seen = HashSet::new();
    for values in cases(inst) {
        if values.is_empty() {
            cx.report(
                Code::IrConstant,
                inst,
                "a region of the `switch` has no case",
                "give it a number, or leave it out",
            );
        }
        for value in values {
            if !in_range(*value, scalar) {
                let message = format!("the case {value} is not a `{scalar}`");
                cx.report(Code::IrConstant, inst, message, "leave it out: it never occurs");
            } else if !seen.insert(*value) {
                let message = format!("the case {value} appears twice");
                cx.report(Code::IrConstant, inst, message, "each number belongs to one region");
            }
        }
    }
}

/// Whether a number is one of an integer type.
fn in_range(value: i64, scalar: Scalar) -> bool {
    let bits = scalar.bits();
    match (scalar.is_signed(), bits) {
        // The bits of a `u64` from 2^63 on read as negative.
        (_, 64) => true,
        (true, _) => (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&value),
        (false, _) => (0..1i64 << bits).contains(&value),
    }
}
