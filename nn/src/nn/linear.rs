//! A linear layer: x w + b.
//!
//! Invariant: weights lie as PyTorch keeps them, features out before features in, so files of weights fit both.

use super::{Parameter, module};
use crate::random::Random;
use crate::tensor::Tensor;

/// x w + b along the last dimension.
#[derive(Clone, Debug)]
pub struct Linear {
    /// [features out, features in].
    pub weight: Parameter,
    /// [features out].
    pub bias: Option<Parameter>,
}
module!(Linear { weight, bias });

impl Linear {
    /// So many features to so many others. Weights begin as even random numbers up to 1 / sqrt(features in): He et al., Delving deep into rectifiers, 2015, in PyTorch's form.
    #[track_caller]
    pub fn new(random: &Random, inputs: u64, outputs: u64) -> Linear {
        let bound = 1.0 / (inputs.max(1) as f32).sqrt();
        let weight = Parameter::new(random.uniform([outputs, inputs], -bound, bound));
        Linear { weight, bias: Some(Parameter::new(random.uniform([outputs], -bound, bound))) }
    }
    /// The same without the summand.
    #[must_use]
    pub fn without_bias(self) -> Linear {
        Linear { bias: None, ..self }
    }
    /// Of [.., features in]: [.., features out].
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let product = x.matmul(&self.weight.get().transpose(0, 1));
        match &self.bias {
            Some(bias) => product + bias.get(),
            None => product,
        }
    }
}
