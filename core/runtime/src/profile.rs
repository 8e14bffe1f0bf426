//! What a profile of a run says: a calling context tree (Ammons, Ball and Larus 1997) in which recursion is folded.
//!
//! A frame stands for a chain of labels that called each other, from the host on. A label that is called within itself is no new frame:
//! it goes on in the frame that it has. So a label occurs at most once between a frame and the host, and there are few frames.
//!
//! Invariant: frames stand behind their callers; the first is the host.

use std::time::Duration;

/// How a function's work is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The label, by number.
    pub number: u32,
    /// Whether entering the function is a call of the label, not a part of one that is on its way.
    pub is_call: bool,
}

/// The label of each function of a module; what has none is booked with its caller.
pub type Labels = [Option<Label>];

/// A chain of labels that called each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its last label; none for the host.
    pub label: Option<u32>,
    /// The frame that called it; none for the host.
    pub caller: Option<usize>,
    /// How often.
    pub calls: u64,
    /// How many cells it made.
    pub cells: u64,
    /// How long it ran, without what it called.
    pub own: Duration,
}

/// What a profile says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTree {
    /// The frames.
    pub frames: Vec<Frame>,
    /// How often it was looked which frame runs.
    pub samples: u64,
    /// Whether there were more chains than frames: then a label of a chain without a frame is booked as if the host had called it.
    pub is_full: bool,
}

impl CallTree {
    /// How long the run took: the sum of what all frames took.
    pub fn time(&self) -> Duration {
        self.frames.iter().map(|frame| frame.own).sum()
    }

    /// How long each frame ran, with what it called.
    pub fn totals(&self) -> Vec<Duration> {
        let mut totals: Vec<Duration> = self.frames.iter().map(|frame| frame.own).collect();
        for (at, frame) in self.frames.iter().enumerate().rev() {
            if let Some(caller) = frame.caller {
                let own = totals[at];
                totals[caller] += own;
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_sums() {
        let frame = |label, caller, own| Frame { label, caller, calls: 1, cells: 0, own: Duration::from_secs(own) };
        let frames = vec![
            frame(None, None, 1),
            frame(Some(0), Some(0), 2),
            frame(Some(1), Some(1), 4),
            frame(Some(2), Some(1), 8),
        ];
        let tree = CallTree { frames, samples: 4, is_full: false };
        assert_eq!(tree.totals(), [15, 14, 4, 8].map(Duration::from_secs));
        assert_eq!(tree.time(), Duration::from_secs(15));
    }
}
