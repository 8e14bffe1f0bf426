//! Functions of models: which one a node calls.

use crate::models::{FLOAT, computed, model, node, refused, value};
use girih_onnx::proto::{FunctionProto, ModelProto, NodeProto, OperatorSetIdProto};

fn function(name: &str, overload: &str, node: Vec<NodeProto>) -> FunctionProto {
    let opset = |domain: &str| OperatorSetIdProto { domain: domain.into(), version: 21 };
    FunctionProto {
        name: name.into(),
        domain: "own".into(),
        overload: overload.into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node,
        opset_import: vec![opset(""), opset("own")],
        ..FunctionProto::default()
    }
}
fn called(name: &str, overload: &str, input: &str, output: &str) -> NodeProto {
    let mut node = node(name, &[input], &[output], vec![]);
    (node.domain, node.overload) = ("own".into(), overload.into());
    node
}
fn calling(overload: &str) -> ModelProto {
    let mut model = model(vec![value("x", FLOAT, &[2])], vec![], vec![called("F", overload, "x", "y")]);
    let single = |operator: &str| vec![node(operator, &["a"], &["b"], vec![])];
    model.functions = vec![function("F", "neg", single("Neg")), function("F", "", single("Abs"))];
    model
}

#[test]
fn a_node_calls_the_function_of_its_overload() {
    let x: (&[u64], &[f64]) = (&[2], &[-1.0, 2.0]);
    assert_eq!(computed(&calling("neg"), &[x]).1, [1.0, -2.0]);
    assert_eq!(computed(&calling(""), &[x]).1, [1.0, 2.0]);
    let why = "node 0, F: the model has functions `F`, and none of the overload `exp`";
    assert_eq!(refused(&calling("exp"), &[&[2]]).message, why);
}
