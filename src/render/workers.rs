//! Threads that paint frames together: the branches of a frame's tree are handed out to whoever is free, and a frame may
//! start before the one before it is done.
//!
//! Frames come out in the order in which they were asked for. Whatever goes wrong in a painter, a panic included, is the
//! result of the frame; the threads go on.

use super::branch::Branch;
use super::frame::{Pixel, Size};
use super::picture::{Picture, Pixels};
use crate::devices::SharedBuffer;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// What is painted. Shared by all threads.
pub(super) trait Motif: Send + Sync + 'static {
    /// The pieces in which a frame is painted; together they have all its pixels.
    fn branches(&self) -> Vec<Branch>;

    /// What one thread paints with; ends soon after the flag was raised.
    fn painter(&self, interrupt: &Arc<AtomicBool>) -> Box<dyn Painter>;
}

/// Paints branches, on one thread.
pub(super) trait Painter {
    /// Appends the pixels of a branch of the frame at a time, and says how many cells it has.
    fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic>;

    /// How long it took to evaluate the last branch, where that is less than painting it took.
    fn evaluation(&self) -> Option<Duration> {
        None
    }

    /// Takes the pixels of the last branch if they have stayed on a device; then none were appended. Only where the branch is a whole frame.
    fn kept(&mut self) -> Option<Arc<SharedBuffer>> {
        None
    }

    /// In which way branches are evaluated, in some words, once that is known.
    fn how(&self) -> Option<String> {
        None
    }
}

/// The threads, and the frames that they are at.
pub(super) struct Workers {
    size: Size,
    branches: Arc<[Branch]>,
    shared: Arc<Shared>,
    frames: VecDeque<Arc<Sheet>>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads and their owner share.
struct Shared {
    size: Size,
    queue: Mutex<Queue>,
    /// A piece of work has come, or there will be none.
    work: Condvar,
    /// Stops the painters.
    interrupt: Arc<AtomicBool>,
    /// Called when a frame is done.
    on_done: Box<dyn Fn() + Send + Sync>,
    /// What a painter has said of the way in which it evaluates.
    how: Mutex<Option<String>>,
}

#[derive(Default)]
struct Queue {
    pieces: VecDeque<(Arc<Sheet>, Branch)>,
    closed: bool,
}

/// A frame that is being painted.
struct Sheet {
    time: f32,
    progress: Mutex<Progress>,
    done: Condvar,
}

struct Progress {
    pixels: Vec<Pixel>,
    /// The pixels instead of those, if they have stayed on a device.
    kept: Option<Arc<SharedBuffer>>,
    cells: u64,
    /// Time of all threads together.
    evaluation: Duration,
    /// Branches that are still to be painted.
    missing: usize,
    /// What went wrong, at the first pixel where something did.
    failure: Option<(usize, Diagnostic)>,
}

/// A panic is a result of its own here, so a lock that saw one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    /// Starts threads; `on_done` is called on one of them whenever a frame is done.
    pub fn start<M: Motif>(
        motif: M,
        size: Size,
        threads: NonZeroUsize,
        on_done: Box<dyn Fn() + Send + Sync>,
    ) -> std::io::Result<Workers> {
        let shared = Arc::new(Shared {
            size,
            queue: Mutex::default(),
            work: Condvar::new(),
            interrupt: Arc::default(),
            on_done,
            how: Mutex::default(),
        });
        let motif = Arc::new(motif);
        let branches = motif.branches().into();
        // The owner exists before its threads, so that those that did start end if another one cannot.
        let mut workers = Workers { size, branches, shared, frames: VecDeque::new(), threads: vec![] };
        for number in 0..threads.get() {
            let (motif, shared) = (Arc::clone(&motif), Arc::clone(&workers.shared));
            let thread = Builder::new().name(format!("painter {number}")).spawn(move || work(&*motif, &shared))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// How many frames were asked for and not taken.
    pub fn waiting(&self) -> usize {
        self.frames.len()
    }

    /// Asks for the frame at a time.
    pub fn submit(&mut self, time: f32) {
        // Where there is one branch, its pixels become those of the frame.
        let blank = if self.branches.len() == 1 { vec![] } else { vec![[0; 4]; self.size.pixels() as usize] };
        let missing = self.branches.len();
        let progress =
            Progress { pixels: blank, kept: None, cells: 0, evaluation: Duration::ZERO, missing, failure: None };
        let sheet = Arc::new(Sheet { time, progress: Mutex::new(progress), done: Condvar::new() });
        let mut queue = lock(&self.shared.queue);
        queue.pieces.extend(self.branches.iter().map(|&branch| (Arc::clone(&sheet), branch)));
        drop(queue);
        self.frames.push_back(sheet);
        self.shared.work.notify_all();
    }

    /// Takes the oldest frame if it is done, or waits for it at most as long as is said. None if there is none yet.
    pub fn take(&mut self, patience: Duration) -> Option<Result<Picture, Diagnostic>> {
        let sheet = self.frames.front()?;
        let progress = lock(&sheet.progress);
        let waited = sheet.done.wait_timeout_while(progress, patience, |progress| progress.missing > 0);
        let (mut progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if progress.missing > 0 {
            return None;
        }
        let result = match progress.failure.take() {
            Some((_, diagnostic)) => Err(diagnostic),
            None => {
                let pixels = match progress.kept.take() {
                    Some(kept) => Pixels::Device(kept),
                    None => Pixels::Host(std::mem::take(&mut progress.pixels)),
                };
                // Branches hang on forks, too.
                let joins = self.branches.len() as u64 - 1;
                Ok(Picture { size: self.size, pixels, cells: progress.cells + joins, evaluation: progress.evaluation })
            }
        };
        drop(progress);
        self.frames.pop_front();
        Some(result)
    }

    /// In which way frames are evaluated, in some words, if that is known and there is anything to say.
    pub fn how(&self) -> Option<String> {
        lock(&self.shared.how).clone()
    }

    /// Stops what is being painted: all frames fail that are not done.
    pub fn interrupt(&self) {
        self.shared.interrupt.store(true, Ordering::Relaxed);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.interrupt();
        let mut queue = lock(&self.shared.queue);
        queue.closed = true;
        queue.pieces.clear();
        drop(queue);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of a painter was caught, and there is nobody to be told of any other.
            let _ = thread.join();
        }
    }
}

/// A branch that was painted.
struct Painted {
    pixels: Vec<Pixel>,
    kept: Option<Arc<SharedBuffer>>,
    cells: u64,
    evaluation: Duration,
}

/// What a thread does: one piece after the other, until the queue is closed.
fn work(motif: &dyn Motif, shared: &Shared) {
    let mut painter = None;
    while let Some((sheet, branch)) = shared.next() {
        let spoilt = lock(&sheet.progress).failure.is_some();
        let painted = if spoilt { None } else { Some(paint(motif, shared, &mut painter, &sheet, branch)) };
        if sheet.finish(branch, painted, shared.size) {
            (shared.on_done)();
        }
    }
}

/// Paints one branch. A painter that has panicked is not used again.
fn paint(
    motif: &dyn Motif,
    shared: &Shared,
    painter: &mut Option<Box<dyn Painter>>,
    sheet: &Sheet,
    branch: Branch,
) -> Result<Painted, Diagnostic> {
    let wanted = branch.pixels(shared.size).len();
    let painted = catch_unwind(AssertUnwindSafe(|| {
        let painter = painter.get_or_insert_with(|| motif.painter(&shared.interrupt));
        let mut pixels = Vec::with_capacity(wanted);
        let begun = Instant::now();
        let cells = painter.paint(branch, sheet.time, &mut pixels)?;
        let evaluation = painter.evaluation().unwrap_or_else(|| begun.elapsed());
        let mut how = lock(&shared.how);
        if how.is_none() {
            *how = painter.how();
        }
        Ok(Painted { pixels, kept: painter.kept(), cells, evaluation })
    }));
    let internal = |message| Err(Diagnostic::new(Code::Internal, Span::NONE, message));
    match painted {
        Ok(Ok(painted)) if painted.kept.is_none() && painted.pixels.len() != wanted => {
            internal("a part of the picture has not its number of pixels")
        }
        Ok(result) => result,
        Err(_) => {
            *painter = None;
            internal("painting a part of the picture has panicked")
        }
    }
}

impl Shared {
    /// The next piece of work, when there is one; none once the queue is closed.
    fn next(&self) -> Option<(Arc<Sheet>, Branch)> {
        let waits = |queue: &mut Queue| queue.pieces.is_empty() && !queue.closed;
        let mut queue = self.work.wait_while(lock(&self.queue), waits).unwrap_or_else(PoisonError::into_inner);
        queue.pieces.pop_front()
    }
}

impl Sheet {
    /// Puts a branch in its place; `painted` is none if it was left out. Says whether it was the last one.
    fn finish(&self, branch: Branch, painted: Option<Result<Painted, Diagnostic>>, size: Size) -> bool {
        let mut progress = lock(&self.progress);
        let place = branch.pixels(size);
        match painted {
            Some(Ok(Painted { pixels, kept, cells, evaluation })) => {
                if kept.is_some() {
                    progress.kept = kept;
                } else if progress.pixels.is_empty() {
                    progress.pixels = pixels;
                } else {
                    progress.pixels[place].copy_from_slice(&pixels);
                }
                progress.cells += cells;
                progress.evaluation += evaluation;
            }
            Some(Err(diagnostic)) if progress.failure.as_ref().is_none_or(|(first, _)| place.start < *first) => {
                progress.failure = Some((place.start, diagnostic));
            }
            Some(Err(_)) | None => {}
        }
        progress.missing -= 1;
        let last = progress.missing == 0;
        if last {
            self.done.notify_all();
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    const LONG: Duration = Duration::MAX;

    /// A gradient; what is painted at negative times goes wrong, at NaN it never ends.
    struct Gradient {
        size: Size,
    }

    struct GradientPainter {
        size: Size,
        interrupt: Arc<AtomicBool>,
    }

    impl Motif for Gradient {
        fn branches(&self) -> Vec<Branch> {
            Branch::cover(self.size, 5)
        }

        fn painter(&self, interrupt: &Arc<AtomicBool>) -> Box<dyn Painter> {
            Box::new(GradientPainter { size: self.size, interrupt: Arc::clone(interrupt) })
        }
    }

    impl Painter for GradientPainter {
        fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
            let fail = || Diagnostic::new(Code::DivisionByZero, Span::NONE, format!("at {}", branch.path));
            if time.is_nan() {
                while !self.interrupt.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                return Err(fail());
            }
            assert!(time != -1.0, "a painter that panics");
            if time < 0.0 && branch.path > 0 {
                return Err(fail());
            }
            pixels.extend(branch.pixels(self.size).map(|i| gradient(i, time)));
            Ok(1)
        }
    }

    fn gradient(i: usize, time: f32) -> Pixel {
        [(i % 256) as u8, (i / 256) as u8, time as u8, 255]
    }

    fn workers(threads: usize, on_done: impl Fn() + Send + Sync + 'static) -> Workers {
        let size = Size::new(37, 23).expect("a size within the limit");
        let threads = NonZeroUsize::new(threads).expect("some threads");
        Workers::start(Gradient { size }, size, threads, Box::new(on_done)).expect("threads can be started")
    }

    #[test]
    fn frames_come_out_whole_and_in_order() {
        let done = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&done);
        let mut workers = workers(3, move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        for time in 0..20u8 {
            workers.submit(time.into());
        }
        for time in 0..20u8 {
            let frame = workers.take(LONG).expect("a frame in time").expect("nothing went wrong");
            let expected: Vec<Pixel> = (0..37 * 23).map(|i| gradient(i, time.into())).collect();
            assert_eq!(frame.frame().expect("it is on the host").pixels, expected);
        }
        assert!(workers.take(LONG).is_none(), "nothing more was asked for");
        drop(workers);
        assert_eq!(done.load(Ordering::Relaxed), 20);
    }

    #[test]
    fn a_failure_is_the_result_of_its_frame_alone() {
        for time in [-2.0, -1.0] {
            let mut workers = workers(2, || {});
            workers.submit(time);
            workers.submit(7.0);
            let failure = workers.take(LONG).expect("a frame in time").expect_err("it goes wrong");
            assert_eq!(failure.code, if time == -1.0 { Code::Internal } else { Code::DivisionByZero });
            assert!(workers.take(LONG).expect("a frame in time").is_ok());
        }
    }

    #[test]
    fn what_never_ends_is_stopped() {
        let mut workers = workers(2, || {});
        workers.submit(f32::NAN);
        assert!(workers.take(Duration::from_millis(20)).is_none());
        workers.interrupt();
        assert!(workers.take(LONG).expect("a frame in time").is_err());
        workers.submit(f32::NAN);
        drop(workers);
    }
}
