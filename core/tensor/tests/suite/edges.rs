//! Numbers at the edges: NaN, infinities, results whose digits a careless formula loses, long sums of short floats, extreme attributes.

use crate::devices::{compare, cpu, machine, run, wgpu};
use crate::samples::{Dice, sample};
use girih_ir::Scalar;
use girih_runtime::Device;
use girih_tensor::lower::lower;
use girih_tensor::schedule::Fusion;
use girih_tensor::{
    Attr, AttrKind, Data, Graph, Made, NodeId, Number, Op, TensorType, differentiate, interpret, promote, text,
};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// What a graph of one input gives on a device; the oracle gives about the same.
fn computed(
    device: &Device,
    (element, lengths): (Scalar, &[u64]),
    numbers: &[f64],
    write: impl FnOnce(&mut Graph, NodeId) -> Made<NodeId>,
) -> Vec<f64> {
    let mut graph = Graph::new();
    let x = graph.input(element, lengths).expect("an input");
    graph.outputs = vec![write(&mut graph, x).expect("it fits")];
    given(device, &graph, numbers)
}
fn given(device: &Device, graph: &Graph, numbers: &[f64]) -> Vec<f64> {
    let inputs = [Data::Floats(numbers.to_vec())];
    let lowered = lower(graph, Fusion::Full).unwrap_or_else(|error| panic!("{}", error.message));
    let found = run(device, &lowered, &inputs);
    compare("edges", graph, &found, &interpret(graph, &inputs).expect("the oracle computes it"));
    found.last().expect("an output").floats()
}
fn devices() -> Vec<Device> {
    [machine(), cpu()].into_iter().chain(wgpu()).collect()
}
fn same(found: &[f64], wanted: &[f64]) {
    let fits = found.len() == wanted.len() && found.iter().zip(wanted).all(|(x, y)| x == y || x.is_nan() && y.is_nan());
    assert!(fits, "{found:?} is not {wanted:?}");
}

#[test]
fn the_common_type_does_not_depend_on_the_order() {
    let all: Vec<Scalar> = Scalar::ALL.iter().copied().filter(|s| TensorType::ELEMENTS.has(*s)).collect();
    for a in &all {
        for b in &all {
            let common = promote(*a, *b);
            assert_eq!(common, promote(*b, *a), "{a} and {b}");
            assert_eq!(promote(common, *a), common, "{a} and {b}");
        }
    }
    assert_eq!([promote(Scalar::I8, Scalar::U8), promote(Scalar::U32, Scalar::I32)], [Scalar::I16, Scalar::I64]);
    assert_eq!([promote(Scalar::I64, Scalar::U8), promote(Scalar::I64, Scalar::U64)], [Scalar::I64; 2]);
}

/// True values, to 17 digits.
#[test]
fn functions_keep_their_digits() {
    let known: &[(Op, f64, f64)] = &[
        (Op::Sinh, 1e-8, 1e-8),
        (Op::Sinh, -0.3, -0.304_520_293_447_142_6),
        (Op::Sinh, 89.0, 2.244_806_330_899_318_4e38),
        (Op::Cosh, -89.0, 2.244_806_330_899_318_4e38),
        (Op::Softplus, -20.0, 2.061_153_620_314_381e-9),
        (Op::Softplus, 100.0, 100.0),
        (Op::Gelu, -5.0, -1.433_257_859_395_966_5e-6),
        (Op::Gelu, 0.001, 0.000_500_398_942_213_911),
        (Op::Sigmoid, -20.0, 2.061_153_618_190_203_6e-9),
        (Op::Silu, -20.0, -4.122_307_236_380_407e-8),
        (Op::Expm1, 1e-7, 1.000_000_05e-7),
        (Op::Expm1, -30.0, -0.999_999_999_999_906_4),
        (Op::Log1p, 1e-7, 9.999_999_5e-8),
        (Op::Erf, 1e-6, 1.128_379_167_095_136_4e-6),
        (Op::Erf, -0.7, -0.677_801_193_837_418_5),
        (Op::Erfc, 3.5, 7.430_983_723_414_128e-7),
        (Op::Erfc, -3.5, 1.999_999_256_901_627_8),
    ];
    for device in devices() {
        for (op, x, wanted) in known {
            let found = computed(&device, (Scalar::F32, &[1]), &[*x], |g, x| g.op(*op, &[x]))[0];
            assert!((found - wanted).abs() <= 4e-6 * wanted.abs(), "{} of {x} is {found}, not {wanted}", op.name());
        }
    }
}

#[test]
fn not_a_number_stays() {
    let clamp = [(AttrKind::Value, 0.0), (AttrKind::Above, 1.0)].map(|(k, x)| Attr::Number(k, Number::Float(x)));
    for device in devices() {
        let of = |numbers: &[f64], lengths: &[u64], write: &dyn Fn(&mut Graph, NodeId) -> Made<NodeId>| {
            computed(&device, (Scalar::F32, lengths), numbers, write)
        };
        for (op, least) in [(Op::Amax, INF), (Op::Amin, -INF)] {
            let reduced = |numbers: &[f64], length| of(numbers, &[2, length], &|g, x| g.along(op, x, &[1]));
            same(&reduced(&[1.0, NAN, 0.0, NAN, NAN, NAN], 3), &[NAN; 2]);
            same(&reduced(&[1.0, NAN, 0.0, 2.0, NAN, NAN, NAN, NAN], 4), &[NAN; 2]);
            same(&reduced(&[-least; 6], 3), &[-least; 2]);
        }
        for op in [Op::ArgMax, Op::ArgMin] {
            let place = |numbers: &[f64], length| of(numbers, &[1, length], &|g, x| g.along(op, x, &[1]));
            same(&place(&[NAN; 3], 3), &[0.0]);
            same(&place(&[1.0, NAN, 0.0, NAN, 4.0], 5), &[1.0]);
            same(&place(&[-INF; 5], 5), &[0.0]);
            same(&place(&[INF; 5], 5), &[0.0]);
        }
        let both = [NAN, 1.0, -1.0, 2.0];
        for (op, rest) in [(Op::Max, [1.0, -0.5]), (Op::Min, [-0.5, -1.0])] {
            let number = |g: &mut Graph, x| g.number(x, -0.5);
            let first = of(&both, &[4], &|g, x| number(g, x).and_then(|n| g.op(op, &[x, n])));
            let second = of(&both, &[4], &|g, x| number(g, x).and_then(|n| g.op(op, &[n, x])));
            same(&first[..3], &[NAN, rest[0], rest[1]]);
            same(&first, &second);
        }
        same(&of(&both, &[4], &|g, x| g.op(Op::Relu, &[x])), &[NAN, 1.0, 0.0, 2.0]);
        same(&of(&both, &[4], &|g, x| g.push(Op::Clamp, &[x], clamp.to_vec())), &[NAN, 1.0, 0.0, 1.0]);
        same(&of(&both, &[1, 4], &|g, x| g.along(Op::Softmax, x, &[1])), &[NAN; 4]);
    }
}

#[test]
fn infinite_rows_have_a_logarithm_of_their_sum() {
    for device in devices() {
        let rows = [-INF, -INF, -INF, 1.0, INF, 0.0, 0.0, 0.0, 0.0];
        let found = computed(&device, (Scalar::F32, &[3, 3]), &rows, |g, x| g.along(Op::LogSumExp, x, &[1]));
        same(&found[..2], &[-INF, INF]);
        assert!((found[2] - 3.0_f64.ln()).abs() < 1e-6);
    }
}

/// Derivatives with respect to all elements of the one input.
fn derivative(numbers: &[f64], write: impl FnOnce(&mut Graph, NodeId) -> Made<NodeId>) -> Vec<f64> {
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F32, &[numbers.len() as u64]).expect("an input");
    let y = write(&mut graph, x).expect("it fits");
    let axes: Vec<u64> = (0..graph.shape(y).rank() as u64).collect();
    graph.outputs = vec![graph.along(Op::Sum, y, &axes).expect("a sum")];
    let graph = differentiate(&graph, 0, &[0]).expect("a derivative");
    given(&cpu(), &graph, numbers)
}

#[test]
fn derivatives_at_edges_are_numbers() {
    let power = |exponent: f64| {
        move |g: &mut Graph, x: NodeId| g.number(x, exponent).and_then(|exponent| g.op(Op::Pow, &[x, exponent]))
    };
    same(&derivative(&[0.0, 2.0], power(0.0)), &[0.0, 0.0]);
    same(&derivative(&[0.0, 2.0], power(2.0)), &[0.0, 4.0]);
    let of_zero = |g: &mut Graph, x: NodeId| g.number(x, 0.0).and_then(|zero| g.op(Op::Pow, &[zero, x]));
    same(&derivative(&[0.0, 1.0, 2.5], of_zero), &[0.0, 0.0, 0.0]);
    let product = |g: &mut Graph, x: NodeId| g.along(Op::Prod, x, &[0]);
    same(&derivative(&[2.0, 3.0, 4.0], product), &[12.0, 8.0, 6.0]);
    same(&derivative(&[2.0, 0.0, 4.0], product), &[0.0, 8.0, 0.0]);
    same(&derivative(&[0.0, 0.0, 4.0], product), &[0.0, 0.0, 0.0]);
    let soft = |g: &mut Graph, x: NodeId| g.along(Op::LogSumExp, x, &[0]);
    same(&derivative(&[-INF, -INF], soft), &[0.0, 0.0]);
    same(&derivative(&[0.0], |g, x| g.op(Op::Sigmoid, &[x])), &[0.25]);
    let clamp = [(AttrKind::Value, 0.0), (AttrKind::Above, 1.0)].map(|(k, x)| Attr::Number(k, Number::Float(x)));
    same(
        &derivative(&[-1.0, 0.0, 0.5, 1.0, 2.0], |g, x| g.push(Op::Clamp, &[x], clamp.to_vec())),
        &[0., 1., 1., 1., 0.],
    );
}

#[test]
fn long_sums_of_short_floats_are_not_cut_off() {
    for device in devices() {
        let along = |element, numbers: &[f64], op| {
            computed(&device, (element, &[numbers.len() as u64]), numbers, |g, x| g.along(op, x, &[0]))[0]
        };
        assert_eq!(along(Scalar::Bf16, &[1.0; 8192], Op::Sum), 8192.0);
        assert_eq!(along(Scalar::Bf16, &[1.0; 3000], Op::Sum), 3008.0, "it is the nearest");
        assert_eq!(along(Scalar::F16, &[100.0; 4096], Op::Mean), 100.0);
        let spread: Vec<f64> = (0..1024).map(|i| if i % 2 == 0 { 200.0 } else { -200.0 }).collect();
        assert_eq!(along(Scalar::F16, &spread, Op::Var), 40_000.0);
        let halves = |g: &mut Graph, x: NodeId| {
            let attrs = vec![Attr::List(AttrKind::Axes, vec![0]), Attr::Number(AttrKind::Value, Number::Float(0.0))];
            g.push(Op::Normalise, &[x], attrs)
        };
        assert_eq!(computed(&device, (Scalar::F16, &[1024]), &spread, halves)[..2], [1.0, -1.0]);
    }
}

/// Numbers that are extreme in each list of each row: a graph or a sentence, and never a panic.
#[test]
fn extreme_attributes_are_refused() {
    let extreme =
        [0, 1, 2, 1 << 31, (1 << 31) - 4096, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    let mut dice = Dice(11);
    let (mut kept, mut refused) = (0, 0);
    for op in Op::ALL {
        let (graph, _) = sample(*op, Scalar::F32);
        for _ in 0..girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 200, 5000) {
            let mut changed = graph.clone();
            let node = changed.outputs[0];
            for attr in &mut changed.nodes[node].attrs {
                if let Attr::List(_, list) = attr {
                    for number in list {
                        let other = extreme[dice.below(extreme.len() as u64) as usize];
                        *number = if dice.below(2) == 0 { other } else { *number };
                    }
                }
            }
            let node = changed.nodes[node].clone();
            let mut made = Graph::new();
            for input in graph.inputs() {
                let lengths = graph.shape(input).lengths();
                let length = |length| if dice.below(8) == 0 { extreme[dice.below(5) as usize] } else { length };
                let lengths: Vec<u64> = lengths.into_iter().map(length).collect();
                let _refused = made.input(graph.ty(input).element, &lengths);
            }
            if made.nodes.len() < node.operands.len() {
                continue;
            }
            let Ok(root) = made.push(node.op, &node.operands, node.attrs) else {
                refused += 1;
                continue;
            };
            made.outputs = vec![root];
            assert_eq!(text::parse(&made.to_string()), Ok(made.clone()));
            let _limit = lower(&made, Fusion::Full);
            kept += 1;
        }
    }
    assert!(kept > 1000 && refused > 1000, "{kept} were kept, {refused} refused");
    let line = "%0: f32[1] = input to(f32) sizes(1)\n%1: f32[1] = reshape %0 sizes(4294967296, 4294967296)\nreturn %1";
    let error = text::parse(line).expect_err("there are not so many elements");
    assert!(error.message.contains("cannot give the shape"), "{}", error.message);
}

#[test]
fn numbers_of_another_type_are_refused() {
    let mut g = Graph::new();
    let x = g.input(Scalar::U8, &[3]).expect("an input");
    let refused = |made: Made<NodeId>| made.expect_err("it does not fit").message;
    let bounds = |low, high| vec![Attr::Number(AttrKind::Value, low), Attr::Number(AttrKind::Above, high)];
    assert_eq!(
        refused(g.pad(x, &[1], &[0], Number::Float(0.5))),
        "`pad` of u8[3] has 0.5 in `value`, which is no number of type u8"
    );
    assert_eq!(
        refused(g.pad(x, &[1], &[0], Number::Int(256))),
        "`pad` of u8[3] has 256 in `value`, which is no number of type u8"
    );
    assert!(refused(g.push(Op::Clamp, &[x], bounds(Number::Float(NAN), Number::Int(3)))).contains("NaN"));
    let clamped =
        g.push(Op::Clamp, &[x], bounds(Number::Int(-5), Number::Float(1000.0))).expect("bounds may be beyond");
    g.outputs = vec![clamped];
    let data = Data::Integers(vec![0, 7, 255]);
    assert_eq!(interpret(&g, std::slice::from_ref(&data)).expect("it is computed"), [data]);
}

#[test]
fn the_most_elements_are_a_limit_that_is_said() {
    let mut g = Graph::new();
    assert!(g.input(Scalar::U8, &[(1 << 31) - 4096]).is_ok());
    let error = g.input(Scalar::U8, &[(1 << 31) - 4095]).expect_err("it is too large").message;
    assert!(error.ends_with("but a tensor has at most 12 dimensions and 2147479552 elements"), "{error}");
    let pictures = g.input(Scalar::F32, &[128, 64, 224, 224]).expect("an input");
    let weights = g.input(Scalar::F32, &[1, 64, 3, 3]).expect("an input");
    let pairs = [(AttrKind::Stride, [1, 1]), (AttrKind::Padding, [1, 1]), (AttrKind::Dilation, [1, 1])];
    let mut attrs: Vec<Attr> = pairs.iter().map(|(kind, pair)| Attr::List(*kind, pair.to_vec())).collect();
    attrs.push(Attr::List(AttrKind::Groups, vec![1]));
    g.outputs = vec![g.push(Op::Conv2d, &[pictures, weights], attrs).expect("it fits")];
    let error = lower(&g, Fusion::Full).expect_err("its windows are too many").message;
    assert!(error.starts_with("`conv2d` of f32[128, 64, 224, 224] and f32[1, 64, 3, 3] needs a step"), "{error}");
}
