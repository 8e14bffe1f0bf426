//! Attention, with cached keys and values, and rotations by position.
//!
//! Invariant: a query that may look at no key gives zeros.

use super::pointwise::{by, wide};
use crate::call::Call;
use crate::error::operator;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Number, Op, Shape, TensorType};

type Given = Made<Vec<NodeId>>;

/// Heads of [batch, length, heads * size], as [batch, heads, length, size].
fn split_heads(call: &mut Call<'_, '_>, x: NodeId, name: &str) -> Made<NodeId> {
    let [batch, length, width] = call.lengths(x)[..] else { return Ok(x) };
    let heads = u64::try_from(call.int(name, 0)?).ok().filter(|heads| *heads > 0 && width.is_multiple_of(*heads));
    let heads = heads.ok_or_else(|| operator(format!("its `{name}` do not divide {width}")))?;
    let apart = call.shaped(x, &[batch, length, heads, width / heads])?;
    call.permute(apart, &[0, 2, 1, 3])
}
/// Each head of keys or values, as often as there are queries for it.
fn repeated(call: &mut Call<'_, '_>, x: NodeId, heads: u64) -> Made<NodeId> {
    let [batch, own, length, size] = call.lengths(x)[..] else { return Err(operator("it needs four dimensions")) };
    if own == heads || own == 0 || !heads.is_multiple_of(own) {
        return Ok(x);
    }
    let apart = call.shaped(x, &[batch, own, 1, length, size])?;
    let wide = call.broadcast_to(apart, &Shape::of(&[batch, own, heads / own, length, size]))?;
    call.shaped(wide, &[batch, heads, length, size])
}

/// Which keys a query may look at, as truth values that repeat to [batch, heads, queries, keys], and what a mask of floats adds.
struct Mask {
    allowed: Option<NodeId>,
    added: Option<NodeId>,
    /// Whether some query may be without a key.
    may_be_empty: bool,
}

fn both(call: &mut Call<'_, '_>, before: Option<NodeId>, next: NodeId) -> Made<Option<NodeId>> {
    match before {
        Some(before) => call.binary(Op::And, before, next).map(Some),
        None => Ok(Some(next)),
    }
}

fn mask(call: &mut Call<'_, '_>, queries: u64, keys: u64, past: u64) -> Made<Mask> {
    let mut found = Mask { allowed: None, added: None, may_be_empty: false };
    if let Some(given) = call.optional(3) {
        let rank = call.rank(given);
        if rank == 0 {
            return Err(operator("its mask has no dimension"));
        }
        let missing = keys.saturating_sub(call.shape(given).length(rank - 1));
        let (low, mut high) = (vec![0; rank], vec![0; rank]);
        high[rank - 1] = missing;
        let is_truth = call.kind(given) == Scalar::Bool;
        let fill = if is_truth { Number::Int(0) } else { Number::Float(f64::NEG_INFINITY) };
        let given = call.importer.graph.pad(given, &low, &high, fill)?;
        found.may_be_empty = true;
        (found.allowed, found.added) = if is_truth { (Some(given), None) } else { (None, Some(given)) };
    }
    let plane = Shape::of(&[queries, keys]);
    let (query, key) = (call.iota(Scalar::I64, &plane, 0)?, call.iota(Scalar::I64, &plane, 1)?);
    // Where a query stands among the keys.
    let filled = call.optional(6);
    let place = match filled {
        Some(filled) => {
            let filled = call.convert(filled, Scalar::I64)?;
            let batch = call.shape(filled).elements();
            let filled = call.shaped(filled, &[batch, 1, 1, 1])?;
            let first = by(call, Op::Sub, filled, queries as f64)?;
            let inside = call.binary(Op::Lt, key, filled)?;
            found.allowed = both(call, found.allowed, inside)?;
            found.may_be_empty = true;
            call.binary(Op::Add, query, first)?
        }
        None => by(call, Op::Add, query, past as f64)?,
    };
    let mut limits = vec![];
    if call.flag("is_causal", false)? {
        limits.push((Op::Le, 0));
    }
    let (left, right) = (call.int("left_window_size", -1)?, call.int("right_window_size", -1)?);
    if right >= 0 {
        limits.push((Op::Le, right));
    }
    if left >= 0 {
        limits.push((Op::Ge, -left));
        found.may_be_empty = true;
    }
    for (op, distance) in limits {
        let limit = by(call, Op::Add, place, distance as f64)?;
        let inside = call.binary(op, key, limit)?;
        found.allowed = both(call, found.allowed, inside)?;
    }
    Ok(found)
}

pub fn attention(call: &mut Call<'_, '_>) -> Given {
    let (q, k, v) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let is_flat = call.rank(q) == 3;
    let q = split_heads(call, q, "q_num_heads")?;
    let (mut k, mut v) = (split_heads(call, k, "kv_num_heads")?, split_heads(call, v, "kv_num_heads")?);
    let mut past = 0;
    if let (Some(keys), Some(values)) = (call.optional(4), call.optional(5)) {
        past = call.shape(keys).length(2);
        (k, v) = (call.at_axis(Op::Concat, &[keys, k], 2)?, call.at_axis(Op::Concat, &[values, v], 2)?);
    }
    let (present_k, present_v) = (k, v);
    let [batch, heads, queries, size] = call.lengths(q)[..] else {
        return Err(operator("it needs [batch, heads, length, size]"));
    };
    let keys = call.shape(k).length(2);
    let element = call.kind(q);
    let (k, v) = (repeated(call, k, heads)?, repeated(call, v, heads)?);
    let scale = if call.has("scale") { call.float("scale", 1.0)? } else { 1.0 / (size as f64).sqrt() };
    let mask = mask(call, queries, keys, past)?;
    let (q, k) = (by(call, Op::Mul, q, scale.sqrt())?, by(call, Op::Mul, k, scale.sqrt())?);
    let turned = call.transpose(k)?;
    let mut scores = call.op(Op::Matmul, &[q, turned])?;
    let mut shown = vec![scores];
    let cap = call.float("softcap", 0.0)?;
    if cap > 0.0 {
        scores = wide(call, scores, |call, x| {
            let inner = by(call, Op::Div, x, cap)?;
            let tanh = call.op(Op::Tanh, &[inner])?;
            by(call, Op::Mul, tanh, cap)
        })?;
    }
    shown.push(scores);
    let shape = Shape::of(&[batch, heads, queries, keys]);
    if let Some(added) = mask.added {
        let added = call.convert(added, element)?;
        scores = call.binary(Op::Add, scores, added)?;
    }
    if let Some(allowed) = mask.allowed {
        let nothing = call.one(element, f64::NEG_INFINITY)?;
        scores = call.choose(allowed, scores, nothing)?;
    }
    shown.push(scores);
    let computed = if element == Scalar::F64 { element } else { Scalar::F32 };
    let wide_scores = call.convert(scores, computed)?;
    let mut shares = call.along(Op::Softmax, wide_scores, &[3])?;
    if mask.may_be_empty {
        let is_there = any_key(call, &mask, &shape)?;
        let zero = call.number(shares, 0.0)?;
        shares = call.op(Op::Where, &[is_there, shares, zero])?;
    }
    let shares = call.convert(shares, element)?;
    shown.push(shares);
    let mut y = call.op(Op::Matmul, &[shares, v])?;
    if is_flat {
        let width = heads * call.shape(y).length(3);
        y = call.permute(y, &[0, 2, 1, 3])?;
        y = call.shaped(y, &[batch, queries, width])?;
    }
    let which = call.int("qk_matmul_output_mode", 0)?;
    let shown = usize::try_from(which).ok().and_then(|which| shown.get(which).copied());
    let shown = shown.ok_or_else(|| operator(format!("its `qk_matmul_output_mode` {which} is not there")))?;
    Ok(vec![y, present_k, present_v, shown])
}
/// Whether a query may look at a key at all, for each key of it.
fn any_key(call: &mut Call<'_, '_>, mask: &Mask, shape: &Shape) -> Made<NodeId> {
    let mut allowed = mask.allowed;
    if let Some(added) = mask.added {
        let counts = by(call, Op::Ne, added, f64::NEG_INFINITY)?;
        allowed = both(call, allowed, counts)?;
    }
    let all = match allowed {
        Some(allowed) => call.broadcast_to(allowed, shape)?,
        None => call.full(&TensorType { element: Scalar::Bool, shape: shape.clone() }, Number::Int(1))?,
    };
    call.spread(Op::Any, all, &[3])
}

/// Pairs of numbers turned by angles whose cosines and sines are given for each position.
pub fn rotary(call: &mut Call<'_, '_>) -> Given {
    let (x, cosines, sines) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let whole = call.lengths(x);
    let x = if whole.len() == 3 { split_heads(call, x, "num_heads")? } else { x };
    let [batch, heads, length, size] = call.lengths(x)[..] else {
        return Err(operator("it needs [batch, heads, length, size]"));
    };
    let turned = match call.int("rotary_embedding_dim", 0)? {
        0 => size,
        part => (part.max(0) as u64).min(size),
    };
    let half = turned / 2;
    let mut angles = vec![];
    for table in [cosines, sines] {
        let rows = match call.optional(3) {
            Some(places) => {
                let count = call.shape(places).elements();
                let flat = call.shaped(places, &[count])?;
                call.at_axis(Op::IndexSelect, &[table, flat], 0)?
            }
            None => table,
        };
        let rows = call.shaped(rows, &[batch, 1, length, half])?;
        angles.push(call.broadcast_to(rows, &Shape::of(&[batch, heads, length, half]))?);
    }
    let (front, rest) = (call.part(x, 3, 0, turned)?, call.part(x, 3, turned, size)?);
    let interleaved = call.flag("interleaved", false)?;
    // Pairs stand beside each other, or half of the size apart.
    let (shape, axis) =
        if interleaved { ([batch, heads, length, half, 2], 4) } else { ([batch, heads, length, 2, half], 3) };
    let pairs = call.shaped(front, &shape)?;
    let flat = [batch, heads, length, half];
    let mut side = |at: u64| {
        let one = call.part(pairs, axis, at, at + 1)?;
        call.shaped(one, &flat)
    };
    let (a, b) = (side(0)?, side(1)?);
    let product = |call: &mut Call<'_, '_>, x: NodeId, y: NodeId| call.op(Op::Mul, &[x, y]);
    let (ac, bs) = (product(call, a, angles[0])?, product(call, b, angles[1])?);
    let (bc, r#as) = (product(call, b, angles[0])?, product(call, a, angles[1])?);
    let (first, second) = (call.op(Op::Sub, &[ac, bs])?, call.op(Op::Add, &[bc, r#as])?);
    let mut one = shape;
    one[axis] = 1;
    let (first, second) = (call.shaped(first, &one)?, call.shaped(second, &one)?);
    let joined = call.at_axis(Op::Concat, &[first, second], axis)?;
    let joined = call.shaped(joined, &[batch, heads, length, turned])?;
    let y = if turned == size { joined } else { call.at_axis(Op::Concat, &[joined, rest], 3)? };
    if whole.len() == 3 {
        let y = call.permute(y, &[0, 2, 1, 3])?;
        return Ok(vec![call.shaped(y, &whole)?]);
    }
    Ok(vec![y])
}

/// A cache with new elements from a place on, for each element of the first dimension its own; beyond the end it begins again where it is circular.
pub fn cache(call: &mut Call<'_, '_>) -> Given {
    let (x, update) = (call.input(0)?, call.input(1)?);
    let rank = call.rank(x);
    let axis = call.axis("axis", -2, rank)?;
    let is_circular = match call.text("mode", "linear")?.as_str() {
        "linear" => false,
        "circular" => true,
        other => return Err(operator(format!("its mode `{other}` is not there"))),
    };
    let (length, count) = (call.shape(x).length(axis), call.shape(update).length(axis));
    let shape = call.shape(x).clone();
    let place = call.iota(Scalar::I64, &shape, axis)?;
    let first = match call.optional(2) {
        Some(first) => {
            let first = call.convert(first, Scalar::I64)?;
            call.along_axis(first, 0, rank)?
        }
        None => call.one(Scalar::I64, 0.0)?,
    };
    let distance = call.binary(Op::Sub, place, first)?;
    let distance = if is_circular {
        let more = by(call, Op::Add, distance, length as f64)?;
        by(call, Op::Rem, more, length as f64)?
    } else {
        distance
    };
    let (from, to) = (by(call, Op::Ge, distance, 0.0)?, by(call, Op::Lt, distance, count as f64)?);
    let is_new = call.op(Op::And, &[from, to])?;
    let value = call.at_axis(Op::Gather, &[update, distance], axis)?;
    Ok(vec![call.op(Op::Where, &[is_new, value, x])?])
}
