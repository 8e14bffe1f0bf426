//! Short integers in place of floats: x = (q - zero point) * scale.
//!
//! Invariant: integers are rounded to the nearest, ties to even, and kept within their type.

use super::pointwise::by;
use super::products::product;
use super::windows::convolution;
use crate::call::Call;
use crate::error::operator;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Number, Op, Shape, TensorType};

type Given = Made<Vec<NodeId>>;

/// A scale or zero point as it lies on x: one number, one for each slice along the axis, or one for each block of slices.
fn laid(call: &mut Call<'_, '_>, part: NodeId, x: NodeId, axis: usize) -> Made<NodeId> {
    let (lengths, rank) = (call.lengths(x), call.rank(x));
    let own = call.lengths(part);
    if call.shape(part).elements() == 1 && own.len() <= 1 {
        return call.shaped(part, &[]);
    }
    if own.len() == 1 {
        return call.along_axis(part, axis, rank);
    }
    if own.len() != rank || call.int("block_size", 0)? == 0 {
        return Err(operator("its scales fit neither an axis nor blocks"));
    }
    let block = call.size("block_size", 0, 1)?;
    let mut apart = own.clone();
    apart.insert(axis + 1, 1);
    let node = call.shaped(part, &apart)?;
    apart[axis + 1] = block;
    let node = call.broadcast_to(node, &Shape::of(&apart))?;
    let mut joined = own;
    joined[axis] *= block;
    let node = call.shaped(node, &joined)?;
    call.part(node, axis, 0, lengths[axis])
}
fn axis(call: &Call<'_, '_>, x: NodeId) -> Made<usize> {
    let rank = call.rank(x);
    // One number for all needs no axis, and x may have none.
    if rank == 0 || call.int("axis", 1)? >= rank as i64 { Ok(0) } else { call.axis("axis", 1, rank) }
}

/// Rounded, moved by the zero point, and kept within a type.
fn quantized(call: &mut Call<'_, '_>, scaled: NodeId, zero: Option<NodeId>, to: Scalar) -> Made<NodeId> {
    let mut q = call.op(Op::Round, &[scaled])?;
    if let Some(zero) = zero {
        let element = call.kind(q);
        let zero = call.convert(zero, element)?;
        q = call.binary(Op::Add, q, zero)?;
    }
    let (least, most) = (Number::Int(i128::MIN).within(to), Number::Int(i128::MAX).within(to));
    q = by(call, Op::Max, q, least.as_float())?;
    q = by(call, Op::Min, q, most.as_float())?;
    call.convert(q, to)
}
pub fn quantize(call: &mut Call<'_, '_>) -> Given {
    let (x, scale, zero) = (call.input(0)?, call.input(1)?, call.optional(2));
    let to = match (zero, call.element("output_dtype")?) {
        (Some(zero), _) => call.kind(zero),
        (None, to) => to.unwrap_or(Scalar::U8),
    };
    let axis = axis(call, x)?;
    let scale = laid(call, scale, x, axis)?;
    let zero = zero.map(|zero| laid(call, zero, x, axis)).transpose()?;
    let (x, scale) = (call.convert(x, Scalar::F32)?, call.convert(scale, Scalar::F32)?);
    let scaled = call.binary(Op::Div, x, scale)?;
    Ok(vec![quantized(call, scaled, zero, to)?])
}
pub fn dequantize(call: &mut Call<'_, '_>) -> Given {
    let (x, scale, zero) = (call.input(0)?, call.input(1)?, call.optional(2));
    let element = call.kind(scale);
    let axis = axis(call, x)?;
    let scale = laid(call, scale, x, axis)?;
    let scale = call.convert(scale, Scalar::F32)?;
    // Differences of integers are exact in more bits.
    let mut q = call.convert(x, Scalar::I32)?;
    if let Some(zero) = zero {
        let zero = laid(call, zero, x, axis)?;
        let zero = call.convert(zero, Scalar::I32)?;
        q = call.binary(Op::Sub, q, zero)?;
    }
    let q = call.convert(q, Scalar::F32)?;
    let y = call.binary(Op::Mul, q, scale)?;
    Ok(vec![call.convert(y, element)?])
}
/// The scale and zero point that the input's own range has.
pub fn dynamic(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let axes: Vec<u64> = (0..call.rank(x) as u64).collect();
    let (most, least) = (call.along(Op::Amax, x, &axes)?, call.along(Op::Amin, x, &axes)?);
    let (most, least) = (by(call, Op::Max, most, 0.0)?, by(call, Op::Min, least, 0.0)?);
    let range = call.op(Op::Sub, &[most, least])?;
    let scale = by(call, Op::Div, range, 255.0)?;
    let minus = call.op(Op::Neg, &[least])?;
    let zero = call.op(Op::Div, &[minus, scale])?;
    let zero = quantized(call, zero, None, Scalar::U8)?;
    let scaled = call.binary(Op::Div, x, scale)?;
    let q = quantized(call, scaled, Some(zero), Scalar::U8)?;
    Ok(vec![q, scale, zero])
}

/// Floats of an operand, as it lies on x; `axis` is that of its scales.
fn opened(call: &mut Call<'_, '_>, x: usize, axis: usize) -> Made<NodeId> {
    let (q, scale, zero) = (call.input(x)?, call.input(x + 1)?, call.input(x + 2)?);
    let (scale, zero) = (laid(call, scale, q, axis)?, laid(call, zero, q, axis)?);
    let (q, zero) = (call.convert(q, Scalar::I32)?, call.convert(zero, Scalar::I32)?);
    let q = call.binary(Op::Sub, q, zero)?;
    let (q, scale) = (call.convert(q, Scalar::F32)?, call.convert(scale, Scalar::F32)?);
    call.binary(Op::Mul, q, scale)
}
fn closed(call: &mut Call<'_, '_>, y: NodeId, scale: usize) -> Given {
    let (scale, zero) = (call.input(scale)?, call.input(scale + 1)?);
    let to = call.kind(zero);
    let (scale, zero) = (laid(call, scale, y, 1)?, laid(call, zero, y, 1)?);
    let scale = call.convert(scale, Scalar::F32)?;
    let scaled = call.binary(Op::Div, y, scale)?;
    Ok(vec![quantized(call, scaled, Some(zero), to)?])
}
pub fn linear_matmul(call: &mut Call<'_, '_>) -> Given {
    let (a, b) = (call.input(0)?, call.input(3)?);
    let (rank_a, rank_b) = (call.rank(a), call.rank(b));
    let a = opened(call, 0, rank_a.saturating_sub(2))?;
    let b = opened(call, 3, rank_b.saturating_sub(1))?;
    let y = product(call, a, b)?;
    closed(call, y, 6)
}
/// The bias is an integer whose scale is the product of both scales.
pub fn linear_conv(call: &mut Call<'_, '_>) -> Given {
    let (x, w) = (opened(call, 0, 1)?, opened(call, 3, 0)?);
    let mut y = convolution(call, x, w)?;
    if let Some(bias) = call.optional(8) {
        let (scale_x, scale_w) = (call.input(1)?, call.input(4)?);
        let scale = call.binary(Op::Mul, scale_x, scale_w)?;
        let count = call.shape(bias).elements();
        let scale =
            if call.shape(scale).elements() == 1 { call.shaped(scale, &[])? } else { call.shaped(scale, &[count])? };
        let bias = call.convert(bias, Scalar::F32)?;
        let bias = call.binary(Op::Mul, bias, scale)?;
        let bias = call.along_axis(bias, 1, call.rank(y))?;
        y = call.binary(Op::Add, y, bias)?;
    }
    closed(call, y, 6)
}

/// One number everywhere, of a type.
pub fn everywhere(call: &mut Call<'_, '_>, element: Scalar, lengths: &[u64], number: f64) -> Made<NodeId> {
    let number = if element.is_float() { Number::Float(number) } else { Number::Int(number as i128) };
    call.full(&TensorType::of(element, lengths), number)
}
