//! Waits for devices without keeping other threads of Python from going on, and stops waiting when the user presses Ctrl-C.

use crate::error::exception;
use girih::runtime::Device;
use pyo3::prelude::*;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long at most nobody looks whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(50);

/// Wakes the thread that waits.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for all work of a device so far. Work that nobody waits for any more goes on, and the device stays usable.
///
/// # Errors
/// If work or the device fails, or the user has pressed Ctrl-C.
pub(crate) fn wait(py: Python<'_>, device: &Device) -> PyResult<()> {
    let event = device.stream().record().map_err(exception)?;
    if event.is_done().map_err(exception)? {
        return event.wait().map_err(exception);
    }
    let mut event = pin!(event);
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    loop {
        let done = py.detach(|| match event.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => {
                thread::park_timeout(GLANCE);
                None
            }
        });
        match done {
            Some(done) => return done.map_err(exception),
            None => py.check_signals()?,
        }
    }
}
