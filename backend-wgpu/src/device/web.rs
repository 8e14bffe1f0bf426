//! What stands on the web where other systems wait: an error that says what to do instead.

use super::State;
use super::record::Recorded;
use super::transfer::Part;
use girih_base::diag::Diagnostic;
use girih_runtime::driver::bad_arguments;
use std::time::Duration;

fn waits() -> Diagnostic {
    let message = "a page in a browser cannot wait for the device";
    bad_arguments(message).hint("await an event or a download of the stream")
}

impl State {
    /// Nobody waits.
    pub(super) fn wait_until(&self, _last: &wgpu::SubmissionIndex) -> Result<(), Diagnostic> {
        Err(waits())
    }

    /// Nothing is submitted for it.
    pub(super) fn fetch(
        &self,
        _recorded: Option<Recorded<'_>>,
        _parts: &mut [Part<'_>],
        _word: Option<&mut [u8; 4]>,
    ) -> Result<u64, Diagnostic> {
        Err(waits())
    }

    /// Holds already, or will not without waiting.
    pub(super) fn ask_until(
        &self,
        holds: impl Fn() -> Result<bool, Diagnostic>,
        _never: impl Fn() -> Diagnostic,
    ) -> Result<(), Diagnostic> {
        if holds()? { Ok(()) } else { Err(waits()) }
    }

    /// No clock is asked.
    pub(super) fn clocked(&self, _recorded: Recorded<'_>) -> Result<Duration, Diagnostic> {
        Err(waits())
    }
}
