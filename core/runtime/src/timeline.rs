//! What a run on a device did while time went on: how many lanes had something to do, and how much memory cells took.
//!
//! Invariant: there are at most [`SLICES`] slices, and their sums are those of all supersteps: slices that are too many are put together.

use std::time::Duration;

/// Most slices that are kept. Put together, they show what a person can see.
const SLICES: usize = 1024;

/// Supersteps that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// How many supersteps.
    pub steps: u64,
    /// How long they took, until the host had seen what came of them.
    pub took: Duration,
    /// Seconds of lanes that had a task when their superstep began: the sum of what each of these supersteps took, times its lanes.
    pub busy: f64,
    /// Tasks that went from one workgroup to another.
    pub tasks: u64,
    /// Bytes that cells took in the end.
    pub bytes: u64,
}

/// A run on a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// How many lanes there are.
    pub lanes: u32,
    /// The supersteps, in their order.
    pub slices: Vec<Slice>,
}

impl Slice {
    fn and(self, next: Slice) -> Slice {
        Slice {
            steps: self.steps + next.steps,
            took: self.took + next.took,
            busy: self.busy + next.busy,
            tasks: self.tasks + next.tasks,
            bytes: next.bytes,
        }
    }
}

impl Timeline {
    /// Adds what came next.
    pub fn push(&mut self, slice: Slice) {
        if self.slices.len() == SLICES {
            self.slices = merged(&self.slices, SLICES / 2);
        }
        self.slices.push(slice);
    }

    /// How long all supersteps took.
    pub fn time(&self) -> Duration {
        self.slices.iter().map(|slice| slice.took).sum()
    }

    /// Which part of the lanes had a task when a superstep began, on average over the time: from 0 to 1.
    pub fn busy(&self) -> f64 {
        part(self.slices.iter().map(|slice| slice.busy).sum(), self.time(), self.lanes)
    }

    /// Which part of the lanes had a task in a slice.
    pub fn busy_in(&self, slice: &Slice) -> f64 {
        part(slice.busy, slice.took, self.lanes)
    }

    /// The same in at most `most` slices.
    pub fn in_slices(&self, most: usize) -> Timeline {
        Timeline { lanes: self.lanes, slices: merged(&self.slices, most) }
    }
}

fn part(busy: f64, time: Duration, lanes: u32) -> f64 {
    busy / (time.as_secs_f64() * f64::from(lanes)).max(f64::MIN_POSITIVE)
}

/// Neighbours put together, so that there are at most `most` of them, each of as many as the others.
fn merged(slices: &[Slice], most: usize) -> Vec<Slice> {
    let size = slices.len().div_ceil(most.max(1)).max(1);
    slices.chunks(size).map(|chunk| chunk.iter().fold(Slice::default(), |sum, next| sum.and(*next))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_when_slices_are_put_together() {
        let mut timeline = Timeline { lanes: 8, slices: vec![] };
        let one = Slice { steps: 1, took: Duration::from_secs(2), busy: 4.0, tasks: 3, bytes: 0 };
        for number in 0..5000 {
            timeline.push(Slice { bytes: number, ..one });
        }
        assert!(timeline.slices.len() <= SLICES);
        let sum = |timeline: &Timeline| timeline.slices.iter().fold(Slice::default(), |sum, next| sum.and(*next));
        let all = Slice { steps: 5000, took: Duration::from_secs(10_000), busy: 20_000.0, tasks: 15_000, bytes: 4999 };
        assert_eq!(sum(&timeline), all);
        let few = timeline.in_slices(20);
        assert_eq!((few.slices.len() <= 20, sum(&few)), (true, all));
        assert!((few.busy() - 0.25).abs() < 1e-9 && (few.busy_in(&few.slices[0]) - 0.25).abs() < 1e-9);
        assert_eq!(Timeline::default().busy(), 0.0);
    }
}
