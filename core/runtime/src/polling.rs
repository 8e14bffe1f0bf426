//! Futures on devices whose drivers wake nobody: one thread of the process asks for all of them.
//!
//! Where there are no threads, as in a browser, drivers wake by themselves.
//!
//! Invariant: a fence is asked for once, however many futures wait for it and however often they are polled; a future has one waker, its last. Nobody is woken under a lock, and whoever
//! panics when woken does not keep others from it.

use crate::driver::Fence;
use girih_base::diag::Diagnostic;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};

/// A fence that futures may wait for.
pub(crate) struct Awaited {
    fence: Arc<dyn Fence>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting(Mutex<Wakers>);

#[derive(Default)]
struct Wakers {
    /// Whether somebody will wake these when the fence is reached.
    is_asked: bool,
    seats: u64,
    all: Vec<(u64, Waker)>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let all = {
            let wakers = &mut *self.lock();
            wakers.is_asked = false;
            std::mem::take(&mut wakers.all)
        };
        for (_, waker) in all {
            // The others are woken all the same.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

impl Awaited {
    pub fn new(fence: Arc<dyn Fence>) -> Arc<Awaited> {
        Arc::new(Awaited { fence, waiting: Arc::default() })
    }

    pub fn fence(&self) -> &(dyn Fence + 'static) {
        &*self.fence
    }

    /// For one more future.
    pub fn seat(self: &Arc<Awaited>) -> Seat {
        let wakers = &mut *self.waiting.lock();
        wakers.seats += 1;
        Seat { awaited: self.clone(), number: wakers.seats }
    }
}

/// A future that waits for a fence.
pub(crate) struct Seat {
    awaited: Arc<Awaited>,
    number: u64,
}

impl Seat {
    /// Whether the fence is reached; if not, someone is woken when it is.
    pub fn poll(&self, waker: &Waker) -> Poll<Result<(), Diagnostic>> {
        let Awaited { fence, waiting } = &*self.awaited;
        match fence.poll() {
            Ok(true) => return Poll::Ready(Ok(())),
            Err(error) => return Poll::Ready(Err(error)),
            Ok(false) => {}
        }
        let (is_asked, _before) = {
            let wakers = &mut *waiting.lock();
            let found = wakers.all.iter_mut().find(|(number, _)| *number == self.number);
            let before = match found {
                Some((_, own)) if own.will_wake(waker) => None,
                Some((_, own)) => Some(std::mem::replace(own, waker.clone())),
                None => {
                    wakers.all.push((self.number, waker.clone()));
                    None
                }
            };
            (std::mem::replace(&mut wakers.is_asked, true), before)
        };
        if !is_asked {
            wake(fence.clone(), Waker::from(waiting.clone()));
        }
        Poll::Pending
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut wakers = self.awaited.waiting.lock();
        let found = wakers.all.iter().position(|(number, _)| *number == self.number);
        let gone = found.map(|found| wakers.all.swap_remove(found));
        drop(wakers);
        drop(gone);
    }
}

/// Has someone woken when a fence is reached.
pub(crate) fn wake(fence: Arc<dyn Fence>, waker: Waker) {
    if !fence.wake(&waker) {
        later(fence, waker);
    }
}

/// Who cannot be told has to ask again.
#[cfg(target_arch = "wasm32")]
fn later(_fence: Arc<dyn Fence>, waker: Waker) {
    waker.wake();
}

#[cfg(not(target_arch = "wasm32"))]
use asking::later;

#[cfg(not(target_arch = "wasm32"))]
mod asking {
    use super::{Arc, AssertUnwindSafe, Fence, Waker, catch_unwind};
    use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
    use std::time::Duration;

    /// How long the thread sleeps between asking: work that takes long is asked for more seldom.
    const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

    type Waiting = (Arc<dyn Fence>, Waker);

    /// What is waited for.
    struct Asked {
        waiting: Mutex<Vec<Waiting>>,
        more: Condvar,
    }

    /// Has someone woken when a fence is reached.
    pub fn later(fence: Arc<dyn Fence>, waker: Waker) {
        static ASKED: OnceLock<Option<&'static Asked>> = OnceLock::new();
        let begin = || {
            let asked: &'static Asked = Box::leak(Box::new(Asked { waiting: Mutex::default(), more: Condvar::new() }));
            let thread = std::thread::Builder::new().name("girih-waiter".into());
            thread.spawn(move || ask(asked)).ok().map(|_| asked)
        };
        match ASKED.get_or_init(begin) {
            Some(asked) => {
                asked.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((fence, waker));
                asked.more.notify_one();
            }
            // Without a thread whoever waits has to ask.
            None => waker.wake(),
        }
    }

    /// The life of the thread.
    fn ask(asked: &Asked) {
        let mut sleep = SLEEPS[0];
        let mut mine: Vec<Waiting> = vec![];
        loop {
            let mut waiting = asked.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.is_empty() && !mine.is_empty() {
                // What comes meanwhile is asked for at once.
                waiting = asked.more.wait_timeout(waiting, sleep).unwrap_or_else(PoisonError::into_inner).0;
                sleep = (2 * sleep).min(SLEEPS[1]);
            }
            while waiting.is_empty() && mine.is_empty() {
                waiting = asked.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            if !waiting.is_empty() {
                sleep = SLEEPS[0];
            }
            mine.append(&mut waiting);
            drop(waiting);
            let (done, left) = mine.into_iter().partition(|(fence, _)| is_reached(&**fence));
            mine = left;
            let done: Vec<Waiting> = done;
            for (fence, waker) in done {
                // Whoever panics does so alone.
                let _ = catch_unwind(AssertUnwindSafe(move || {
                    waker.wake();
                    drop(fence);
                }));
            }
        }
    }

    /// A device that has failed is reached, too: whoever waits is told.
    fn is_reached(fence: &dyn Fence) -> bool {
        catch_unwind(AssertUnwindSafe(|| fence.poll().unwrap_or(true))).unwrap_or(true)
    }
}
