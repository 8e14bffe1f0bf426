//! Runs functions in task form on any [`Device`], in epochs: the [`Runner`] that stands for graphics cards.
//!
//! A call is a task in the device's queue. Several epochs are submitted at once, each a dispatch of the planner and one of the lanes whose size the
//! planner has written; then the host looks whether the result is there.
//!
//! The heap and the pool of frames begin small and grow by need: see [`grow`]. A heap that may not grow is collected: see [`collect`](mod@collect).
//!
//! Invariant: between calls no lane does anything, and the heap is the host's to read and to add to. What a call was given stays as it was
//! until the call is over, so it can begin again.

mod collect;
mod grow;
mod keep;
pub mod pace;

use crate::device::{self, broken, buffer, missing, number};
use crate::forkjoin::memory::{Buffers, ProgramSizes, control, fault, group};
use crate::forkjoin::{self, ForkJoin, Form};
use crate::heap::cells::{Cells, Heap, header, to_device, to_host, units};
use crate::heap::room;
use collect::Collector;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_base::words;
use girih_ir::heap::{self, GlobalId, Layout, LayoutId};
use girih_ir::{FunctionId, Module, Type, Verified};
use girih_runtime::{Argument, Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program, Read};
use girih_runtime::{Fault, Runner, Schedule, Slice, StepStats, TaskOptions, TaskStats, Timeline};
pub use pace::Clock;
use pace::Pace;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkJoinOptions {
    /// How many lanes there are at most; forks become tasks while there are fewer tasks.
    pub lanes: u32,
    /// Frames of the pool at the beginning; rounded up to a power of 2.
    pub frames: u32,
    /// Frames that it grows to at most.
    pub most_frames: u32,
    /// Bytes of the heap at the beginning.
    pub heap: u64,
    /// Bytes that it grows to at most.
    pub most_heap: u64,
    /// Steps that a lane goes in an epoch at most.
    pub steps: u32,
    /// The form of the kernels.
    pub form: Form,
    /// Most epochs that are submitted at once.
    pub batch: usize,
}

impl Default for ForkJoinOptions {
    fn default() -> ForkJoinOptions {
        let (frames, heap) = (1 << 18, 64 << 20);
        ForkJoinOptions {
            lanes: 1 << 14,
            frames,
            most_frames: frames,
            heap,
            most_heap: heap,
            steps: 1 << 14,
            form: Form::FAST,
            batch: 16,
        }
    }
}

/// The kernels, and their programs on the device.
#[derive(Debug)]
struct Kernels {
    module: Verified<Module>,
    run: FunctionId,
    /// Those of the planner and of lanes, and of lanes that run tightly once any did.
    plan: Program,
    loose: Program,
    tight: Option<Program>,
}

/// A heap on a device, and functions that run on it.
pub struct ForkJoinRunner {
    device: Device,
    kernels: Kernels,
    buffers: Buffers,
    grid: Buffer,
    shape: ProgramSizes,
    options: ForkJoinOptions,
    task: TaskOptions,
    entries: Vec<(FunctionId, u32)>,
    /// Types of the parameters and results of functions that are called.
    signatures: HashMap<FunctionId, (Vec<Type>, Vec<Type>)>,
    layouts: IndexVec<LayoutId, Layout>,
    /// What the host has seen of the heap since it last changed.
    cells: RefCell<Cells>,
    /// Where memory may be lacking, by number; and of each label its function, and the global that it waits for.
    sites: Vec<Span>,
    labels: Vec<(FunctionId, Option<GlobalId>)>,
    /// Of each label which words name cells.
    pointers: Vec<u32>,
    collector: Option<Collector>,
    /// Whether lanes run tightly, and whether that is over because hardly anything is free.
    tight: bool,
    gave_up: bool,
    collections: u64,
    /// The first free unit when cells were given back last between two calls.
    kept_top: u32,
    /// What the call that runs was given.
    begun: Begun,
    pace: Pace,
    /// The first words of `control`, as they were when the host last looked or wrote.
    control: Vec<u32>,
    submissions: u64,
    dispatches: u64,
    /// Units that cells took at most.
    most_units: u32,
    /// Whether anything was called since the heap was new.
    is_used: bool,
    /// What was seen of each superstep, if that is wanted.
    timeline: Option<Timeline>,
}

/// What a call was given, and what there was before it.
#[derive(Clone, Debug, Default)]
struct Begun {
    entry: u32,
    arguments: Vec<u32>,
    /// The first unit of the heap that nobody had.
    top: u32,
    /// The globals that could be seen, and those that could be from the next epoch on.
    globals: Vec<u32>,
}

impl ForkJoinRunner {
    /// Makes kernels of a module in task form, for calls of these functions, and loads them.
    ///
    /// # Errors
    /// If the device refuses a kernel, or does not have the memory.
    pub fn open(
        module: &Module,
        called: &[FunctionId],
        device: Device,
        task: &TaskOptions,
        options: ForkJoinOptions,
    ) -> Result<ForkJoinRunner, Vec<Diagnostic>> {
        let ForkJoin { module: kernels, run, plan, shape, entries, sites, labels, pointers } =
            forkjoin::lower(module, called, &room::formed(options.form, device.caps()))?;
        let options = room::fitted(options, &shape, device.caps(), device.reach()).map_err(|d| vec![d])?;
        let form = LoadOptions { indirect: vec![run], ..LoadOptions::default() };
        let programs = device.load(&kernels, &[plan, run], &form)?;
        let Ok([plan, loose]) = <[Program; 2]>::try_from(programs) else { return Err(vec![missing()]) };
        let one = |d| vec![d];
        let mut ids = vec![];
        for bytes in room::sizes(&options, &shape) {
            ids.push(device.zeroed(Memory { bytes, indirect: false }).map_err(one)?);
        }
        let Ok([heap, pool, pending, queue, control]) = <[Buffer; 5]>::try_from(ids) else {
            return Err(vec![missing()]);
        };
        let buffers = Buffers { heap, frames: pool, pending, queue, control };
        let grid = device.zeroed(Memory { bytes: 12, indirect: true }).map_err(one)?;
        let signature = |f: FunctionId| {
            let function = &module.functions[f];
            (f, (function.params.iter().map(|v| function.ty(*v)).collect(), function.results.clone()))
        };
        let mut runner = ForkJoinRunner {
            device,
            kernels: Kernels { module: kernels, run, plan, loose, tight: None },
            buffers,
            grid,
            shape,
            options,
            task: task.clone(),
            entries,
            signatures: called.iter().map(|f| signature(*f)).collect(),
            layouts: module.layouts.clone(),
            cells: RefCell::default(),
            sites,
            labels,
            pointers,
            collector: None,
            tight: false,
            gave_up: false,
            collections: 0,
            kept_top: 0,
            begun: Begun::default(),
            pace: Pace::new(&options, None),
            control: vec![0; shape.groups() as usize],
            submissions: 0,
            dispatches: 0,
            most_units: 0,
            is_used: false,
            timeline: task.timeline.then(|| Timeline { lanes: options.lanes, slices: vec![] }),
        };
        runner.fill_pool().map_err(one)?;
        runner.warm_up().map_err(one)?;
        Ok(runner)
    }

    /// Has submissions measured, so that they are neither long nor short. Without this they are as the options say.
    #[must_use]
    pub fn timed_by(mut self, clock: Clock) -> ForkJoinRunner {
        self.pace = Pace::new(&self.options, Some(clock));
        self
    }

    /// How large everything is: no larger than the device has room for.
    pub fn options(&self) -> ForkJoinOptions {
        self.options
    }

    /// Gives the device back, and all that it has given.
    pub fn close(self) -> Device {
        self.device
    }

    /// Runs an epoch in which there is nothing to do: drivers that compile kernels when they are first needed do it now.
    fn warm_up(&mut self) -> Result<(), Diagnostic> {
        let commands = self.epochs(1);
        self.device.submit(&commands)?;
        self.device.wait()?;
        self.set(control::EPOCHS, 0)
    }

    /// Everything is as it was when nothing had been called.
    fn renew_all(&mut self) -> Result<(), Diagnostic> {
        (self.submissions, self.dispatches, self.most_units, self.collections) = (0, 0, 0, 0);
        self.kept_top = 0;
        self.timeline.iter_mut().for_each(|timeline| timeline.slices.clear());
        self.clear()?;
        self.device.wait()
    }

    /// Nobody has anything, and the heap is empty.
    fn clear(&mut self) -> Result<(), Diagnostic> {
        let [_, frames, _, _, control] = room::sizes(&self.options, &self.shape);
        // What stands in free frames and behind the queue's end is never read.
        let ring = 4 * u64::from(self.options.frames) * u64::from(self.shape.pool_frame());
        let commands = [
            Command::clear(&self.buffers.frames, ring, frames - ring),
            Command::clear(&self.buffers.control, 0, control),
        ];
        self.device.submit(&commands)?;
        self.cells.borrow_mut().forget();
        self.control.fill(0);
        self.fill_pool()
    }

    /// All frames but the first are free, half of what they have room for with the workgroups; the heap's first units are no cells.
    fn fill_pool(&mut self) -> Result<(), Diagnostic> {
        let groups = self.options.lanes / self.options.form.workgroup;
        let (own, kept) = (self.shape.own_frames(), group::KEPT.len());
        let mut words = vec![0; (groups * self.shape.group()) as usize];
        let mut next = 1;
        for group in words.chunks_exact_mut(self.shape.group() as usize) {
            group[group::KEPT.iter().position(|word| *word == group::FRAME_TAIL).unwrap_or(0)] = own;
            for frame in &mut group[kept..kept + own as usize] {
                *frame = next;
                next += 1;
            }
        }
        self.write(&self.buffers.control, 4 * u64::from(self.shape.groups()), &words)?;
        // The ring holds the others: its words are 0.
        let free = self.options.frames - next;
        for (word, value) in [
            (control::FRAME_LIMIT, free),
            (control::FRAME_TAIL, free),
            (control::HEAP_TOP, self.shape.first_unit()),
            (control::GROUPS, groups),
            (control::STEPS, self.pace.steps()),
        ] {
            self.set(word, value)?;
        }
        self.set_end()
    }

    fn write(&self, buffer: &Buffer, offset: u64, words: &[u32]) -> Result<(), Diagnostic> {
        device::write(&self.device, buffer, offset, words)
    }
    fn read(&self, buffer: &Buffer, offset: u64, words: usize) -> Result<Vec<u32>, Diagnostic> {
        device::read(&self.device, buffer, offset, words)
    }
    /// A word of `control` as it was when the host last looked.
    fn seen(&self, word: u32) -> u32 {
        self.control.get(word as usize).copied().unwrap_or(0)
    }
    fn set(&mut self, word: u32, value: u32) -> Result<(), Diagnostic> {
        self.control[word as usize] = value;
        self.write(&self.buffers.control, 4 * u64::from(word), &[value])
    }

    /// The commands of some epochs.
    fn epochs(&self, count: usize) -> Vec<Command> {
        let Buffers { heap, frames, pending, queue, control } = &self.buffers;
        let ForkJoinOptions { lanes: lane_count, frames: pool, .. } = self.options;
        let mut arguments: Vec<Argument> = [heap, frames, pending, queue, control].map(buffer).to_vec();
        arguments.extend([lane_count, pool, 2 * pool].map(number));
        let plan = Dispatch {
            program: self.kernels.plan.clone(),
            arguments: vec![buffer(control), buffer(&self.grid)],
            grid: Grid::Workgroups([1, 1, 1]),
        };
        let Kernels { loose, tight, .. } = &self.kernels;
        let tight = tight.as_ref().filter(|_| self.tight && !self.gave_up);
        let program = tight.unwrap_or(loose).clone();
        let run = Dispatch { program, arguments, grid: Grid::Indirect(self.grid.clone()) };
        let one = [Command::Dispatch(plan), Command::Dispatch(run)];
        one.iter().cycle().take(2 * count).cloned().collect()
    }

    /// Puts the task of the call into the queue.
    fn begin(&mut self) -> Result<(), Diagnostic> {
        let tail = self.seen(control::TAIL);
        let place = u64::from(tail & (2 * self.options.frames - 1)) * u64::from(self.shape.task());
        let Begun { entry, arguments, .. } = &self.begun;
        let words: Vec<u32> = [*entry, 0].iter().chain(arguments).copied().collect();
        self.write(&self.buffers.queue, 4 * place, &words)?;
        self.set(control::TAIL, tail.wrapping_add(1))?;
        self.set(control::PATIENCE, 0)?;
        self.set(control::DONE, 0)
    }

    /// Runs epochs until the call is over.
    fn finish(&mut self) -> Result<(), Fault> {
        self.pace.begin();
        loop {
            if self.seen(control::HEAP_TOP) > self.seen(control::HEAP_SOFT) {
                let keep = self.seen(control::HEAP_TOP);
                if !self.grow_heap(keep).map_err(Fault::Device)? {
                    self.make_room()?;
                }
            }
            if self.seen(control::STARVED) != 0 {
                self.make_room()?;
            }
            if self.task.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(Fault::Interrupted);
            }
            let (began, steps, epochs) = (self.pace.now(), self.pace.steps(), self.seen(control::EPOCHS));
            let (ready, tasks) = (self.waiting(), self.seen(control::TASKS));
            let commands = self.epochs(if self.timeline.is_some() { 1 } else { self.pace.batch() });
            let mut bytes = vec![0; 4 * self.control.len()];
            let mut reads = [Read::new(&self.buffers.control, 0, &mut bytes)];
            self.device.submit_and_read(&commands, &mut reads).map_err(Fault::Device)?;
            self.submissions += 1;
            self.dispatches += commands.len() as u64;
            self.control = words::from_bytes(&bytes);
            let (waiting, epochs) = (self.waiting(), self.seen(control::EPOCHS).wrapping_sub(epochs));
            self.pace.note(began, epochs, waiting != 0);
            self.note_superstep(began, epochs, ready, tasks);
            // Who found no memory has counted on beyond the end.
            let (top, end) = (self.seen(control::HEAP_TOP), self.seen(control::HEAP_END));
            self.most_units = self.most_units.max(top.min(end));
            match self.seen(control::FAULT) {
                0 => {}
                lacks @ (fault::MEMORY | fault::FRAMES) => {
                    self.relieve(lacks)?;
                    continue;
                }
                code => return Err(Fault::Trap(code - fault::TRAP)),
            }
            if self.seen(control::DONE) != 0 {
                return Ok(());
            }
            if waiting == 0 {
                return Err(broken("the device has nothing to do, and no result"));
            }
            if self.pace.steps() != steps {
                self.set(control::STEPS, self.pace.steps()).map_err(Fault::Device)?;
            }
        }
    }

    /// How many tasks wait in the queue.
    fn waiting(&self) -> u32 {
        let taken = self.seen(control::HEAD).wrapping_add(self.seen(control::HANDED));
        self.seen(control::TAIL).wrapping_sub(taken)
    }

    /// Notes a submission that began then, when so many tasks were `ready` and `tasks` had been given away, if that is wanted.
    fn note_superstep(&mut self, began: Duration, epochs: u32, ready: u32, tasks: u32) {
        let (took, bytes) = (self.pace.now().saturating_sub(began), self.live_bytes());
        let tasks = self.seen(control::TASKS).wrapping_sub(tasks);
        if let Some(timeline) = &mut self.timeline {
            let busy = f64::from(ready.min(timeline.lanes)) * took.as_secs_f64();
            timeline.push(Slice { steps: epochs.into(), took, busy, tasks: tasks.into(), bytes });
        }
    }

    /// Bytes of so many units of the heap.
    fn bytes(&self, units: u32) -> u64 {
        8 * u64::from(units.saturating_sub(self.shape.first_unit()))
    }

    /// Bytes that cells take now.
    fn live_bytes(&self) -> u64 {
        self.bytes(self.seen(control::HEAP_TOP).min(self.seen(control::HEAP_END)))
    }

    /// The first of so many free units, which are the caller's from now on.
    fn take_units(&mut self, units: u32) -> Result<u32, Fault> {
        let top = self.seen(control::HEAP_TOP);
        while top.saturating_add(units) > self.seen(control::HEAP_END) {
            if !self.grow_heap(top).map_err(Fault::Device)? {
                return Err(Fault::Memory { limit: self.options.heap, at: Span::NONE });
            }
        }
        self.set(control::HEAP_TOP, top + units).map_err(Fault::Device)?;
        Ok(top)
    }

    fn heap(&self) -> Heap<'_> {
        Heap { device: &self.device, buffer: &self.buffers.heap, bytes: self.options.heap, layouts: &self.layouts }
    }
}

impl Runner for ForkJoinRunner {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        let entry = self.entries.iter().find(|(f, _)| *f == function).map(|(_, entry)| *entry);
        let (Some(entry), Some((params, results))) = (entry, self.signatures.get(&function).cloned()) else {
            return Err(broken("a function is called that was not announced"));
        };
        let arguments: Vec<u32> = arguments.iter().zip(&params).map(|(word, ty)| to_device(*word, *ty)).collect();
        self.is_used = true;
        if std::mem::take(&mut self.tight) | std::mem::take(&mut self.gave_up) {
            self.set_end().map_err(Fault::Device)?;
        }
        let globals = self.control[control::GLOBALS as usize..].to_vec();
        self.begun = Begun { entry, arguments, top: self.seen(control::HEAP_TOP), globals };
        self.begin().map_err(Fault::Device)?;
        self.cells.borrow_mut().forget();
        self.finish()?;
        self.cells.borrow_mut().forget();
        let words = (control::RESULTS..).map(|word| self.seen(word));
        Ok(words.zip(&results).map(|(word, ty)| to_host(word, *ty)).collect())
    }

    fn layout(&self, cell: u32) -> Option<LayoutId> {
        self.cells.borrow_mut().layout(&self.heap(), cell)
    }

    fn field(&self, cell: u32, field: usize) -> u32 {
        self.cells.borrow_mut().field(&self.heap(), cell, field)
    }

    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault> {
        let top = self.take_units(units(fields.len()))?;
        let header = header(layout, fields.len());
        let types = &self.layouts[layout].fields;
        let fields = fields.iter().zip(types).map(|(word, ty)| to_device(*word, *ty));
        let words: Vec<u32> = std::iter::once(header).chain(fields).collect();
        self.write(&self.buffers.heap, 8 * u64::from(top), &words).map_err(Fault::Device)?;
        self.cells.borrow_mut().forget();
        Ok(heap::pack(heap::CELL, top))
    }

    /// Words that the host gives are taken as shared.
    fn share(&mut self, _word: u32) {}
    fn drop(&mut self, _word: u32) {}

    fn trouble(&self) -> Option<Diagnostic> {
        self.cells.borrow().trouble.clone()
    }

    fn timeline(&self) -> Option<Timeline> {
        self.timeline.clone()
    }

    fn device_heap(&mut self) -> Option<girih_runtime::DeviceHeap> {
        Some(girih_runtime::DeviceHeap { device: self.device.clone(), buffer: self.buffers.heap.clone() })
    }

    fn reserve(&mut self, units: u32) -> Result<Option<girih_runtime::Reserved>, Fault> {
        let first = self.take_units(units)?;
        self.cells.borrow_mut().forget();
        Ok(self.device_heap().map(|heap| girih_runtime::Reserved { heap, first }))
    }

    fn keep_only(&mut self, words: &[u32]) -> Result<Option<Vec<u32>>, Fault> {
        self.keep(words)
    }

    fn is_crowded(&self) -> bool {
        let (top, end) = (self.seen(control::HEAP_TOP), self.seen(control::HEAP_END));
        self.options.heap >= self.options.most_heap && top > end / 2 && top / 2 > self.kept_top
    }

    fn renew(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.is_used) { self.renew_all().map_err(Fault::Device) } else { Ok(()) }
    }

    fn stats(&self) -> TaskStats {
        let at = |word: u32| self.seen(word);
        let live_bytes = self.live_bytes();
        let most_bytes = live_bytes.max(self.bytes(self.most_units));
        let epochs = StepStats {
            schedule: Schedule::ForkJoin,
            lanes: self.options.lanes,
            heap: self.options.heap,
            steps: at(control::EPOCHS).into(),
            tasks: at(control::TASKS).into(),
            submissions: self.submissions,
            dispatches: self.dispatches,
            collections: self.collections,
        };
        TaskStats { live_bytes, most_bytes, steps: Some(epochs), ..TaskStats::default() }
    }
}
