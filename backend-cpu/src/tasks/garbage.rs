//! How cells are given back that nobody owns any more, with all that only they keep, and who uses their memory next.
//!
//! A cell is given back without recursion: those that wait are linked through their counts. Of something large, a thread gives back a part and leaves the rest to threads that
//! have nothing to do or need memory (lazy freeing, after Weizenbaum: *Symmetric List Processor*, CACM 1963). So no thread goes through all of it while others wait.
//! What is given back goes into the thread's own lists; many cells at once, of which other threads may have made some, go to whoever needs some next.
//!
//! Invariant: while there is garbage, all threads change counts as if others had the same cells, for whoever gives garbage back does so.

use super::context::FreeList;
use super::heap::{Cells, LINK};
use girih_ir::heap::{CELL, NO_REUSE_TOKEN, tag};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many cells of a size go to others together.
pub(super) const LOAD: u32 = 4096;
/// How many cells are given back at once, of those that one dropped cell kept.
pub(super) const AT_ONCE: u64 = 4096;
/// The same for a thread whose cells no other thread has: if others gave some back, it would have to count by atomic operations.
const ALONE: u64 = 1 << 16;
/// How many a thread gives back that has nothing to do, or that needs memory, before it looks for something else.
const BETWEEN: u64 = 1024;
/// How many dead cells a thread looks at when it needs memory, before it takes some that nobody has used.
const TRIES: usize = 8;
/// Cells of fewer units go to others.
pub(super) const CARRIED: usize = 8;

/// Dead cells: nobody owns them, and what only they keep was not given back yet. Who drops something large gives back some of it and leaves the rest
/// here, for threads that have nothing to do and those that need memory. So no thread goes through all of it while others wait.
#[derive(Default)]
pub(super) struct Garbage {
    /// Whether it is used: what other threads give back is theirs, which a small heap cannot afford.
    is_shared: bool,
    cells: Mutex<Vec<u32>>,
    /// Cells that are there, or that a thread is giving back.
    count: AtomicUsize,
}

impl Garbage {
    pub fn new(is_shared: bool) -> Garbage {
        Garbage { is_shared, ..Garbage::default() }
    }
    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn pop(&self) -> Option<u32> {
        if self.is_gone() { None } else { self.lock().pop() }
    }
    fn is_gone(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

/// Cells of a size that were given back one after another, and stand first in the list of free ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    count: u32,
    /// The one that was first, and stands behind the others.
    last: u32,
}

/// Cells that are given back one after another and go to others, by size.
pub(super) type Loads = [Load; CARRIED];

#[allow(unsafe_code)]
impl Cells<'_> {
    /// Gives a cell back that nobody owns any more, with all that only it keeps.
    ///
    /// # Safety
    /// The word names a cell that nobody owns any more, and no other thread has.
    pub unsafe fn give_back(&self, word: u32) -> u64 {
        let most = if self.together { AT_ONCE } else { ALONE };
        // SAFETY: as of the caller.
        unsafe { self.give_some_back(word, most, &mut Loads::default()) }
    }

    /// Gives a cell back that nobody owns any more, with all that only it keeps; of that, no more than so many cells if other threads can give back the rest.
    ///
    /// # Safety
    /// As of [`give_back`](Self::give_back). What the loads count was given back one after another, and nothing was taken since.
    pub(super) unsafe fn give_some_back(&self, word: u32, most: u64, loads: &mut Loads) -> u64 {
        let mut freed = 0;
        let (carries, shares) = (self.heap.has_loads(), self.heap.garbage.is_shared);
        let mut waiting = NO_REUSE_TOKEN;
        let mut current = word;
        loop {
            // SAFETY: nobody owns `current` and those that wait, so that they are this thread's alone; their fields own what they name.
            unsafe {
                let shape = &self.heap.shapes[self.layout(current)];
                for field in &shape.terms {
                    let word = self.field(current, *field);
                    let dead = if tag(word) == CELL { self.lose(word) } else { None };
                    if let Some(dead) = dead {
                        self.at(dead, 0).write(waiting);
                        waiting = dead;
                    }
                }
                self.release_memory(current, shape.units);
                freed += 1;
                if let (true, Some(load)) = (carries, loads.get_mut(shape.units as usize)) {
                    self.load(current, shape.units, load);
                }
                if waiting == NO_REUSE_TOKEN {
                    return freed;
                }
                if shares && freed >= most {
                    self.leave(waiting);
                    return freed;
                }
                current = waiting;
                waiting = self.at(current, 0).read();
            }
        }
    }

    /// Leaves dead cells, linked through their counts, to whoever gives them back.
    ///
    /// # Safety
    /// Nobody owns them, and no other thread has them.
    unsafe fn leave(&self, first: u32) {
        let garbage = &self.heap.garbage;
        let (mut cells, mut word) = (garbage.lock(), first);
        let before = cells.len();
        while word != NO_REUSE_TOKEN {
            cells.push(word);
            // SAFETY: the cell is this thread's until the lock is given back.
            word = unsafe { self.at(word, 0).read() };
        }
        garbage.count.fetch_add(cells.len() - before, Ordering::AcqRel);
        // SAFETY: it is this thread's. Whoever gives the cells back changes counts of others that they lead to.
        unsafe { self.is_together.write(1) };
    }

    /// Gives some dead cells back that a thread has left. False if there are none.
    ///
    /// # Safety
    /// The cells' context is the calling thread's. What the loads count was given back one after another, and nothing was taken since.
    pub unsafe fn clear(&self, loads: &mut Loads) -> bool {
        let Some(dead) = self.heap.garbage.pop() else { return false };
        // Other threads may give back what leads to the same cells.
        let this = self.beside_others();
        // SAFETY: nobody owns the cell, and who pops it has it alone.
        unsafe {
            (*this.counts).freed += this.give_some_back(dead, BETWEEN, loads);
            // Who has nothing to do keeps no notes.
            this.settle_into(loads);
        }
        self.heap.garbage.count.fetch_sub(1, Ordering::AcqRel);
        true
    }

    /// Free cells of so many units among what dead ones kept.
    ///
    /// # Safety
    /// As of [`take`](Self::take), and no cell of that size is free.
    pub(super) unsafe fn recycle(&self, units: u32) -> Option<FreeList> {
        // SAFETY: as in `take`.
        unsafe {
            let list = self.free.add(units as usize);
            for _ in 0..TRIES {
                if !self.clear(&mut Loads::default()) {
                    return None;
                }
                if *list != NO_REUSE_TOKEN {
                    return Some(*list);
                }
            }
            None
        }
    }

    /// Gives all dead cells back, and waits for threads that are about to.
    ///
    /// # Safety
    /// As of [`clear`](Self::clear).
    pub unsafe fn clear_all(&self) {
        while !self.are_clear() {
            // SAFETY: as of the caller.
            unsafe { self.clear(&mut Loads::default()) };
            std::hint::spin_loop();
        }
    }

    /// Whether no dead cells wait to be given back.
    pub fn are_clear(&self) -> bool {
        self.heap.garbage.is_gone()
    }

    /// Counts a cell of so many units that has just been given back. When there are enough of them, they go to whoever needs some next.
    ///
    /// # Safety
    /// The cell was the last one to be given back to the list of this size, and all that the load counts stand there behind it.
    unsafe fn load(&self, word: u32, units: u32, load: &mut Load) {
        if load.count == 0 {
            load.last = word;
        }
        load.count += 1;
        if load.count < LOAD {
            return;
        }
        load.count = 0;
        let Some(mut loads) = self.heap.loads(units) else { return };
        // SAFETY: as in `take`. From the first of the list to the last of the load stands what was given back since that was.
        unsafe {
            let (list, link) = (self.free.add(units as usize), self.at(load.last, LINK));
            loads.push(*list);
            *list = link.read();
            link.write(NO_REUSE_TOKEN);
        }
    }
}
