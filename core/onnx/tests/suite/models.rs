//! Models for tests: written here node by node, and computed by the interpreter.

use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use girih_onnx::proto::{
    AttributeProto, Dimension, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use girih_onnx::{Constant, Imported, Model};
use girih_tensor::{Data, TensorType, interpret};
use prost::Message;

/// Numbers of `TensorProto.DataType`.
pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;

/// An input; a length of -1 is left open.
pub fn value(name: &str, element: i32, lengths: &[i64]) -> ValueInfoProto {
    let dim = |length: &i64| DimensionProto { value: (*length >= 0).then_some(Dimension::Length(*length)) };
    let shape = Some(TensorShapeProto { dim: lengths.iter().map(dim).collect() });
    let ty = Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type: element, shape }) });
    ValueInfoProto { name: name.into(), ty }
}
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        op_type: operator.into(),
        input: names(inputs),
        output: names(outputs),
        attribute,
        ..NodeProto::default()
    }
}
pub fn int(name: &str, number: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: number, kind: 2, ..AttributeProto::default() }
}
pub fn ints(name: &str, all: &[i64]) -> AttributeProto {
    AttributeProto { name: name.into(), ints: all.to_vec(), kind: 7, ..AttributeProto::default() }
}
pub fn text(name: &str, text: &str) -> AttributeProto {
    AttributeProto { name: name.into(), s: text.into(), kind: 3, ..AttributeProto::default() }
}
pub fn floats(name: &str, lengths: &[i64], all: &[f32]) -> TensorProto {
    let float_data = all.to_vec();
    TensorProto { name: name.into(), dims: lengths.to_vec(), data_type: FLOAT, float_data, ..TensorProto::default() }
}
pub fn integers(name: &str, lengths: &[i64], all: &[i64]) -> TensorProto {
    let int64_data = all.to_vec();
    TensorProto { name: name.into(), dims: lengths.to_vec(), data_type: INT64, int64_data, ..TensorProto::default() }
}

/// A model of these nodes that gives `y`.
pub fn model(input: Vec<ValueInfoProto>, initializer: Vec<TensorProto>, node: Vec<NodeProto>) -> ModelProto {
    let output = vec![value("y", FLOAT, &[])];
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 21 }];
    let graph = Some(GraphProto { node, input, initializer, output, ..GraphProto::default() });
    ModelProto { graph, opset_import, ..ModelProto::default() }
}

/// The graph for inputs of f32 in these shapes.
pub fn imported(model: &ModelProto, shapes: &[&[u64]]) -> Result<Imported, Diagnostic> {
    let none = |_: &str, _, _| Err("its elements are in another file".to_owned());
    let types: Vec<TensorType> = shapes.iter().map(|shape| TensorType::of(Scalar::F32, shape)).collect();
    Model::read(&model.encode_to_vec(), &mut { none })?.graph(&types, &mut |_| Ok(None))
}
/// Why a model is refused.
pub fn refused(model: &ModelProto, shapes: &[&[u64]]) -> Diagnostic {
    match imported(model, shapes) {
        Ok(imported) => panic!("it is not refused, but becomes {} nodes", imported.graph.nodes.len()),
        Err(error) => error,
    }
}
/// What a model gives first, with its shape.
pub fn computed(model: &ModelProto, inputs: &[(&[u64], &[f64])]) -> (Vec<u64>, Vec<f64>) {
    let shapes: Vec<&[u64]> = inputs.iter().map(|(shape, _)| *shape).collect();
    let imported = imported(model, &shapes).unwrap_or_else(|error| panic!("{}", error.message));
    let given = inputs.iter().map(|(_, numbers)| Data::Floats(numbers.to_vec()));
    let all: Vec<Data> = given.chain(imported.weights.iter().map(Constant::data)).collect();
    let output = interpret(&imported.graph, &all).unwrap_or_else(|error| panic!("{}", error.message)).remove(0);
    (imported.graph.shape(imported.graph.outputs[0]).lengths(), output.floats())
}
