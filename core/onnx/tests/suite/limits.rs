//! Numbers that a model says: none of them makes the import panic, or make more than the limits allow.

use crate::models::{FLOAT, floats, int, integers, ints, model, node, refused, text, value};
use girih_onnx::proto::{AttributeProto, ModelProto, TensorProto};

/// A model of one node over `x`, f32[2, 3], and weights.
fn one(operator: &str, inputs: &[&str], attributes: Vec<AttributeProto>, weights: Vec<TensorProto>) -> ModelProto {
    model(vec![value("x", FLOAT, &[2, 3])], weights, vec![node(operator, inputs, &["y"], attributes)])
}
/// Each is refused, for a reason that begins so.
fn all_refused(cases: Vec<(ModelProto, &str)>) {
    for (model, wanted) in cases {
        let error = refused(&model, &[&[2, 3]]);
        let node = model.graph.as_ref().expect("a graph").node.last().expect("a node").op_type.clone();
        let why = error.message.split_once(&format!("{node}: ")).map_or("", |(_, why)| why);
        assert!(why.starts_with(wanted), "{}", error.message);
    }
}
/// One number, or as many as there are.
fn numbers(name: &str, all: &[i64]) -> TensorProto {
    integers(name, &[all.len() as i64], all)
}
fn single(name: &str, number: i64) -> TensorProto {
    integers(name, &[], &[number])
}

#[test]
fn inputs_of_one_number_have_one() {
    let why = "is one number, and";
    let none = |name: &str| integers(name, &[0], &[]);
    let (one_number, step) = (single("a", 1), single("c", 1));
    let cases = [
        one("Pad", &["x", "p", "v"], vec![], vec![numbers("p", &[0, 1, 0, 1]), floats("v", &[0], &[])]),
        one("Range", &["n", "a", "c"], vec![], vec![none("n"), one_number.clone(), step]),
        one("HannWindow", &["n"], vec![], vec![none("n")]),
        one("TopK", &["x", "n"], vec![], vec![none("n")]),
        one("Trilu", &["x", "n"], vec![], vec![none("n")]),
        one("OneHot", &["i", "n", "v"], vec![], vec![numbers("i", &[1]), none("n"), floats("v", &[2], &[0.0, 1.0])]),
        one("MelWeightMatrix", &["n", "a", "a", "a", "a"], vec![], vec![none("n"), one_number.clone()]),
        one("Dropout", &["x", "n", "a"], vec![], vec![floats("n", &[0], &[]), one_number]),
    ];
    for model in cases {
        let error = refused(&model, &[&[2, 3]]).message;
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn sizes_that_no_tensor_has_are_refused() {
    let huge = 1 << 62;
    let picture = |operator: &str, attributes: Vec<AttributeProto>| {
        let node = node(operator, &["x"], &["y"], attributes);
        model(vec![value("x", FLOAT, &[1, 4, 2, 2])], vec![], vec![node])
    };
    for (model, wanted) in [
        (picture("DepthToSpace", vec![int("blocksize", 1 << 32)]), "its `blocksize` is 4294967296, and has to be"),
        (picture("DepthToSpace", vec![int("blocksize", 0)]), "its `blocksize` is 0, and has to be from 1"),
        (picture("DepthToSpace", vec![int("blocksize", -2)]), "its `blocksize` is -2, and has to be from 1"),
        (picture("DepthToSpace", vec![int("blocksize", 3)]), "it makes blocks of 3 by 3 elements from 4 channels"),
        (picture("SpaceToDepth", vec![int("blocksize", 3)]), "it takes blocks of 3 by 3 elements from 2 by 2"),
        (picture("LRN", vec![int("size", huge)]), "its `size` is 4611686018427387904"),
        (picture("MaxPool", vec![ints("kernel_shape", &[huge, 2])]), "a number of its `kernel_shape` is 46116"),
        (
            picture("MaxPool", vec![ints("kernel_shape", &[2, 2]), ints("pads", &[i64::MIN, 0, 0, 0])]),
            "its `pads` hold -9223372036854775808",
        ),
    ] {
        let error = refused(&model, &[&[1, 4, 2, 2]]).message;
        assert!(error.contains(wanted), "{error}");
    }
    let pads = |low: i64| vec![numbers("p", &[0, low, 0, 1])];
    let edge = || vec![text("mode", "edge")];
    all_refused(vec![
        (one("Split", &["x"], vec![int("num_outputs", huge)], vec![]), "its `num_outputs` is 4611686018427387904"),
        (one("Split", &["x"], vec![int("num_outputs", 2)], vec![]), "it divides its input into 2 parts, and has 1"),
        (one("Split", &["x", "s"], vec![], vec![numbers("s", &[1])]), "it divides 2 elements into parts of [1]"),
        (one("Unsqueeze", &["x", "a"], vec![], vec![numbers("a", &[1, 1])]), "it names axis 1 twice"),
        (one("Resize", &["x", "", "", "s"], vec![], vec![numbers("s", &[2, huge])]), "it makes 4611686018427388000"),
        (one("HannWindow", &["n"], vec![], vec![single("n", 1 << 61)]), "its size is 2305843009213693952"),
        (one("HannWindow", &["n"], vec![], vec![single("n", -1)]), "its size is -1, and has to be from 0"),
        (one("Tile", &["x", "r"], vec![], vec![numbers("r", &[huge, huge])]), "a length is 4611686018427387904"),
        (one("Pad", &["x", "p"], edge(), pads(i64::MIN)), "its numbers of elements around hold -92233720368547758"),
        (one("LRN", &["v"], vec![int("size", 3)], vec![floats("v", &[2], &[1.0, 2.0])]), "it needs [images, channels"),
        (one("DFT", &["v"], vec![], vec![floats("v", &[2], &[1.0, 2.0])]), "it names axis"),
        (
            one("NegativeLogLikelihoodLoss", &["x", "t"], vec![], vec![single("t", 0)]),
            "it takes [n, classes, ..] and [n, ..], and is given f32[2, 3] and i64[]",
        ),
        (
            one("GroupNormalization", &["v", "v", "v"], vec![int("num_groups", 1)], vec![floats("v", &[1], &[1.0])]),
            "it needs [images, channels",
        ),
    ]);
}

#[test]
fn constants_are_computed_up_to_a_number_of_elements() {
    let why = "elements, and one that is computed while the graph is written has at most 16777216";
    let range = |limit: i64| vec![single("a", 0), single("b", limit), single("c", 1)];
    let infinite = vec![floats("a", &[], &[0.0]), floats("b", &[], &[f32::INFINITY]), floats("c", &[], &[1.0])];
    let mode = |mode: &str| vec![text("mode", mode)];
    let cases = [
        one("Range", &["a", "b", "c"], vec![], range(500_000_000)),
        one("Range", &["a", "b", "c"], vec![], range(i64::MAX)),
        one("Range", &["a", "b", "c"], vec![], infinite),
        one("Pad", &["x", "p"], mode("edge"), vec![numbers("p", &[0, 1_000_000_000, 0, 1])]),
        one("Pad", &["x", "p"], mode("reflect"), vec![numbers("p", &[0, 1_000_000_000, 0, 1])]),
        one("Resize", &["x", "", "", "s"], mode("linear"), vec![numbers("s", &[2, 100_000_000])]),
        one("Resize", &["x", "", "", "s"], mode("nearest"), vec![numbers("s", &[2, 100_000_000])]),
        one("BlackmanWindow", &["n"], vec![], vec![single("n", 1_000_000_000)]),
        one(
            "MelWeightMatrix",
            &["n", "n", "rate", "low", "rate"],
            vec![],
            vec![single("n", 1_000_000), single("rate", 8000), single("low", 0)],
        ),
        one(
            "AffineGrid",
            &["t", "s"],
            vec![],
            vec![floats("t", &[1, 2, 3], &[0.0; 6]), numbers("s", &[1, 1, 1 << 20, 1 << 20])],
        ),
    ];
    for model in cases {
        let error = refused(&model, &[&[2, 3]]);
        assert!(error.message.starts_with("node 0, ") && error.message.contains(why), "{}", error.message);
        assert!(error.hint.is_some());
    }
    // What leads to a constant counts too.
    let nodes = vec![node("ConstantOfShape", &["s"], &["z"], vec![]), node("NonZero", &["z"], &["y"], vec![])];
    let error = refused(&model(vec![], vec![numbers("s", &[1 << 30])], nodes), &[]).message;
    assert!(error.starts_with("node 1, NonZero: ") && error.contains(why), "{error}");
}
