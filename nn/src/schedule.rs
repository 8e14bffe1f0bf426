//! Schedules: how the learning rate changes from step to step.
//!
//! ```
//! use girih_nn::schedule::Schedule;
//!
//! let schedule = Schedule::Cosine { rate: 1.0, warmup: 10, steps: 110, least: 0.0 };
//! assert_eq!([schedule.at(0), schedule.at(9), schedule.at(110)], [0.1, 1.0, 0.0]);
//! assert!((schedule.at(60) - 0.5).abs() < 1e-6);
//! ```
//!
//! Invariant: a rate is an input of the optimiser's graph, so another rate is not another graph.

/// The learning rate of each step; `adam.rate = schedule.at(step)` before a step sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// One rate.
    Constant(f32),
    /// A rate that is multiplied by a factor after every so many steps.
    Steps {
        /// The first rate.
        rate: f32,
        /// After how many steps it changes.
        every: u64,
        /// By what it is multiplied then.
        factor: f32,
    },
    /// A rate that rises evenly, then falls as a cosine does: Loshchilov, Hutter, SGDR: stochastic gradient descent with warm restarts, 2016.
    Cosine {
        /// The greatest rate.
        rate: f32,
        /// How many steps it rises.
        warmup: u64,
        /// The step at which it has become least.
        steps: u64,
        /// The rate from then on.
        least: f32,
    },
}

impl Schedule {
    /// The rate of a step; the first is step 0.
    pub fn at(self, step: u64) -> f32 {
        match self {
            Schedule::Constant(rate) => rate,
            Schedule::Steps { rate, every, factor } => {
                let times = i32::try_from(step / every.max(1)).unwrap_or(i32::MAX);
                rate * factor.powi(times)
            }
            Schedule::Cosine { rate, warmup, .. } if step < warmup => rate * (step + 1) as f32 / warmup as f32,
            Schedule::Cosine { rate, warmup, steps, least } => {
                let length = steps.saturating_sub(warmup).max(1);
                let done = ((step - warmup) as f32 / length as f32).min(1.0);
                least + (rate - least) * 0.5 * (1.0 + (std::f32::consts::PI * done).cos())
            }
        }
    }
}
