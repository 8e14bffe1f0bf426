//! A card that is in use: its context, one stream in which all work runs in order, and events.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::card::Card;
use super::driver::{check, failure};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUevent, CUresult, CUstream};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::time::{Duration, Instant};

/// A context and its stream. Everything that lives in it is dropped before it (see [`super::Cuda`]).
#[derive(Debug)]
pub(super) struct Context {
    device: CUdevice,
    context: CUcontext,
    stream: CUstream,
    /// How long a wait may last.
    limit: Duration,
    /// Whether it stays when this value goes, because work is on it that may never end.
    abandoned: bool,
}

// SAFETY: the driver's handles belong to the process, not to a thread. What is a thread's own is which context is current, and every
// use begins with `enter`, which makes this one current on the thread that uses it.
unsafe impl Send for Context {}

impl Context {
    /// Takes the card's primary context, which the process shares.
    pub fn new(card: &Card, limit: Duration) -> Result<Context, Diagnostic> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the driver writes one handle, for a device that it has given.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, card.device) }, "open the device")?;
        let mut this = Context { device: card.device, context, stream: std::ptr::null_mut(), limit, abandoned: false };
        this.enter()?;
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current; the driver writes one handle.
        check(unsafe { sys::cuStreamCreate(&mut this.stream, flags) }, "make a stream")?;
        Ok(this)
    }

    /// Makes the context that of this thread. Every use begins with it.
    pub fn enter(&self) -> Result<(), Diagnostic> {
        // SAFETY: the context is retained until `self` is dropped.
        check(unsafe { sys::cuCtxSetCurrent(self.context) }, "use the device")
    }

    /// The stream.
    pub fn stream(&self) -> CUstream {
        self.stream
    }

    /// Waits until all work is done.
    pub fn finish(&self) -> Result<(), Diagnostic> {
        // SAFETY: the stream lives as long as `self`.
        poll(self.limit, || unsafe { sys::cuStreamQuery(self.stream) })
    }

    /// Leaves context and stream to the process's end: letting go of them would wait for their work.
    pub fn abandon(&mut self) {
        self.abandoned = true;
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.abandoned {
            return;
        }
        // SAFETY: both handles are this value's own and are not used afterwards. Errors have nobody to go to.
        unsafe {
            sys::cuCtxSetCurrent(self.context);
            if !self.stream.is_null() {
                sys::cuStreamDestroy_v2(self.stream);
            }
            sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}

/// Asks again and again whether something is done: often at first, for most work is short.
fn poll(limit: Duration, ask: impl Fn() -> CUresult) -> Result<(), Diagnostic> {
    let begun = Instant::now();
    loop {
        match ask() {
            CUresult::CUDA_SUCCESS => return Ok(()),
            CUresult::CUDA_ERROR_NOT_READY => {}
            error => return Err(failure(error, "finish the work")),
        }
        let waited = begun.elapsed();
        if waited > limit {
            let message = format!("the device was still at work after {} s", limit.as_secs());
            return Err(Diagnostic::new(Code::DeviceTimeout, Span::NONE, message)
                .hint("check the kernel for a loop that does not end, or let it do less"));
        }
        if waited < Duration::from_millis(2) {
            std::hint::spin_loop();
        } else {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// A point in the stream.
#[derive(Debug)]
pub(super) struct Event {
    event: CUevent,
}

// SAFETY: a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Event {}

impl Event {
    /// An event that has not been recorded. The context is current.
    pub fn new(timed: bool) -> Result<Event, Diagnostic> {
        let mut event = std::ptr::null_mut();
        let flags = match timed {
            true => sys::CUevent_flags::CU_EVENT_DEFAULT,
            false => sys::CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        // SAFETY: the driver writes one handle.
        check(unsafe { sys::cuEventCreate(&mut event, flags as u32) }, "make an event")?;
        Ok(Event { event })
    }
    /// Puts it behind the work that is queued so far.
    pub fn record(&self, context: &Context) -> Result<(), Diagnostic> {
        // SAFETY: the event and the stream live, and belong to one context.
        check(unsafe { sys::cuEventRecord(self.event, context.stream) }, "record an event")
    }
    /// Waits until the work before it is done.
    pub fn wait(&self, context: &Context) -> Result<(), Diagnostic> {
        // SAFETY: the event lives as long as `self`.
        poll(context.limit, || unsafe { sys::cuEventQuery(self.event) })
    }
    /// The time from another event to this one; both have been waited for.
    pub fn since(&self, start: &Event) -> Result<Duration, Diagnostic> {
        type Elapsed = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult;
        let mut milliseconds = 0f32;
        // SAFETY: every driver has had a function of this name and type; the bindings know only a later name, which older drivers lack.
        // Both events live; the driver writes one number.
        let result = unsafe {
            match sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0") {
                Ok(elapsed) => elapsed(&mut milliseconds, start.event, self.event),
                Err(_) => CUresult::CUDA_ERROR_NOT_FOUND,
            }
        };
        check(result, "tell the time between events")?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own and is not used afterwards; pending work keeps what it needs.
        unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
