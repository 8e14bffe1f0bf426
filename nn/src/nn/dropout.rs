//! Dropout: Srivastava et al., Dropout: a simple way to prevent neural networks from overfitting, 2014.

use super::Module;
use crate::random::Random;
use crate::tensor::Tensor;

/// Makes each element 0 with a probability, and the others larger, so that their mean stays.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// The probability.
    pub probability: f32,
}

impl Module for Dropout {
    fn parts(&self) -> Vec<(String, &dyn Module)> {
        vec![]
    }
}

impl Dropout {
    /// With a probability from 0 up to before 1.
    pub fn new(probability: f32) -> Dropout {
        Dropout { probability }
    }
    /// What it does in training. Outside of training nothing is done to x.
    #[track_caller]
    pub fn train(&self, x: &Tensor, random: &Random) -> Tensor {
        let kept = random.uniform(x.shape(), 0.0, 1.0).ge(self.probability);
        kept.select(x / (1.0 - self.probability), 0.0)
    }
}
