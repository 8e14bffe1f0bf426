//! What the threads of a run share.

use super::context::Context;
use super::heap::Heap;
use super::profile::Profiler;
use super::work_stealing::{Batch, Record};
use girih_ir::heap::NO_REUSE_TOKEN;
use girih_runtime::Fault;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The queue of tasks.
#[derive(Default)]
pub(super) struct Queue {
    tasks: Mutex<VecDeque<Batch>>,
    /// How many entries it has; may be looked at without the lock.
    length: AtomicUsize,
    /// How many threads share the tasks.
    threads: usize,
    /// Threads that sleep and have nothing to do.
    idle: Sleepers,
    /// Threads that sleep and wait for a task of theirs to be done.
    joining: Sleepers,
}

/// Of tasks that stand together a thread takes this part of what would be its share (guided self-scheduling: Polychronopoulos and Kuck 1987).
const PART: usize = 4;

/// Threads that sleep for the same reason.
#[derive(Default)]
struct Sleepers {
    count: AtomicUsize,
    changed: Condvar,
}

impl Sleepers {
    fn are_there(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }
}

/// Why a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// It has nothing to do.
    Idle,
    /// A task of its own is not done.
    Joining,
}

impl Queue {
    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Batch>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn note(&self, tasks: &VecDeque<Batch>) {
        self.length.store(tasks.len(), Ordering::Relaxed);
    }

    /// A queue for so many threads.
    pub fn new(threads: usize) -> Queue {
        Queue { threads: threads.max(1), ..Queue::default() }
    }

    /// Adds tasks, and wakes a thread for them, or all of those that have nothing to do if there are many.
    pub fn push(&self, new: Batch) {
        let mut tasks = self.lock();
        tasks.push_back(new);
        self.note(&tasks);
        drop(tasks);
        if let Some(sleepers) = [&self.idle, &self.joining].into_iter().find(|sleepers| sleepers.are_there()) {
            match new.count() {
                1 => sleepers.changed.notify_one(),
                _several => sleepers.changed.notify_all(),
            }
        }
    }
    fn pop(&self) -> Option<Batch> {
        self.take(&mut self.lock())
    }
    /// The next tasks: of many that stand together, a thread's part.
    fn take(&self, tasks: &mut VecDeque<Batch>) -> Option<Batch> {
        let first = tasks.pop_front()?;
        let (taken, left) = first.split((first.count() / (PART * self.threads)).max(1));
        if left.count() > 0 {
            tasks.push_front(left);
        }
        self.note(tasks);
        Some(taken)
    }
    /// Takes tasks out that nobody has begun: the one at this place in its thread's list, which is the youngest of that thread, and half of those that
    /// stand together with it. How many.
    pub fn remove(&self, place: *mut *mut Record) -> usize {
        let mut tasks = self.lock();
        let Some(position) = tasks.iter().rposition(|tasks| tasks.ends_at(place)) else { return 0 };
        let (left, taken) = tasks[position].split(tasks[position].count() / 2);
        if left.count() > 0 {
            tasks[position] = left;
        } else {
            tasks.remove(position);
        }
        self.note(&tasks);
        taken.count()
    }
    /// Tasks, if there seem to be some.
    pub fn look(&self) -> Option<Batch> {
        if self.length.load(Ordering::Relaxed) > 0 { self.pop() } else { None }
    }
    /// Sleeps until there are tasks, something has happened, or the time is over.
    pub fn wait(&self, why: Sleep, time: Duration, happened: impl Fn() -> bool) -> Option<Batch> {
        let sleepers = match why {
            Sleep::Idle => &self.idle,
            Sleep::Joining => &self.joining,
        };
        let mut tasks = self.lock();
        sleepers.count.fetch_add(1, Ordering::SeqCst);
        if tasks.is_empty() && !happened() {
            tasks = sleepers.changed.wait_timeout(tasks, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        sleepers.count.fetch_sub(1, Ordering::SeqCst);
        self.take(&mut tasks)
    }
    /// A task is done: who waits for one looks whether it is theirs.
    pub fn wake_joining(&self) {
        self.wake_all(&self.joining);
    }
    /// Something has happened that concerns all.
    pub fn wake(&self) {
        self.wake_all(&self.idle);
        self.wake_all(&self.joining);
    }
    fn wake_all(&self, sleepers: &Sleepers) {
        if sleepers.are_there() {
            // Whoever has looked and does not sleep yet holds the lock.
            drop(self.lock());
            sleepers.changed.notify_all();
        }
    }
}

/// A pointer to a thread's context, for its atomics.
#[derive(Clone, Copy)]
pub(super) struct Handle(pub *mut Context);

// SAFETY: other threads touch a context's atomics only.
#[allow(unsafe_code)]
unsafe impl Send for Handle {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Handle {}

/// Makes a thread look whether there is something to do.
#[allow(unsafe_code)]
fn alarm(context: *mut Context) {
    // SAFETY: contexts live as long as what the threads share, and these are atomics.
    let (limit, opening) = unsafe { (&(*context).limit, &(*context).opening) };
    limit.store(usize::MAX, Ordering::SeqCst);
    opening.store(usize::MAX, Ordering::SeqCst);
}

/// How many threads one asks at a time. If all asked all, none would get to its work.
const ASKED: usize = 2;

/// A thread's bit.
fn bit(number: usize) -> u64 {
    1u64.checked_shl(number as u32).unwrap_or(0)
}

/// What the threads share.
pub(super) struct Shared {
    pub heap: Heap,
    pub queue: Queue,
    /// Bytes that a stack may have.
    pub stack: u64,
    /// Set by others to end the run.
    pub interrupt: Option<Arc<AtomicBool>>,
    globals: Box<[AtomicU32]>,
    contexts: OnceLock<Vec<Handle>>,
    /// Which threads have nothing to do, a bit each; those beyond the bits always may have something.
    idle: AtomicU64,
    /// Who is asked next.
    turn: AtomicUsize,
    ending: AtomicBool,
    fault: Mutex<Option<Fault>>,
    /// Who finds out where time and memory go, if somebody does.
    pub profiler: Option<Box<Profiler>>,
}

impl Shared {
    pub fn new(heap: Heap, globals: usize, stack: u64, threads: usize, interrupt: Option<Arc<AtomicBool>>) -> Shared {
        Shared {
            heap,
            queue: Queue::new(threads),
            stack,
            interrupt,
            globals: (0..globals).map(|_| AtomicU32::new(NO_REUSE_TOKEN)).collect(),
            contexts: OnceLock::new(),
            idle: AtomicU64::new(0),
            turn: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
            fault: Mutex::new(None),
            profiler: None,
        }
    }

    /// The same with somebody who finds out where time and memory go.
    pub fn with_profiler(self, profiler: Option<Box<Profiler>>) -> Shared {
        Shared { profiler, ..self }
    }

    /// Where the words of the globals stand.
    pub fn globals(&self) -> *mut u32 {
        self.globals.as_ptr().cast_mut().cast()
    }
    pub fn global(&self, number: u32) -> &AtomicU32 {
        &self.globals[number as usize]
    }

    /// Says once which threads there are. The contexts live as long as anybody uses this.
    pub fn threads(&self, contexts: Vec<Handle>) {
        // It is said once, when they are made.
        let _ = self.contexts.set(contexts);
    }
    fn contexts(&self) -> &[Handle] {
        self.contexts.get().map_or(&[], Vec::as_slice)
    }

    /// Asks some of the other threads for a task: others the next time, and none that has nothing to do itself.
    #[allow(unsafe_code)]
    pub fn ask(&self, number: usize) {
        let contexts = self.contexts();
        let idle = self.idle.load(Ordering::Relaxed);
        let first = self.turn.fetch_add(ASKED, Ordering::Relaxed);
        let others = (0..contexts.len()).map(|i| (first + i) % contexts.len());
        for i in others.filter(|i| *i != number && idle & bit(*i) == 0).take(ASKED) {
            let context = contexts[i].0;
            // SAFETY: contexts live as long as this, and this is an atomic.
            let hungry = unsafe { &(*context).hungry };
            // Who has been asked gives what it forks next.
            if hungry.swap(1, Ordering::SeqCst) == 0 {
                alarm(context);
            }
        }
    }

    /// Notes whether a thread has nothing to do.
    pub fn note_idle(&self, number: usize, is_idle: bool) {
        match is_idle {
            true => self.idle.fetch_or(bit(number), Ordering::Relaxed),
            false => self.idle.fetch_and(!bit(number), Ordering::Relaxed),
        };
    }

    /// Makes all threads look whether there is something to do.
    #[allow(unsafe_code)]
    pub fn alarm(&self) {
        for context in self.contexts() {
            alarm(context.0);
        }
        self.queue.wake();
    }

    /// Ends the run; the first fault counts.
    pub fn end(&self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        }
        self.ending.store(true, Ordering::SeqCst);
        self.alarm();
    }
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }
    pub fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
