//! Derivatives, compared with differences of numbers.

use crate::random;
use crate::samples::{Dice, sample};
use girih_ir::Scalar;
use girih_tensor::ops::Derivative;
use girih_tensor::{Data, Graph, Node, Number, Op, differentiate, interpret, vector_jacobian};

/// Sums all outputs, each element with a weight of its own, to one number.
fn weighed(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    let (output, mut dice) = (graph.outputs[0], Dice(77));
    let shape = graph.shape(output).clone();
    let mut weights = graph.full(&graph.ty(output).clone(), Number::Float(0.7)).expect("a number");
    for axis in 0..shape.rank() {
        let iota = graph.iota(graph.ty(output).element, &shape, axis).expect("positions");
        let scale = graph.number(iota, dice.float(0.1, 0.5)).expect("a number");
        let part = graph.op(Op::Mul, &[iota, scale]).expect("a product");
        let part = graph.op(Op::Cos, &[part]).expect("a cosine");
        weights = graph.op(Op::Mul, &[weights, part]).expect("a product");
    }
    let product = graph.op(Op::Mul, &[output, weights]).expect("a product");
    let axes: Vec<u64> = (0..shape.rank() as u64).collect();
    graph.outputs = vec![graph.along(Op::Sum, product, &axes).expect("a sum")];
    graph
}

/// Compares the derivatives of a graph's only output, one number, with differences.
pub fn check(name: &str, graph: &Graph, inputs: &[Data]) {
    let floats: Vec<usize> = (0..inputs.len()).filter(|i| matches!(inputs[*i], Data::Floats(_))).collect();
    let with = differentiate(graph, 0, &floats).unwrap_or_else(|error| panic!("{name}: {}", error.message));
    let results = interpret(&with, inputs).expect("derivatives are computed");
    let value = |inputs: &[Data]| interpret(graph, inputs).expect("the graph is computed")[0].get(0).as_float();
    for (place, input) in floats.iter().enumerate() {
        for at in 0..inputs[*input].len() {
            let shifted = |by: f64| {
                let mut inputs = inputs.to_vec();
                if let Data::Floats(all) = &mut inputs[*input] {
                    all[at] += by;
                }
                value(&inputs)
            };
            let step = 1e-5;
            let expected = (shifted(step) - shifted(-step)) / (2.0 * step);
            let found = results[1 + place].get(at).as_float();
            let close = (found - expected).abs() <= 2e-6 * (1.0 + expected.abs() + found.abs());
            assert!(close, "{name}: input {input}, element {at}: {found} is not {expected}\n{graph}");
        }
    }
}

/// What is differentiated by a rule or by its parts.
fn smooth() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|op| !matches!(op.row().derivative, Derivative::Zero))
}

#[test]
fn each_rule_agrees_with_differences() {
    for op in smooth() {
        let (graph, inputs) = sample(op, Scalar::F64);
        check(op.name(), &weighed(&graph), &inputs);
    }
}

#[test]
fn derivatives_have_derivatives() {
    for op in smooth() {
        let (graph, inputs) = sample(op, Scalar::F64);
        let float = inputs.iter().position(|data| matches!(data, Data::Floats(_))).expect("a float");
        let mut first = differentiate(&weighed(&graph), 0, &[float]).expect("a derivative");
        first.outputs.remove(0);
        check(&format!("{} twice", op.name()), &weighed(&first), &inputs);
    }
}

#[test]
fn random_graphs_agree_with_differences() {
    for seed in 0..girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 40, 1000) {
        let (graph, inputs) = random::graph(seed, Scalar::F64, 8);
        let mut graph = graph;
        let Some(output) = graph.outputs.iter().copied().find(|id| graph.ty(*id).element.is_float()) else { continue };
        graph.outputs = vec![output];
        check(&format!("seed {seed}"), &weighed(&graph), &inputs);
    }
}

#[test]
fn derivatives_of_one_operation_are_those_of_the_graph() {
    let mut compared = 0;
    for op in smooth() {
        let (graph, inputs) = sample(op, Scalar::F64);
        let floats: Vec<usize> = (0..inputs.len()).filter(|i| matches!(inputs[*i], Data::Floats(_))).collect();
        let mut weighed = weighed(&graph);
        let Node { operands, attrs, .. } = graph.nodes[graph.outputs[0]].clone();
        if graph.inputs() != operands {
            continue;
        }
        let mut whole = differentiate(&weighed, 0, &floats).expect("derivatives");
        whole.outputs.remove(0);
        // The sum is of products with weights, which are the derivative with respect to the operation's result.
        let product = weighed.nodes[weighed.outputs[0]].operands[0];
        let weights = weighed.nodes[product].operands[1];
        weighed.outputs =
            vector_jacobian(&mut weighed, (op, &operands, attrs), weights, &floats).expect("derivatives of one");
        assert_eq!(interpret(&weighed, &inputs), interpret(&whole, &inputs), "{}", op.name());
        compared += 1;
    }
    assert!(compared > 40, "{compared} operations of inputs");
}

#[test]
fn a_derivative_of_another_type_is_refused() {
    let (mut graph, _) = sample(Op::Add, Scalar::F64);
    let (operands, result) = (graph.inputs(), graph.outputs[0]);
    let number = graph.number(result, 1.0).and_then(|one| graph.convert(one, Scalar::F32)).expect("a number");
    let error = vector_jacobian(&mut graph, (Op::Add, &operands, vec![]), number, &[0]).expect_err("of another type");
    assert_eq!(error.message, "the derivative with respect to f64[2, 3] is not f32[2, 3]");
    let error = vector_jacobian(&mut graph, (Op::Add, &operands, vec![]), result, &[2]).expect_err("two operands");
    assert_eq!(error.message, "`add` has no derivative with respect to the operands [2]");
}

#[test]
fn what_has_no_derivative_is_refused() {
    let (graph, _) = sample(Op::Add, Scalar::F64);
    let error = differentiate(&graph, 0, &[0]).expect_err("the output has six elements");
    assert_eq!(error.message, "a derivative is taken of one float, not of f64[2, 3]");
    let error = differentiate(&weighed(&graph), 0, &[2]).expect_err("there are two inputs");
    assert_eq!(error.message, "the graph has no input 2");
}
