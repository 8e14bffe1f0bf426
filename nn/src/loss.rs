//! Losses: how far a network is from what it should give, as one number, the mean over the batch.

use crate::tensor::Tensor;
use girih_ir::Scalar;

/// The mean of squared distances.
#[track_caller]
pub fn mean_squared(given: &Tensor, wanted: &Tensor) -> Tensor {
    (given - wanted).square().mean_all()
}
/// The cross entropy of [batch, classes], unnormalised logarithms of probabilities, and the right class of each, integers.
#[track_caller]
pub fn cross_entropy(logits: &Tensor, classes: &Tensor) -> Tensor {
    let count = logits.shape().last().copied().unwrap_or(0);
    let numbers = logits.device().arange(count, Scalar::I32);
    let is_right = classes.to(Scalar::I32).unsqueeze(-1).eq(&numbers);
    let logs = logits.log_softmax(-1);
    -is_right.select(&logs, 0.0).sum([-1]).mean_all()
}
/// The binary cross entropy of logits, whose `sigmoid` is a probability, and of the right probabilities, 0 or 1. It does not overflow.
#[track_caller]
pub fn binary_cross_entropy(logits: &Tensor, wanted: &Tensor) -> Tensor {
    (logits.softplus() - logits * wanted).mean_all()
}
