//! What stops a program from outside: Ctrl-C and `--timeout`. Both raise a flag that the evaluator and the host look at;
//! a program that does not look in time (it waits for input) is ended.

use crate::console::Console;
use girih::Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a program may take to notice.
const GRACE: Duration = Duration::from_secs(1);

/// Makes the flag that Ctrl-C and the end of `timeout` raise.
pub fn flag(timeout: Option<Duration>, console: &Console) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let (raised, speaker) = (Arc::clone(&flag), *console);
    // Without a handler, Ctrl-C ends the process at once, which is no worse than an error here would be.
    let _ = ctrlc::set_handler(move || stop(&raised, &speaker, "the program was stopped by Ctrl-C"));
    if let Some(timeout) = timeout {
        let (raised, speaker) = (Arc::clone(&flag), *console);
        std::thread::spawn(move || {
            std::thread::sleep(timeout);
            stop(&raised, &speaker, &format!("the program ran longer than {} seconds", timeout.as_secs_f64()));
        });
    }
    flag
}

/// Raises the flag, and ends the process if that does not help.
fn stop(flag: &AtomicBool, console: &Console, why: &str) {
    let again = flag.swap(true, Ordering::Relaxed);
    if !again {
        std::thread::sleep(GRACE);
    }
    let exit = console.fail(Code::Interrupted, why, None);
    std::process::exit(exit.number().into());
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
