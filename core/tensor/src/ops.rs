//! The one table of operations. A row says all that passes need to know about an operation: its meaning, the rule of its shapes, its derivative
//! and what it is made of. Printer, reader, checks, tests and the reference in `docs/tensors.md` are made from it. What a row can say stands in [`Row`].
//!
//! Invariant: operands of an operation that works element by element have one type. What writes graphs repeats and converts explicitly
//! (`construct` has methods for that), so no pass has to know rules of promotion.

use super::attrs::AttrKind::{
    Above, Axes, Axis, Dilation, End, Groups, High, Length, Low, Padding, Sizes, Start, Step, Stride, To, Value, Window,
};
use super::decompose as d;
use super::derivatives as g;
use super::infer;
use super::row::Meaning::{Compound, Pointwise};
pub use super::row::{Arity, Derivative, Meaning, Order, Reduction, Row, View};
use super::windows as w;
use super::{scatter, sort};
use girih_ir::{Op as Ir, Scalar, ScalarSet};

const FLOATS: ScalarSet = ScalarSet::FLOATS;
const NUMBERS: ScalarSet = ScalarSet::NUMBERS;
const BOOL: ScalarSet = ScalarSet::BOOL;
/// What memory adds to in one step on every device.
const WORDS: ScalarSet = ScalarSet::of(&[Scalar::I32, Scalar::U32, Scalar::F32]);

/// An operation of the IR on elements.
const fn unary(name: &'static str, op: Ir, set: ScalarSet) -> Row {
    Row::new(name, 1, Pointwise(op)).of(set)
}
const fn binary(name: &'static str, op: Ir, set: ScalarSet) -> Row {
    Row::new(name, 2, Pointwise(op)).of(set)
}
const fn compare(name: &'static str, op: Ir, set: ScalarSet) -> Row {
    Row::new(name, 2, Pointwise(op)).of(set).infer(infer::truth)
}
/// A function of floats that others make up.
const fn made(name: &'static str, by: super::row::Decompose) -> Row {
    Row::new(name, 1, Compound(by)).of(FLOATS).through()
}
const fn reduce(name: &'static str, by: Reduction, set: ScalarSet) -> Row {
    Row::new(name, 1, Meaning::Reduce(by)).of(set).attrs(&[Axes]).infer(infer::reduced)
}
const fn position(name: &'static str, by: Reduction) -> Row {
    Row::new(name, 1, Meaning::Reduce(by)).of(NUMBERS).attrs(&[Axis]).infer(infer::position)
}
const fn sorted(name: &'static str, by: super::row::Decompose) -> Row {
    Row::new(name, 1, Compound(by)).of(NUMBERS).attrs(&[Axis, Length]).infer(infer::sorted)
}
const fn reduce_by(name: &'static str, by: super::row::Decompose) -> Row {
    made(name, by).attrs(&[Axes]).infer(infer::reduced)
}
const fn view(name: &'static str, by: View) -> Row {
    Row::new(name, 1, Meaning::View(by))
}

macro_rules! ops {
    ($($variant:ident: $row:expr, $doc:literal;)*) => {
        /// An operation on tensors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = $doc] $variant,)* }

        impl Op {
            /// All operations, in the table's order.
            pub const ALL: &[Op] = &[$(Op::$variant,)*];
        }

        const TABLE: &[Row] = &[$($row.doc($doc),)*];
    };
}

ops! {
    // Where tensors come from.
    Input: Row::new("input", 0, Meaning::Input).attrs(&[To, Sizes]).infer(infer::created),
        "A tensor that is given.";
    Full: Row::new("full", 0, Meaning::Full).attrs(&[To, Sizes, Value]).infer(infer::created),
        "One number everywhere.";
    Iota: Row::new("iota", 0, Meaning::Iota).attrs(&[To, Sizes, Axis]).infer(infer::iota),
        "Each element is its own position along the axis.";
    Random: Row::new("random", 2, Compound(d::random)).of(ScalarSet::of(&[girih_ir::Scalar::U64])).attrs(&[Sizes]).infer(infer::random),
        "Numbers in [0, 1) from a seed and an offset: element i is the first word that Philox 4x32 of ten rounds gives for the counter offset + i, as a float.";

    // One tensor, element by element.
    Neg: unary("neg", Ir::Neg, ScalarSet::NEGATABLE).derive(g::neg), "Negation.";
    Abs: unary("abs", Ir::Abs, ScalarSet::NEGATABLE).derive(g::abs), "Magnitude.";
    Floor: unary("floor", Ir::Floor, FLOATS), "The nearest integer not above.";
    Ceil: unary("ceil", Ir::Ceil, FLOATS), "The nearest integer not below.";
    Round: unary("round", Ir::Round, FLOATS), "The nearest integer, ties to even.";
    Trunc: unary("trunc", Ir::Trunc, FLOATS), "The nearest integer towards zero.";
    Sqrt: unary("sqrt", Ir::Sqrt, FLOATS).derive(g::sqrt), "Square root.";
    Rsqrt: unary("rsqrt", Ir::Rsqrt, FLOATS).derive(g::rsqrt), "1 / square root.";
    Exp: unary("exp", Ir::Exp, FLOATS).derive(g::exp), "e to the power of x.";
    Exp2: unary("exp2", Ir::Exp2, FLOATS).derive(g::exp2), "2 to the power of x.";
    Log: unary("log", Ir::Log, FLOATS).derive(g::log), "Natural logarithm.";
    Log2: unary("log2", Ir::Log2, FLOATS).derive(g::log2), "Logarithm to base 2.";
    Sin: unary("sin", Ir::Sin, FLOATS).derive(g::sin), "Sine of an angle in radians.";
    Cos: unary("cos", Ir::Cos, FLOATS).derive(g::cos), "Cosine of an angle in radians.";
    Tan: unary("tan", Ir::Tan, FLOATS).derive(g::tan), "Tangent of an angle in radians.";
    Asin: unary("asin", Ir::Asin, FLOATS).derive(g::asin), "Arc sine, in radians.";
    Acos: unary("acos", Ir::Acos, FLOATS).derive(g::acos), "Arc cosine, in radians.";
    Atan: unary("atan", Ir::Atan, FLOATS).derive(g::atan), "Arc tangent, in radians.";
    Tanh: unary("tanh", Ir::Tanh, FLOATS).derive(g::tanh), "Hyperbolic tangent.";
    Not: unary("not", Ir::Not, ScalarSet::BITS), "Bitwise complement; of truth values the opposite.";
    Convert: Row::new("convert", 1, Meaning::Convert).attrs(&[To]).infer(infer::converted).derive(g::convert),
        "The same numbers as another type; to `bool`, whether they are not 0.";

    // Two tensors, element by element.
    Add: binary("add", Ir::Add, NUMBERS).derive(g::add), "Sum; integers wrap.";
    Sub: binary("sub", Ir::Sub, NUMBERS).derive(g::sub), "Difference; integers wrap.";
    Mul: binary("mul", Ir::Mul, NUMBERS).derive(g::mul), "Product; integers wrap.";
    Div: binary("div", Ir::Div, NUMBERS).derive(g::div), "Quotient; integers truncate towards zero, x / 0 is x.";
    Rem: binary("rem", Ir::Rem, ScalarSet::INTEGERS), "Remainder of `div`, with the dividend's sign; x rem 0 is 0.";
    Pow: binary("pow", Ir::Pow, FLOATS).derive(g::pow), "x to the power of y.";
    Max: binary("max", Ir::Max, NUMBERS).derive(g::extreme), "The greater; NaN if one is NaN. Where both are equal, each takes half of the derivative.";
    Min: binary("min", Ir::Min, NUMBERS).derive(g::extreme), "The lesser; NaN if one is NaN. Where both are equal, each takes half of the derivative.";
    Atan2: binary("atan2", Ir::Atan2, FLOATS).derive(g::atan2), "`atan2 y, x`: the angle of the point (x, y), in radians.";
    And: binary("and", Ir::And, ScalarSet::BITS), "Bitwise and.";
    Or: binary("or", Ir::Or, ScalarSet::BITS), "Bitwise or.";
    Xor: binary("xor", Ir::Xor, ScalarSet::BITS), "Bitwise exclusive or.";
    Shl: binary("shl", Ir::Shl, ScalarSet::INTEGERS), "Shift left; the count is taken modulo the width.";
    Shr: binary("shr", Ir::Shr, ScalarSet::INTEGERS), "Shift right, of signed integers with copies of the sign.";
    Eq: compare("eq", Ir::Eq, NUMBERS.or(BOOL)), "Whether elements are equal; NaN equals nothing.";
    Ne: compare("ne", Ir::Ne, NUMBERS.or(BOOL)), "Whether they are not equal.";
    Lt: compare("lt", Ir::Lt, NUMBERS), "Whether the first is less.";
    Le: compare("le", Ir::Le, NUMBERS), "Whether the first is less or equal.";
    Gt: compare("gt", Ir::Gt, NUMBERS), "Whether the first is greater.";
    Ge: compare("ge", Ir::Ge, NUMBERS), "Whether the first is greater or equal.";
    Where: Row::new("where", 3, Pointwise(Ir::Select)).infer(infer::select).derive(g::select),
        "The element of the second tensor where the first is true, else that of the third.";

    // What those make up.
    Sign: Row::new("sign", 1, Compound(d::sign)).of(ScalarSet::NEGATABLE), "-1, 0 or 1.";
    Square: Row::new("square", 1, Compound(d::square)).of(NUMBERS).through(), "x * x.";
    Reciprocal: made("reciprocal", d::reciprocal), "1 / x.";
    Erf: made("erf", d::erf).derive(g::erf), "The error function, right to 2e-7.";
    Erfc: made("erfc", d::erfc).derive(g::erfc), "1 - erf(x), with the digits that this difference loses.";
    Expm1: made("expm1", d::expm1).derive(g::expm1), "exp(x) - 1, with the digits that this difference loses.";
    Log1p: made("log1p", d::log1p).derive(g::log1p), "log(1 + x), with the digits that this sum loses.";
    Sigmoid: made("sigmoid", d::sigmoid).derive(g::sigmoid), "1 / (1 + exp(-x)).";
    Relu: made("relu", d::relu).of(NUMBERS), "0 where x is at most 0, else x; NaN stays.";
    Silu: made("silu", d::silu), "x * sigmoid(x).";
    Gelu: made("gelu", d::gelu), "x / 2 * (1 + erf(x / sqrt 2)).";
    Softplus: made("softplus", d::softplus).derive(g::softplus), "log(1 + exp(x)), without overflow.";
    Sinh: made("sinh", d::sinh).derive(g::sinh), "Hyperbolic sine.";
    Cosh: made("cosh", d::cosh).derive(g::cosh), "Hyperbolic cosine.";
    Clamp: made("clamp", d::clamp).of(NUMBERS).attrs(&[Value, Above]), "x, but at least the first number and at most the second; NaN stays.";
    IsNan: Row::new("isnan", 1, Compound(d::is_nan)).of(FLOATS).infer(infer::truth), "Whether x is not a number.";

    // Along axes.
    Sum: reduce("sum", Reduction::Sum, NUMBERS).derive(g::sum), "Sum along axes; short floats are summed as `f32`.";
    Prod: reduce("prod", Reduction::Prod, NUMBERS).derive(g::prod), "Product along axes. Its second derivative is right where no element is 0.";
    Amax: reduce("amax", Reduction::Max, NUMBERS).derive(g::extremes), "The greatest along axes; NaN if one is. Equal ones share the derivative.";
    Amin: reduce("amin", Reduction::Min, NUMBERS).derive(g::extremes), "The least along axes; NaN if one is. Equal ones share the derivative.";
    ArgMax: position("argmax", Reduction::ArgMax), "Where the first greatest, or the first NaN, is along the axis, an `i64`.";
    ArgMin: position("argmin", Reduction::ArgMin), "Where the first least, or the first NaN, is along the axis, an `i64`.";
    Any: reduce("any", Reduction::Any, BOOL), "Whether some element along axes is true.";
    All: reduce("all", Reduction::All, BOOL), "Whether all elements along axes are true.";
    Mean: reduce_by("mean", d::mean), "The mean along axes.";
    Var: reduce_by("var", d::var), "The mean of squared distances from the mean along axes.";
    LogSumExp: reduce_by("logsumexp", d::log_sum_exp).derive(g::log_sum_exp), "log(sum(exp(x))) along axes, without overflow.";
    Softmax: made("softmax", d::softmax).attrs(&[Axes]).infer(infer::along).derive(g::softmax), "exp(x) / sum(exp(x)) along axes, without overflow.";
    LogSoftmax: made("log_softmax", d::log_softmax).attrs(&[Axes]).infer(infer::along).derive(g::log_softmax), "The logarithm of `softmax`.";
    Normalise: made("normalise", d::normalise).attrs(&[Axes, Value]).infer(infer::along), "(x - mean) / sqrt(var + a number) along axes: layer norm, group norm and batch norm without their factors.";
    ArgSort: sorted("argsort", sort::arg_sort), "Where the least elements along the axis are, as many as `length` says, the least first, an `i64`. Equal ones are in order of their positions; NaN is greater than all numbers.";
    ArgTop: sorted("argtop", sort::arg_top), "Where the greatest elements along the axis are, as many as `length` says, the greatest first, an `i64`. Equal ones are in order of their positions; NaN is greater than all numbers.";
    Merge: Row::new("merge", 1, Meaning::Merge(Order::Up)).of(NUMBERS).attrs(&[Length]).infer(infer::merged),
        "Where the elements of rows, the two halves of which are sorted, are in order, as many as `length` says, an `i32`: what `argsort` is made of.";
    MergeDown: Row::new("merge_down", 1, Meaning::Merge(Order::Down)).of(NUMBERS).attrs(&[Length]).infer(infer::merged),
        "The same for halves whose greatest elements are first: what `argtop` is made of.";
    CumSum: Row::new("cumsum", 1, Compound(d::cumsum)).of(NUMBERS).attrs(&[Axis]).infer(infer::along).derive(g::cumsum),
        "Sums of all elements up to this one along the axis.";

    Scan: Row::new("scan", 1, Meaning::Scan).of(NUMBERS).attrs(&[Axis]).infer(infer::scan).derive(g::cumsum),
        "The same along an axis of at most 4096 elements: what `cumsum` is made of.";

    // Elements moved.
    Broadcast: view("broadcast", View::Broadcast).attrs(&[Sizes]).infer(infer::broadcast).derive(g::broadcast), "Dimensions of length 1 repeated.";
    Reshape: view("reshape", View::Reshape).attrs(&[Sizes]).infer(infer::reshape).derive(g::reshape), "The same elements in order in another shape.";
    Permute: view("permute", View::Permute).attrs(&[Axes]).infer(infer::permute).derive(g::permute), "Dimension i of the result is the operand's dimension axes(i).";
    Slice: view("slice", View::Slice).attrs(&[Start, End, Step]).infer(infer::slice).derive(g::slice), "Along each dimension, positions from `start` up to `end`, `step` apart.";
    Pad: view("pad", View::Pad).attrs(&[Low, High, Value]).infer(infer::pad).derive(g::pad), "More elements before and after each dimension, all one number.";
    Flip: view("flip", View::Flip).attrs(&[Axes]).infer(infer::along).derive(g::flip), "Backwards along axes.";
    Skew: view("skew", View::Skew).attrs(&[Axis, Length, Stride, Dilation]).infer(infer::skew).derive(g::skew),
        "Element (o, k) of the axis and the last dimension is the operand's (o * stride + k * dilation, k).";
    Unskew: view("unskew", View::Unskew).attrs(&[Axis, Length, Stride, Dilation]).infer(infer::unskew).derive(g::unskew),
        "Puts elements (o, k) to (o * stride + k * dilation, k), zeros elsewhere: the opposite of `skew`.";
    Windows: Row::new("windows", 1, Compound(w::windows)).attrs(&[Axis, Window, Stride, Dilation]).infer(infer::windows).through(),
        "Windows along the axis: a new last dimension holds the elements of each.";
    Concat: Row::new("concat", 2, Meaning::Concat).some().attrs(&[Axis]).infer(infer::concat).derive(g::concat), "One tensor after the other along the axis.";

    // Elements chosen by positions.
    Gather: Row::new("gather", 2, Meaning::Gather).attrs(&[Axis]).infer(infer::gather).derive(g::gather),
        "Along the axis, the elements at the positions that the second tensor holds. The other dimensions are equal. An element beyond the end is 0.";
    ScatterAdd: Row::new("scatter_add", 3, Compound(scatter::scatter_add)).of(NUMBERS).attrs(&[Axis]).infer(infer::scatter).derive(g::scatter_add),
        "`scatter_add x, index, y`: x, with each element of y added along the axis at the position that the index holds. A position beyond the end adds nothing. Sums of floats of 16 and 32 bits are in no order, so their last digits may change from run to run.";
    AddAt: Row::new("add_at", 3, Meaning::AddAt).of(WORDS).attrs(&[Axis]).infer(infer::scatter).derive(g::scatter_add),
        "The same of elements of 32 bits: what `scatter_add` of at most 32 bits is made of.";
    IndexSelect: Row::new("index_select", 2, Compound(d::index_select)).attrs(&[Axis]).infer(infer::index_select).through(),
        "The slices along the axis at the positions that the second tensor, of one dimension, holds.";

    // Products.
    Matmul: Row::new("matmul", 2, Meaning::Matmul).of(NUMBERS).infer(infer::matmul).derive(g::matmul),
        "The product of matrices in the last two dimensions; the dimensions before are equal.";
    Conv2d: Row::new("conv2d", 2, Compound(w::conv2d)).of(FLOATS).attrs(&[Stride, Padding, Dilation, Groups]).infer(infer::conv2d).through(),
        "Convolution of [images, channels, height, width] with [channels out, channels in a group, height, width].";
    AvgPool2d: Row::new("avg_pool2d", 1, Compound(w::avg_pool2d)).of(FLOATS).attrs(&[Window, Stride, Padding]).infer(infer::pool2d).through(),
        "The mean of each window of the last two of four dimensions; padding counts as zeros.";
    MaxPool2d: Row::new("max_pool2d", 1, Compound(w::max_pool2d)).of(FLOATS).attrs(&[Window, Stride, Padding]).infer(infer::pool2d).through(),
        "The greatest of each window of the last two of four dimensions.";
}

impl Op {
    /// The operation's row.
    pub const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
    /// The printed name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
    /// The operation of this printed name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }
    /// What it is made of, if of other operations.
    pub const fn decomposition(self) -> Option<super::row::Decompose> {
        match self.row().meaning {
            Compound(by) => Some(by),
            Meaning::Input
            | Meaning::Full
            | Meaning::Iota
            | Pointwise(_)
            | Meaning::Convert
            | Meaning::Reduce(_)
            | Meaning::View(_)
            | Meaning::Concat
            | Meaning::Gather
            | Meaning::Scan
            | Meaning::Merge(_)
            | Meaning::AddAt
            | Meaning::Matmul => None,
        }
    }
}

/// The reference: every operation in the table's order, as a table of Markdown.
pub fn reference() -> String {
    let mut text = String::from("| operation | attributes | what it computes | derivative |\n|---|---|---|---|\n");
    for op in Op::ALL {
        let row = op.row();
        let attrs: Vec<String> = row.attrs.iter().map(|kind| format!("`{}`", kind.name())).collect();
        let derivative = match row.derivative {
            Derivative::Zero => "none",
            Derivative::Rule(_) => "a rule",
            Derivative::Decomposed => "by what it is made of",
        };
        text += &format!("| `{}` | {} | {} | {derivative} |\n", row.name, attrs.join(", "), row.doc);
    }
    text
}
