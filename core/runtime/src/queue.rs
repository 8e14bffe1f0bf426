//! A queue as the runtime knows it, and the point behind its last work once nobody submits to it any more.
//!
//! Invariant: when the last stream of a queue is gone, a point is recorded behind its work, and the driver is not asked for anything more in it. Whoever has to wait for that work waits for
//! this point. So a stream of somebody else can be destroyed from then on.

use crate::driver::{Driver, FIRST_QUEUE, Fence, QueueId, bad_arguments};
use girih_base::diag::{Code, Diagnostic};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A queue of a driver.
pub(crate) struct Queue {
    /// What the driver calls it.
    pub id: QueueId,
    /// Tells it from all others of the device: drivers give names out again.
    pub serial: u64,
    /// Whether somebody else has made it.
    pub is_adopted: bool,
    end: Mutex<End>,
}

/// How far it is from its end.
enum End {
    /// Streams have it.
    Open,
    /// They are gone; the point behind its work could not be recorded yet.
    Closing,
    /// They are gone, and this is the point.
    Closed(Arc<dyn Fence>),
    /// All of its work is done.
    Done,
    /// Its work may never end, or nobody can tell when it does.
    Unknown,
}

/// What is to be waited for.
pub(crate) enum Point {
    /// Nothing.
    Done,
    /// This.
    Fence(Arc<dyn Fence>),
    /// Something that may never come.
    Never,
}

impl Queue {
    /// The one that a driver has from the beginning.
    pub fn first() -> Queue {
        Queue::new(FIRST_QUEUE, 0, false)
    }

    pub fn new(id: QueueId, serial: u64, is_adopted: bool) -> Queue {
        Queue { id, serial, is_adopted, end: Mutex::new(End::Open) }
    }

    /// Nothing panics while it is locked, and what it guards is whole at all times.
    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all of its work is done and none will come.
    pub fn is_done(&self) -> bool {
        matches!(*self.lock(), End::Done)
    }

    /// All of its work is done, and none will come.
    pub fn finish(&self) {
        *self.lock() = End::Done;
    }

    /// The point behind all work that it has now.
    ///
    /// # Errors
    /// If the driver cannot record one, but the device goes on: it can be tried again.
    pub fn point(&self, driver: &dyn Driver) -> Result<Point, Diagnostic> {
        let mut end = self.lock();
        let is_closing = match &*end {
            End::Open => false,
            End::Closing => true,
            End::Closed(fence) => return Ok(Point::Fence(fence.clone())),
            End::Done => return Ok(Point::Done),
            End::Unknown => return Ok(Point::Never),
        };
        // Its owner may destroy a stream as soon as it is closed: not meanwhile. Elsewhere drivers call others back, which may come here again.
        if self.is_adopted {
            return recorded(driver.fence(self.id, false));
        }
        drop(end);
        let point = recorded(driver.fence(self.id, false))?;
        if is_closing {
            end = self.lock();
            if matches!(*end, End::Closing) {
                *end = point.end();
            }
        }
        Ok(point)
    }

    /// The last stream is gone.
    pub fn close(&self, driver: &dyn Driver) {
        let mut end = self.lock();
        if !self.is_adopted {
            *end = End::Closing;
            return;
        }
        // It cannot be tried again.
        *end = recorded(driver.fence(self.id, false)).map_or(End::Unknown, |point| point.end());
        driver.close_queue(self.id);
    }

    /// Work that is queued in another queue from now on begins after all that this one has now.
    ///
    /// # Errors
    /// If the device fails, or nobody can tell when the work is done.
    pub fn lead(&self, driver: &dyn Driver, other: QueueId) -> Result<(), Diagnostic> {
        let end = self.lock();
        let fence = match &*end {
            End::Done => return Ok(()),
            End::Unknown => return Err(unknown()),
            End::Closed(fence) => fence.clone(),
            End::Open | End::Closing => {
                let _held = if self.is_adopted { Some(end) } else { None };
                return driver.follow(other, self.id);
            }
        };
        drop(end);
        self.lead_from(driver, &*fence, other)
    }

    /// Work that is queued in another queue from now on begins after a point of this one.
    ///
    /// # Errors
    /// If the device fails.
    pub fn lead_from(
        &self,
        driver: &dyn Driver,
        point: &(dyn Fence + 'static),
        other: QueueId,
    ) -> Result<(), Diagnostic> {
        if point.poll()? {
            return Ok(());
        }
        let end = self.lock();
        let _held = if self.is_adopted { Some(end) } else { None };
        match driver.follow_point(other, point, self.id) {
            // Meanwhile it has come to its end.
            Err(_) if !self.is_adopted && self.is_done() => Ok(()),
            result => result,
        }
    }
}

impl Point {
    fn end(&self) -> End {
        match self {
            Point::Done => End::Done,
            Point::Fence(fence) => End::Closed(fence.clone()),
            Point::Never => End::Unknown,
        }
    }
}

/// A device that is lost does nothing any more; one that takes too long may do it for ever.
fn recorded(fence: Result<Box<dyn Fence>, Diagnostic>) -> Result<Point, Diagnostic> {
    match fence {
        Ok(fence) => Ok(Point::Fence(fence.into())),
        Err(error) if error.code == Code::DeviceLost => Ok(Point::Done),
        Err(error) if error.code == Code::DeviceTimeout => Ok(Point::Never),
        Err(error) => Err(error),
    }
}

fn unknown() -> Diagnostic {
    let message = "nobody can tell when the work of a stream that is gone is done";
    bad_arguments(message).hint("use memory that this stream has not used")
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}
