//! A card that is in use: its context, and events.
//!
//! Invariant: a thread that calls us has the same current context afterwards as before, for it may be at work on another card.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::card::Card;
use super::driver::{check, failure};
use super::queue::Queue;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUevent, CUresult};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A context. Everything that lives in it holds it, so it is the last to go.
#[derive(Debug)]
pub(super) struct Context {
    device: CUdevice,
    context: CUcontext,
    /// How long a wait may last.
    limit: Duration,
    /// Why the device cannot be used any more.
    lost: Mutex<Option<Diagnostic>>,
}

// SAFETY: the driver's handles belong to the process, not to a thread. What is a thread's own is which context is current, and every
// use begins with `enter`, which makes this one current on the thread that uses it until the use is over.
unsafe impl Send for Context {}
// SAFETY: as above; the driver takes calls of several threads at a time.
unsafe impl Sync for Context {}

impl Context {
    /// Takes the card's primary context, which the process shares.
    pub fn new(card: &Card, limit: Duration) -> Result<Context, Diagnostic> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the driver writes one handle, for a device that it has given.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, card.device) }, "open the device")?;
        Ok(Context { device: card.device, context, limit, lost: Mutex::default() })
    }

    /// Makes the context that of this thread for a while. Every use begins with it.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn enter(&self) -> Result<Current, Diagnostic> {
        match &*self.lock() {
            Some(why) => Err(why.clone()),
            None => self.make_current(),
        }
    }

    /// The same also if the device is lost: for what is freed.
    fn make_current(&self) -> Result<Current, Diagnostic> {
        let mut now: CUcontext = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        check(unsafe { sys::cuCtxGetCurrent(&mut now) }, "tell whose turn it is")?;
        let is_pushed = now != self.context;
        if is_pushed {
            // SAFETY: the context is retained until `self` is dropped, and whoever has what this gives holds `self`.
            check(unsafe { sys::cuCtxPushCurrent_v2(self.context) }, "use the device")?;
        }
        Ok(Current { is_pushed, of_this_thread: PhantomData })
    }

    /// Frees something that lives in the context. If work may never end, the driver would wait for it, so everything is left to the process's end.
    pub fn free(&self, free: impl FnOnce()) {
        if self.is_abandoned() {
            return;
        }
        if let Ok(_current) = self.make_current() {
            free();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Diagnostic>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After anything else: remembers that the device is lost.
    pub fn noted<T>(&self, result: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        if let Err(error) = &result
            && is_permanent(error)
        {
            self.lock().get_or_insert_with(|| error.clone());
        }
        result
    }

    /// Whether work is on it that may never end.
    pub fn is_abandoned(&self) -> bool {
        self.lock().as_ref().is_some_and(|why| why.code == Code::DeviceTimeout)
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUcontext {
        self.context
    }

    /// The card.
    pub fn device(&self) -> CUdevice {
        self.device
    }

    /// Asks again and again whether something is done, as long as a wait may last.
    pub fn wait(&self, ask: impl Fn() -> CUresult) -> Result<(), Diagnostic> {
        self.noted(poll(self.limit, ask))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.is_abandoned() {
            // SAFETY: the context was retained once, and nothing that lives in it is left. Errors have nobody to go to.
            unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

/// Whether an error is the end of the device.
pub(super) fn is_permanent(error: &Diagnostic) -> bool {
    matches!(error.code, Code::DeviceLost | Code::DeviceTimeout)
}

/// While it lives, the context is that of its thread. Then it is again the one that was before, which may be somebody else's.
#[derive(Debug)]
#[must_use = "the context is current only while this lives"]
pub(super) struct Current {
    is_pushed: bool,
    /// What is current belongs to the thread, so this stays there.
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut ours: CUcontext = std::ptr::null_mut();
            // SAFETY: this thread has pushed one context for `self`, and what it has pushed since then is popped. The driver writes one handle.
            unsafe { sys::cuCtxPopCurrent_v2(&mut ours) };
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
            let message = format!("the device was still busy after {} s", limit.as_secs());
            return Err(Diagnostic::new(Code::DeviceTimeout, Span::NONE, message)
                .hint("check the kernel for a loop that does not end, or make it do less"));
        }
        if waited < Duration::from_millis(2) {
            std::hint::spin_loop();
        } else {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// A point in a stream. Asking for it and recording it need the context to be current.
#[derive(Debug)]
pub(super) struct Event {
    event: CUevent,
    context: Arc<Context>,
}

// SAFETY: a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Event {}
// SAFETY: as above; asking for it changes nothing.
unsafe impl Sync for Event {}

impl Event {
    /// An event that has not been recorded. The context is current.
    pub fn new(context: &Arc<Context>, timed: bool) -> Result<Event, Diagnostic> {
        let mut event = std::ptr::null_mut();
        let flags = match timed {
            true => sys::CUevent_flags::CU_EVENT_DEFAULT,
            false => sys::CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        // SAFETY: the driver writes one handle.
        check(unsafe { sys::cuEventCreate(&mut event, flags as u32) }, "make an event")?;
        Ok(Event { event, context: context.clone() })
    }
    /// Puts it behind the work that is queued so far.
    pub fn record(&self, queue: &Queue) -> Result<(), Diagnostic> {
        // SAFETY: the event and the stream live, and belong to one context.
        check(unsafe { sys::cuEventRecord(self.event, queue.stream()) }, "record an event")
    }
    /// Has work that is queued from now on begin after it.
    pub fn hold_back(&self, queue: &Queue) -> Result<(), Diagnostic> {
        // SAFETY: the event and the stream live, and belong to one context.
        check(unsafe { sys::cuStreamWaitEvent(queue.stream(), self.event, 0) }, "wait for an event")
    }
    /// Whether the work before it is done.
    pub fn is_done(&self) -> Result<bool, Diagnostic> {
        // SAFETY: the event lives as long as `self`.
        match unsafe { sys::cuEventQuery(self.event) } {
            CUresult::CUDA_SUCCESS => Ok(true),
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            error => Err(failure(error, "finish the work")),
        }
    }
    /// Waits until the work before it is done.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        // SAFETY: the event lives as long as `self`.
        self.context.wait(|| unsafe { sys::cuEventQuery(self.event) })
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
        // SAFETY: the handle is this value's own and is not used afterwards; pending work keeps what it needs. Errors have nobody to go to.
        self.context.free(|| _ = unsafe { sys::cuEventDestroy_v2(self.event) });
    }
}
