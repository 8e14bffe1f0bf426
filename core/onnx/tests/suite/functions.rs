//! Functions of models: which one a node calls, and how many nodes they may become.

use crate::models::{FLOAT, computed, imported, model, node, refused, value};
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

#[test]
fn functions_become_a_limited_number_of_nodes() {
    // Each function calls the one before it twice.
    let mut model = model(vec![value("x", FLOAT, &[2])], vec![], vec![called("F29", "", "x", "y")]);
    model.functions.push(function("F0", "", vec![node("Identity", &["a"], &["b"], vec![])]));
    for number in 1..30 {
        let before = format!("F{}", number - 1);
        let twice = vec![called(&before, "", "a", "half"), called(&before, "", "half", "b")];
        model.functions.push(function(&format!("F{number}"), "", twice));
    }
    let refused = refused(&model, &[&[2]]);
    let (outer, why) = ("node 0, F29: node 0, F28: ", "the graph has more than 1048576 nodes");
    assert!(refused.message.starts_with(outer) && refused.message.contains(why), "{}", refused.message);
    assert!(refused.message.len() < 250, "deep inside not each function is named: {}", refused.message);
    // Half as many are fine where they are few.
    model.graph.as_mut().expect("a graph").node[0].op_type = "F9".into();
    imported(&model, &[&[2]]).unwrap_or_else(|error| panic!("{}", error.message));
}
