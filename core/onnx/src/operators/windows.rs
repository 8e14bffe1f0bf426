//! Operators on windows: convolutions and their transposes, and pools, of any number of spatial dimensions.
//!
//! Invariant: tensors are [images, channels, spatial dimensions ..]. What lies around them is added by `pad` before, so windows never reach outside.

use super::pointwise::by;
use super::products::less_zero;
use super::shapes::around;
use crate::call::Call;
use crate::error::operator;
use crate::size;
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Made, NodeId, Number, Op, Shape, TensorType};

type Given = Made<Vec<NodeId>>;

/// How windows lie along each spatial dimension.
#[derive(Clone)]
pub struct Windows {
    pub kernel: Vec<u64>,
    pub stride: Vec<u64>,
    pub dilation: Vec<u64>,
    /// Elements before and after each dimension.
    pub low: Vec<i64>,
    pub high: Vec<i64>,
    /// Elements after each dimension that only the last window of `ceil_mode` sees.
    beyond: Vec<i64>,
}

fn numbers(call: &Call<'_, '_>, name: &str, count: usize) -> Made<Option<Vec<u64>>> {
    let Some(all) = call.ints(name)? else { return Ok(None) };
    let name = format!("a number of its `{name}`");
    let all = all.iter().map(|number| size::at_least(*number, 0, &name)).collect::<Made<Vec<u64>>>()?;
    if all.len() == count { Ok(Some(all)) } else { Err(operator(format!("its `{name}` are not {count} numbers"))) }
}
/// The same for numbers that are 1 where they are not written.
fn ones(call: &Call<'_, '_>, name: &str, count: usize) -> Made<Vec<u64>> {
    let all = numbers(call, name, count)?.unwrap_or_else(|| vec![1; count]);
    if all.contains(&0) { Err(operator(format!("its `{name}` have a 0"))) } else { Ok(all) }
}

fn unfit(kernel: usize, count: usize) -> Diagnostic {
    operator(format!("its windows are of {kernel} dimensions, and its input of {count}"))
}

impl Windows {
    /// What a node says of windows over an input of these spatial lengths.
    fn of(call: &Call<'_, '_>, lengths: &[u64], kernel: Vec<u64>) -> Made<Windows> {
        let count = lengths.len();
        let (stride, dilation) = (ones(call, "strides", count)?, ones(call, "dilations", count)?);
        let mut windows =
            Windows { kernel, stride, dilation, low: vec![0; count], high: vec![0; count], beyond: vec![0; count] };
        if windows.kernel.len() != count || windows.kernel.contains(&0) {
            return Err(unfit(windows.kernel.len(), count));
        }
        match call.text("auto_pad", "NOTSET")?.as_str() {
            "NOTSET" => {
                if let Some(pads) = call.ints("pads")? {
                    if pads.len() != 2 * count {
                        return Err(operator(format!("its `pads` are not {} numbers", 2 * count)));
                    }
                    let pads = size::amounts(pads, "its `pads`")?;
                    (windows.low, windows.high) = (pads[..count].to_vec(), pads[count..].to_vec());
                }
            }
            "VALID" => {}
            same @ ("SAME_UPPER" | "SAME_LOWER") => {
                for (axis, length) in lengths.iter().enumerate() {
                    let windows_there = length.div_ceil(windows.stride[axis]);
                    let needed = windows_there.saturating_sub(1) * windows.stride[axis] + windows.extent(axis);
                    let more = needed.saturating_sub(*length) as i64;
                    (windows.low[axis], windows.high[axis]) =
                        if same == "SAME_UPPER" { (more / 2, more - more / 2) } else { (more - more / 2, more / 2) };
                }
            }
            other => return Err(operator(format!("its `auto_pad` is `{other}`, which is not there"))),
        }
        if call.flag("ceil_mode", false)? {
            windows.round_up(lengths);
        }
        Ok(windows)
    }
    /// How many elements a window reaches over.
    fn extent(&self, axis: usize) -> u64 {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }
    /// One window more where elements are left over, unless it would begin behind the last element.
    fn round_up(&mut self, lengths: &[u64]) {
        for (axis, length) in lengths.iter().enumerate() {
            let (stride, extent) = (self.stride[axis] as i64, self.extent(axis) as i64);
            let whole = *length as i64 + self.low[axis] + self.high[axis];
            let mut last =
                (whole - extent).max(0).div_euclid(stride) + i64::from((whole - extent).max(0) % stride != 0);
            if last * stride >= *length as i64 + self.low[axis] {
                last -= 1;
            }
            self.beyond[axis] = (last * stride + extent - whole).max(0);
        }
    }
    /// How many windows there are along each dimension.
    fn counts(&self, lengths: &[u64]) -> Vec<u64> {
        let count = |axis: usize| {
            let whole = lengths[axis] as i64 + self.low[axis] + self.high[axis] + self.beyond[axis];
            (whole - self.extent(axis) as i64).max(-1).div_euclid(self.stride[axis] as i64) + 1
        };
        (0..lengths.len()).map(|axis| count(axis) as u64).collect()
    }
    /// A tensor with what lies around it.
    fn padded(&self, call: &mut Call<'_, '_>, x: NodeId, fill: Number) -> Made<NodeId> {
        let both = |all: &[i64]| [0, 0].into_iter().chain(all.iter().copied()).collect::<Vec<i64>>();
        let high: Vec<i64> = self.high.iter().zip(&self.beyond).map(|(high, beyond)| high + beyond).collect();
        around(call, x, &both(&self.low), &both(&high), fill)
    }
    /// Windows in new last dimensions: [images, channels, windows .., elements ..].
    fn cut(&self, call: &mut Call<'_, '_>, padded: NodeId) -> Made<NodeId> {
        let mut x = padded;
        for axis in 0..self.kernel.len() {
            x = call.windows(x, axis + 2, self.kernel[axis], self.stride[axis], self.dilation[axis])?;
        }
        Ok(x)
    }
}

fn spatial(call: &Call<'_, '_>, x: NodeId) -> Made<Vec<u64>> {
    let lengths = call.lengths(x);
    if lengths.len() < 3 { Err(operator("it needs [images, channels, ..]")) } else { Ok(lengths[2..].to_vec()) }
}
fn zero(element: Scalar) -> Number {
    if element.is_float() { Number::Float(0.0) } else { Number::Int(0) }
}

/// A convolution with what lies around added already.
fn convolved(call: &mut Call<'_, '_>, x: NodeId, w: NodeId, windows: &Windows, groups: u64) -> Made<NodeId> {
    let count = windows.kernel.len();
    if call.kind(x).is_float() && count <= 2 {
        // One spatial dimension is a picture of one row.
        let with_row = |call: &mut Call<'_, '_>, x: NodeId| {
            let mut lengths = call.lengths(x);
            (count == 1).then(|| lengths.insert(2, 1));
            call.shaped(x, &lengths)
        };
        let (x, w) = (with_row(call, x)?, with_row(call, w)?);
        let two = |all: &[u64]| if count == 1 { vec![1, all[0]] } else { all.to_vec() };
        let attrs = [
            (AttrKind::Stride, two(&windows.stride)),
            (AttrKind::Padding, vec![0, 0]),
            (AttrKind::Dilation, two(&windows.dilation)),
            (AttrKind::Groups, vec![groups]),
        ];
        let y = call.push(Op::Conv2d, &[x, w], attrs.map(|(kind, list)| Attr::List(kind, list)).to_vec())?;
        let mut lengths = call.lengths(y);
        (count == 1).then(|| lengths.remove(2));
        return call.shaped(y, &lengths);
    }
    let (x_lengths, w_lengths) = (call.lengths(x), call.lengths(w));
    let (images, inner) = (x_lengths[0], w_lengths[1]);
    if groups == 0 || x_lengths[1] != groups * inner || w_lengths[0] % groups != 0 {
        return Err(operator(format!("it has {} channels, and weights for {groups} groups of {inner}", x_lengths[1])));
    }
    let cut = windows.cut(call, x)?;
    let places: Vec<u64> = call.lengths(cut)[2..2 + count].to_vec();
    let elements: u64 = windows.kernel.iter().product();
    let apart: Vec<u64> = [&[images, groups, inner], &places[..], &windows.kernel].concat();
    let cut = call.shaped(cut, &apart)?;
    let count = count as u64;
    let order: Vec<u64> = [0, 1].into_iter().chain(3..3 + count).chain([2]).chain(3 + count..3 + 2 * count).collect();
    let rows = call.permute(cut, &order)?;
    let many: u64 = places.iter().product();
    let rows = call.shaped(rows, &[images, groups, many, inner * elements])?;
    let outer = w_lengths[0] / groups;
    let columns = call.shaped(w, &[1, groups, outer, inner * elements])?;
    let columns = call.transpose(columns)?;
    let y = call.importer.graph.product(rows, columns)?;
    let y = call.transpose(y)?;
    call.shaped(y, &[&[images, groups * outer], &places[..]].concat())
}
/// A bias for each channel.
fn biased(call: &mut Call<'_, '_>, y: NodeId, bias: Option<NodeId>) -> Made<NodeId> {
    let Some(bias) = bias else { return Ok(y) };
    let bias = call.along_axis(bias, 1, call.rank(y))?;
    call.binary(Op::Add, y, bias)
}
fn groups(call: &Call<'_, '_>) -> Made<u64> {
    let groups = call.int("group", 1)?;
    u64::try_from(groups).ok().filter(|groups| *groups > 0).ok_or_else(|| operator(format!("it has {groups} groups")))
}

pub fn conv(call: &mut Call<'_, '_>) -> Given {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let y = convolution(call, x, w)?;
    let bias = call.optional(2);
    Ok(vec![biased(call, y, bias)?])
}
/// The convolution that the attributes describe.
pub fn convolution(call: &mut Call<'_, '_>, x: NodeId, w: NodeId) -> Made<NodeId> {
    let lengths = spatial(call, x)?;
    let windows = Windows::of(call, &lengths, spatial(call, w)?)?;
    let groups = groups(call)?;
    let fill = zero(call.kind(x));
    let padded = windows.padded(call, x, fill)?;
    convolved(call, padded, w, &windows, groups)
}
pub fn conv_integer(call: &mut Call<'_, '_>) -> Given {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let x = less_zero(call, x, 2, None)?;
    let w = less_zero(call, w, 3, Some(0))?;
    Ok(vec![convolution(call, x, w)?])
}

pub fn conv_transpose(call: &mut Call<'_, '_>) -> Given {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let (lengths, kernel) = (spatial(call, x)?, spatial(call, w)?);
    let count = lengths.len();
    let auto = call.text("auto_pad", "NOTSET")?;
    let mut windows = match auto.as_str() {
        "NOTSET" | "VALID" => Windows::of(call, &lengths, kernel)?,
        _same => {
            let (stride, dilation) = (ones(call, "strides", count)?, ones(call, "dilations", count)?);
            let none = vec![0; count];
            if kernel.len() != count {
                return Err(unfit(kernel.len(), count));
            }
            Windows { kernel, stride, dilation, low: none.clone(), high: none.clone(), beyond: none }
        }
    };
    let more = numbers(call, "output_padding", count)?.unwrap_or_else(|| vec![0; count]);
    let wanted = call.ints("output_shape")?.filter(|all| all.len() >= count);
    let wanted = wanted.map(|all| size::amounts(all, "its `output_shape`")).transpose()?;
    if wanted.is_some() || auto.starts_with("SAME") {
        for axis in 0..count {
            let whole = windows.stride[axis] * lengths[axis].saturating_sub(1) + more[axis] + windows.extent(axis);
            let wanted = match &wanted {
                Some(all) => all[all.len() - count + axis],
                None => (lengths[axis] * windows.stride[axis]) as i64,
            };
            let total = whole as i64 - wanted;
            let half = total.div_euclid(2);
            (windows.low[axis], windows.high[axis]) =
                if auto == "SAME_UPPER" { (half, total - half) } else { (total - half, half) };
        }
    }
    for (high, more) in windows.high.iter_mut().zip(&more) {
        *high -= *more as i64;
    }
    let groups = groups(call)?;
    let by_phases =
        windows.stride.iter().zip(&windows.dilation).all(|(stride, dilation)| *stride == 1 || *dilation == 1);
    let y =
        if by_phases { in_phases(call, x, w, &windows, groups)? } else { among_zeros(call, x, w, windows, groups)? };
    let bias = call.optional(2);
    Ok(vec![biased(call, y, bias)?])
}
/// A transposed convolution is one over its input with zeros between its elements, with the weights backwards.
fn among_zeros(call: &mut Call<'_, '_>, x: NodeId, w: NodeId, windows: Windows, groups: u64) -> Made<NodeId> {
    let spread = spread(call, x, &windows.stride)?;
    let (mut low, mut high) = (vec![0, 0], vec![0, 0]);
    for axis in 0..windows.kernel.len() {
        let reach = windows.extent(axis) as i64 - 1;
        low.push(reach - windows.low[axis]);
        high.push(reach - windows.high[axis]);
    }
    let fill = zero(call.kind(x));
    let padded = around(call, spread, &low, &high, fill)?;
    let turned = turned(call, w, groups)?;
    let dense = Windows { stride: vec![1; windows.kernel.len()], ..windows };
    convolved(call, padded, turned, &dense, groups)
}
/// The same without zeros: each stride-th element of the result is a convolution with each stride-th weight, and all of these are channels of one convolution.
fn in_phases(call: &mut Call<'_, '_>, x: NodeId, w: NodeId, windows: &Windows, groups: u64) -> Made<NodeId> {
    let (lengths, count) = (call.lengths(x), windows.kernel.len());
    let kernel: Vec<u64> =
        windows.kernel.iter().zip(&windows.stride).map(|(all, stride)| all.div_ceil(*stride)).collect();
    let w = phases_of(call, w, windows, &kernel, groups)?;
    // All windows that reach an element.
    let reach = |axis: usize| ((kernel[axis] - 1) * windows.dilation[axis]) as i64;
    let around_all: Vec<i64> = [0, 0].into_iter().chain((0..count).map(reach)).collect();
    let fill = zero(call.kind(x));
    let x = around(call, x, &around_all, &around_all, fill)?;
    let dense = Windows { kernel, stride: vec![1; count], ..windows.clone() };
    let y = convolved(call, x, w, &dense, groups)?;
    let y = interleaved(call, y, &windows.stride)?;
    // What is wanted of the whole.
    let joined = call.lengths(y);
    let (mut low, mut high) = (vec![0, 0], vec![0, 0]);
    for axis in 0..count {
        let whole = windows.stride[axis] * lengths[2 + axis].saturating_sub(1) + windows.extent(axis);
        low.push(-windows.low[axis]);
        high.push(whole as i64 - joined[2 + axis] as i64 - windows.high[axis]);
    }
    around(call, y, &low, &high, fill)
}
/// Weights [channels in, channels out of a group, ..] as [channels out with phases, channels in of a group, ..], windows backwards.
fn phases_of(call: &mut Call<'_, '_>, w: NodeId, windows: &Windows, kernel: &[u64], groups: u64) -> Made<NodeId> {
    let (weights, count) = (call.lengths(w), kernel.len());
    if !weights[0].is_multiple_of(groups) {
        return Err(operator(format!("its weights are of {} channels, and it has {groups} groups", weights[0])));
    }
    let (inner, outer) = (weights[0] / groups, weights[1]);
    let missing = (0..count).map(|axis| (kernel[axis] * windows.stride[axis] - windows.kernel[axis]) as i64);
    let missing: Vec<i64> = [0, 0].into_iter().chain(missing).collect();
    let fill = zero(call.kind(w));
    let w = around(call, w, &vec![0; count + 2], &missing, fill)?;
    let pairs = (0..count).flat_map(|axis| [kernel[axis], windows.stride[axis]]);
    let apart: Vec<u64> = [groups, inner, outer].into_iter().chain(pairs).collect();
    let w = call.shaped(w, &apart)?;
    let [elements, phases] =
        [3, 4].map(|first| (0..count as u64).map(move |axis| first + 2 * axis).collect::<Vec<u64>>());
    let w = call.along(Op::Flip, w, &elements)?;
    let w = call.permute(w, &[&[0, 2], &phases[..], &[1], &elements].concat())?;
    let channels = groups * outer * windows.stride.iter().product::<u64>();
    call.shaped(w, &[&[channels, inner], kernel].concat())
}
/// Channels of phases as neighbours along each spatial dimension.
fn interleaved(call: &mut Call<'_, '_>, y: NodeId, stride: &[u64]) -> Made<NodeId> {
    let (lengths, count) = (call.lengths(y), stride.len() as u64);
    let channels = lengths[1] / stride.iter().product::<u64>();
    let y = call.shaped(y, &[&[lengths[0], channels], stride, &lengths[2..]].concat())?;
    let order = (0..count).flat_map(|axis| [2 + count + axis, 2 + axis]);
    let order: Vec<u64> = [0, 1].into_iter().chain(order).collect();
    let y = call.permute(y, &order)?;
    let joined = lengths[2..].iter().zip(stride).map(|(places, stride)| places * stride);
    let joined: Vec<u64> = [lengths[0], channels].into_iter().chain(joined).collect();
    call.shaped(y, &joined)
}
/// Zeros between the elements of each spatial dimension.
fn spread(call: &mut Call<'_, '_>, x: NodeId, stride: &[u64]) -> Made<NodeId> {
    let mut x = x;
    for (number, stride) in stride.iter().enumerate().filter(|(_, stride)| **stride > 1) {
        let axis = number + 2;
        let mut lengths = call.lengths(x);
        let length = lengths[axis];
        lengths.insert(axis + 1, 1);
        let apart = call.shaped(x, &lengths)?;
        let (low, mut high) = (vec![0; lengths.len()], vec![0; lengths.len()]);
        high[axis + 1] = stride - 1;
        let fill = zero(call.kind(x));
        let apart = call.importer.graph.pad(apart, &low, &high, fill)?;
        lengths.remove(axis + 1);
        lengths[axis] = length * stride;
        let joined = call.shaped(apart, &lengths)?;
        x = call.part(joined, axis, 0, (length * stride).saturating_sub(stride - 1))?;
    }
    Ok(x)
}
/// Weights [channels in, channels out of a group, ..] as a convolution has them, with windows backwards.
fn turned(call: &mut Call<'_, '_>, w: NodeId, groups: u64) -> Made<NodeId> {
    let lengths = call.lengths(w);
    let axes: Vec<u64> = (2..lengths.len() as u64).collect();
    let back = call.along(Op::Flip, w, &axes)?;
    let (inner, outer) = (lengths[0] / groups, lengths[1]);
    let apart = call.shaped(back, &[&[groups, inner, outer], &lengths[2..]].concat())?;
    let order: Vec<u64> = [0, 2, 1].into_iter().chain(3..lengths.len() as u64 + 1).collect();
    let swapped = call.permute(apart, &order)?;
    call.shaped(swapped, &[&[groups * outer, inner], &lengths[2..]].concat())
}

/// The windows of a pool.
fn pool_windows(call: &Call<'_, '_>, x: NodeId) -> Made<Windows> {
    let lengths = spatial(call, x)?;
    let Some(kernel) = numbers(call, "kernel_shape", lengths.len())? else {
        return Err(operator("it needs a `kernel_shape`"));
    };
    Windows::of(call, &lengths, kernel)
}
/// The dimensions in which a window's elements are.
fn elements_of(windows: &Windows) -> Vec<u64> {
    let count = windows.kernel.len() as u64;
    (2 + count..2 + 2 * count).collect()
}

pub fn max_pool(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let windows = pool_windows(call, x)?;
    let element = call.kind(x);
    let least =
        if element.is_float() { Number::Float(f64::NEG_INFINITY) } else { Number::Int(i128::MIN).within(element) };
    let padded = windows.padded(call, x, least)?;
    let cut = windows.cut(call, padded)?;
    let mut given = vec![call.along(Op::Amax, cut, &elements_of(&windows))?];
    if call.gives(1) {
        given.push(places_of_greatest(call, x, cut, &windows)?);
    }
    Ok(given)
}
/// Where in the whole input the greatest element of each window is.
fn places_of_greatest(call: &mut Call<'_, '_>, x: NodeId, cut: NodeId, windows: &Windows) -> Made<NodeId> {
    let (lengths, count) = (call.lengths(x), windows.kernel.len());
    let places = call.lengths(cut)[..2 + count].to_vec();
    let shape = Shape::of(&places);
    let elements: u64 = windows.kernel.iter().product();
    let flat = call.shaped(cut, &[&places[..], &[elements]].concat())?;
    let mut own = call.push(Op::ArgMax, &[flat], vec![Attr::List(AttrKind::Axis, vec![2 + count as u64])])?;
    let by_column = call.int("storage_order", 0)? == 1;
    // Strides of the spatial dimensions in the numbers that are given.
    let mut strides = vec![1; count];
    let order: Vec<usize> = if by_column { (0..count).collect() } else { (0..count).rev().collect() };
    let mut stride = 1;
    for axis in &order {
        strides[*axis] = stride;
        stride *= lengths[2 + axis];
    }
    let plane: u64 = lengths[2..].iter().product();
    let mut sum = call.full(&TensorType { element: Scalar::I64, shape: shape.clone() }, Number::Int(0))?;
    let mut add = |call: &mut Call<'_, '_>, x: NodeId, factor: f64| {
        let term = by(call, Op::Mul, x, factor)?;
        sum = call.op(Op::Add, &[sum, term])?;
        Made::Ok(sum)
    };
    let mut at = own;
    for axis in (0..count).rev() {
        let inside = by(call, Op::Rem, own, windows.kernel[axis] as f64)?;
        own = by(call, Op::Div, own, windows.kernel[axis] as f64)?;
        let inside = by(call, Op::Mul, inside, windows.dilation[axis] as f64)?;
        let window = call.iota(Scalar::I64, &shape, 2 + axis)?;
        let window = by(call, Op::Mul, window, windows.stride[axis] as f64)?;
        let place = call.op(Op::Add, &[inside, window])?;
        let place = by(call, Op::Sub, place, windows.low[axis] as f64)?;
        at = add(call, place, strides[axis] as f64)?;
    }
    for (axis, factor) in [(0, plane * lengths[1]), (1, plane)] {
        let number = call.iota(Scalar::I64, &shape, axis)?;
        at = add(call, number, factor as f64)?;
    }
    Ok(at)
}
pub fn average_pool(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let windows = pool_windows(call, x)?;
    let lengths = spatial(call, x)?;
    let padded = windows.padded(call, x, Number::Float(0.0))?;
    let cut = windows.cut(call, padded)?;
    let counts_padding = call.flag("count_include_pad", false)?;
    let rank = call.rank(x);
    let is_whole = |all: &[i64]| all.iter().all(|count| *count == 0);
    if is_whole(&windows.beyond) && (counts_padding || (is_whole(&windows.low) && is_whole(&windows.high))) {
        return Ok(vec![call.along(Op::Mean, cut, &elements_of(&windows))?]);
    }
    let mut mean = call.along(Op::Sum, cut, &elements_of(&windows))?;
    let (element, windows_there) = (call.kind(x), windows.counts(&lengths));
    // How many elements count in each window: a product of counts along each dimension.
    for axis in 0..lengths.len() {
        let (from, to) = match counts_padding {
            true => (0, windows.low[axis] + lengths[axis] as i64 + windows.high[axis]),
            false => (windows.low[axis], windows.low[axis] + lengths[axis] as i64),
        };
        // Of the elements of a window, those from the first that lies inside to the first that lies behind.
        let inside = |window: u64| {
            let (start, step) = ((window * windows.stride[axis]) as i64, windows.dilation[axis] as i64);
            let before = |place: i64| ((place - start).max(0) as u64).div_ceil(step as u64).min(windows.kernel[axis]);
            before(to).saturating_sub(before(from)) as f64
        };
        call.room(&[windows_there[axis]])?;
        let counts = call.floats_of(element, &[windows_there[axis]], (0..windows_there[axis]).map(inside).collect())?;
        let counts = call.along_axis(counts, 2 + axis, rank)?;
        mean = call.binary(Op::Div, mean, counts)?;
    }
    Ok(vec![mean])
}
/// The root of order p of the sum of powers.
fn lp(call: &mut Call<'_, '_>, x: NodeId, axes: &[u64]) -> Made<NodeId> {
    let p = call.int("p", 2)?;
    let size = call.op(Op::Abs, &[x])?;
    match p {
        1 => call.along(Op::Sum, size, axes),
        2 => {
            let square = call.op(Op::Mul, &[size, size])?;
            let sum = call.along(Op::Sum, square, axes)?;
            call.op(Op::Sqrt, &[sum])
        }
        p => {
            let power = by(call, Op::Pow, size, p as f64)?;
            let sum = call.along(Op::Sum, power, axes)?;
            by(call, Op::Pow, sum, 1.0 / p as f64)
        }
    }
}
pub fn lp_pool(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let windows = pool_windows(call, x)?;
    let padded = windows.padded(call, x, Number::Float(0.0))?;
    let cut = windows.cut(call, padded)?;
    Ok(vec![lp(call, cut, &elements_of(&windows))?])
}
/// One element of each channel.
pub fn global(call: &mut Call<'_, '_>, op: Op) -> Given {
    let x = call.input(0)?;
    let axes: Vec<u64> = (2..call.rank(x) as u64).collect();
    let y = call.along(op, x, &axes)?;
    let shape = call.shape(x).ones_at(&axes);
    Ok(vec![call.reshape(y, &shape)?])
}
pub fn global_lp_pool(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let axes: Vec<u64> = (2..call.rank(x) as u64).collect();
    let y = lp(call, x, &axes)?;
    let shape = call.shape(x).ones_at(&axes);
    Ok(vec![call.reshape(y, &shape)?])
}
/// Elements put back to the places from which a pool has taken them.
pub fn max_unpool(call: &mut Call<'_, '_>) -> Given {
    let (x, places) = (call.input(0)?, call.input(1)?);
    let windows = pool_windows(call, x)?;
    let lengths = call.lengths(x);
    let mut whole = lengths[..2].to_vec();
    for axis in 0..windows.kernel.len() {
        let length = lengths[2 + axis].saturating_sub(1) * windows.stride[axis] + windows.kernel[axis];
        whole.push((length as i64 - windows.low[axis] - windows.high[axis]).max(0) as u64);
    }
    let (count, all) = (size::counted(&lengths)?, size::counted(&whole)?);
    let element = call.kind(x);
    let zeros = call.full(&TensorType::of(element, &[all]), zero(element))?;
    let (flat, places) = (call.shaped(x, &[count])?, call.shaped(places, &[count])?);
    let put = call.at_axis(Op::ScatterAdd, &[zeros, places, flat], 0)?;
    let put = call.shaped(put, &whole)?;
    let Some(wanted) = call.optional_integers(2)? else { return Ok(vec![put]) };
    size::lengths(&wanted)?;
    if wanted.len() != whole.len() {
        return Err(operator(format!("it gives {} dimensions {} lengths", whole.len(), wanted.len())));
    }
    let more: Vec<i64> = wanted.iter().zip(&whole).map(|(wanted, own)| wanted - *own as i64).collect();
    Ok(vec![around(call, put, &vec![0; more.len()], &more, zero(element))?])
}
