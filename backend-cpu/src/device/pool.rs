//! Threads that wait for work: as many as the machine runs at once, the caller's own among them.
//!
//! Invariant: a job is done by whoever calls [`Pool::run`] and by the pool's threads together; it has ended on all of them when `run`
//! returns.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Something that several threads do together; each is told its number.
pub(super) trait Job: Send + Sync {
    /// A thread's part.
    fn work(&self, thread: usize);
}

#[derive(Default)]
struct State {
    job: Option<Arc<dyn Job>>,
    /// Counts the jobs, so that each thread takes each job once.
    number: u64,
    /// Threads that have not ended their part.
    busy: usize,
    ends: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    begun: Condvar,
    ended: Condvar,
}

impl Shared {
    /// Nothing panics while it is locked, and what it guards is whole at all times.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Threads that wait for work.
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({})", self.len())
    }
}

impl Pool {
    /// So many threads, the caller's among them. Fewer if the system gives no more.
    pub fn new(count: usize) -> Pool {
        let shared = Arc::new(Shared::default());
        let start = |number: usize| {
            let shared = shared.clone();
            std::thread::Builder::new().name(format!("girih-cpu-{number}")).spawn(move || wait(&shared, number)).ok()
        };
        let threads = (1..count).map_while(start).collect();
        Pool { shared, threads }
    }

    /// How many threads there are, the caller's among them.
    pub fn len(&self) -> usize {
        self.threads.len() + 1
    }

    /// Does a job on all threads.
    pub fn run(&self, job: Arc<dyn Job>) {
        if !self.threads.is_empty() {
            let mut state = self.shared.lock();
            state.job = Some(job.clone());
            state.number += 1;
            state.busy = self.threads.len();
            drop(state);
            self.shared.begun.notify_all();
        }
        job.work(0);
        let mut state = self.shared.lock();
        while state.busy > 0 {
            state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.job = None;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.begun.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that has panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// The life of a thread.
fn wait(shared: &Shared, number: usize) {
    let mut done = 0;
    loop {
        let mut state = shared.lock();
        while !state.ends && state.number == done {
            state = shared.begun.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.ends {
            return;
        }
        done = state.number;
        let job = state.job.clone();
        drop(state);
        let ended = Ended(shared);
        if let Some(job) = job {
            job.work(number);
        }
        drop(ended);
    }
}

/// Says that a thread has ended its part, also if it panics.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.ended.notify_all();
    }
}
