//! Functions of numbers, positions of programs, and what is said of a running kernel.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Tensor, Value};
use crate::python::ast::{BinaryOp, CompareOp, UnaryOp};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::attrs::Dim;
use girih_ir::{Attr, AttrKind, Def, Inst, Op, Scalar, Type};

fn position(body: &mut Body<'_, '_>, a: &Arguments, op: Op) -> Made<Value> {
    let axis = body.constant_int(a.value(0), "the axis of a grid", a.span(0))?;
    let Some(dim) = usize::try_from(axis).ok().and_then(|axis| Dim::ALL.get(axis).copied()) else {
        return body.fail(
            Code::KernelArgument,
            a.span(0),
            format!("a grid has no axis {axis}"),
            "its axes are 0, 1 and 2",
        );
    };
    let value = body.b.position(op, dim);
    let tensor = Tensor { value, ty: Type::U32 };
    Ok(Value::Tensor(body.cast(tensor, Scalar::I32)))
}

/// `tl.program_id(axis)`.
pub(super) fn program_id(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    position(body, a, Op::WorkgroupId)
}
/// `tl.num_programs(axis)`.
pub(super) fn num_programs(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    position(body, a, Op::NumWorkgroups)
}

/// A function of floats: integers become `f32`, short floats are computed in `f32` and rounded.
pub(super) fn float(body: &mut Body<'_, '_>, op: Op, x: Tensor, span: Span) -> Made<Tensor> {
    let x = if x.element().is_float() { x } else { body.cast(x, Scalar::F32) };
    let element = x.element();
    if element == Scalar::F64 && !matches!(op, Op::Sqrt | Op::Floor | Op::Ceil | Op::Trunc | Op::Round) {
        let exact = op.row().approximates.unwrap_or(op);
        let message = format!("no device has `{}` for `fp64`: it is computed in `fp32`", exact.name());
        return body.fail(Code::KernelRefused, span, message, "convert to `tl.float32`");
    }
    if element.bits() >= 32 {
        return Ok(body.one(op, x));
    }
    let wide = body.cast(x, Scalar::F32);
    let made = body.one(op, wide);
    Ok(body.cast(made, element))
}

/// `tl.where(condition, x, y)`.
pub(super) fn choose(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let condition = a.tensor(body, 0)?;
    let condition = body.cast(condition, Scalar::Bool);
    if let (Value::Pointer(x), Value::Pointer(y)) = (a.value(1), a.value(2)) {
        return choose_pointer(body, condition, (*x, *y), a.call);
    }
    let (x, y) = if a.value(1).is_constant() && a.value(2).is_constant() {
        let (x, y) = (a.tensor(body, 1)?, a.tensor(body, 2)?);
        body.meet(&Value::Tensor(x), &Value::Tensor(y), false, a.call)?
    } else {
        body.meet(a.value(1), a.value(2), false, a.call)?
    };
    let (condition, x) = body.broadcast_together(condition, x, a.call)?;
    let y = body.broadcast_tensor(y, x.shape());
    Ok(Value::Tensor(body.op(Op::Select, x.ty, &[condition.value, x.value, y.value])))
}

fn choose_pointer(
    body: &mut Body<'_, '_>,
    condition: Tensor,
    (x, y): (super::pointer::Pointer, super::pointer::Pointer),
    span: Span,
) -> Made<Value> {
    let buffers = body.common_buffers(&x, &y, span)?;
    let index = |body: &mut Body<'_, '_>, p: &super::pointer::Pointer| {
        let value = body.wide_index(p);
        Tensor { value, ty: body.b.ty(value) }
    };
    let (i, j) = (index(body, &x), index(body, &y));
    let (i, j) = body.broadcast_together(i, j, span)?;
    let (condition, i) = body.broadcast_together(condition, i, span)?;
    let j = body.broadcast_tensor(j, i.shape());
    let chosen = body.op(Op::Select, i.ty, &[condition.value, i.value, j.value]);
    let pointer = super::pointer::Pointer { index: Some(chosen.value), shape: i.shape(), ..x };
    let whole = |pointer: super::pointer::Pointer| super::pointer::Pointer { shape: i.shape(), ..pointer };
    let both = body.among(whole(x), buffers, true).zip(body.among(whole(y), buffers, true));
    let which = both.and_then(|(x, y)| x.which.zip(y.which));
    let which =
        which.map(|(x, y)| body.b.op(Op::Select, Type::block(i.shape(), Scalar::I32), &[condition.value, x, y]));
    Ok(Value::Pointer(super::pointer::Pointer { buffers, which, ..pointer }))
}

/// `tl.abs(x)`.
pub(super) fn abs(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    match a.value(0) {
        Value::Int(n) => return Ok(Value::Int(n.wrapping_abs())),
        Value::Float(x) => return Ok(Value::Float(x.abs())),
        _of_the_device => {}
    }
    let x = a.tensor(body, 0)?;
    let x = body.computable(x);
    let signed = x.element().is_float() || x.element().is_signed();
    Ok(Value::Tensor(if signed { body.op(Op::Abs, x.ty, &[x.value]) } else { x }))
}

/// `tl.fma(x, y, z)`.
pub(super) fn fma(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = body.meet(a.value(0), a.value(1), false, a.call)?;
    let (x, z) = body.meet(&Value::Tensor(x), a.value(2), false, a.call)?;
    let (x, z) = (body.computable(x), body.computable(z));
    let y = body.cast(y, x.element());
    let y = body.broadcast_tensor(y, x.shape());
    if !x.element().is_float() {
        return Ok(Value::Tensor(body.op(Op::Mad, x.ty, &[x.value, y.value, z.value])));
    }
    Ok(Value::Tensor(body.op(Op::Fma, x.ty, &[x.value, y.value, z.value])))
}

/// `tl.umulhi(x, y)`.
pub(super) fn umulhi(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = body.meet(a.value(0), a.value(1), false, a.call)?;
    if x.element().is_float() {
        return body.fail(Code::KernelType, a.call, "`umulhi` is for integers", "");
    }
    let bits = x.element().as_bits();
    let (x, y) = (body.cast(x, bits), body.cast(y, bits));
    Ok(Value::Tensor(body.op(Op::MulHi, x.ty, &[x.value, y.value])))
}

/// `libdevice.mulhi(x, y)`: signed, if the operands are.
pub(super) fn mulhi(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = body.meet(a.value(0), a.value(1), false, a.call)?;
    if x.element().is_float() {
        return body.fail(Code::KernelType, a.call, "`mulhi` is for integers", "");
    }
    Ok(Value::Tensor(body.two(Op::MulHi, x, y)))
}

/// `tl.add(x, y)`.
pub(super) fn add(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.binary(BinaryOp::Add, a.value(0), a.value(1), a.call)
}
/// `tl.sub(x, y)`.
pub(super) fn subtract(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.binary(BinaryOp::Sub, a.value(0), a.value(1), a.call)
}
/// `tl.mul(x, y)`.
pub(super) fn multiply(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.binary(BinaryOp::Mul, a.value(0), a.value(1), a.call)
}
/// `x.logical_not()`.
pub(super) fn logical_not(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.unary(UnaryOp::Not, a.value(0), a.call)
}

/// A function of an integer's bits.
fn of_bits(body: &mut Body<'_, '_>, a: &Arguments, op: Op) -> Made<Tensor> {
    let x = a.tensor(body, 0)?;
    if x.element().is_float() {
        let message = format!("`{}` is for integers, not for {}", op.name(), a.value(0).kind());
        return body.fail(Code::KernelType, a.span(0), message, "");
    }
    let x = if x.element().bits() < 32 { body.cast(x, Scalar::I32) } else { x };
    Ok(body.op(op, x.ty, &[x.value]))
}
/// `libdevice.clz(x)`.
pub(super) fn clz(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let count = of_bits(body, a, Op::Clz)?;
    Ok(Value::Tensor(body.cast(count, Scalar::I32)))
}
/// `libdevice.popc(x)`.
pub(super) fn popc(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let count = of_bits(body, a, Op::Popc)?;
    Ok(Value::Tensor(body.cast(count, Scalar::I32)))
}
/// `libdevice.brev(x)`.
pub(super) fn brev(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    of_bits(body, a, Op::ReverseBits).map(Value::Tensor)
}

/// `tl.extra.cuda.num_warps()`.
pub(super) fn num_warps(body: &mut Body<'_, '_>, _a: &Arguments) -> Made<Value> {
    Ok(Value::Int(i128::from(body.module.warps)))
}
/// `tl.extra.cuda.num_threads()`.
pub(super) fn num_threads(body: &mut Body<'_, '_>, _a: &Arguments) -> Made<Value> {
    Ok(Value::Int(i128::from(32 * body.module.warps)))
}

/// `tl.fdiv(x, y)`.
pub(super) fn divide(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.binary(BinaryOp::Div, a.value(0), a.value(1), a.call)
}

/// `tl.div_rn(x, y)`: correctly rounded.
pub(super) fn divide_exactly(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let quotient = divide(body, a)?;
    if let Value::Tensor(t) = &quotient
        && let Def::Result(id, _) = body.b.function.values[t.value].def
    {
        let inst = &mut body.b.function.insts[id];
        if inst.op == Op::DivApprox {
            inst.op = Op::Div;
            inst.remove(AttrKind::Total);
        }
    }
    Ok(quotient)
}

/// An operation of two floats, computed in `f32`.
fn two_floats(body: &mut Body<'_, '_>, op: Op, a: &Arguments) -> Made<Value> {
    let (x, y) = body.meet(a.value(0), a.value(1), true, a.call)?;
    if x.element() == Scalar::F64 {
        return body.fail(
            Code::KernelRefused,
            a.call,
            format!("no device has `{}` for `fp64`: it is computed in `fp32`", op.name()),
            "convert to `tl.float32`",
        );
    }
    let (x, y) = (body.cast(x, Scalar::F32), body.cast(y, Scalar::F32));
    Ok(Value::Tensor(body.op(op, x.ty, &[x.value, y.value])))
}

/// `libdevice.pow(x, y)`.
pub(super) fn pow(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    two_floats(body, Op::Pow, a)
}
/// `libdevice.atan2(y, x)`.
pub(super) fn atan2(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    two_floats(body, Op::Atan2, a)
}
/// Small programs of floats.
impl Body<'_, '_> {
    fn f32_operand(&mut self, a: &Arguments) -> Made<Tensor> {
        let x = a.tensor(self, 0)?;
        if x.element() == Scalar::F64 {
            return self.fail(
                Code::KernelRefused,
                a.call,
                "no device has this function for `fp64`: it is computed in `fp32`",
                "convert to `tl.float32`",
            );
        }
        Ok(self.cast(x, Scalar::F32))
    }
    /// An `f32` in the shape of another value.
    pub(super) fn like(&mut self, x: Tensor, value: f64) -> Tensor {
        let value = self.float(Scalar::F32, value);
        Tensor { value: self.splat(value, x.shape()), ty: x.ty }
    }
    pub(super) fn two(&mut self, op: Op, a: Tensor, b: Tensor) -> Tensor {
        self.op(op, a.ty, &[a.value, b.value])
    }
    /// A function of one float. What Triton leaves to the card keeps its bound for all arguments: a masked element is often an infinity.
    pub(super) fn one(&mut self, op: Op, a: Tensor) -> Tensor {
        let total = op.row().attrs.contains(&AttrKind::Total);
        let attrs: &[Attr] = if total { &[Attr::Total] } else { &[] };
        let id = self.b.op_with(op, Some(a.ty), &[a.value], attrs);
        Tensor { value: self.b.function.insts[id].results[0], ty: a.ty }
    }
    pub(super) fn pick(&mut self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor {
        self.op(Op::Select, a.ty, &[condition.value, a.value, b.value])
    }
    /// c0 + x * (c1 + x * (..)).
    fn polynomial(&mut self, x: Tensor, coefficients: &[f64]) -> Tensor {
        let mut rest = coefficients.iter().rev();
        let mut sum = self.like(x, rest.next().copied().unwrap_or(0.0));
        for c in rest {
            let c = self.like(x, *c);
            sum = self.op(Op::Fma, x.ty, &[sum.value, x.value, c.value]);
        }
        sum
    }
}

/// Functions of numbers of both signs whose limits are -1 and 1.
impl Body<'_, '_> {
    /// x times a polynomial in its square.
    fn odd(&mut self, x: Tensor, coefficients: &[f64]) -> Tensor {
        let square = self.two(Op::Mul, x, x);
        let factor = self.polynomial(square, coefficients);
        self.two(Op::Mul, factor, x)
    }
    /// `near` where |x| is below a limit, and for what is no number; elsewhere 1 - `tail` with the sign of x.
    fn two_parts(&mut self, x: Tensor, size: Tensor, limit: f64, near: Tensor, tail: Tensor) -> Tensor {
        let (zero, one, limit) = (self.like(x, 0.0), self.like(x, 1.0), self.like(x, limit));
        let far = self.two(Op::Sub, one, tail);
        let mirrored = self.one(Op::Neg, far);
        let is_negative = self.two(Op::Lt, x, zero);
        let far = self.pick(is_negative, mirrored, far);
        let is_far = self.two(Op::Ge, size, limit);
        self.pick(is_far, far, near)
    }
}

/// 1 / (1 + e^-x).
pub(super) fn sigmoid(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    let minus = body.one(Op::Neg, x);
    let e = body.one(Op::ExpApprox, minus);
    let one = body.like(x, 1.0);
    let below = body.two(Op::Add, one, e);
    Ok(Value::Tensor(body.two(Op::Div, one, below)))
}

/// The coefficients of erf(x) / x by the square of x, for |x| <= 1, and of the logarithm of erfc(a), for 1 <= a <= 4: fitted by Lawson's algorithm, with 40 digits.
/// The errors of both are below 1.3e-9 of the error function.
const ERF_NEAR: [f64; 7] = [
    1.128_379_165_726_71,
    -0.376_126_258_242_258,
    0.112_835_851_485_362,
    -0.026_853_811_932_115_7,
    0.005_188_327_679_763_38,
    -0.000_801_019_357_312_54,
    7.853_861_182_162_37e-5,
];
const ERFC_LOG: [f64; 7] = [
    -0.000_341_521_384_808_1,
    -1.127_089_196_866_24,
    -0.638_144_821_662_83,
    -0.103_106_764_154_503,
    0.021_838_068_517_245_8,
    -0.002_947_659_404_530_24,
    0.000_186_379_301_097_228,
];

/// The error function: a polynomial near 0, and elsewhere what its complement leaves of 1, whose logarithm is a polynomial. From 4 on it is 1.
pub(super) fn erf(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    let near = body.odd(x, &ERF_NEAR);
    let size = body.one(Op::Abs, x);
    let most = body.like(x, 4.0);
    let most = body.two(Op::Min, size, most);
    let log = body.polynomial(most, &ERFC_LOG);
    let tail = body.one(Op::ExpApprox, log);
    Ok(Value::Tensor(body.two_parts(x, size, 1.0, near, tail)))
}

/// The coefficients of tanh(x) / x by the square of x, for |x| <= 0.625, fitted in the same way; the error is below 4e-9 of it.
const TANH_NEAR: [f64; 6] = [
    0.999_999_996_075_287,
    -0.333_332_605_268_985,
    0.133_311_275_354_895,
    -0.053_721_067_953_707_9,
    0.020_590_988_133_159_5,
    -0.005_659_988_810_390_52,
];

/// The hyperbolic tangent: a polynomial near 0, and elsewhere 1 - 2 / (e^2x + 1). From 10 on it is 1.
pub(super) fn tanh(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    if x.element() == Scalar::F64 {
        return Ok(Value::Tensor(body.one(Op::Tanh, x)));
    }
    let x = body.f32_operand(a)?;
    let near = body.odd(x, &TANH_NEAR);
    let size = body.one(Op::Abs, x);
    let most = body.like(x, 10.0);
    let most = body.two(Op::Min, size, most);
    let twice = body.two(Op::Add, most, most);
    let e = body.one(Op::ExpApprox, twice);
    let one = body.like(x, 1.0);
    let below = body.two(Op::Add, e, one);
    let two = body.like(x, 2.0);
    let tail = body.two(Op::Div, two, below);
    Ok(Value::Tensor(body.two_parts(x, size, 0.625, near, tail)))
}

/// `libdevice.log10(x)`.
pub(super) fn log10(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    let log = body.one(Op::Log2, x);
    let scale = body.like(x, std::f64::consts::LOG10_2);
    Ok(Value::Tensor(body.two(Op::Mul, log, scale)))
}

/// log(1 + x), with what the sum rounds off put back.
pub(super) fn log1p(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    let one = body.like(x, 1.0);
    let sum = body.two(Op::Add, one, x);
    let log = body.one(Op::Log, sum);
    let kept = body.two(Op::Sub, sum, one);
    let ratio = body.two(Op::Div, x, kept);
    let exact = body.two(Op::Mul, log, ratio);
    let lost = body.two(Op::Eq, sum, one);
    let infinity = body.like(x, f64::INFINITY);
    let endless = body.two(Op::Eq, x, infinity);
    let lost = body.op(Op::Or, lost.ty, &[lost.value, endless.value]);
    Ok(Value::Tensor(body.pick(lost, x, exact)))
}

fn expm1_of(body: &mut Body<'_, '_>, x: Tensor) -> Tensor {
    let one = body.like(x, 1.0);
    let e = body.one(Op::Exp, x);
    let large = body.two(Op::Sub, e, one);
    // Where e^x is near 1 its difference from 1 is lost: a series.
    let series = [1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
    let small = body.polynomial(x, &series);
    let small = body.two(Op::Mul, small, x);
    let size = body.one(Op::Abs, x);
    let limit = body.like(x, 0.5);
    let near = body.two(Op::Lt, size, limit);
    body.pick(near, small, large)
}

/// `libdevice.expm1(x)`.
pub(super) fn expm1(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    Ok(Value::Tensor(expm1_of(body, x)))
}

/// e^a / 2 for a > 0, which overflows later than e^a does.
fn half_exp(body: &mut Body<'_, '_>, a: Tensor) -> Tensor {
    let half = body.like(a, 0.5);
    let middle = body.two(Op::Mul, a, half);
    let e = body.one(Op::Exp, middle);
    let halved = body.two(Op::Mul, e, half);
    body.two(Op::Mul, halved, e)
}

/// Beyond this, e^-x does not count beside e^x.
const LARGE: f64 = 40.0;

/// `libdevice.sinh(x)`: (e^x - 1) / 2 - (e^-x - 1) / 2.
pub(super) fn sinh(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    let minus = body.one(Op::Neg, x);
    let (up, down) = (expm1_of(body, x), expm1_of(body, minus));
    let difference = body.two(Op::Sub, up, down);
    let half = body.like(x, 0.5);
    let near = body.two(Op::Mul, difference, half);
    let size = body.one(Op::Abs, x);
    let far = half_exp(body, size);
    let (zero, limit) = (body.like(x, 0.0), body.like(x, LARGE));
    let negative = body.two(Op::Lt, x, zero);
    let mirrored = body.one(Op::Neg, far);
    let far = body.pick(negative, mirrored, far);
    let is_far = body.two(Op::Gt, size, limit);
    Ok(Value::Tensor(body.pick(is_far, far, near)))
}

/// `libdevice.cosh(x)`.
pub(super) fn cosh(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.f32_operand(a)?;
    let minus = body.one(Op::Neg, x);
    let (up, down) = (body.one(Op::Exp, x), body.one(Op::Exp, minus));
    let sum = body.two(Op::Add, up, down);
    let half = body.like(x, 0.5);
    let near = body.two(Op::Mul, sum, half);
    let size = body.one(Op::Abs, x);
    let (far, limit) = (half_exp(body, size), body.like(x, LARGE));
    let is_far = body.two(Op::Gt, size, limit);
    Ok(Value::Tensor(body.pick(is_far, far, near)))
}

/// `libdevice.isnan(x)`.
pub(super) fn isnan(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    Ok(Value::Tensor(body.two(Op::Ne, x, x)))
}

fn infinite(body: &mut Body<'_, '_>, a: &Arguments, compare: Op) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    let x = if x.element() == Scalar::F64 { x } else { body.cast(x, Scalar::F32) };
    let size = body.one(Op::Abs, x);
    let infinity = body.float(x.element(), f64::INFINITY);
    let infinity = Tensor { value: body.splat(infinity, x.shape()), ty: x.ty };
    Ok(Value::Tensor(body.two(compare, size, infinity)))
}
/// `libdevice.isinf(x)`.
pub(super) fn isinf(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    infinite(body, a, Op::Eq)
}
/// `libdevice.finitef(x)`.
pub(super) fn isfinite(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    infinite(body, a, Op::Lt)
}

/// `tl.softmax(x)`: along the first axis, if none is named.
pub(super) fn softmax(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let axis = if matches!(a.value(1), Value::None) { Value::Int(0) } else { a.value(1).clone() };
    let x = Value::Tensor(body.f32_operand(a)?);
    let call = |body: &mut Body<'_, '_>, name: &str, arguments: &[Value]| {
        let Some(row) = super::builtins::find(name) else { return Ok(Value::None) };
        let placed = arguments.iter().map(|v| super::value::Placed { value: v.clone(), span: a.call }).collect();
        body.builtin(row, placed, vec![], a.call)
    };
    let (no, yes, left) = (Value::Bool(false), Value::Bool(true), Value::Bool(true));
    let most = call(body, "max", &[x.clone(), axis.clone(), no, left, yes.clone()])?;
    let z = body.binary(BinaryOp::Sub, &x, &most, a.call)?;
    let e = call(body, "exp", &[z])?;
    let sum = call(body, "sum", &[e.clone(), axis, yes])?;
    body.binary(BinaryOp::Div, &e, &sum, a.call)
}

/// `tl.cdiv(x, div)`: (x + div - 1) // div.
pub(super) fn cdiv(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let sum = body.binary(BinaryOp::Add, a.value(0), a.value(1), a.call)?;
    let sum = body.binary(BinaryOp::Sub, &sum, &Value::Int(1), a.call)?;
    body.binary(BinaryOp::FloorDiv, &sum, a.value(1), a.call)
}

/// `tl.swizzle2d(i, j, size_i, size_j, size_g)`: programs in groups of rows.
pub(super) fn swizzle2d(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let [i, j, rows, columns, group] = [0, 1, 2, 3, 4].map(|k| a.value(k).clone());
    let op = |body: &mut Body<'_, '_>, op, x: &Value, y: &Value| body.binary(op, x, y, a.call);
    let row_start = op(body, BinaryOp::Mul, &i, &columns)?;
    let at = op(body, BinaryOp::Add, &row_start, &j)?;
    let in_group = op(body, BinaryOp::Mul, &group, &columns)?;
    let which = op(body, BinaryOp::FloorDiv, &at, &in_group)?;
    let first = op(body, BinaryOp::Mul, &which, &group)?;
    let left = op(body, BinaryOp::Sub, &rows, &first)?;
    let size = {
        let shorter = body.compare(CompareOp::Lt, &left, &group, a.call)?;
        let shorter = body.tensor(&shorter, a.call)?;
        let (left, group) = body.meet(&left, &group, false, a.call)?;
        Value::Tensor(body.op(Op::Select, left.ty, &[shorter.value, left.value, group.value]))
    };
    let inside = op(body, BinaryOp::Mod, &at, &in_group)?;
    let row = op(body, BinaryOp::Mod, &inside, &size)?;
    let row = op(body, BinaryOp::Add, &first, &row)?;
    let column = op(body, BinaryOp::FloorDiv, &inside, &size)?;
    Ok(Value::Tuple(vec![row, column]))
}

/// `tl.assume(cond)`.
pub(super) fn assume(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    if a.value(0).is_constant() {
        return Ok(Value::None);
    }
    let condition = a.tensor(body, 0)?;
    let condition = body.cast(condition, Scalar::Bool);
    body.b.end(Op::TileAssume, &[condition.value]);
    Ok(Value::None)
}

/// `tl.debug_barrier()`: a program's own accesses are in order.
pub(super) fn nothing(_body: &mut Body<'_, '_>, _a: &Arguments) -> Made<Value> {
    Ok(Value::None)
}

/// `tl.device_print(prefix, *args)`.
pub(super) fn device_print(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut text = a.value(0).to_string();
    let mut operands = vec![];
    let rest = match a.rest(1) {
        Value::Tuple(items) => items,
        one => vec![one],
    };
    for value in rest {
        match value {
            Value::Str(said) => text.push_str(&format!(" {said}")),
            Value::Pointer(p) => operands.push(body.wide_index(&p)),
            other => operands.push(body.tensor(&other, a.call)?.value),
        }
    }
    let mut inst = Inst::new(Op::TilePrint, None, &operands, a.call);
    inst.set(Attr::Text(text.into()));
    body.b.push(inst, &[]);
    Ok(Value::None)
}

/// `tl.device_assert(cond, msg)`: only where assertions were asked for.
pub(super) fn device_assert(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    if !body.module.debug {
        return Ok(Value::None);
    }
    let condition = a.tensor(body, 0)?;
    let mut condition = body.cast(condition, Scalar::Bool);
    if !matches!(a.value(2), Value::None) {
        let mask = a.tensor(body, 2)?;
        let mask = body.cast(mask, Scalar::Bool);
        let (here, mask) = body.broadcast_together(condition, mask, a.call)?;
        let outside = body.op(Op::Not, mask.ty, &[mask.value]);
        condition = body.op(Op::Or, here.ty, &[here.value, outside.value]);
    }
    let text = format!("{} (in the kernel `{}`)", a.value(1), body.module.kernel);
    let mut inst = Inst::new(Op::TileAssert, None, &[condition.value], a.call);
    inst.set(Attr::Text(text.as_str().into()));
    body.b.push(inst, &[]);
    if !body.module.assertions.contains(&text) {
        body.module.assertions.push(text);
    }
    body.guard(condition);
    Ok(Value::None)
}
