//! Where a thread waits for the device or its driver. A page in a browser must not wait, so this file is not there for the web: what calls it is not there either,
//! or says that the web has no such thing.

use super::State;
use super::errors::Health;
use super::record::Recorded;
use super::transfer::{Part, unreadable};
use crate::emit::guard;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::DeviceKind;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a wakeful wait keeps asking.
const WAKEFUL: Duration = Duration::from_millis(2);

/// What a future gives, when it does.
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}

impl Health {
    /// Waits until what was submitted up to `last` is done. Who is `wakeful` asks again and again at first: most work is
    /// short, and the system takes longer to wake a thread.
    fn wait(
        &self,
        device: &wgpu::Device,
        last: &wgpu::SubmissionIndex,
        limit: Duration,
        wakeful: bool,
    ) -> Result<(), Diagnostic> {
        self.check()?;
        let within =
            |limit| device.poll(wgpu::PollType::Wait { submission_index: Some(last.clone()), timeout: Some(limit) });
        let begun = Instant::now();
        while wakeful && begun.elapsed() < WAKEFUL {
            if guard("wgpu", || Ok(within(Duration::ZERO).is_ok()))? {
                return self.check();
            }
            std::hint::spin_loop();
        }
        guard("wgpu", || match within(limit) {
            Ok(_) => Ok(()),
            Err(_) => {
                self.time_out();
                let message = format!("a launch was still running after {} s", limit.as_secs());
                Err(Diagnostic::new(Code::DeviceTimeout, Span::NONE, message)
                    .hint("check the kernel for a loop that does not end, or let it do less"))
            }
        })?;
        self.check()
    }
}

impl State {
    /// Waits for what was submitted up to there.
    pub(super) fn wait_until(&self, last: &wgpu::SubmissionIndex) -> Result<(), Diagnostic> {
        // A software adapter needs the processor for the work itself.
        let wakeful = self.context.info().kind == DeviceKind::Wgpu;
        let waited = self.health.wait(&self.device, last, self.context.limit(), wakeful);
        if waited.as_ref().is_err_and(|error| error.code == Code::DeviceTimeout) {
            self.context.abandon();
        }
        waited
    }

    /// Submits commands, and copies of parts of buffers behind them and of the word of the traps, waits, and takes the copies. Gives the newest point behind which they are.
    pub(super) fn fetch(
        &self,
        recorded: Option<Recorded<'_>>,
        parts: &mut [Part<'_>],
        word: Option<&mut [u8; 4]>,
    ) -> Result<u64, Diagnostic> {
        let (sender, receiver) = mpsc::channel();
        // The receiver is gone only if the wait below has failed.
        let copies = self.submit_copies(recorded, parts, word.is_some(), move |result| drop(sender.send(result)))?;
        self.wait_until(&copies.last)?;
        // Another thread that waits for this device may be the one that is told, and tells us in a moment.
        match receiver.recv_timeout(self.context.limit()) {
            Ok(Ok(())) => self.take_copies(copies, parts, word),
            Ok(Err(error)) => Err(unreadable(error.to_string())),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// Asks until something holds, after its work is done: another thread that waits for this device may be the one that is told, and tells us in a moment.
    pub(super) fn ask_until(
        &self,
        holds: impl Fn() -> Result<bool, Diagnostic>,
        never: impl Fn() -> Diagnostic,
    ) -> Result<(), Diagnostic> {
        let begun = Instant::now();
        while !holds()? {
            if begun.elapsed() > self.context.limit() {
                return Err(never());
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// One run by the host's clock.
    pub(super) fn clocked(&self, recorded: Recorded<'_>) -> Result<Duration, Diagnostic> {
        self.wait_for_all()?;
        let start = Instant::now();
        self.submit_recorded([recorded.commands], recorded.traps)?;
        self.wait_for_all()?;
        Ok(start.elapsed())
    }
}
