//! A gate in the stream: work that is queued behind it starts when the host opens it.
//!
//! What is timed is queued behind a closed gate as a whole, so that the card does not wait for the host between two events: a kernel of
//! thirty microseconds would look a sixth slower than it is.
//!
//! Invariant: a gate opens by itself after [`LONGEST`], because the driver may make the host wait for the stream at any launch (when
//! its queue is full, when a kernel needs a larger stack).

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::driver::check;
use super::queue::Queue;
use cudarc::driver::sys;
use girih_base::diag::Diagnostic;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a gate stays closed if nobody opens it.
const LONGEST: Duration = Duration::from_millis(2);

/// A gate that was put into the stream. Dropping it opens it.
#[derive(Debug)]
pub(super) struct Gate {
    open: Arc<AtomicBool>,
}

impl Gate {
    /// Puts a closed gate into the stream.
    pub fn close(queue: &Queue) -> Result<Gate, Diagnostic> {
        let open = Arc::new(AtomicBool::new(false));
        let theirs = Arc::into_raw(Arc::clone(&open));
        // SAFETY: `keep` has the type that is asked for, makes no calls of the driver, and owns one count of what it is given.
        let result = unsafe { sys::cuLaunchHostFunc(queue.stream(), Some(keep), theirs.cast_mut().cast()) };
        check(result, "queue a function of the host").inspect_err(|_| {
            // SAFETY: the driver has refused the function, and with it the count that it was to own.
            drop(unsafe { Arc::from_raw(theirs) });
        })?;
        Ok(Gate { open })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open.store(true, Ordering::Release);
    }
}

/// Keeps the stream until the gate is open. A thread of the driver runs it.
unsafe extern "C" fn keep(gate: *mut c_void) {
    // SAFETY: `close` gave the pointer of one count of an `Arc`, and the driver calls this once.
    let open = unsafe { Arc::from_raw(gate.cast_const().cast::<AtomicBool>()) };
    let closed = Instant::now();
    while !open.load(Ordering::Acquire) && closed.elapsed() < LONGEST {
        std::hint::spin_loop();
    }
}
