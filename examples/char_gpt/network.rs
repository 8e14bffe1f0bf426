//! The network: Radford et al., Language models are unsupervised multitask learners, 2019.

use girih::tensor::nn::{Attention, Embedding, LayerNorm, Linear};
use girih::tensor::{Module, Random, Scalar, Tensor};

/// How large a network is.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub characters: u64,
    pub length: u64,
    pub features: u64,
    pub blocks: u64,
}

/// How many heads look at each piece.
const HEADS: u64 = 4;

/// Numbers of characters to unnormalised logarithms of the probabilities of each next one.
#[derive(Module)]
pub struct Network {
    characters: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    output: Linear,
}

/// Attention, then two layers for each character by itself.
#[derive(Module)]
struct Block {
    first: LayerNorm,
    attention: Attention,
    second: LayerNorm,
    wide: Linear,
    narrow: Linear,
}

impl Network {
    pub fn new(random: &Random, sizes: Sizes) -> Network {
        Network {
            characters: Embedding::new(random, sizes.characters, sizes.features),
            places: Embedding::new(random, sizes.length, sizes.features),
            blocks: (0..sizes.blocks).map(|_| Block::new(random, sizes.features)).collect(),
            norm: LayerNorm::new(random.device(), sizes.features),
            output: Linear::new(random, sizes.features, sizes.characters),
        }
    }
    /// Of [batch, length]: [batch, length, characters].
    pub fn forward(&self, seen: &Tensor) -> Tensor {
        let length = seen.shape().last().copied().unwrap_or(0);
        let places = seen.device().arange(length, Scalar::I32);
        let mut x = (self.characters.forward(seen) + self.places.forward(&places)) * 0.1;
        for block in &self.blocks {
            x = block.forward(&x);
        }
        self.output.forward(&self.norm.forward(&x))
    }
}

impl Block {
    fn new(random: &Random, features: u64) -> Block {
        let norm = || LayerNorm::new(random.device(), features);
        Block {
            first: norm(),
            attention: Attention::new(random, features, HEADS, true),
            second: norm(),
            wide: Linear::new(random, features, 4 * features),
            narrow: Linear::new(random, 4 * features, features),
        }
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.attention.forward(&self.first.forward(x));
        let wide = self.wide.forward(&self.second.forward(&x)).gelu();
        x + self.narrow.forward(&wide)
    }
}
