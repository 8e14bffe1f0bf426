//! Normalisations: of batches, images, groups, layers, and of windows of channels.
//!
//! Invariant: short floats are normalised in `f32` and rounded once.

use super::pointwise::{by, wide};
use crate::call::{self, Call};
use crate::error::operator;
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Made, NodeId, Number, Op};

type Given = Made<Vec<NodeId>>;

/// y times a factor, plus a bias, each of `[channels]`.
fn scaled(call: &mut Call<'_, '_>, y: NodeId, scale: Option<NodeId>, bias: Option<NodeId>) -> Made<NodeId> {
    let (element, rank) = (call.kind(y), call.rank(y));
    let mut y = y;
    for (op, factor) in [(Op::Mul, scale), (Op::Add, bias)] {
        if let Some(factor) = factor {
            let factor = call.convert(factor, element)?;
            let factor = call.along_axis(factor, 1, rank)?;
            y = call.binary(op, y, factor)?;
        }
    }
    Ok(y)
}
/// (x - mean) / sqrt(var + epsilon) along axes.
fn normalised(call: &mut Call<'_, '_>, x: NodeId, axes: &[u64], epsilon: f64) -> Made<NodeId> {
    let attrs = vec![Attr::List(AttrKind::Axes, axes.to_vec()), Attr::Number(AttrKind::Value, Number::Float(epsilon))];
    call.push(Op::Normalise, &[x], attrs)
}

pub fn batch(call: &mut Call<'_, '_>) -> Given {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let (mean, var) = (call.input(3)?, call.input(4)?);
    let epsilon = call.float("epsilon", 1e-5)?;
    // Training changes what was counted, and versions before 14 say so by outputs that are used.
    let trains = if call.version >= 14 {
        call.flag("training_mode", false)?
    } else {
        call.version < 7 && !call.flag("is_test", false)?
    };
    let axes: Vec<u64> = (0..call.rank(x) as u64).filter(|axis| *axis != 1).collect();
    let element = call.kind(x);
    if trains {
        let momentum = call.float("momentum", 0.9)?;
        let y = wide(call, x, |call, x| {
            let y = normalised(call, x, &axes, epsilon)?;
            scaled(call, y, Some(scale), Some(bias))
        })?;
        let mut given = vec![y];
        for (before, op) in [(mean, Op::Mean), (var, Op::Var)] {
            let now = call.along(op, x, &axes)?;
            let kind = call.kind(before);
            let now = call.convert(now, kind)?;
            let (before, now) = (by(call, Op::Mul, before, momentum)?, by(call, Op::Mul, now, 1.0 - momentum)?);
            given.push(call.op(Op::Add, &[before, now])?);
        }
        return Ok(given);
    }
    let (rank, wider) = (call.rank(x), if element == Scalar::F64 { Scalar::F64 } else { Scalar::F32 });
    let y = wide(call, x, |call, x| {
        let mut parts = vec![];
        for part in [scale, bias, mean, var] {
            let part = call.convert(part, wider)?;
            parts.push(call.along_axis(part, 1, rank)?);
        }
        let more = by(call, Op::Add, parts[3], epsilon)?;
        let root = call.op(Op::Rsqrt, &[more])?;
        let factor = call.op(Op::Mul, &[parts[0], root])?;
        let centred = call.binary(Op::Sub, x, parts[2])?;
        let y = call.binary(Op::Mul, centred, factor)?;
        call.binary(Op::Add, y, parts[1])
    })?;
    Ok(vec![y])
}
pub fn instance(call: &mut Call<'_, '_>) -> Given {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let epsilon = call.float("epsilon", 1e-5)?;
    let axes: Vec<u64> = (2..call.rank(x) as u64).collect();
    let y = wide(call, x, |call, x| {
        let y = normalised(call, x, &axes, epsilon)?;
        scaled(call, y, Some(scale), Some(bias))
    })?;
    Ok(vec![y])
}
/// From version 21 on there is a factor for each channel; before, for each group.
pub fn group(call: &mut Call<'_, '_>) -> Given {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let (epsilon, groups) = (call.float("epsilon", 1e-5)?, call.int("num_groups", 1)?);
    let lengths = call.lengths(x);
    let Some(channels) = lengths.get(1).copied() else { return Err(operator("it needs [images, channels, ..]")) };
    let Some(groups) = u64::try_from(groups).ok().filter(|groups| *groups > 0 && channels.is_multiple_of(*groups))
    else {
        return Err(operator(format!("it divides {channels} channels into {groups} groups")));
    };
    let each = channels / groups;
    let y = wide(call, x, |call, x| {
        let apart = call.shaped(x, &[&[lengths[0], groups, each], &lengths[2..]].concat())?;
        let axes: Vec<u64> = (2..lengths.len() as u64 + 1).collect();
        let y = normalised(call, apart, &axes, epsilon)?;
        if call.shape(scale).elements() == groups && each != 1 {
            let y = scaled(call, y, Some(scale), Some(bias))?;
            return call.shaped(y, &lengths);
        }
        let y = call.shaped(y, &lengths)?;
        scaled(call, y, Some(scale), Some(bias))
    })?;
    Ok(vec![y])
}
/// The axes from one on.
fn from_axis(call: &Call<'_, '_>, x: NodeId) -> Made<Vec<u64>> {
    let rank = call.rank(x);
    Ok((call.axis("axis", -1, rank)? as u64..rank as u64).collect())
}
pub fn layer(call: &mut Call<'_, '_>) -> Given {
    let (x, scale, bias) = (call.input(0)?, call.input(1)?, call.optional(2));
    let (axes, epsilon) = (from_axis(call, x)?, call.float("epsilon", 1e-5)?);
    let element = call.kind(x);
    let computed = if element == Scalar::F64 { Scalar::F64 } else { Scalar::F32 };
    let wide = call.convert(x, computed)?;
    let y = normalised(call, wide, &axes, epsilon)?;
    let y = call.convert(y, element)?;
    let y = call.binary(Op::Mul, y, scale)?;
    let y = match bias {
        Some(bias) => call.binary(Op::Add, y, bias)?,
        None => y,
    };
    let mut given = vec![y];
    if call.gives(1) || call.gives(2) {
        let shape = call.shape(wide).ones_at(&axes);
        let (mean, var) = (call.along(Op::Mean, wide, &axes)?, call.along(Op::Var, wide, &axes)?);
        let more = by(call, Op::Add, var, epsilon)?;
        let root = call.op(Op::Rsqrt, &[more])?;
        given.extend([call.reshape(mean, &shape)?, call.reshape(root, &shape)?]);
    }
    Ok(given)
}
pub fn rms(call: &mut Call<'_, '_>) -> Given {
    let (x, scale) = (call.input(0)?, call.input(1)?);
    let (axes, epsilon) = (from_axis(call, x)?, call.float("epsilon", 1e-5)?);
    let y = wide(call, x, |call, x| {
        let square = call.op(Op::Mul, &[x, x])?;
        let mean = call.along(Op::Mean, square, &axes)?;
        let more = by(call, Op::Add, mean, epsilon)?;
        let root = call.op(Op::Rsqrt, &[more])?;
        let shape = call.shape(x).clone();
        let root = call.unreduce(root, &axes, &shape)?;
        call.op(Op::Mul, &[x, root])
    })?;
    Ok(vec![call.binary(Op::Mul, y, scale)?])
}
/// Each element divided by a power of the squares of its neighbours in other channels.
pub fn local_response(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let size = call.size("size", 1, 1)?;
    if call.rank(x) < 2 {
        return Err(operator("it needs [images, channels, ..]"));
    }
    let (alpha, beta, bias) = (call.float("alpha", 1e-4)?, call.float("beta", 0.75)?, call.float("bias", 1.0)?);
    let y = wide(call, x, |call, x| {
        let rank = call.rank(x);
        let square = call.op(Op::Mul, &[x, x])?;
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        (low[1], high[1]) = ((size - 1) / 2, size - 1 - (size - 1) / 2);
        let padded = call.importer.graph.pad(square, &low, &high, Number::Float(0.0))?;
        let cut = call.windows(padded, 1, size, 1, 1)?;
        let sum = call.along(Op::Sum, cut, &[rank as u64])?;
        let inner = by(call, Op::Mul, sum, alpha / size as f64)?;
        let inner = by(call, Op::Add, inner, bias)?;
        let power = by(call, Op::Pow, inner, -beta)?;
        call.op(Op::Mul, &[x, power])
    })?;
    Ok(vec![y])
}
/// Less the mean, divided by the deviation.
pub fn mean_variance(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let rank = call.rank(x);
    let axes = call::axes(&call.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]), rank)?;
    let y = wide(call, x, |call, x| {
        let shape = call.shape(x).clone();
        let mean = call.spread(Op::Mean, x, &axes)?;
        let distance = call.op(Op::Sub, &[x, mean])?;
        let var = call.along(Op::Var, x, &axes)?;
        let deviation = call.op(Op::Sqrt, &[var])?;
        let deviation = call.unreduce(deviation, &axes, &shape)?;
        let below = by(call, Op::Add, deviation, 1e-9)?;
        call.op(Op::Div, &[distance, below])
    })?;
    Ok(vec![y])
}
