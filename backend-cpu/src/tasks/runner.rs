//! Task form on all threads, behind the interface of runners.
//!
//! Calls of the host run on the calling thread, on a stack of their own. The other threads sleep until a call forks something.

use super::code::{self, Code, Variant};
use super::context::{Context, Counts, Owned};
use super::heap::{Cells, Heap};
use super::profile::{Profiler, Sampler};
use super::shared::{Handle, Shared};
use super::virtual_memory::Reserved;
use super::work_stealing::{self, Hunger};
use super::worker::Stack;
use crate::host;
use girih_base::diag::{Code as Error, Diagnostic};
use girih_base::span::Span;
use girih_ir::heap::{CELL, LayoutId, tag};
use girih_ir::{FunctionId, Module, Verified};
use girih_runtime::{CallTree, Fault, Runner, TaskOptions, TaskStats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of stack that a forked call takes at least, for one entry in the list of forked calls.
const LEAST_FRAME: u64 = 48;
/// How often the flag of an interrupt is looked at: often at first, since beside a card a run may be over within a tenth of a millisecond, and whoever has lost
/// is waited for; then each time when a twentieth of what has passed has passed again.
const INTERVALS: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(10));
const PART: u32 = 20;

/// A heap, threads, and functions that run on them.
pub struct Tasks {
    // The order matters: threads end before what they use goes.
    threads: Vec<JoinHandle<Worker>>,
    watch: Option<JoinHandle<()>>,
    closing: Arc<AtomicBool>,
    own: Worker,
    /// Those of the threads; kept until all threads have ended.
    _contexts: Vec<Arc<Owned>>,
    shared: Arc<Shared>,
    code: Code,
    /// Results of each function.
    results: Vec<usize>,
    ended: Option<Fault>,
    compiled: Duration,
    /// Whether code counts cells, forks and calls.
    counts: bool,
    /// Who looks where the time goes.
    sampler: Option<Sampler>,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tasks({} threads)", self.threads.len() + 1)
    }
}

/// What a thread runs code with.
struct Worker {
    context: Arc<Owned>,
    stack: Stack,
    /// Its list of forked calls.
    _deque: Reserved,
}

// SAFETY: contexts are used by one thread at a time; the list of forked calls is empty when a worker changes its thread.
#[allow(unsafe_code)]
unsafe impl Send for Worker {}
// SAFETY: other threads only touch its atomics.
#[allow(unsafe_code)]
unsafe impl Sync for Owned {}
// SAFETY: as for workers.
#[allow(unsafe_code)]
unsafe impl Send for Owned {}

impl Worker {
    fn new(shared: &Arc<Shared>, number: usize) -> Result<Worker, Diagnostic> {
        let stack = Stack::new(shared.stack)?;
        let bytes = (shared.stack / LEAST_FRAME * 8 + 4096) as usize;
        let deque = Reserved::anywhere(bytes).map_err(|error| {
            let message = format!("the system reserves no {} MiB for forked calls: {error}", bytes >> 20);
            Diagnostic::new(Error::OutOfMemory, Span::NONE, message).hint("allow less with `--memory`")
        })?;
        let context = Arc::new(Owned::new(shared.clone(), number, deque.start().cast()));
        Ok(Worker { context, stack, _deque: deque })
    }
}

/// Compiles the functions in task form of a module, and makes a heap and threads for them.
///
/// # Errors
/// If there is no native code for this processor, a function has operations that task form lacks, or the system gives no memory.
pub fn open(module: &Verified<Module>, options: &TaskOptions) -> Result<Tasks, Diagnostic> {
    let begun = Instant::now();
    // Where nothing is forked, other threads would have nothing to do.
    let forks = !code::forked(module).is_empty();
    let threads = if forks && options.profile.is_none() { options.threads.max(1) } else { 1 };
    let variant = Variant {
        parallel: threads > 1,
        reuse: options.reuse,
        count: options.count || options.profile.is_some(),
        careful: options.fail_each.is_some(),
    };
    let heap = Heap::new(&module.layouts, options.memory, options.fail_each, threads)?;
    let profiler = options.profile.clone().map(|labels| Box::new(Profiler::new(labels)));
    let code = code::compile(module, variant, &heap, profiler.as_deref(), host::isa(host::Use::Tasks)?)?;
    let compiled = begun.elapsed();
    let globals = module.globals.len();
    let shared =
        Arc::new(Shared::new(heap, globals, options.stack, threads, options.interrupt.clone()).with_profiler(profiler));
    let mut workers = (0..threads).map(|number| Worker::new(&shared, number)).collect::<Result<Vec<_>, _>>()?;
    shared.threads(workers.iter().map(|worker| Handle(worker.context.get())).collect());
    let contexts = workers.iter().map(|worker| worker.context.clone()).collect();
    let closing = Arc::new(AtomicBool::new(false));
    let others = workers.split_off(1);
    let Some(own) = workers.pop() else { return Err(no_thread()) };
    let mut tasks = Tasks {
        threads: vec![],
        watch: None,
        closing,
        own,
        _contexts: contexts,
        shared,
        code,
        results: module.functions.iter().map(|f| f.results.iter().map(|ty| code::slots(*ty)).sum()).collect(),
        ended: None,
        compiled,
        counts: options.count,
        sampler: None,
    };
    tasks.start(others)?;
    Ok(tasks)
}

fn no_thread() -> Diagnostic {
    Diagnostic::new(Error::NoDevice, Span::NONE, "the system starts no thread")
}

impl Tasks {
    /// How long compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compiled
    }

    /// Starts the threads.
    fn start(&mut self, others: Vec<Worker>) -> Result<(), Diagnostic> {
        for worker in others {
            let (shared, closing) = (self.shared.clone(), self.closing.clone());
            let thread = std::thread::Builder::new().name("girih-task".into());
            let life = move || serve(worker, &shared, &closing);
            self.threads.push(thread.spawn(life).map_err(|_| no_thread())?);
        }
        if self.shared.interrupt.is_some() {
            let (shared, closing) = (self.shared.clone(), self.closing.clone());
            let thread = std::thread::Builder::new().name("girih-interrupt".into());
            self.watch = Some(thread.spawn(move || watch(&shared, &closing)).map_err(|_| no_thread())?);
        }
        Ok(())
    }

    fn context(&self) -> *mut Context {
        self.own.context.get()
    }

    #[allow(unsafe_code)]
    fn cells(&self) -> Cells<'_> {
        // SAFETY: between calls the context is the host's.
        unsafe { Cells::new(&self.shared.heap, self.context()) }
    }

    /// Runs a function; false if the run has ended before it.
    #[allow(unsafe_code)]
    fn run(&mut self, entry: code::Entry, slots: &mut [u64]) -> bool {
        let context = self.context();
        let given = slots.as_mut_ptr();
        // SAFETY: the entry is code of this module; the slots are as many as the function has parameters and results.
        let work = || unsafe { entry(context, given, given) };
        // SAFETY: the context is that of the calling thread.
        unsafe { self.own.stack.run(&self.shared, context, work) }
    }

    /// Starts to look, if that is wanted and has not begun.
    fn look_where_time_goes(&mut self) -> Result<(), Fault> {
        if self.shared.profiler.is_some() && self.sampler.is_none() {
            let sampler = Sampler::start(self.shared.clone());
            self.sampler = Some(sampler.map_err(|_| Fault::Device(no_thread()))?);
        }
        Ok(())
    }

    fn number_of_fields(&self, word: u32) -> Option<u32> {
        Some(self.shared.heap.shapes.get(self.layout(word)?)?.fields)
    }
}

impl Runner for Tasks {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let entry = self.code.entry(function).map_err(Fault::Device)?.ok_or_else(|| {
            let message = "a function that is not in task form was called";
            Fault::Device(Diagnostic::new(Error::Internal, Span::NONE, message))
        })?;
        let results = self.results.get(function.index()).copied().unwrap_or(0);
        let mut slots: Vec<u64> = arguments.iter().map(|word| u64::from(*word)).collect();
        slots.resize(arguments.len().max(results).max(1), 0);
        self.look_where_time_goes()?;
        // Those who wait for tasks are awake when there are some.
        self.shared.queue.wake();
        if self.run(entry, &mut slots) {
            // A result may be shorter than a slot, and an argument may have been there.
            let masks = self.code.masks(function);
            return Ok(slots.iter().zip(masks).map(|(slot, mask)| (*slot & mask) as u32).collect());
        }
        self.shared.profiler.iter().for_each(|profiler| profiler.go_to_host());
        let fault = self.shared.fault().unwrap_or(Fault::Interrupted);
        self.ended = Some(fault.clone());
        Err(fault)
    }

    #[allow(unsafe_code)]
    fn layout(&self, cell: u32) -> Option<LayoutId> {
        if !self.shared.heap.is_inside(cell) {
            return None;
        }
        // SAFETY: it is inside of the memory that has been used.
        let layout = unsafe { self.cells().layout(cell) };
        (layout.index() < self.shared.heap.shapes.len()).then_some(layout)
    }

    #[allow(unsafe_code)]
    fn field(&self, cell: u32, field: usize) -> u32 {
        match self.number_of_fields(cell) {
            // SAFETY: the cell has the field.
            Some(fields) if field < fields as usize => unsafe { self.cells().field(cell, field as u32) },
            _there_is_none => 0,
        }
    }

    #[allow(unsafe_code)]
    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault> {
        let shape = &self.shared.heap.shapes[layout];
        // SAFETY: the memory that is taken is large enough for the layout's fields.
        unsafe {
            let cells = self.cells();
            let Some(word) = cells.take(shape.units) else {
                return Err(Fault::Memory { limit: self.shared.heap.limit(), at: Span::NONE });
            };
            (*self.context()).counts.allocated += 1;
            cells.set_header(word, layout);
            (0..shape.fields).zip(fields).for_each(|(i, field)| cells.set_field(word, i, *field));
            Ok(word)
        }
    }

    #[allow(unsafe_code)]
    fn share(&mut self, word: u32) {
        if tag(word) == CELL && self.layout(word).is_some() {
            // SAFETY: the word names a cell that the host owns.
            unsafe { self.cells().share(word) }
        }
    }

    #[allow(unsafe_code)]
    fn drop(&mut self, word: u32) {
        if self.ended.is_none() && tag(word) == CELL && self.layout(word).is_some() {
            // SAFETY: the word names a cell that the host owns.
            unsafe { (*self.context()).counts.freed += self.cells().drop(word) }
        }
    }

    fn profile(&mut self) -> Option<CallTree> {
        let profiler = self.shared.profiler.as_ref()?;
        Some(self.sampler.take()?.end(profiler))
    }

    #[allow(unsafe_code)]
    fn stats(&self) -> TaskStats {
        let mut total = Counts::default();
        let mut free = vec![];
        if self.ended.is_none() && self.counts {
            // SAFETY: between calls the context is the host's.
            unsafe { self.cells().clear_all() };
        }
        for context in &self._contexts {
            // SAFETY: between calls the threads sleep. A number that is a little old harms nobody.
            let counts = unsafe { (*context.get()).counts };
            total.allocated += counts.allocated;
            total.reused += counts.reused;
            total.freed += counts.freed;
            total.forks += counts.forks;
            total.calls += counts.calls;
            total.steals += counts.steals;
        }
        // Going through all free cells takes longer than many a run.
        if self.ended.is_none() && self.counts {
            for context in &self._contexts {
                // SAFETY: as above; lists are whole when no code runs.
                free.push(unsafe { Cells::new(&self.shared.heap, context.get()).free_cells() });
            }
        }
        let free_units: u64 =
            free.iter().flat_map(|list| (0..).zip(list)).map(|(units, count): (u64, &u64)| units * count).sum();
        let free_units = free_units + self.shared.heap.loaded();
        // SAFETY: as above.
        let waiting: u64 = self._contexts.iter().map(|context| unsafe { (*context.get()).region.units() }).sum();
        let used = self.shared.heap.used().saturating_sub(8 * waiting);
        TaskStats {
            allocated: total.allocated,
            reused: total.reused,
            freed: total.freed,
            live: total.allocated.saturating_sub(total.freed),
            most_live: None,
            live_bytes: if self.counts { used.saturating_sub(8 * free_units) } else { 0 },
            most_bytes: used,
            forks: total.forks,
            steals: total.steals,
            calls: total.calls,
            steps: None,
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.sampler = None;
        self.closing.store(true, Ordering::SeqCst);
        self.shared.end(None);
        // A thread that has panicked has said so itself. A forked call stands in the stack of who forked it, also while another thread runs it:
        // no stack goes before all threads have ended.
        let workers: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        drop(workers);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            let _ = watch.join();
        }
    }
}

/// The life of a thread: it runs what others fork. Gives back what it ran with, which others may still use.
#[allow(unsafe_code)]
fn serve(mut worker: Worker, shared: &Shared, closing: &AtomicBool) -> Worker {
    let context = worker.context.get();
    let mut hunger = Hunger::new();
    while !shared.is_ending() && !closing.load(Ordering::SeqCst) {
        // SAFETY: the context is this thread's.
        let next = unsafe { hunger.next(shared, context, &|| closing.load(Ordering::SeqCst)) };
        let Some(task) = next else { continue };
        let begun = Instant::now();
        // SAFETY: the context is this thread's, and the task is taken.
        let ended = unsafe { worker.stack.run(shared, context, || work_stealing::run(context, task)) };
        if !ended {
            break;
        }
        hunger.had(begun.elapsed());
    }
    worker
}

/// The life of the thread that looks whether the run is to be interrupted.
fn watch(shared: &Shared, closing: &AtomicBool) {
    let begun = Instant::now();
    while !closing.load(Ordering::SeqCst) {
        if shared.is_interrupted() {
            shared.alarm();
        }
        std::thread::park_timeout((begun.elapsed() / PART).clamp(INTERVALS.0, INTERVALS.1));
    }
}
