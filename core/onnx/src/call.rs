//! A node as its operator sees it: inputs, attributes and the version of the standard, and the graph that it writes to.
//!
//! Invariant: an attribute of another kind than the operator expects, or an input that is missing, is an error that names it.

use crate::constant::Constant;
use crate::error::{file, operator};
use crate::import::Importer;
use crate::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};
use girih_ir::Scalar;
use girih_tensor::{Data, Graph, Made, NodeId, Number, Shape, TensorType};
use std::ops::{Deref, DerefMut};

/// A node that is written.
pub(crate) struct Call<'i, 'a> {
    pub importer: &'i mut Importer<'a>,
    pub node: &'a NodeProto,
    pub inputs: Vec<Option<NodeId>>,
    /// The version of the operators' standard that the model is written in.
    pub version: i64,
}

impl Deref for Call<'_, '_> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.importer.graph
    }
}

impl DerefMut for Call<'_, '_> {
    fn deref_mut(&mut self) -> &mut Graph {
        &mut self.importer.graph
    }
}

/// What an attribute holds, by the numbers of `AttributeProto.AttributeType`; 0 in files of the first versions, which do not say.
#[derive(Clone, Copy)]
enum Kind {
    Float = 1,
    Int = 2,
    Text = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Texts = 8,
}

impl<'a> Call<'_, 'a> {
    /// An input that has to be there.
    pub fn input(&self, number: usize) -> Made<NodeId> {
        self.optional(number).ok_or_else(|| operator(format!("it needs input {number}")))
    }
    /// An input that may be missing.
    pub fn optional(&self, number: usize) -> Option<NodeId> {
        self.inputs.get(number).copied().flatten()
    }
    /// All inputs, at least one.
    pub fn all(&self) -> Made<Vec<NodeId>> {
        self.input(0)?;
        (0..self.inputs.len()).map(|number| self.input(number)).collect()
    }
    /// Whether somebody may use an output.
    pub fn gives(&self, number: usize) -> bool {
        self.node.output.get(number).is_some_and(|name| !name.is_empty())
    }

    fn attribute(&self, name: &str, kind: Kind) -> Made<Option<&'a AttributeProto>> {
        let written = self.node.attribute.iter().find(|attribute| attribute.name == name);
        let Some(attribute) = written.and_then(|attribute| self.importer.resolved(attribute)) else { return Ok(None) };
        if attribute.kind != 0 && attribute.kind != kind as i32 {
            let why = format!("its attribute `{name}` is of another kind than it has to be");
            return Err(
                file(why).hint("`onnx.checker.check_model` finds attributes of another kind than the standard's")
            );
        }
        Ok(Some(attribute))
    }
    /// Whether an attribute is written.
    pub fn has(&self, name: &str) -> bool {
        let written = self.node.attribute.iter().find(|attribute| attribute.name == name);
        written.is_some_and(|attribute| self.importer.resolved(attribute).is_some())
    }
    /// An integer.
    pub fn int(&self, name: &str, default: i64) -> Made<i64> {
        Ok(self.attribute(name, Kind::Int)?.map_or(default, |attribute| attribute.i))
    }
    /// A truth value, which is an integer.
    pub fn flag(&self, name: &str, default: bool) -> Made<bool> {
        Ok(self.int(name, default.into())? != 0)
    }
    /// A float.
    pub fn float(&self, name: &str, default: f32) -> Made<f64> {
        Ok(self.attribute(name, Kind::Float)?.map_or(default, |attribute| attribute.f).into())
    }
    /// Integers.
    pub fn ints(&self, name: &str) -> Made<Option<Vec<i64>>> {
        Ok(self.attribute(name, Kind::Ints)?.map(|attribute| attribute.ints.clone()))
    }
    /// Floats.
    pub fn floats(&self, name: &str) -> Made<Option<Vec<f64>>> {
        let wide = |attribute: &AttributeProto| attribute.floats.iter().map(|x| f64::from(*x)).collect();
        Ok(self.attribute(name, Kind::Floats)?.map(wide))
    }
    /// A text.
    pub fn text(&self, name: &str, default: &str) -> Made<String> {
        let text = self.attribute(name, Kind::Text)?;
        Ok(text.map_or_else(|| default.to_owned(), |attribute| String::from_utf8_lossy(&attribute.s).into_owned()))
    }
    /// Texts.
    pub fn texts(&self, name: &str) -> Made<Option<Vec<String>>> {
        let texts = |attribute: &AttributeProto| {
            attribute.strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        };
        Ok(self.attribute(name, Kind::Texts)?.map(texts))
    }
    /// A tensor.
    pub fn tensor(&self, name: &str) -> Made<Option<&'a TensorProto>> {
        Ok(self.attribute(name, Kind::Tensor)?.and_then(|attribute| attribute.t.as_ref()))
    }
    /// A subgraph.
    pub fn subgraph(&self, name: &str) -> Made<&'a GraphProto> {
        let graph = self.attribute(name, Kind::Graph)?.and_then(|attribute| attribute.g.as_ref());
        graph.ok_or_else(|| file(format!("its subgraph `{name}` is missing")))
    }
    /// An element type, which is a number of `TensorProto.DataType`; none if it is not written or 0.
    pub fn element(&self, name: &str) -> Made<Option<Scalar>> {
        match self.int(name, 0)? {
            0 => Ok(None),
            number => {
                let number = i32::try_from(number).unwrap_or(-1);
                crate::constant::element(number).map(Some).map_err(|why| operator(format!("its `{name}`: {why}")))
            }
        }
    }

    /// An axis that an attribute names; negative ones count from the end.
    pub fn axis(&self, name: &str, default: i64, rank: usize) -> Made<usize> {
        axis(self.int(name, default)?, rank)
    }
    /// The elements of a node that no input leads to.
    pub fn elements(&mut self, node: NodeId) -> Made<Data> {
        self.importer.elements(node)
    }
    /// The same as integers of the platform's width.
    pub fn integers(&mut self, node: NodeId) -> Made<Vec<i64>> {
        let data = self.elements(node)?;
        Ok((0..data.len()).map(|at| i64::try_from(data.get(at).as_int()).unwrap_or(i64::MAX)).collect())
    }
    /// The integers of an input that may be missing.
    pub fn optional_integers(&mut self, number: usize) -> Made<Option<Vec<i64>>> {
        self.optional(number).map(|node| self.integers(node)).transpose()
    }
    /// Integers that older versions write as an attribute, and newer ones as an input.
    pub fn ints_or_input(&mut self, name: &str, number: usize, inputs_since: i64) -> Made<Option<Vec<i64>>> {
        if self.version < inputs_since { self.ints(name) } else { self.optional_integers(number) }
    }

    /// The type of a node's elements.
    pub fn kind(&self, node: NodeId) -> Scalar {
        self.ty(node).element
    }
    /// The lengths of a node's dimensions.
    pub fn lengths(&self, node: NodeId) -> Vec<u64> {
        self.shape(node).lengths()
    }
    /// How many dimensions a node has.
    pub fn rank(&self, node: NodeId) -> usize {
        self.shape(node).rank()
    }

    /// A constant of floats, in a type of floats.
    pub fn floats_of(&mut self, element: Scalar, lengths: &[u64], all: Vec<f64>) -> Made<NodeId> {
        self.known(TensorType::of(element, lengths), &Data::Floats(all))
    }
    /// A constant of `i64`.
    pub fn integers_of(&mut self, lengths: &[u64], all: impl IntoIterator<Item = i64>) -> Made<NodeId> {
        let data = Data::Integers(all.into_iter().map(i128::from).collect());
        self.known(TensorType::of(Scalar::I64, lengths), &data)
    }
    /// A constant.
    pub fn known(&mut self, ty: TensorType, data: &Data) -> Made<NodeId> {
        self.importer.constant(Constant::of(ty, data))
    }
    /// One number of a type, without dimensions.
    pub fn one(&mut self, element: Scalar, number: f64) -> Made<NodeId> {
        let number = if element.is_float() { Number::Float(number) } else { Number::Int(number as i128) };
        self.full(&TensorType::of(element, &[]), number)
    }

    /// The same elements in a shape of these lengths.
    pub fn shaped(&mut self, x: NodeId, lengths: &[u64]) -> Made<NodeId> {
        self.reshape(x, &Shape::of(lengths))
    }
    /// Positions from a start to an end along one axis.
    pub fn part(&mut self, x: NodeId, axis: usize, from: u64, to: u64) -> Made<NodeId> {
        self::axis(axis as i64, self.rank(x))?;
        let (mut start, mut end) = (vec![0; self.rank(x)], self.lengths(x));
        (start[axis], end[axis]) = (from, to);
        self.slice(x, &start, &end)
    }
    /// A vector along one axis of a tensor of a rank: [1, .., length, .., 1].
    pub fn along_axis(&mut self, x: NodeId, axis: usize, rank: usize) -> Made<NodeId> {
        self::axis(axis as i64, rank)?;
        let mut lengths = vec![1; rank];
        lengths[axis] = self.shape(x).elements();
        self.shaped(x, &lengths)
    }
    /// A node with dimensions of length 1 in front, to a rank.
    pub fn with_rank(&mut self, x: NodeId, rank: usize) -> Made<NodeId> {
        let lengths = self.lengths(x);
        let ones = std::iter::repeat_n(1, rank.saturating_sub(lengths.len()));
        let lengths: Vec<u64> = ones.chain(lengths).collect();
        self.shaped(x, &lengths)
    }
}

/// An axis; negative ones count from the end.
pub(crate) fn axis(axis: i64, rank: usize) -> Made<usize> {
    let from_start = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(from_start) {
        Ok(found) if found < rank => Ok(found),
        _ => Err(file(format!("it names axis {axis} of a tensor of {rank} dimensions"))),
    }
}

/// Several axes, each once, in order.
pub(crate) fn axes(all: &[i64], rank: usize) -> Made<Vec<u64>> {
    let mut found = all.iter().map(|one| axis(*one, rank).map(|axis| axis as u64)).collect::<Made<Vec<u64>>>()?;
    found.sort_unstable();
    match found.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(file(format!("it names axis {} twice", pair[0]))),
        None => Ok(found),
    }
}
