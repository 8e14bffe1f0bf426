//! The machine on all cores of the host: workers that give redexes to each other.
//!
//! A worker takes redexes from bags of its own, and gives the older half of them away when others have nothing to do; no lock is on the way of an
//! interaction. A net begins on one worker whose memory is its own, where nothing is atomic, and is shared if there is more to it.
//!
//! Interactions are those of the table, and so are their counts, whatever the threads do.

use super::book::Book;
use super::heap::Heap;
use super::reduce::{Counts, Limits, Machine, Reducer};
use super::rule_matching::{Size, Stop};
use super::rules::Rule;
use super::worker::code::Code;
use super::worker::memory::{Common, Memory, Own, Shared};
use super::worker::{Redex, Worker};
use girih_base::diag::Diagnostic;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Redexes between two looks at whether others have nothing to do.
const SHARE: u32 = 1 << 6;
/// Redexes between two looks at whether to stop.
const LOOK: u32 = 1 << 12;
/// Interactions after which a net is shared.
const ALONE: u64 = 1 << 16;

/// So many cores of the host, which reduce nets.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    threads: NonZeroUsize,
}

impl Cores {
    /// So many.
    pub fn new(threads: NonZeroUsize) -> Cores {
        Cores { threads }
    }
}

impl Reducer for Cores {
    fn reduce(&mut self, machine: &mut Machine<'_>) -> Result<(), Diagnostic> {
        // What is in normal form need not be looked at.
        if machine.is_done() { Ok(()) } else { run(machine, self.threads).map(|_| ()) }
    }
}

/// Reduces the net of a machine on so many threads until nothing is left to be done, and gives it back. Says how often a thread has given
/// redexes away.
///
/// # Errors
/// As [`Machine::run`].
pub fn run(machine: &mut Machine<'_>, threads: NonZeroUsize) -> Result<u64, Diagnostic> {
    let book = machine.book();
    let codes = machine.codes();
    let limits = machine.limits().clone();
    let (mut heap, mut redexes) = machine.take();
    let mut run =
        Run { book, codes: &codes, limits, counts: Counts::default(), before: machine.counts().total(), given: 0 };
    let most = if threads.get() == 1 { u64::MAX } else { ALONE };
    let mut result = run.alone(&mut heap, &mut redexes, most);
    if result.is_ok() && !redexes.is_empty() {
        result = run.together(&mut heap, &mut redexes, threads.get());
    }
    let (nodes, wires) = heap.live();
    let waiting = redexes.len();
    let Run { limits, counts, given, .. } = run;
    machine.give(heap, vec![], &counts);
    let size = Size { nodes, wires, waiting, limit: limits.memory, interactions: machine.counts().total() };
    result.map(|()| given).map_err(|stop| stop.diagnostic(book, &size))
}

/// What a mutex holds. Who panics with it in hand has not left anything half done in it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run, on one thread and then on several.
struct Run<'b> {
    book: &'b Book,
    codes: &'b [Code],
    limits: Limits,
    counts: Counts,
    /// Interactions before this run.
    before: u64,
    given: u64,
}

/// Whether a run has to stop, after so many interactions and with so many redexes that wait.
fn stopped(limits: &Limits, done: u64, waiting: u64) -> Option<Stop> {
    let Limits { memory, interactions, interrupt } = limits;
    if interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        Some(Stop::Interrupted)
    } else if 8 * waiting > *memory {
        Some(Stop::Memory)
    } else if interactions.is_some_and(|most| done >= most) {
        Some(Stop::Interactions)
    } else {
        None
    }
}

impl Run<'_> {
    /// One thread, on memory of its own, until nothing is left to be done or there were so many interactions.
    fn alone(&mut self, heap: &mut Heap, redexes: &mut Vec<Redex>, most: u64) -> Result<(), Stop> {
        let (memory, free) = Own::new(std::mem::replace(heap, Heap::new(0)), self.limits.memory);
        let mut worker = Worker::new(self.book, self.codes, memory, free);
        redexes.drain(..).for_each(|redex| worker.give(redex));
        let result = loop {
            let waiting = worker.waiting() as u64;
            worker.counts.waiting = worker.counts.waiting.max(waiting);
            worker.counts.bytes = worker.counts.bytes.max(worker.memory.bytes());
            let done = worker.counts.total();
            if let Some(stop) = stopped(&self.limits, self.before + done, waiting).filter(|_| waiting > 0) {
                break Err(stop);
            }
            if waiting == 0 || done >= most {
                break Ok(());
            }
            if let Err(stop) = some_steps(&mut worker) {
                break Err(stop);
            }
        };
        redexes.append(&mut worker.others);
        redexes.append(&mut worker.urgent);
        let Worker { memory, free_nodes, free_wires, counts, .. } = worker;
        *heap = memory.heap([free_nodes, free_wires]);
        self.count(&counts);
        result
    }

    fn count(&mut self, counts: &Counts) {
        Rule::ALL.into_iter().for_each(|rule| self.counts.add(rule, counts.of(rule)));
        self.counts.waiting = self.counts.waiting.max(counts.waiting);
        self.counts.bytes = self.counts.bytes.max(counts.bytes);
    }

    /// Several threads, on memory that they share.
    fn together(&mut self, heap: &mut Heap, redexes: &mut Vec<Redex>, threads: usize) -> Result<(), Stop> {
        let (common, free) = Common::new(std::mem::replace(heap, Heap::new(0)), self.limits.memory);
        let pool = Pool {
            limits: self.limits.clone(),
            redexes: Mutex::new(std::mem::take(redexes)),
            wake: Condvar::new(),
            threads,
            idle: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
            stop: Mutex::new(None),
            done: AtomicU64::new(self.before + self.counts.total()),
            given: AtomicU64::new(0),
        };
        let (book, codes) = (self.book, self.codes);
        let work = |free| pool.work(Worker::new(book, codes, Shared::new(&common), free));
        let rests = std::thread::scope(|scope| {
            let spawned: Vec<_> = (1..threads).map(|_| scope.spawn(|| work([vec![], vec![]]))).collect();
            let own = work(free);
            // A thread that panics has found a mistake of this file; the panic goes on in the caller.
            let others = spawned
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            [own].into_iter().chain(others).collect::<Vec<Rest>>()
        });
        let mut free = [vec![], vec![]];
        let mut counts = Counts::default();
        counts.bytes = Shared::new(&common).bytes();
        for rest in rests {
            Rule::ALL.into_iter().for_each(|rule| counts.add(rule, rest.counts.of(rule)));
            counts.waiting += rest.counts.waiting;
            free[0].extend(rest.free_nodes);
            free[1].extend(rest.free_wires);
            redexes.extend(rest.waiting);
        }
        self.count(&counts);
        redexes.append(&mut lock(&pool.redexes));
        *heap = common.heap(free);
        self.given = pool.given.load(Ordering::Relaxed);
        let stop = lock(&pool.stop).take();
        stop.map_or(Ok(()), Err)
    }
}

/// Does redexes until there is none, or it is time to look around.
fn some_steps<M: Memory>(worker: &mut Worker<'_, M>) -> Result<(), Stop> {
    for _ in 0..LOOK {
        if !worker.step()? {
            break;
        }
    }
    Ok(())
}

/// What threads share beside memory.
struct Pool {
    limits: Limits,
    /// Redexes that were given away, and who waits for them.
    redexes: Mutex<Vec<Redex>>,
    wake: Condvar,
    threads: usize,
    idle: AtomicUsize,
    ends: AtomicBool,
    stop: Mutex<Option<Stop>>,
    done: AtomicU64,
    given: AtomicU64,
}

/// What a thread has when it ends.
struct Rest {
    counts: Counts,
    free_nodes: Vec<u32>,
    free_wires: Vec<u32>,
    waiting: Vec<Redex>,
}

impl Pool {
    /// Ends the run: everybody stops at the next look.
    fn end(&self, stop: Option<Stop>) {
        if stop.is_some() {
            let mut first = lock(&self.stop);
            *first = first.take().or(stop);
        }
        self.ends.store(true, Ordering::Relaxed);
        // Who is about to wait holds the redexes, and looks at the end before it waits.
        drop(lock(&self.redexes));
        self.wake.notify_all();
    }

    /// Redexes of others, as soon as there are any; none if nobody has any.
    fn wait(&self) -> Vec<Redex> {
        let mut redexes = lock(&self.redexes);
        self.idle.fetch_add(1, Ordering::Relaxed);
        loop {
            if self.ends.load(Ordering::Relaxed) {
                return vec![];
            }
            if !redexes.is_empty() {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                let share = redexes.len().div_ceil(self.threads);
                let kept = redexes.len() - share;
                return redexes.split_off(kept);
            }
            if self.idle.load(Ordering::Relaxed) == self.threads {
                self.ends.store(true, Ordering::Relaxed);
                self.wake.notify_all();
                return vec![];
            }
            redexes = self.wake.wait(redexes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reduces until nobody has anything to do, or the run ends.
    fn work(&self, mut worker: Worker<'_, Shared<'_>>) -> Rest {
        let mut steps: u32 = 0;
        let mut counted = 0;
        loop {
            match worker.step() {
                Ok(true) => {}
                Ok(false) => {
                    let found = self.wait();
                    if found.is_empty() {
                        break;
                    }
                    found.into_iter().for_each(|redex| worker.give(redex));
                    continue;
                }
                Err(stop) => {
                    self.end(Some(stop));
                    break;
                }
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(SHARE) && self.idle.load(Ordering::Relaxed) > 0 {
                self.share(&mut worker);
            }
            if steps.is_multiple_of(LOOK) && !self.goes_on(&mut worker, &mut counted) {
                break;
            }
        }
        let Worker { counts, free_nodes, free_wires, mut urgent, others: mut waiting, .. } = worker;
        waiting.append(&mut urgent);
        Rest { counts, free_nodes, free_wires, waiting }
    }

    /// Whether the run goes on. `counted` are the worker's interactions that everybody knows of.
    fn goes_on(&self, worker: &mut Worker<'_, Shared<'_>>, counted: &mut u64) -> bool {
        let waiting = worker.waiting() as u64;
        worker.counts.waiting = worker.counts.waiting.max(waiting);
        let total = worker.counts.total();
        let done = self.done.fetch_add(total - *counted, Ordering::Relaxed) + total - *counted;
        *counted = total;
        if let Some(stop) = stopped(&self.limits, done, waiting) {
            self.end(Some(stop));
            return false;
        }
        !self.ends.load(Ordering::Relaxed)
    }

    /// The older half of what is to be done is for others: much may come of it.
    fn share(&self, worker: &mut Worker<'_, Shared<'_>>) {
        let count = worker.others.len().div_ceil(2);
        if count == 0 || worker.waiting() < 2 {
            return;
        }
        self.given.fetch_add(1, Ordering::Relaxed);
        lock(&self.redexes).extend(worker.others.drain(..count));
        self.wake.notify_all();
    }
}
