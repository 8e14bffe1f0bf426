//! Streams of a card: each with its way to the host and its words of traps. Points in them, and bytes that are read there.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::{Context, Event};
use super::driver::check;
use super::locked::{Pool, Room};
use super::staging::{self, Staging};
use super::traps::{Told, Traps};
use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUstream};
use girih_base::diag::Diagnostic;
use girih_runtime::driver::{Fence, Fetch, bad_arguments};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The driver's name for a stream of whichever thread uses it.
const PER_THREAD: u64 = 2;

/// A stream. Whoever drops it knows that its work is done, for that uses the words of traps.
#[derive(Debug)]
pub(super) struct Queue {
    stream: CUstream,
    /// Whether it is this value's own, or somebody else's.
    is_own: bool,
    traps: Traps,
    staging: Mutex<Staging>,
    pool: Arc<Pool>,
    context: Arc<Context>,
}

// SAFETY: the stream is a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Queue {}
// SAFETY: as above, from several at a time.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new one, without an order to any other. The context is current.
    pub fn new(context: &Arc<Context>, pool: &Arc<Pool>) -> Result<Queue, Diagnostic> {
        let traps = Traps::new(context)?;
        let mut stream = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current; the driver writes one handle.
        check(unsafe { sys::cuStreamCreate(&mut stream, flags) }, "make a stream")?;
        Queue { stream, is_own: true, traps, staging: Mutex::default(), pool: pool.clone(), context: context.clone() }
            .ready()
    }

    /// One of somebody else, which lives as long as this value is used. The context is current.
    ///
    /// # Safety
    /// The handle is a stream.
    pub unsafe fn adopt(context: &Arc<Context>, pool: &Arc<Pool>, handle: u64) -> Result<Queue, Diagnostic> {
        if handle == PER_THREAD {
            return Err(bad_arguments("the handle 2 means another stream on every thread")
                .hint("give a stream that was created"));
        }
        let stream: CUstream = std::ptr::with_exposed_provenance_mut(handle as usize);
        let mut theirs: CUcontext = std::ptr::null_mut();
        // SAFETY: the caller's promise; the driver writes one handle.
        check(unsafe { sys::cuStreamGetCtx(stream, &mut theirs) }, "tell whose a stream is")?;
        if theirs != context.raw() {
            return Err(bad_arguments("the stream is of another context").hint("make it in the card's primary context"));
        }
        let traps = Traps::new(context)?;
        Queue { stream, is_own: false, traps, staging: Mutex::default(), pool: pool.clone(), context: context.clone() }
            .ready()
    }

    fn ready(self) -> Result<Queue, Diagnostic> {
        self.traps.clear(&self)?;
        Ok(self)
    }

    /// The stream.
    pub fn stream(&self) -> CUstream {
        self.stream
    }
    /// What its work traps.
    pub fn traps(&self) -> &Traps {
        &self.traps
    }
    /// Memory for copies.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all work is done.
    pub fn finish(&self) -> Result<(), Diagnostic> {
        // SAFETY: the stream lives as long as `self`.
        self.context.wait(|| unsafe { sys::cuStreamQuery(self.stream) })
    }

    /// Queues bytes for the device. They may be changed at once. The context is current.
    pub fn write(&self, to: CUdeviceptr, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.staging().write(self, to, bytes)
    }

    /// Waits for all work, reads what it left, and tells what it failed with. The context is current.
    pub fn read(&self, parts: &mut [(CUdeviceptr, &mut [u8])]) -> Result<(), Diagnostic> {
        let is_empty = parts.iter().all(|(_, bytes)| bytes.is_empty());
        match self.traps.quiet_point().filter(|_| is_empty) {
            Some(point) => {
                self.finish()?;
                self.traps.told.tell(point)?;
            }
            None => staging::read(self, parts)?,
        }
        self.staging().settle(&self.pool)?;
        self.pool.trim();
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let staging = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(staging).give_all(&self.pool);
        if self.is_own {
            // SAFETY: the handle is this value's own and is not used afterwards. Errors have nobody to go to.
            self.context.free(|| _ = unsafe { sys::cuStreamDestroy_v2(self.stream) });
        }
    }
}

/// A point in a stream, which it does not need any more.
pub(super) struct Point {
    event: Arc<Event>,
    /// Its number, and what is told, if it is to tell anything.
    told: Option<(u64, Told)>,
    context: Arc<Context>,
}

impl Point {
    /// Behind all work that is queued so far. The context is current.
    pub fn new(queue: &Queue, to_tell: bool) -> Result<Point, Diagnostic> {
        let event = Arc::new(Event::new(&queue.context, false)?);
        let told = if to_tell {
            Some((queue.traps.point(queue, &queue.pool, &event)?, queue.traps.told.clone()))
        } else {
            event.record(queue)?;
            None
        };
        Ok(Point { event, told, context: queue.context.clone() })
    }
}

impl Fence for Point {
    fn poll(&self) -> Result<bool, Diagnostic> {
        let _current = self.context.enter()?;
        self.context.noted(self.event.is_done())
    }
    fn wait(&self) -> Result<(), Diagnostic> {
        let _current = self.context.enter()?;
        self.event.wait()
    }
    fn outcome(&self) -> Result<(), Diagnostic> {
        let Some((point, told)) = &self.told else { return Ok(()) };
        let _current = self.context.enter()?;
        told.tell(*point)
    }
}

/// The event of a point of this driver.
pub(super) fn event<'a>(point: &'a (dyn Fence + 'static)) -> Option<&'a Event> {
    let point: &'a dyn Any = point;
    let sent = || point.downcast_ref::<Sent>().map(|sent| &sent.point);
    point.downcast_ref::<Point>().or_else(sent).map(|point| &*point.event)
}

/// Bytes on their way to the host, and the point behind them.
pub(super) struct Sent {
    room: Mutex<Option<Room>>,
    bytes: usize,
    pool: Arc<Pool>,
    point: Point,
}

impl Sent {
    /// Queues a copy. The context is current.
    pub fn new(queue: &Queue, from: CUdeviceptr, bytes: usize) -> Result<Sent, Diagnostic> {
        let room = staging::send(queue, from, bytes)?;
        let point = Point::new(queue, true)?;
        Ok(Sent { room: Mutex::new(Some(room)), bytes, pool: queue.pool.clone(), point })
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(room) = self.room.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            self.pool.give_after(room, self.point.event.clone());
        }
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
        let room = self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
        let room = room.ok_or_else(|| bad_arguments("the bytes were taken before"))?;
        let bytes = staging::received(&room, self.bytes);
        self.pool.give(room);
        Ok(bytes)
    }
}
