//! Runs functions in task form on any [`Device`], in epochs: the [`Runner`] that stands for graphics cards.
//!
//! A call is a task in the device's queue. Several epochs are submitted at once, each a dispatch of the planner and one of the lanes whose size the
//! planner has written; then the host looks whether the result is there.
//!
//! Invariant: between calls no lane does anything, and the heap is the host's to read and to add to.

use super::device::{Argument, BufferId, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, ProgramId};
use super::tasks::{Fault, Runner, TaskOptions, TaskStats};
use crate::diag::{Code, Diagnostic};
use crate::idx::IndexVec;
use crate::ir::heap::{self, Layout, LayoutId};
use crate::ir::{FunctionId, Module, Type};
use crate::lower::epochs::memory::{Buffers, SHARED, Shape, control, fault, group, lane};
use crate::lower::epochs::{self, Epochs, Form};
use crate::span::Span;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochOptions {
    /// How many lanes there are; forks become tasks while there are fewer tasks.
    pub lanes: u32,
    /// Frames of the pool; rounded up to a power of 2.
    pub frames: u32,
    /// Bytes of the heap.
    pub heap: u64,
    /// Steps that a lane goes in an epoch at most.
    pub steps: u32,
    /// The form of the kernels.
    pub form: Form,
    /// Most epochs that are submitted at once.
    pub batch: usize,
}

impl Default for EpochOptions {
    fn default() -> EpochOptions {
        EpochOptions { lanes: 1 << 14, frames: 1 << 18, heap: 64 << 20, steps: 1 << 14, form: Form::FAST, batch: 16 }
    }
}

/// Words of the heap that are fetched at once.
const PAGE: usize = 1 << 12;

/// A heap on a device, and functions that run on it.
pub struct EpochRunner {
    device: RefCell<Box<dyn Device>>,
    plan: ProgramId,
    run: ProgramId,
    buffers: Buffers,
    grid: BufferId,
    shape: Shape,
    options: EpochOptions,
    task: TaskOptions,
    entries: Vec<(FunctionId, u32)>,
    /// Types of the parameters and results of functions that are called.
    signatures: HashMap<FunctionId, (Vec<Type>, Vec<Type>)>,
    layouts: IndexVec<LayoutId, Layout>,
    /// Pages of the heap as they are on the device.
    pages: RefCell<HashMap<usize, Vec<u32>>>,
}

fn missing() -> Diagnostic {
    Diagnostic::new(Code::Internal, Span::NONE, "the device gave other kernels or buffers than it was asked for")
}

fn broken(what: impl Into<String>) -> Fault {
    Fault::Device(Diagnostic::new(Code::Internal, Span::NONE, what))
}

impl EpochRunner {
    /// Makes kernels of a module in task form, for calls of these functions, and loads them.
    ///
    /// # Errors
    /// If the device refuses a kernel, or does not have the memory.
    pub fn open(
        module: &Module,
        called: &[FunctionId],
        mut device: Box<dyn Device>,
        task: &TaskOptions,
        options: EpochOptions,
    ) -> Result<EpochRunner, Vec<Diagnostic>> {
        // Rings take the low bits of a count as the place.
        let groups = options.lanes.div_ceil(options.form.workgroup).max(1);
        let lanes = groups * options.form.workgroup;
        // Workgroups keep some for themselves.
        let frames = options.frames.max(32 * lanes).next_power_of_two();
        let options = EpochOptions { frames, lanes, ..options };
        let Epochs { module: kernels, run, plan, shape, entries } = epochs::lower(module, called, &options.form)?;
        let programs = device.load(&kernels, &[plan, run], &LoadOptions::default())?;
        let [plan, run] = programs[..] else { return Err(vec![missing()]) };
        let one = |d| vec![d];
        let words = |count: u64, indirect: bool| Memory { bytes: 4 * count, indirect };
        let frames = u64::from(options.frames);
        let sizes = [
            options.heap / 4,
            u64::from(lane::CLASSES) * u64::from(options.lanes),
            frames * u64::from(shape.pool_frame() + 2),
            frames,
            (2 * frames + u64::from(groups * shape.ring())) * u64::from(shape.task()),
            u64::from(shape.control(groups)),
        ];
        let mut ids = vec![];
        for size in sizes {
            ids.push(device.allocate(words(size, false)).map_err(one)?);
        }
        let [heap, lanes, pool, pending, queue, control] = ids[..] else { return Err(vec![missing()]) };
        let buffers = Buffers { heap, lanes, frames: pool, pending, queue, control };
        let grid = device.allocate(words(3, true)).map_err(one)?;
        let signature = |f: FunctionId| {
            let function = &module.functions[f];
            (f, (function.params.iter().map(|v| function.ty(*v)).collect(), function.results.clone()))
        };
        let runner = EpochRunner {
            device: RefCell::new(device),
            plan,
            run,
            buffers,
            grid,
            shape,
            options,
            task: task.clone(),
            entries,
            signatures: called.iter().map(|f| signature(*f)).collect(),
            layouts: module.layouts.clone(),
            pages: RefCell::default(),
        };
        runner.fill_pool().map_err(one)?;
        Ok(runner)
    }

    /// All frames but the first are free, half of what they have room for with the workgroups; the heap's first units are no cells.
    fn fill_pool(&self) -> Result<(), Diagnostic> {
        let groups = self.options.lanes / self.options.form.workgroup;
        let (own, kept) = (self.shape.spare() / 2, group::KEPT.len());
        let mut words = vec![0; (groups * self.shape.group()) as usize];
        let mut next = 1;
        for group in words.chunks_exact_mut(self.shape.group() as usize) {
            group[group::KEPT.iter().position(|word| *word == group::FRAME_TAIL).unwrap_or(0)] = own;
            for frame in &mut group[kept..kept + own as usize] {
                *frame = next;
                next += 1;
            }
        }
        self.write(self.buffers.control, 4 * u64::from(self.shape.groups()), &words)?;
        let frames = self.options.frames;
        let free: Vec<u32> = (next..frames).collect();
        let ring = 4 * u64::from(frames) * u64::from(self.shape.pool_frame());
        self.write(self.buffers.frames, ring, &free)?;
        let units = (self.options.heap / 8).min(u64::from(u32::MAX >> 3)) as u32;
        for (word, value) in [
            (control::FRAME_LIMIT, free.len() as u32),
            (control::FRAME_TAIL, free.len() as u32),
            // What lanes write that found no memory goes before the first cell.
            (control::HEAP_TOP, 1 + self.shape.largest),
            (control::HEAP_END, units),
            (control::GROUPS, groups),
            (control::STEPS, self.options.steps),
        ] {
            self.set(word, value)?;
        }
        Ok(())
    }

    fn write(&self, buffer: BufferId, offset: u64, words: &[u32]) -> Result<(), Diagnostic> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.device.borrow_mut().write(buffer, offset, &bytes)
    }
    fn read(&self, buffer: BufferId, offset: u64, words: usize) -> Result<Vec<u32>, Diagnostic> {
        let mut bytes = vec![0; 4 * words];
        self.device.borrow_mut().read(buffer, offset, &mut bytes)?;
        let (chunks, _) = bytes.as_chunks::<4>();
        Ok(chunks.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
    fn set(&self, word: u32, value: u32) -> Result<(), Diagnostic> {
        self.write(self.buffers.control, 4 * u64::from(word), &[value])
    }

    /// The commands of some epochs.
    fn epochs(&self, count: usize) -> Vec<Command> {
        let Buffers { heap, lanes, frames, pending, queue, control } = self.buffers;
        let buffer = |id| Argument::Buffer(id, 0);
        let number = |value: u32| Argument::Scalar(Constant { ty: Type::U32, bits: u64::from(value) });
        let EpochOptions { lanes: lane_count, frames: pool, .. } = self.options;
        let mut arguments: Vec<Argument> = [heap, lanes, frames, pending, queue, control].map(buffer).to_vec();
        arguments.extend([lane_count, pool, 2 * pool].map(number));
        let plan = Dispatch {
            program: self.plan,
            arguments: vec![buffer(control), buffer(self.grid)],
            grid: Grid::Workgroups([1, 1, 1]),
        };
        let run = Dispatch { program: self.run, arguments, grid: Grid::Indirect(self.grid, 0) };
        let one = [Command::Dispatch(plan), Command::Dispatch(run)];
        one.iter().cycle().take(2 * count).cloned().collect()
    }

    /// Puts the task of a call into the queue.
    fn begin(&self, entry: u32, arguments: &[u32]) -> Result<(), Diagnostic> {
        let tail = self.read(self.buffers.control, 4 * u64::from(control::TAIL), 1)?[0];
        let place = u64::from(tail & (2 * self.options.frames - 1)) * u64::from(self.shape.task());
        let words: Vec<u32> = [entry, 0].iter().chain(arguments).copied().collect();
        self.write(self.buffers.queue, 4 * place, &words)?;
        self.set(control::TAIL, tail.wrapping_add(1))?;
        self.set(control::DONE, 0)
    }

    /// Runs epochs until the call is over.
    fn finish(&self) -> Result<(), Fault> {
        let mut batch = 4.min(self.options.batch);
        loop {
            let commands = self.epochs(batch);
            let t = std::time::Instant::now();
            self.device.borrow_mut().submit(&commands).map_err(Fault::Device)?;
            let words = self.read(self.buffers.control, 0, control::RESULTS as usize).map_err(Fault::Device)?;
            let at = |word: u32| words[word as usize];
            if std::env::var_os("TRACE").is_some() {
                eprintln!(
                    "{:.0} us epoch {} head {} handed {} tail {} share {} want {} flushed {} exited {} fr {}/{}",
                    t.elapsed().as_secs_f64() * 1e6,
                    at(control::EPOCHS),
                    at(control::HEAD),
                    at(control::HANDED),
                    at(control::TAIL),
                    at(control::SHARE),
                    at(control::WANT),
                    at(control::FLUSHED),
                    at(control::EXITED),
                    at(control::FRAME_HEAD),
                    at(control::FRAME_TAIL)
                );
            }
            match at(control::FAULT) {
                0 => {}
                fault::MEMORY => return Err(Fault::Memory { limit: self.options.heap }),
                fault::FRAMES => return Err(Fault::Stack { limit: self.task.stack, function: None }),
                code => return Err(Fault::Trap(code - fault::TRAP)),
            }
            if at(control::DONE) != 0 {
                return Ok(());
            }
            if at(control::HEAP_TOP) > at(control::HEAP_END) {
                return Err(Fault::Memory { limit: self.options.heap });
            }
            let waiting = at(control::TAIL).wrapping_sub(at(control::HEAD).wrapping_add(at(control::HANDED)));
            if waiting == 0 {
                return Err(broken("the device has nothing to do, and no result"));
            }
            if self.task.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(Fault::Interrupted);
            }
            batch = (2 * batch).min(self.options.batch);
        }
    }

    /// What was counted.
    pub fn figures(&self) -> String {
        let words = self.read(self.buffers.control, 0, control::RESULTS as usize).unwrap_or_default();
        let at = |word: u32| words.get(word as usize).copied().unwrap_or(0);
        format!(
            "epochs {} tasks {} heap {} of {}",
            at(control::EPOCHS),
            at(control::TASKS),
            at(control::HEAP_TOP),
            at(control::HEAP_END)
        )
    }

    fn word(&self, at: usize) -> u32 {
        let mut pages = self.pages.borrow_mut();
        let page = pages.entry(at / PAGE).or_insert_with(|| {
            let first = at / PAGE * PAGE;
            let count = PAGE.min((self.options.heap / 4) as usize - first.min((self.options.heap / 4) as usize));
            self.read(self.buffers.heap, 4 * first as u64, count).unwrap_or_default()
        });
        page.get(at % PAGE).copied().unwrap_or(0)
    }
    /// A word as the host has it: it does not ask who else has the cell.
    fn to_host(word: u32, ty: Type) -> u32 {
        if ty == Type::Term && heap::tag(word) == SHARED { word - (SHARED - heap::CELL) } else { word }
    }
    /// A word as the device has it: the host may have given it to others too.
    fn to_device(word: u32, ty: Type) -> u32 {
        if ty == Type::Term && heap::tag(word) == heap::CELL { word + (SHARED - heap::CELL) } else { word }
    }
    fn is_cell(word: u32) -> bool {
        matches!(heap::tag(word), heap::CELL | SHARED) && heap::payload(word) != 0
    }
}

impl Runner for EpochRunner {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        let entry = self.entries.iter().find(|(f, _)| *f == function).map(|(_, entry)| *entry);
        let (Some(entry), Some((params, results))) = (entry, self.signatures.get(&function)) else {
            return Err(broken("a function is called that was not announced"));
        };
        let arguments: Vec<u32> = arguments.iter().zip(params).map(|(word, ty)| Self::to_device(*word, *ty)).collect();
        self.begin(entry, &arguments).map_err(Fault::Device)?;
        self.pages.borrow_mut().clear();
        self.finish()?;
        self.pages.borrow_mut().clear();
        let words = self.read(self.buffers.control, 4 * u64::from(control::RESULTS), results.len());
        let words = words.map_err(Fault::Device)?;
        Ok(words.into_iter().zip(results).map(|(word, ty)| Self::to_host(word, *ty)).collect())
    }

    fn layout(&self, cell: u32) -> Option<LayoutId> {
        let header = Self::is_cell(cell).then(|| self.word(2 * heap::payload(cell) as usize))?;
        let layout = header & 0xffff;
        ((layout as usize) < self.layouts.len()).then(|| LayoutId::new(layout))
    }

    fn field(&self, cell: u32, field: usize) -> u32 {
        let ty = self.layout(cell).and_then(|layout| self.layouts[layout].fields.get(field));
        ty.map_or(0, |ty| Self::to_host(self.word(2 * heap::payload(cell) as usize + 1 + field), *ty))
    }

    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault> {
        let units = epochs::units(fields.len());
        let words = self.read(self.buffers.control, 4 * u64::from(control::HEAP_TOP), 2).map_err(Fault::Device)?;
        let [top, end] = words[..] else { return Err(broken("a part of the device's memory is missing")) };
        if top.checked_add(units).is_none_or(|after| after > end) {
            return Err(Fault::Memory { limit: self.options.heap });
        }
        let types = &self.layouts[layout].fields;
        let fields = fields.iter().zip(types).map(|(word, ty)| Self::to_device(*word, *ty));
        let words: Vec<u32> = std::iter::once(layout.index() as u32 | units << 16).chain(fields).collect();
        self.write(self.buffers.heap, 8 * u64::from(top), &words).map_err(Fault::Device)?;
        self.set(control::HEAP_TOP, top + units).map_err(Fault::Device)?;
        self.pages.borrow_mut().clear();
        Ok(heap::pack(heap::CELL, top))
    }

    /// Words that the host gives are taken as shared.
    fn share(&mut self, _word: u32) {}
    fn drop(&mut self, _word: u32) {}

    fn stats(&self) -> TaskStats {
        let words = self.read(self.buffers.control, 0, control::RESULTS as usize).unwrap_or_default();
        let at = |word: u32| words.get(word as usize).copied().unwrap_or(0);
        let bytes = 8 * u64::from(at(control::HEAP_TOP).saturating_sub(1));
        TaskStats { live_bytes: bytes, most_bytes: bytes, forks: u64::from(at(control::TASKS)), ..TaskStats::default() }
    }
}
