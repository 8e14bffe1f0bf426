//! The time that shaders see, and the pace at which pictures come.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time starts again after so many seconds: f24 has 16 significant bits, so that it would go in steps of more than a
/// frame later on.
const ROUND: f64 = 512.0;

/// A clock that can be stopped.
pub struct Clock {
    /// When it would have been at zero, had it never been stopped.
    zero: Instant,
    /// When it was stopped.
    stopped: Option<Instant>,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock { zero: Instant::now(), stopped: None }
    }

    /// Seconds.
    pub fn time(&self) -> f32 {
        let now = self.stopped.unwrap_or_else(Instant::now);
        ((now - self.zero).as_secs_f64() % ROUND) as f32
    }

    /// Sets it to zero; it stays stopped if it is.
    pub fn reset(&mut self) {
        self.zero = Instant::now();
        self.stopped = self.stopped.map(|_| self.zero);
    }

    /// Stops it, and moves it on by so much.
    pub fn step(&mut self, by: Duration) {
        let stopped = *self.stopped.get_or_insert_with(Instant::now);
        self.stopped = Some(stopped + by);
    }

    /// Stops it, or lets it go on.
    pub fn toggle(&mut self) {
        match self.stopped.take() {
            // A clock that was moved may be ahead of the others.
            Some(stopped) => match Instant::now().checked_duration_since(stopped) {
                Some(behind) => self.zero += behind,
                None => self.zero = self.zero.checked_sub(stopped - Instant::now()).unwrap_or(self.zero),
            },
            None => self.stopped = Some(Instant::now()),
        }
    }

    /// Whether it stands still.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }
}

/// How many pictures come in a second, counted over the last two.
#[derive(Default)]
pub struct Pace {
    arrivals: VecDeque<Instant>,
}

impl Pace {
    /// A picture has come.
    pub fn tick(&mut self) {
        let now = Instant::now();
        self.arrivals.push_back(now);
        while self.arrivals.len() > 2 && now - self.arrivals[0] > Duration::from_secs(2) {
            self.arrivals.pop_front();
        }
    }

    /// Pictures a second, when there are enough to tell.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = (self.arrivals.front()?, self.arrivals.back()?);
        let seconds = (*last - *first).as_secs_f64();
        (seconds > 0.0).then(|| (self.arrivals.len() - 1) as f64 / seconds)
    }
}
