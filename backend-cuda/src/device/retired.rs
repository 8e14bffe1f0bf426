//! What nobody has any more, but work that was queued may still use: programs, graphs, streams. It goes when that work is done.

use super::context::{Context, Event};
use super::queue::Queue;
use girih_base::diag::Diagnostic;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something that is dropped.
pub(super) type Leftover = Box<dyn std::any::Any + Send + Sync>;

#[derive(Default)]
struct Waiting {
    /// What goes, and the points behind which no work uses it.
    leftovers: Vec<(Leftover, Vec<Arc<Event>>)>,
    /// The last points of streams that were closed and may still be at work.
    closed: Vec<Arc<Event>>,
    /// Whether there is a closed stream of which nobody knows when it is done: whatever it may use stays to the process's end.
    is_unknown: bool,
}

impl Waiting {
    /// Lets go of what no work uses any more.
    fn settle(&mut self) {
        let is_pending = |event: &Arc<Event>| !event.is_done().unwrap_or(false);
        self.leftovers.retain(|(_, points)| points.iter().any(is_pending));
        self.closed.retain(is_pending);
    }
}

/// What waits for work that is done. All of it is called while the context is current.
#[derive(Default)]
pub(super) struct Retired(Mutex<Waiting>);

impl Retired {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something goes when no work that is queued so far, in one of these streams or in one that was closed, uses it any more.
    pub fn retire<'a>(&self, context: &Arc<Context>, what: Leftover, queues: impl Iterator<Item = &'a Arc<Queue>>) {
        let points: Result<Vec<_>, _> = queues.map(|queue| behind(context, queue)).collect();
        let waiting = &mut *self.lock();
        match points {
            Ok(mut points) if !waiting.is_unknown => {
                points.extend(waiting.closed.iter().cloned());
                waiting.leftovers.push((what, points));
            }
            _ => std::mem::forget(what),
        }
        waiting.settle();
    }

    /// A stream is closed. Its handle is not used any more, for it may be somebody else's, who destroys it.
    pub fn close(&self, context: &Arc<Context>, queue: Arc<Queue>) {
        let point = behind(context, &queue);
        let waiting = &mut *self.lock();
        match point {
            Ok(point) => {
                waiting.closed.push(point.clone());
                waiting.leftovers.push((Box::new(queue), vec![point]));
            }
            Err(_) => {
                waiting.is_unknown = true;
                std::mem::forget(queue);
            }
        }
        waiting.settle();
    }

    /// Lets go of what no work uses any more.
    pub fn settle(&self) {
        self.lock().settle();
    }

    /// Waits for the work of all streams that were closed.
    pub fn finish(&self) -> Result<(), Diagnostic> {
        let closed = std::mem::take(&mut self.lock().closed);
        closed.iter().try_for_each(|point| point.wait())
    }
}

/// A point behind all work of a stream so far.
fn behind(context: &Arc<Context>, queue: &Queue) -> Result<Arc<Event>, Diagnostic> {
    let event = Event::new(context, false)?;
    event.record(queue)?;
    Ok(Arc::new(event))
}
