//! How much of a program in epochs is submitted at once: so little that the host looks often and no dispatch is long, and so much that
//! the device does not wait for the host.

use crate::forkjoin::runner::ForkJoinOptions;
use std::time::Duration;

/// How long the work of one submission shall take: how long the host is deaf to its user.
const LOOK: Duration = Duration::from_millis(25);
/// Systems end a dispatch of seconds, and screens stand still for as long; a dispatch that takes longer than this is made shorter.
const LONG: Duration = Duration::from_millis(10);
/// And one that takes less may be longer.
const SHORT: Duration = Duration::from_millis(2);
/// Epochs that a call begins with: most calls between two effects are short.
const FIRST: usize = 4;
/// Segments that a lane always runs.
const LEAST_STEPS: u32 = 16;

/// Something that tells the time, from any moment on.
pub type Clock = fn() -> Duration;

/// How many epochs are submitted at once, and how many segments a lane runs in each. Without a clock a call's submissions grow as they are more.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    clock: Option<Clock>,
    batch: usize,
    most_batch: usize,
    steps: u32,
    most_steps: u32,
}

impl Pace {
    pub fn new(options: &ForkJoinOptions, clock: Option<Clock>) -> Pace {
        let most_batch = options.batch.max(1);
        Pace { clock, batch: FIRST.min(most_batch), most_batch, steps: options.steps, most_steps: options.steps }
    }

    /// A call begins.
    pub fn begin(&mut self) {
        self.batch = FIRST.min(self.most_batch);
    }

    /// Epochs of the next submission.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Segments of a lane.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The time now.
    pub fn now(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock())
    }

    /// A submission that began then is over: so many epochs had work, and more work is `waiting`.
    pub fn note(&mut self, began: Duration, epochs: u32, waiting: bool) {
        let grown = (2 * self.batch).min(self.most_batch);
        if self.clock.is_none() {
            self.batch = grown;
            return;
        }
        let each = self.now().saturating_sub(began) / epochs.max(1);
        let fitting = LOOK.as_nanos() / each.as_nanos().max(1);
        self.batch = grown.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
        if each > LONG {
            let over = u32::try_from(each.as_nanos() / LONG.as_nanos()).unwrap_or(u32::MAX);
            self.steps = (self.steps / over.saturating_add(1)).max(LEAST_STEPS.min(self.most_steps));
        } else if each < SHORT && waiting {
            self.steps = self.steps.saturating_mul(2).min(self.most_steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    fn options() -> ForkJoinOptions {
        ForkJoinOptions { steps: 1024, batch: 64, ..ForkJoinOptions::default() }
    }
    fn pace() -> Pace {
        Pace::new(&options(), Some(|| NOW.get()))
    }
    /// A submission whose epochs take so many microseconds each.
    fn pass(pace: &mut Pace, each: u64) {
        let (began, epochs) = (pace.now(), pace.batch() as u32);
        NOW.set(began + Duration::from_micros(each) * epochs);
        pace.note(began, epochs, true);
    }

    #[test]
    fn without_a_clock_submissions_grow_and_steps_stay() {
        let mut pace = Pace::new(&options(), None);
        let mut batches = vec![];
        for _ in 0..6 {
            batches.push(pace.batch());
            pace.note(pace.now(), 1, true);
        }
        assert_eq!((batches, pace.steps()), (vec![4, 8, 16, 32, 64, 64], 1024));
        pace.begin();
        assert_eq!(pace.batch(), 4);
    }

    #[test]
    fn the_host_looks_often() {
        let mut pace = pace();
        for each in [10, 10, 10, 10, 10, 5_000, 900, 900, 40_000, 40_000] {
            pass(&mut pace, each);
        }
        assert_eq!(pace.batch(), 1);
        for _ in 0..10 {
            pass(&mut pace, 1_000);
        }
        assert_eq!(pace.batch(), 25);
    }

    #[test]
    fn long_dispatches_become_shorter_and_short_ones_longer_again() {
        let mut pace = pace();
        // A lane's segment takes 80 microseconds.
        for _ in 0..4 {
            let each = 80 * u64::from(pace.steps());
            pass(&mut pace, each);
        }
        let each = 80 * u64::from(pace.steps());
        assert!((1_000..=10_000).contains(&each), "{each} us");
        for _ in 0..20 {
            let each = u64::from(pace.steps());
            pass(&mut pace, each);
        }
        assert_eq!(pace.steps(), 1024);
        // Something that is slow whatever is done is not made smaller without end.
        for _ in 0..20 {
            pass(&mut pace, 1_000_000);
        }
        assert_eq!((pace.steps(), pace.batch()), (16, 1));
    }

    #[test]
    fn dispatches_without_work_left_need_no_more_steps() {
        let mut pace = pace();
        pass(&mut pace, 100_000);
        let steps = pace.steps();
        assert!(steps < 1024);
        for _ in 0..5 {
            let began = pace.now();
            pace.note(began, 1, false);
        }
        assert_eq!(pace.steps(), steps);
    }
}
