//! Events and downloads: points in a stream's work, and bytes that are read there. Both can be waited for, and both are futures.
//!
//! Invariant: polling never blocks. A driver that cannot wake a future is polled by a thread ([`polling`]).

use crate::driver::{Fence, Fetch};
use crate::stream::Stream;
use crate::{Buffer, polling};
use girih_base::diag::Diagnostic;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

struct Recorded {
    fence: Arc<dyn Fence>,
    told: OnceLock<Result<(), Diagnostic>>,
    /// Keeps the queue open.
    stream: Stream,
}

impl Recorded {
    /// What there is to tell of work that is done.
    fn outcome(&self) -> Result<(), Diagnostic> {
        self.told.get_or_init(|| self.fence.outcome()).clone()
    }
}

/// A point in a stream. Clones are the same one. It is a future, too, which needs no runtime of a certain kind.
///
/// What work before it has failed with is told once: by the first event behind it, or the first wait, that is asked.
#[derive(Clone)]
pub struct Event(Arc<Recorded>);

impl Event {
    pub(crate) fn new(fence: Box<dyn Fence>, stream: Stream) -> Event {
        Event(Arc::new(Recorded { fence: fence.into(), told: OnceLock::new(), stream }))
    }

    /// Whether all work before it is done. Never waits.
    ///
    /// # Errors
    /// If the device fails.
    pub fn is_done(&self) -> Result<bool, Diagnostic> {
        self.0.fence.poll()
    }

    /// Waits until all work before it is done.
    ///
    /// # Errors
    /// If something in it failed or trapped, or the device fails.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.0.fence.wait()?;
        self.0.outcome()
    }
}

impl Future for Event {
    type Output = Result<(), Diagnostic>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Diagnostic>> {
        match polling::poll(&self.0.fence, context.waker()) {
            Poll::Ready(done) => Poll::Ready(done.and_then(|()| self.0.outcome())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event(of {:?})", self.0.stream.queue())
    }
}

/// Bytes on their way to the host. It is a future, too, which needs no runtime of a certain kind.
pub struct Download {
    fetch: Arc<dyn Fetch>,
    _memory: Buffer,
    /// Keeps the queue open.
    stream: Stream,
}

impl Download {
    pub(crate) fn new(fetch: Box<dyn Fetch>, memory: Buffer, stream: Stream) -> Download {
        Download { fetch: fetch.into(), _memory: memory, stream }
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
        self.fetch.outcome()?;
        self.fetch.take()
    }
}

impl Future for Download {
    type Output = Result<Vec<u8>, Diagnostic>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let fence: Arc<dyn Fence> = self.fetch.clone();
        match polling::poll(&fence, context.waker()) {
            Poll::Ready(Ok(())) => Poll::Ready(self.fetch.outcome().and_then(|()| self.fetch.take())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Download(of {:?})", self.stream.queue())
    }
}
