//! The network: three convolutions, each followed by pooling, then two dense layers.

use super::pictures::SIZE;
use girih::tensor::nn::{Conv2d, Linear};
use girih::tensor::{Module, Random, Tensor};

/// Pictures to one number each: positive for dogs.
#[derive(Module)]
pub struct Network {
    convolutions: Vec<Conv2d>,
    hidden: Linear,
    output: Linear,
}

impl Network {
    /// Before training.
    pub fn new(random: &Random) -> Network {
        let channels = [3, 8, 16, 32];
        let convolutions = channels.windows(2).map(|pair| Conv2d::new(random, pair[0], pair[1], 3)).collect();
        let left = 32 * (SIZE / 8) * (SIZE / 8);
        Network { convolutions, hidden: Linear::new(random, left, 32), output: Linear::new(random, 32, 1) }
    }
    /// Of [pictures, 3, height, width]: [pictures].
    pub fn forward(&self, pictures: &Tensor) -> Tensor {
        let mut x = pictures.clone();
        for convolution in &self.convolutions {
            x = convolution.forward(&x).relu().max_pool2d([2, 2], [2, 2], [0, 0]);
        }
        let hidden = self.hidden.forward(&x.flatten(1)).relu();
        self.output.forward(&hidden).flatten(0)
    }
}
