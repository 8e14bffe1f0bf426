//! Operators that look at pictures between their elements, and put windows back into pictures.
//!
//! Invariant: positions are floats of at least 32 bits; a neighbour outside of the picture is looked at only where the padding gives it a place inside.

use super::pointwise::by;
use crate::call::Call;
use crate::error::operator;
use crate::size::{self, lengths};
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Number, Op, Shape, TensorType};

type Given = Made<Vec<NodeId>>;

/// What lies outside of a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// A picture that is sampled.
struct Sampled {
    /// [images, channels, elements].
    flat: NodeId,
    images: u64,
    channels: u64,
    lengths: Vec<u64>,
    /// How many places of a picture are sampled.
    count: u64,
    padding: Padding,
    aligned: bool,
}

pub fn sample(call: &mut Call<'_, '_>) -> Given {
    let (x, grid) = (call.input(0)?, call.input(1)?);
    let (lengths, places) = (call.lengths(x), call.lengths(grid));
    let spatial = lengths.len().saturating_sub(2);
    if spatial == 0 || places.len() != lengths.len() || places.last() != Some(&(spatial as u64)) {
        return Err(operator(format!("it samples {}, at {}", call.ty(x), call.ty(grid))));
    }
    let padding = match call.text("padding_mode", "zeros")?.as_str() {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        other => return Err(operator(format!("its padding `{other}` is not there"))),
    };
    let aligned = call.flag("align_corners", false)?;
    let mode = call.text("mode", "linear")?;
    let count = places[1..=spatial].iter().product();
    let elements = lengths[2..].iter().product();
    let (images, channels) = (lengths[0], lengths[1]);
    let flat = call.shaped(x, &[images, channels, elements])?;
    let sampled = Sampled { flat, images, channels, lengths: lengths[2..].to_vec(), count, padding, aligned };
    let grid = call.shaped(grid, &[images, count, spatial as u64])?;
    let grid = if call.kind(grid) == Scalar::F64 { grid } else { call.convert(grid, Scalar::F32)? };
    let mut positions = vec![];
    for axis in 0..spatial {
        // The grid has the last dimension's position first.
        let at = (spatial - 1 - axis) as u64;
        let one = call.part(grid, 2, at, at + 1)?;
        let one = call.shaped(one, &[images, count])?;
        positions.push(sampled.position(call, one, axis, &mode)?);
    }
    // Along each axis the neighbours that count, with their weights.
    let mut neighbours = vec![];
    for position in &positions {
        neighbours.push(taps(call, *position, &mode)?);
    }
    let y = sampled.sum(call, &neighbours)?;
    let element = call.kind(x);
    let y = call.convert(y, element)?;
    Ok(vec![call.shaped(y, &[&[images, channels], &places[1..=spatial]].concat())?])
}

/// Neighbours of positions along an axis, and their weights; without weights there is one.
type Taps = Vec<(NodeId, Option<NodeId>)>;

fn taps(call: &mut Call<'_, '_>, position: NodeId, mode: &str) -> Made<Taps> {
    if mode == "nearest" {
        return Ok(vec![(position, None)]);
    }
    let first = call.op(Op::Floor, &[position])?;
    let rest = call.op(Op::Sub, &[position, first])?;
    let mut taps = vec![];
    let reach = match mode {
        "linear" | "bilinear" => 0..2,
        "cubic" | "bicubic" => -1..3,
        other => return Err(operator(format!("its mode `{other}` is not there"))),
    };
    for offset in reach {
        let at = by(call, Op::Add, first, f64::from(offset))?;
        let distance = by(call, Op::Sub, rest, f64::from(offset))?;
        let distance = call.op(Op::Abs, &[distance])?;
        let weight = match mode {
            "linear" | "bilinear" => {
                let one = call.number(distance, 1.0)?;
                call.op(Op::Sub, &[one, distance])?
            }
            // Keys, Cubic convolution interpolation for digital image processing, 1981, with a = -0.75.
            _cubic => {
                let inner = polynomial(call, distance, &[1.25, -2.25, 0.0, 1.0])?;
                let outer = polynomial(call, distance, &[-0.75, 3.75, -6.0, 3.0])?;
                let is_inner = by(call, Op::Le, distance, 1.0)?;
                call.op(Op::Where, &[is_inner, inner, outer])?
            }
        };
        taps.push((at, Some(weight)));
    }
    Ok(taps)
}
/// A polynomial, the highest power first.
fn polynomial(call: &mut Call<'_, '_>, x: NodeId, factors: &[f64]) -> Made<NodeId> {
    let mut sum = call.number(x, 0.0)?;
    for factor in factors {
        let product = call.op(Op::Mul, &[sum, x])?;
        sum = by(call, Op::Add, product, *factor)?;
    }
    Ok(sum)
}

impl Sampled {
    /// The first and the last place of a picture along an axis.
    fn ends(&self, axis: usize) -> (f64, f64) {
        let length = self.lengths[axis] as f64;
        if self.aligned { (0.0, length - 1.0) } else { (-0.5, length - 0.5) }
    }
    /// From -1 to 1 to places of elements, and inside of the picture if the padding says so.
    fn position(&self, call: &mut Call<'_, '_>, x: NodeId, axis: usize, mode: &str) -> Made<NodeId> {
        let length = self.lengths[axis] as f64;
        let (scale, offset) = if self.aligned { ((length - 1.0) / 2.0, 0.0) } else { (length / 2.0, -0.5) };
        let moved = by(call, Op::Add, x, 1.0)?;
        let scaled = by(call, Op::Mul, moved, scale)?;
        let place = by(call, Op::Add, scaled, offset)?;
        let place = if mode == "nearest" { call.op(Op::Round, &[place])? } else { place };
        self.inside(call, place, axis)
    }
    fn inside(&self, call: &mut Call<'_, '_>, place: NodeId, axis: usize) -> Made<NodeId> {
        let length = self.lengths[axis] as f64;
        match self.padding {
            Padding::Zeros => Ok(place),
            Padding::Border => {
                let place = by(call, Op::Max, place, 0.0)?;
                by(call, Op::Min, place, length - 1.0)
            }
            Padding::Reflection => {
                let (least, most) = self.ends(axis);
                let range = most - least;
                if range <= 0.0 {
                    return by(call, Op::Mul, place, 0.0);
                }
                // A zigzag: the distance to the nearest even number of ranges.
                let distance = by(call, Op::Sub, place, least)?;
                let turns = by(call, Op::Div, distance, 2.0 * range)?;
                let whole = call.op(Op::Floor, &[turns])?;
                let whole = by(call, Op::Mul, whole, 2.0 * range)?;
                let rest = call.op(Op::Sub, &[distance, whole])?;
                let back = call.number(rest, 2.0 * range)?;
                let back = call.op(Op::Sub, &[back, rest])?;
                let near = call.op(Op::Min, &[rest, back])?;
                by(call, Op::Add, near, least)
            }
        }
    }
    /// The weighted sum of all combinations of neighbours.
    fn sum(&self, call: &mut Call<'_, '_>, neighbours: &[Taps]) -> Made<NodeId> {
        let combinations: usize = neighbours.iter().map(Vec::len).product();
        let mut sum: Option<NodeId> = None;
        for combination in 0..combinations {
            let mut rest = combination;
            let (mut at, mut weight, mut is_there) = (None, None, None);
            for (axis, taps) in neighbours.iter().enumerate() {
                let (place, factor) = taps[rest % taps.len()];
                rest /= taps.len();
                let place = self.inside(call, place, axis)?;
                if self.padding == Padding::Zeros {
                    let (low, high) =
                        (by(call, Op::Ge, place, 0.0)?, by(call, Op::Le, place, self.lengths[axis] as f64 - 1.0)?);
                    let both = call.op(Op::And, &[low, high])?;
                    is_there = Some(joined(call, Op::And, is_there, both)?);
                }
                // A reflected place may lie half an element outside.
                let place = by(call, Op::Max, place, 0.0)?;
                let place = by(call, Op::Min, place, self.lengths[axis] as f64 - 1.0)?;
                let place = call.convert(place, Scalar::I64)?;
                at = Some(match at {
                    None => place,
                    Some(before) => {
                        let row = by(call, Op::Mul, before, self.lengths[axis] as f64)?;
                        call.op(Op::Add, &[row, place])?
                    }
                });
                if let Some(factor) = factor {
                    weight = Some(joined(call, Op::Mul, weight, factor)?);
                }
            }
            let at = at.ok_or_else(|| operator("it needs a picture"))?;
            let value = self.values(call, at)?;
            let float = if call.kind(value) == Scalar::F64 { Scalar::F64 } else { Scalar::F32 };
            let mut term = call.convert(value, float)?;
            for (factor, keeps) in [(weight, false), (is_there, true)] {
                let Some(factor) = factor else { continue };
                let factor = self.spread(call, factor)?;
                term = if keeps {
                    let zero = call.number(term, 0.0)?;
                    call.op(Op::Where, &[factor, term, zero])?
                } else {
                    let element = call.kind(term);
                    let factor = call.convert(factor, element)?;
                    call.op(Op::Mul, &[term, factor])?
                };
            }
            sum = Some(joined(call, Op::Add, sum, term)?);
        }
        sum.ok_or_else(|| operator("it needs a picture"))
    }
    /// The elements at places [images, places], as [images, channels, places].
    fn values(&self, call: &mut Call<'_, '_>, at: NodeId) -> Made<NodeId> {
        let at = self.spread(call, at)?;
        call.at_axis(Op::Gather, &[self.flat, at], 2)
    }
    fn spread(&self, call: &mut Call<'_, '_>, x: NodeId) -> Made<NodeId> {
        let x = call.shaped(x, &[self.images, 1, self.count])?;
        call.broadcast_to(x, &Shape::of(&[self.images, self.channels, self.count]))
    }
}
fn joined(call: &mut Call<'_, '_>, op: Op, before: Option<NodeId>, next: NodeId) -> Made<NodeId> {
    match before {
        Some(before) => call.op(op, &[before, next]),
        None => Ok(next),
    }
}

/// The places that an affine map gives the elements of a picture.
pub fn affine(call: &mut Call<'_, '_>) -> Given {
    let (theta, wanted) = (call.input(0)?, call.input(1)?);
    let wanted = call.integers(wanted)?;
    let wanted = lengths(&wanted)?;
    let [images, _channels, lengths @ ..] = &wanted[..] else {
        return Err(operator("its size is [images, channels, ..]"));
    };
    let (images, spatial) = (*images, lengths.len());
    let width = spatial as u64 + 1;
    call.room(&[&[width], lengths].concat())?;
    let aligned = call.flag("align_corners", false)?;
    let element = call.kind(theta);
    let count: u64 = lengths.iter().product();
    let place = |at: u64, length: u64| {
        let (at, length) = (at as f64, length as f64);
        if aligned {
            if length > 1.0 { 2.0 * at / (length - 1.0) - 1.0 } else { 0.0 }
        } else {
            (2.0 * at + 1.0) / length - 1.0
        }
    };
    let strides = Shape::of(lengths).strides();
    let mut all = vec![];
    for at in 0..count {
        all.extend((0..spatial).rev().map(|axis| place(at / strides[axis] % lengths[axis], lengths[axis])));
        all.push(1.0);
    }
    let places = call.floats_of(element, &[1, count, width], all)?;
    let map = call.transpose(theta)?;
    let result = call.importer.graph.product(places, map)?;
    Ok(vec![call.shaped(result, &[&[images], lengths, &[spatial as u64]].concat())?])
}

/// Windows put back into a picture, where those that overlap add up.
pub fn from_windows(call: &mut Call<'_, '_>) -> Given {
    let (x, picture, block) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let (picture, block) = (call.integers(picture)?, call.integers(block)?);
    let spatial = picture.len();
    let list = |name: &str, default: i64, least: i64, count: usize| -> Made<Vec<i64>> {
        let all = size::amounts(call.ints(name)?.unwrap_or_else(|| vec![default; count]), &format!("its `{name}`"))?;
        let fits = all.len() == count && all.iter().all(|number| *number >= least);
        if fits { Ok(all) } else { Err(operator(format!("its `{name}` are not {count} numbers from {least} on"))) }
    };
    let (stride, dilation, pads) =
        (list("strides", 1, 1, spatial)?, list("dilations", 1, 1, spatial)?, list("pads", 0, 0, 2 * spatial)?);
    // Places are numbers of 64 bits.
    size::counted(&lengths(&picture)?)?;
    let block_lengths = lengths(&block)?;
    if block.len() != spatial || block.contains(&0) || call.rank(x) == 0 {
        return Err(operator("its windows fit no picture"));
    }
    let counts: Vec<i64> = (0..spatial)
        .map(|axis| {
            let room = picture[axis] + pads[axis] + pads[axis + spatial] - (block[axis] - 1) * dilation[axis] - 1;
            room.div_euclid(stride[axis]) + 1
        })
        .collect();
    let elements = call.room(&block_lengths)?;
    let windows = call.room(&lengths(&counts)?)?;
    call.room(&[elements, windows])?;
    let (elements, windows): (i64, i64) = (block.iter().product(), counts.iter().product());
    // Where element e of window w lies; behind the end if outside of the picture.
    let mut places = vec![];
    let whole: i64 = picture.iter().product();
    for element in 0..elements {
        for window in 0..windows {
            let (mut e, mut w, mut at, mut step, mut inside) = (element, window, 0, 1, true);
            for axis in (0..spatial).rev() {
                let place = w % counts[axis] * stride[axis] + e % block[axis] * dilation[axis] - pads[axis];
                (e, w) = (e / block[axis], w / counts[axis]);
                inside = inside && (0..picture[axis]).contains(&place);
                at += if inside { place * step } else { 0 };
                step *= picture[axis];
            }
            places.push(if inside { at } else { whole });
        }
    }
    let own = call.lengths(x);
    let images = own[0];
    let channels = own.get(1).copied().unwrap_or(0) / (elements as u64);
    let rows = images * channels;
    let each = (elements * windows) as u64;
    let flat = call.shaped(x, &[rows, each])?;
    let places = call.integers_of(&[1, each], places)?;
    let places = call.broadcast_to(places, &Shape::of(&[rows, each]))?;
    let element = call.kind(x);
    let zero = if element.is_float() { Number::Float(0.0) } else { Number::Int(0) };
    let empty = call.full(&TensorType::of(element, &[rows, whole as u64]), zero)?;
    let put = call.at_axis(Op::ScatterAdd, &[empty, places, flat], 1)?;
    let picture: Vec<u64> = picture.iter().map(|length| *length as u64).collect();
    Ok(vec![call.shaped(put, &[&[images, channels], &picture[..]].concat())?])
}
