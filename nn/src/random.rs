//! Random numbers by Philox: the same seed gives the same numbers on every device.

use crate::device::Device;
use crate::tensor::Tensor;
use girih_tensor::{Attr, AttrKind, Op, Shape};
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random numbers. Each call gives the numbers that follow those of the calls before.
#[derive(Debug)]
pub struct Random {
    device: Device,
    seed: u64,
    drawn: AtomicU64,
}

impl Random {
    /// The source of a seed.
    pub fn new(device: &Device, seed: u64) -> Random {
        Random { device: device.clone(), seed, drawn: AtomicU64::new(0) }
    }
    /// The device of its tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }
    /// Floats that are spread evenly from one number up to before another.
    #[track_caller]
    pub fn uniform(&self, shape: impl AsRef<[u64]>, low: f32, high: f32) -> Tensor {
        self.unit(shape.as_ref()) * (high - low) + low
    }
    /// Floats of the normal distribution: Box and Muller, A note on the generation of random normal deviates, 1958.
    #[track_caller]
    pub fn normal(&self, shape: impl AsRef<[u64]>, mean: f32, deviation: f32) -> Tensor {
        let (radius, angle) = (self.unit(shape.as_ref()), self.unit(shape.as_ref()));
        // 1 - x is not 0.
        let radius = ((1.0_f32 - radius).log() * -2.0).sqrt();
        radius * (angle * std::f32::consts::TAU).cos() * deviation + mean
    }
    /// For each row of unnormalised logarithms of probabilities along the last dimension, the number of an element that is drawn by its probability, an `i64`:
    /// Gumbel, Statistical theory of extreme values, 1954.
    #[track_caller]
    pub fn categorical(&self, logits: &Tensor) -> Tensor {
        let noise = -(-self.unit(&logits.shape()).log()).log();
        (logits + noise).argmax(-1)
    }
    /// Floats in [0, 1).
    #[track_caller]
    fn unit(&self, shape: &[u64]) -> Tensor {
        // A shape that is too large is refused by the operation; until then its numbers only have to be counted without overflow.
        let first = self.drawn.fetch_add(Shape::of(shape).elements(), Ordering::Relaxed);
        // Both are inputs, so that other numbers are no other graph.
        let (seed, offset) = (self.device.scalar(self.seed), self.device.scalar(first));
        seed.apply(&[&offset], |g, x| g.push(Op::Random, x, vec![Attr::List(AttrKind::Sizes, shape.to_vec())]))
    }
}
