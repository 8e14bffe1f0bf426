//! Memory of a device, kept for later. A buffer that goes leaves its block to the next one of about its size in the same queue, whose
//! work is in order; nobody waits for anything.
//!
//! Invariant: a block is handed out again only behind all work that used it: at once in its own queue, and after the fences of the
//! others in which it was used. It goes back to the driver only when all of them are behind.

use crate::Memory;
use crate::driver::{BlockId, Driver, FIRST_QUEUE, Fence, Keeping, QueueId};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a device has given out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of buffers that live, as they were asked for.
    pub live: u64,
    /// How many buffers live.
    pub buffers: u64,
    /// Most bytes that lived at a time.
    pub peak: u64,
    /// Bytes of blocks that are kept for later, those that work still uses among them.
    pub cached: u64,
    /// Buffers that were made so far.
    pub allocations: u64,
    /// How many of them took a block that was kept.
    pub hits: u64,
}

/// The queues of a device that are open, a bit each; the last bit stands for all from there on.
#[derive(Debug)]
pub(crate) struct Open(AtomicU64);

/// The bit of a queue.
pub(crate) fn bit(queue: QueueId) -> u64 {
    1 << queue.index().min(63)
}

impl Default for Open {
    fn default() -> Open {
        Open(AtomicU64::new(bit(FIRST_QUEUE)))
    }
}

impl Open {
    pub fn add(&self, queue: QueueId) {
        self.0.fetch_or(bit(queue), Ordering::AcqRel);
    }
    fn remove(&self, queue: QueueId) {
        // Whoever shares the last bit may still be open.
        if queue.index() < 63 {
            self.0.fetch_and(!bit(queue), Ordering::AcqRel);
        }
    }
    /// The queues of some bits that are open.
    fn among(&self, bits: u64) -> impl Iterator<Item = QueueId> + use<> {
        let bits = bits & self.0.load(Ordering::Acquire);
        (0..64).filter(move |i| bits >> i & 1 == 1).map(QueueId::new)
    }
}

/// A block that a buffer has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub id: BlockId,
    /// Its whole size.
    pub size: u64,
    pub indirect: bool,
    /// In whose order it is used again.
    pub home: QueueId,
}

/// Where a free block stands: those of one queue and kind by their size, older ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    home: QueueId,
    indirect: bool,
    size: u64,
    stamp: u64,
}

/// What becomes of something when work is done.
enum Fate {
    Keep(Block),
    Release(Block),
    /// Memory of somebody else, who is told.
    Return(BlockId, Box<dyn FnOnce() + Send>),
    Close(QueueId),
}

#[derive(Default)]
struct State {
    free: BTreeMap<Place, BlockId>,
    /// Bytes of these.
    kept: u64,
    stamp: u64,
    /// What waits for work.
    retired: Vec<(Vec<Box<dyn Fence>>, Fate)>,
    figures: Figures,
}

/// The memory of a device.
pub(crate) struct Allocator {
    driver: Arc<dyn Driver>,
    keeping: Option<Keeping>,
    open: Arc<Open>,
    state: Mutex<State>,
}

impl Allocator {
    pub fn new(driver: Arc<dyn Driver>, open: Arc<Open>) -> Allocator {
        Allocator { keeping: driver.keeping(), driver, open, state: Mutex::default() }
    }

    /// Nothing panics while it is locked, and what it guards is whole at all times.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn figures(&self) -> Figures {
        self.lock().figures
    }

    /// Memory of at least so many bytes, and whether it is new.
    ///
    /// # Errors
    /// If there is not as much, also when all that is kept has been given back.
    pub fn allocate(&self, memory: Memory, home: QueueId) -> Result<(Block, bool), Diagnostic> {
        self.settle();
        let caps = self.driver.caps();
        let (size, most) = (self.rounded(memory.bytes)?, caps.buffer_bytes.max(self.driver.reach()));
        if memory.bytes > most {
            let message =
                format!("a buffer of {} bytes, but one buffer of the device holds at most {most}", memory.bytes);
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint("use several buffers"));
        }
        // What one binding reaches stays so.
        let whole = caps.binding_bytes.min(caps.buffer_bytes);
        let size = if memory.bytes <= whole { size.min(whole.max(1)) } else { size.min(most) };
        let block = |id, size| Block { id, size, indirect: memory.indirect, home };
        if let Some((size, id)) = self.take(size, memory.indirect, home) {
            self.count(memory.bytes, true);
            return Ok((block(id, size), false));
        }
        let asked = Memory { bytes: size, ..memory };
        let made = self.driver.allocate(asked).or_else(|error| {
            // Some of what is kept may do.
            if error.code != Code::DeviceMemory || !self.trim(true)? {
                return Err(error);
            }
            self.driver.allocate(asked)
        });
        let id = made?;
        self.count(memory.bytes, false);
        Ok((block(id, size), true))
    }

    fn count(&self, bytes: u64, hit: bool) {
        let figures = &mut self.lock().figures;
        figures.allocations += 1;
        figures.hits += u64::from(hit);
        figures.buffers += 1;
        figures.live += bytes;
        figures.peak = figures.peak.max(figures.live);
    }

    /// A size that blocks have.
    fn rounded(&self, bytes: u64) -> Result<u64, Diagnostic> {
        let Some(Keeping { grain, .. }) = self.keeping else { return Ok(bytes) };
        // Sizes of small blocks are few, those of large ones waste little.
        let grain = (bytes / 16).next_power_of_two().clamp(grain, 1 << 20);
        bytes.max(1).checked_next_multiple_of(grain).ok_or_else(|| {
            let message = format!("a buffer of {bytes} bytes is more than any device has");
            Diagnostic::new(Code::DeviceMemory, Span::NONE, message)
        })
    }

    /// The smallest kept block that does, at most a quarter larger.
    fn take(&self, size: u64, indirect: bool, home: QueueId) -> Option<(u64, BlockId)> {
        let state = &mut *self.lock();
        let place = |size, stamp| Place { home, indirect, size, stamp };
        let fits = place(size, 0)..=place(size.saturating_add(size / 4), u64::MAX);
        let place = *state.free.range(fits).next()?.0;
        let id = state.free.remove(&place)?;
        state.kept -= place.size;
        state.figures.cached -= place.size;
        Some((place.size, id))
    }

    /// Memory that somebody else has given counts as live.
    pub fn count_foreign(&self, bytes: u64) {
        self.count(bytes, false);
    }

    /// A buffer of so many bytes goes, which work of these queues (a bit each) has used.
    pub fn free(&self, block: Block, bytes: u64, uses: u64) {
        self.forget(bytes);
        match self.keeping {
            None => self.retire(uses, Fate::Release(block)),
            Some(_) => self.retire(uses & !bit(block.home), Fate::Keep(block)),
        }
        self.evict();
    }

    /// The same for memory of somebody else, who is told when it is not used any more.
    pub fn give_back(&self, block: BlockId, bytes: u64, uses: u64, told: Box<dyn FnOnce() + Send>) {
        self.forget(bytes);
        self.retire(uses, Fate::Return(block, told));
    }

    fn forget(&self, bytes: u64) {
        let figures = &mut self.lock().figures;
        figures.buffers -= 1;
        figures.live -= bytes;
    }

    /// A queue is not used any more.
    pub fn close(&self, queue: QueueId) {
        self.retire(bit(queue), Fate::Close(queue));
    }

    /// Something happens when the work of some queues is done; now, if there is none.
    fn retire(&self, queues: u64, fate: Fate) {
        let mut fences = vec![];
        for queue in self.open.among(queues) {
            match self.driver.fence(queue, false) {
                Ok(fence) => fences.push(fence),
                // A device that is lost does nothing any more; what it has is its driver's.
                Err(_) => continue,
            }
        }
        if let Fate::Keep(block) | Fate::Release(block) = &fate {
            self.lock().figures.cached += block.size;
        }
        self.lock().retired.push((fences, fate));
        self.settle();
    }

    /// Does what was waiting for work that is done now.
    fn settle(&self) {
        let mut ready = vec![];
        {
            let state = &mut *self.lock();
            let mut i = 0;
            while i < state.retired.len() {
                state.retired[i].0.retain(|fence| !fence.poll().unwrap_or(true));
                if state.retired[i].0.is_empty() {
                    ready.push(state.retired.swap_remove(i).1);
                } else {
                    i += 1;
                }
            }
        }
        ready.into_iter().for_each(|fate| self.finish(fate));
    }

    fn finish(&self, fate: Fate) {
        match fate {
            Fate::Keep(block) => self.keep(block),
            Fate::Release(block) => {
                self.lock().figures.cached -= block.size;
                self.driver.release(block.id);
            }
            Fate::Return(id, told) => {
                self.driver.release(id);
                told();
            }
            Fate::Close(queue) => {
                self.open.remove(queue);
                self.rehome(queue);
                self.driver.close_queue(queue);
            }
        }
    }

    fn keep(&self, Block { id, size, indirect, home }: Block) {
        let state = &mut *self.lock();
        state.stamp += 1;
        state.kept += size;
        state.free.insert(Place { home, indirect, size, stamp: state.stamp }, id);
    }

    /// What a queue has left, whose work is done, is the first queue's.
    fn rehome(&self, queue: QueueId) {
        let state = &mut *self.lock();
        let left: Vec<Place> = state.free.keys().filter(|place| place.home == queue).copied().collect();
        for place in left {
            if let Some(id) = state.free.remove(&place) {
                state.free.insert(Place { home: FIRST_QUEUE, ..place }, id);
            }
        }
    }

    /// Lets go of what was given back first, while there is more than is to be kept.
    fn evict(&self) {
        let most = self.keeping.map_or(0, |keeping| keeping.bytes);
        loop {
            let oldest = {
                let state = &mut *self.lock();
                if state.kept <= most {
                    return;
                }
                let oldest = state.free.keys().min_by_key(|place| place.stamp).copied();
                oldest.and_then(|place| Self::unkept(state, place))
            };
            let Some(block) = oldest else { return };
            self.retire(bit(block.home), Fate::Release(block));
        }
    }

    fn unkept(state: &mut State, place: Place) -> Option<Block> {
        let id = state.free.remove(&place)?;
        state.kept -= place.size;
        state.figures.cached -= place.size;
        Some(Block { id, size: place.size, indirect: place.indirect, home: place.home })
    }

    /// Gives all that is kept back to the driver, what work still uses when that is done; who can `wait` does. Says whether anything was given back.
    pub fn trim(&self, wait: bool) -> Result<bool, Diagnostic> {
        let kept: Vec<Block> = {
            let state = &mut *self.lock();
            let places: Vec<Place> = state.free.keys().copied().collect();
            places.into_iter().filter_map(|place| Self::unkept(state, place)).collect()
        };
        let mut any = !kept.is_empty();
        kept.into_iter().for_each(|block| self.retire(bit(block.home), Fate::Release(block)));
        self.settle();
        if wait {
            let retired = std::mem::take(&mut self.lock().retired);
            any |= !retired.is_empty();
            let mut result = Ok(());
            for (fences, fate) in retired {
                result = result.and(fences.iter().try_for_each(|fence| fence.wait()));
                // What is still used stays until it is not.
                match (&result, fate) {
                    (Ok(()), Fate::Keep(block)) => self.finish(Fate::Release(block)),
                    (Ok(()), fate) => self.finish(fate),
                    (Err(_), fate) => self.lock().retired.push((fences, fate)),
                }
            }
            result?;
        }
        Ok(any)
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        // The driver gives back what it has given out when it goes. Others are told that their memory is free.
        for (fences, fate) in std::mem::take(&mut self.lock().retired) {
            if let Fate::Return(id, told) = fate
                && fences.iter().all(|fence| fence.wait().is_ok())
            {
                self.driver.release(id);
                told();
            }
        }
    }
}
