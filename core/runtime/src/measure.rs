//! How long things take on a device: what [`Device::time`] gives, and measuring that deserves belief.

use crate::{Command, Device};
use girih_base::diag::Diagnostic;
use std::time::Duration;

/// What runs of the same commands took on the device, each from the start of its first command to the end of its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The runs in order, by the device's own clock, or the host's where it has none (see `exact`).
    pub runs: Vec<Duration>,
    /// Whether the device's own clock was read.
    pub exact: bool,
}

impl Timing {
    /// All runs together.
    pub fn total(&self) -> Duration {
        self.runs.iter().sum()
    }
    /// The run that as many are shorter than as are longer; zero if nothing was run.
    pub fn median(&self) -> Duration {
        median(&self.runs)
    }
    /// The shortest run.
    pub fn least(&self) -> Duration {
        self.runs.iter().min().copied().unwrap_or_default()
    }
    /// The longest run.
    pub fn most(&self) -> Duration {
        self.runs.iter().max().copied().unwrap_or_default()
    }
}

/// The time that as many are shorter than as are longer; zero if there is none.
pub fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How long a device is kept at work before anything counts. Cards that have idled for a second run at less than half of their
/// speed for some tenths of a second.
const WARM_UP: Duration = Duration::from_millis(400);
/// Rounds of warming up, each of twice as many runs as the one before.
const ROUNDS: u32 = 12;

/// Runs commands until the device is warm, then so many times more, which are timed.
pub fn measure(device: &Device, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
    let mut spent = Duration::ZERO;
    for round in 0..ROUNDS {
        let timing = device.time(commands, 1 << round)?;
        spent += timing.total();
        if spent >= WARM_UP {
            break;
        }
    }
    device.time(commands, runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let timing =
            |runs: &[u64]| Timing { runs: runs.iter().map(|ms| Duration::from_millis(*ms)).collect(), exact: true };
        let ms = Duration::from_millis;
        let t = timing(&[9, 1, 5]);
        assert_eq!((t.least(), t.median(), t.most(), t.total()), (ms(1), ms(5), ms(9), ms(15)));
        assert_eq!(timing(&[]).median(), Duration::ZERO);
    }
}
