//! Operators along axes: reductions, positions of extremes, running sums, the greatest elements.
//!
//! Invariant: a reduction of no elements gives the number that changes nothing, where the standard names one.

use super::pointwise::{by, wide};
use crate::call::{self, Call};
use crate::error::operator;
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Made, NodeId, Number, Op, Shape, TensorType};

type Given = Made<Vec<NodeId>>;

/// What elements become.
#[derive(Clone, Copy)]
pub enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

impl Reduction {
    /// Since when its axes are an input.
    fn inputs_since(self) -> i64 {
        match self {
            Reduction::Sum => 13,
            Reduction::Mean
            | Reduction::Max
            | Reduction::Min
            | Reduction::Prod
            | Reduction::L1
            | Reduction::L2
            | Reduction::LogSum
            | Reduction::LogSumExp
            | Reduction::SumSquare => 18,
        }
    }
    /// What no elements become.
    fn of_nothing(self, element: Scalar) -> Number {
        let least =
            if element.is_float() { Number::Float(f64::NEG_INFINITY) } else { Number::Int(i128::MIN).within(element) };
        let most =
            if element.is_float() { Number::Float(f64::INFINITY) } else { Number::Int(i128::MAX).within(element) };
        // Of truth values the least is 0, the greatest 1.
        if element == Scalar::Bool {
            return Number::Int(matches!(self, Reduction::Min | Reduction::Prod).into());
        }
        let number = |number: f64| if element.is_float() { Number::Float(number) } else { Number::Int(number as i128) };
        match self {
            Reduction::Sum | Reduction::L1 | Reduction::L2 | Reduction::SumSquare => number(0.0),
            Reduction::Mean => number(f64::NAN),
            Reduction::Prod => number(1.0),
            Reduction::Max | Reduction::LogSum | Reduction::LogSumExp => least,
            Reduction::Min => most,
        }
    }
}

pub fn reduce(call: &mut Call<'_, '_>, by: Reduction) -> Given {
    let x = call.input(0)?;
    let (rank, keep) = (call.rank(x), call.flag("keepdims", true)?);
    let named = call.ints_or_input("axes", 1, by.inputs_since())?.filter(|axes| !axes.is_empty());
    let axes = match named {
        Some(axes) => call::axes(&axes, rank)?,
        None if call.flag("noop_with_empty_axes", false)? => vec![],
        None => (0..rank as u64).collect(),
    };
    let shape = call.shape(x).clone();
    let reduced = if axes.iter().any(|axis| shape.length(*axis as usize) == 0) {
        let ty = TensorType { element: call.kind(x), shape: shape.without(&axes) };
        call.full(&ty, by.of_nothing(ty.element))?
    } else {
        reduced(call, by, x, &axes)?
    };
    Ok(vec![if keep { call.reshape(reduced, &shape.ones_at(&axes))? } else { reduced }])
}

/// A reduction along axes that have elements.
pub fn reduced(call: &mut Call<'_, '_>, by: Reduction, x: NodeId, axes: &[u64]) -> Made<NodeId> {
    let element = call.kind(x);
    match by {
        Reduction::Sum => call.along(Op::Sum, x, axes),
        Reduction::Prod => call.along(Op::Prod, x, axes),
        Reduction::Max if element == Scalar::Bool => call.along(Op::Any, x, axes),
        Reduction::Min if element == Scalar::Bool => call.along(Op::All, x, axes),
        Reduction::Max => call.along(Op::Amax, x, axes),
        Reduction::Min => call.along(Op::Amin, x, axes),
        Reduction::Mean if element.is_float() => call.along(Op::Mean, x, axes),
        Reduction::Mean => {
            let count: u64 = axes.iter().map(|axis| call.shape(x).length(*axis as usize)).product();
            let sum = call.along(Op::Sum, x, axes)?;
            super::pointwise::by(call, Op::Div, sum, count as f64)
        }
        Reduction::L1 => {
            let size = if element.is_signed() || element.is_float() { call.op(Op::Abs, &[x])? } else { x };
            call.along(Op::Sum, size, axes)
        }
        Reduction::SumSquare => {
            let square = call.op(Op::Mul, &[x, x])?;
            call.along(Op::Sum, square, axes)
        }
        Reduction::L2 => as_floats(call, x, |call, x| {
            let square = call.op(Op::Mul, &[x, x])?;
            let sum = call.along(Op::Sum, square, axes)?;
            call.op(Op::Sqrt, &[sum])
        }),
        Reduction::LogSum => as_floats(call, x, |call, x| {
            let sum = call.along(Op::Sum, x, axes)?;
            call.op(Op::Log, &[sum])
        }),
        Reduction::LogSumExp => as_floats(call, x, |call, x| call.along(Op::LogSumExp, x, axes)),
    }
}

/// A function of floats, of any numbers.
fn as_floats(
    call: &mut Call<'_, '_>,
    x: NodeId,
    function: impl FnOnce(&mut Call<'_, '_>, NodeId) -> Made<NodeId>,
) -> Made<NodeId> {
    let element = call.kind(x);
    let x = if element.is_float() { x } else { call.convert(x, Scalar::F32)? };
    let y = wide(call, x, function)?;
    call.convert(y, element)
}

pub fn position(call: &mut Call<'_, '_>, op: Op) -> Given {
    let x = call.input(0)?;
    let axis = call.axis("axis", 0, call.rank(x))?;
    let keep = call.flag("keepdims", true)?;
    let (shape, last) = (call.shape(x).clone(), call.flag("select_last_index", false)?);
    let x = if last { call.along(Op::Flip, x, &[axis as u64])? } else { x };
    let mut found = call.push(op, &[x], vec![Attr::List(AttrKind::Axis, vec![axis as u64])])?;
    if last {
        let end = call.number(found, shape.length(axis) as f64 - 1.0)?;
        found = call.op(Op::Sub, &[end, found])?;
    }
    Ok(vec![if keep { call.reshape(found, &shape.ones_at(&[axis as u64]))? } else { found }])
}

pub fn cumsum(call: &mut Call<'_, '_>) -> Given {
    let (x, which) = (call.input(0)?, call.input(1)?);
    let which = call.integers(which)?;
    let [which] = which[..] else { return Err(operator("it sums along one axis")) };
    let axis = call::axis(which, call.rank(x))?;
    let (exclusive, backwards) = (call.flag("exclusive", false)?, call.flag("reverse", false)?);
    let x = if backwards { call.along(Op::Flip, x, &[axis as u64])? } else { x };
    let mut sums = call.at_axis(Op::CumSum, &[x], axis)?;
    if exclusive {
        sums = call.op(Op::Sub, &[sums, x])?;
    }
    Ok(vec![if backwards { call.along(Op::Flip, sums, &[axis as u64])? } else { sums }])
}

/// Products up to each element, by doubling: each step multiplies by what is twice as far before.
pub fn cumprod(call: &mut Call<'_, '_>) -> Given {
    let (x, which) = (call.input(0)?, call.input(1)?);
    let which = call.integers(which)?;
    let [which] = which[..] else { return Err(operator("it multiplies along one axis")) };
    let rank = call.rank(x);
    let axis = call::axis(which, rank)?;
    let (exclusive, backwards) = (call.flag("exclusive", false)?, call.flag("reverse", false)?);
    let mut products = if backwards { call.along(Op::Flip, x, &[axis as u64])? } else { x };
    let length = call.shape(x).length(axis);
    let one = if call.kind(x).is_float() { Number::Float(1.0) } else { Number::Int(1) };
    let before = |call: &mut Call<'_, '_>, x: NodeId, distance: u64| {
        let front = call.part(x, axis, 0, length.saturating_sub(distance))?;
        let (mut low, high) = (vec![0; rank], vec![0; rank]);
        low[axis] = distance.min(length);
        call.importer.graph.pad(front, &low, &high, one)
    };
    let mut distance = 1;
    while distance < length {
        let moved = before(call, products, distance)?;
        products = call.op(Op::Mul, &[products, moved])?;
        distance *= 2;
    }
    if exclusive {
        products = before(call, products, 1)?;
    }
    Ok(vec![if backwards { call.along(Op::Flip, products, &[axis as u64])? } else { products }])
}

/// From version 13 on along one axis; before, along that axis and all after it.
pub fn softmax(call: &mut Call<'_, '_>, op: Op) -> Given {
    let x = call.input(0)?;
    let rank = call.rank(x);
    let axes: Vec<u64> = if call.version >= 13 {
        vec![call.axis("axis", -1, rank)? as u64]
    } else {
        (call.axis("axis", 1, rank)? as u64..rank as u64).collect()
    };
    Ok(vec![call.along(op, x, &axes)?])
}
/// 1 at the first greatest element, 0 elsewhere.
pub fn hardmax(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let (shape, rank) = (call.shape(x).clone(), call.rank(x));
    let (first, last) = match call.version {
        13.. => {
            let axis = call.axis("axis", -1, rank)?;
            (axis, axis)
        }
        _older => (call.axis("axis", 1, rank)?, rank - 1),
    };
    let lengths = shape.lengths();
    let [before, along, after] =
        [&lengths[..first], &lengths[first..=last], &lengths[last + 1..]].map(|part| part.iter().product::<u64>());
    let flat = call.shaped(x, &[before, along, after])?;
    let place = call.push(Op::ArgMax, &[flat], vec![Attr::List(AttrKind::Axis, vec![1])])?;
    let own = call.iota(Scalar::I64, &Shape::of(&[before, along, after]), 1)?;
    let place = call.shaped(place, &[before, 1, after])?;
    let hit = call.binary(Op::Eq, own, place)?;
    let element = call.kind(x);
    let hit = call.convert(hit, element)?;
    Ok(vec![call.reshape(hit, &shape)?])
}

/// The k greatest or least, in order, and where they are.
pub fn top_k(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let k = match call.version {
        ..10 => call.int("k", 0)?,
        _input => call.single_int(1)?,
    };
    let (rank, largest) = (call.rank(x), call.flag("largest", true)?);
    let axis = call.axis("axis", -1, rank)?;
    let length = call.lengths(x)[axis];
    let Some(k) = u64::try_from(k).ok().filter(|k| *k <= length) else {
        return Err(operator(format!("it takes {k} of {length} elements")));
    };
    let attrs = vec![Attr::List(AttrKind::Axis, vec![axis as u64]), Attr::List(AttrKind::Length, vec![k])];
    let places = call.push(if largest { Op::ArgTop } else { Op::ArgSort }, &[x], attrs)?;
    let values = call.at_axis(Op::Gather, &[x, places], axis)?;
    Ok(vec![values, places])
}

/// x divided by the norm of each of its rows along an axis.
pub fn lp_normalization(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let (axis, p) = (call.axis("axis", -1, call.rank(x))?, call.int("p", 2)?);
    let axes = [axis as u64];
    let kind = match p {
        1 => Reduction::L1,
        2 => Reduction::L2,
        other => return Err(operator(format!("its norm of order {other} is not there"))),
    };
    let y = wide(call, x, |call, x| {
        let norm = reduced(call, kind, x, &axes)?;
        let shape = call.shape(x).clone();
        let norm = call.unreduce(norm, &axes, &shape)?;
        // A row of zeros stays.
        let is_zero = by(call, Op::Eq, norm, 0.0)?;
        let one = call.number(norm, 1.0)?;
        let norm = call.op(Op::Where, &[is_zero, one, norm])?;
        call.op(Op::Div, &[x, norm])
    })?;
    Ok(vec![y])
}
