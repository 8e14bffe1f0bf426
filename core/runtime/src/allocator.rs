//! Memory of a device, kept for later. A buffer that goes leaves its block to the next one of about its size in the same queue, whose
//! work is in order; nobody waits for anything.
//!
//! Invariant: a block is handed out again only behind all work that used it: at once in its own queue, and after the fences of the
//! others in which it was used. Another queue that uses it afterwards comes behind its own one first (see `buffer`). It goes back to the driver only when all of that work is done.

use crate::Memory;
use crate::driver::{BlockId, Driver, Keeping};
use crate::queue::Queue;
use crate::retired::{Family, Fate};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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

impl Figures {
    /// A buffer of so many bytes was made, of a block that was kept or not.
    fn count(&mut self, bytes: u64, hit: bool) {
        self.allocations += 1;
        self.hits += u64::from(hit);
        self.buffers += 1;
        self.live += bytes;
        self.peak = self.peak.max(self.live);
    }

    /// One of so many bytes goes.
    fn forget(&mut self, bytes: u64) {
        self.buffers -= 1;
        self.live -= bytes;
    }
}

/// A block that a buffer has.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub id: BlockId,
    /// Its whole size.
    pub size: u64,
    pub indirect: bool,
    /// In whose order it is used again.
    pub home: Arc<Queue>,
}

/// Where a free block stands: those of one queue and kind by their size, older ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    home: u64,
    indirect: bool,
    size: u64,
    stamp: u64,
}

#[derive(Default)]
struct State {
    free: BTreeMap<Place, Block>,
    /// Bytes of these.
    kept: u64,
    stamp: u64,
    figures: Figures,
}

/// The memory of a device.
pub(crate) struct Allocator {
    driver: Arc<dyn Driver>,
    keeping: Option<Keeping>,
    family: Arc<Family>,
    state: Mutex<State>,
    me: Weak<Allocator>,
}

impl Allocator {
    pub fn new(driver: Arc<dyn Driver>, family: Arc<Family>) -> Arc<Allocator> {
        let keeping = driver.keeping();
        Arc::new_cyclic(|me| Allocator { driver, keeping, family, state: Mutex::default(), me: me.clone() })
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
    pub fn allocate(&self, memory: Memory, home: &Arc<Queue>) -> Result<(Block, bool), Diagnostic> {
        self.family.settle();
        let most = self.driver.caps().buffer_bytes.max(self.driver.reach());
        if memory.bytes > most {
            let message =
                format!("a buffer of {} bytes, but one buffer of the device holds at most {most}", memory.bytes);
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint("use several buffers"));
        }
        // What one binding reaches stays so.
        let whole = self.driver.whole_bytes();
        let most = if memory.bytes <= whole { whole.max(1) } else { most };
        let size = self.rounded(memory.bytes)?.min(most);
        if let Some(block) = self.take(memory.bytes, (size, most), memory.indirect, home) {
            return Ok((block, false));
        }
        let asked = Memory { bytes: size, ..memory };
        let made = self.driver.allocate(asked).or_else(|error| {
            // Some of what is kept may do.
            if error.code != Code::DeviceMemory || !self.trim_all()? {
                return Err(error);
            }
            self.driver.allocate(asked)
        });
        let id = made?;
        self.count(memory.bytes, false);
        Ok((Block { id, size, indirect: memory.indirect, home: home.clone() }, true))
    }

    fn count(&self, bytes: u64, hit: bool) {
        self.lock().figures.count(bytes, hit);
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

    /// The smallest kept block that does for so many bytes: one of at least a size, at most a quarter larger, and no larger than what is most.
    fn take(&self, bytes: u64, (size, most): (u64, u64), indirect: bool, home: &Queue) -> Option<Block> {
        let state = &mut *self.lock();
        let place = |size, stamp| Place { home: home.serial, indirect, size, stamp };
        let fits = place(size, 0)..=place(size.saturating_add(size / 4).min(most), u64::MAX);
        let place = *state.free.range(fits).next()?.0;
        let block = Self::unkept(state, place)?;
        state.figures.count(bytes, true);
        Some(block)
    }

    fn unkept(state: &mut State, place: Place) -> Option<Block> {
        let block = state.free.remove(&place)?;
        state.kept -= place.size;
        state.figures.cached -= place.size;
        Some(block)
    }

    /// Memory that somebody else has given counts as live.
    pub fn count_foreign(&self, bytes: u64) {
        self.count(bytes, false);
    }

    /// A buffer of so many bytes goes, which work of its own queue and of these others has used.
    pub fn free(&self, block: Block, bytes: u64, mut uses: Vec<Arc<Queue>>) {
        {
            let figures = &mut self.lock().figures;
            figures.forget(bytes);
            figures.cached += block.size;
        }
        if self.keeping.is_some() {
            match uses.is_empty() {
                true => self.keep(block, &self.family.first),
                false => self.retire(uses, Fate::Keep(block)),
            }
            self.evict();
        } else {
            uses.push(block.home.clone());
            self.retire(uses, Fate::Release(block));
        }
    }

    /// The same for memory of somebody else, which no queue has as its own. He is told when it is not used any more.
    pub fn give_back(&self, block: BlockId, bytes: u64, uses: Vec<Arc<Queue>>, told: Box<dyn FnOnce() + Send>) {
        self.lock().figures.forget(bytes);
        self.retire(uses, Fate::Return(block, told));
    }

    /// Something happens when the work of some queues is done.
    fn retire(&self, queues: Vec<Arc<Queue>>, fate: Fate) {
        // It lives: it is asked.
        if let Some(me) = self.me.upgrade() {
            self.family.retire(queues, &self.driver, &me, fate);
        }
        self.family.settle();
    }

    /// A block is free behind the work of its queue.
    pub fn keep(&self, mut block: Block, first: &Arc<Queue>) {
        let state = &mut *self.lock();
        // Nobody asks for what a queue has left that is gone. While its work is not done yet, it is asked for by nobody else either.
        if block.home.is_done() {
            block.home = first.clone();
        }
        state.stamp += 1;
        state.kept += block.size;
        let place = Place { home: block.home.serial, indirect: block.indirect, size: block.size, stamp: state.stamp };
        state.free.insert(place, block);
    }

    /// What a queue has left, whose work is done, is the first queue's.
    pub fn rehome(&self, queue: &Queue, first: &Arc<Queue>) {
        let state = &mut *self.lock();
        let left: Vec<Place> = state.free.keys().filter(|place| place.home == queue.serial).copied().collect();
        for place in left {
            if let Some(block) = state.free.remove(&place) {
                let block = Block { home: first.clone(), ..block };
                state.free.insert(Place { home: first.serial, ..place }, block);
            }
        }
    }

    /// A block has gone back to the driver.
    pub fn forget_cached(&self, bytes: u64) {
        self.lock().figures.cached -= bytes;
    }

    /// Lets go of what was given back first, while there is more than is to be kept.
    fn evict(&self) {
        let Some(keeping) = self.keeping else { return };
        loop {
            let oldest = {
                let state = &mut *self.lock();
                // Sizes come and go in turns, and giving a block back waits for the device: what all sizes need at their own time is more than what ever lived at once.
                let most = if keeping.to_peak { keeping.bytes.max(2 * state.figures.peak) } else { keeping.bytes };
                if state.kept <= most {
                    return;
                }
                let oldest = state.free.keys().min_by_key(|place| place.stamp).copied();
                oldest.and_then(|place| Self::unkept(state, place))
            };
            let Some(block) = oldest else { return };
            self.release(block);
        }
    }

    /// A block that was kept goes back to the driver behind the work of its queue.
    fn release(&self, block: Block) {
        self.lock().figures.cached += block.size;
        self.retire(vec![block.home.clone()], Fate::Release(block));
    }

    /// Gives all that is kept back to the driver, what work still uses when that is done. Says whether there was anything.
    pub fn trim(&self) -> bool {
        let kept: Vec<Block> = {
            let state = &mut *self.lock();
            let places: Vec<Place> = state.free.keys().copied().collect();
            places.into_iter().filter_map(|place| Self::unkept(state, place)).collect()
        };
        let any = !kept.is_empty();
        kept.into_iter().for_each(|block| self.release(block));
        self.family.settle();
        any
    }

    /// The same of all devices that share the memory; waits for work that uses it.
    ///
    /// # Errors
    /// If the device fails.
    fn trim_all(&self) -> Result<bool, Diagnostic> {
        let any = self.family.members().iter().fold(false, |any, member| member.trim() | any);
        Ok(self.family.wait()? | any)
    }
}
