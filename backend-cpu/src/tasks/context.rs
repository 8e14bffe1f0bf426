//! What code finds through the pinned register: one context for each thread. Code reads and writes it by the offsets here.
//!
//! Invariant: only its own thread touches a context, but for the three atomics.

use girih_ir::heap::NO_REUSE_TOKEN;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use super::deferred::Notes;
use super::heap::Region;
use super::shared::Shared;
use super::work_stealing::{Heartbeat, Record};
use super::worker::Ground;

/// The free cells of a size: the word of the first, each has the word of the next; [`NO_REUSE_TOKEN`] ends it.
pub(super) type FreeList = u32;

/// What a thread's code works on.
#[repr(C)]
pub(super) struct Context {
    /// Below this address the stack is used up; the highest address if there is something to look at.
    pub limit: AtomicUsize,
    /// The same where closed code begins that has an open version. It stays high until a thread that asks for a task is answered, for code without forks has no answer.
    pub opening: AtomicUsize,
    /// Not 0 if another thread has nothing to do and was not answered.
    pub hungry: AtomicU32,
    /// How many forked calls the current one is within, since the thread has got its task or was asked for one.
    pub level: u32,
    /// Not 0 if other threads may have the cells that this one has.
    pub together: u32,
    /// How many of its forked calls are tasks of others.
    pub away: u32,
    /// One behind the last forked call that has not been joined.
    pub top: *mut *mut Record,
    /// The first that no other thread may take.
    pub bottom: *mut *mut Record,
    /// The global that is being computed.
    pub chain: *mut Computing,
    /// The words of the globals; [`NO_REUSE_TOKEN`] for those that are not there.
    pub globals: *mut u32,
    /// Counts, if the code counts.
    pub counts: Counts,
    /// The real limit of the stack.
    pub stack_end: usize,
    /// Where the stack begins.
    pub stack_start: usize,
    /// How to leave the stack.
    pub ground: *const Ground,
    /// What the threads share; it outlives the context.
    pub shared: *const Shared,
    /// Which thread it is.
    pub number: usize,
    /// Whether it runs a task of another thread.
    pub is_guest: bool,
    /// How often it makes forked calls tasks.
    pub heartbeat: Heartbeat,
    /// Whether its oldest forked call is to become a task.
    pub wants: bool,
    /// Where its time begins.
    pub clock: Instant,
    /// Memory for its cells that nobody has used yet.
    pub region: Region,
    /// What it has not subtracted from counts yet.
    pub deferred: Notes,
    /// Free cells by size in units; as many as the module needs.
    pub free: [FreeList; 0],
}

impl Context {
    /// Sets the limits that code looks at.
    pub fn set_limits(&self, address: usize) {
        self.limit.store(address, Ordering::SeqCst);
        self.opening.store(address, Ordering::SeqCst);
    }
}

/// What has been counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Cells in new memory.
    pub allocated: u64,
    /// Cells in reuse tokens.
    pub reused: u64,
    /// Cells given back.
    pub freed: u64,
    /// Calls that were forked.
    pub forks: u64,
    /// Calls.
    pub calls: u64,
    /// Tasks of other threads that ran here.
    pub steals: u64,
}

/// A global that is being computed; stands in the stack of who computes it.
#[repr(C)]
pub(super) struct Computing {
    /// The one that needs it.
    pub outer: *mut Computing,
    /// Which.
    pub global: u32,
}

pub(super) const LIMIT: i32 = offset_of!(Context, limit) as i32;
pub(super) const OPENING: i32 = offset_of!(Context, opening) as i32;
pub(super) const HUNGRY: i32 = offset_of!(Context, hungry) as i32;
pub(super) const LEVEL: i32 = offset_of!(Context, level) as i32;
pub(super) const TOGETHER: i32 = offset_of!(Context, together) as i32;
pub(super) const TOP: i32 = offset_of!(Context, top) as i32;
pub(super) const BOTTOM: i32 = offset_of!(Context, bottom) as i32;
pub(super) const GLOBALS: i32 = offset_of!(Context, globals) as i32;
pub(super) const ALLOCATED: i32 = (offset_of!(Context, counts) + offset_of!(Counts, allocated)) as i32;
pub(super) const REUSED: i32 = (offset_of!(Context, counts) + offset_of!(Counts, reused)) as i32;
pub(super) const FREED: i32 = (offset_of!(Context, counts) + offset_of!(Counts, freed)) as i32;
pub(super) const FORKS: i32 = (offset_of!(Context, counts) + offset_of!(Counts, forks)) as i32;
pub(super) const CALLS: i32 = (offset_of!(Context, counts) + offset_of!(Counts, calls)) as i32;
pub(super) const DEFERRED: i32 = offset_of!(Context, deferred) as i32;
/// The list of free cells of so many units.
pub(super) const fn free(units: u32) -> i32 {
    offset_of!(Context, free) as i32 + 4 * units as i32
}

/// What two threads do not write to without disturbing each other.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Line([u64; 16]);

/// A context and its memory.
pub(super) struct Owned {
    lines: Box<[Line]>,
    /// The context points to it.
    _shared: Arc<Shared>,
}

impl Owned {
    /// A context whose stack is not there yet.
    #[allow(unsafe_code)]
    pub fn new(shared: Arc<Shared>, number: usize, deque: *mut *mut Record) -> Owned {
        let lists = shared.heap.most_units() as usize + 1;
        let bytes = size_of::<Context>() + lists * size_of::<FreeList>();
        let mut lines = vec![Line([0; 16]); bytes.div_ceil(size_of::<Line>())].into_boxed_slice();
        let context = lines.as_mut_ptr().cast::<Context>();
        let fresh = Context {
            limit: AtomicUsize::new(usize::MAX),
            opening: AtomicUsize::new(usize::MAX),
            hungry: AtomicU32::new(0),
            level: 0,
            together: 0,
            away: 0,
            top: deque,
            bottom: deque,
            chain: std::ptr::null_mut(),
            globals: shared.globals(),
            counts: Counts::default(),
            stack_end: 0,
            stack_start: 0,
            ground: std::ptr::null(),
            shared: Arc::as_ptr(&shared),
            number,
            is_guest: false,
            heartbeat: Heartbeat::FREE,
            wants: false,
            clock: Instant::now(),
            region: Region::default(),
            deferred: Notes::NONE,
            free: [],
        };
        // SAFETY: the lines are large enough for a context with its lists behind it, and aligned for it.
        unsafe {
            context.write(fresh);
            let free = context.byte_add(offset_of!(Context, free)).cast::<FreeList>();
            (0..lists).for_each(|i| free.add(i).write(NO_REUSE_TOKEN));
        }
        Owned { lines, _shared: shared }
    }

    /// Where it lies; it stays there.
    pub fn get(&self) -> *mut Context {
        self.lines.as_ptr().cast_mut().cast()
    }
}
