//! The word that ends a launch early, and the thread that sets it when the time is over.
//!
//! Code looks at the word once in each iteration of each loop.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The launch goes on.
pub(super) const RUNNING: u32 = 0;
/// It has a fault.
const FAULT: u32 = 1;
/// Its time is over.
const LATE: u32 = 2;

/// The word that ends a launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicU32>);

impl Stop {
    /// What it says.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
    /// Ends the launch because of a fault.
    pub fn fault(&self) {
        // Whoever is first has the word.
        let _ = self.0.compare_exchange(RUNNING, FAULT, Ordering::Relaxed, Ordering::Relaxed);
    }
    /// Whether its time was over.
    pub fn is_late(&self) -> bool {
        self.get() == LATE
    }
    /// Lets launches run again.
    pub fn reset(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }
    /// Its address, for code. It stays while the word is owned.
    pub fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

#[derive(Default)]
struct State {
    deadline: Option<Instant>,
    ends: bool,
}

/// Watches over the time of launches.
pub(super) struct Watch {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    stop: Stop,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    /// Nothing is watched yet; its thread is started when something is.
    pub fn new(stop: Stop) -> Watch {
        Watch { shared: Arc::default(), thread: None, stop }
    }

    /// From now on there is so much time.
    pub fn begin(&mut self, limit: Duration) {
        let Some(deadline) = Instant::now().checked_add(limit) else { return };
        if self.thread.is_none() {
            let (shared, stop) = (self.shared.clone(), self.stop.clone());
            let thread = std::thread::Builder::new().name("girih-cpu-watch".into());
            // Without it launches have no limit, which is better than no launches.
            self.thread = thread.spawn(move || watch(&shared, &stop)).ok();
        }
        self.set(Some(deadline));
        self.shared.1.notify_one();
    }

    /// The launch has ended.
    pub fn end(&mut self) {
        self.set(None);
    }

    fn set(&self, deadline: Option<Instant>) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).deadline = deadline;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).ends = true;
        self.shared.1.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// The life of the thread.
fn watch(shared: &(Mutex<State>, Condvar), stop: &Stop) {
    let (state, changed) = shared;
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    while !state.ends {
        let Some(deadline) = state.deadline else {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            stop.0.store(LATE, Ordering::Relaxed);
            state.deadline = None;
        } else {
            state = changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
