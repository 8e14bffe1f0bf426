//! Instructions of assembly on integers and predicates.
//!
//! Invariant: sums and products wrap around, unless `.sat` is said.

use super::super::body::Body;
use super::super::value::Tensor;
use super::instructions::Reading;
use super::registers::{Kind, Known, Registers, constant, parts, viewed, word};
use girih_ir::{Op, Scalar, Type};

/// How many operands a name has behind its target; none if it is not known for integers.
pub(super) fn operands(name: &str) -> Option<usize> {
    Some(match name {
        "not" | "cnot" | "abs" | "neg" | "brev" => 1,
        "add" | "sub" | "mul" | "mul24" | "div" | "rem" | "min" | "max" | "and" | "or" | "xor" => 2,
        "mad" | "mad24" | "sad" => 3,
        _others => return None,
    })
}

/// What an instruction computes from numbers of one type.
pub(super) fn compute(body: &mut Body<'_, '_>, name: &str, x: &[Tensor], reading: &Reading<'_, '_>) -> Known<Tensor> {
    let half = match name {
        "mul" | "mad" => {
            let half = reading.choice(&["lo", "hi"])?;
            half.ok_or("it does not say which half of the product is meant: `.lo`, `.hi` or `.wide`")?
        }
        "mul24" | "mad24" => reading.choice(&["lo"])?.ok_or("only the lower half of such products is known")?,
        _others => reading.choice(&[])?.unwrap_or("lo"),
    };
    let a = x[0];
    let logical = matches!(name, "and" | "or" | "xor" | "not");
    if a.element() == Scalar::Bool && !logical {
        return Err("it is not for predicates".into());
    }
    if reading.manner.sat {
        return saturated(body, name, x);
    }
    let two = |body: &mut Body<'_, '_>, op: Op, x: &[Tensor]| body.op(op, a.ty, &[x[0].value, x[1].value]);
    let low = |body: &mut Body<'_, '_>, x: &[Tensor]| {
        let [a, b] = [x[0], x[1]].map(|x| signed_low(body, x, 24));
        body.op(Op::Mul, a.ty, &[a.value, b.value])
    };
    Ok(match name {
        "add" => two(body, Op::Add, x),
        "sub" => two(body, Op::Sub, x),
        "mul" if half == "hi" => two(body, Op::MulHi, x),
        "mul" => two(body, Op::Mul, x),
        "mad" => {
            let product = two(body, if half == "hi" { Op::MulHi } else { Op::Mul }, x);
            body.op(Op::Add, a.ty, &[product.value, x[2].value])
        }
        "mul24" => low(body, x),
        "mad24" => {
            let product = low(body, x);
            body.op(Op::Add, a.ty, &[product.value, x[2].value])
        }
        "div" => two(body, Op::Div, x),
        "rem" => two(body, Op::Rem, x),
        "min" => two(body, Op::Min, x),
        "max" => two(body, Op::Max, x),
        "and" => two(body, Op::And, x),
        "or" => two(body, Op::Or, x),
        "xor" => two(body, Op::Xor, x),
        "not" => body.op(Op::Not, a.ty, &[a.value]),
        "brev" => body.op(Op::ReverseBits, a.ty, &[a.value]),
        "neg" | "cnot" => {
            let zero = constant(body, a, 0);
            if name == "neg" {
                return Ok(body.op(Op::Sub, a.ty, &[zero.value, a.value]));
            }
            let is_zero = body.op(Op::Eq, a.ty, &[a.value, zero.value]);
            body.cast(is_zero, a.element())
        }
        "abs" if a.element().is_signed() => body.op(Op::Abs, a.ty, &[a.value]),
        "abs" => a,
        // `sad`: the distance of two numbers, and a third one.
        _sad => {
            let (most, least) = (two(body, Op::Max, x), two(body, Op::Min, x));
            let apart = body.op(Op::Sub, a.ty, &[most.value, least.value]);
            body.op(Op::Add, a.ty, &[apart.value, x[2].value])
        }
    })
}

/// The low bits of a number, as a number of its type.
fn signed_low(body: &mut Body<'_, '_>, x: Tensor, bits: u32) -> Tensor {
    let by = constant(body, x, i128::from(x.element().bits() - bits));
    let up = body.op(Op::Shl, x.ty, &[x.value, by.value]);
    body.op(Op::Shr, x.ty, &[up.value, by.value])
}

/// A sum or a difference of `s32` that stays at the limits.
fn saturated(body: &mut Body<'_, '_>, name: &str, x: &[Tensor]) -> Known<Tensor> {
    let op = match name {
        "add" => Op::Add,
        "sub" => Op::Sub,
        _others => return Err("`.sat` is known for `add.s32` and `sub.s32`".into()),
    };
    let [a, b] = x[..] else { return Err("it takes two operands".into()) };
    if a.element() != Scalar::I32 {
        return Err("`.sat` is known for `add.s32` and `sub.s32`".into());
    }
    let [a, b] = [a, b].map(|x| body.cast(x, Scalar::I64));
    let made = body.op(op, a.ty, &[a.value, b.value]);
    Ok(within(body, made, Scalar::I32))
}

/// A number as one of another type, or as the nearest of its limits.
pub(super) fn within(body: &mut Body<'_, '_>, x: Tensor, to: Scalar) -> Tensor {
    let (own, limits) = (super::super::dtypes::int_range(x.element()), super::super::dtypes::int_range(to));
    let (Some((least, most)), Some((low, high))) = (own, limits) else { return body.cast(x, to) };
    let mut inside = x;
    if low > least {
        let low = constant(body, x, low);
        inside = body.op(Op::Max, x.ty, &[inside.value, low.value]);
    }
    if high < most {
        let high = constant(body, x, high);
        inside = body.op(Op::Min, x.ty, &[inside.value, high.value]);
    }
    body.cast(inside, to)
}

/// `mul.wide` and `mad.wide`: a product of twice the width.
pub(super) fn wide(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let kind = reading.kind()?;
    reading.choice(&["wide"])?;
    let twice = match kind.scalar {
        Scalar::U16 => Scalar::U32,
        Scalar::I16 => Scalar::I32,
        Scalar::U32 => Scalar::U64,
        Scalar::I32 => Scalar::I64,
        _others => return Err("products of twice the width are of 16 or of 32 bits".into()),
    };
    let (target, a, b, added) = match reading.instruction.name {
        "mul" => {
            let [target, a, b] = reading.operands()?;
            (target, a, b, None)
        }
        _mad => {
            let [target, a, b, c] = reading.operands()?;
            (target, a, b, Some(c))
        }
    };
    let mut factors = vec![];
    for name in [a, b] {
        let number = registers.numbers(body, name, kind)?[0];
        factors.push(body.cast(number, twice));
    }
    let mut made = body.op(Op::Mul, factors[0].ty, &[factors[0].value, factors[1].value]);
    if let Some(c) = added {
        let c = registers.numbers(body, c, Kind::one(twice))?[0];
        made = body.op(Op::Add, made.ty, &[made.value, c.value]);
    }
    registers.put(body, reading, target, &[made])
}

/// `dp4a.s32.u32 d, a, b, c`: four products of bytes, and c.
pub(super) fn dp4a(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let [of_a, of_b] = reading.kinds[..] else { return Err("it has the types of both operands".into()) };
    reading.choice(&[])?;
    let [target, a, b, c] = reading.operands()?;
    let signed = [of_a, of_b].map(|kind| kind.scalar == Scalar::I32);
    let out = if signed.contains(&true) { Scalar::I32 } else { Scalar::U32 };
    let mut sum = registers.numbers(body, c, Kind::one(out))?[0];
    let mut factors = vec![];
    for (name, signed) in [a, b].into_iter().zip(signed) {
        let whole = registers.bits(body, name, Kind::one(Scalar::U32))?;
        let mut numbers = vec![];
        for byte in parts(body, whole, 8) {
            let byte = if signed { viewed(body, byte, Scalar::I8) } else { byte };
            numbers.push(body.cast(byte, out));
        }
        factors.push(numbers);
    }
    for (a, b) in factors[0].iter().zip(&factors[1]) {
        sum = body.op(Op::Mad, Type::block(registers.shape, out), &[a.value, b.value, sum.value]);
    }
    let word = word(32).unwrap_or(Scalar::U32);
    let sum = viewed(body, sum, word);
    registers.put(body, reading, target, &[sum])
}
