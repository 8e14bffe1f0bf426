//! How long one row of a table may take: a row that is too slow for a device is ended and named, and the others still get their figures.
//!
//! Invariant: everything that is measured checks one flag, which the user's own flag and the end of a row's time raise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the clock and the user's flag are looked at.
const TICK: Duration = Duration::from_millis(20);

/// The time of a row.
pub(super) struct Patience {
    shared: Arc<Shared>,
}

struct Shared {
    /// What everything measured looks at.
    flag: Arc<AtomicBool>,
    /// The user's.
    interrupt: Option<Arc<AtomicBool>>,
    /// When the row began.
    begun: Mutex<Option<Instant>>,
    limit: Duration,
    ended: AtomicBool,
}

impl Patience {
    /// Rows of so much time; an interrupt ends them before it.
    pub fn new(limit: Duration, interrupt: Option<Arc<AtomicBool>>) -> Patience {
        let flag = Arc::new(AtomicBool::new(false));
        let shared =
            Arc::new(Shared { flag, interrupt, begun: Mutex::new(None), limit, ended: AtomicBool::new(false) });
        let watched = shared.clone();
        std::thread::spawn(move || {
            while !watched.ended.load(Ordering::Relaxed) {
                watched.look();
                std::thread::sleep(TICK);
            }
        });
        Patience { shared }
    }

    /// The flag that is raised.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.shared.flag.clone()
    }

    /// A row begins.
    pub fn begin(&self) {
        let mut begun = self.shared.begun();
        *begun = Some(Instant::now());
        self.shared.flag.store(self.shared.is_interrupted(), Ordering::Relaxed);
    }

    /// Why the row ended before it was done, if its time was over.
    pub fn over(&self) -> Option<String> {
        let over = self.shared.is_over() && !self.shared.is_interrupted();
        over.then(|| format!("it takes longer than {} s", self.shared.limit.as_secs()))
    }

    /// Whether so much of the row's time is gone that what has been measured has to do.
    pub fn is_short(&self) -> bool {
        self.shared.spent().is_some_and(|spent| spent > self.shared.limit / 2)
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn begun(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Raises the flag if it is time. Nothing begins meanwhile: the end of one row must not end the next.
    fn look(&self) {
        let begun = self.begun();
        if self.is_interrupted() || begun.is_some_and(|begun| begun.elapsed() > self.limit) {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
    fn spent(&self) -> Option<Duration> {
        self.begun().map(|begun| begun.elapsed())
    }
    fn is_over(&self) -> bool {
        self.spent().is_some_and(|spent| spent > self.limit)
    }
    fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until the flag is raised, however long a busy machine takes for it.
    fn wait_for(flag: &AtomicBool) {
        while !flag.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
    }

    #[test]
    fn a_row_ends_with_its_time_and_the_next_one_has_its_own() {
        let patience = Patience::new(Duration::from_millis(60), None);
        let flag = patience.flag();
        patience.begin();
        wait_for(&flag);
        assert!(patience.is_short());
        assert_eq!(patience.over().as_deref(), Some("it takes longer than 0 s"));
        let patience = Patience::new(Duration::from_secs(1000), None);
        patience.begin();
        assert!(!patience.is_short());
        assert_eq!(patience.over(), None);
    }

    #[test]
    fn an_interrupt_is_no_slow_row() {
        let interrupt = Arc::new(AtomicBool::new(false));
        let patience = Patience::new(Duration::from_secs(1000), Some(interrupt.clone()));
        patience.begin();
        interrupt.store(true, Ordering::Relaxed);
        wait_for(&patience.flag());
        assert_eq!(patience.over(), None);
    }
}
