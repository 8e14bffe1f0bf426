//! Norms: elements moved and scaled to mean 0 and variance 1, then by factors that are learnt.

use super::{Parameter, module};
use crate::device::Device;
use crate::tensor::Tensor;

/// What is added to a variance before its root is taken.
const EPSILON: f64 = 1e-5;

/// Layer norm along the last dimension: Ba, Kiros, Hinton, Layer normalization, 2016.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// The factors, one for each feature.
    pub weight: Parameter,
    /// The summands.
    pub bias: Parameter,
}
module!(LayerNorm { weight, bias });

impl LayerNorm {
    /// Of so many features.
    pub fn new(device: &Device, features: u64) -> LayerNorm {
        LayerNorm { weight: Parameter::new(device.ones([features])), bias: Parameter::new(device.zeros([features])) }
    }
    /// Of [.., features], in the same shape.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x.normalise([-1], EPSILON) * self.weight.get() + self.bias.get()
    }
}

/// Elements over the root of the mean of their squares along the last dimension: Zhang, Sennrich, Root mean square layer normalization, 2019.
#[derive(Clone, Debug)]
pub struct RmsNorm {
    /// The factors, one for each feature.
    pub weight: Parameter,
}
module!(RmsNorm { weight });

impl RmsNorm {
    /// Of so many features.
    pub fn new(device: &Device, features: u64) -> RmsNorm {
        RmsNorm { weight: Parameter::new(device.ones([features])) }
    }
    /// Of [.., features], in the same shape.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let scale = (x.square().mean([-1]) + EPSILON).rsqrt().unsqueeze(-1);
        x * scale * self.weight.get()
    }
}

/// Batch norm of pictures: Ioffe, Szegedy, Batch normalization, 2015.
#[derive(Clone, Debug)]
pub struct BatchNorm2d {
    /// The factors, one for each channel.
    pub weight: Parameter,
    /// The summands.
    pub bias: Parameter,
    /// The mean of batches seen so far.
    pub running_mean: Parameter,
    /// The variance of batches seen so far.
    pub running_var: Parameter,
    /// How much a batch counts for these.
    pub momentum: f32,
}
module!(BatchNorm2d { weight, bias, running_mean, running_var });

impl BatchNorm2d {
    /// Of so many channels.
    pub fn new(device: &Device, channels: u64) -> BatchNorm2d {
        BatchNorm2d {
            weight: Parameter::new(device.ones([channels])),
            bias: Parameter::new(device.zeros([channels])),
            running_mean: Parameter::untrained(device.zeros([channels])),
            running_var: Parameter::untrained(device.ones([channels])),
            momentum: 0.1,
        }
    }
    /// Of [images, channels, height, width], in the same shape, by what was seen in training.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let by_channel = |parameter: &Parameter| channels(&parameter.get());
        let scale = (by_channel(&self.running_var) + EPSILON).rsqrt();
        (x - by_channel(&self.running_mean)) * scale * by_channel(&self.weight) + by_channel(&self.bias)
    }
    /// The same by mean and variance of the batch, which then count for later ones. The optimiser computes what it keeps of them in its next step.
    #[track_caller]
    pub fn train(&self, x: &Tensor) -> Tensor {
        let axes = [0, 2, 3];
        let count = (x.len() / x.shape().get(1).copied().unwrap_or(1).max(1)) as f32;
        // The variance of what batches are drawn from is larger than theirs.
        let unbiased = x.var(axes) * (count / (count - 1.0).max(1.0));
        for (kept, new) in [(&self.running_mean, x.mean(axes)), (&self.running_var, unbiased)] {
            kept.set(kept.get() * (1.0 - self.momentum) + new * self.momentum);
        }
        x.normalise(axes, EPSILON) * channels(&self.weight.get()) + channels(&self.bias.get())
    }
}

/// Numbers of channels, to stand beside pictures.
#[track_caller]
fn channels(numbers: &Tensor) -> Tensor {
    numbers.reshape([numbers.len(), 1, 1])
}
