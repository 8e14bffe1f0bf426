//! Page-locked memory of the host, which the card reads and writes by itself, and what is kept of it for the next time.
//!
//! Locking memory takes the host longer than most copies through it, and unlocking waits for the card. Invariant: what submits work never
//! unlocks memory. What is too much is unlocked by whoever waits for the card anyway ([`Pool::trim`]).

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::{Context, Event};
use super::driver::check;
use cudarc::driver::sys;
use girih_base::diag::Diagnostic;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a room at least.
pub(super) const LEAST: usize = 64 << 10;
/// Bytes of free rooms that stay when someone trims.
const KEPT: usize = 64 << 20;
/// Bytes of the rooms that words are cut from.
const PAGE: usize = 4096;

/// Page-locked memory, and an event for the last copy through it.
#[derive(Debug)]
pub(super) struct Room {
    memory: *mut u8,
    bytes: usize,
    pub done: Arc<Event>,
    context: Arc<Context>,
}

// SAFETY: the memory is this value's own, and is page-locked for the whole process.
unsafe impl Send for Room {}
// SAFETY: as above; a shared one only gives its address.
unsafe impl Sync for Room {}

impl Room {
    /// The context is current.
    fn new(context: &Arc<Context>, bytes: usize) -> Result<Room, Diagnostic> {
        let done = Arc::new(Event::new(context, false)?);
        let mut memory: *mut c_void = std::ptr::null_mut();
        // SAFETY: the context is current; the driver writes one address.
        check(unsafe { sys::cuMemHostAlloc(&mut memory, bytes, 0) }, "lock memory of the host")?;
        Ok(Room { memory: memory.cast(), bytes, done, context: context.clone() })
    }

    /// The first byte.
    pub fn address(&self) -> *mut u8 {
        self.memory
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own; the driver waits for copies that use it. Errors have nobody to go to.
        self.context.free(|| _ = unsafe { sys::cuMemFreeHost(self.memory.cast()) });
    }
}

/// A word of page-locked memory, which goes back to its pool.
#[derive(Debug)]
pub(super) struct Word {
    at: *mut u32,
    pool: Arc<Pool>,
}

// SAFETY: the word is this value's own, and is page-locked for the whole process.
unsafe impl Send for Word {}
// SAFETY: as above; a shared one is only read.
unsafe impl Sync for Word {}

impl Word {
    /// Where it is.
    pub fn address(&self) -> *mut u32 {
        self.at
    }

    /// What is in it. The copy into it is done.
    pub fn read(&self) -> u32 {
        // SAFETY: the pool keeps the page, and nothing writes the word any more. The card has written it, which the compiler does not know.
        unsafe { self.at.read_volatile() }
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        self.pool.lock().words.push(Address(self.at));
    }
}

/// A free word.
#[derive(Debug)]
struct Address(*mut u32);

// SAFETY: an address, which nobody uses before it is a `Word`.
unsafe impl Send for Address {}

#[derive(Debug, Default)]
struct Free {
    /// Rooms that no copy uses, by their size.
    rooms: BTreeMap<usize, Vec<Room>>,
    /// Bytes of these.
    bytes: usize,
    /// Rooms that a copy may still use.
    late: Vec<(Room, Arc<Event>)>,
    words: Vec<Address>,
    /// What words are cut from.
    pages: Vec<Room>,
}

impl Free {
    fn keep(&mut self, room: Room) {
        self.bytes += room.bytes;
        self.rooms.entry(room.bytes).or_default().push(room);
    }

    /// The smallest of at least so many bytes that is not much larger.
    fn take(&mut self, bytes: usize) -> Option<Room> {
        let fits = self.rooms.range_mut(bytes..=bytes + bytes / 4);
        let room = fits.filter_map(|(_, rooms)| rooms.pop()).next()?;
        self.bytes -= room.bytes;
        Some(room)
    }

    /// Takes back what no copy uses any more.
    fn settle(&mut self) {
        let mut i = 0;
        while i < self.late.len() {
            if self.late[i].1.is_done().unwrap_or(false) {
                let (room, _) = self.late.swap_remove(i);
                self.keep(room);
            } else {
                i += 1;
            }
        }
    }
}

/// Page-locked memory of a device that is not in use.
#[derive(Debug)]
pub(super) struct Pool {
    free: Mutex<Free>,
    context: Arc<Context>,
}

impl Pool {
    /// Without any.
    pub fn new(context: &Arc<Context>) -> Pool {
        Pool { free: Mutex::default(), context: context.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A room for so many bytes, which no copy uses. The context is current.
    ///
    /// # Errors
    /// If the host has no more memory to lock.
    pub fn take(&self, bytes: usize) -> Result<Room, Diagnostic> {
        let bytes = rounded(bytes);
        let found = {
            let free = &mut *self.lock();
            free.settle();
            free.take(bytes)
        };
        found.map_or_else(|| Room::new(&self.context, bytes), Ok)
    }

    /// Takes a room back that no copy uses.
    pub fn give(&self, room: Room) {
        self.lock().keep(room);
    }

    /// Takes a room back that a copy may use until an event is reached.
    pub fn give_after(&self, room: Room, done: Arc<Event>) {
        self.lock().late.push((room, done));
    }

    /// A word. The context is current.
    ///
    /// # Errors
    /// If the host has no more memory to lock.
    pub fn word(self: &Arc<Pool>) -> Result<Word, Diagnostic> {
        let mut free = self.lock();
        if free.words.is_empty() {
            let page = Room::new(&self.context, PAGE)?;
            // SAFETY: all these words lie inside of the page, which is aligned for them.
            free.words.extend((0..PAGE / 4).map(|i| Address(unsafe { page.memory.cast::<u32>().add(i) })));
            free.pages.push(page);
        }
        let Some(Address(at)) = free.words.pop() else { unreachable!("a page has words") };
        Ok(Word { at, pool: self.clone() })
    }

    /// Unlocks what is more than is to be kept, the largest rooms first. The driver may wait for all work. The context is current.
    pub fn trim(&self) {
        let mut gone = vec![];
        {
            let free = &mut *self.lock();
            while free.bytes > KEPT
                && let Some(mut rooms) = free.rooms.last_entry()
            {
                if let Some(room) = rooms.get_mut().pop() {
                    free.bytes -= room.bytes;
                    gone.push(room);
                } else {
                    rooms.remove();
                }
            }
        }
        // Nobody needs the lock while the driver waits.
        drop(gone);
    }
}

/// The size of a room for so many bytes: few sizes for small rooms, little waste for large ones.
fn rounded(bytes: usize) -> usize {
    let bytes = bytes.max(LEAST);
    if bytes <= 1 << 20 { bytes.next_power_of_two() } else { bytes.next_multiple_of((bytes / 8).next_power_of_two()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_have_few_sizes_and_waste_little() {
        assert_eq!([1, LEAST, LEAST + 1, 1 << 20].map(rounded), [LEAST, LEAST, 2 * LEAST, 1 << 20]);
        for bytes in [(1 << 20) + 1, 100 << 20, (1 << 30) + 5] {
            let room = rounded(bytes);
            assert!(room >= bytes && room <= bytes + bytes / 4 && rounded(room) <= room + room / 4, "{bytes}: {room}");
        }
    }
}
