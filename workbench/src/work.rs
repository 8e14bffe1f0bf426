//! Limits on work. What is counted is processor time, which stands still while others have the processor: work that does not end is found, and
//! a busy machine is not blamed on anyone.
//!
//! Linux says how much it is. Elsewhere nothing is limited: who waits for the tests there ends them by hand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often the processor time is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// The processor time that this thread has had.
pub fn of_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

/// The processor time that all threads of this process have had together.
pub fn of_process() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may hold anything; user time and system time are the twelfth and the next word behind it.
    let mut words = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = words.next()?.parse::<u64>().ok()? + words.next()?.parse::<u64>().ok()?;
    // A tick is a hundredth of a second on every machine.
    Some(Duration::from_millis(10 * ticks))
}

/// Measures what the thread that starts it has of the processor.
#[derive(Clone, Copy, Debug)]
pub struct Watch(Option<Duration>);

impl Watch {
    /// Starts it.
    pub fn start() -> Watch {
        Watch(of_thread())
    }

    /// The processor time since then, for the same thread; nothing where the system does not say it.
    pub fn took(self) -> Duration {
        self.0.zip(of_thread()).map_or(Duration::ZERO, |(before, after)| after.saturating_sub(before))
    }
}

/// The share of one test in what the process may use: other tests run beside it.
fn budget(limit: Duration) -> Option<Duration> {
    let beside = std::thread::available_parallelism().map_or(1, usize::from);
    Some(of_process()? + limit * u32::try_from(2 * beside).unwrap_or(u32::MAX))
}

/// Waits for something, until the process has had `limit` of processor time for each test that may run in it.
fn wait<T>(receive: &Receiver<T>, limit: Duration) -> Result<T, RecvTimeoutError> {
    let end = budget(limit);
    loop {
        let received = receive.recv_timeout(LOOK);
        let is_over = of_process().zip(end).is_some_and(|(now, end)| now > end);
        if !matches!(received, Err(RecvTimeoutError::Timeout)) || is_over {
            return received;
        }
    }
}

/// Raises its flag when work has gone on beyond its limit, unless it is dropped before.
#[derive(Debug)]
pub struct Alarm {
    /// What is raised.
    pub flag: Arc<AtomicBool>,
    _stop: Sender<()>,
}

/// An alarm after `limit` of processor time.
pub fn alarm(limit: Duration) -> Alarm {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let (stop, stopped) = channel();
    std::thread::spawn(move || {
        if wait(&stopped, limit) == Err(RecvTimeoutError::Timeout) {
            raised.store(true, Ordering::Relaxed);
        }
    });
    Alarm { flag, _stop: stop }
}

/// How some work ended.
#[derive(Debug)]
pub enum Ended<T> {
    /// With a value.
    Well(T),
    /// With a panic and its message.
    Panicked(String),
    /// Not within the limit; its thread goes on.
    Late,
}

/// Does `work` on another thread and waits for it, but for no more than `limit` of processor time.
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Ended<T> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
        });
        let _ = send.send(result); // Nobody listens once the limit has passed.
    });
    match wait(&receive, limit) {
        Ok(Ok(value)) => Ended::Well(value),
        Ok(Err(message)) => Ended::Panicked(message),
        Err(_) => Ended::Late,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn work_counts_and_sleep_does_not() {
        let (thread, process) = (of_thread().expect("Linux says it"), of_process().expect("Linux says it"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(of_thread().expect("Linux says it") - thread < Duration::from_millis(100));
        while of_thread().expect("Linux says it") - thread < Duration::from_millis(300) {}
        assert!(of_process().expect("Linux says it") - process >= Duration::from_millis(250));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_without_an_end_raises_the_alarm() {
        let alarm = alarm(Duration::from_millis(20));
        while !alarm.flag.load(Ordering::Relaxed) {}
        let flag = Arc::new(AtomicBool::new(false));
        let ends = flag.clone();
        let endless = move || while !ends.load(Ordering::Relaxed) {};
        assert!(matches!(within(Duration::from_millis(20), endless), Ended::Late));
        flag.store(true, Ordering::Relaxed);
    }

    #[test]
    fn work_ends_with_a_value_or_a_panic() {
        assert!(matches!(within(Duration::from_secs(60), || 7), Ended::Well(7)));
        let Ended::Panicked(message) = within(Duration::from_secs(60), || panic!("no")) else { panic!("it panics") };
        assert_eq!(message, "no");
    }
}
