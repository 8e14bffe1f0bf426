//! Mistakes that were accepted once, and what is said of common ones: the node, the reason, and what to do.

use crate::models::{FLOAT, floats, integers, model, node, refused, text, value};
use girih_onnx::Model;
use girih_onnx::proto::ModelProto;
use prost::Message;

fn one(operator: &str, weights: &[&str]) -> ModelProto {
    let inputs = [&["x"], weights].concat();
    model(vec![value("x", FLOAT, &[2, 3])], vec![], vec![node(operator, &inputs, &["y"], vec![])])
}

#[test]
fn what_has_no_meaning_is_refused() {
    let mut reshape = one("Reshape", &["s"]);
    reshape.graph.as_mut().expect("a graph").initializer = vec![integers("s", &[2], &[-1, -1])];
    let why = "node 0, Reshape: its shape [-1, -1] leaves more than one length open by -1";
    assert_eq!(refused(&reshape, &[&[2, 3]]).message, why);

    for (scale, wanted) in [(f32::NAN, "NaN"), (-2.0, "-2"), (0.0, "0"), (f32::INFINITY, "inf")] {
        let mut resize = one("Resize", &["", "s"]);
        resize.graph.as_mut().expect("a graph").initializer = vec![floats("s", &[2], &[1.0, scale])];
        let error = refused(&resize, &[&[2, 3]]);
        assert_eq!(error.message, format!("node 0, Resize: it scales axis 1 by {wanted}"));
        assert_eq!(error.hint.as_deref(), Some("a scale is a number greater than 0"));
    }

    let weights = vec![floats("w", &[1, 4, 3], &[0.0; 12]), floats("r", &[1, 4, 1], &[0.0; 4])];
    let lstm = |direction: &str| {
        let lstm = node("LSTM", &["x", "w", "r"], &["y"], vec![text("direction", direction)]);
        model(vec![value("x", FLOAT, &[2, 1, 3])], weights.clone(), vec![lstm])
    };
    let error = refused(&lstm("sideways"), &[&[2, 1, 3]]);
    assert_eq!(error.message, "node 0, LSTM: its direction `sideways` is not there");
    assert_eq!(error.hint.as_deref(), Some("it is `forward`, `reverse` or `bidirectional`"));
    let why = "node 0, LSTM: its direction is `bidirectional`, and its weights are for 1 directions";
    assert_eq!(refused(&lstm("bidirectional"), &[&[2, 1, 3]]).message, why);

    let twice = ["Neg", "Abs"].map(|operator| node(operator, &["x"], &["y"], vec![]));
    let error = refused(&model(vec![value("x", FLOAT, &[2])], vec![], twice.to_vec()), &[&[2]]);
    assert_eq!(error.message, "node 1, Abs: it gives `y`, which something before it gives already");
}

#[test]
fn operators_that_are_not_there_have_a_hint() {
    let hint = |operator: &str, domain: &str| {
        let mut model = one(operator, &[]);
        model.graph.as_mut().expect("a graph").node[0].domain = domain.into();
        refused(&model, &[&[2, 3]]).hint.expect("a hint")
    };
    assert!(hint("NonMaxSuppression", "").starts_with("`docs/onnx.md` lists the operators"));
    assert!(hint("Rellu", "").starts_with("there is `Relu`"));
    assert!(hint("softmax", "").starts_with("there is `Softmax`"));
    assert!(hint("BiasGelu", "com.microsoft").contains("before it was optimised"));
    assert!(hint("Relu", "ai.onnx.ml").contains("ONNX's own domain"));
}

#[test]
fn inputs_are_those_that_the_file_declares() {
    let model = model(vec![value("x", FLOAT, &[-1, 3])], vec![], vec![node("Neg", &["x"], &["y"], vec![])]);
    let why = "the input `x` is f32[?, 3], and f32";
    for (shape, given) in [(&[5_u64, 4][..], "[5, 4]"), (&[3], "[3]"), (&[1, 5, 3], "[1, 5, 3]")] {
        let error = refused(&model, &[shape]);
        assert_eq!(error.message, format!("{why}{given} is given"));
        assert!(error.hint.expect("a hint").contains("dynamic_axes"));
    }
    let error = refused(&model, &[]);
    assert_eq!(error.message, "the model has 1 inputs, and 0 are given");
    assert_eq!(error.hint.as_deref(), Some("give one tensor for each of `x`"));
    crate::models::imported(&model, &[&[5, 3]]).unwrap_or_else(|error| panic!("{}", error.message));
}

#[test]
fn files_of_other_kinds_are_told() {
    let whole = one("Neg", &[]).encode_to_vec();
    let cases: [(&[u8], &str, &str); 7] = [
        (b"", "the file is empty", "again"),
        (b"\x89PNG\r\n\x1a\n", "it is a picture (PNG)", "give the picture to the model"),
        (b"PK\x03\x04\x00\x00", "it is a zip archive, as PyTorch's `.pt`", "torch.onnx.export"),
        (b"\x80\x02}q\x00", "it is a pickle, as PyTorch's old", "torch.onnx.export"),
        (b"version https://git-lfs.github.com/spec/v1", "it is a pointer of Git LFS", "git lfs pull"),
        (b"<!DOCTYPE html>", "it is a page of the web", "the address of the file itself"),
        (&whole[..whole.len() / 2], "it ends too early", "part of a download"),
    ];
    for (bytes, what, hint) in cases {
        let error = Model::read(bytes, &mut |_, _, _| Err(String::new())).expect_err("no model");
        assert!(error.message.starts_with(&format!("this is no ONNX model: {what}")), "{}", error.message);
        assert!(error.hint.as_ref().is_some_and(|said| said.contains(hint)), "{:?}", error.hint);
    }
}
