//! A card that is in use: its context, and events.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::card::Card;
use super::driver::{check, failure};
use super::queue::Queue;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUevent, CUresult};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::sync::{Mutex, MutexGuard, PoisonError};
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
// use begins with `enter`, which makes this one current on the thread that uses it.
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

    /// Makes the context that of this thread. Every use begins with it.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn enter(&self) -> Result<(), Diagnostic> {
        match &*self.lock() {
            Some(why) => Err(why.clone()),
            None => self.make_current(),
        }
    }

    /// The same also if the device is lost: for what is let go.
    pub fn make_current(&self) -> Result<(), Diagnostic> {
        // SAFETY: the context is retained until `self` is dropped.
        check(unsafe { sys::cuCtxSetCurrent(self.context) }, "use the device")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Diagnostic>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After anything else: remembers that the device is lost.
    pub fn noted<T>(&self, result: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        if let Err(error) = &result
            && matches!(error.code, Code::DeviceLost | Code::DeviceTimeout)
        {
            self.lock().get_or_insert_with(|| error.clone());
        }
        result
    }

    /// Whether work is on it that may never end: the driver would wait for it before anything is freed, so all is left to the process's end.
    pub fn is_abandoned(&self) -> bool {
        self.lock().as_ref().is_some_and(|why| why.code == Code::DeviceTimeout)
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUcontext {
        self.context
    }

    /// How long a wait may last.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether an address is memory of this context.
    pub fn has(&self, address: sys::CUdeviceptr) -> Result<bool, Diagnostic> {
        let mut context: CUcontext = std::ptr::null_mut();
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT;
        // SAFETY: the driver writes one handle, or says that it does not know the address.
        let result = unsafe { sys::cuPointerGetAttribute((&raw mut context).cast(), attribute, address) };
        match result {
            CUresult::CUDA_SUCCESS => Ok(context == self.context),
            CUresult::CUDA_ERROR_INVALID_VALUE => Ok(false),
            error => Err(failure(error, "tell whose memory is at an address")),
        }
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

/// Asks again and again whether something is done: often at first, for most work is short.
pub(super) fn poll(limit: Duration, ask: impl Fn() -> CUresult) -> Result<(), Diagnostic> {
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

/// A point in the stream.
#[derive(Debug)]
pub(super) struct Event {
    event: CUevent,
}

// SAFETY: a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Event {}
// SAFETY: as above; asking for it changes nothing.
unsafe impl Sync for Event {}

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
    pub fn wait(&self, limit: Duration) -> Result<(), Diagnostic> {
        // SAFETY: the event lives as long as `self`.
        poll(limit, || unsafe { sys::cuEventQuery(self.event) })
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
