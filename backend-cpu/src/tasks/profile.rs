//! Where the time of a run goes: code keeps the address of the frame that runs in one place, and a thread looks there again and again.
//!
//! Code that enters a function with a label goes to that label's frame under the current one, and goes back when it leaves. It finds the frame in the
//! current frame's cache, in the place that the label's number selects, or asks [`Profiler::enter`]. Calls and cells are counted exactly, in the frame. The time between two looks
//! is booked on the frame that the second one finds, so the times add up to the run's.
//!
//! Invariant: one thread runs code. The thread that looks reads an address and writes times, and nothing else.

use super::shared::Shared;
use girih_runtime::{CallTree, Frame, Label, Labels};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many frames there are at most, besides one for each label.
const MOST: usize = 1 << 14;
/// Labels that a frame's cache holds.
const CACHED: usize = 8;
/// How often is looked.
const INTERVAL: Duration = Duration::from_micros(250);
/// No frame, or no label.
const NONE: u32 = u32::MAX;

/// A frame.
#[repr(C)]
struct Node {
    calls: AtomicU64,
    cells: AtomicU64,
    cache: [Cached; CACHED],
    nanoseconds: AtomicU64,
    label: AtomicU32,
    caller: AtomicU32,
    first: AtomicU32,
    next: AtomicU32,
}

/// Where a label that a frame calls has its frame.
#[repr(C)]
#[derive(Default)]
struct Cached {
    /// The label's number and one; 0 if there is none.
    label: AtomicU64,
    frame: AtomicUsize,
}

pub(super) const CALLS: i32 = offset_of!(Node, calls) as i32;
pub(super) const CELLS: i32 = offset_of!(Node, cells) as i32;
/// The cached label, and behind it its frame.
pub(super) const fn cached(label: u32) -> i32 {
    (offset_of!(Node, cache) + label as usize % CACHED * size_of::<Cached>()) as i32
}
pub(super) const CACHED_FRAME: i32 = offset_of!(Cached, frame) as i32;

impl Node {
    fn new() -> Node {
        Node {
            calls: AtomicU64::new(0),
            cells: AtomicU64::new(0),
            cache: Default::default(),
            nanoseconds: AtomicU64::new(0),
            label: AtomicU32::new(NONE),
            caller: AtomicU32::new(NONE),
            first: AtomicU32::new(NONE),
            next: AtomicU32::new(NONE),
        }
    }
}

/// What is known of a run so far.
pub(super) struct Profiler {
    labels: Arc<Labels>,
    nodes: Box<[Node]>,
    used: AtomicUsize,
    is_full: AtomicBool,
    /// The address of the frame that runs.
    current: AtomicUsize,
    /// When was last looked; none before the run has begun.
    looked: Mutex<Option<Instant>>,
    samples: AtomicU64,
}

impl Profiler {
    pub fn new(labels: Arc<Labels>) -> Profiler {
        let most_label = labels.iter().flatten().map(|label| label.number as usize + 1).max().unwrap_or(0);
        let nodes: Box<[Node]> = (0..MOST + most_label).map(|_| Node::new()).collect();
        let profiler = Profiler {
            labels,
            nodes,
            used: AtomicUsize::new(1),
            is_full: AtomicBool::new(false),
            current: AtomicUsize::new(0),
            looked: Mutex::new(None),
            samples: AtomicU64::new(0),
        };
        profiler.go_to_host();
        profiler
    }

    pub fn label(&self, function: usize) -> Option<Label> {
        self.labels.get(function).copied().flatten()
    }

    /// Where the address of the current frame stands.
    pub fn place(&self) -> i64 {
        self.current.as_ptr().addr() as i64
    }

    /// No code runs.
    pub fn go_to_host(&self) {
        self.current.store(self.address(0), Relaxed);
    }

    fn address(&self, at: usize) -> usize {
        (&raw const self.nodes[at]).addr()
    }

    fn current(&self) -> usize {
        (self.current.load(Relaxed) - self.address(0)) / size_of::<Node>()
    }

    /// A cell was made by a function of the runtime.
    pub fn count_cell(&self) {
        self.nodes[self.current()].cells.fetch_add(1, Relaxed);
    }

    /// The current frame calls a label that is not in its cache.
    pub fn enter(&self, label: u32) {
        let caller = self.current();
        let frame = self.address(self.frame(caller, label));
        let cached = &self.nodes[caller].cache[label as usize % CACHED];
        cached.label.store(u64::from(label) + 1, Relaxed);
        cached.frame.store(frame, Relaxed);
        self.current.store(frame, Relaxed);
    }

    /// The frame of a label that another frame calls: its own or an ancestor's, if that is the label's; else one below it.
    fn frame(&self, caller: usize, label: u32) -> usize {
        let ancestors = std::iter::successors(Some(caller), |at| {
            Some(self.nodes[*at].caller.load(Relaxed)).filter(|at| *at != NONE).map(|at| at as usize)
        });
        let is_of_label = |at: &usize| self.nodes[*at].label.load(Relaxed) == label;
        if let Some(own) = ancestors.into_iter().find(is_of_label) {
            return own;
        }
        if let Some(there) = self.called(caller).find(is_of_label) {
            return there;
        }
        if caller != 0 && self.used.load(Relaxed) >= MOST {
            self.is_full.store(true, Relaxed);
            return self.frame(0, label);
        }
        let new = self.used.fetch_add(1, Relaxed);
        let node = &self.nodes[new];
        node.label.store(label, Relaxed);
        node.caller.store(caller as u32, Relaxed);
        node.next.store(self.nodes[caller].first.swap(new as u32, Relaxed), Relaxed);
        new
    }

    /// The frames below one.
    fn called(&self, caller: usize) -> impl Iterator<Item = usize> + '_ {
        let there = |at: u32| Some(at).filter(|at| *at != NONE).map(|at| at as usize);
        let first = there(self.nodes[caller].first.load(Relaxed));
        std::iter::successors(first, move |at| there(self.nodes[*at].next.load(Relaxed)))
    }

    /// Books the time since the last look on the frame that runs.
    fn look(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(before) = looked.replace(now) {
            let time = now.duration_since(before).as_nanos() as u64;
            self.nodes[self.current()].nanoseconds.fetch_add(time, Relaxed);
            self.samples.fetch_add(1, Relaxed);
        }
    }

    /// What is known now.
    fn tree(&self) -> CallTree {
        let some = |number: u32| Some(number).filter(|number| *number != NONE);
        let frame = |node: &Node| Frame {
            label: some(node.label.load(Relaxed)),
            caller: some(node.caller.load(Relaxed)).map(|at| at as usize),
            calls: node.calls.load(Relaxed),
            cells: node.cells.load(Relaxed),
            own: Duration::from_nanos(node.nanoseconds.load(Relaxed)),
        };
        CallTree {
            frames: self.nodes[..self.used.load(Relaxed)].iter().map(frame).collect(),
            samples: self.samples.load(Relaxed),
            is_full: self.is_full.load(Relaxed),
        }
    }
}

/// The thread that looks.
pub(super) struct Sampler {
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts it. The run begins now.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn start(shared: Arc<Shared>) -> std::io::Result<Sampler> {
        let closing = Arc::new(AtomicBool::new(false));
        let is_over = closing.clone();
        let look = move || shared.profiler.as_deref().into_iter().for_each(Profiler::look);
        look();
        let life = move || {
            while !is_over.load(Relaxed) {
                std::thread::park_timeout(INTERVAL);
                look();
            }
        };
        let thread = std::thread::Builder::new().name("girih-profile".into()).spawn(life)?;
        Ok(Sampler { closing, thread: Some(thread) })
    }

    /// The run is over: what was found.
    pub fn end(mut self, profiler: &Profiler) -> CallTree {
        self.close();
        profiler.tree()
    }

    fn close(&mut self) {
        self.closing.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It looks once more before it ends; if it has panicked, it has said so itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profiler(labels: u32) -> Profiler {
        Profiler::new((0..labels).map(|number| Some(Label { number, is_call: true })).collect())
    }

    #[test]
    fn recursion_goes_on_in_its_frame_and_other_calls_have_their_own() {
        let profiler = profiler(3);
        profiler.enter(0);
        let outer = profiler.current();
        profiler.enter(1);
        let inner = profiler.current();
        profiler.enter(0);
        assert_eq!(profiler.current(), outer);
        profiler.enter(1);
        assert_eq!(profiler.current(), inner);
        profiler.go_to_host();
        profiler.enter(1);
        assert!(profiler.current() != inner);
        let callers: Vec<Option<usize>> = profiler.tree().frames.iter().map(|frame| frame.caller).collect();
        assert_eq!(callers, [None, Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn times_add_up_to_what_passed_between_the_first_look_and_the_last() {
        let profiler = profiler(2);
        profiler.look();
        let begun = profiler.looked.lock().expect("nobody panics").expect("it has looked");
        for label in [0, 1, 0, 1] {
            profiler.enter(label);
            profiler.look();
        }
        let ended = profiler.looked.lock().expect("nobody panics").expect("it has looked");
        let tree = profiler.tree();
        assert_eq!((tree.time(), tree.samples), (ended.duration_since(begun), 4));
    }

    #[test]
    fn chains_beyond_the_most_are_booked_under_the_host() {
        let profiler = profiler(200);
        // Each set of 15 labels is a chain of its own: more than there are frames.
        let mut tried = 0;
        for path in 0_u32..(1 << 15) {
            profiler.go_to_host();
            for label in (0..15).filter(|bit| path >> bit & 1 == 1) {
                profiler.enter(label);
                tried += 1;
            }
        }
        let tree = profiler.tree();
        assert!(tried > MOST && tree.is_full);
        assert!(tree.frames.len() <= MOST + 200);
        assert!(
            tree.frames.iter().enumerate().skip(1).all(|(at, frame)| frame.caller.is_some_and(|caller| caller < at))
        );
    }
}
