//! A model: a file that was read, with its inputs and outputs, and its weights as constants.
//!
//! Invariant: the model has a graph, and each of its weights has a type that tensors have.

use crate::constant::{Constant, External, element};
use crate::error::file;
use crate::foreign;
use crate::proto::{self, FunctionProto, GraphProto, ModelProto, OperatorSetIdProto};
use girih_ir::Scalar;
use girih_tensor::{Made, TensorType};
use prost::Message;
use std::collections::HashMap;
use std::fmt;

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

impl Input {
    /// Whether a tensor of a type may be given. A length of 0 says nothing: some exporters write it for one that they do not know.
    ///
    /// # Errors
    /// If it has other elements, another number of dimensions, or another length than the file says.
    pub(crate) fn takes(&self, ty: &TensorType) -> Made<()> {
        let (name, wanted) = (&self.name, self.element);
        if ty.element != wanted {
            let why = format!("the input `{name}` has elements of type {wanted}, and {ty} is given");
            return Err(file(why).hint(format!("convert the tensor to {wanted} before")));
        }
        let Some(dimensions) = &self.dimensions else { return Ok(()) };
        let fits = |(dimension, length): (&Dimension, &u64)| match dimension {
            Dimension::Length(0) | Dimension::Any(_) => true,
            Dimension::Length(wanted) => wanted == length,
        };
        let lengths = ty.shape.lengths();
        if dimensions.len() == lengths.len() && dimensions.iter().zip(&lengths).all(fits) {
            return Ok(());
        }
        let shown: Vec<String> = dimensions.iter().map(Dimension::to_string).collect();
        let why = format!("the input `{name}` is {wanted}[{}], and {ty} is given", shown.join(", "));
        Err(file(why).hint("the file fixes these lengths: export the model with `dynamic_axes` or `dynamic_shapes` where they are to differ"))
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dimension::Length(0) => f.write_str("?"),
            Dimension::Length(length) => write!(f, "{length}"),
            Dimension::Any(name) if name.is_empty() => f.write_str("?"),
            Dimension::Any(name) => f.write_str(name),
        }
    }
}

impl Model {
    /// Reads a model. `external` gives what large models keep in files beside them.
    ///
    /// # Errors
    /// If the bytes are no model, or a weight cannot be read.
    pub fn read(bytes: &[u8], external: &mut External<'_>) -> Made<Model> {
        let model = ModelProto::decode(bytes).map_err(|error| foreign::no_model(bytes, &error.to_string()))?;
        let Some(mut graph) = model.graph else { return Err(foreign::no_model(bytes, "it has no graph")) };
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
