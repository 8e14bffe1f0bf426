//! A line on the terminal that shows that a program is still running, and for how long.
//!
//! It comes late, so that quick programs show nothing, and goes for good when the program itself writes or reads.

use crate::console::Console;
use girih_term::io::{Host, Whence};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a program runs before anything is shown.
const QUIET: Duration = Duration::from_millis(500);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The line; nothing if there is no terminal, or nobody wants it.
pub struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to wait.
    pub fn start(console: &Console) -> Progress {
        if !console.shows_progress() {
            return Progress { running: None };
        }
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(QUIET) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} running, {elapsed_precise}");
            let bar = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
                .with_elapsed(QUIET);
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Progress { running: Some((end, thread)) }
    }

    /// Takes the line away.
    pub fn end(&mut self) {
        if let Some((end, thread)) = self.running.take() {
            drop(end);
            // It draws and waits; if it has panicked, there is no line.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// A host before which the line goes away.
pub struct Watched<H> {
    /// What performs effects.
    pub host: H,
    /// The line.
    pub progress: Progress,
}

impl<H: Host> Host for Watched<H> {
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        self.host.open(path, mode)
    }

    fn close(&mut self, file: u32) -> Result<(), i32> {
        self.host.close(file)
    }

    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        self.progress.end();
        self.host.read(file, count)
    }

    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        self.progress.end();
        self.host.write(file, bytes)
    }

    fn flush(&mut self, file: u32) -> Result<(), i32> {
        self.host.flush(file)
    }

    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32> {
        self.host.seek(file, offset, from)
    }

    fn now(&mut self) -> u64 {
        self.host.now()
    }

    fn sleep(&mut self, nanoseconds: u64) {
        self.host.sleep(nanoseconds);
    }
}
