//! Operators that move elements by shapes: views, parts, repetitions, and tensors that are made of numbers alone.

use crate::call::{self, Call, axes};
use crate::constant::Constant;
use crate::error::operator;
use crate::size::{self, lengths};
use girih_ir::Scalar;
use girih_tensor::{Data, Made, NodeId, Number, Op, Shape, TensorType};

type Given = Made<Vec<NodeId>>;

/// What tensors of no elements hold, which no reader sees.
fn zero(element: Scalar) -> Number {
    if element.is_float() { Number::Float(0.0) } else { Number::Int(0) }
}

pub fn shape(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let all: Vec<i64> = call.lengths(x).iter().map(|length| *length as i64).collect();
    let rank = all.len() as i64;
    let at = |place: i64| (if place < 0 { place + rank } else { place }).clamp(0, rank) as usize;
    let (start, end) = (at(call.int("start", 0)?), at(call.int("end", rank)?));
    let part = all.get(start..end).unwrap_or(&[]).to_vec();
    Ok(vec![call.integers_of(&[part.len() as u64], part)?])
}
pub fn size(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let count = call.shape(x).elements() as i64;
    Ok(vec![call.integers_of(&[], [count])?])
}

pub fn reshape(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let wanted = call.ints_or_input("shape", 1, 5)?.ok_or_else(|| operator("it needs a shape"))?;
    if wanted.iter().filter(|length| **length == -1).count() > 1 {
        return Err(operator(format!("its shape {wanted:?} leaves more than one length open by -1")));
    }
    let (from, zero_is_zero) = (call.lengths(x), call.flag("allowzero", false)?);
    let mut lengths = vec![];
    for (axis, length) in wanted.iter().enumerate() {
        lengths.push(match *length {
            0 if !zero_is_zero => {
                *from.get(axis).ok_or_else(|| operator(format!("it keeps length {axis}, of {} lengths", from.len())))?
            }
            -1 => 1,
            length => size::at_least(length, 0, "a length")?,
        });
    }
    let others = size::counted(&lengths)?;
    if let Some(open) = wanted.iter().position(|length| *length == -1) {
        lengths[open] = call.shape(x).elements().checked_div(others).unwrap_or(0);
    }
    Ok(vec![call.shaped(x, &lengths)?])
}
pub fn flatten(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let all = call.lengths(x);
    let axis = call.int("axis", 1)?;
    let axis = if axis == all.len() as i64 { all.len() } else { call::axis(axis, all.len())? };
    let (before, after) = (all[..axis].iter().product(), all[axis..].iter().product());
    Ok(vec![call.shaped(x, &[before, after])?])
}
pub fn squeeze(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let all = call.lengths(x);
    let gone = match call.ints_or_input("axes", 1, 13)? {
        Some(named) => axes(&named, all.len())?,
        None => (0..all.len() as u64).filter(|axis| all[*axis as usize] == 1).collect(),
    };
    let kept: Vec<u64> = (0..all.len()).filter(|axis| !gone.contains(&(*axis as u64))).map(|axis| all[axis]).collect();
    Ok(vec![call.shaped(x, &kept)?])
}
pub fn unsqueeze(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let named = call.ints_or_input("axes", 1, 13)?.ok_or_else(|| operator("it needs axes"))?;
    let mut all = call.lengths(x);
    for axis in axes(&named, all.len() + named.len())? {
        all.insert(axis as usize, 1);
    }
    Ok(vec![call.shaped(x, &all)?])
}
pub fn transpose(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let rank = call.rank(x);
    let order = match call.ints("perm")? {
        Some(order) => {
            order.iter().map(|one| call::axis(*one, rank).map(|axis| axis as u64)).collect::<Made<Vec<u64>>>()?
        }
        None => (0..rank as u64).rev().collect(),
    };
    Ok(vec![call.permute(x, &order)?])
}
pub fn concat(call: &mut Call<'_, '_>) -> Given {
    let all = call.all()?;
    let default = if call.version < 4 { 1 } else { 0 };
    let axis = call.axis("axis", default, call.rank(all[0]))?;
    Ok(vec![call.at_axis(Op::Concat, &all, axis)?])
}
pub fn split(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let axis = call.axis("axis", 0, call.rank(x))?;
    let length = call.shape(x).length(axis);
    let parts: Vec<u64> = match call.ints_or_input("split", 1, 13)? {
        Some(parts) => lengths(&parts)?,
        None => {
            let given = call.node.output.len();
            let count = call.size("num_outputs", given as i64, 1)?;
            if count != given as u64 {
                return Err(operator(format!("it divides its input into {count} parts, and has {given} outputs")));
            }
            let each = length.div_ceil(count);
            (0..count).map(|part| each.min(length.saturating_sub(part * each))).collect()
        }
    };
    if parts.iter().sum::<u64>() != length {
        return Err(operator(format!("it divides {length} elements into parts of {parts:?}")));
    }
    let mut from = 0;
    let mut given = vec![];
    for part in parts {
        given.push(call.part(x, axis, from, from + part)?);
        from += part;
    }
    Ok(given)
}

/// From version 10 on starts, ends, axes and steps are inputs. Steps may go backwards.
pub fn slice(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let all = call.lengths(x);
    let rank = all.len();
    let mut given = [None, None, None, None];
    for (number, name) in ["starts", "ends", "axes", "steps"].into_iter().enumerate() {
        given[number] = call.ints_or_input(name, number + 1, 10)?;
    }
    let [Some(starts), Some(ends), named, steps] = given else { return Err(operator("it needs starts and ends")) };
    let named = named.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), named.len(), steps.len()].iter().any(|count| *count != starts.len()) {
        return Err(operator("it needs as many starts as ends, axes and steps"));
    }
    let (mut from, mut to, mut by, mut flipped) = (vec![0; rank], all.clone(), vec![1; rank], vec![]);
    for (number, one) in named.iter().enumerate() {
        let axis = call::axis(*one, rank)?;
        let length = all[axis] as i64;
        let step = steps[number];
        let at = |place: i64, least: i64, most: i64| {
            (if place < 0 { place.saturating_add(length) } else { place }).clamp(least, most)
        };
        let (start, end) = match step {
            0 => return Err(operator("a step is 0")),
            1.. => (at(starts[number], 0, length), at(ends[number], 0, length)),
            _back => {
                // Counted from the end, the way forward.
                flipped.push(axis as u64);
                let (start, end) = (at(starts[number], -1, length - 1), at(ends[number], -1, length - 1));
                (length - 1 - start, length - 1 - end)
            }
        };
        (from[axis], to[axis], by[axis]) = (start as u64, end.max(start) as u64, step.unsigned_abs());
    }
    let x = if flipped.is_empty() { x } else { call.along(Op::Flip, x, &flipped)? };
    Ok(vec![call.strided(x, &from, &to, &by)?])
}

pub fn tile(call: &mut Call<'_, '_>) -> Given {
    let (x, repeats) = (call.input(0)?, call.input(1)?);
    let repeats = call.integers(repeats)?;
    Ok(vec![tiled(call, x, &lengths(&repeats)?)?])
}
/// Each dimension repeated so often.
fn tiled(call: &mut Call<'_, '_>, x: NodeId, repeats: &[u64]) -> Made<NodeId> {
    let all = call.lengths(x);
    if repeats.len() != all.len() {
        return Err(operator(format!("it needs {} numbers of repetitions, and has {}", all.len(), repeats.len())));
    }
    let apart: Vec<u64> = all.iter().flat_map(|length| [1, *length]).collect();
    let wide: Vec<u64> = all.iter().zip(repeats).flat_map(|(length, count)| [*count, *length]).collect();
    let joined: Vec<u64> = all.iter().zip(repeats).map(|(length, count)| length * count).collect();
    if wide.len() <= 12 {
        let x = call.shaped(x, &apart)?;
        let x = call.broadcast_to(x, &Shape::of(&wide))?;
        return call.shaped(x, &joined);
    }
    // More dimensions than a tensor has: one after the other, as [before, repetitions, the dimension and all after it].
    let (mut x, mut whole) = (x, all);
    for (axis, count) in repeats.iter().enumerate().filter(|(_, count)| **count != 1) {
        let (before, after) = (size::counted(&whole[..axis])?, size::counted(&whole[axis..])?);
        let flat = call.shaped(x, &[before, 1, after])?;
        let wide = call.broadcast_to(flat, &Shape::of(&[before, *count, after]))?;
        whole[axis] *= count;
        x = call.shaped(wide, &whole)?;
    }
    Ok(x)
}
pub fn expand(call: &mut Call<'_, '_>) -> Given {
    let (x, wanted) = (call.input(0)?, call.input(1)?);
    let wanted = call.integers(wanted)?;
    let wanted = lengths(&wanted)?;
    let own = call.lengths(x);
    let rank = own.len().max(wanted.len());
    let at = |all: &[u64], axis: usize| (axis + all.len()).checked_sub(rank).map_or(1, |axis| all[axis]);
    let both = |axis| match (at(&own, axis), at(&wanted, axis)) {
        (length, 1) => length,
        (_, length) => length,
    };
    let shape: Vec<u64> = (0..rank).map(both).collect();
    Ok(vec![call.broadcast_to(x, &Shape::of(&shape))?])
}

/// What padding holds.
pub fn pad(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let rank = call.rank(x);
    let name = if call.version < 2 { "paddings" } else { "pads" };
    let pads = call.ints_or_input(name, 1, 11)?.ok_or_else(|| operator("it needs the numbers of elements around"))?;
    let pads = size::amounts(pads, "its numbers of elements around")?;
    let named = match call.optional_integers(3)? {
        Some(named) => named.iter().map(|one| call::axis(*one, rank)).collect::<Made<Vec<usize>>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * named.len() {
        return Err(operator(format!(
            "it needs {} numbers of elements around, and has {}",
            2 * named.len(),
            pads.len()
        )));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (number, axis) in named.iter().enumerate() {
        (low[*axis], high[*axis]) = (pads[number], pads[number + named.len()]);
    }
    let element = call.kind(x);
    let mode = call.text("mode", "constant")?;
    if mode == "constant" {
        let fill = match (call.version, call.optional(2)) {
            (..11, _) => Number::Float(call.float("value", 0.0)?),
            (_, Some(_)) => call.single(2)?,
            (_, None) => zero(element),
        };
        let fill = if element.is_float() { Number::Float(fill.as_float()) } else { Number::Int(fill.as_int()) };
        return Ok(vec![around(call, x, &low, &high, fill)?]);
    }
    let mut x = x;
    for axis in 0..rank {
        let length = call.shape(x).length(axis) as i64;
        if (low[axis], high[axis]) == (0, 0) {
            continue;
        }
        if length == 0 {
            return Err(operator("it repeats elements of a dimension that has none"));
        }
        // Cut at both ends, it may have no elements left.
        let range = -low[axis]..length + high[axis];
        call.room(&[(range.end - range.start).max(0) as u64])?;
        let places = range.map(|at| match mode.as_str() {
            "edge" => Ok(at.clamp(0, length - 1)),
            "wrap" => Ok(at.rem_euclid(length)),
            "reflect" => {
                let turn = at.rem_euclid((2 * (length - 1)).max(1));
                Ok(turn.min(2 * (length - 1) - turn).max(0))
            }
            other => Err(operator(format!("its mode `{other}` is not there"))),
        });
        let places = places.collect::<Made<Vec<i64>>>()?;
        let places = call.integers_of(&[places.len() as u64], places)?;
        x = call.at_axis(Op::IndexSelect, &[x, places], axis)?;
    }
    Ok(vec![x])
}
/// More elements around, or fewer.
pub fn around(call: &mut Call<'_, '_>, x: NodeId, low: &[i64], high: &[i64], fill: Number) -> Made<NodeId> {
    let all = call.lengths(x);
    let cut = |count: &i64| (-count).max(0) as u64;
    let start: Vec<u64> = low.iter().map(cut).collect();
    let end: Vec<u64> = all.iter().zip(high).map(|(length, high)| length.saturating_sub(cut(high))).collect();
    let end: Vec<u64> = end.iter().zip(&start).map(|(end, start)| *end.max(start)).collect();
    let x = call.slice(x, &start, &end)?;
    let more = |all: &[i64]| all.iter().map(|count| (*count).max(0) as u64).collect::<Vec<u64>>();
    call.importer.graph.pad(x, &more(low), &more(high), fill)
}
pub fn center_crop_pad(call: &mut Call<'_, '_>) -> Given {
    let (x, wanted) = (call.input(0)?, call.input(1)?);
    let wanted = call.integers(wanted)?;
    let wanted = lengths(&wanted)?;
    let rank = call.rank(x);
    let named = call.ints("axes")?.unwrap_or_else(|| (0..rank as i64).collect());
    if named.len() != wanted.len() {
        return Err(operator(format!("it gives {} axes {} lengths", named.len(), wanted.len())));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (one, wanted) in named.iter().zip(wanted) {
        let axis = call::axis(*one, rank)?;
        let more = wanted as i64 - call.shape(x).length(axis) as i64;
        low[axis] = if more < 0 { -(-more / 2) } else { more / 2 };
        high[axis] = more - low[axis];
    }
    let fill = zero(call.kind(x));
    Ok(vec![around(call, x, &low, &high, fill)?])
}

pub fn constant(call: &mut Call<'_, '_>) -> Given {
    if let Some(tensor) = call.tensor("value")? {
        let constant = Constant::read(tensor, &mut |_, _, _| Err("its elements are in another file".into()))?;
        return Ok(vec![call.importer.constant(constant)?]);
    }
    let node = if call.has("value_int") {
        let number = call.int("value_int", 0)?;
        call.integers_of(&[], [number])?
    } else if call.has("value_float") {
        let number = call.float("value_float", 0.0)?;
        call.floats_of(Scalar::F32, &[], vec![number])?
    } else if let Some(all) = call.ints("value_ints")? {
        call.integers_of(&[all.len() as u64], all)?
    } else if let Some(all) = call.floats("value_floats")? {
        call.floats_of(Scalar::F32, &[all.len() as u64], all)?
    } else {
        return Err(operator("it gives a text or a sparse tensor, which tensors are not"));
    };
    Ok(vec![node])
}
pub fn constant_of_shape(call: &mut Call<'_, '_>) -> Given {
    let wanted = call.input(0)?;
    let all = call.integers(wanted)?;
    let (element, number) = match call.tensor("value")? {
        Some(tensor) => {
            let one = Constant::read(tensor, &mut |_, _, _| Err("its number is in another file".into()))?;
            if one.ty.shape.elements() != 1 {
                return Err(operator(format!("it gives one number everywhere, and is given {}", one.ty)));
            }
            (one.ty.element, one.data().get(0))
        }
        None => (Scalar::F32, Number::Float(0.0)),
    };
    Ok(vec![call.full(&TensorType::of(element, &lengths(&all)?), number)?])
}
pub fn range(call: &mut Call<'_, '_>) -> Given {
    let mut numbers = vec![];
    for number in 0..3 {
        numbers.push(call.single(number)?);
    }
    let first = call.input(0)?;
    let element = call.kind(first);
    let data = match numbers[..] {
        [Number::Int(start), Number::Int(limit), Number::Int(delta)] if delta != 0 => {
            // Rounded up, whichever way it goes.
            let (way, step) = ((limit - start) * delta.signum(), delta.abs());
            let count = (way.max(0) + step - 1) / step;
            call.room(&[u64::try_from(count).unwrap_or(u64::MAX)])?;
            Data::Integers((0..count).map(|at| start + at * delta).collect())
        }
        [Number::Float(start), Number::Float(limit), Number::Float(delta)]
            if delta != 0.0 && !((limit - start) / delta).is_nan() =>
        {
            let count = ((limit - start) / delta).ceil().max(0.0) as u64;
            call.room(&[count])?;
            Data::Floats((0..count).map(|at| start + at as f64 * delta).collect())
        }
        _ => return Err(operator("its step is 0, or its numbers are of different types or none")),
    };
    Ok(vec![call.known(TensorType::of(element, &[data.len() as u64]), &data)?])
}
/// Whether the column is the row plus a number, as truth values of a shape whose last two dimensions are a matrix.
fn diagonal(call: &mut Call<'_, '_>, shape: &Shape, op: Op, offset: i64) -> Made<NodeId> {
    let rank = shape.rank();
    let (row, column) = (call.iota(Scalar::I64, shape, rank - 2)?, call.iota(Scalar::I64, shape, rank - 1)?);
    // Beyond all columns, a diagonal is as good as one that lies just there.
    let most = size::MOST_SIZE as i64;
    let offset = call.number(row, offset.clamp(-most, most) as f64)?;
    let row = call.op(Op::Add, &[row, offset])?;
    call.op(op, &[column, row])
}
pub fn eye_like(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let element = match call.element("dtype")? {
        Some(element) => element,
        None => call.kind(x),
    };
    let (shape, offset) = (call.shape(x).clone(), call.int("k", 0)?);
    if shape.rank() != 2 {
        return Err(operator("it needs a matrix"));
    }
    let hits = diagonal(call, &shape, Op::Eq, offset)?;
    Ok(vec![call.convert(hits, element)?])
}
pub fn trilu(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let offset = call.optional_int(1)?.unwrap_or(0);
    let op = if call.flag("upper", true)? { Op::Ge } else { Op::Le };
    let ty = call.ty(x).clone();
    if ty.shape.rank() < 2 {
        return Err(operator("it needs matrices"));
    }
    let kept = diagonal(call, &ty.shape, op, offset)?;
    let zero = call.full(&ty, zero(ty.element))?;
    Ok(vec![call.op(Op::Where, &[kept, x, zero])?])
}
pub fn depth_to_space(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let block = call.size("blocksize", 1, 1)?;
    let [n, c, h, w] = call.lengths(x)[..] else { return Err(operator("it needs [images, channels, height, width]")) };
    if !c.is_multiple_of(block * block) {
        return Err(operator(format!("it makes blocks of {block} by {block} elements from {c} channels")));
    }
    let deep = c / (block * block);
    let mode = call.text("mode", "DCR")?;
    let (apart, order) = match mode.as_str() {
        "DCR" => ([n, block, block, deep, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, deep, block, block, h, w], [0, 1, 4, 2, 5, 3]),
        other => return Err(operator(format!("its mode `{other}` is not there"))),
    };
    let x = call.shaped(x, &apart)?;
    let x = call.permute(x, &order)?;
    Ok(vec![call.shaped(x, &[n, deep, h * block, w * block])?])
}
pub fn space_to_depth(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let block = call.size("blocksize", 1, 1)?;
    let [n, c, h, w] = call.lengths(x)[..] else { return Err(operator("it needs [images, channels, height, width]")) };
    if !h.is_multiple_of(block) || !w.is_multiple_of(block) {
        return Err(operator(format!("it takes blocks of {block} by {block} elements from {h} by {w}")));
    }
    let order = match call.text("mode", "DCR")?.as_str() {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return Err(operator(format!("its mode `{other}` is not there"))),
    };
    let x = call.shaped(x, &[n, c, h / block, block, w / block, block])?;
    let x = call.permute(x, &order)?;
    Ok(vec![call.shaped(x, &[n, c * block * block, h / block, w / block])?])
}
