//! Forked calls. Who forks a call notes it in its own list; it becomes a task of all threads only when one of them has nothing to do, the
//! oldest first, since that is the largest. Who joins it runs it then, if nobody has taken it.
//!
//! Invariant: a thread's forked calls are joined in the reverse of the order in which they were forked; in its list those that were made
//! tasks stand before the others.

use super::context::{Computing, Context};
use super::garbage::Loads;
use super::heap::Cells;
use super::runtime_calls::leave;
use super::shared::{Shared, Sleep};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Runs a function: arguments and results in words of 64 bits.
pub(super) type Entry = unsafe extern "C" fn(*mut Context, *const u64, *mut u64);

/// Nobody has begun it.
const WAITING: u32 = 0;
/// Its results are there.
const DONE: u32 = 1;

/// A forked call. It stands in the stack of who forked it, until it is joined.
#[repr(C)]
pub(super) struct Record {
    /// The function.
    pub entry: Entry,
    /// The globals that are being computed around it; set when it becomes a task.
    chain: *mut Computing,
    state: AtomicU32,
    /// How many nanoseconds it took, once it is done; the most if it took longer.
    took: u32,
    /// Since when a task has been wanted, in nanoseconds of the thread's clock; 0 if nobody has asked since it was forked.
    wanted: u64,
    /// Arguments, later results; as many as the function needs.
    slots: [u64; 0],
}

pub(super) const ENTRY: i32 = std::mem::offset_of!(Record, entry) as i32;
pub(super) const WANTED: i32 = std::mem::offset_of!(Record, wanted) as i32;
pub(super) const SLOTS: i32 = std::mem::offset_of!(Record, slots) as i32;

/// Tasks on their way from one thread to others: forked calls that stand one after another in their thread's list, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    first: *mut *mut Record,
    count: usize,
}

// SAFETY: a record that is a task is touched by one thread at a time: by who takes it until it is done, then by who joins it. The list stays as it is there until then.
#[allow(unsafe_code)]
unsafe impl Send for Batch {}

impl Batch {
    pub fn count(self) -> usize {
        self.count
    }
    /// The oldest of them, so many, and the others.
    pub fn split(self, count: usize) -> (Batch, Batch) {
        let count = count.min(self.count);
        let rest = Batch { first: self.first.wrapping_add(count), count: self.count - count };
        (Batch { count, ..self }, rest)
    }
    /// Whether the youngest stands here.
    pub fn ends_at(self, place: *mut *mut Record) -> bool {
        self.count > 0 && self.first.wrapping_add(self.count - 1) == place
    }
}

/// If a thread has noted so many forked calls that have not been joined, each is a small part of what there is to do: it is within a recursion over a list.
const MANY: usize = 64;
/// How many of them become tasks at once at most.
const MOST: usize = 1 << 10;

/// A task that is shorter than this was not worth the way.
const SHORT: Duration = Duration::from_micros(10);
/// How long a forked call must have been wanted before it becomes a task: its thread has that much to do besides. In a recursion over a list, whose elements are soon done, the forked call is
/// all the rest. Given away, it would leave its thread with nothing.
const AGE: Duration = Duration::from_micros(5);
/// How long to wait at most before asking for another one.
const MOST_PATIENCE: Duration = Duration::from_micros(200);
/// How long to wait before asking for a task when one's own has been taken: it may be over soon.
const GRACE: Duration = Duration::from_micros(5);
/// How long to look for a task before asking others.
const LOOK: Duration = Duration::from_micros(20);
/// How long to pause between two looks.
const PAUSES: u32 = 8;
/// How often to ask before sleeping: waking up takes long.
const LOOKS: u32 = 25;
/// How often to ask at first: a program is about to begin, and threads are no use to a short one that they sleep through.
const FIRST_LOOKS: u32 = 250;
/// How long to sleep before asking again.
const SHORTEST_SLEEP: Duration = Duration::from_micros(500);
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// How long a thread works at least between two calls that it makes tasks, after the first that was short.
const SHORTEST_BEAT: Duration = Duration::from_micros(25);
/// The same after many that were short.
const LONGEST_BEAT: Duration = Duration::from_micros(500);

/// How often a thread makes a call a task. Each costs it some microseconds: at the join it looks for the task, and waits for it. A short task is not worth
/// that, nor is a forked call that is joined while a thread waits for it, so after one the thread works for a while before it makes the next, and longer each time. So it loses a small part of its time, as in heartbeat scheduling (Acar,
/// Charguéraud, Guatto, Rainey, Sieczkowski: Heartbeat Scheduling, PLDI 2018). A long task starts this afresh: where tasks are long, nobody waits for the next beat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat {
    /// When it may make the next one.
    next: Option<Instant>,
    interval: Duration,
}

impl Heartbeat {
    /// Nothing is known of the tasks.
    pub const FREE: Heartbeat = Heartbeat { next: None, interval: Duration::ZERO };

    fn is_early(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() < next)
    }

    /// A task was done by another thread in so much time.
    fn had(&mut self, took: Duration) {
        if took >= SHORT {
            *self = Heartbeat::FREE;
        } else {
            self.interval = (2 * self.interval).clamp(SHORTEST_BEAT, LONGEST_BEAT);
            self.next = Some(Instant::now() + self.interval);
        }
    }
}

/// What comes of being asked for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promotion {
    /// There is one.
    Made,
    /// No forked call waits.
    Nothing,
    /// The oldest forked call is too young: the thread looks again soon.
    Young,
    /// It is too early: whoever needs one asks again.
    Early,
}

/// The oldest call that is not a task becomes one, if there is any. Of many, half do: whoever is hungry would be so again at once (Hendler and Shavit, Non-blocking
/// steal-half work queues, PODC 2002).
///
/// # Safety
/// The context is the calling thread's, and every forked call in its list still stands where it was forked.
#[allow(unsafe_code)]
pub(super) unsafe fn promote(context: *mut Context) -> Promotion {
    // SAFETY: the context is the calling thread's; between `bottom` and `top` stand its records, which live until they are joined.
    unsafe {
        let bottom = (*context).bottom;
        let oldest = if bottom < (*context).top { Some(*bottom) } else { None };
        let wanted = oldest.map_or(0, |record| (*record).wanted);
        // The one that was wanted has been joined.
        if wanted == 0 && std::mem::take(&mut (*context).wants) {
            (*context).heartbeat.had(Duration::ZERO);
        }
        if (*context).heartbeat.is_early() {
            answered(context);
            return Promotion::Early;
        }
        let Some(record) = oldest else { return Promotion::Nothing };
        let pending = (*context).top.offset_from_unsigned(bottom);
        let count = if pending >= MANY { (pending / 2).min(MOST) } else { 1 };
        let now = nanoseconds((*context).clock);
        if wanted == 0 {
            (*record).wanted = now.max(1);
            (*context).wants = true;
        }
        if count == 1 && (wanted == 0 || now.saturating_sub(wanted) < AGE.as_nanos() as u64) {
            (*context).set_limits(usize::MAX);
            return Promotion::Young;
        }
        answered(context);
        (*context).wants = false;
        for i in 0..count {
            let record = *bottom.add(i);
            (*record).chain = chain_at(context, record);
            (*record).state = AtomicU32::new(WAITING);
        }
        (*context).bottom = bottom.add(count);
        (*context).together = 1;
        (*context).away += count as u32;
        (*(*context).shared).queue.push(Batch { first: bottom, count });
        Promotion::Made
    }
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

/// Nobody waits for an answer. Whoever asks from here on raises the limits again.
///
/// # Safety
/// The context is the calling thread's.
#[allow(unsafe_code)]
unsafe fn answered(context: *mut Context) {
    // SAFETY: the context is the calling thread's, and what is shared outlives it.
    unsafe {
        (*context).set_limits((*context).stack_end);
        (*context).hungry.store(0, Ordering::SeqCst);
        // Whoever has ended the run in between has raised the limits for good.
        if (*(*context).shared).is_ending() {
            (*context).set_limits(usize::MAX);
        }
    }
}

/// The globals that were being computed when a call was forked: what stands deeper in this stack came later.
///
/// # Safety
/// The context is the calling thread's, and the record is one of its forked calls that were not joined yet.
#[allow(unsafe_code)]
unsafe fn chain_at(context: *mut Context, record: *mut Record) -> *mut Computing {
    // SAFETY: the chain's members live while they are being computed.
    unsafe {
        let own = (*context).stack_end..(*context).stack_start;
        let mut chain = (*context).chain;
        while !chain.is_null() && own.contains(&chain.addr()) && chain.addr() < record.addr() {
            chain = (*chain).outer;
        }
        chain
    }
}

/// Ends a forked call that has become a task: true if the caller is to run it, false once its results are there.
///
/// # Safety
/// The context is the calling thread's. The record is its youngest forked call, has become a task, and stays where it is until this returns.
#[allow(unsafe_code)]
pub(super) unsafe fn join(context: *mut Context, record: *mut Record) -> bool {
    // SAFETY: the record is the calling thread's youngest.
    unsafe {
        let place = (*context).top;
        (*context).bottom = place;
        let is_done = || (*record).state.load(Ordering::Acquire) == DONE;
        let back = if is_done() { 0 } else { (*(*context).shared).queue.remove(place) };
        let is_ours = back > 0;
        if is_ours {
            // Those before it are forked calls again, which nobody has asked for.
            (*context).bottom = place.sub(back - 1);
            (*context).away -= back as u32 - 1;
        } else {
            // One that is not done has been worth it already.
            let took = if is_done() { Duration::from_nanos((*record).took.into()) } else { SHORT };
            (*context).heartbeat.had(took);
            // Who has taken it with others reads its place in the list when its turn comes.
            let above = place.add(1);
            ((*context).top, (*context).bottom) = (above, above);
            work_until(context, is_done);
            ((*context).top, (*context).bottom) = (place, place);
        }
        (*context).away -= 1;
        alone_again(context);
        is_ours
    }
}

/// If no other thread has cells that this one has any more, their counts need no atomic operations from here on.
///
/// # Safety
/// The context is the calling thread's.
#[allow(unsafe_code)]
pub(super) unsafe fn alone_again(context: *mut Context) {
    // SAFETY: the context is the calling thread's.
    unsafe {
        if (*context).together == 0 || (*context).away != 0 || (*context).is_guest {
            return;
        }
        settle_all(context);
        // Whoever gives dead cells back changes counts, too.
        if cells(context).are_clear() {
            (*context).together = 0;
        }
    }
}

/// Does tasks of others until something has happened; leaves the stack if the run ends before.
///
/// # Safety
/// The context is the calling thread's, which runs on its own stack and holds nothing that has a destructor: the stack may be left.
#[allow(unsafe_code)]
unsafe fn work_until(context: *mut Context, happened: impl Fn() -> bool) {
    // SAFETY: the context is the calling thread's.
    unsafe {
        let shared: &Shared = &*(*context).shared;
        let mut hunger = Hunger::of_waiting();
        while !happened() {
            if shared.is_ending() {
                leave(context);
            }
            if let Some(tasks) = hunger.next(shared, context, &happened) {
                let begun = Instant::now();
                run(context, tasks);
                hunger.had(begun.elapsed());
            }
        }
    }
}

/// How a thread without work behaves.
pub(super) struct Hunger {
    /// Why it has no work.
    why: Sleep,
    /// How often it asks before it sleeps.
    looks: u32,
    /// How long it waits before it asks for a task: the last ones were hardly worth it.
    patience: Duration,
    /// How long it sleeps before it asks again: there seems to be nothing.
    sleep: Duration,
}

impl Hunger {
    /// Of a thread that has just started.
    pub fn new() -> Hunger {
        Hunger { why: Sleep::Idle, looks: FIRST_LOOKS, patience: Duration::ZERO, sleep: Duration::ZERO }
    }
    /// Of a thread whose own forked call has been taken.
    fn of_waiting() -> Hunger {
        Hunger { why: Sleep::Joining, looks: LOOKS, patience: GRACE, sleep: Duration::ZERO }
    }

    /// A task took so long.
    pub fn had(&mut self, took: Duration) {
        self.patience = if took >= SHORT { Duration::ZERO } else { (self.patience * 2).clamp(SHORT, MOST_PATIENCE) };
        self.sleep = Duration::ZERO;
    }

    /// Tasks, or none if something has happened, the run ends, or there was none for a while.
    ///
    /// # Safety
    /// The context is the calling thread's.
    #[allow(unsafe_code)]
    pub unsafe fn next(
        &mut self,
        shared: &Shared,
        context: *mut Context,
        happened: &dyn Fn() -> bool,
    ) -> Option<Batch> {
        // SAFETY: the context is the calling thread's.
        let (number, cells) = unsafe { ((*context).number, Cells::new(&shared.heap, context)) };
        shared.note_idle(number, true);
        let task = self.wait(shared, number, cells, happened);
        shared.note_idle(number, false);
        task
    }

    #[allow(unsafe_code)]
    fn wait(&mut self, shared: &Shared, number: usize, cells: Cells<'_>, happened: &dyn Fn() -> bool) -> Option<Batch> {
        let stops = || happened() || shared.is_ending();
        let mut loads = Loads::default();
        // A task, or that there is to be none any more.
        let mut look_for = |time: Duration| {
            let begun = Instant::now();
            while begun.elapsed() < time {
                if stops() {
                    return Some(None);
                }
                if let Some(tasks) = shared.queue.look() {
                    return Some(Some(tasks));
                }
                // SAFETY: the thread does nothing else with its cells meanwhile.
                if unsafe { cells.clear(&mut loads) } {
                    continue;
                }
                // Processors that share a core with others leave it to those.
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
            None
        };
        if let Some(task) = look_for(self.patience) {
            return task;
        }
        self.patience = Duration::ZERO;
        for _ in 0..std::mem::replace(&mut self.looks, LOOKS) {
            shared.ask(number);
            if let Some(task) = look_for(LOOK) {
                return task;
            }
        }
        self.sleep = (self.sleep * 2).clamp(SHORTEST_SLEEP, LONGEST_SLEEP);
        shared.queue.wait(self.why, self.sleep, stops)
    }
}

/// Runs tasks of another thread, the oldest first.
///
/// # Safety
/// The context is the calling thread's, and the tasks were taken from the queue by this thread, which has not run them yet.
#[allow(unsafe_code)]
pub(super) unsafe fn run(context: *mut Context, tasks: Batch) {
    // SAFETY: a record lives until it is done, and so does its place in its thread's list; whoever has taken tasks from the queue has them alone.
    unsafe {
        let outer = (*context).chain;
        let level = std::mem::replace(&mut (*context).level, 0);
        let together = std::mem::replace(&mut (*context).together, 1);
        let is_guest = std::mem::replace(&mut (*context).is_guest, true);
        (*context).counts.steals += tasks.count as u64;
        let begun = Instant::now();
        for i in 0..tasks.count {
            let record = *tasks.first.add(i);
            let slots = record.byte_add(SLOTS as usize).cast::<u64>();
            (*context).chain = (*record).chain;
            ((*record).entry)(context, slots, slots);
            settle_all(context);
            (*context).level = 0;
            (*context).together = 1;
            // What several tasks took together tells whether they were worth the way.
            (*record).took = begun.elapsed().as_nanos().try_into().unwrap_or(u32::MAX);
            (*record).state.store(DONE, Ordering::Release);
        }
        (*context).chain = outer;
        (*context).level = level;
        (*context).together = together;
        (*context).is_guest = is_guest;
        (*(*context).shared).queue.wake_joining();
    }
}

/// Subtracts from counts what the thread has noted.
///
/// # Safety
/// The context is the calling thread's.
#[allow(unsafe_code)]
unsafe fn settle_all(context: *mut Context) {
    // SAFETY: the context is the calling thread's.
    unsafe { cells(context).settle_all() }
}

/// # Safety
/// The context is the calling thread's, and what it shares with other threads outlives the cells.
#[allow(unsafe_code)]
unsafe fn cells<'a>(context: *mut Context) -> Cells<'a> {
    // SAFETY: the context is the calling thread's, and what is shared outlives it.
    unsafe { Cells::new(&(*(*context).shared).heap, context) }
}

#[cfg(test)]
mod tests {
    use super::super::shared::Queue;
    use super::*;

    /// Batches are told apart by their places alone, which nobody looks at here.
    fn batch(first: usize, count: usize) -> Batch {
        Batch { first: std::ptr::without_provenance_mut(8 * first), count }
    }
    fn place(number: usize) -> *mut *mut Record {
        batch(number, 1).first
    }

    #[test]
    fn a_thread_takes_its_part_of_a_batch_from_the_front() {
        let queue = Queue::new(2);
        queue.push(batch(100, 64));
        queue.push(batch(500, 1));
        assert_eq!(queue.look(), Some(batch(100, 8)));
        assert_eq!(queue.look(), Some(batch(108, 7)));
        let mut left = 49;
        while let Some(taken) = queue.look().filter(|taken| *taken != batch(500, 1)) {
            assert!(taken.count() <= 6, "{taken:?}");
            left -= taken.count();
        }
        assert_eq!((left, queue.look()), (0, None));
    }

    #[test]
    fn who_joins_takes_half_of_a_batch_back() {
        let queue = Queue::new(2);
        queue.push(batch(500, 1));
        queue.push(batch(100, 9));
        // Only the youngest of a thread is joined.
        assert_eq!(queue.remove(place(107)), 0);
        assert_eq!(queue.remove(place(108)), 5);
        assert_eq!(queue.remove(place(103)), 2);
        assert_eq!(queue.look(), Some(batch(500, 1)));
        assert_eq!(queue.remove(place(101)), 1);
        assert_eq!(queue.remove(place(100)), 1);
        assert_eq!((queue.remove(place(100)), queue.look()), (0, None));
    }

    const BRIEF: Duration = Duration::from_nanos(500);

    #[test]
    fn short_tasks_make_beats_longer() {
        let mut heartbeat = Heartbeat::FREE;
        let mut beats = vec![];
        for _ in 0..9 {
            heartbeat.had(BRIEF);
            beats.push(heartbeat.interval.as_micros());
        }
        assert_eq!(beats, [25, 50, 100, 200, 400, 500, 500, 500, 500]);
    }

    #[test]
    fn a_long_task_ends_the_waiting() {
        let mut heartbeat = Heartbeat::FREE;
        (0..5).for_each(|_| heartbeat.had(BRIEF));
        assert!(heartbeat.next.is_some());
        heartbeat.had(SHORT);
        assert!(!heartbeat.is_early());
        heartbeat.had(BRIEF);
        assert_eq!(heartbeat.interval, SHORTEST_BEAT);
    }
}
