//! Operators of signals: Fourier transforms as products with matrices, and windows.
//!
//! Invariant: complex numbers are a last dimension of two: real and imaginary part.

use crate::call::{self, Call};
use crate::error::operator;
use crate::size;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Op};
use std::f64::consts::TAU;

type Given = Made<Vec<NodeId>>;

/// The sum of cosines that a window is, by their factors.
pub fn window(call: &mut Call<'_, '_>, factors: &[f64]) -> Given {
    let size = size::at_least(call.single_int(0)?, 0, "its size")?;
    let size = call.room(&[size])? as i64;
    let element = call.element("output_datatype")?.unwrap_or(Scalar::F32);
    let period = if call.flag("periodic", true)? { size } else { size - 1 };
    let at = |n: i64| {
        factors.iter().enumerate().map(|(k, factor)| factor * (TAU * k as f64 * n as f64 / period as f64).cos()).sum()
    };
    Ok(vec![call.floats_of(element, &[size as u64], (0..size).map(at).collect())?])
}

/// A transform of rows of complex numbers: real and imaginary part, [rows, from] each, become [rows, to] each. The imaginary part may be missing.
fn transform(
    call: &mut Call<'_, '_>,
    re: NodeId,
    im: Option<NodeId>,
    length: u64,
    to: u64,
    inverse: bool,
) -> Made<(NodeId, NodeId)> {
    let (element, from) = (call.kind(re), call.shape(re).length(1));
    // Two matrices.
    call.room(&[2, from, to])?;
    let angle = |row: u64, column: u64| TAU * ((row * column) % length) as f64 / length as f64;
    let scale = if inverse { 1.0 / length as f64 } else { 1.0 };
    let sign = if inverse { 1.0 } else { -1.0 };
    let matrix = |of: fn(f64) -> f64, factor: f64| -> Vec<f64> {
        (0..from).flat_map(|row| (0..to).map(move |column| factor * of(angle(row, column)))).collect()
    };
    let cosine = call.floats_of(element, &[from, to], matrix(f64::cos, scale))?;
    let sine = call.floats_of(element, &[from, to], matrix(f64::sin, scale * sign))?;
    let (mut real, mut imaginary) = (call.op(Op::Matmul, &[re, cosine])?, call.op(Op::Matmul, &[re, sine])?);
    if let Some(im) = im {
        let (crossed, along) = (call.op(Op::Matmul, &[im, sine])?, call.op(Op::Matmul, &[im, cosine])?);
        real = call.op(Op::Sub, &[real, crossed])?;
        imaginary = call.op(Op::Add, &[imaginary, along])?;
    }
    Ok((real, imaginary))
}
/// The parts of complex numbers, without their dimension; a last dimension of length 1 has real parts alone.
fn parts(call: &mut Call<'_, '_>, x: NodeId) -> Made<(NodeId, Option<NodeId>)> {
    let rank = call.rank(x);
    if rank == 0 {
        return Err(operator("it needs a signal, and is given a number"));
    }
    let count = call.shape(x).length(rank - 1);
    let mut part = |at: u64| {
        let one = call.part(x, rank - 1, at, at + 1)?;
        let shape = call.shape(one).without(&[rank as u64 - 1]);
        call.reshape(one, &shape)
    };
    match count {
        1 => Ok((part(0)?, None)),
        2 => Ok((part(0)?, Some(part(1)?))),
        other => Err(operator(format!("its last dimension has {other} parts, not 1 or 2"))),
    }
}
fn complex(call: &mut Call<'_, '_>, re: NodeId, im: NodeId) -> Made<NodeId> {
    let lengths = [call.lengths(re), vec![1]].concat();
    let (re, im) = (call.shaped(re, &lengths)?, call.shaped(im, &lengths)?);
    call.at_axis(Op::Concat, &[re, im], lengths.len() - 1)
}

pub fn dft(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let rank = call.rank(x);
    let which = match call.optional_int(2)? {
        Some(axis) => axis,
        None => call.int("axis", if call.version < 20 { 1 } else { -2 })?,
    };
    let axis = call::axis(which, rank)?;
    if axis + 1 == rank {
        return Err(operator(format!("it names axis {which}, which has the parts of complex numbers")));
    }
    let inverse = call.flag("inverse", false)?;
    let one_sided = call.flag("onesided", false)?;
    let own = call.shape(x).length(axis);
    // From one half of a spectrum to real numbers, or from numbers to a spectrum.
    let is_real = inverse && one_sided;
    let length = call.optional_int(1)?.map(|length| size::at_least(length, 1, "its length")).transpose()?;
    let length = length.unwrap_or(if is_real { 2 * own.saturating_sub(1).max(1) } else { own });
    let half = length / 2 + 1;
    let most = if is_real { half } else { length };
    let x = if most < own { call.part(x, axis, 0, most)? } else { x };
    let to = if one_sided && !inverse { half } else { length };
    let (re, im) = parts(call, x)?;
    // The axis goes last, and back.
    let mut order: Vec<u64> = (0..rank as u64 - 1).collect();
    order.swap(axis, rank - 2);
    let moved = call.permute(re, &order)?;
    let mut lengths = call.lengths(moved);
    let rows: u64 = lengths[..rank - 2].iter().product();
    let width = lengths[rank - 2];
    let mut flat = |x: NodeId| {
        let x = call.permute(x, &order)?;
        call.shaped(x, &[rows, width])
    };
    let (re, im) = (flat(re)?, im.map(&mut flat).transpose()?);
    let (re, im) = if is_real {
        (from_half(call, re, im, length)?, None)
    } else {
        let (re, im) = transform(call, re, im, length, to, inverse)?;
        (re, Some(im))
    };
    lengths[rank - 2] = to;
    let mut back = |x: NodeId| {
        let x = call.shaped(x, &lengths)?;
        call.permute(x, &order)
    };
    let (re, im) = (back(re)?, im.map(&mut back).transpose()?);
    let Some(im) = im else {
        let lengths = [call.lengths(re), vec![1]].concat();
        return Ok(vec![call.shaped(re, &lengths)?]);
    };
    Ok(vec![complex(call, re, im)?])
}
/// The real numbers of one half of a spectrum; the other half is its mirror image.
fn from_half(call: &mut Call<'_, '_>, re: NodeId, im: Option<NodeId>, length: u64) -> Made<NodeId> {
    let (element, from) = (call.kind(re), call.shape(re).length(1));
    // Two matrices.
    call.room(&[2, from, length])?;
    let weight = |k: u64| if k == 0 || 2 * k == length { 1.0 } else { 2.0 } / length as f64;
    let angle = |k: u64, at: u64| TAU * ((k * at) % length) as f64 / length as f64;
    let matrix = |of: fn(f64) -> f64, sign: f64| -> Vec<f64> {
        (0..from).flat_map(|k| (0..length).map(move |at| sign * weight(k) * of(angle(k, at)))).collect()
    };
    let cosine = call.floats_of(element, &[from, length], matrix(f64::cos, 1.0))?;
    let real = call.op(Op::Matmul, &[re, cosine])?;
    let Some(im) = im else { return Ok(real) };
    let sine = call.floats_of(element, &[from, length], matrix(f64::sin, -1.0))?;
    let rest = call.op(Op::Matmul, &[im, sine])?;
    call.op(Op::Add, &[real, rest])
}
/// Transforms of overlapping parts of a signal [batch, length, parts].
pub fn stft(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let step = size::at_least(call.single_int(1)?, 1, "its step")?;
    let window = call.optional(2);
    let own = window.map(|window| call.shape(window).elements());
    let length = call.optional_int(3)?.map(|length| size::at_least(length, 1, "its length")).transpose()?;
    let Some(length) = length.or(own) else { return Err(operator("it needs a window, or the length of a part")) };
    let to = if call.flag("onesided", true)? { length / 2 + 1 } else { length };
    let (re, im) = parts(call, x)?;
    let batch = call.shape(re).length(0);
    let mut cut = |x: NodeId| -> Made<NodeId> {
        let frames = call.windows(x, 1, length, step, 1)?;
        let count = call.shape(frames).length(1);
        let flat = call.shaped(frames, &[batch * count, length])?;
        match window {
            Some(window) => call.binary(Op::Mul, flat, window),
            None => Ok(flat),
        }
    };
    let (re, im) = (cut(re)?, im.map(&mut cut).transpose()?);
    let count = call.shape(re).length(0) / batch.max(1);
    let (re, im) = transform(call, re, im, length, to, false)?;
    let (re, im) = (call.shaped(re, &[batch, count, to])?, call.shaped(im, &[batch, count, to])?);
    Ok(vec![complex(call, re, im)?])
}
/// Whether all are numbers of elements or hertz: none is negative, or larger than a size.
fn numbers_fit(all: &[f64]) -> bool {
    all.iter().all(|number| (0.0..=size::MOST_SIZE as f64).contains(number))
}
/// Triangles over the bins of a spectrum, evenly spaced as pitches are heard.
pub fn mel_weights(call: &mut Call<'_, '_>) -> Given {
    let mut numbers = vec![];
    for number in 0..5 {
        numbers.push(call.single(number)?.as_float());
    }
    let [bands, length, rate, lower, upper] = numbers[..] else { return Err(operator("it needs five numbers")) };
    let element = call.element("output_datatype")?.unwrap_or(Scalar::F32);
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let hertz = |mel: f64| 700.0 * (10_f64.powf(mel / 2595.0) - 1.0);
    let all_there = numbers_fit(&[bands, length, lower, upper]) && rate > 0.0;
    if !all_there {
        return Err(operator(format!(
            "it makes {bands} bands of {length} elements at a rate of {rate}, from {lower} to {upper}"
        )));
    }
    let (bands, bins) = (bands as usize, (length / 2.0).floor() as usize + 1);
    call.room(&[bins as u64, bands as u64])?;
    let step = (mel(upper) - mel(lower)) / (bands as f64 + 2.0);
    let bin = |band: usize| ((length + 1.0) * hertz(mel(lower) + step * band as f64) / rate).floor();
    let mut weights = vec![0.0; bins * bands];
    for band in 0..bands {
        let (low, middle, high) = (bin(band), bin(band + 1), bin(band + 2));
        let mut set = |at: f64, weight: f64| {
            if at >= 0.0 && (at as usize) < bins {
                weights[at as usize * bands + band] = weight;
            }
        };
        if low == middle {
            set(middle, 1.0);
        } else {
            (low.max(0.0) as i64..=middle.min(bins as f64) as i64)
                .for_each(|at| set(at as f64, (at as f64 - low) / (middle - low)));
        }
        if high > middle {
            (middle.max(0.0) as i64..high.min(bins as f64) as i64)
                .for_each(|at| set(at as f64, (high - at as f64) / (high - middle)));
        }
    }
    Ok(vec![call.floats_of(element, &[bins as u64, bands as u64], weights)?])
}
