//! What operations compute, against formulas and numbers that stand here.

use crate::samples::{Dice, sample};
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Data, Graph, Number, Op, interpret};

/// A function of one float.
type Formula = fn(f64) -> f64;

/// Each row is computed, gives as many elements as its shape says, and no float that is no number.
#[test]
fn each_row_is_computed() {
    for op in Op::ALL {
        for float in [Scalar::F32, Scalar::F64, Scalar::F16, Scalar::Bf16] {
            let (graph, inputs) = sample(*op, float);
            let data = interpret(&graph, &inputs).unwrap_or_else(|error| panic!("{}: {}", op.name(), error.message));
            assert_eq!(data[0].len() as u64, graph.shape(graph.outputs[0]).elements(), "{}", op.name());
            assert!(data[0].floats().iter().all(|x| x.is_finite()), "{}", op.name());
        }
    }
}

#[test]
fn functions_are_those_of_their_names() {
    let formulas: &[(Op, Formula)] = &[
        (Op::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (Op::Silu, |x| x / (1.0 + (-x).exp())),
        (Op::Softplus, |x| x.exp().ln_1p()),
        (Op::Sinh, f64::sinh),
        (Op::Cosh, f64::cosh),
        (Op::Relu, |x| x.max(0.0)),
        (Op::Square, |x| x * x),
        (Op::Reciprocal, |x| 1.0 / x),
        (Op::Sign, f64::signum),
    ];
    let mut dice = Dice(5);
    for (op, formula) in formulas {
        let mut graph = Graph::new();
        let x = graph.input(Scalar::F64, &[64]).expect("an input");
        graph.outputs = vec![graph.op(*op, &[x]).expect("a function")];
        let data = dice.data(graph.ty(x), -4.0, 4.0);
        let result = interpret(&graph, std::slice::from_ref(&data)).expect("it is computed")[0].floats();
        for (x, y) in data.floats().into_iter().zip(result).filter(|(x, _)| *x != 0.0) {
            assert!((formula(x) - y).abs() < 1e-12 * (1.0 + y.abs()), "{} of {x} is {y}", op.name());
        }
    }
}

/// Values of the error function from its table in Abramowitz and Stegun.
#[test]
fn the_error_function_is_right_to_its_bound() {
    let known = [(0.0, 0.0), (0.5, 0.5204998778), (1.0, 0.8427007929), (2.0, 0.9953222650), (-1.0, -0.8427007929)];
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F64, &[5]).expect("an input");
    graph.outputs = vec![graph.op(Op::Erf, &[x]).expect("a function")];
    let data = Data::Floats(known.iter().map(|(x, _)| *x).collect());
    let result = interpret(&graph, &[data]).expect("it is computed")[0].floats();
    assert!(known.iter().zip(result).all(|((_, known), found)| (known - found).abs() < 2e-7));
}

#[test]
fn a_convolution_sums_over_its_windows() {
    let (graph, inputs) = sample(Op::Conv2d, Scalar::F64);
    let result = interpret(&graph, &inputs).expect("it is computed")[0].floats();
    let (x, w) = (inputs[0].floats(), inputs[1].floats());
    // As `samples` says: x is [2, 4, 5, 6], w is [2, 2, 3, 2], stride 2 and 1, padding 1, dilation 1 and 2, two groups.
    let mut at = 0;
    for (image, out, row, column) in
        (0..2).flat_map(|n| (0..2).flat_map(move |o| (0..3).flat_map(move |r| (0..6).map(move |c| (n, o, r, c)))))
    {
        let mut sum = 0.0;
        for (channel, i, j) in (0..2).flat_map(|c| (0..3).flat_map(move |i| (0..2).map(move |j| (c, i, j)))) {
            let (y, z) = (row * 2 + i, column + j * 2);
            if (1..6).contains(&y) && (1..7).contains(&z) {
                sum += x[((image * 4 + out * 2 + channel) * 5 + y - 1) * 6 + z - 1]
                    * w[((out * 2 + channel) * 3 + i) * 2 + j];
            }
        }
        assert!((sum - result[at]).abs() < 1e-12, "{image} {out} {row} {column}");
        at += 1;
    }
    assert_eq!(at, result.len());
}

#[test]
fn positions_and_sums_along_an_axis() {
    let mut g = Graph::new();
    let x = g.input(Scalar::I32, &[5]).expect("an input");
    let index = g.input(Scalar::I64, &[3]).expect("an input");
    let more = g.input(Scalar::I32, &[3]).expect("an input");
    let all = [
        g.at_axis(Op::CumSum, &[x], 0),
        g.at_axis(Op::ArgMax, &[x], 0),
        g.at_axis(Op::Gather, &[x, index], 0),
        g.at_axis(Op::ScatterAdd, &[x, index, more], 0),
    ];
    g.outputs = all.map(|made| made.expect("it fits")).to_vec();
    let integers = |list: &[i128]| Data::Integers(list.to_vec());
    let inputs = [integers(&[3, 7, -1, 7, 2_000_000_000]), integers(&[4, 0, 4]), integers(&[1, 2, 3])];
    let results = interpret(&g, &inputs).expect("it is computed");
    assert_eq!(results[0], integers(&[3, 10, 9, 16, 2_000_000_016]));
    assert_eq!(results[1], integers(&[4]));
    assert_eq!(results[2], integers(&[2_000_000_000, 3, 2_000_000_000]));
    assert_eq!(results[3], integers(&[5, 7, -1, 7, 2_000_000_004]));
}

/// The first words of Philox for the key 0 are known from its authors' test vectors: the counter 0 gives 6627e8d5.
#[test]
fn random_numbers_are_those_of_philox() {
    let mut g = Graph::new();
    let (seed, offset) = (g.input(Scalar::U64, &[]).expect("an input"), g.input(Scalar::U64, &[]).expect("an input"));
    let node = g.push(Op::Random, &[seed, offset], vec![Attr::List(AttrKind::Sizes, vec![1000])]).expect("numbers");
    g.outputs = vec![node];
    let zero = Data::of(Scalar::U64, std::iter::once(Number::Int(0)));
    let result = interpret(&g, &[zero.clone(), zero]).expect("it is computed")[0].floats();
    assert!((result[0] - f64::from(0x6627_e8d5_u32) * 4.656_612_734_2e-10).abs() < 1e-12, "{}", result[0]);
    assert!(result.iter().all(|x| (0.0..1.0).contains(x)));
    let mean = result.iter().sum::<f64>() / 1000.0;
    assert!((mean - 0.5).abs() < 0.05, "{mean}");
}
