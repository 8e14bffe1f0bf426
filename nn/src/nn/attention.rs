//! Attention of several heads: Vaswani et al., Attention is all you need, 2017.

use super::{Linear, module};
use crate::error;
use crate::random::Random;
use crate::tensor::Tensor;
use girih_ir::Scalar;

/// Self-attention of several heads over [batch, length, features].
#[derive(Clone, Debug)]
pub struct Attention {
    /// Features to what is asked for.
    pub query: Linear,
    /// Features to what is offered.
    pub key: Linear,
    /// Features to what is given.
    pub value: Linear,
    /// What all heads give to features.
    pub output: Linear,
    /// How many heads there are; they divide the features.
    pub heads: u64,
    /// Whether a place sees only itself and those before it.
    pub is_causal: bool,
}
module!(Attention { query, key, value, output });

impl Attention {
    /// Of so many features and heads.
    #[track_caller]
    pub fn new(random: &Random, features: u64, heads: u64, is_causal: bool) -> Attention {
        let linear = || Linear::new(random, features, features);
        Attention { query: linear(), key: linear(), value: linear(), output: linear(), heads, is_causal }
    }
    /// Of [batch, length, features], in the same shape.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let [batch, length, features] = x.shape()[..] else {
            let why = format!("attention takes [batch, length, features], and is given {}", x.0.ty);
            return x.apply(&[], |_, _| Err(error::shape(why)));
        };
        let heads = self.heads.max(1);
        let split = |x: Tensor| x.reshape([batch, length, heads, features / heads]).transpose(1, 2);
        let [query, key, value] = [&self.query, &self.key, &self.value].map(|linear| split(linear.forward(x)));
        let mut scores = query.matmul(&key.transpose(-2, -1)) * (1.0 / ((features / heads) as f64).sqrt());
        if self.is_causal {
            let places = x.device().arange(length, Scalar::I32);
            let is_seen = places.unsqueeze(0).le(places.unsqueeze(1));
            scores = is_seen.select(scores, -1e9_f32);
        }
        let mixed = scores.softmax(-1).matmul(&value).transpose(1, 2);
        self.output.forward(&mixed.reshape([batch, length, features]))
    }
}
