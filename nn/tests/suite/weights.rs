//! Weights as bytes: there and back, and those of other modules.

use crate::devices::cpu;
use girih_nn::nn::{BatchNorm2d, Linear, Module, Parameter};
use girih_nn::{Random, Tensor, weights};

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

/// A square layer of a file of PyTorch is not transposed: its rows are features out.
#[test]
fn weights_of_a_layer_lie_as_in_pytorch() {
    let device = cpu();
    let linear = Linear::new(&Random::new(&device, 1), 2, 2).without_bias();
    linear.weight.set(device.tensor(&[1.0_f32, 2.0, 3.0, 4.0], [2, 2]));
    let given = linear.forward(&device.tensor(&[1.0_f32, 10.0], [1, 2]));
    assert_eq!(given.to_vec::<f32>().expect("numbers"), [21.0, 43.0]);
    assert_eq!(Linear::new(&Random::new(&device, 1), 3, 5).weight.get().shape(), [5, 3]);
}

/// A parameter with two paths is read from files that have it by both, if they hold the same.
#[test]
fn tied_weights_are_read_by_each_of_their_paths() {
    struct Two(Tensor, Tensor);
    impl Module for Two {
        fn parts(&self) -> Vec<(String, &dyn Module)> {
            vec![]
        }
        fn paths(&self) -> Vec<(String, Parameter)> {
            vec![
                ("0.weight".into(), Parameter::new(self.0.clone())),
                ("1.weight".into(), Parameter::new(self.1.clone())),
            ]
        }
    }
    let device = cpu();
    let linear = Linear::new(&Random::new(&device, 1), 1, 2).without_bias();
    let tied = vec![linear.clone(), linear.clone()];
    let [one, other] = [[1.0_f32, 2.0], [1.0, 3.0]].map(|numbers| device.tensor(&numbers, [2, 1]));
    weights::from_bytes(&tied, &weights::to_bytes(&Two(one.clone(), one.clone())).expect("bytes")).expect("they agree");
    assert_eq!(linear.weight.get().to_vec::<f32>().expect("numbers"), [1.0, 2.0]);
    let error =
        weights::from_bytes(&tied, &weights::to_bytes(&Two(one, other)).expect("bytes")).expect_err("they differ");
    assert_eq!(error.message, "`0.weight` and `1.weight` are one parameter in the module, and differ in the weights");
}
