//! Training runs that reach a known loss, and what a step costs.

use crate::devices::{cpu, wgpu};
use girih_nn::nn::{BatchNorm2d, Dropout, Linear, Module, Parameter};
use girih_nn::optim::{Adam, Sgd};
use girih_nn::schedule::Schedule;
use girih_nn::{Device, Random, Tensor, loss};

/// Exclusive or, by two layers.
struct Xor {
    hidden: Linear,
    output: Linear,
}
impl Module for Xor {
    fn parts(&self) -> Vec<(String, &dyn Module)> {
        vec![("hidden".into(), &self.hidden), ("output".into(), &self.output)]
    }
}

fn xor(device: &Device) {
    let random = Random::new(device, 3);
    let network = Xor { hidden: Linear::new(&random, 2, 8), output: Linear::new(&random, 8, 1) };
    let x = device.tensor(&[0.0_f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [4, 2]);
    let wanted = device.tensor(&[0.0_f32, 1.0, 1.0, 0.0], [4, 1]);
    let mut adam = Adam::new(&network, 0.05).expect("memory");
    let (mut last, mut graphs) = (f32::INFINITY, 0);
    for step in 0..200 {
        let logits = network.output.forward(&network.hidden.forward(&x).tanh());
        let lost = adam.step(&loss::binary_cross_entropy(&logits, &wanted)).expect("a step");
        last = lost.item().expect("a number");
        if step == 0 {
            graphs = device.compiled_graphs();
        }
    }
    assert!(last < 0.01, "the loss is {last}");
    assert_eq!(device.compiled_graphs(), graphs, "all steps run the kernels of the first");
}

#[test]
fn adam_learns_exclusive_or_on_the_processor() {
    xor(&cpu());
}
#[test]
fn adam_learns_exclusive_or_on_wgpu() {
    if let Some(device) = wgpu() {
        xor(&device);
    }
}

#[test]
fn gradient_descent_finds_a_line() {
    let device = cpu();
    let line = Linear::new(&Random::new(&device, 1), 1, 1);
    let x = device.tensor(&[-1.0_f32, 0.0, 1.0, 2.0], [4, 1]);
    let y = (&x * 2.0 + 1.0).detach().expect("numbers");
    let mut sgd = Sgd::new(&line, 0.1).expect("memory");
    sgd.momentum = 0.5;
    let mut last = f32::INFINITY;
    for _ in 0..150 {
        last = sgd.step(&loss::mean_squared(&line.forward(&x), &y)).expect("a step").item().expect("a number");
    }
    assert!(last < 1e-9, "the loss is {last}");
    let weight: f32 = line.weight.get().item().expect("a number");
    assert!((weight - 2.0).abs() < 1e-4, "the slope is {weight}");
}

/// One step of Adam, by hand: the first step of each parameter is the rate, against the derivative's sign, and what decays.
#[test]
fn a_step_of_adam_is_that_of_its_paper() {
    let device = cpu();
    let line = Linear::new(&Random::new(&device, 1), 1, 1).without_bias();
    line.weight.set(device.tensor(&[0.5_f32], [1, 1]));
    let mut adam = Adam::new(&line, 0.01).expect("memory");
    adam.decay = 0.1;
    let x = device.tensor(&[3.0_f32], [1, 1]);
    adam.step(&line.forward(&x).sum_all()).expect("a step");
    let weight: f32 = line.weight.get().item().expect("a number");
    assert!((weight - (0.5 - 0.01 - 0.5 * 0.01 * 0.1)).abs() < 1e-6, "{weight}");
}

#[test]
fn a_batch_norm_keeps_what_it_has_seen() {
    let device = cpu();
    let norm = BatchNorm2d::new(&device, 2);
    let x = device.tensor(&[1.0_f32, 3.0, 10.0, 14.0], [1, 2, 1, 2]);
    let mut sgd = Sgd::new(&norm, 0.0).expect("memory");
    for _ in 0..100 {
        sgd.step(&norm.train(&x).sum_all()).expect("a step");
    }
    let close = |tensor: Tensor, wanted: [f32; 2]| {
        let found = tensor.to_vec::<f32>().expect("numbers");
        assert!(found.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-2 * y), "{found:?} is not {wanted:?}");
    };
    close(norm.running_mean.get(), [2.0, 12.0]);
    close(norm.running_var.get(), [2.0, 8.0]);
    let given = norm.forward(&x).to_vec::<f32>().expect("numbers");
    assert!((given[0] + 0.5_f32.sqrt()).abs() < 1e-2, "{given:?}");
}

#[test]
fn dropout_keeps_the_mean() {
    let device = cpu();
    let random = Random::new(&device, 9);
    let kept = Dropout::new(0.25).train(&device.ones([10_000]), &random).to_vec::<f32>().expect("numbers");
    let zeros = kept.iter().filter(|x| **x == 0.0).count();
    assert!((2200..2800).contains(&zeros), "{zeros} of 10,000 are 0");
    assert!(kept.iter().all(|x| *x == 0.0 || (*x - 4.0 / 3.0).abs() < 1e-6));
}

#[test]
fn random_numbers_are_spread_as_they_should() {
    let device = cpu();
    let random = Random::new(&device, 9);
    let mean = |all: &[f32]| all.iter().sum::<f32>() / all.len() as f32;
    let normal = random.normal([20_000], 1.0, 2.0).to_vec::<f32>().expect("numbers");
    let centre = mean(&normal);
    let variance = mean(&normal.iter().map(|x| (x - centre).powi(2)).collect::<Vec<_>>());
    assert!((centre - 1.0).abs() < 0.06 && (variance - 4.0).abs() < 0.2, "{centre}, {variance}");
    let [first, second] = [0, 1].map(|_| random.uniform([100], 2.0, 3.0).to_vec::<f32>().expect("numbers"));
    assert!(first.iter().all(|x| (2.0..=3.0).contains(x)));
    assert_ne!(first, second, "later numbers are others");
    assert_eq!(Random::new(&device, 9).normal([20_000], 1.0, 2.0).to_vec::<f32>().expect("numbers"), normal);
}

/// Derivatives 3 and 4 have the norm 5: at most 1 is a fifth of each.
#[test]
fn long_derivatives_are_shortened() {
    let device = cpu();
    let pair = vec![Parameter::new(device.zeros([1])), Parameter::new(device.zeros([1]))];
    let mut sgd = Sgd::new(&pair, 1.0).expect("memory");
    for (clip, wanted) in [(1.0, [-0.6, -0.8]), (100.0, [-3.6, -4.8])] {
        sgd.clip = Some(clip);
        sgd.step(&(pair[0].get() * 3.0 + pair[1].get() * 4.0).sum_all()).expect("a step");
        let found = [&pair[0], &pair[1]].map(|x| x.get().item::<f32>().expect("a number"));
        assert!(found.iter().zip(wanted).all(|(x, y): (&f32, f32)| (x - y).abs() < 1e-5), "{found:?}");
    }
}

#[test]
fn rates_follow_a_schedule() {
    let steps = Schedule::Steps { rate: 8.0, every: 2, factor: 0.5 };
    assert_eq!([0, 1, 2, 5].map(|step| steps.at(step)), [8.0, 8.0, 4.0, 2.0]);
    assert_eq!(Schedule::Constant(0.5).at(u64::MAX), 0.5);
    let cosine = Schedule::Cosine { rate: 1.0, warmup: 0, steps: 0, least: 0.25 };
    assert_eq!([0, 1, 9].map(|step| cosine.at(step)), [1.0, 0.25, 0.25]);
}

/// Numbers are drawn as often as their probability says, and what has none is not drawn.
#[test]
fn categories_are_drawn_by_their_probabilities() {
    let device = cpu();
    let logits = device.tensor(&[0.5_f32, 0.0, 0.25, 0.25], [4]).log().broadcast_to([8000, 4]);
    let drawn = Random::new(&device, 4).categorical(&logits).to_vec::<i64>().expect("numbers");
    let count = |class: i64| drawn.iter().filter(|other| **other == class).count();
    assert_eq!(count(1), 0);
    assert!((3800..4200).contains(&count(0)) && (1850..2150).contains(&count(2)), "{} {}", count(0), count(2));
}
