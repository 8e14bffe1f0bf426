//! Losses: how far a network is from what it should give, as one number, the mean over the batch.
//!
//! Invariant: operands are compared element by element. Shapes that would only fit by repeating elements are a mistake.

use crate::error;
use crate::tensor::Tensor;
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;

/// The mean of squared distances.
#[track_caller]
pub fn mean_squared(given: &Tensor, wanted: &Tensor) -> Tensor {
    equal_shapes("mean_squared", given, wanted, || (given - wanted).square().mean_all())
}
/// The cross entropy of [.., classes], unnormalised logarithms of probabilities, and the right class of each, integers of the shape [..]. A class that does not exist gives NaN.
#[track_caller]
pub fn cross_entropy(logits: &Tensor, classes: &Tensor) -> Tensor {
    let shape = logits.shape();
    let fits = shape.split_last().is_some_and(|(_, before)| before == classes.shape());
    if !fits {
        let why =
            format!("`cross_entropy` of {} needs a class for each row, and is given {}", logits.0.ty, classes.0.ty);
        return mistaken(logits, classes, error::shape(why));
    }
    if classes.dtype().is_float() || classes.dtype() == Scalar::Bool {
        let why = format!("`cross_entropy` needs classes that are integers, and is given {}", classes.0.ty);
        return mistaken(logits, classes, error::kind(why));
    }
    let numbers = logits.device().arange(shape.last().copied().unwrap_or(0), Scalar::I32);
    let is_right = classes.to(Scalar::I32).unsqueeze(-1).eq(&numbers);
    let logs = is_right.select(logits.log_softmax(-1), 0.0).sum([-1]);
    -is_right.any([-1]).select(logs, f32::NAN).mean_all()
}
/// The binary cross entropy of logits, whose `sigmoid` is a probability, and of the right probabilities, 0 or 1. It does not overflow.
#[track_caller]
pub fn binary_cross_entropy(logits: &Tensor, wanted: &Tensor) -> Tensor {
    equal_shapes("binary_cross_entropy", logits, wanted, || (logits.softplus() - logits * wanted).mean_all())
}

/// A loss of two tensors of one shape.
#[track_caller]
fn equal_shapes(name: &str, given: &Tensor, wanted: &Tensor, loss: impl FnOnce() -> Tensor) -> Tensor {
    if given.shape() == wanted.shape() {
        return loss();
    }
    let why = format!("`{name}` of {} and {} needs tensors of one shape", given.0.ty, wanted.0.ty);
    mistaken(given, wanted, error::shape(why))
}
/// A mistake, if the operands are none.
#[track_caller]
fn mistaken(a: &Tensor, b: &Tensor, mistake: Diagnostic) -> Tensor {
    a.apply(&[b], |_, _| Err(mistake))
}
