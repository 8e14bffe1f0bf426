//! Time limits for work that may hang.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Raises the flag after `limit`, unless the guard is dropped before.
pub struct Alarm {
    pub flag: Arc<AtomicBool>,
    _stop: std::sync::mpsc::Sender<()>,
}

pub fn alarm(limit: Duration) -> Alarm {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let (stop, stopped) = channel();
    std::thread::spawn(move || {
        if stopped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            raised.store(true, Ordering::Relaxed);
        }
    });
    Alarm { flag, _stop: stop }
}

/// How some work ended.
pub enum Ended<T> {
    Well(T),
    /// With a panic and its message.
    Panicked(String),
    /// Not within the limit; its thread goes on.
    Late,
}

/// Does `work` on another thread and waits for it, but not for longer than `limit`.
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Ended<T> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
        });
        let _ = send.send(result); // Nobody listens once the limit has passed.
    });
    match receive.recv_timeout(limit) {
        Ok(Ok(value)) => Ended::Well(value),
        Ok(Err(message)) => Ended::Panicked(message),
        Err(_) => Ended::Late,
    }
}
