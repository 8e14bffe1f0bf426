//! `tl.inline_asm_elementwise` where the assembly is straight-line PTX on 32 bits whose meaning every device has: it is those operations.
//!
//! Invariant: assembly with anything else in it is refused as a whole, since it means something on one vendor's cards only. Approximations are computed as
//! exactly as their operations are; numbers that are too small to be normal are kept.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Dtype, Tensor, Value};
use girih_base::diag::Code;
use girih_ir::{Op, Scalar, Shape, Type};
use std::collections::HashMap;

/// Instructions on `f32`: their names, how many operands they take, and what they compute.
const FLOATS: &[(&str, usize, Op)] = &[
    ("mov", 1, Op::Bitcast),
    ("add", 2, Op::Add),
    ("sub", 2, Op::Sub),
    ("mul", 2, Op::Mul),
    ("min", 2, Op::Min),
    ("max", 2, Op::Max),
    ("fma", 3, Op::Fma),
    ("abs", 1, Op::Abs),
    ("neg", 1, Op::Neg),
    ("rcp", 1, Op::Div),
    ("div", 2, Op::Div),
    ("tanh", 1, Op::Tanh),
    ("ex2", 1, Op::Exp2Approx),
    ("lg2", 1, Op::Log2),
    ("rsqrt", 1, Op::RsqrtApprox),
    ("sqrt", 1, Op::Sqrt),
    ("sin", 1, Op::Sin),
    ("cos", 1, Op::Cos),
];

/// Instructions on words.
const WORDS: &[(&str, usize, Op)] = &[
    ("mov", 1, Op::Bitcast),
    ("add", 2, Op::Add),
    ("sub", 2, Op::Sub),
    ("min", 2, Op::Min),
    ("max", 2, Op::Max),
    ("and", 2, Op::And),
    ("or", 2, Op::Or),
    ("xor", 2, Op::Xor),
    ("not", 1, Op::Not),
];

/// What `setp` compares by.
const COMPARISONS: &[(&str, Op)] = &[("eq", Op::Eq), ("lt", Op::Lt), ("le", Op::Le), ("gt", Op::Gt), ("ge", Op::Ge)];

/// An instruction.
struct Line<'t> {
    /// The register that says where it is done, and the value that it must have.
    predicate: Option<(&'t str, bool)>,
    /// Its name, without what says how it rounds.
    name: &'t str,
    /// What it compares by.
    comparison: Option<Op>,
    scalar: Scalar,
    operands: Vec<&'t str>,
}

/// The type that an instruction's last suffix names.
fn suffix(text: &str) -> Option<Scalar> {
    Some(match text {
        "f32" => Scalar::F32,
        "b32" | "u32" => Scalar::U32,
        "s32" => Scalar::I32,
        _ => return None,
    })
}

/// The instructions of a text; none if there is something else in it.
fn lines(text: &str) -> Option<Vec<Line<'_>>> {
    let mut found = vec![];
    for line in text.split([';', '{', '}', '\n']).map(str::trim).filter(|line| !line.is_empty()) {
        let (predicate, rest) = match line.strip_prefix('@') {
            Some(rest) => {
                let (register, rest) = rest.split_once(char::is_whitespace)?;
                let holds = !register.starts_with('!');
                (Some((register.trim_start_matches('!'), holds)), rest.trim())
            }
            None => (None, line),
        };
        let (name, operands) = rest.split_once(char::is_whitespace)?;
        // Registers need not be declared here.
        if name == ".reg" {
            continue;
        }
        let mut parts = name.split('.');
        let (name, scalar) = (parts.next()?, suffix(parts.next_back()?)?);
        let mut comparison = None;
        for modifier in parts {
            match modifier {
                "approx" | "ftz" | "rn" => {}
                other if name == "setp" => {
                    comparison = Some(COMPARISONS.iter().find(|(known, _)| *known == other)?.1);
                }
                _ => return None,
            }
        }
        found.push(Line {
            predicate,
            name,
            comparison,
            scalar,
            operands: operands.split(',').map(str::trim).collect(),
        });
    }
    Some(found)
}

/// The bits of a number that is written out.
fn literal(text: &str, scalar: Scalar) -> Option<u64> {
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok().map(u64::from);
    if let Some(digits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        return hexadecimal(digits).filter(|_| digits.len() == 8);
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(digits);
    }
    if scalar.is_float() {
        return text.parse().ok().map(|x: f64| girih_ir::eval::narrow(x, scalar));
    }
    text.parse().ok().map(|n: i64| n as u64 & scalar.mask())
}

/// Assembly that is being read: what its registers hold, as tiles of one shape.
struct Registers<'t> {
    values: HashMap<&'t str, Tensor>,
    shape: Option<Shape>,
}

impl<'t> Registers<'t> {
    /// An operand as such a number.
    fn read(&self, body: &mut Body<'_, '_>, operand: &str, scalar: Scalar) -> Option<Tensor> {
        let ty = Type::block(self.shape, scalar);
        match self.values.get(operand) {
            Some(value) if value.ty == ty => Some(*value),
            Some(value) if value.element().bits() == 32 => Some(body.op(Op::Bitcast, ty, &[value.value])),
            // Predicates are no numbers.
            Some(_) => None,
            None => {
                let bits = literal(operand, scalar)?;
                let number = body.b.constant(scalar, bits);
                Some(Tensor { value: body.splat(number, self.shape), ty })
            }
        }
    }

    /// What an instruction computes.
    fn compute(&self, body: &mut Body<'_, '_>, line: &Line<'t>) -> Option<Tensor> {
        let ty = Type::block(self.shape, line.scalar);
        let numbers = |body: &mut Body<'_, '_>, count: usize| {
            let given = line.operands.get(1..).filter(|given| given.len() == count)?;
            given.iter().map(|operand| self.read(body, operand, line.scalar)).collect::<Option<Vec<Tensor>>>()
        };
        if line.name == "setp" {
            let given = numbers(body, 2)?;
            return Some(body.op(line.comparison?, ty, &[given[0].value, given[1].value]));
        }
        if line.name == "selp" {
            let [_, a, b, predicate] = line.operands[..] else { return None };
            let (a, b) = (self.read(body, a, line.scalar)?, self.read(body, b, line.scalar)?);
            let predicate = self.values.get(predicate).filter(|p| p.element() == Scalar::Bool)?;
            return Some(body.pick(*predicate, a, b));
        }
        let table = if line.scalar.is_float() { FLOATS } else { WORDS };
        let (_, count, op) = table.iter().find(|(name, ..)| *name == line.name)?;
        let mut given = numbers(body, *count)?;
        match (line.name, &given[..]) {
            ("mov", [only]) => return Some(*only),
            ("rcp", _) => given.insert(0, body.like(given[0], 1.0)),
            (_, [only]) if line.scalar.is_float() => return Some(body.one(*op, *only)),
            _ => {}
        }
        let values: Vec<_> = given.iter().map(|t| t.value).collect();
        Some(body.op(*op, ty, &values))
    }

    /// Does what an instruction says.
    fn step(&mut self, body: &mut Body<'_, '_>, line: &Line<'t>) -> Option<()> {
        let mut value = self.compute(body, line)?;
        let target = *line.operands.first()?;
        if let Some((register, holds)) = line.predicate {
            let predicate = *self.values.get(register).filter(|p| p.element() == Scalar::Bool)?;
            // What a register holds before anything is written to it is left open.
            if let Some(before) = self.values.get(target).copied() {
                let before =
                    if before.ty == value.ty { before } else { body.op(Op::Bitcast, value.ty, &[before.value]) };
                value = if holds { body.pick(predicate, value, before) } else { body.pick(predicate, before, value) };
            }
        }
        self.values.insert(target, value);
        Some(())
    }
}

/// The names of operands, in order.
const OPERANDS: [&str; 10] = ["$0", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9"];

/// Reads assembly; none if it says something that not every device can do.
fn translate(
    body: &mut Body<'_, '_>,
    text: &str,
    given: &[Tensor],
    results: &[Scalar],
    shape: Option<Shape>,
) -> Option<Vec<Tensor>> {
    let lines = lines(text).filter(|lines| !lines.is_empty())?;
    let mut registers = Registers { values: HashMap::new(), shape };
    for (name, value) in OPERANDS.iter().skip(results.len()).zip(given) {
        registers.values.insert(name, *value);
    }
    for line in &lines {
        registers.step(body, line)?;
    }
    let outputs = OPERANDS.iter().zip(results);
    outputs.map(|(name, scalar)| registers.values.get(name).and_then(|_| registers.read(body, name, *scalar))).collect()
}

/// `tl.inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack)`.
pub(super) fn inline(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let hint = "straight-line PTX on 32 bits is known, such as `ex2.approx.f32 $0, $1;`";
    let text = a.value(0).to_string();
    let scalar = |value: &Value| match value {
        Value::Dtype(Dtype { scalar, pointer: false, shape: None }) if scalar.bits() == 32 => Some(*scalar),
        _other => None,
    };
    let (results, is_single) = match a.value(3) {
        Value::Tuple(items) => (items.iter().map(scalar).collect::<Option<Vec<Scalar>>>(), false),
        one => (scalar(one).map(|one| vec![one]), true),
    };
    let (mut given, mut shape) = (vec![], None);
    for item in body.iterate(a.value(2).clone(), a.span(2))? {
        let tensor = body.tensor(&item, a.span(2))?;
        shape = body.common_shape(shape, tensor.shape(), a.call)?;
        given.push(tensor);
    }
    let given: Vec<Tensor> = given.into_iter().map(|tensor| body.broadcast_tensor(tensor, shape)).collect();
    let is_known = matches!(a.value(5), Value::Int(1)) && given.iter().all(|tensor| tensor.element().bits() == 32);
    let made = results.filter(|_| is_known).and_then(|results| translate(body, &text, &given, &results, shape));
    let Some(made) = made else {
        let message = format!("`inline_asm_elementwise` is not available for the assembly `{}`", text.trim());
        return body.fail(Code::KernelRefused, a.span(0), message, hint);
    };
    let mut values: Vec<Value> = made.into_iter().map(Value::Tensor).collect();
    Ok(if is_single { values.pop().unwrap_or(Value::None) } else { Value::Tuple(values) })
}
