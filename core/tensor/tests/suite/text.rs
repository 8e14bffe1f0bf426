//! The text of graphs: printed and read back.

use crate::random;
use crate::samples::sample;
use girih_ir::Scalar;
use girih_tensor::{Op, decompose, differentiate, text};

#[test]
fn random_graphs_are_read_back() {
    for seed in 0..girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 200, 5000) {
        let (graph, _) = random::graph(seed, Scalar::F32, 12);
        for graph in [decompose(&graph).expect("it is decomposed"), graph] {
            let read = text::parse(&graph.to_string()).unwrap_or_else(|error| panic!("{}\n{graph}", error.message));
            assert_eq!(read, graph, "seed {seed}");
        }
    }
}

#[test]
fn each_row_is_read_back() {
    for op in Op::ALL {
        let (graph, _) = sample(*op, Scalar::F32);
        assert_eq!(text::parse(&graph.to_string()).expect("it is read"), graph, "{}", op.name());
        assert_eq!(Op::from_name(op.name()), Some(*op), "names are unique");
    }
}

#[test]
fn a_derivative_is_a_graph_like_others() {
    let text_of_square =
        "%0: f32[2] = input to(f32) sizes(2)\n%1: f32[2] = mul %0, %0\n%2: f32[] = sum %1 axes(0)\nreturn %2\n";
    let graph = text::parse(text_of_square).expect("it is read");
    assert_eq!(graph.to_string(), text_of_square);
    let derivative = differentiate(&graph, 0, &[0]).expect("a derivative").to_string();
    let expected = "\
%0: f32[2] = input to(f32) sizes(2)
%1: f32[2] = mul %0, %0
%2: f32[] = sum %1 axes(0)
%3: f32[] = full to(f32) sizes() value(1.0)
%4: f32[1] = reshape %3 sizes(1)
%5: f32[2] = broadcast %4 sizes(2)
%6: f32[2] = mul %5, %0
%7: f32[2] = mul %5, %0
%8: f32[2] = add %6, %7
return %2, %8
";
    assert_eq!(derivative, expected);
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    let refused = |text: &str| text::parse(text).expect_err(text).message;
    assert_eq!(refused(""), "line 1: a graph ends with `return`");
    assert_eq!(refused("%0: f32[2] = inptu"), "line 1: there is no operation `inptu`");
    assert_eq!(refused("%1: f32[2] = input"), "line 1: this node is `%0`: nodes are numbered in order");
    assert_eq!(refused("%0: f32[3] = input to(f32) sizes(2)"), "line 1: `input` gives f32[2], not f32[3]");
    assert_eq!(
        refused("%0: f32[2] = input to(f32) sizes(2)\n%1: f32[2] = neg %1"),
        "line 2: `%1` is no node before this one"
    );
    assert_eq!(refused("%0: f32[2] = input to(f32) sizes(x)"), "line 1: `sizes` cannot be `x`");
}
