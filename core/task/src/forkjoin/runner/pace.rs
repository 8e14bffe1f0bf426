//! How much of a program in epochs is submitted at once: so little that the host looks often and no dispatch is long, and so much that
//! the device does not wait for the host.

use crate::forkjoin::rounds::LEAST_STEPS;
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

/// Something that tells the time, from any moment on.
pub type Clock = fn() -> Duration;

/// How many epochs are submitted at once, and how many segments a lane runs in each. Without a clock a call's submissions grow as they are more.
#[derive(Clone, Debug)]
pub struct Pace {
    clock: Option<Clock>,
    batch: usize,
    most_batch: usize,
    steps: u32,
    most_steps: u32,
}

impl Pace {
    /// The pace that a program begins with.
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
