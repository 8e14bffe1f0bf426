//! Filters as formulas of tensors: each becomes few kernels, whatever the picture's size.

use clap::ValueEnum;
use girih::tensor::{Tensor, concat};

/// What is done with a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Filter {
    /// Weights of the binomial distribution, along both axes.
    Blur,
    /// Twice the picture, less a blurred one.
    Sharpen,
    /// How steep each colour is: Sobel's operator.
    Edges,
    /// Light from the upper left.
    Relief,
}

impl Filter {
    /// Applies it to [colours, height, width].
    pub fn apply(self, x: &Tensor) -> Tensor {
        match self {
            Filter::Blur => blurred(x),
            Filter::Sharpen => x * 2.0 - blurred(x),
            Filter::Edges => {
                let across = weighed(x, &[1.0, 0.0, -1.0, 2.0, 0.0, -2.0, 1.0, 0.0, -1.0]);
                let down = weighed(x, &[1.0, 2.0, 1.0, 0.0, 0.0, 0.0, -1.0, -2.0, -1.0]);
                (across.square() + down.square()).sqrt() * 0.25
            }
            Filter::Relief => weighed(x, &[-1.0, -0.5, 0.0, -0.5, 0.0, 0.5, 0.0, 0.5, 1.0]) + 0.5,
        }
    }
}

/// The sum of each pixel's three by three neighbours with these weights. Beyond the edge, the picture's last pixels go on.
fn weighed(x: &Tensor, weights: &[f32; 9]) -> Tensor {
    let [colours, height, width] = x.shape()[..] else { return x.clone() };
    let weights = x.device().tensor(weights, [1, 1, 3, 3]);
    let padded = continued(&continued(x, 1), 2).reshape([colours, 1, height + 2, width + 2]);
    padded.conv2d(&weights, [1, 1], [0, 0], [1, 1], 1).reshape([colours, height, width])
}
/// Along an axis with the first and the last element twice.
fn continued(x: &Tensor, axis: i64) -> Tensor {
    let length = x.shape()[axis as usize];
    let (first, last) = (x.narrow(axis, 0, 1), x.narrow(axis, length - 1, length));
    concat(&[&first, x, &last], axis).unwrap_or_else(|| x.clone())
}
fn blurred(x: &Tensor) -> Tensor {
    let weights = [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0].map(|weight: f32| weight / 16.0);
    weighed(&weighed(x, &weights), &weights)
}
