//! What the table says about an operation.

use super::Made;
use super::attrs::{Attr, AttrKind};
use super::graph::{Graph, Node, NodeId};
use super::infer;
use super::ops::Op;
use super::size::TensorType;
use girih_ir::ScalarSet;

/// The type of a result, or why there is none.
pub type Infer = fn(Op, &[&TensorType], &[Attr]) -> Made<TensorType>;
/// Writes other operations that compute the same as a node, and gives the last of them.
pub type Decompose = fn(&mut Graph, &Node) -> Made<NodeId>;
/// Writes the derivatives with respect to a node's operands: of the node, its own tensor and the derivative with respect to that.
pub type Derive = fn(&mut Graph, &Node, NodeId, NodeId) -> Made<Vec<Option<NodeId>>>;

/// How elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// Where the first greatest is.
    ArgMax,
    /// Where the first least is.
    ArgMin,
    /// Whether some is true.
    Any,
    /// Whether all are true.
    All,
}

/// How elements are moved: each element of the result is one of the operand, or a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Repeats dimensions of length 1.
    Broadcast,
    /// The same elements in order in another shape.
    Reshape,
    /// Dimensions in another order.
    Permute,
    /// Positions from a first to a last, some of them left out.
    Slice,
    /// More elements around, all one number.
    Pad,
    /// Backwards along axes.
    Flip,
    /// Windows: row `k` along the last axis begins `k` steps later.
    Skew,
    /// The opposite of `Skew`, with zeros where it has nothing.
    Unskew,
}

/// In which order elements are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The least first, NaN last.
    Up,
    /// The greatest first, NaN before all.
    Down,
}

/// What an operation means, and so how kernels compute it.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// Given from outside.
    Input,
    /// One number everywhere.
    Full,
    /// Positions.
    Iota,
    /// An operation of the IR, element by element.
    Pointwise(girih_ir::Op),
    /// The same numbers as another type.
    Convert,
    /// Elements along axes become one.
    Reduce(Reduction),
    /// Elements are moved.
    View(View),
    /// One tensor after the other along an axis.
    Concat,
    /// Elements at positions that another tensor holds.
    Gather,
    /// Each element becomes the sum of those up to it along an axis.
    Scan,
    /// Where the elements of two sorted halves of a row are in order.
    Merge(Order),
    /// Elements are added to a tensor at positions that another tensor holds.
    AddAt,
    /// Products of matrices.
    Matmul,
    /// What these other operations mean together.
    Compound(Decompose),
}

/// How derivatives pass an operation.
#[derive(Clone, Copy, Debug)]
pub enum Derivative {
    /// They do not: the result does not change with its operands, or changes in steps only.
    Zero,
    /// By this rule.
    Rule(Derive),
    /// The operation is decomposed first.
    Decomposed,
}

/// How many operands there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This many.
    Exactly(usize),
    /// One or more.
    Some,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The printed name.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// How many operands it takes.
    pub arity: Arity,
    /// What elements the operand that decides may have: the first, or the second of `where`.
    pub set: ScalarSet,
    /// Its attributes, in order.
    pub attrs: &'static [AttrKind],
    /// The rule of shapes and elements.
    pub infer: Infer,
    /// What it means.
    pub meaning: Meaning,
    /// How derivatives pass it.
    pub derivative: Derivative,
}

impl Row {
    /// A row of an operation that takes so many operands of any elements and gives what the first one is.
    pub(crate) const fn new(name: &'static str, arity: usize, meaning: Meaning) -> Row {
        Row {
            name,
            doc: "",
            arity: Arity::Exactly(arity),
            set: TensorType::ELEMENTS,
            attrs: &[],
            infer: infer::same,
            meaning,
            derivative: Derivative::Zero,
        }
    }
    pub(crate) const fn doc(self, doc: &'static str) -> Row {
        Row { doc, ..self }
    }
    pub(crate) const fn some(self) -> Row {
        Row { arity: Arity::Some, ..self }
    }
    pub(crate) const fn of(self, set: ScalarSet) -> Row {
        Row { set, ..self }
    }
    pub(crate) const fn attrs(self, attrs: &'static [AttrKind]) -> Row {
        Row { attrs, ..self }
    }
    pub(crate) const fn infer(self, infer: Infer) -> Row {
        Row { infer, ..self }
    }
    pub(crate) const fn derive(self, rule: Derive) -> Row {
        Row { derivative: Derivative::Rule(rule), ..self }
    }
    /// Of what is decomposed before it is differentiated.
    pub(crate) const fn through(self) -> Row {
        Row { derivative: Derivative::Decomposed, ..self }
    }
}
