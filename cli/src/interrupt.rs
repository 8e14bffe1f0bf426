//! Stopping a program from outside: Ctrl-C and `--timeout`. Both raise a flag that the engine and the host check;
//! a program that does not check it in time, because it waits for input, is ended.

use crate::console::Console;
use crate::exit::Exit;
use girih::{Code, Report};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a program may take to notice.
const GRACE: Duration = Duration::from_secs(1);

/// What stops a program, and how the command ends then.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    by_hand: Arc<AtomicBool>,
    grace: Duration,
}

impl Interrupt {
    /// Has the flag raised by Ctrl-C and at the end of `timeout`.
    pub fn new(timeout: Option<Duration>, console: &Console) -> Interrupt {
        Interrupt::with_grace(timeout, GRACE, console)
    }

    /// The same, for what needs so much time to end well. Who presses Ctrl-C again does not wait.
    pub fn with_grace(timeout: Option<Duration>, grace: Duration, console: &Console) -> Interrupt {
        let interrupt = Interrupt { grace, ..Interrupt::default() };
        let (raised, speaker) = (interrupt.clone(), *console);
        // Without a handler, Ctrl-C ends the process at once, which is no worse than an error here would be.
        let _ = ctrlc::set_handler(move || {
            raised.by_hand.store(true, Ordering::Relaxed);
            raised.stop(&speaker, "the program was stopped by Ctrl-C");
        });
        if let Some(timeout) = timeout {
            let (raised, speaker) = (interrupt.clone(), *console);
            std::thread::spawn(move || {
                std::thread::sleep(timeout);
                let unit = if timeout == Duration::from_secs(1) { "second" } else { "seconds" };
                raised.stop(&speaker, &format!("the program ran longer than {} {unit}", timeout.as_secs_f64()));
            });
        }
        interrupt
    }

    /// The flag, for whatever is to end.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// How the command ends that has failed.
    pub fn exit(&self) -> Exit {
        if self.by_hand.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Failed }
    }

    /// How the command ends that has failed with these errors.
    pub fn exit_of(&self, report: &Report) -> Exit {
        let no_device = report.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::NoDevice);
        if no_device { Exit::NoDevice } else { self.exit() }
    }

    /// Raises the flag, and ends the process if that does not help.
    fn stop(&self, console: &Console, why: &str) {
        let again = self.flag.swap(true, Ordering::Relaxed);
        if !again {
            std::thread::sleep(self.grace);
        }
        console.fail(Code::Interrupted, why, None);
        let _ = std::io::stdout().flush();
        // A driver that is at work on another thread would be taken down under it, or wait for its device.
        girih::leave(self.exit().number().into());
    }
}

/// Reads `--timeout`.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        Ok(_) | Err(_) => Err("expected more than 0 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_positive_number_of_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "x", "inf", "NaN", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
