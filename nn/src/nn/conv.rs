//! Convolution in two dimensions.

use super::{Parameter, module};
use crate::random::Random;
use crate::tensor::Tensor;

/// Convolution of pictures: [images, channels, height, width].
#[derive(Clone, Debug)]
pub struct Conv2d {
    /// [channels out, channels in a group, height, width].
    pub weight: Parameter,
    /// [channels out].
    pub bias: Parameter,
    /// How far neighbouring windows are apart.
    pub stride: [u64; 2],
    /// How many zeros are added on both sides of height and width.
    pub padding: [u64; 2],
    /// How far elements of a window are apart.
    pub dilation: [u64; 2],
    /// Into how many independent groups channels are divided.
    pub groups: u64,
}
module!(Conv2d { weight, bias });

impl Conv2d {
    /// Square windows of odd width whose result has the pictures' size.
    #[track_caller]
    pub fn new(random: &Random, channels_in: u64, channels_out: u64, window: u64) -> Conv2d {
        Conv2d::grouped(random, channels_in, channels_out, window, 1)
    }
    /// The same with channels in so many groups.
    #[track_caller]
    pub fn grouped(random: &Random, channels_in: u64, channels_out: u64, window: u64, groups: u64) -> Conv2d {
        let inner = channels_in / groups.max(1);
        let bound = 1.0 / ((inner * window * window).max(1) as f32).sqrt();
        Conv2d {
            weight: Parameter::new(random.uniform([channels_out, inner, window, window], -bound, bound)),
            bias: Parameter::new(random.uniform([channels_out], -bound, bound)),
            stride: [1; 2],
            padding: [window / 2; 2],
            dilation: [1; 2],
            groups,
        }
    }
    /// Of [images, channels in, height, width]: [images, channels out, ..].
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let all = x.conv2d(&self.weight.get(), self.stride, self.padding, self.dilation, self.groups);
        let bias = self.bias.get();
        &all + bias.reshape([bias.len(), 1, 1])
    }
}
