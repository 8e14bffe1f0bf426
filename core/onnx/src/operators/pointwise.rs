//! Operators that work element by element.
//!
//! Invariant: floats of 16 bits are computed in 32 where several steps make up a function, and rounded once.

use crate::call::Call;
use crate::error::operator;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Number, Op};

type Given = Made<Vec<NodeId>>;

/// Operators that are operations of the table.
pub fn unary(call: &mut Call<'_, '_>, op: Op) -> Given {
    let x = call.input(0)?;
    Ok(vec![call.op(op, &[x])?])
}
/// Two operands. Before version 7 the second one is repeated only where that is said, from an axis of the first on.
fn pair(call: &mut Call<'_, '_>) -> Made<(NodeId, NodeId)> {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let (rank, own) = (call.rank(a), call.rank(b));
    if call.version >= 7 || !call.has("axis") || own >= rank {
        return Ok((a, b));
    }
    let axis = call.axis("axis", 0, rank)?;
    let after = rank.checked_sub(axis + own).ok_or_else(|| operator("its second operand reaches over the first"))?;
    let lengths: Vec<u64> = call.lengths(b).into_iter().chain(std::iter::repeat_n(1, after)).collect();
    Ok((a, call.shaped(b, &lengths)?))
}
/// The same of two operands.
pub fn binary(call: &mut Call<'_, '_>, op: Op) -> Given {
    let (a, b) = pair(call)?;
    Ok(vec![call.importer.graph.binary(op, a, b)?])
}
/// One result of any number of operands.
pub fn variadic(call: &mut Call<'_, '_>, op: Op) -> Given {
    Ok(vec![folded(call, op)?])
}
fn folded(call: &mut Call<'_, '_>, op: Op) -> Made<NodeId> {
    let all = call.all()?;
    let mut result = all[0];
    for x in &all[1..] {
        result = call.binary(op, result, *x)?;
    }
    Ok(result)
}
pub fn mean(call: &mut Call<'_, '_>) -> Given {
    let sum = folded(call, Op::Add)?;
    let count = call.inputs.len() as f64;
    let count = call.number(sum, count)?;
    Ok(vec![call.op(Op::Div, &[sum, count])?])
}
pub fn identity(call: &mut Call<'_, '_>) -> Given {
    Ok(vec![call.input(0)?])
}

/// Applies a function of floats in at least 32 bits.
pub fn wide(
    call: &mut Call<'_, '_>,
    x: NodeId,
    function: impl FnOnce(&mut Call<'_, '_>, NodeId) -> Made<NodeId>,
) -> Made<NodeId> {
    let element = call.kind(x);
    let wider = if matches!(element, Scalar::F16 | Scalar::Bf16) { Scalar::F32 } else { element };
    let x = call.convert(x, wider)?;
    let y = function(call, x)?;
    call.convert(y, element)
}
fn wide_of_input(call: &mut Call<'_, '_>, function: impl FnOnce(&mut Call<'_, '_>, NodeId) -> Made<NodeId>) -> Given {
    let x = call.input(0)?;
    Ok(vec![wide(call, x, function)?])
}
/// An operation with a number as its second operand.
pub fn by(call: &mut Call<'_, '_>, op: Op, x: NodeId, number: f64) -> Made<NodeId> {
    let number = call.number(x, number)?;
    call.op(op, &[x, number])
}
/// One or the other by a condition.
fn select(call: &mut Call<'_, '_>, condition: NodeId, then: NodeId, otherwise: NodeId) -> Made<NodeId> {
    call.op(Op::Where, &[condition, then, otherwise])
}

/// Logarithms that keep the digits of small operands, with the sign put back.
pub fn asinh(call: &mut Call<'_, '_>) -> Given {
    wide_of_input(call, |c, x| {
        // log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), which overflows for no x that its square does not.
        let size = c.op(Op::Abs, &[x])?;
        let square = c.op(Op::Mul, &[x, x])?;
        let more = by(c, Op::Add, square, 1.0)?;
        let root = c.op(Op::Sqrt, &[more])?;
        let below = by(c, Op::Add, root, 1.0)?;
        let ratio = c.op(Op::Div, &[square, below])?;
        let sum = c.op(Op::Add, &[size, ratio])?;
        let log = c.op(Op::Log1p, &[sum])?;
        let minus = c.op(Op::Neg, &[log])?;
        let is_left = by(c, Op::Lt, x, 0.0)?;
        select(c, is_left, minus, log)
    })
}
/// log(x + sqrt(x - 1) * sqrt(x + 1)).
pub fn acosh(call: &mut Call<'_, '_>) -> Given {
    wide_of_input(call, |c, x| {
        let (less, more) = (by(c, Op::Sub, x, 1.0)?, by(c, Op::Add, x, 1.0)?);
        let (less, more) = (c.op(Op::Sqrt, &[less])?, c.op(Op::Sqrt, &[more])?);
        let product = c.op(Op::Mul, &[less, more])?;
        let sum = c.op(Op::Add, &[x, product])?;
        c.op(Op::Log, &[sum])
    })
}
/// (log1p(x) - log1p(-x)) / 2.
pub fn atanh(call: &mut Call<'_, '_>) -> Given {
    wide_of_input(call, |c, x| {
        let minus = c.op(Op::Neg, &[x])?;
        let (right, left) = (c.op(Op::Log1p, &[x])?, c.op(Op::Log1p, &[minus])?);
        let difference = c.op(Op::Sub, &[right, left])?;
        by(c, Op::Mul, difference, 0.5)
    })
}

/// a * (exp(x / b) - 1) on the left.
fn exponential(c: &mut Call<'_, '_>, x: NodeId, factor: f64, divisor: f64) -> Made<NodeId> {
    let inner = if divisor == 1.0 { x } else { by(c, Op::Div, x, divisor)? };
    // Nothing overflows on the side that is not taken.
    let zero = c.number(x, 0.0)?;
    let inner = c.op(Op::Min, &[inner, zero])?;
    let power = c.op(Op::Expm1, &[inner])?;
    by(c, Op::Mul, power, factor)
}
pub fn elu(call: &mut Call<'_, '_>) -> Given {
    let alpha = call.float("alpha", 1.0)?;
    wide_of_input(call, |c, x| {
        let left = exponential(c, x, alpha, 1.0)?;
        let is_left = by(c, Op::Le, x, 0.0)?;
        select(c, is_left, left, x)
    })
}
pub fn celu(call: &mut Call<'_, '_>) -> Given {
    let alpha = call.float("alpha", 1.0)?;
    wide_of_input(call, |c, x| {
        let left = exponential(c, x, alpha, alpha)?;
        let is_left = by(c, Op::Le, x, 0.0)?;
        select(c, is_left, left, x)
    })
}
pub fn selu(call: &mut Call<'_, '_>) -> Given {
    let alpha = call.float("alpha", 1.673_263_2)?;
    let gamma = call.float("gamma", 1.050_701)?;
    wide_of_input(call, |c, x| {
        let left = exponential(c, x, alpha, 1.0)?;
        let is_left = by(c, Op::Le, x, 0.0)?;
        let both = select(c, is_left, left, x)?;
        by(c, Op::Mul, both, gamma)
    })
}
pub fn leaky_relu(call: &mut Call<'_, '_>) -> Given {
    let alpha = call.float("alpha", 0.01)?;
    wide_of_input(call, |c, x| {
        let (left, is_left) = (by(c, Op::Mul, x, alpha)?, by(c, Op::Lt, x, 0.0)?);
        select(c, is_left, left, x)
    })
}
pub fn prelu(call: &mut Call<'_, '_>) -> Given {
    let (x, mut slope) = (call.input(0)?, call.input(1)?);
    let rank = call.rank(x);
    // In the first versions there is a slope for each channel.
    if call.version < 7 && call.rank(slope) == 1 && rank > 1 {
        slope = call.along_axis(slope, 1, rank)?;
    }
    let (zero, left) = (call.number(x, 0.0)?, call.binary(Op::Mul, x, slope)?);
    let is_left = call.op(Op::Lt, &[x, zero])?;
    Ok(vec![call.choose(is_left, left, x)?])
}
pub fn thresholded_relu(call: &mut Call<'_, '_>) -> Given {
    let alpha = call.float("alpha", 1.0)?;
    wide_of_input(call, |c, x| {
        let (is_above, zero) = (by(c, Op::Gt, x, alpha)?, c.number(x, 0.0)?);
        select(c, is_above, x, zero)
    })
}
/// At least one number and at most another; NaN stays.
fn between(c: &mut Call<'_, '_>, x: NodeId, least: f64, most: f64) -> Made<NodeId> {
    let x = by(c, Op::Max, x, least)?;
    by(c, Op::Min, x, most)
}
fn hard(c: &mut Call<'_, '_>, x: NodeId, alpha: f64, beta: f64) -> Made<NodeId> {
    let product = by(c, Op::Mul, x, alpha)?;
    let sum = by(c, Op::Add, product, beta)?;
    between(c, sum, 0.0, 1.0)
}
pub fn hard_sigmoid(call: &mut Call<'_, '_>) -> Given {
    let (alpha, beta) = (call.float("alpha", 0.2)?, call.float("beta", 0.5)?);
    wide_of_input(call, |c, x| hard(c, x, alpha, beta))
}
pub fn hard_swish(call: &mut Call<'_, '_>) -> Given {
    wide_of_input(call, |c, x| {
        let factor = hard(c, x, 1.0 / 6.0, 0.5)?;
        c.op(Op::Mul, &[x, factor])
    })
}
pub fn swish(call: &mut Call<'_, '_>) -> Given {
    let alpha = call.float("alpha", 1.0)?;
    wide_of_input(call, |c, x| {
        let scaled = by(c, Op::Mul, x, alpha)?;
        let factor = c.op(Op::Sigmoid, &[scaled])?;
        c.op(Op::Mul, &[x, factor])
    })
}
/// One half of features opens the other one.
pub fn swiglu(call: &mut Call<'_, '_>) -> Given {
    let (gate, x) = (swish(call)?[0], call.input(1)?);
    Ok(vec![call.op(Op::Mul, &[gate, x])?])
}
pub fn mish(call: &mut Call<'_, '_>) -> Given {
    wide_of_input(call, |c, x| {
        let inner = c.op(Op::Softplus, &[x])?;
        let factor = c.op(Op::Tanh, &[inner])?;
        c.op(Op::Mul, &[x, factor])
    })
}
pub fn gelu(call: &mut Call<'_, '_>) -> Given {
    match call.text("approximate", "none")?.as_str() {
        "none" => unary(call, Op::Gelu),
        "tanh" => wide_of_input(call, |c, x| {
            let square = c.op(Op::Mul, &[x, x])?;
            let inner = by(c, Op::Mul, square, 0.044_715)?;
            let inner = by(c, Op::Add, inner, 1.0)?;
            let inner = c.op(Op::Mul, &[inner, x])?;
            let inner = by(c, Op::Mul, inner, (2.0 / std::f64::consts::PI).sqrt())?;
            let tanh = c.op(Op::Tanh, &[inner])?;
            let sum = by(c, Op::Add, tanh, 1.0)?;
            let half = by(c, Op::Mul, x, 0.5)?;
            c.op(Op::Mul, &[half, sum])
        }),
        other => Err(operator(format!("its approximation `{other}` is not there"))),
    }
}
pub fn softsign(call: &mut Call<'_, '_>) -> Given {
    wide_of_input(call, |c, x| {
        let size = c.op(Op::Abs, &[x])?;
        let below = by(c, Op::Add, size, 1.0)?;
        c.op(Op::Div, &[x, below])
    })
}
pub fn shrink(call: &mut Call<'_, '_>) -> Given {
    let (bias, limit) = (call.float("bias", 0.0)?, call.float("lambd", 0.5)?);
    let x = call.input(0)?;
    let element = call.kind(x);
    let x = if element.is_float() { x } else { call.convert(x, Scalar::F32)? };
    let y = wide(call, x, |c, x| {
        let (above, below) = (by(c, Op::Sub, x, bias)?, by(c, Op::Add, x, bias)?);
        let (is_above, is_below) = (by(c, Op::Gt, x, limit)?, by(c, Op::Lt, x, -limit)?);
        let zero = c.number(x, 0.0)?;
        let rest = select(c, is_below, below, zero)?;
        select(c, is_above, above, rest)
    })?;
    Ok(vec![call.convert(y, element)?])
}
/// Bounds are attributes in the first versions, and inputs later.
pub fn clip(call: &mut Call<'_, '_>) -> Given {
    let mut x = call.input(0)?;
    let element = call.kind(x);
    for (number, name, op) in [(1, "min", Op::Max), (2, "max", Op::Min)] {
        let bound = match call.version {
            ..11 if call.has(name) => {
                let bound = call.float(name, 0.0)?;
                Some(call.one(element, bound)?)
            }
            ..11 => None,
            _inputs => call.optional(number),
        };
        if let Some(bound) = bound {
            x = call.binary(op, x, bound)?;
        }
    }
    Ok(vec![x])
}

pub fn is_inf(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let (negative, positive) = (call.flag("detect_negative", true)?, call.flag("detect_positive", true)?);
    let truths = call.ty(x).with_element(Scalar::Bool);
    let mut found = call.full(&truths, Number::Int(0))?;
    for (counts, infinity) in [(negative, f64::NEG_INFINITY), (positive, f64::INFINITY)] {
        if counts {
            let is_this = by(call, Op::Eq, x, infinity)?;
            found = call.op(Op::Or, &[found, is_this])?;
        }
    }
    Ok(vec![found])
}
pub fn not(call: &mut Call<'_, '_>) -> Given {
    unary(call, Op::Not)
}
pub fn choose(call: &mut Call<'_, '_>) -> Given {
    let (condition, then, otherwise) = (call.input(0)?, call.input(1)?, call.input(2)?);
    Ok(vec![call.importer.graph.choose(condition, then, otherwise)?])
}

/// Truth values are compared as numbers.
pub fn compare(call: &mut Call<'_, '_>, op: Op) -> Given {
    binary(call, op)
}

/// Remainders: with the divisor's sign, or with `fmod` the dividend's.
pub fn modulo(call: &mut Call<'_, '_>) -> Given {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let as_c = call.flag("fmod", false)?;
    let element = call.kind(a);
    let rest = if element.is_float() {
        // A divisor that is infinite leaves what it divides: 0 times infinity would be no number.
        let quotient = call.binary(Op::Div, a, b)?;
        let whole = call.op(Op::Trunc, &[quotient])?;
        let product = call.binary(Op::Mul, whole, b)?;
        let (rest, is_small) = (call.binary(Op::Sub, a, product)?, by(call, Op::Eq, whole, 0.0)?);
        call.choose(is_small, a, rest)?
    } else {
        call.binary(Op::Rem, a, b)?
    };
    if as_c || !(element.is_signed() || element.is_float()) {
        return Ok(vec![rest]);
    }
    let moved = call.binary(Op::Add, rest, b)?;
    let zero = call.number(moved, 0.0)?;
    let below = call.one(element, 0.0)?;
    let (rest_is_less, divisor_is_less) = (call.op(Op::Lt, &[rest, zero])?, call.binary(Op::Lt, b, below)?);
    let differ = call.binary(Op::Ne, rest_is_less, divisor_is_less)?;
    let is_rest = call.op(Op::Ne, &[rest, zero])?;
    let moves = call.op(Op::And, &[differ, is_rest])?;
    Ok(vec![select(call, moves, moved, rest)?])
}

/// The most multiplications that a power of integers becomes.
const MOST_FACTORS: i64 = 64;

/// Powers have the type of their base. A known whole exponent becomes multiplications, so that integers stay exact.
pub fn pow(call: &mut Call<'_, '_>) -> Given {
    let (base, exponent) = (call.input(0)?, call.input(1)?);
    let element = call.kind(base);
    if call.shape(exponent).elements() == 1 && call.importer.is_constant(exponent) {
        let number = call.elements(exponent)?.get(0);
        let power = number.as_int() as i64;
        if number.is_whole() && (1..=MOST_FACTORS).contains(&power) {
            let shape = girih_tensor::Shape::of(&vec![1; call.rank(exponent)]);
            let rank = shape.rank().max(call.rank(base));
            let base = call.with_rank(base, rank)?;
            return Ok(vec![raised(call, base, power)?]);
        }
    }
    let computed = if element.is_float() { element } else { Scalar::F32 };
    let (x, y) = (call.convert(base, computed)?, call.convert(exponent, computed)?);
    let power = call.importer.graph.binary(Op::Pow, x, y)?;
    // Integers that floats give a little less of are rounded to what they are.
    let power = if element.is_float() { power } else { call.op(Op::Round, &[power])? };
    Ok(vec![call.convert(power, element)?])
}
/// By squaring.
fn raised(call: &mut Call<'_, '_>, base: NodeId, mut power: i64) -> Made<NodeId> {
    let (mut square, mut result) = (base, None);
    loop {
        if power & 1 == 1 {
            result = Some(match result {
                None => square,
                Some(result) => call.op(Op::Mul, &[result, square])?,
            });
        }
        power >>= 1;
        match result {
            Some(result) if power == 0 => return Ok(result),
            _more => square = call.op(Op::Mul, &[square, square])?,
        }
    }
}

/// A shift by all bits or more leaves no bit, or the sign alone.
pub fn bit_shift(call: &mut Call<'_, '_>) -> Given {
    let (x, count) = (call.input(0)?, call.input(1)?);
    let element = call.kind(x);
    let op = match call.text("direction", "")?.as_str() {
        "LEFT" => Op::Shl,
        "RIGHT" => Op::Shr,
        other => return Err(operator(format!("its direction is `{other}`, not LEFT or RIGHT"))),
    };
    let shifted = call.importer.graph.binary(op, x, count)?;
    let width = f64::from(element.bits());
    let mut is_far = by(call, Op::Ge, count, width)?;
    if element.is_signed() {
        let is_negative = by(call, Op::Lt, count, 0.0)?;
        is_far = call.op(Op::Or, &[is_far, is_negative])?;
    }
    let left =
        if op == Op::Shr && element.is_signed() { by(call, Op::Shr, x, width - 1.0)? } else { call.number(x, 0.0)? };
    Ok(vec![call.choose(is_far, left, shifted)?])
}

/// The same numbers as another type. Floats beyond an integer's range become its nearest.
pub fn cast(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let Some(to) = call.element("to")? else { return Err(operator("it does not say to which type")) };
    Ok(vec![call.convert(x, to)?])
}
pub fn cast_like(call: &mut Call<'_, '_>) -> Given {
    let (x, like) = (call.input(0)?, call.input(1)?);
    let to = call.kind(like);
    Ok(vec![call.convert(x, to)?])
}
/// A model that is run, not trained, drops nothing.
pub fn dropout(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let trains = match call.optional(2) {
        Some(_) => call.single_int(2)? != 0,
        None => false,
    };
    let ratio = match call.optional(1) {
        Some(_) if trains => call.single(1)?.as_float(),
        Some(_) | None => 0.5,
    };
    if trains && ratio != 0.0 {
        return Err(operator("it drops elements, as in training, which is not there"));
    }
    let mask = if call.version < 10 { call.kind(x) } else { Scalar::Bool };
    let ones = call.ty(x).with_element(mask);
    let kept = call.full(&ones, if mask.is_float() { Number::Float(1.0) } else { Number::Int(1) })?;
    Ok(vec![x, kept])
}
