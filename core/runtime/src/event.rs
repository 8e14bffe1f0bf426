//! Events and downloads: points in a stream's work, and bytes that are read there. Both can be waited for, and both are futures.
//!
//! Invariant: polling never blocks. A driver that cannot wake a future is polled by a thread ([`polling`](crate::polling)).

use crate::Buffer;
use crate::device::Core;
use crate::driver::{Fence, Fetch};
use crate::polling::{Awaited, Seat};
use crate::queue::Queue;
use girih_base::diag::Diagnostic;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

struct Recorded {
    awaited: Arc<Awaited>,
    told: OnceLock<Result<(), Diagnostic>>,
    queue: Arc<Queue>,
    /// Keeps the device. The stream may go: its work still runs.
    core: Arc<Core>,
}

impl Recorded {
    /// What there is to tell of work that is done.
    fn outcome(&self) -> Result<(), Diagnostic> {
        let told = self.told.get_or_init(|| self.awaited.fence().outcome()).clone();
        let settled = self.core.family.settled();
        told.and(settled)
    }
}

/// A point in a stream. Clones are the same one. It is a future, too, which needs no runtime of a certain kind.
///
/// What work before it has failed with is told once: by the first event behind it, or the first wait, that is asked.
pub struct Event {
    recorded: Arc<Recorded>,
    seat: Seat,
}

impl Clone for Event {
    fn clone(&self) -> Event {
        Event { recorded: self.recorded.clone(), seat: self.recorded.awaited.seat() }
    }
}

impl Event {
    pub(crate) fn new(fence: Box<dyn Fence>, queue: &Arc<Queue>, core: &Arc<Core>) -> Event {
        let awaited = Awaited::new(fence.into());
        let seat = awaited.seat();
        let (queue, core) = (queue.clone(), core.clone());
        Event { recorded: Arc::new(Recorded { awaited, told: OnceLock::new(), queue, core }), seat }
    }

    /// Whether all work before it is done. Never waits.
    ///
    /// # Errors
    /// If the device fails.
    pub fn is_done(&self) -> Result<bool, Diagnostic> {
        self.recorded.awaited.fence().poll()
    }

    /// Waits until all work before it is done.
    ///
    /// # Errors
    /// If something in it failed or trapped, or the device fails.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.recorded.awaited.fence().wait()?;
        self.recorded.outcome()
    }

    /// Work that is queued in another queue from now on begins after it. Nothing waits on the host.
    pub(crate) fn lead(&self, core: &Core, other: &Queue) -> Result<(), Diagnostic> {
        let Recorded { awaited, queue, .. } = &*self.recorded;
        if other.serial == queue.serial {
            return Ok(());
        }
        queue.lead_from(&*core.driver, awaited.fence(), other.id)
    }

    pub(crate) fn core(&self) -> &Core {
        &self.recorded.core
    }
}

impl Future for Event {
    type Output = Result<(), Diagnostic>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Diagnostic>> {
        match self.seat.poll(context.waker()) {
            Poll::Ready(done) => Poll::Ready(done.and_then(|()| self.recorded.outcome())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event(of {:?})", self.recorded.queue)
    }
}

/// Bytes on their way to the host. It is a future, too, which needs no runtime of a certain kind.
pub struct Download {
    fetch: Arc<dyn Fetch>,
    seat: Seat,
    /// Bytes to be left out at the beginning, and how many there are then: devices move whole words.
    part: (usize, usize),
    memory: Buffer,
    queue: Arc<Queue>,
}

impl Download {
    pub(crate) fn new(fetch: Box<dyn Fetch>, part: (usize, usize), memory: Buffer, queue: &Arc<Queue>) -> Download {
        let fetch: Arc<dyn Fetch> = fetch.into();
        let seat = Awaited::new(fetch.clone()).seat();
        Download { fetch, seat, part, memory, queue: queue.clone() }
    }

    /// Whether they are there. Never waits.
    ///
    /// # Errors
    /// If the device fails.
    pub fn is_done(&self) -> Result<bool, Diagnostic> {
        self.fetch.poll()
    }

    /// Waits for the bytes.
    ///
    /// # Errors
    /// If work before them failed or trapped, or the device fails.
    pub fn wait(self) -> Result<Vec<u8>, Diagnostic> {
        self.fetch.wait()?;
        self.take()
    }

    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        self.fetch.outcome()?;
        let mut bytes = self.fetch.take()?;
        self.memory.core().family.settled()?;
        let (first, count) = self.part;
        bytes.drain(..first.min(bytes.len()));
        bytes.truncate(count);
        Ok(bytes)
    }
}

impl Future for Download {
    type Output = Result<Vec<u8>, Diagnostic>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.seat.poll(context.waker()) {
            Poll::Ready(done) => Poll::Ready(done.and_then(|()| self.take())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Download(of {:?})", self.queue)
    }
}
