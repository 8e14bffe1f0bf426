//! Instructions of assembly on floats, also on two of 16 bits side by side.
//!
//! Invariant: each result is rounded once to the instruction's type. What PTX leaves inexact is at least as exact here, and NaN is what PTX makes of it.

use super::super::body::Body;
use super::super::builtins;
use super::super::value::{Placed, Tensor, Value};
use super::instructions::Reading;
use super::registers::{Known, constant, viewed, word};
use girih_ir::{Op, Scalar};

/// How many operands a name has behind its target; none if it is not known for floats.
pub(super) fn operands(name: &str) -> Option<usize> {
    Some(match name {
        "abs" | "neg" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => 1,
        "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => 2,
        "fma" | "mad" => 3,
        _others => return None,
    })
}

/// What an instruction computes from numbers of one type.
pub(super) fn compute(body: &mut Body<'_, '_>, name: &str, x: &[Tensor], reading: &Reading<'_, '_>) -> Known<Tensor> {
    let manner = &reading.manner;
    if let Some(own) = manner.own.first() {
        return Err(format!("`.{own}` is not known there"));
    }
    if manner.finite {
        return Err("`.satfinite` stands only in `cvt`".into());
    }
    let made = match manner.rounding {
        Some(direction) => directed(body, name, x, direction)?,
        None => nearest(body, name, x, manner.nan)?,
    };
    let made = if manner.relu { not_below_zero(body, made) } else { made };
    Ok(if manner.sat { within_one(body, made) } else { made })
}

fn nearest(body: &mut Body<'_, '_>, name: &str, x: &[Tensor], nan: bool) -> Known<Tensor> {
    let a = x[0];
    let values: Vec<_> = x.iter().map(|t| t.value).collect();
    let op = match name {
        "add" => Op::Add,
        "sub" => Op::Sub,
        "mul" => Op::Mul,
        "div" => Op::Div,
        "fma" | "mad" => Op::Fma,
        "abs" => Op::Abs,
        "neg" => Op::Neg,
        "min" | "max" => {
            let chosen = body.op(if name == "min" { Op::Min } else { Op::Max }, a.ty, &values);
            let [a, b] = x[..] else { return Ok(chosen) };
            let chosen = if nan { body.or_nan(b, chosen) } else { chosen };
            return Ok(if nan { body.or_nan(a, chosen) } else { chosen });
        }
        "rcp" => {
            let one = body.float(a.element(), 1.0);
            let one = body.splat(one, a.shape());
            return Ok(body.op(Op::Div, a.ty, &[one, a.value]));
        }
        "copysign" => return Ok(copied_sign(body, x)),
        "sqrt" => return Ok(body.one(Op::Sqrt, a)),
        "rsqrt" => return function(body, Op::RsqrtApprox, a),
        "sin" => return function(body, Op::Sin, a),
        "cos" => return function(body, Op::Cos, a),
        "lg2" => return function(body, Op::Log2, a),
        "ex2" => return function(body, Op::Exp2Approx, a),
        _tanh => return function(body, Op::Tanh, a),
    };
    Ok(body.op(op, a.ty, &values))
}

/// A function that devices have for `fp32`.
fn function(body: &mut Body<'_, '_>, op: Op, x: Tensor) -> Known<Tensor> {
    let own = x.element();
    if own == Scalar::F64 {
        return Err("no device has it for `f64`".into());
    }
    let wide = body.cast(x, Scalar::F32);
    let made = body.one(op, wide);
    Ok(body.cast(made, own))
}

/// Rounded in a direction, by the operations of `libdevice` that do so.
fn directed(body: &mut Body<'_, '_>, name: &str, x: &[Tensor], direction: &str) -> Known<Tensor> {
    let towards = match direction {
        "rz" => "rz",
        "rm" => "rd",
        "rp" => "ru",
        other => return Err(format!("`.{other}` is not known there")),
    };
    let name = if name == "mad" { "fma" } else { name };
    let row = builtins::find(&format!("{name}_{towards}"));
    let Some(row) = row.filter(|_| x[0].element() == Scalar::F32) else {
        return Err(format!(
            "`.{direction}` is known for `add`, `sub`, `mul`, `fma`, `div`, `rcp` and `sqrt` of `f32`"
        ));
    };
    let span = body.b.span;
    let given = x.iter().map(|t| Placed { value: Value::Tensor(*t), span }).collect();
    match body.builtin(row, given, vec![], span) {
        Ok(Value::Tensor(made)) => Ok(made),
        Ok(_) => Err("it gives no number".into()),
        Err(error) => Err(error.message),
    }
}

/// The first number with the other's sign: PTX takes the sign from its first operand.
fn copied_sign(body: &mut Body<'_, '_>, x: &[Tensor]) -> Tensor {
    let [from, to] = x[..] else { return x[0] };
    let word = word(from.element().bits()).unwrap_or(Scalar::U32);
    let [from, bits] = [from, to].map(|x| viewed(body, x, word));
    let sign = constant(body, from, 1 << (word.bits() - 1));
    let rest = body.op(Op::Not, sign.ty, &[sign.value]);
    let sign = body.op(Op::And, from.ty, &[from.value, sign.value]);
    let size = body.op(Op::And, bits.ty, &[bits.value, rest.value]);
    let both = body.op(Op::Or, bits.ty, &[size.value, sign.value]);
    viewed(body, both, to.element())
}

/// What is below 0 becomes 0; NaN stays.
pub(super) fn not_below_zero(body: &mut Body<'_, '_>, x: Tensor) -> Tensor {
    let zero = body.float(x.element(), 0.0);
    let zero = body.splat(zero, x.shape());
    let chosen = body.op(Op::Max, x.ty, &[x.value, zero]);
    body.or_nan(x, chosen)
}

/// Brought into 0 to 1; NaN becomes 0.
pub(super) fn within_one(body: &mut Body<'_, '_>, x: Tensor) -> Tensor {
    let [zero, one] = [0.0, 1.0].map(|n| {
        let n = body.float(x.element(), n);
        body.splat(n, x.shape())
    });
    let above = body.op(Op::Max, x.ty, &[x.value, zero]);
    body.op(Op::Min, x.ty, &[above.value, one])
}
