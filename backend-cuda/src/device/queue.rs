//! Streams of a card: each with its way to the host and its word of traps.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::{Context, Event, poll};
use super::driver::check;
use super::memory::{Block, clear};
use super::staging::{Parcel, Staging};
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use girih_base::diag::Diagnostic;
use girih_runtime::driver::{Fence, Fetch, bad_arguments};
use girih_runtime::trap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A stream.
#[derive(Debug)]
pub(super) struct Queue {
    stream: CUstream,
    /// Whether it is this value's own, or somebody else's.
    is_own: bool,
    /// One word: the trap that was noted. It goes before the context does.
    traps: Block,
    /// Whether a launch since the last look may have noted one.
    may_trap: AtomicBool,
    staging: Mutex<Staging>,
    context: Arc<Context>,
}

// SAFETY: the stream is a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Queue {}
// SAFETY: as above, from several at a time.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new one, without an order to any other. The context is current.
    pub fn new(context: &Arc<Context>) -> Result<Queue, Diagnostic> {
        let mut stream = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current; the driver writes one handle.
        check(unsafe { sys::cuStreamCreate(&mut stream, flags) }, "make a stream")?;
        Queue::with(context, stream, true)
    }

    /// One of somebody else, which lives as long as this value.
    pub fn adopt(context: &Arc<Context>, stream: CUstream) -> Result<Queue, Diagnostic> {
        Queue::with(context, stream, false)
    }

    fn with(context: &Arc<Context>, stream: CUstream, is_own: bool) -> Result<Queue, Diagnostic> {
        let (traps, staging) = (Block::allocate(16)?, Mutex::default());
        let queue =
            Queue { stream, is_own, traps, may_trap: AtomicBool::new(false), staging, context: context.clone() };
        clear(&queue, queue.traps.address(), 16)?;
        Ok(queue)
    }

    /// The stream.
    pub fn stream(&self) -> CUstream {
        self.stream
    }
    /// How long a wait may last.
    pub fn limit(&self) -> Duration {
        self.context.limit()
    }
    /// Where traps are noted.
    pub fn traps(&self) -> CUdeviceptr {
        self.traps.address()
    }
    /// A launch may note a trap.
    pub fn expect_traps(&self) {
        self.may_trap.store(true, Ordering::Release);
    }

    /// The way to the host. Whoever has it is alone with what is on it.
    pub fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all work is done.
    pub fn finish(&self) -> Result<(), Diagnostic> {
        // SAFETY: the stream lives as long as `self`.
        poll(self.limit(), || unsafe { sys::cuStreamQuery(self.stream) })
    }

    /// Waits for all work, reads what it left, and says what was trapped: the word of the traps comes with the rest.
    pub fn read(&self, parts: &mut [(CUdeviceptr, &mut [u8])]) -> Result<(), Diagnostic> {
        let may_trap = self.may_trap.swap(false, Ordering::AcqRel);
        if !may_trap && parts.is_empty() {
            return self.finish();
        }
        let mut word = [0; 4];
        let mut all: Vec<(CUdeviceptr, &mut [u8])> =
            parts.iter_mut().map(|(from, bytes)| (*from, &mut **bytes)).collect();
        if may_trap {
            all.push((self.traps(), &mut word));
        }
        self.staging().read_all(self, &mut all)?;
        self.trapped(u32::from_le_bytes(word))
    }

    /// Reports and forgets a trap; 0 is none.
    fn trapped(&self, code: u32) -> Result<(), Diagnostic> {
        if code == 0 {
            return Ok(());
        }
        clear(self, self.traps(), 4)?;
        Err(trap(code))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.context.is_abandoned() || self.context.make_current().is_err() {
            self.traps.abandon();
            std::mem::forget(std::mem::take(&mut *self.staging()));
            return;
        }
        if self.is_own {
            // SAFETY: the handle is this value's own and is not used afterwards; the driver ends its work first.
            unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
    }
}

/// A point in a stream.
pub(super) struct Point {
    event: Event,
    queue: Arc<Queue>,
    /// Another way to the host, for a look at what was trapped beside the work that came later.
    side: Arc<Queue>,
}

impl Point {
    /// Behind all work that is queued so far. The context is current.
    pub fn new(queue: &Arc<Queue>, side: &Arc<Queue>) -> Result<Point, Diagnostic> {
        let event = Event::new(false)?;
        event.record(queue)?;
        Ok(Point { event, queue: queue.clone(), side: side.clone() })
    }

    fn context(&self) -> &Context {
        &self.queue.context
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // The event goes next. An error has nobody to go to.
        let _ = self.context().make_current();
    }
}

impl Fence for Point {
    fn poll(&self) -> Result<bool, Diagnostic> {
        self.context().enter()?;
        self.context().noted(self.event.is_done())
    }
    fn wait(&self) -> Result<(), Diagnostic> {
        self.context().enter()?;
        self.context().noted(self.event.wait(self.queue.limit()))
    }
    fn outcome(&self) -> Result<(), Diagnostic> {
        if !self.queue.may_trap.load(Ordering::Acquire) {
            return Ok(());
        }
        self.context().enter()?;
        let mut word = [0; 4];
        let read = self.side.staging().read(&self.side, self.queue.traps(), &mut word);
        self.context().noted(read)?;
        self.queue.trapped(u32::from_le_bytes(word))
    }
}

/// Bytes on their way to the host, and the point behind them.
pub(super) struct Sent {
    parcel: Mutex<Option<Parcel>>,
    point: Point,
}

impl Sent {
    /// Queues a copy. The context is current.
    pub fn new(queue: &Arc<Queue>, side: &Arc<Queue>, from: CUdeviceptr, bytes: usize) -> Result<Sent, Diagnostic> {
        let parcel = Parcel::send(queue, from, bytes)?;
        Ok(Sent { parcel: Mutex::new(Some(parcel)), point: Point::new(queue, side)? })
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        // The parcel goes next. An error has nobody to go to.
        let _ = self.point.context().make_current();
    }
}

impl Fence for Sent {
    fn poll(&self) -> Result<bool, Diagnostic> {
        self.point.poll()
    }
    fn wait(&self) -> Result<(), Diagnostic> {
        self.point.wait()
    }
    fn outcome(&self) -> Result<(), Diagnostic> {
        self.point.outcome()
    }
}

impl Fetch for Sent {
    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        self.point.wait()?;
        let parcel = self.parcel.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taken = || bad_arguments("the bytes were taken before");
        parcel.map(|parcel| parcel.open()).ok_or_else(taken)
    }
}
