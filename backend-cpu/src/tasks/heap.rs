//! Cells in one reserved range of addresses: a header of 8 bytes (count, layout), then the fields, 4 bytes each, in units of 8 bytes.
//!
//! Each thread has lists of free cells by size. An empty list is filled with a few that nobody has used yet; those that one of several
//! threads takes one after another stand together, for processors read memory ahead. How cells are given back says [`garbage`](super::garbage).
//!
//! Invariant: a reuse token has the count 1 and the layout that it had as a cell.

use super::context::{Context, Counts, FreeList};
use super::deferred::{FEW, Note, Notes};
use super::garbage::{AT_ONCE, CARRIED, Garbage, LOAD, Loads};
use super::virtual_memory::Reserved;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::Type;
use girih_ir::heap::{CELL, Layout, LayoutId, NO_REUSE_TOKEN, host_units, tag};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a unit.
pub(super) const UNIT: u64 = 8;
/// How many units words can name.
const MOST_UNITS: u64 = 1 << 29;
/// Units that a list is filled with.
const CHUNK: u64 = 512;

/// Units that one of several threads takes at once: those of a large page, so that it goes on in one place for long and two threads seldom
/// touch one page first, which the system would clear for both.
const REGION: u64 = 1 << 18;
/// What part of all memory the threads may have taken in this way.
const REGIONS_PART: u64 = 32;

/// Where the layout stands in a cell.
pub(super) const LAYOUT: i32 = 4;
/// Where the first field stands.
pub(super) const FIELDS: i32 = 8;
/// Where a free cell has the word of the next.
pub(super) const LINK: i32 = 4;

/// What is known of a layout.
#[derive(Clone, Debug)]
pub(super) struct CellShape {
    /// Units of a cell.
    pub units: u32,
    /// Which fields are words.
    pub terms: Vec<u32>,
    /// How many fields.
    pub fields: u32,
}

/// The memory of all cells.
pub(super) struct Heap {
    memory: Reserved,
    /// Units that may be used.
    limit: u64,
    /// Units that have been.
    used: AtomicU64,
    /// Units that a thread takes at once.
    region: u64,
    /// Lists of [`LOAD`] free cells that any thread may take, by size; none if there is one thread.
    loads: Vec<Mutex<Vec<FreeList>>>,
    /// Dead cells that wait to be given back.
    pub garbage: Garbage,
    pub shapes: IndexVec<LayoutId, CellShape>,
    /// Each n-th cell fails.
    pub fail_each: Option<u64>,
    taken: AtomicU64,
}

impl Heap {
    /// Reserves the addresses.
    pub fn new(
        layouts: &IndexVec<LayoutId, Layout>,
        bytes: u64,
        fail_each: Option<u64>,
        threads: usize,
    ) -> Result<Heap, Diagnostic> {
        let limit = (bytes / UNIT).min(MOST_UNITS - 1);
        let length = ((limit + 1) * UNIT) as usize;
        let memory = Reserved::for_cells(length).map_err(|error| {
            let message = format!("the system reserves no {} MiB for cells: {error}", length >> 20);
            Diagnostic::new(Code::OutOfMemory, Span::NONE, message).hint("allow less with `--memory`")
        })?;
        let shape = |layout: &Layout| CellShape {
            units: host_units(layout.fields.len()),
            terms: (0..).zip(&layout.fields).filter(|(_, ty)| **ty == Type::Term).map(|(i, _)| i).collect(),
            fields: layout.fields.len() as u32,
        };
        let region = if threads > 1 { REGION.min(limit / REGIONS_PART / threads as u64) } else { 0 };
        Ok(Heap {
            memory,
            limit,
            used: AtomicU64::new(0),
            region,
            garbage: Garbage::new(region >= u64::from(LOAD)),
            loads: if threads > 1 { (0..CARRIED).map(|_| Mutex::default()).collect() } else { vec![] },
            shapes: layouts.iter().map(shape).collect(),
            fail_each,
            taken: AtomicU64::new(0),
        })
    }

    /// The address that added to a cell's word gives its header's. Unit 0 is nobody's.
    pub fn base(&self) -> *mut u8 {
        self.memory.start().wrapping_sub(CELL as usize)
    }
    /// Units of the largest cell.
    pub fn most_units(&self) -> u32 {
        self.shapes.iter().map(|shape| shape.units).max().unwrap_or(1)
    }
    /// Bytes that may be used.
    pub fn limit(&self) -> u64 {
        self.limit * UNIT
    }
    /// Bytes that have been used at most.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed) * UNIT
    }

    /// Whether a word may name a cell of this heap.
    pub fn is_inside(&self, word: u32) -> bool {
        let place = u64::from(word) / UNIT;
        tag(word) == CELL && place > 0 && place <= self.used.load(Ordering::Relaxed)
    }

    /// Lists of free cells that any thread may take. Nothing panics while they are locked.
    pub(super) fn loads(&self, units: u32) -> Option<MutexGuard<'_, Vec<FreeList>>> {
        Some(self.loads.get(units as usize)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
    /// Whether there are such lists.
    pub fn has_loads(&self) -> bool {
        !self.loads.is_empty()
    }
    /// Units of the free cells that any thread may take.
    pub fn loaded(&self) -> u64 {
        let cells = |units: u32| u64::from(LOAD) * self.loads(units).map_or(0, |loads| loads.len() as u64);
        (0..CARRIED as u32).map(|units| u64::from(units) * cells(units)).sum()
    }

    /// Whether the next cell is one of those that fail.
    fn fails(&self) -> bool {
        self.fail_each.is_some_and(|n| n > 0 && (self.taken.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(n))
    }

    /// The first of so many units that nobody has used, if that many are left.
    fn more(&self, units: u64) -> Option<u64> {
        let take = |used: u64| (used + units <= self.limit).then_some(used + units);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok().map(|used| used + 1)
    }
}

/// Units that nobody has used and that one thread may use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Region {
    next: u64,
    end: u64,
}

impl Region {
    fn new(first: u64, units: u64) -> Region {
        Region { next: first, end: first + units }
    }
    /// How many there are.
    pub fn units(&self) -> u64 {
        self.end - self.next
    }
    /// The first of so many, which there are.
    fn take(&mut self, units: u64) -> u64 {
        let first = self.next;
        self.next += units;
        first
    }
}

/// Cells as code sees them. Callers see to it that words name cells, and that nobody else has what they change.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) heap: &'a Heap,
    base: *mut u8,
    pub(super) free: *mut FreeList,
    region: *mut Region,
    deferred: *mut Notes,
    pub(super) counts: *mut Counts,
    /// Whether other threads may have the same cells.
    pub(super) together: bool,
    /// The same, for the thread's code.
    pub(super) is_together: *mut u32,
}

#[allow(unsafe_code)]
impl<'a> Cells<'a> {
    /// The cells as the thread of a context has them.
    ///
    /// # Safety
    /// The context is alive, that of the calling thread, and has this heap's lists.
    pub unsafe fn new(heap: &'a Heap, context: *mut Context) -> Cells<'a> {
        let free = context.wrapping_byte_add(super::context::free(0) as usize).cast();
        // SAFETY: the context is alive.
        let (together, region) = unsafe { ((*context).together != 0, &raw mut (*context).region) };
        // SAFETY: as above.
        let (deferred, counts) = unsafe { (&raw mut (*context).deferred, &raw mut (*context).counts) };
        // SAFETY: as above.
        let is_together = unsafe { &raw mut (*context).together };
        Cells { heap, base: heap.base(), free, region, deferred, counts, together, is_together }
    }
    /// The same, where other threads may have the same cells.
    pub(super) fn beside_others(self) -> Cells<'a> {
        Cells { together: true, ..self }
    }

    pub(super) fn at(&self, word: u32, offset: i32) -> *mut u32 {
        self.base.wrapping_add(word as usize + offset as usize).cast()
    }

    /// A cell's count.
    ///
    /// # Safety
    /// The word names a cell.
    pub unsafe fn count(&self, word: u32) -> &'a AtomicU32 {
        // SAFETY: the word names a cell, which is in the heap's memory; counts are touched as atomics or by one thread alone.
        unsafe { AtomicU32::from_ptr(self.at(word, 0)) }
    }
    /// # Safety
    /// The word names a cell or a reuse token.
    pub unsafe fn layout(&self, word: u32) -> LayoutId {
        // SAFETY: the word names a cell.
        LayoutId::new(unsafe { self.at(word, LAYOUT).read() })
    }
    /// # Safety
    /// The word names a cell that has this field, and nobody writes it meanwhile.
    pub unsafe fn field(&self, word: u32, field: u32) -> u32 {
        // SAFETY: the word names a cell with this field.
        unsafe { self.at(word, FIELDS + 4 * field as i32).read() }
    }
    /// # Safety
    /// The word names a cell that has this field, and nobody else has the cell.
    pub unsafe fn set_field(&self, word: u32, field: u32, value: u32) {
        // SAFETY: the word names a cell with this field, which nobody else has.
        unsafe { self.at(word, FIELDS + 4 * field as i32).write(value) }
    }

    /// Makes memory that is this thread's a cell with one owner, whose fields are not set.
    ///
    /// # Safety
    /// The word names memory of this thread that has room for a cell of the layout.
    pub unsafe fn set_header(&self, word: u32, layout: LayoutId) {
        // SAFETY: the memory is large enough.
        unsafe {
            self.at(word, 0).write(1);
            self.at(word, LAYOUT).write(layout.index() as u32);
        }
    }

    /// Memory for a cell of so many units, or none. Count and layout are not set.
    ///
    /// # Safety
    /// There is a list for cells of so many units.
    pub unsafe fn take(&self, units: u32) -> Option<u32> {
        if self.heap.fails() {
            return None;
        }
        // SAFETY: there is a list for each size, and free cells are in the heap's memory.
        unsafe {
            let list = self.free.add(units as usize);
            if *list == NO_REUSE_TOKEN {
                let load = self.heap.loads(units).and_then(|mut loads| loads.pop());
                *list = load
                    .or_else(|| self.recycle(units))
                    .or_else(|| self.carve(units))
                    .or_else(|| self.split(units))
                    .or_else(|| self.last(units))?;
            }
            let word = *list;
            *list = self.at(word, LINK).read();
            Some(word)
        }
    }

    /// New cells of so many units, linked.
    ///
    /// # Safety
    /// As of [`take`](Self::take).
    unsafe fn carve(&self, units: u32) -> Option<FreeList> {
        let size = u64::from(units);
        let wanted = (CHUNK / size).max(1);
        // SAFETY: the region is this thread's.
        let region = unsafe { &mut *self.region };
        if region.units() < size {
            let heap = self.heap;
            // The last few are taken one by one.
            let sizes = [heap.region, wanted * size, size].into_iter().filter(|units| *units >= size);
            *region = sizes.into_iter().find_map(|units| Some(Region::new(heap.more(units)?, units)))?;
        }
        let count = wanted.min(region.units() / size);
        let first = region.take(count * size);
        let word = |i: u64| ((first + i * size) << 3) as u32 | CELL;
        for i in 0..count {
            let next = if i + 1 < count { word(i + 1) } else { NO_REUSE_TOKEN };
            // SAFETY: these units are inside of the memory and were given to this thread alone.
            unsafe { self.link(word(i), next) };
        }
        Some(word(0))
    }

    /// # Safety
    /// The word names memory of a cell that is free, and this thread's.
    unsafe fn link(&self, word: u32, next: u32) {
        // SAFETY: the cell is free.
        unsafe {
            self.at(word, 0).write(0);
            self.at(word, LINK).write(next);
        }
    }

    /// A cell of so many units from a larger free one.
    ///
    /// # Safety
    /// As of [`take`](Self::take).
    unsafe fn split(&self, units: u32) -> Option<FreeList> {
        for larger in units + 1..=self.heap.most_units() {
            // SAFETY: as in `take`. Both parts lie in the free cell.
            unsafe {
                let list = self.free.add(larger as usize);
                let word = *list;
                if word != NO_REUSE_TOKEN {
                    *list = self.at(word, LINK).read();
                    self.release_memory(word + (units << 3), larger - units);
                    self.link(word, NO_REUSE_TOKEN);
                    return Some(word);
                }
            }
        }
        None
    }

    /// Cells of so many units that are free once all counts are right and no garbage is left; one of them at least.
    ///
    /// # Safety
    /// As of [`take`](Self::take), and no cell of that size is free.
    unsafe fn last(&self, units: u32) -> Option<FreeList> {
        // SAFETY: as in `take`.
        unsafe {
            self.settle_all();
            self.clear_all();
            let list = *self.free.add(units as usize);
            let load = || self.heap.loads(units).and_then(|mut loads| loads.pop());
            if list == NO_REUSE_TOKEN { load().or_else(|| self.split(units)) } else { Some(list) }
        }
    }

    /// # Safety
    /// The memory has so many units, is this thread's, and no cell's any more. There is a list for cells of that size.
    pub(super) unsafe fn release_memory(&self, word: u32, units: u32) {
        // SAFETY: the memory is this thread's, and nobody's cell.
        unsafe {
            let list = self.free.add(units as usize);
            self.link(word, *list);
            *list = word;
        }
    }

    /// Gives the memory of a cell or reuse token back.
    ///
    /// # Safety
    /// The word names a cell or a reuse token that the caller has alone, and does not use again.
    pub unsafe fn release(&self, word: u32) {
        // SAFETY: the caller owns it alone.
        unsafe { self.release_memory(word, self.heap.shapes[self.layout(word)].units) }
    }

    /// One more owner.
    ///
    /// # Safety
    /// The caller has an ownership of what the word names.
    pub unsafe fn share(&self, word: u32) {
        if tag(word) == CELL {
            // SAFETY: the caller has an ownership.
            unsafe { self.add(word, 1) };
        }
    }

    /// # Safety
    /// The word names a cell that the caller has an ownership of.
    unsafe fn add(&self, word: u32, change: i32) -> u32 {
        // SAFETY: the word names a cell.
        let count = unsafe { self.count(word) };
        if self.together {
            return count.fetch_add(change as u32, Ordering::AcqRel);
        }
        let before = count.load(Ordering::Relaxed);
        count.store(before.wrapping_add(change as u32), Ordering::Relaxed);
        before
    }

    /// One owner less. The cell that nobody owns any more, if there is one: this one, or one whose note had to make room.
    ///
    /// # Safety
    /// The word names a cell that the caller has an ownership of, and gives it up.
    pub(super) unsafe fn lose(&self, word: u32) -> Option<u32> {
        // SAFETY: the caller has an ownership.
        unsafe {
            let owners = self.count(word).load(Ordering::Acquire);
            if self.together && owners > FEW {
                return self.defer(word);
            }
            // A single owner is the caller: nobody else can make it two.
            (owners == 1 || self.add(word, -1) == 1).then_some(word)
        }
    }

    /// One owner less of a cell that has several, later. The cell that nobody owns any more, if there is one.
    ///
    /// # Safety
    /// As of [`lose`](Self::lose).
    unsafe fn defer(&self, word: u32) -> Option<u32> {
        // SAFETY: the notes are this thread's, and what they count are ownerships that it had.
        unsafe {
            let before = (*self.deferred).add(word)?;
            (self.subtract(before) == 0).then_some(before.word)
        }
    }

    /// Subtracts what was noted. How many owners there are now.
    ///
    /// # Safety
    /// The note was this thread's, and is none any more.
    unsafe fn subtract(&self, note: Note) -> u32 {
        // SAFETY: the cell is there as long as its count is not subtracted from.
        unsafe { self.count(note.word).fetch_sub(note.count, Ordering::AcqRel) - note.count }
    }

    /// How many owners a cell has, once what this thread has noted of it is subtracted.
    ///
    /// # Safety
    /// The word names a cell that the caller has an ownership of.
    pub unsafe fn settle(&self, word: u32) -> u32 {
        // SAFETY: the notes are this thread's, and the caller has an ownership that was not noted.
        unsafe {
            match (*self.deferred).remove(word) {
                Some(note) => self.subtract(note),
                None => self.count(word).load(Ordering::Acquire),
            }
        }
    }

    /// Subtracts all that this thread has noted: who goes on with the cells sees which of them have one owner.
    ///
    /// # Safety
    /// The cells' context is the calling thread's.
    pub unsafe fn settle_all(&self) {
        // SAFETY: as of the caller.
        unsafe { self.settle_into(&mut Loads::default()) }
    }

    /// The same; what is given back belongs to what the loads count.
    ///
    /// # Safety
    /// As of [`settle_all`](Self::settle_all) and [`clear`](Self::clear).
    pub(super) unsafe fn settle_into(&self, loads: &mut Loads) {
        // SAFETY: the notes and the counts are this thread's. What is given back may leave new notes.
        unsafe {
            while let Some(note) = (*self.deferred).pop() {
                if self.subtract(note) == 0 {
                    (*self.counts).freed += self.give_some_back(note.word, AT_ONCE, loads);
                }
            }
        }
    }

    /// Notes that there is one owner less of a cell that has several; says how many cells were given back.
    ///
    /// # Safety
    /// As of [`lose`](Self::lose).
    pub unsafe fn drop_later(&self, word: u32) -> u64 {
        // SAFETY: the caller has an ownership.
        unsafe { self.defer(word).map_or(0, |dead| self.give_back(dead)) }
    }

    /// Gives an ownership back, with all that only it keeps; says how many cells were given back.
    ///
    /// # Safety
    /// The caller has an ownership of what the word names, and gives it up.
    pub unsafe fn drop(&self, word: u32) -> u64 {
        // SAFETY: the caller has an ownership.
        let dead = unsafe { if tag(word) == CELL { self.lose(word) } else { None } };
        // SAFETY: nobody owns it any more.
        unsafe { dead.map_or(0, |dead| self.give_back(dead)) }
    }

    /// How many cells of each size are free here.
    ///
    /// # Safety
    /// No thread takes or gives back cells by these lists meanwhile.
    pub unsafe fn free_cells(&self) -> Vec<u64> {
        let length = |units: u32| {
            let mut count = 0;
            // SAFETY: there is a list for each size, of free cells.
            unsafe {
                let mut word = *self.free.add(units as usize);
                while word != NO_REUSE_TOKEN {
                    count += 1;
                    word = self.at(word, LINK).read();
                }
            }
            count
        };
        (0..=self.heap.most_units()).map(length).collect()
    }
}
