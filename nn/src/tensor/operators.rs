//! Operators and functions of elements.
//!
//! Operands are repeated and converted by the rules of PyTorch ([`Graph::binary`](girih_tensor::Graph::binary)). A number takes the type of the tensor beside it.

use super::Tensor;
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Number, Op, TensorType};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// What may stand beside a tensor: another one, or a number, which is a part of the graph and of what is compiled.
pub trait Operand {
    /// It as a tensor that can be combined with another.
    #[track_caller]
    fn beside(&self, other: &Tensor) -> Tensor;
}
impl Operand for Tensor {
    fn beside(&self, _: &Tensor) -> Tensor {
        self.clone()
    }
}
impl Operand for &Tensor {
    fn beside(&self, _: &Tensor) -> Tensor {
        Tensor::clone(self)
    }
}
/// Operators with a number on the left.
macro_rules! left {
    ($number:ty: $($Trait:ident $method:ident $op:ident;)*) => {$(
        impl $Trait<&Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                self.beside(other).binary(Op::$op, &other)
            }
        }
        impl $Trait<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                self.beside(&other).binary(Op::$op, &other)
            }
        }
    )*};
}
macro_rules! numbers {
    ($($number:ty: $kind:ident;)*) => {$(
        impl Operand for $number {
            fn beside(&self, other: &Tensor) -> Tensor {
                constant(other, Number::$kind((*self).into()))
            }
        }
        left! { $number: Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; }
    )*};
}
numbers! { f64: Float; f32: Float; i8: Int; i16: Int; i32: Int; i64: Int; u8: Int; u16: Int; u32: Int; u64: Int; }

/// A number as a tensor without dimensions, of the other's type if that holds it.
#[track_caller]
fn constant(other: &Tensor, number: Number) -> Tensor {
    let (element, number) = match number {
        Number::Int(n) if other.dtype().is_float() => (other.dtype(), Number::Float(n as f64)),
        Number::Int(_) if other.dtype() == Scalar::Bool => (Scalar::I64, number),
        Number::Float(_) if !other.dtype().is_float() => (Scalar::F32, number),
        Number::Int(_) | Number::Float(_) => (other.dtype(), number),
    };
    Tensor::made(other.device(), &[], |g, _| g.full(&TensorType::of(element, &[]), number))
}

macro_rules! operators {
    ($($Trait:ident $method:ident $op:ident;)*) => {$(
        impl<R: Operand> $Trait<R> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: R) -> Tensor {
                self.binary(Op::$op, &other)
            }
        }
        impl<R: Operand> $Trait<R> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: R) -> Tensor {
                self.binary(Op::$op, &other)
            }
        }
    )*};
}
operators! { Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; }

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.unary(Op::Neg)
    }
}
impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.unary(Op::Neg)
    }
}

macro_rules! unary {
    ($($name:ident $op:ident $doc:literal;)*) => {
        /// Functions of elements.
        impl Tensor {
            $(#[doc = $doc]
            #[track_caller]
            pub fn $name(&self) -> Tensor {
                self.unary(Op::$op)
            })*
        }
    };
}
unary! {
    abs Abs "Magnitude.";
    floor Floor "The nearest integer not above.";
    ceil Ceil "The nearest integer not below.";
    round Round "The nearest integer, ties to even.";
    trunc Trunc "The nearest integer towards zero.";
    sqrt Sqrt "Square root.";
    rsqrt Rsqrt "1 / square root.";
    exp Exp "e to the power of x.";
    log Log "Natural logarithm.";
    log2 Log2 "Logarithm to base 2.";
    exp2 Exp2 "2 to the power of x.";
    expm1 Expm1 "exp(x) - 1, with the digits that this difference loses.";
    log1p Log1p "log(1 + x), with the digits that this sum loses.";
    sin Sin "Sine of an angle in radians.";
    cos Cos "Cosine of an angle in radians.";
    tan Tan "Tangent of an angle in radians.";
    asin Asin "Arc sine, in radians.";
    acos Acos "Arc cosine, in radians.";
    atan Atan "Arc tangent, in radians.";
    sinh Sinh "Hyperbolic sine.";
    cosh Cosh "Hyperbolic cosine.";
    tanh Tanh "Hyperbolic tangent.";
    not Not "Bitwise complement; of truth values the opposite.";
    sign Sign "-1, 0 or 1.";
    square Square "x * x.";
    reciprocal Reciprocal "1 / x.";
    erf Erf "The error function.";
    erfc Erfc "1 - erf(x), with the digits that this difference loses.";
    sigmoid Sigmoid "1 / (1 + exp(-x)).";
    relu Relu "0 where x is at most 0, else x; NaN stays.";
    silu Silu "x * sigmoid(x).";
    gelu Gelu "x / 2 * (1 + erf(x / sqrt 2)).";
    softplus Softplus "log(1 + exp(x)), without overflow.";
    is_nan IsNan "Whether x is not a number.";
}

macro_rules! binary {
    ($($name:ident $op:ident $doc:literal;)*) => {
        /// Functions of two elements.
        impl Tensor {
            $(#[doc = $doc]
            #[track_caller]
            pub fn $name(&self, other: impl Operand) -> Tensor {
                self.binary(Op::$op, &other)
            })*
        }
    };
}
binary! {
    pow Pow "x to the power of y.";
    maximum Max "The greater; NaN if one is NaN.";
    minimum Min "The lesser; NaN if one is NaN.";
    atan2 Atan2 "`y.atan2(x)`: the angle of the point (x, y), in radians.";
    modulo Rem "The remainder of integers, with the dividend's sign.";
    eq Eq "Whether elements are equal.";
    ne Ne "Whether they are not equal.";
    lt Lt "Whether the first is less.";
    le Le "Whether the first is less or equal.";
    gt Gt "Whether the first is greater.";
    ge Ge "Whether the first is greater or equal.";
    and And "Bitwise and.";
    or Or "Bitwise or.";
    xor Xor "Bitwise exclusive or.";
}

impl Tensor {
    #[track_caller]
    pub(crate) fn unary(&self, op: Op) -> Tensor {
        self.apply(&[], |g, x| g.op(op, x))
    }
    #[track_caller]
    pub(crate) fn binary(&self, op: Op, other: &impl Operand) -> Tensor {
        let other = other.beside(self);
        self.apply(&[&other], |g, x| g.binary(op, x[0], x[1]))
    }
    /// The same numbers as another type; to `bool`, whether they are not 0.
    #[track_caller]
    pub fn to(&self, element: Scalar) -> Tensor {
        self.apply(&[], |g, x| g.convert(x[0], element))
    }
    /// x, but at least the first number and at most the second; NaN stays. Bounds of integers have no fraction.
    #[track_caller]
    pub fn clamp(&self, least: f64, most: f64) -> Tensor {
        let number = |kind, value: f64| Attr::Number(kind, Number::Float(value));
        self.apply(&[], |g, x| {
            g.push(Op::Clamp, x, vec![number(AttrKind::Value, least), number(AttrKind::Above, most)])
        })
    }
    /// Of truth values: the first tensor's elements where they are true, else the second's. All are repeated to one shape.
    #[track_caller]
    pub fn select(&self, then: impl Operand, otherwise: impl Operand) -> Tensor {
        // A number takes its type from the other side, not from the truth values.
        let float = Tensor::made(self.device(), &[], |g, _| g.full(&TensorType::of(Scalar::F32, &[]), Number::Int(0)));
        let first = then.beside(&float);
        let otherwise = otherwise.beside(&first);
        let then = then.beside(&otherwise);
        self.apply(&[&then, &otherwise], |g, x| g.choose(x[0], x[1], x[2]))
    }
}
