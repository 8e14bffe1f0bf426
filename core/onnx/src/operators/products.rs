//! Products: of matrices, with scales and bias, and Einstein's sums.

use crate::call::Call;
use crate::error::operator;
use crate::size::counted;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Op, Shape};

type Given = Made<Vec<NodeId>>;

pub fn matmul(call: &mut Call<'_, '_>) -> Given {
    let (a, b) = (call.input(0)?, call.input(1)?);
    Ok(vec![product(call, a, b)?])
}
/// A product of matrices; a vector is a row on the left and a column on the right, and what it adds is gone from the result.
pub fn product(call: &mut Call<'_, '_>, a: NodeId, b: NodeId) -> Made<NodeId> {
    let (rank_a, rank_b) = (call.rank(a), call.rank(b));
    if rank_a == 0 || rank_b == 0 {
        return Err(operator("it multiplies matrices and vectors, and is given a number"));
    }
    let row = if rank_a == 1 { call.with_rank(a, 2)? } else { a };
    let column = if rank_b == 1 {
        let length = call.shape(b).length(0);
        call.shaped(b, &[length, 1])?
    } else {
        b
    };
    let rank = call.rank(row).max(call.rank(column));
    let (row, column) = (call.with_rank(row, rank)?, call.with_rank(column, rank)?);
    let result = call.importer.graph.product(row, column)?;
    let mut lengths = call.lengths(result);
    if rank_b == 1 {
        lengths.pop();
    }
    if rank_a == 1 {
        let row = lengths.len() - if rank_b == 1 { 1 } else { 2 };
        lengths.remove(row);
    }
    call.shaped(result, &lengths)
}
/// alpha * a * b + beta * c.
pub fn gemm(call: &mut Call<'_, '_>) -> Given {
    let (mut a, mut b) = (call.input(0)?, call.input(1)?);
    if call.flag("transA", false)? {
        a = call.transpose(a)?;
    }
    if call.flag("transB", false)? {
        b = call.transpose(b)?;
    }
    let mut result = call.importer.graph.product(a, b)?;
    let alpha = call.float("alpha", 1.0)?;
    if alpha != 1.0 {
        result = super::pointwise::by(call, Op::Mul, result, alpha)?;
    }
    if let Some(c) = call.optional(2) {
        let beta = call.float("beta", 1.0)?;
        let c = if beta == 1.0 { c } else { super::pointwise::by(call, Op::Mul, c, beta)? };
        result = call.importer.graph.binary(Op::Add, result, c)?;
    }
    Ok(vec![result])
}
/// The same of short integers, each less its zero point, summed in `i32`.
pub fn matmul_integer(call: &mut Call<'_, '_>) -> Given {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let (rows, columns) = (call.rank(a).checked_sub(2), call.rank(b).checked_sub(1));
    let a = less_zero(call, a, 2, rows)?;
    let b = less_zero(call, b, 3, columns)?;
    Ok(vec![product(call, a, b)?])
}
/// Integers as `i32`, less a zero point: one number, or one for each slice along an axis.
pub fn less_zero(call: &mut Call<'_, '_>, x: NodeId, zero: usize, axis: Option<usize>) -> Made<NodeId> {
    let x = call.convert(x, Scalar::I32)?;
    let Some(zero) = call.optional(zero) else { return Ok(x) };
    let zero = call.convert(zero, Scalar::I32)?;
    let rank = call.rank(x);
    let zero = match (call.rank(zero), call.shape(zero).elements(), axis) {
        (1, 1, _) => call.shaped(zero, &[])?,
        (1, _, Some(axis)) => call.along_axis(zero, axis, rank)?,
        _whole => zero,
    };
    call.binary(Op::Sub, x, zero)
}

/// A tensor whose dimensions have letters.
struct Lettered {
    node: NodeId,
    letters: Vec<char>,
}

/// Einstein's sums: products of operands whose dimensions have letters, summed over letters that the result does not have.
pub fn einsum(call: &mut Call<'_, '_>) -> Given {
    let equation: String = call.text("equation", "")?.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (&*equation, None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    let operands = call.all()?;
    if terms.len() != operands.len() {
        return Err(operator(format!("`{equation}` is of {} tensors, and {} are given", terms.len(), operands.len())));
    }
    // The dimensions that an ellipsis stands for have digits as letters, counted from the last.
    let mut lettered = vec![];
    let mut most = 0;
    for (term, node) in terms.iter().zip(operands) {
        let rank = call.rank(node);
        let named = term.replace("...", "").chars().count();
        let hidden = rank
            .checked_sub(named)
            .ok_or_else(|| operator(format!("`{term}` has more letters than {rank} dimensions")))?;
        if hidden > 0 && !term.contains("...") {
            return Err(operator(format!("`{term}` has {named} letters for {rank} dimensions")));
        }
        most = most.max(hidden);
        lettered.push((spelled(term, hidden), node));
    }
    let output = match right {
        Some(right) => spelled(right, most),
        None => implied(&lettered, most),
    };
    let mut parts = vec![];
    for (letters, node) in lettered {
        parts.push(without_repeats(call, Lettered { node, letters })?);
    }
    let mut parts = parts.into_iter();
    let Some(mut whole) = parts.next() else { return Err(operator("it needs an input")) };
    let mut rest: Vec<Lettered> = parts.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let is_kept =
            |letter: &char| output.contains(letter) || rest.iter().any(|other| other.letters.contains(letter));
        whole = multiplied(call, whole, next, &is_kept)?;
    }
    let gone: Vec<u64> = (0..whole.letters.len())
        .filter(|axis| !output.contains(&whole.letters[*axis]))
        .map(|axis| axis as u64)
        .collect();
    let node = if gone.is_empty() { whole.node } else { call.along(Op::Sum, whole.node, &gone)? };
    let left: Vec<char> = whole.letters.into_iter().filter(|letter| output.contains(letter)).collect();
    let place = |letter: &char| left.iter().position(|own| own == letter).map(|place| place as u64);
    let order: Option<Vec<u64>> = output.iter().map(place).collect();
    let Some(order) = order else { return Err(operator(format!("`{equation}` gives a letter that no operand has"))) };
    Ok(vec![call.permute(node, &order)?])
}
/// Letters of a term, with those of an ellipsis of so many dimensions.
fn spelled(term: &str, hidden: usize) -> Vec<char> {
    let digits: String = (0..hidden).rev().filter_map(|at| char::from_digit(at as u32, 36)).collect();
    term.replace("...", &digits).chars().collect()
}
/// Where no result is written, it has the ellipsis, and then the letters that occur once in order of the alphabet.
fn implied(terms: &[(Vec<char>, NodeId)], hidden: usize) -> Vec<char> {
    let all: Vec<char> = terms.iter().flat_map(|(letters, _)| letters.iter().copied()).collect();
    let is_single = |letter: &char| letter.is_alphabetic() && all.iter().filter(|other| *other == letter).count() == 1;
    let mut single: Vec<char> = all.iter().copied().filter(is_single).collect();
    single.sort_unstable();
    spelled("...", hidden).into_iter().chain(single).collect()
}
/// A letter that stands twice takes the diagonal.
fn without_repeats(call: &mut Call<'_, '_>, mut x: Lettered) -> Made<Lettered> {
    loop {
        let twice = |at: &usize| x.letters[..*at].contains(&x.letters[*at]);
        let Some(second) = (0..x.letters.len()).find(twice) else { return Ok(x) };
        let first = x.letters.iter().position(|letter| *letter == x.letters[second]).unwrap_or(0);
        let rank = x.letters.len();
        let others: Vec<usize> = (0..rank).filter(|axis| *axis != first && *axis != second).collect();
        let order: Vec<u64> = others.iter().chain([&first, &second]).map(|axis| *axis as u64).collect();
        let moved = call.permute(x.node, &order)?;
        let lengths = call.lengths(moved);
        let (outer, side) = (&lengths[..rank - 2], lengths[rank - 1]);
        let flat = [outer, &[side * side]].concat();
        let row = call.shaped(moved, &flat)?;
        let (start, mut step) = (vec![0; rank - 1], vec![1; rank - 1]);
        step[rank - 2] = side + 1;
        let node = call.strided(row, &start, &flat, &step)?;
        let letters = others.iter().map(|axis| x.letters[*axis]).chain([x.letters[first]]).collect();
        x = Lettered { node, letters };
    }
}
/// The product of two, summed over letters that both have and nobody needs any more: a product of matrices with the letters that both keep before them.
fn multiplied(call: &mut Call<'_, '_>, a: Lettered, b: Lettered, is_kept: &dyn Fn(&char) -> bool) -> Made<Lettered> {
    let shared: Vec<char> = a.letters.iter().copied().filter(|letter| b.letters.contains(letter)).collect();
    let (batch, summed): (Vec<char>, Vec<char>) = shared.iter().partition(|letter| is_kept(letter));
    let rows: Vec<char> = a.letters.iter().copied().filter(|letter| !shared.contains(letter)).collect();
    let columns: Vec<char> = b.letters.iter().copied().filter(|letter| !shared.contains(letter)).collect();
    let length = |call: &Call<'_, '_>, x: &Lettered, letter: &char| {
        x.letters.iter().position(|own| own == letter).map_or(1, |axis| call.shape(x.node).length(axis))
    };
    // A dimension of length 1 is repeated.
    let longest = |call: &Call<'_, '_>, letter: &char| length(call, &a, letter).max(length(call, &b, letter));
    let lengths = |call: &Call<'_, '_>, letters: &[char]| {
        letters.iter().map(|letter| longest(call, letter)).collect::<Vec<u64>>()
    };
    let (batch_lengths, summed_lengths) = (lengths(call, &batch), lengths(call, &summed));
    let (row_lengths, column_lengths) = (lengths(call, &rows), lengths(call, &columns));
    let laid = |call: &mut Call<'_, '_>, x: &Lettered, order: &[&[char]], flat: [u64; 3]| {
        let letters = order.concat();
        let place = |letter: &char| x.letters.iter().position(|own| own == letter).unwrap_or(0) as u64;
        let moved = call.permute(x.node, &letters.iter().map(place).collect::<Vec<u64>>())?;
        let whole: Vec<u64> = letters.iter().map(|letter| longest(call, letter)).collect();
        let moved = call.broadcast_to(moved, &Shape::of(&whole))?;
        call.shaped(moved, &flat)
    };
    let (batches, depth) = (counted(&batch_lengths)?, counted(&summed_lengths)?);
    let left = laid(call, &a, &[&batch, &rows, &summed], [batches, counted(&row_lengths)?, depth])?;
    let right = laid(call, &b, &[&batch, &summed, &columns], [batches, depth, counted(&column_lengths)?])?;
    let result = call.op(Op::Matmul, &[left, right])?;
    let node = call.shaped(result, &[batch_lengths, row_lengths, column_lengths].concat())?;
    Ok(Lettered { node, letters: [batch, rows, columns].concat() })
}
