//! Embeddings: a vector for each number.

use super::{Parameter, module};
use crate::random::Random;
use crate::tensor::Tensor;

/// A vector for each of the numbers 0, 1, 2, ..
#[derive(Clone, Debug)]
pub struct Embedding {
    /// [numbers, features].
    pub weight: Parameter,
}
module!(Embedding { weight });

impl Embedding {
    /// So many vectors of so many features, which begin as normal random numbers.
    #[track_caller]
    pub fn new(random: &Random, numbers: u64, features: u64) -> Embedding {
        Embedding { weight: Parameter::new(random.normal([numbers, features], 0.0, 1.0)) }
    }
    /// Of integers in any shape: their vectors in a new last dimension. A number that has no vector gives zeros.
    #[track_caller]
    pub fn forward(&self, numbers: &Tensor) -> Tensor {
        let weight = self.weight.get();
        let features = weight.shape().get(1).copied().unwrap_or(0);
        let vectors = weight.index_select(0, &numbers.reshape([numbers.len()]));
        vectors.reshape([numbers.shape(), vec![features]].concat())
    }
}
