//! Waits for devices without keeping other threads of Python from going on, and stops waiting when the user presses Ctrl-C.

use crate::error::exception;
use girih::Diagnostic;
use girih::runtime::{Device, Event};
use pyo3::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

/// How long at most nobody looks whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(50);
/// How long the device is asked again and again, because most work is short; and how long the thread sleeps between asking from then on.
const EAGER: Duration = Duration::from_millis(2);
const SLEEP: Duration = Duration::from_micros(50);

/// Waits for all work of a device so far. Work that nobody waits for any more goes on, and the device stays usable.
///
/// # Errors
/// If work or the device fails, or the user has pressed Ctrl-C.
pub(crate) fn wait(py: Python<'_>, device: &Device) -> PyResult<()> {
    let event = device.stream().record().map_err(exception)?;
    let begun = Instant::now();
    while !py.detach(|| is_done_soon(&event, begun)).map_err(exception)? {
        py.check_signals()?;
    }
    // It has ended: this says how.
    py.detach(|| event.wait()).map_err(exception)
}

/// Whether an event is reached before it is time for a glance at something else.
fn is_done_soon(event: &Event, begun: Instant) -> Result<bool, Diagnostic> {
    let glance = Instant::now() + GLANCE;
    loop {
        if event.is_done()? {
            return Ok(true);
        }
        let now = Instant::now();
        if now >= glance {
            return Ok(false);
        }
        if now - begun < EAGER {
            thread::yield_now();
        } else {
            thread::sleep(SLEEP);
        }
    }
}
