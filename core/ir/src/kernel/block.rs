//! Values of a kernel: what is computed with each element of one or more blocks.

use super::{Literal, Operand, TileKernel};
use crate::attrs::Attr;
use crate::function::ValueId;
use crate::ops::Op;
use crate::row::{Pattern, Row, Suffix};
use crate::types::{Scalar, Shape, Type};
use std::fmt;
use std::ops;

/// A value of a kernel that is being written: a scalar, or a tile.
#[derive(Clone, Copy)]
pub struct Block<'k> {
    pub(super) kernel: &'k TileKernel,
    pub(super) value: ValueId,
}

impl<'k> Block<'k> {
    /// What its elements are.
    pub fn element(self) -> Scalar {
        self.ty().element().unwrap_or(Scalar::U32)
    }

    /// Its shape; none for a scalar.
    pub fn shape(self) -> Option<Shape> {
        self.ty().shape()
    }

    /// The lengths of its dimensions; none for a scalar.
    pub fn lengths(self) -> Vec<u64> {
        self.shape().map(Shape::to_vec).unwrap_or_default()
    }

    /// The value of the function that is written.
    pub fn id(self) -> ValueId {
        self.value
    }

    pub(super) fn ty(self) -> Type {
        self.kernel.ty(self.value)
    }

    /// Its type, in words.
    pub(super) fn describe(self) -> String {
        format!("`{}`", self.ty())
    }

    /// A number of its element's type.
    #[track_caller]
    pub fn constant(self, number: impl Into<Literal>) -> Block<'k> {
        self.kernel.constant(self.element(), number)
    }

    /// The same numbers in another type, as `convert` does it.
    #[track_caller]
    pub fn to(self, scalar: Scalar) -> Block<'k> {
        if self.element() == scalar {
            return self;
        }
        self.kernel.push(Op::Convert, Type::block(self.shape(), scalar), &[self.value], &[])
    }

    /// The same bits as numbers of another type of the same width.
    #[track_caller]
    pub fn bitcast(self, scalar: Scalar) -> Block<'k> {
        if self.element().bits() != scalar.bits() {
            let message = format!("a {} has not as many bits as `{scalar}`", self.describe());
            self.kernel.wrong(message, "use `to` to convert the numbers");
            return self.to(scalar);
        }
        self.kernel.push(Op::Bitcast, Type::block(self.shape(), scalar), &[self.value], &[])
    }

    /// An operation of the table on each element of some blocks, which are broadcast to one shape: one that has one result for each. `T` of its row is what the last
    /// operand consists of.
    ///
    /// # Panics
    /// If there are no operands.
    #[track_caller]
    pub fn apply(op: Op, operands: &[Block<'k>]) -> Block<'k> {
        Block::apply_with(op, operands, &[])
    }

    /// The same with attributes.
    ///
    /// # Panics
    /// If there are no operands.
    #[track_caller]
    pub fn apply_with(op: Op, operands: &[Block<'k>], attrs: &[Attr]) -> Block<'k> {
        let operands = &operands[0].kernel.own_all(operands);
        let last = operands[operands.len() - 1];
        let (row, element) = (op.row(), last.element());
        let takes = |scalar| match row.suffix {
            Suffix::Scalar(set) | Suffix::Lanes(set) | Suffix::Block(set) => set.has(scalar),
            Suffix::None | Suffix::Dim | Suffix::Aggregate(_) | Suffix::Coop | Suffix::Tile(_) | Suffix::Any => true,
        };
        let fits = |(pattern, operand): (&Pattern, &Block<'k>)| match pattern {
            Pattern::Bool => operand.element() == Scalar::Bool,
            _as_the_last => operand.element() == element,
        };
        if !gives_an_element(row) {
            let message = format!("`{}` does not give one element for those of its operands", op.name());
            last.kernel.wrong(message, "a kernel, its buffers and its blocks have methods for other operations");
            return Block::apply_zero(last);
        }
        let right =
            row.operands.len() == operands.len() && takes(element) && row.operands.iter().zip(operands).all(fits);
        let together = Block::together(operands);
        let (Some(operands), true) = (together, right) else {
            if right {
                return Block::apply_zero(last);
            }
            let all = operands.iter().map(|b| format!("`{}`", b.ty())).collect::<Vec<_>>().join(", ");
            last.kernel.wrong(format!("`{}` does not take {all}", op.name()), "convert operands with `to`");
            return Block::apply_zero(last);
        };
        let ty = Type::block(operands[0].shape(), element);
        let values: Vec<ValueId> = operands.iter().map(|block| block.value).collect();
        last.kernel.push(op, ty, &values, attrs)
    }

    /// What stands in for the result of a mistake.
    #[track_caller]
    fn apply_zero(like: Block<'k>) -> Block<'k> {
        let zero = like.kernel.with(|b| {
            let ty = b.ty(like.value);
            b.zero(ty)
        });
        like.kernel.block(zero)
    }

    /// One value where this condition holds, and another one elsewhere.
    #[track_caller]
    pub fn select(self, then: Block<'k>, otherwise: impl Operand<'k>) -> Block<'k> {
        Block::apply(Op::Select, &[self, then, otherwise.beside(then)])
    }

    /// `self * factor + summand`, rounded once.
    #[track_caller]
    pub fn fma(self, factor: impl Operand<'k>, summand: impl Operand<'k>) -> Block<'k> {
        Block::apply(Op::Fma, &[self, factor.beside(self), summand.beside(self)])
    }
}

/// Whether the operation of a row has one result, which has an element for those of the operands.
fn gives_an_element(row: &Row) -> bool {
    use Pattern::{Bool, Element, First, Mask, T, U32};
    matches!(row.results, [T | Bool | Element | First | Mask | U32])
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({:?}: {})", self.value, self.ty())
    }
}

macro_rules! unary {
    ($($name:ident: $op:ident, $doc:literal;)*) => {
        impl<'k> Block<'k> {$(
            #[doc = $doc]
            #[track_caller]
            pub fn $name(self) -> Block<'k> {
                Block::apply(Op::$op, &[self])
            }
        )*}
    };
}

unary! {
    abs: Abs, "The magnitude of each element.";
    floor: Floor, "The nearest integers not above.";
    ceil: Ceil, "The nearest integers not below.";
    round: Round, "The nearest integers, ties to even.";
    trunc: Trunc, "The nearest integers towards zero.";
    sqrt: Sqrt, "Square roots, correctly rounded.";
    rsqrt: Rsqrt, "1 / square root.";
    exp: Exp, "e to the power of each element. The device's own function is [`Block::apply`] with [`Op::ExpApprox`].";
    exp2: Exp2, "2 to the power of each element.";
    log: Log, "Natural logarithms.";
    log2: Log2, "Logarithms to base 2.";
    sin: Sin, "Sines of angles in radians.";
    cos: Cos, "Cosines of angles in radians.";
    tanh: Tanh, "Hyperbolic tangents.";
}

macro_rules! binary {
    ($($name:ident: $op:ident, $doc:literal;)*) => {
        impl<'k> Block<'k> {$(
            #[doc = $doc]
            #[track_caller]
            pub fn $name(self, other: impl Operand<'k>) -> Block<'k> {
                Block::apply(Op::$op, &[self, other.beside(self)])
            }
        )*}
    };
}

binary! {
    min: Min, "The lesser of each two; a NaN gives way to a number.";
    max: Max, "The greater of each two; a NaN gives way to a number.";
    lt: Lt, "Whether it is less.";
    le: Le, "Whether it is less or equal.";
    gt: Gt, "Whether it is greater.";
    ge: Ge, "Whether it is greater or equal.";
    eq: Eq, "Whether both are equal.";
    ne: Ne, "Whether they differ.";
    pow: Pow, "Powers.";
}

macro_rules! operators {
    ($($of:ident $method:ident: $op:ident;)*) => {$(
        impl<'k, R: Operand<'k>> ops::$of<R> for Block<'k> {
            type Output = Block<'k>;
            #[track_caller]
            fn $method(self, other: R) -> Block<'k> {
                Block::apply(Op::$op, &[self, other.beside(self)])
            }
        }
    )*};
}

operators! {
    Add add: Add;
    Sub sub: Sub;
    Mul mul: Mul;
    Div div: Div;
    Rem rem: Rem;
    BitAnd bitand: And;
    BitOr bitor: Or;
    BitXor bitxor: Xor;
    Shl shl: Shl;
    Shr shr: Shr;
}

impl<'k> ops::Neg for Block<'k> {
    type Output = Block<'k>;
    #[track_caller]
    fn neg(self) -> Block<'k> {
        Block::apply(Op::Neg, &[self])
    }
}

impl<'k> ops::Not for Block<'k> {
    type Output = Block<'k>;
    #[track_caller]
    fn not(self) -> Block<'k> {
        Block::apply(Op::Not, &[self])
    }
}
