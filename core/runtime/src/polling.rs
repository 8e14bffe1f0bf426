//! Futures on devices whose drivers wake nobody: one thread of the process asks for all of them.
//!
//! Where there are no threads, as in a browser, drivers wake by themselves.

use crate::driver::Fence;
use girih_base::diag::Diagnostic;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Whether a fence is reached; if not, someone is woken when it is.
pub(crate) fn poll(fence: &Arc<dyn Fence>, waker: &Waker) -> Poll<Result<(), Diagnostic>> {
    match fence.poll() {
        Ok(true) => Poll::Ready(Ok(())),
        Err(error) => Poll::Ready(Err(error)),
        Ok(false) => {
            if !fence.wake(waker) {
                later(fence.clone(), waker.clone());
            }
            Poll::Pending
        }
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
    use super::{Arc, Fence, Waker};
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
            while mine.is_empty() && waiting.is_empty() {
                waiting = asked.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            if !waiting.is_empty() {
                sleep = SLEEPS[0];
            }
            mine.append(&mut waiting);
            drop(waiting);
            // A device that has failed is reached, too: whoever waits is told.
            let (done, left) = mine.into_iter().partition(|(fence, _)| fence.poll().unwrap_or(true));
            mine = left;
            let done: Vec<Waiting> = done;
            done.into_iter().for_each(|(_, waker)| waker.wake());
            if !mine.is_empty() {
                std::thread::sleep(sleep);
                sleep = (2 * sleep).min(SLEEPS[1]);
            }
        }
    }
}
