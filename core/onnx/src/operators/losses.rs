//! Losses: the logarithm that a class has, with weights and classes that do not count.

use super::quantize::everywhere;
use crate::call::Call;
use crate::error::operator;
use girih_ir::Scalar;
use girih_tensor::{Made, NodeId, Op};

type Given = Made<Vec<NodeId>>;

pub fn negative_log_likelihood(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    Ok(vec![chosen(call, x)?])
}
pub fn softmax_cross_entropy(call: &mut Call<'_, '_>) -> Given {
    let x = call.input(0)?;
    let log = call.along(Op::LogSoftmax, x, &[1])?;
    Ok(vec![chosen(call, log)?, log])
}
/// Less the logarithms [n, classes, ..] of the classes [n, ..], weighted and reduced.
fn chosen(call: &mut Call<'_, '_>, logs: NodeId) -> Made<NodeId> {
    let (target, weights) = (call.input(1)?, call.optional(2));
    let ignored = if call.has("ignore_index") { Some(call.int("ignore_index", -1)?) } else { None };
    let reduction = call.text("reduction", "mean")?;
    let element = call.kind(logs);
    let lengths = call.lengths(target);
    let all: Vec<u64> = (0..lengths.len() as u64).collect();
    let target = call.convert(target, Scalar::I64)?;
    let zero = call.number(target, 0.0)?;
    // A class that does not count may be none that exists.
    let counts = match ignored {
        Some(ignored) => {
            let ignored = call.number(target, ignored as f64)?;
            Some(call.op(Op::Ne, &[target, ignored])?)
        }
        None => None,
    };
    let class = match counts {
        Some(counts) => call.op(Op::Where, &[counts, target, zero])?,
        None => target,
    };
    if lengths.is_empty() || call.rank(logs) != lengths.len() + 1 {
        return Err(operator(format!(
            "it takes [n, classes, ..] and [n, ..], and is given {} and {}",
            call.ty(logs),
            call.ty(target)
        )));
    }
    let mut kept = lengths.clone();
    kept.insert(1, 1);
    let place = call.shaped(class, &kept)?;
    let log = call.at_axis(Op::Gather, &[logs, place], 1)?;
    let log = call.shaped(log, &lengths)?;
    let mut loss = call.op(Op::Neg, &[log])?;
    let count: u64 = lengths.iter().product();
    let mut weight = match weights {
        Some(weights) => {
            let flat = call.shaped(class, &[count])?;
            let weight = call.at_axis(Op::IndexSelect, &[weights, flat], 0)?;
            call.shaped(weight, &lengths)?
        }
        None => everywhere(call, element, &lengths, 1.0)?,
    };
    if let Some(counts) = counts {
        let none = call.number(weight, 0.0)?;
        weight = call.op(Op::Where, &[counts, weight, none])?;
    }
    loss = call.op(Op::Mul, &[loss, weight])?;
    match reduction.as_str() {
        "none" => Ok(loss),
        "sum" => call.along(Op::Sum, loss, &all),
        "mean" => {
            let (sum, weights) = (call.along(Op::Sum, loss, &all)?, call.along(Op::Sum, weight, &all)?);
            call.op(Op::Div, &[sum, weights])
        }
        other => Err(operator(format!("its reduction `{other}` is not there"))),
    }
}
