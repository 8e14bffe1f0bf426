//! Operators that choose elements by positions which are elements themselves.
//!
//! Invariant: negative positions count from the end. Of elements whose number is not known before the run nothing can be chosen: such operators need constants.

use crate::call::{self, Call};
use crate::error::operator;
use crate::size;
use girih_ir::Scalar;
use girih_tensor::{Data, Made, Meeting, NodeId, Number, Op, Shape, TensorType};
use std::cmp::Ordering;

type Given = Made<Vec<NodeId>>;

/// Positions with negative ones counted from the end, as `i64`.
fn from_start(call: &mut Call<'_, '_>, places: NodeId, length: u64) -> Made<NodeId> {
    let places = call.convert(places, Scalar::I64)?;
    let zero = call.number(places, 0.0)?;
    let length = call.number(places, length as f64)?;
    let moved = call.op(Op::Add, &[places, length])?;
    let is_negative = call.op(Op::Lt, &[places, zero])?;
    call.op(Op::Where, &[is_negative, moved, places])
}

pub fn gather(call: &mut Call<'_, '_>) -> Given {
    let (x, places) = (call.input(0)?, call.input(1)?);
    let axis = call.axis("axis", 0, call.rank(x))?;
    let (all, shape) = (call.lengths(x), call.lengths(places));
    let places = from_start(call, places, all[axis])?;
    let count: u64 = shape.iter().product();
    let flat = call.shaped(places, &[count])?;
    let chosen = call.at_axis(Op::IndexSelect, &[x, flat], axis)?;
    let lengths = [&all[..axis], &shape, &all[axis + 1..]].concat();
    Ok(vec![call.shaped(chosen, &lengths)?])
}
/// The part of a tensor whose other dimensions are as long as those of the positions.
fn fitted(call: &mut Call<'_, '_>, x: NodeId, places: NodeId, axis: usize) -> Made<NodeId> {
    let (mut end, wanted) = (call.lengths(x), call.lengths(places));
    if end.len() != wanted.len() {
        return Err(operator("it needs as many dimensions of positions as of elements"));
    }
    for other in (0..end.len()).filter(|other| *other != axis) {
        end[other] = wanted[other].min(end[other]);
    }
    call.slice(x, &vec![0; end.len()], &end)
}
pub fn gather_elements(call: &mut Call<'_, '_>) -> Given {
    let (x, places) = (call.input(0)?, call.input(1)?);
    let axis = call.axis("axis", 0, call.rank(x))?;
    let length = call.shape(x).length(axis);
    let places = from_start(call, places, length)?;
    let x = fitted(call, x, places, axis)?;
    Ok(vec![call.at_axis(Op::Gather, &[x, places], axis)?])
}

/// Positions of several dimensions as positions of one: `places` is [.., k], and the first k of `lengths` are counted in order. Gives [..].
fn joined(call: &mut Call<'_, '_>, places: NodeId, lengths: &[u64]) -> Made<NodeId> {
    let shape = call.lengths(places);
    let last = shape.len() - 1;
    let count = shape[last] as usize;
    let outer = Shape::of(&shape[..last]);
    let mut sum = call.full(&TensorType { element: Scalar::I64, shape: outer.clone() }, Number::Int(0))?;
    for (axis, length) in lengths.iter().enumerate().take(count) {
        let one = call.part(places, last, axis as u64, axis as u64 + 1)?;
        let one = call.reshape(one, &outer)?;
        let one = from_start(call, one, *length)?;
        let length = call.number(sum, *length as f64)?;
        let before = call.op(Op::Mul, &[sum, length])?;
        sum = call.op(Op::Add, &[before, one])?;
    }
    Ok(sum)
}
pub fn gather_nd(call: &mut Call<'_, '_>) -> Given {
    let (x, places) = (call.input(0)?, call.input(1)?);
    let batch = call.int("batch_dims", 0)?.max(0) as usize;
    let (all, shape) = (call.lengths(x), call.lengths(places));
    let Some((count, outer)) = shape.split_last() else { return Err(operator("it needs positions")) };
    let count = *count as usize;
    if batch + count > all.len() || batch > outer.len() {
        return Err(operator(format!("it finds elements of {} dimensions by {count}", all.len())));
    }
    let batches: u64 = all[..batch].iter().product();
    let inner: u64 = all[batch..batch + count].iter().product();
    let rest: u64 = all[batch + count..].iter().product();
    let each: u64 = outer[batch..].iter().product();
    let at = joined(call, places, &all[batch..batch + count])?;
    let at = call.shaped(at, &[batches, each])?;
    let first = call.iota(Scalar::I64, &Shape::of(&[batches, each]), 0)?;
    let inner_length = call.number(first, inner as f64)?;
    let first = call.op(Op::Mul, &[first, inner_length])?;
    let at = call.op(Op::Add, &[at, first])?;
    let at = call.shaped(at, &[batches * each])?;
    let flat = call.shaped(x, &[batches * inner, rest])?;
    let chosen = call.at_axis(Op::IndexSelect, &[flat, at], 0)?;
    let lengths = [outer, &all[batch + count..]].concat();
    Ok(vec![call.shaped(chosen, &lengths)?])
}

/// How elements that are put somewhere meet those that are there.
fn combination(call: &Call<'_, '_>) -> Made<String> {
    call.text("reduction", "none")
}
/// Puts elements of y, `[places, rest]`, to the positions `[places]` of x, `[length, rest]`. Positions are in order of neither.
fn put(call: &mut Call<'_, '_>, x: NodeId, places: NodeId, y: NodeId, how: &str) -> Made<NodeId> {
    let element = call.kind(x);
    // Memory adds words: others are added as the words that hold them.
    let summed = if element == Scalar::Bool { Scalar::I32 } else { element };
    let axis = 0;
    match how {
        "none" => {
            let ty = call.ty(x).with_element(summed);
            let zeros = call.full(&ty, if summed.is_float() { Number::Float(0.0) } else { Number::Int(0) })?;
            let values = call.convert(y, summed)?;
            let sums = call.at_axis(Op::ScatterAdd, &[zeros, places, values], axis)?;
            let sums = call.convert(sums, element)?;
            let none = call.full(&ty.with_element(Scalar::I32), Number::Int(0))?;
            let ones = ty_of(call, y).with_element(Scalar::I32);
            let each = call.full(&ones, Number::Int(1))?;
            let hits = call.at_axis(Op::ScatterAdd, &[none, places, each], axis)?;
            let is_hit = call.convert(hits, Scalar::Bool)?;
            call.op(Op::Where, &[is_hit, sums, x])
        }
        "add" => call.at_axis(Op::ScatterAdd, &[x, places, y], axis),
        "mul" => call.importer.graph.combined_at(Meeting::Product, [x, places, y], axis),
        "max" => call.importer.graph.combined_at(Meeting::Greatest, [x, places, y], axis),
        "min" => call.importer.graph.combined_at(Meeting::Least, [x, places, y], axis),
        other => Err(operator(format!("its reduction `{other}` is not there"))),
    }
}
fn ty_of(call: &Call<'_, '_>, x: NodeId) -> TensorType {
    call.ty(x).clone()
}
pub fn scatter_elements(call: &mut Call<'_, '_>) -> Given {
    let (x, places, y) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let rank = call.rank(x);
    let axis = call.axis("axis", 0, rank)?;
    let how = combination(call)?;
    let (all, wanted) = (call.lengths(x), call.lengths(places));
    if all.len() != wanted.len() {
        return Err(operator("it needs as many dimensions of positions as of elements"));
    }
    let places = from_start(call, places, all[axis])?;
    // Positions in the whole tensor in order, so that dimensions which the positions do not fill do not matter.
    let strides = call.shape(x).strides();
    let shape = Shape::of(&wanted);
    let mut at = call.full(&TensorType { element: Scalar::I64, shape: shape.clone() }, Number::Int(0))?;
    for (other, stride) in strides.iter().enumerate() {
        let place = if other == axis { places } else { call.iota(Scalar::I64, &shape, other)? };
        let stride = call.number(place, *stride as f64)?;
        let place = call.op(Op::Mul, &[place, stride])?;
        at = call.op(Op::Add, &[at, place])?;
    }
    let (count, elements) = (shape.elements(), all.iter().product());
    let (flat, at, y) = (call.shaped(x, &[elements, 1])?, call.shaped(at, &[count, 1])?, call.shaped(y, &[count, 1])?);
    let result = put(call, flat, at, y, &how)?;
    Ok(vec![call.shaped(result, &all)?])
}
pub fn scatter_nd(call: &mut Call<'_, '_>) -> Given {
    let (x, places, y) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let how = combination(call)?;
    let (all, shape) = (call.lengths(x), call.lengths(places));
    let Some((count, outer)) = shape.split_last() else { return Err(operator("it needs positions")) };
    let count = *count as usize;
    if count > all.len() {
        return Err(operator(format!("it finds elements of {} dimensions by {count}", all.len())));
    }
    let (inner, rest) = (all[..count].iter().product::<u64>(), all[count..].iter().product::<u64>());
    let each: u64 = outer.iter().product();
    let at = joined(call, places, &all[..count])?;
    let at = call.shaped(at, &[each, 1])?;
    let at = call.broadcast_to(at, &Shape::of(&[each, rest]))?;
    let (flat, y) = (call.shaped(x, &[inner, rest])?, call.shaped(y, &[each, rest])?);
    let result = put(call, flat, at, y, &how)?;
    Ok(vec![call.shaped(result, &all)?])
}

pub fn one_hot(call: &mut Call<'_, '_>) -> Given {
    let (places, values) = (call.input(0)?, call.input(2)?);
    let depth = size::at_least(call.single_int(1)?, 0, "its depth")?;
    let rank = call.rank(places);
    let axis = call.axis("axis", -1, rank + 1)?;
    let places = from_start(call, places, depth)?;
    let mut lengths = call.lengths(places);
    lengths.insert(axis, 1);
    let places = call.shaped(places, &lengths)?;
    lengths[axis] = depth;
    let shape = Shape::of(&lengths);
    let places = call.broadcast_to(places, &shape)?;
    let own = call.iota(Scalar::I64, &shape, axis)?;
    let hits = call.op(Op::Eq, &[own, places])?;
    let mut both = vec![];
    for at in [1, 0] {
        let one = call.part(values, 0, at, at + 1)?;
        let one = call.shaped(one, &[])?;
        both.push(call.broadcast_to(one, &shape)?);
    }
    Ok(vec![call.op(Op::Where, &[hits, both[0], both[1]])?])
}

/// The elements of one row of `batch` backwards up to its length, the rest as they are.
pub fn reverse_sequence(call: &mut Call<'_, '_>) -> Given {
    let (x, counts) = (call.input(0)?, call.input(1)?);
    let rank = call.rank(x);
    let (batch, time) = (call.axis("batch_axis", 1, rank)?, call.axis("time_axis", 0, rank)?);
    let shape = call.shape(x).clone();
    let counts = call.along_axis(counts, batch, rank)?;
    let counts = call.convert(counts, Scalar::I64)?;
    let counts = call.broadcast_to(counts, &shape)?;
    let at = call.iota(Scalar::I64, &shape, time)?;
    let one = call.number(at, 1.0)?;
    let last = call.op(Op::Sub, &[counts, one])?;
    let back = call.op(Op::Sub, &[last, at])?;
    let inside = call.op(Op::Lt, &[at, counts])?;
    let at = call.op(Op::Where, &[inside, back, at])?;
    Ok(vec![call.at_axis(Op::Gather, &[x, at], time)?])
}

/// The positions of elements that are not 0, of a constant.
pub fn non_zero(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let (data, shape) = (call.elements(x)?, call.shape(x).clone());
    let found: Vec<u64> = (0..data.len()).filter(|at| data.get(*at).as_float() != 0.0).map(|at| at as u64).collect();
    let (strides, lengths) = (shape.strides(), shape.lengths());
    call.room(&[shape.rank() as u64, found.len() as u64])?;
    let places = (0..shape.rank())
        .flat_map(|axis| found.iter().map(|at| (at / strides[axis] % lengths[axis]) as i64).collect::<Vec<i64>>());
    let places: Vec<i64> = places.collect();
    Ok(vec![call.integers_of(&[shape.rank() as u64, found.len() as u64], places)?])
}
/// The slices whose condition, a constant, is true.
pub fn compress(call: &mut Call<'_, '_>) -> Given {
    let (x, condition) = (call.input(0)?, call.input(1)?);
    let (x, axis) = if call.has("axis") {
        (x, call.axis("axis", 0, call.rank(x))?)
    } else {
        let count = call.shape(x).elements();
        (call.shaped(x, &[count])?, 0)
    };
    let kept = call.integers(condition)?;
    if kept.len() as u64 > call.shape(x).length(axis) {
        let (count, length) = (kept.len(), call.shape(x).length(axis));
        return Err(operator(format!("its condition has {count} elements, and axis {axis} has {length}")));
    }
    let places: Vec<i64> = kept.iter().enumerate().filter(|(_, kept)| **kept != 0).map(|(at, _)| at as i64).collect();
    let places = call.integers_of(&[places.len() as u64], places)?;
    Ok(vec![call.at_axis(Op::IndexSelect, &[x, places], axis)?])
}
/// Which rows differ: where each of them is first, which of them each row is, and how often each is there.
struct Different {
    first: Vec<usize>,
    inverse: Vec<i64>,
    often: Vec<i64>,
}
/// Rows are found by sorting, so that many are no matter. What is no number differs from everything, itself too.
fn different(rows: &[Vec<Number>], sorted: bool) -> Different {
    let compare = |a: usize, b: usize| {
        let pairs = rows[a].iter().zip(&rows[b]);
        let orders = pairs.map(|(x, y)| match (x, y) {
            (Number::Int(x), Number::Int(y)) => x.cmp(y),
            (x, y) if x == y => Ordering::Equal,
            (x, y) => x.as_float().total_cmp(&y.as_float()),
        });
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| compare(*a, *b));
    let mut groups: Vec<Vec<usize>> = vec![];
    for at in order {
        match groups.last_mut() {
            Some(group) if rows[group[0]] == rows[at] => group.push(at),
            _another => groups.push(vec![at]),
        }
    }
    // Sorting is stable, so the first of a group is where its row is first.
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    let mut inverse = vec![0; rows.len()];
    for (which, group) in groups.iter().enumerate() {
        group.iter().for_each(|at| inverse[*at] = which as i64);
    }
    let first = groups.iter().map(|group| group[0]).collect();
    Different { first, inverse, often: groups.iter().map(|group| group.len() as i64).collect() }
}
/// The different elements, or slices along an axis, of a constant: with where each is first, which of them each element is, and how often each is there.
pub fn unique(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let ty = ty_of(call, x);
    let lengths = ty.shape.lengths();
    let axis = if call.has("axis") { Some(call::axis(call.int("axis", 0)?, lengths.len())?) } else { None };
    let sorted = call.flag("sorted", true)?;
    let data = call.elements(x)?;
    let (count, stride) = match axis {
        Some(axis) => (lengths[axis], ty.shape.strides()[axis]),
        None => (ty.shape.elements(), 1),
    };
    call.room(&[count])?;
    let mut rows: Vec<Vec<Number>> = vec![vec![]; count as usize];
    for element in 0..data.len() as u64 {
        rows[(element / stride % count) as usize].push(data.get(element as usize));
    }
    let Different { first, inverse, often } = different(&rows, sorted);
    let places: Vec<i64> = first.iter().map(|at| *at as i64).collect();
    let found = places.len() as u64;
    let places = call.integers_of(&[found], places)?;
    let (flat, along) = match axis {
        Some(axis) => (x, axis),
        None => (call.shaped(x, &[count])?, 0),
    };
    let values = call.at_axis(Op::IndexSelect, &[flat, places], along)?;
    let (inverse, often) = (call.integers_of(&[count], inverse)?, call.integers_of(&[found], often)?);
    Ok(vec![values, places, inverse, often])
}

/// Determinants of constant matrices.
pub fn det(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let data = call.elements(x)?;
    let ty = ty_of(call, x);
    let rank = ty.shape.rank();
    if rank < 2 || ty.shape.length(rank - 1) != ty.shape.length(rank - 2) {
        return Err(operator("it needs square matrices"));
    }
    let side = ty.shape.length(rank - 1) as usize;
    let all = data.floats();
    let shape = ty.shape.without(&[rank as u64 - 2, rank as u64 - 1]);
    let count = call.room(&shape.lengths())? as usize;
    // Elimination looks at each element of a matrix once for each row.
    call.room(&[all.len() as u64, side as u64])?;
    let matrix = |at: usize| all[at * side * side..(at + 1) * side * side].to_vec();
    let determinants = (0..count).map(|at| determinant(matrix(at), side)).collect();
    Ok(vec![call.known(TensorType { element: ty.element, shape }, &Data::Floats(determinants))?])
}
/// Gaussian elimination with the largest pivot of each column.
fn determinant(mut matrix: Vec<f64>, side: usize) -> f64 {
    let mut product = 1.0;
    for column in 0..side {
        let size = |row: &usize| matrix[row * side + column].abs();
        let pivot = (column..side).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        if matrix[pivot * side + column] == 0.0 {
            return 0.0;
        }
        if pivot != column {
            (0..side).for_each(|at| matrix.swap(pivot * side + at, column * side + at));
            product = -product;
        }
        let head = matrix[column * side + column];
        product *= head;
        for row in column + 1..side {
            let factor = matrix[row * side + column] / head;
            (column..side).for_each(|at| matrix[row * side + at] -= factor * matrix[column * side + at]);
        }
    }
    product
}
