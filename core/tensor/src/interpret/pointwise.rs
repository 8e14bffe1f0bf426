//! What operations do with single elements.
//!
//! Integers and truth values are computed by the IR's own rules ([`girih_ir::eval`]); floats are computed here, in 64 bits.

use super::Data;
use crate::attrs::Number;
use crate::ops::{Order, Reduction};
use crate::size::TensorType;
use girih_ir::{Op, Scalar, eval};
use std::ops::{Add, Div, Mul, Sub};

/// An integer of a type as it wraps; a truth value is whether the number is not 0.
pub fn wrapped(number: Number, element: Scalar) -> i128 {
    match element {
        Scalar::Bool => i128::from(number.as_float() != 0.0),
        _integer => integer(number.as_int() as u64 & element.mask(), element),
    }
}
fn integer(bits: u64, element: Scalar) -> i128 {
    if element == Scalar::Bool { bits.into() } else { eval::int_value(bits, element) }
}

/// An operation of the IR, element by element.
pub fn apply(op: Op, types: &[&TensorType], operands: &[&Data]) -> Data {
    let all = 0..operands[0].len();
    if op == Op::Select {
        let chosen = |at: usize| operands[if operands[0].get(at).as_int() != 0 { 1 } else { 2 }].get(at);
        return Data::of(types[1].element, all.map(chosen));
    }
    let element = types[0].element;
    if !element.is_float() {
        let bits = |at: usize| -> Vec<u64> {
            operands.iter().map(|data| data.get(at).as_int() as u64 & element.mask()).collect()
        };
        let gives_truth = matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge);
        let result = if gives_truth { Scalar::Bool } else { element };
        let value = |at| integer(eval::scalar(op, element, element, &bits(at)).unwrap_or(0), result);
        return Data::Integers(all.map(value).collect());
    }
    let x = |i: usize, at: usize| operands[i].get(at).as_float();
    if let Some(holds) = comparison(op) {
        return Data::Integers(all.map(|at| holds(x(0, at), x(1, at)).into()).collect());
    }
    if operands.len() == 1 {
        let f = unary(op);
        return Data::Floats(all.map(|at| f(x(0, at))).collect());
    }
    let f = binary(op);
    Data::Floats(all.map(|at| f(x(0, at), x(1, at))).collect())
}

fn comparison(op: Op) -> Option<fn(f64, f64) -> bool> {
    match op {
        Op::Eq => Some(|a, b| a == b),
        Op::Ne => Some(|a, b| a != b),
        Op::Lt => Some(|a, b| a < b),
        Op::Le => Some(|a, b| a <= b),
        Op::Gt => Some(|a, b| a > b),
        Op::Ge => Some(|a, b| a >= b),
        _no_rule => None,
    }
}

/// Functions of one float that the table names; the tests compute a sample of each row.
fn unary(op: Op) -> fn(f64) -> f64 {
    match op {
        Op::Neg => |x| -x,
        Op::Abs => f64::abs,
        Op::Floor => f64::floor,
        Op::Ceil => f64::ceil,
        Op::Round => f64::round_ties_even,
        Op::Trunc => f64::trunc,
        Op::Sqrt => f64::sqrt,
        Op::Rsqrt => |x| 1.0 / x.sqrt(),
        Op::Exp => f64::exp,
        Op::Exp2 => f64::exp2,
        Op::Log => f64::ln,
        Op::Log2 => f64::log2,
        Op::Sin => f64::sin,
        Op::Cos => f64::cos,
        Op::Tan => f64::tan,
        Op::Asin => f64::asin,
        Op::Acos => f64::acos,
        Op::Atan => f64::atan,
        Op::Tanh => f64::tanh,
        other => unreachable!("the table has no row of one float for {}", other.name()),
    }
}

fn binary(op: Op) -> fn(f64, f64) -> f64 {
    match op {
        Op::Add => f64::add,
        Op::Sub => f64::sub,
        Op::Mul => f64::mul,
        Op::Div => f64::div,
        Op::Pow => f64::powf,
        Op::Max => greater,
        Op::Min => lesser,
        Op::Atan2 => f64::atan2,
        other => unreachable!("the table has no row of two floats for {}", other.name()),
    }
}

/// The greater; NaN if one is.
fn greater(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}
/// The lesser; NaN if one is.
fn lesser(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The same numbers as another type; of floats to integers by the IR's rule.
pub fn convert(data: &Data, from: Scalar, to: Scalar) -> Data {
    let number = |at: usize| match data.get(at) {
        Number::Float(x) if !to.is_float() && to != Scalar::Bool => {
            let bits = eval::scalar(Op::Convert, to, Scalar::F64, &[x.to_bits()]).unwrap_or(0);
            Number::Int(integer(bits, to))
        }
        number => number,
    };
    debug_assert!(from.is_float() == matches!(data, Data::Floats(_)), "elements are of their type's kind");
    Data::of(to, (0..data.len()).map(number))
}

/// What elements become.
pub fn reduce(by: Reduction, all: &[Number], element: Scalar) -> Number {
    let floats = || all.iter().map(|number| number.as_float());
    let integers = || all.iter().map(|number| number.as_int());
    let best = |better: fn(f64, f64) -> bool, better_integer: fn(i128, i128) -> bool| {
        let mut best = 0;
        for at in 1..all.len() {
            let wins = match (all[at], all[best]) {
                (Number::Int(a), Number::Int(b)) => better_integer(a, b),
                (a, b) => better(a.as_float(), b.as_float()),
            };
            best = if wins { at } else { best };
        }
        Number::Int(best as i128)
    };
    match by {
        Reduction::Sum if element.is_float() => Number::Float(floats().sum()),
        Reduction::Sum => Number::Int(integers().fold(0, i128::wrapping_add)),
        Reduction::Prod if element.is_float() => Number::Float(floats().product()),
        Reduction::Prod => Number::Int(integers().fold(1, |a, b| wrapped(Number::Int(a.wrapping_mul(b)), element))),
        Reduction::Max if element.is_float() => Number::Float(floats().fold(f64::NEG_INFINITY, greater)),
        Reduction::Max => Number::Int(integers().max().unwrap_or(0)),
        Reduction::Min if element.is_float() => Number::Float(floats().fold(f64::INFINITY, lesser)),
        Reduction::Min => Number::Int(integers().min().unwrap_or(0)),
        Reduction::ArgMax => best(|a, b| a > b || (a.is_nan() && !b.is_nan()), |a, b| a > b),
        Reduction::ArgMin => best(|a, b| a < b || (a.is_nan() && !b.is_nan()), |a, b| a < b),
        Reduction::Any => Number::Int(integers().any(|x| x != 0).into()),
        Reduction::All => Number::Int(integers().all(|x| x != 0).into()),
    }
}

/// Whether a number is strictly before another one; NaN is greater than all numbers.
pub fn comes_before(order: Order, a: Number, b: Number) -> bool {
    let (low, high) = if order == Order::Up { (a, b) } else { (b, a) };
    match (low, high) {
        (Number::Int(low), Number::Int(high)) => low < high,
        (low, high) => low.as_float() < high.as_float() || (high.as_float().is_nan() && !low.as_float().is_nan()),
    }
}
