//! Derivatives of modules and losses against differences, which the oracle computes in 64 bits.

use crate::devices::{cpu, data, graph};
use girih_nn::nn::{Attention, BatchNorm2d, Conv2d, Embedding, LayerNorm, Linear, Module, RmsNorm};
use girih_nn::{Device, Random, Tensor, loss};
use girih_tensor::{Data, interpret};

/// Half of the distance between the two places of a difference.
const STEP: f64 = 1e-5;

/// Compares the derivative of one number by a tensor with differences.
fn compare(name: &str, of: &Tensor, by: &Tensor) {
    let derivative = data(&of.grad(&[by])[0]).floats();
    let (traced, inputs) = of.graph().expect("it is right");
    let position = inputs.iter().position(|input| same(input, by)).expect("it is computed from it");
    let (_, values) = graph(of);
    let at = |element: usize, change: f64| {
        let mut values = values.clone();
        let Data::Floats(all) = &mut values[position] else { panic!("there are no floats") };
        all[element] += change;
        interpret(&traced, &values).expect("the oracle computes it")[0].floats()[0]
    };
    let count = derivative.len();
    // Not all elements of large ones, but some everywhere.
    for element in (0..count).step_by(1 + count / 12) {
        let difference = (at(element, STEP) - at(element, -STEP)) / (2.0 * STEP);
        let is_close = (derivative[element] - difference).abs() <= 2e-3 * (1.0 + difference.abs());
        assert!(is_close, "{name}, element {element}: {} is not {difference}", derivative[element]);
    }
}

/// Whether both are the same tensor: they have the same elements.
fn same(a: &Tensor, b: &Tensor) -> bool {
    a.shape() == b.shape() && a.dtype() == b.dtype() && data(a) == data(b)
}

/// The parameters of a module as tensors that were given.
fn settle(module: &impl Module) -> Vec<(String, Tensor)> {
    let settled = |(path, parameter): (String, girih_nn::nn::Parameter)| {
        let value = parameter.get().detach().expect("numbers");
        parameter.set(value.clone());
        (path, value)
    };
    module.parameters().into_iter().map(settled).collect()
}

/// Compares the derivatives by all parameters of a module, and by what it is given.
fn module(name: &str, module: &impl Module, x: &Tensor, forward: impl Fn(&Tensor) -> Tensor) {
    let parameters = settle(module);
    // A factor for each element, so that no derivative is lost in a sum.
    let given = forward(x);
    let factors = Random::new(x.device(), 77).uniform(given.shape(), -1.0, 1.0).detach().expect("numbers");
    let of = (given * factors).sum_all();
    compare(name, &of, x);
    for (path, parameter) in &parameters {
        compare(&format!("{name}.{path}"), &of, parameter);
    }
}

fn start() -> (Device, Random) {
    let device = cpu();
    (device.clone(), Random::new(&device, 11))
}

#[test]
fn modules() {
    let (device, random) = start();
    let input = |shape: &[u64]| random.uniform(shape, -1.0, 1.0).detach().expect("numbers");
    let linear = Linear::new(&random, 5, 4);
    module("linear", &linear, &input(&[3, 5]), |x| linear.forward(x).tanh());
    let conv = Conv2d { stride: [2, 1], ..Conv2d::new(&random, 3, 4, 3) };
    module("conv", &conv, &input(&[2, 3, 6, 5]), |x| conv.forward(x).max_pool2d([2, 2], [1, 2], [0, 0]));
    let grouped = Conv2d::grouped(&random, 4, 6, 3, 2);
    module("grouped", &grouped, &input(&[2, 4, 5, 5]), |x| grouped.forward(x).avg_pool2d([2, 2], [2, 2], [0, 0]));
    let norm = LayerNorm::new(&device, 6);
    module("layer norm", &norm, &input(&[4, 6]), |x| norm.forward(x));
    let norm = RmsNorm::new(&device, 6);
    module("rms norm", &norm, &input(&[4, 6]), |x| norm.forward(x));
    for is_causal in [false, true] {
        let attention = Attention::new(&random, 8, 2, is_causal);
        module("attention", &attention, &input(&[2, 5, 8]), |x| attention.forward(x));
    }
}

#[test]
fn a_batch_norm_of_a_batch() {
    let (device, random) = start();
    let norm = BatchNorm2d::new(&device, 3);
    let x = random.uniform([4, 3, 2, 2], -1.0, 1.0).detach().expect("numbers");
    let weight = norm.weight.get().detach().expect("numbers");
    norm.weight.set(weight.clone());
    let of = norm.train(&x).exp().mean_all();
    compare("batch norm", &of, &x);
    compare("batch norm.weight", &of, &weight);
}

#[test]
fn an_embedding() {
    let (device, random) = start();
    let embedding = Embedding::new(&random, 7, 3);
    let weight = settle(&embedding).remove(0).1;
    let numbers = device.tensor(&[1, 6, 1, 0], [2, 2]);
    let given = embedding.forward(&numbers);
    assert_eq!(given.shape(), [2, 2, 3]);
    compare("embedding", &given.square().mean_all(), &weight);
}

#[test]
fn losses() {
    let (device, random) = start();
    let input = |shape: &[u64]| random.uniform(shape, -3.0, 3.0).detach().expect("numbers");
    let (x, y) = (input(&[4, 3]), input(&[4, 3]));
    compare("mean squared", &loss::mean_squared(&x, &y), &x);
    let classes = device.tensor(&[2, 0, 1, 2], [4]);
    compare("cross entropy", &loss::cross_entropy(&x, &classes), &x);
    let wanted = device.tensor(&[1.0_f32, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0], [4, 3]);
    compare("binary cross entropy", &loss::binary_cross_entropy(&x, &wanted), &x);
}

#[test]
fn derivatives_have_derivatives() {
    let device = cpu();
    let x = device.tensor(&[2.0_f32, 3.0], [2]);
    let first = x.pow(3.0).sum_all().grad(&[&x]).remove(0);
    assert_eq!(first.to_vec::<f32>().expect("numbers").iter().map(|x| x.round()).collect::<Vec<_>>(), [12.0, 27.0]);
    compare("second", &first.sum_all(), &x);
}
