//! Weights as bytes: there and back, and those of other modules.

use crate::devices::cpu;
use girih_nn::nn::{BatchNorm2d, Linear, Module};
use girih_nn::{Random, weights};

#[test]
fn weights_go_there_and_back() {
    let device = cpu();
    let [a, b] = [1, 2].map(|seed| Linear::new(&Random::new(&device, seed), 3, 2));
    let numbers = |linear: &Linear| linear.weight.get().to_vec::<f32>().expect("numbers");
    assert_ne!(numbers(&a), numbers(&b));
    weights::from_bytes(&b, &weights::to_bytes(&a).expect("bytes")).expect("they fit");
    assert_eq!(numbers(&a), numbers(&b));
}

#[test]
fn weights_of_another_module_are_refused_and_change_nothing() {
    let device = cpu();
    let random = Random::new(&device, 1);
    let (linear, other) = (Linear::new(&random, 3, 2), Linear::new(&random, 3, 4));
    let before = linear.weight.get().to_vec::<f32>().expect("numbers");
    let bytes = |module: &dyn Fn() -> girih_nn::Result<Vec<u8>>| module().expect("bytes");
    let given = [
        bytes(&|| weights::to_bytes(&other)),
        bytes(&|| weights::to_bytes(&other.clone().without_bias())),
        bytes(&|| weights::to_bytes(&BatchNorm2d::new(&device, 2))),
        b"no weights".to_vec(),
    ];
    let refused = given.map(|bytes| weights::from_bytes(&linear, &bytes).expect_err("they do not fit").message);
    insta::assert_snapshot!(refused.join("\n"));
    assert_eq!(linear.weight.get().to_vec::<f32>().expect("numbers"), before);
}

#[test]
fn parameters_are_listed_once_by_their_paths() {
    let device = cpu();
    let linear = Linear::new(&Random::new(&device, 1), 3, 2);
    let paths: Vec<String> = vec![linear.clone(), linear].parameters().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["0.weight", "0.bias"]);
}
