//! `cvt`: conversions of registers, also to and from two numbers side by side.
//!
//! Invariant: a number is rounded once. Floats outside of an integer type's range become its nearest limit, and NaN becomes 0.

use super::super::body::Body;
use super::super::shape::toward_zero;
use super::super::value::Tensor;
use super::floats::{not_below_zero, within_one};
use super::instructions::{Manner, Reading};
use super::integers::within;
use super::registers::{Kind, Known, Registers, constant, lanes, viewed, word};
use girih_ir::{Op, Scalar};

/// `cvt`.
pub(super) fn cvt(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    if reading.manner.own == ["tf32"] && reading.kinds == [Kind::one(Scalar::F32)] {
        return to_tf32(registers, body, reading);
    }
    if reading.manner.own == ["e2m1x2"] {
        return match reading.kinds[..] {
            [Kind { scalar: Scalar::F32, lanes: 1 }] => to_four_bits(registers, body, reading),
            [Kind { scalar: Scalar::F16, lanes: 2 }] => of_four_bits(registers, body, reading),
            _ => Err("`e2m1x2` is made of two `f32`, and becomes `f16x2`".into()),
        };
    }
    reading.choice(&[])?;
    let [to, from] = reading.kinds[..] else {
        return Err("it has the type of its result and that of its operand".into());
    };
    if to.scalar == Scalar::Bool || from.scalar == Scalar::Bool {
        return Err("predicates are not converted; `selp` chooses by them".into());
    }
    let mut sources = vec![];
    let target = match (to.lanes, from.lanes) {
        (2, 1) => {
            // The first operand becomes the upper number.
            let [target, high, low] = reading.operands()?;
            for name in [low, high] {
                sources.push(registers.numbers(body, name, from)?[0]);
            }
            target
        }
        (a, b) if a == b => {
            let [target, operand] = reading.operands()?;
            let whole = registers.low_bits(body, operand, from)?;
            sources = lanes(body, whole, from);
            target
        }
        _others => return Err("two numbers do not become one".into()),
    };
    let mut made = vec![];
    for x in sources {
        made.push(converted(body, x, to.scalar, &reading.manner)?);
    }
    // A result that is narrower than its register is extended.
    if let ([x], Some(bits)) = (&mut made[..], registers.width(target))
        && bits > to.bits()
        && !to.scalar.is_float()
    {
        let wide = match to.scalar.is_signed() {
            true if bits == 64 => Some(Scalar::I64),
            true if bits == 32 => Some(Scalar::I32),
            true => Some(Scalar::I16),
            false => word(bits),
        };
        *x = body.cast(*x, wide.unwrap_or(to.scalar));
    }
    registers.put(body, reading, target, &made)
}

/// A number in another type.
fn converted(body: &mut Body<'_, '_>, x: Tensor, to: Scalar, manner: &Manner<'_>) -> Known<Tensor> {
    let from = x.element();
    let whole = match manner.rounding {
        Some("rni") => Some(Op::Round),
        Some("rzi") => Some(Op::Trunc),
        Some("rmi") => Some(Op::Floor),
        Some("rpi") => Some(Op::Ceil),
        _others => None,
    };
    match (from.is_float(), to.is_float()) {
        (false, false) => return Ok(if manner.sat { within(body, x, to) } else { body.cast(x, to) }),
        (false, true) => {
            return match manner.rounding {
                None => Ok(body.cast(x, to)),
                Some(direction) => Err(format!("integers are rounded to the nearest float, not by `.{direction}`")),
            };
        }
        (true, false) => {
            let whole = whole.ok_or("it says how it rounds to an integer: `.rni`, `.rzi`, `.rmi` or `.rpi`")?;
            let wide = if from.bits() < 32 { body.cast(x, Scalar::F32) } else { x };
            let rounded = body.op(whole, wide.ty, &[wide.value]);
            return Ok(body.cast(rounded, to));
        }
        (true, true) => {}
    }
    if from.bits() == to.bits() && from != to {
        return Err(format!("`{}` does not become `{}`", from.name(), to.name()));
    }
    if to.bits() == 8 && !manner.finite {
        return Err("floats of 8 bits have no infinity for what is too large: `.satfinite` is missing".into());
    }
    let made = match (manner.rounding, whole) {
        (_, Some(whole)) => {
            let wide = if x.element().bits() < 32 { body.cast(x, Scalar::F32) } else { x };
            let rounded = body.op(whole, wide.ty, &[wide.value]);
            body.cast(rounded, to)
        }
        (None, None) => body.cast(x, to),
        (Some("rz"), None) if to.bits() < from.bits() => toward_zero(body, x, to),
        (Some(direction), None) => return Err(format!("floats are rounded by `.rn` and `.rz`, not by `.{direction}`")),
    };
    let made = if manner.relu { not_below_zero_of(body, made) } else { made };
    let made = if manner.finite && to.bits() > 8 { finite(body, made) } else { made };
    Ok(if manner.sat { within_one(body, made) } else { made })
}

/// What is too large becomes the largest number of the type; NaN stays.
fn finite(body: &mut Body<'_, '_>, x: Tensor) -> Tensor {
    let infinity = girih_ir::eval::narrow(f64::INFINITY, x.element());
    let most = girih_ir::eval::widen(infinity - 1, x.element());
    let [least, most] = [-most, most].map(|n| {
        let n = body.float(x.element(), n);
        body.splat(n, x.shape())
    });
    let above = body.op(Op::Max, x.ty, &[x.value, least]);
    let inside = body.op(Op::Min, x.ty, &[above.value, most]);
    body.or_nan(x, inside)
}

/// 8-bit floats have no arithmetic: what is below 0 is found by its sign.
fn not_below_zero_of(body: &mut Body<'_, '_>, x: Tensor) -> Tensor {
    if x.element().bits() > 8 {
        return not_below_zero(body, x);
    }
    let wide = body.cast(x, Scalar::F16);
    let chosen = not_below_zero(body, wide);
    body.cast(chosen, x.element())
}

/// Where the sizes of numbers of 4 bits (0, 0.5, 1, 1.5, 2, 3, 4 and 6) meet, and whether what is just there belongs to the upper one: the even one.
const BORDERS: [(f64, bool); 7] =
    [(0.25, false), (0.75, true), (1.25, false), (1.75, true), (2.5, false), (3.5, true), (5.0, false)];

/// `cvt.rn.satfinite.e2m1x2.f32 d, a, b`: two numbers of 4 bits in a byte, of which b is the lower one; NaN becomes 6.
fn to_four_bits(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    if !reading.manner.finite || reading.manner.rounding.is_some() {
        return Err("numbers of 4 bits are made by `.rn.satfinite`".into());
    }
    let [target, high, low] = reading.operands()?;
    let mut codes = vec![];
    for name in [low, high] {
        let x = registers.numbers(body, name, Kind::one(Scalar::F32))?[0];
        let x = if reading.manner.relu { not_below_zero(body, x) } else { x };
        let size = body.op(Op::Abs, x.ty, &[x.value]);
        let bits = viewed(body, x, Scalar::U32);
        let (place, eight) = (constant(body, bits, 28), constant(body, bits, 8));
        let sign = body.op(Op::Shr, bits.ty, &[bits.value, place.value]);
        let mut code = body.op(Op::And, bits.ty, &[sign.value, eight.value]);
        for (border, belongs) in BORDERS {
            let border = body.float(Scalar::F32, border);
            let border = body.splat(border, x.shape());
            let above = body.op(if belongs { Op::Ge } else { Op::Gt }, x.ty, &[size.value, border]);
            let step = body.cast(above, Scalar::U32);
            code = body.op(Op::Add, code.ty, &[code.value, step.value]);
        }
        let is_nan = body.op(Op::Ne, x.ty, &[x.value, x.value]);
        let seven = constant(body, code, 7);
        codes.push(body.pick(is_nan, seven, code));
    }
    let four = constant(body, codes[0], 4);
    let upper = body.op(Op::Shl, codes[1].ty, &[codes[1].value, four.value]);
    let both = body.op(Op::Or, upper.ty, &[codes[0].value, upper.value]);
    let byte = body.cast(both, Scalar::U8);
    registers.put(body, reading, target, &[byte])
}

/// `cvt.rn.f16x2.e2m1x2 d, a`.
fn of_four_bits(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let [target, operand] = reading.operands()?;
    let byte = registers.low_bits(body, operand, Kind::one(Scalar::U8))?;
    let whole = body.cast(byte, Scalar::U32);
    let mut made = vec![];
    for place in [0, 4] {
        let place = constant(body, whole, place);
        let code = body.op(Op::Shr, whole.ty, &[whole.value, place.value]);
        made.push(half_of_code(body, code));
    }
    registers.put(body, reading, target, &made)
}

/// The bits of the `fp16` that the lowest four bits mean: a sign, two bits of exponent, one behind the point.
fn half_of_code(body: &mut Body<'_, '_>, code: Tensor) -> Tensor {
    let part = |body: &mut Body<'_, '_>, by: i128, mask: i128| {
        let (by, mask) = (constant(body, code, by), constant(body, code, mask));
        let moved = body.op(Op::Shr, code.ty, &[code.value, by.value]);
        body.op(Op::And, code.ty, &[moved.value, mask.value])
    };
    let placed = |body: &mut Body<'_, '_>, x: Tensor, by: i128| {
        let by = constant(body, x, by);
        body.op(Op::Shl, x.ty, &[x.value, by.value])
    };
    let (sign, exponent, fraction) = (part(body, 3, 1), part(body, 1, 3), part(body, 0, 1));
    // The exponent 1 of these means 1, for which `fp16` has 15.
    let bias = constant(body, exponent, 14);
    let power = body.op(Op::Add, exponent.ty, &[exponent.value, bias.value]);
    let (power, upper) = (placed(body, power, 10), placed(body, fraction, 9));
    let normal = body.op(Op::Or, power.ty, &[power.value, upper.value]);
    // The exponent 0 means 0 or 0.5.
    let half = constant(body, fraction, 0x3800);
    let small = body.op(Op::Mul, half.ty, &[fraction.value, half.value]);
    let zero = constant(body, exponent, 0);
    let is_small = body.op(Op::Eq, exponent.ty, &[exponent.value, zero.value]);
    let size = body.pick(is_small, small, normal);
    let sign = placed(body, sign, 15);
    let bits = body.op(Op::Or, size.ty, &[size.value, sign.value]);
    body.cast(bits, Scalar::U16)
}

/// `cvt.rna.tf32.f32`: 10 bits behind the point, halves away from zero, or to the even neighbour by `.rn`.
fn to_tf32(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let [target, operand] = reading.operands()?;
    let x = registers.numbers(body, operand, Kind::one(Scalar::F32))?[0];
    let bits = viewed(body, x, Scalar::U32);
    let half = match reading.manner.rounding {
        Some("rna") => constant(body, bits, 0x1000),
        None => {
            let (by, one) = (constant(body, bits, 13), constant(body, bits, 1));
            let last = body.op(Op::Shr, bits.ty, &[bits.value, by.value]);
            let last = body.op(Op::And, bits.ty, &[last.value, one.value]);
            let below = constant(body, bits, 0xfff);
            body.op(Op::Add, bits.ty, &[last.value, below.value])
        }
        Some(direction) => return Err(format!("`tf32` is rounded by `.rna` and `.rn`, not by `.{direction}`")),
    };
    let sum = body.op(Op::Add, bits.ty, &[bits.value, half.value]);
    let kept = constant(body, bits, 0xffff_e000);
    let rounded = body.op(Op::And, bits.ty, &[sum.value, kept.value]);
    // Infinities and NaN stay.
    let size = body.op(Op::Abs, x.ty, &[x.value]);
    let limit = body.float(Scalar::F32, f64::INFINITY);
    let limit = body.splat(limit, x.shape());
    let is_finite = body.op(Op::Lt, x.ty, &[size.value, limit]);
    let made = body.pick(is_finite, rounded, bits);
    registers.put(body, reading, target, &[made])
}
