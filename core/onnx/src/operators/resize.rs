//! Pictures in another size: each element of the result is a sum of neighbours, whose weights along each axis are known when the model is compiled.
//!
//! Invariant: the weights of an element have the sum 1, but where it lies outside of what is resized.

use crate::call::{self, Call};
use crate::error::operator;
use crate::size::MOST_SIZE;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Op};

type Given = Made<Vec<NodeId>>;

/// How one axis is resized.
struct Axis {
    axis: usize,
    from: u64,
    to: u64,
    scale: f64,
    /// Beginning and end of the part that is resized, as shares of the length.
    region: (f64, f64),
}

/// How positions of the result become positions of the input, and what is between elements.
struct Method {
    mode: String,
    transform: String,
    nearest: String,
    cubic: f64,
    excludes_outside: bool,
    /// What lies outside, if it is not the nearest element.
    outside: Option<f64>,
    smooths: bool,
}

impl Method {
    /// The position in the input of a position in the result.
    fn place(&self, axis: &Axis, at: u64) -> Made<f64> {
        // The standard counts the length of the result before it is rounded.
        let (at, from, to) = (at as f64, axis.from as f64, axis.from as f64 * axis.scale);
        Ok(match self.transform.as_str() {
            "half_pixel" => (at + 0.5) / axis.scale - 0.5,
            "half_pixel_symmetric" => {
                let adjusted = axis.to as f64 / to;
                let offset = from / 2.0 * (1.0 - adjusted);
                offset + (at + 0.5) / axis.scale - 0.5
            }
            "pytorch_half_pixel" if to > 1.0 => (at + 0.5) / axis.scale - 0.5,
            "pytorch_half_pixel" => 0.0,
            "align_corners" if to > 1.0 => at * (from - 1.0) / (to - 1.0),
            "align_corners" => 0.0,
            "asymmetric" => at / axis.scale,
            "tf_half_pixel_for_nn" => (at + 0.5) / axis.scale,
            "tf_crop_and_resize" => {
                let (start, end) = axis.region;
                if to > 1.0 {
                    start * (from - 1.0) + at * (end - start) * (from - 1.0) / (to - 1.0)
                } else {
                    0.5 * (start + end) * (from - 1.0)
                }
            }
            other => return Err(operator(format!("its coordinates `{other}` are not there"))),
        })
    }
    /// How far the neighbours reach, and the weight of one at a distance.
    fn reach(&self) -> f64 {
        if self.mode == "cubic" { 2.0 } else { 1.0 }
    }
    fn weight(&self, distance: f64) -> f64 {
        let x = distance.abs();
        match self.mode.as_str() {
            // Keys, Cubic convolution interpolation for digital image processing, 1981.
            "cubic" => {
                let a = self.cubic;
                if x <= 1.0 {
                    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
                } else if x < 2.0 {
                    (((x - 5.0) * x + 8.0) * x - 4.0) * a
                } else {
                    0.0
                }
            }
            _linear => (1.0 - x).max(0.0),
        }
    }
    /// The weights of an axis, a row for each element of the result; and whether rows lie outside.
    fn weights(&self, call: &mut Call<'_, '_>, axis: &Axis) -> Made<(Vec<Row>, Vec<bool>)> {
        let last = (axis.from as i64 - 1) as f64;
        // Where the result is smaller, smoothing lets each element see as many as it stands for.
        let stretch = if self.smooths { axis.scale.min(1.0) } else { 1.0 };
        let reach = self.reach() / stretch;
        let neighbours = if self.mode == "nearest" { 1 } else { (2.0 * reach).ceil() as u64 + 1 };
        call.room(&[axis.to, neighbours])?;
        let (mut rows, mut outside) = (vec![], vec![]);
        for at in 0..axis.to {
            let place = self.place(axis, at)?;
            outside.push(self.outside.is_some() && !(0.0..=last).contains(&place));
            // Far outside, all places see the same element.
            let place = place.clamp(-FAR, FAR);
            rows.push(if self.mode == "nearest" {
                vec![(self.nearest(place)?.clamp(0.0, last) as u64, 1.0)]
            } else {
                self.row(axis, place, reach, stretch)
            });
        }
        Ok((rows, outside))
    }
    fn nearest(&self, place: f64) -> Made<f64> {
        Ok(match self.nearest.as_str() {
            "round_prefer_floor" => (place - 0.5).ceil(),
            "round_prefer_ceil" => (place + 0.5).floor(),
            "floor" => place.floor(),
            "ceil" => place.ceil(),
            other => return Err(operator(format!("its `nearest_mode` `{other}` is not there"))),
        })
    }
    /// The neighbours of a place with their weights, whose sum is 1; what lies outside counts for the nearest element.
    fn row(&self, axis: &Axis, place: f64, reach: f64, stretch: f64) -> Row {
        let from = axis.from as i64;
        let first = (place - reach).floor() as i64 + if (place - reach).fract() == 0.0 { 0 } else { 1 };
        let last = (place + reach).ceil() as i64;
        let is_counted = |neighbour: &i64| !self.excludes_outside || (0..from).contains(neighbour);
        let all: Vec<(i64, f64)> = (first..=last)
            .filter(is_counted)
            .map(|neighbour| (neighbour, self.weight((neighbour as f64 - place) * stretch)))
            .collect();
        let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
        let mut row: Row = vec![];
        for (neighbour, weight) in all {
            let neighbour = neighbour.clamp(0, from - 1) as u64;
            let weight = if sum == 0.0 { 0.0 } else { weight / sum };
            match row.last_mut() {
                Some((before, sum)) if *before == neighbour => *sum += weight,
                _next => row.push((neighbour, weight)),
            }
        }
        row.retain(|(_, weight)| *weight != 0.0);
        row
    }
}

/// The elements that an element of the result is a sum of, in order, with their weights.
type Row = Vec<(u64, f64)>;
/// Further outside than any element lies, and near enough for floats to tell neighbours apart.
const FAR: f64 = 1e12;
/// The most weights of a matrix, with all those that are 0. Beyond, and where rows are short, each of their elements is chosen by itself.
const MOST_DENSE: u64 = 1 << 20;
/// The most elements of a row that are chosen so.
const MOST_CHOSEN: usize = 16;

/// Applies weights along an axis: a choice where each row has one element, a sum of choices where a matrix would be large, a product of matrices elsewhere.
fn along(call: &mut Call<'_, '_>, x: NodeId, axis: &Axis, rows: &[Row]) -> Made<NodeId> {
    let only = |row: &Row| match row[..] {
        [(at, 1.0)] => Some(at as i64),
        _ => None,
    };
    if let Some(places) = rows.iter().map(only).collect::<Option<Vec<i64>>>() {
        let places = call.integers_of(&[axis.to], places)?;
        return call.at_axis(Op::IndexSelect, &[x, places], axis.axis);
    }
    let element = call.kind(x);
    let computed = if element == Scalar::F64 { element } else { Scalar::F32 };
    let x = call.convert(x, computed)?;
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let y = if axis.to.saturating_mul(axis.from) > MOST_DENSE && longest <= MOST_CHOSEN {
        chosen(call, x, axis, rows, longest)?
    } else {
        multiplied(call, x, axis, rows)?
    };
    let y = if element.is_float() { y } else { call.op(Op::Round, &[y])? };
    call.convert(y, element)
}
/// The sum of the first elements of rows, the second ones and so on, each times its weight.
fn chosen(call: &mut Call<'_, '_>, x: NodeId, axis: &Axis, rows: &[Row], longest: usize) -> Made<NodeId> {
    let (element, rank) = (call.kind(x), call.rank(x));
    let mut sum = None;
    for number in 0..longest {
        call.room(&[2, axis.to])?;
        let one = |row: &Row| row.get(number).copied().unwrap_or((0, 0.0));
        let places = call.integers_of(&[axis.to], rows.iter().map(|row| one(row).0 as i64))?;
        let weights = call.floats_of(element, &[axis.to], rows.iter().map(|row| one(row).1).collect())?;
        let weights = call.along_axis(weights, axis.axis, rank)?;
        let elements = call.at_axis(Op::IndexSelect, &[x, places], axis.axis)?;
        let term = call.binary(Op::Mul, elements, weights)?;
        sum = Some(match sum {
            Some(sum) => call.op(Op::Add, &[sum, term])?,
            None => term,
        });
    }
    sum.ok_or_else(|| operator("its result lies outside of its input"))
}
/// A product with the matrix of weights.
fn multiplied(call: &mut Call<'_, '_>, x: NodeId, axis: &Axis, rows: &[Row]) -> Made<NodeId> {
    let count = call.room(&[axis.to, axis.from])?;
    let mut weights = vec![0.0; count as usize];
    for (row, weights) in rows.iter().zip(weights.chunks_mut(axis.from as usize)) {
        row.iter().for_each(|(at, weight)| weights[*at as usize] = *weight);
    }
    let rank = call.rank(x);
    let matrix = call.floats_of(call.kind(x), &[axis.to, axis.from], weights)?;
    let matrix = call.transpose(matrix)?;
    // The axis goes last, and back.
    let mut order: Vec<u64> = (0..rank as u64).collect();
    order.swap(axis.axis, rank - 1);
    let moved = call.permute(x, &order)?;
    let mut lengths = call.lengths(moved);
    let before: u64 = lengths[..rank - 1].iter().product();
    let flat = call.shaped(moved, &[before, axis.from])?;
    let product = call.op(Op::Matmul, &[flat, matrix])?;
    lengths[rank - 1] = axis.to;
    let product = call.shaped(product, &lengths)?;
    call.permute(product, &order)
}

pub fn resize(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let rank = call.rank(x);
    let is_old = call.version < 11;
    let numbers = |call: &mut Call<'_, '_>, input: usize| -> Made<Option<Vec<f64>>> {
        let Some(node) = call.optional(input) else { return Ok(None) };
        Ok(Some(call.elements(node)?.floats()).filter(|all| !all.is_empty()))
    };
    let (region, scales, sizes) = if is_old {
        let scales = if call.version < 9 { call.floats("scales")? } else { numbers(call, 1)? };
        (None, scales, None)
    } else {
        (numbers(call, 1)?, numbers(call, 2)?, numbers(call, 3)?)
    };
    let named = match call.ints("axes")? {
        Some(named) => named.iter().map(|one| call::axis(*one, rank)).collect::<Made<Vec<usize>>>()?,
        None => (0..rank).collect(),
    };
    let mode = call.text("mode", "nearest")?;
    let mode = if mode == "bilinear" { "linear".to_owned() } else { mode };
    if !matches!(mode.as_str(), "nearest" | "linear" | "cubic") {
        return Err(operator(format!("its mode `{mode}` is not there")));
    }
    let transform = call.text("coordinate_transformation_mode", if is_old { "asymmetric" } else { "half_pixel" })?;
    let outside = if transform == "tf_crop_and_resize" { Some(call.float("extrapolation_value", 0.0)?) } else { None };
    let method = Method {
        nearest: call.text("nearest_mode", if is_old { "floor" } else { "round_prefer_floor" })?,
        cubic: call.float("cubic_coeff_a", -0.75)?,
        excludes_outside: call.flag("exclude_outside", false)?,
        smooths: call.flag("antialias", false)?,
        mode,
        transform,
        outside,
    };
    let axes = axes(call, x, &named, region.as_deref(), scales.as_deref(), sizes.as_deref())?;
    let mut y = x;
    let mut beyond = vec![];
    for axis in axes {
        // The standard's 1 is exact: such an axis stays, unless a part of it is taken.
        if axis.from == axis.to && axis.scale == 1.0 && method.outside.is_none() {
            continue;
        }
        let (rows, outside) = method.weights(call, &axis)?;
        y = along(call, y, &axis, &rows)?;
        if outside.contains(&true) {
            beyond.push((axis.axis, outside));
        }
    }
    if let Some(value) = method.outside {
        let element = call.kind(y);
        for (axis, outside) in beyond {
            let lengths = [outside.len() as u64];
            let data = girih_tensor::Data::Integers(outside.into_iter().map(i128::from).collect());
            let is_outside = call.known(girih_tensor::TensorType::of(Scalar::Bool, &lengths), &data)?;
            let is_outside = call.along_axis(is_outside, axis, rank)?;
            let value = call.one(element, value)?;
            y = call.choose(is_outside, value, y)?;
        }
    }
    Ok(vec![y])
}

fn axes(
    call: &Call<'_, '_>,
    x: NodeId,
    named: &[usize],
    region: Option<&[f64]>,
    scales: Option<&[f64]>,
    sizes: Option<&[f64]>,
) -> Made<Vec<Axis>> {
    let lengths = call.lengths(x);
    let policy = call.text("keep_aspect_ratio_policy", "stretch")?;
    let given = scales.or(sizes).map_or(0, <[f64]>::len);
    if given != named.len() {
        return Err(operator(format!("it resizes {} dimensions by {given} numbers", named.len())));
    }
    if let Some((number, scale)) = scales.unwrap_or(&[]).iter().enumerate().find(|(_, scale)| !is_scale(**scale)) {
        return Err(
            operator(format!("it scales axis {} by {scale}", named[number])).hint("a scale is a number greater than 0")
        );
    }
    let ratios: Vec<f64> = match (scales, sizes) {
        (Some(scales), _) => scales.to_vec(),
        (None, Some(sizes)) => named.iter().zip(sizes).map(|(axis, size)| size / lengths[*axis] as f64).collect(),
        (None, None) => vec![],
    };
    let common = match policy.as_str() {
        "not_larger" => ratios.iter().copied().reduce(f64::min),
        "not_smaller" => ratios.iter().copied().reduce(f64::max),
        _stretch => None,
    };
    let region = region.filter(|region| region.len() == 2 * named.len());
    let axis = |(number, axis): (usize, &usize)| -> Made<Axis> {
        let from = lengths[*axis];
        let (to, scale) = match (scales, sizes, common) {
            (None, Some(_), Some(common)) => ((common * from as f64 + 0.5).floor(), common),
            (None, Some(sizes), None) => (sizes[number], ratios[number]),
            _scales => ((from as f64 * ratios[number]).floor(), ratios[number]),
        };
        let region = region.map_or((0.0, 1.0), |region| (region[number], region[number + named.len()]));
        if !(0.0..=MOST_SIZE as f64).contains(&to) || (from == 0 && to != 0.0) {
            return Err(operator(format!("it makes {to} elements along axis {axis} of {from}")));
        }
        // No elements stay none, by whatever scale.
        let scale = if from == 0 { 1.0 } else { scale };
        Ok(Axis { axis: *axis, from, to: to as u64, scale, region })
    };
    named.iter().enumerate().map(axis).collect()
}
fn is_scale(scale: f64) -> bool {
    scale > 0.0 && scale.is_finite()
}
