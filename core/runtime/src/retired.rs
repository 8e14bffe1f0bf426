//! What nobody has any more but work may still use: blocks and queues. Each has its fate when that work is done. Programs are their drivers' own matter.
//!
//! Devices that know each other's blocks are a family, and share one list, so what one of them leaves behind when it goes is finished by the others.
//!
//! Invariant: no lock is held while a driver is asked or an owner is told: either may call code of others, which may come back here.

use crate::allocator::{Allocator, Block};
use crate::driver::{BlockId, Driver, Fence, QueueId, bad_arguments};
use crate::polling;
use crate::queue::{Point, Queue};
use girih_base::diag::{Code, Diagnostic};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};

/// What becomes of something when work is done.
pub(crate) enum Fate {
    Keep(Block),
    Release(Block),
    /// Memory of somebody else, who is told.
    Return(BlockId, Box<dyn FnOnce() + Send>),
    Close(Arc<Queue>),
}

/// What is waited for.
enum Wait {
    Fence(Arc<dyn Fence>),
    /// The point behind the work of a queue, which could not be recorded yet.
    Queue(Arc<Queue>),
}

struct Retired {
    waits: Vec<Wait>,
    driver: Arc<dyn Driver>,
    allocator: Weak<Allocator>,
    fate: Fate,
}

/// Where something stands that waits for work.
#[derive(PartialEq, Eq)]
enum Standing {
    Ready,
    Waiting,
    /// The work may never end.
    Never,
}

#[derive(Default)]
struct State {
    waiting: Vec<Retired>,
    /// Whether a thread is looking through the list; whether it is to look once more, because somebody was woken.
    is_settling: bool,
    again: bool,
    /// What somebody is still to be told of.
    noted: Option<Diagnostic>,
    members: Vec<Weak<Allocator>>,
    has_ended: bool,
}

/// What devices share that know each other's blocks and queues.
pub(crate) struct Family {
    /// The queue that they have from the beginning.
    pub first: Arc<Queue>,
    serials: AtomicU64,
    state: Mutex<State>,
    me: Weak<Family>,
}

impl Family {
    pub fn new() -> Arc<Family> {
        Arc::new_cyclic(|me| Family {
            first: Arc::new(Queue::first()),
            serials: AtomicU64::new(1),
            state: Mutex::default(),
            me: me.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue that a driver has given.
    pub fn queue(&self, id: QueueId, is_adopted: bool) -> Arc<Queue> {
        Arc::new(Queue::new(id, self.serials.fetch_add(1, Ordering::Relaxed), is_adopted))
    }

    /// Another device comes.
    pub fn join(&self, allocator: &Arc<Allocator>) {
        self.lock().members.push(Arc::downgrade(allocator));
    }

    /// The memory of all of them.
    pub fn members(&self) -> Vec<Arc<Allocator>> {
        self.lock().members.iter().filter_map(Weak::upgrade).collect()
    }

    /// A device goes.
    pub fn leave(&self, allocator: &Arc<Allocator>) {
        let is_last = {
            let state = &mut *self.lock();
            state.members.retain(|member| !std::ptr::eq(member.as_ptr(), Arc::as_ptr(allocator)));
            state.has_ended = state.members.is_empty();
            state.has_ended && !state.is_settling
        };
        if is_last {
            self.end();
        }
    }

    /// The last stream of a queue is gone.
    pub fn close(&self, queue: &Arc<Queue>, driver: &Arc<dyn Driver>, allocator: &Arc<Allocator>) {
        queue.close(&**driver);
        self.retire(vec![queue.clone()], driver, allocator, Fate::Close(queue.clone()));
    }

    /// Something happens when the work that some queues have now is done; at once, if there is none.
    pub fn retire(&self, queues: Vec<Arc<Queue>>, driver: &Arc<dyn Driver>, allocator: &Arc<Allocator>, fate: Fate) {
        let waits = queues.into_iter().map(Wait::Queue).collect();
        let mut retired = Retired { waits, driver: driver.clone(), allocator: Arc::downgrade(allocator), fate };
        match retired.look(self) {
            Standing::Ready => self.finish(retired),
            Standing::Never => std::mem::forget(retired),
            Standing::Waiting => {
                let fences = retired.fences();
                // Whoever gets memory next looks at it, but somebody may be waiting for these.
                let is_awaited = !matches!(retired.fate, Fate::Keep(_) | Fate::Release(_));
                self.lock().waiting.push(retired);
                if is_awaited {
                    let waker = Waker::from(Arc::new(Settler(self.me.clone())));
                    fences.into_iter().for_each(|fence| polling::wake(fence, waker.clone()));
                }
            }
        }
    }

    /// Does what was waiting for work that is done now, if nobody else is about it.
    pub fn settle(&self) {
        loop {
            let waiting = {
                let state = &mut *self.lock();
                if state.is_settling {
                    return;
                }
                if state.waiting.is_empty() {
                    return;
                }
                (state.is_settling, state.again) = (true, false);
                std::mem::take(&mut state.waiting)
            };
            let (mut ready, mut left) = (vec![], vec![]);
            for mut retired in waiting {
                match retired.look(self) {
                    Standing::Ready => ready.push(retired),
                    Standing::Waiting => left.push(retired),
                    Standing::Never => std::mem::forget(retired),
                }
            }
            let (again, has_ended) = {
                let state = &mut *self.lock();
                state.waiting.append(&mut left);
                state.is_settling = false;
                (state.again, state.has_ended)
            };
            ready.into_iter().for_each(|retired| self.finish(retired));
            if has_ended {
                return self.end();
            }
            if !again {
                return;
            }
        }
    }

    /// The same for whoever has waited for work: they are told what has gone wrong meanwhile.
    ///
    /// # Errors
    /// What a driver has said that nobody was told yet.
    pub fn settled(&self) -> Result<(), Diagnostic> {
        self.settle();
        self.lock().noted.take().map_or(Ok(()), Err)
    }

    fn note(&self, error: Diagnostic) {
        self.lock().noted.get_or_insert(error);
    }

    /// Waits for all of it, and keeps nothing. Says whether there was anything.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<bool, Diagnostic> {
        let waiting = std::mem::take(&mut self.lock().waiting);
        let (any, mut result, mut left) = (!waiting.is_empty(), Ok(()), vec![]);
        for mut retired in waiting {
            result = result.and_then(|()| retired.wait(self));
            match (&result, retired.fate) {
                (Ok(()), Fate::Keep(block)) => self.finish(Retired { fate: Fate::Release(block), ..retired }),
                (Ok(()), fate) => self.finish(Retired { fate, ..retired }),
                // What is still used stays until it is not.
                (Err(_), fate) => left.push(Retired { fate, ..retired }),
            }
        }
        self.lock().waiting.append(&mut left);
        // Some of it may have been done meanwhile.
        self.settle();
        result.map(|()| any)
    }

    /// The last device goes, and its driver gives back what it has given out. It does not know what is of others: they are waited for.
    fn end(&self) {
        for mut retired in std::mem::take(&mut self.lock().waiting) {
            let is_of_others = match &retired.fate {
                Fate::Return(..) => true,
                Fate::Close(queue) => queue.is_adopted,
                Fate::Keep(_) | Fate::Release(_) => false,
            };
            let is_done = match retired.look(self) {
                Standing::Ready => true,
                Standing::Waiting => is_of_others && retired.wait(self).is_ok(),
                Standing::Never => false,
            };
            match is_done {
                true => self.finish(retired),
                false if is_of_others => std::mem::forget(retired),
                false => {}
            }
        }
    }

    fn finish(&self, Retired { driver, allocator, fate, .. }: Retired) {
        let allocator = allocator.upgrade();
        match fate {
            Fate::Keep(block) => match allocator {
                Some(allocator) => allocator.keep(block, &self.first),
                None => driver.release(block.id),
            },
            Fate::Release(block) => {
                if let Some(allocator) = allocator {
                    allocator.forget_cached(block.size);
                }
                driver.release(block.id);
            }
            Fate::Return(id, told) => {
                driver.release(id);
                told();
            }
            Fate::Close(queue) => {
                queue.finish();
                if let Some(allocator) = allocator {
                    allocator.rehome(&queue, &self.first);
                }
                if !queue.is_adopted {
                    driver.close_queue(queue.id);
                }
            }
        }
    }
}

impl Retired {
    /// Asks for what it waits for.
    fn look(&mut self, family: &Family) -> Standing {
        let (driver, mut never) = (&*self.driver, false);
        self.waits.retain_mut(|wait| {
            if let Wait::Queue(queue) = wait {
                match queue.point(driver) {
                    Ok(Point::Done) => return false,
                    Ok(Point::Fence(fence)) => *wait = Wait::Fence(fence),
                    Ok(Point::Never) => never = true,
                    // It is asked again.
                    Err(error) => family.note(error),
                }
            }
            let Wait::Fence(fence) = wait else { return true };
            match fence.poll() {
                Ok(is_done) => return !is_done,
                // A device that is lost does nothing any more.
                Err(error) if error.code == Code::DeviceLost => return false,
                Err(error) if error.code == Code::DeviceTimeout => never = true,
                Err(error) => family.note(error),
            }
            true
        });
        match (never, self.waits.is_empty()) {
            (true, _) => Standing::Never,
            (false, true) => Standing::Ready,
            (false, false) => Standing::Waiting,
        }
    }

    fn fences(&self) -> Vec<Arc<dyn Fence>> {
        let fence = |wait: &Wait| match wait {
            Wait::Fence(fence) => Some(fence.clone()),
            Wait::Queue(_) => None,
        };
        self.waits.iter().filter_map(fence).collect()
    }

    /// Waits for all.
    fn wait(&mut self, family: &Family) -> Result<(), Diagnostic> {
        self.look(family);
        for wait in &self.waits {
            match wait {
                Wait::Fence(fence) => match fence.wait() {
                    Err(error) if error.code != Code::DeviceLost => return Err(error),
                    Ok(()) | Err(_) => {}
                },
                Wait::Queue(queue) => {
                    let message = format!("the device cannot tell when the work of {queue:?} is done");
                    return Err(bad_arguments(message));
                }
            }
        }
        self.waits.clear();
        Ok(())
    }
}

/// Is woken when something that somebody may be waiting for is done.
struct Settler(Weak<Family>);

impl Wake for Settler {
    fn wake(self: Arc<Self>) {
        if let Some(family) = self.0.upgrade() {
            // Whoever is about it may have looked already.
            family.lock().again = true;
            family.settle();
        }
    }
}
