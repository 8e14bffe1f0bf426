//! `tl.inline_asm_elementwise` where the assembly is one instruction of PTX whose meaning every device has: it is that operation.
//!
//! Other assembly is refused by name: it means something on one vendor's cards only.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Dtype, Tensor, Value};
use girih_base::diag::Code;
use girih_ir::{Op, Scalar};

/// Instructions on `f32`, without what says how they round, and what they compute. Approximations are computed as exactly as their operations are.
const INSTRUCTIONS: &[(&str, usize, Op)] = &[
    ("add", 2, Op::Add),
    ("sub", 2, Op::Sub),
    ("mul", 2, Op::Mul),
    ("min", 2, Op::Min),
    ("max", 2, Op::Max),
    ("fma", 3, Op::Fma),
    ("abs", 1, Op::Abs),
    ("neg", 1, Op::Neg),
    ("tanh", 1, Op::Tanh),
    ("ex2", 1, Op::Exp2Approx),
    ("lg2", 1, Op::Log2),
    ("rsqrt", 1, Op::RsqrtApprox),
    ("sqrt", 1, Op::Sqrt),
    ("sin", 1, Op::Sin),
    ("cos", 1, Op::Cos),
];

/// What a text says, if it is one instruction that is known: the operation, and which operands it takes, in order.
fn instruction(text: &str) -> Option<(Op, Vec<usize>)> {
    let text = text.trim().trim_start_matches('{').trim_end_matches('}').trim().trim_end_matches(';');
    let (name, operands) = text.split_once(char::is_whitespace)?;
    let mut parts = name.split('.');
    let base = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let (last, modifiers) = rest.split_last()?;
    if *last != "f32" || !modifiers.iter().all(|m| matches!(*m, "approx" | "ftz" | "rn")) {
        return None;
    }
    let (_, count, op) = INSTRUCTIONS.iter().find(|(known, ..)| *known == base)?;
    let numbers: Option<Vec<usize>> = operands.split(',').map(|o| o.trim().strip_prefix('$')?.parse().ok()).collect();
    let numbers = numbers?;
    let (result, taken) = numbers.split_first()?;
    (*result == 0 && taken.len() == *count && !taken.contains(&0)).then(|| (*op, taken.to_vec()))
}

/// `tl.inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack)`.
pub(super) fn inline(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let hint = "single instructions of PTX on `f32` are known, such as `ex2.approx.f32 $0, $1;`";
    let text = a.value(0).to_string();
    let is_single = matches!(a.value(3), Value::Dtype(Dtype { scalar: Scalar::F32, pointer: false, shape: None }));
    let (Some((op, taken)), true, Value::Int(1)) = (instruction(&text), is_single, a.value(5)) else {
        let message = format!("`inline_asm_elementwise` is not available for the assembly `{}`", text.trim());
        return body.fail(Code::KernelRefused, a.span(0), message, hint);
    };
    let mut given: Vec<Tensor> = vec![];
    for item in body.iterate(a.value(2).clone(), a.span(2))? {
        let tensor = body.tensor(&item, a.span(2))?;
        if tensor.element() != Scalar::F32 {
            return body.fail(
                Code::KernelType,
                a.span(2),
                format!("`f32` is needed here, not {}", item.kind()),
                item.hint(),
            );
        }
        given.push(tensor);
    }
    let mut shape = None;
    for tensor in &given {
        shape = body.common_shape(shape, tensor.shape(), a.call)?;
    }
    let operands: Option<Vec<Tensor>> = taken.iter().map(|i| given.get(i - 1).copied()).collect();
    let Some(operands) = operands else {
        return body.fail(Code::KernelArgument, a.span(2), "the assembly takes more operands than are given", "");
    };
    let operands: Vec<Tensor> = operands.into_iter().map(|t| body.broadcast_tensor(t, shape)).collect();
    if let [only] = operands[..] {
        return Ok(Value::Tensor(body.one(op, only)));
    }
    let values: Vec<_> = operands.iter().map(|t| t.value).collect();
    Ok(Value::Tensor(body.op(op, operands[0].ty, &values)))
}
