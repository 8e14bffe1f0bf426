//! A model: a file that was read, with its inputs and outputs, and its weights as constants.
//!
//! Invariant: the model has a graph, and each of its weights has a type that tensors have.

use crate::constant::{Constant, External, element};
use crate::error::file;
use crate::proto::{self, FunctionProto, GraphProto, ModelProto, OperatorSetIdProto};
use girih_ir::Scalar;
use girih_tensor::Made;
use prost::Message;
use std::collections::HashMap;

/// A model that was read.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) graph: GraphProto,
    pub(crate) functions: Vec<FunctionProto>,
    pub(crate) opsets: Vec<OperatorSetIdProto>,
    pub(crate) weights: HashMap<String, Constant>,
    inputs: Vec<Input>,
}

/// An input of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub element: Scalar,
    /// Its dimensions; none if the file does not say how many there are.
    pub dimensions: Option<Vec<Dimension>>,
}

/// What a file says of a dimension's length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The length.
    Length(u64),
    /// Any; with a name, the same as others of that name.
    Any(String),
}

impl Model {
    /// Reads a model. `external` gives what large models keep in files beside them.
    ///
    /// # Errors
    /// If the bytes are no model, or a weight cannot be read.
    pub fn read(bytes: &[u8], external: &mut External<'_>) -> Made<Model> {
        let model = ModelProto::decode(bytes).map_err(|error| file(format!("this is no ONNX model: {error}")))?;
        let Some(mut graph) = model.graph else { return Err(file("this is no ONNX model: it has no graph")) };
        if let Some(sparse) = graph.sparse_initializer.first() {
            let name = sparse.values.as_ref().map_or("", |values| &values.name);
            return Err(file(format!("the tensor `{name}` is sparse, which tensors are not")));
        }
        let mut weights = HashMap::new();
        for tensor in std::mem::take(&mut graph.initializer) {
            weights.insert(tensor.name.clone(), Constant::read(&tensor, external)?);
        }
        // Files of the first versions list weights among the inputs.
        let given = graph.input.iter().filter(|input| !weights.contains_key(&input.name));
        let inputs = given.map(input).collect::<Made<Vec<Input>>>()?;
        Ok(Model { graph, functions: model.functions, opsets: model.opset_import, weights, inputs })
    }

    /// What it is given, in order.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    /// The names of what it gives, in order.
    pub fn outputs(&self) -> Vec<&str> {
        self.graph.output.iter().map(|output| &*output.name).collect()
    }
}

fn input(input: &proto::ValueInfoProto) -> Made<Input> {
    let name = input.name.clone();
    let Some(tensor) = input.ty.as_ref().and_then(|ty| ty.tensor_type.as_ref()) else {
        return Err(file(format!("the input `{name}` is no tensor")));
    };
    let element = element(tensor.elem_type).map_err(|why| file(format!("the input `{name}`: {why}")))?;
    let dimension = |dimension: &proto::DimensionProto| match &dimension.value {
        Some(proto::Dimension::Length(length)) => {
            u64::try_from(*length).map_or(Dimension::Any(String::new()), Dimension::Length)
        }
        Some(proto::Dimension::Named(name)) => Dimension::Any(name.clone()),
        None => Dimension::Any(String::new()),
    };
    let dimensions = tensor.shape.as_ref().map(|shape| shape.dim.iter().map(dimension).collect());
    Ok(Input { name, element, dimensions })
}
