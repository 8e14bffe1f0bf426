//! Runs a program in sweeps on any [`Device`]: the whole schedule is there before anything runs, so the device is given all of it, and asked
//! for the result.
//!
//! Invariant: one function is called, each time on a new heap. What it left is there for the host to read until the next call.

use super::batches::Batches;
use crate::device::{self, Ended, broken, buffer, missing, number};
use crate::flatten::memory::{control, fault};
use crate::flatten::{Flattened, Options};
use crate::heap::cells::{Cells, Heap, to_device, to_host};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::words;
use girih_ir::heap::{Layout, LayoutId};
use girih_ir::{FunctionId, Module, Type};
use girih_runtime::{Argument, Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program, Read};
use girih_runtime::{Fault, Runner, Schedule, StepStats, TaskOptions, TaskStats};
use std::cell::RefCell;
use std::sync::atomic::Ordering;

/// Steps of a dispatch at most: it shall be over soon.
const STEPS: u32 = 128;
/// Bytes of a heap beside those that the plan gives out, at the beginning.
const SLACK: u64 = 4 << 20;
/// How many times larger a heap becomes that was too small.
const FACTOR: u64 = 4;
/// How many times as many instances as lanes are many, and how many times as many workgroups they get, as a binary logarithm.
const MORE: u32 = 3;

/// A program in sweeps on a device.
pub struct FlattenedRunner {
    device: Device,
    program: Program,
    heap: Buffer,
    control: Buffer,
    frames: Buffer,
    schedule: Buffer,
    sweeps: Flattened,
    options: Options,
    task: TaskOptions,
    entry: FunctionId,
    /// Types of the entry's parameters and results.
    params: Vec<Type>,
    results: Vec<Type>,
    layouts: IndexVec<LayoutId, Layout>,
    cells: RefCell<Cells>,
    /// Bytes of the heap, and what they grow to at most.
    bytes: u64,
    most: u64,
    top: u32,
    /// The dispatches on this heap; none before the first run.
    batches: Option<Batches>,
    submissions: u64,
    dispatches: u64,
}

impl FlattenedRunner {
    /// How many bytes the buffers of a program take besides its heap.
    pub fn bytes(sweeps: &Flattened) -> u64 {
        4 * sweeps.plan.frames()
    }

    /// Loads the kernel, and makes a heap for what the plan gives out, which grows to so many bytes at most.
    ///
    /// # Errors
    /// If the device refuses the kernel, or does not have the memory.
    pub fn open(
        (module, entry): (&Module, FunctionId),
        sweeps: Flattened,
        device: Device,
        task: &TaskOptions,
        (options, most): (Options, u64),
    ) -> Result<FlattenedRunner, Vec<Diagnostic>> {
        let programs = device.load(&sweeps.module, &[sweeps.kernel], &LoadOptions::default())?;
        let schedule = words::to_bytes(&sweeps.plan.schedule());
        let program = programs.into_iter().next().ok_or_else(|| vec![missing()])?;
        let one = |d| vec![d];
        let allocate = |bytes: u64| device.zeroed(Memory::of(bytes.max(16))).map_err(one);
        let planned = 8 * sweeps.plan.units;
        let bytes = planned.saturating_add(planned / 4 + SLACK).next_multiple_of(256).min(most);
        let heap = allocate(bytes)?;
        let control = allocate(4 * u64::from(control::WORDS))?;
        let frames = allocate(4 * sweeps.plan.frames())?;
        let words = allocate(schedule.len() as u64)?;
        device.write(&words, 0, &schedule).map_err(one)?;
        let mut runner = FlattenedRunner {
            device,
            program,
            heap,
            control,
            frames,
            schedule: words,
            sweeps,
            options,
            task: task.clone(),
            entry,
            params: module.functions[entry].params.iter().map(|v| module.functions[entry].ty(*v)).collect(),
            results: module.functions[entry].results.clone(),
            layouts: module.layouts.clone(),
            cells: RefCell::default(),
            bytes,
            most,
            top: 0,
            batches: None,
            submissions: 0,
            dispatches: 0,
        };
        runner.warm_up().map_err(one)?;
        Ok(runner)
    }

    /// Gives the device back.
    pub fn close(self) -> Device {
        self.device
    }

    /// Runs no phase: drivers that compile kernels when they are first needed do it now.
    fn warm_up(&mut self) -> Result<(), Diagnostic> {
        self.begin()?;
        let commands = [self.dispatch(0, 0, 0), self.dispatch(0, 0, self.options.groups)];
        self.device.submit(&commands)?;
        self.device.wait()
    }

    /// The dispatch of some phases, in one workgroup or 2^`groups`.
    fn dispatch(&self, first: u32, end: u32, groups: u32) -> Command {
        let widest = self.layouts.iter().map(|layout| layout.fields.len()).max().unwrap_or(0);
        let limit = (self.bytes / 4).min(u64::from(u32::MAX)) as u32 - widest as u32 - 1;
        let mut arguments: Vec<Argument> =
            [&self.heap, &self.control, &self.frames, &self.schedule].map(buffer).to_vec();
        arguments.extend([first, end, groups, self.sweeps.plan.steps_at(), limit].map(number));
        let (program, grid) = (self.program.clone(), Grid::Workgroups([1 << groups, 1, 1]));
        Command::Dispatch(Dispatch { program, arguments, grid })
    }

    /// All dispatches: phases of few instances run in one workgroup, others in all. Where there are many more instances than lanes, there are more workgroups
    /// than run at a time: those that have little to do make room for others, so that none of the device waits for the slowest.
    fn dispatches(&self) -> Vec<Command> {
        let phases = &self.sweeps.plan.phases;
        let groups = |level: u32| match level {
            few if few < self.options.groups => 0,
            many if many >= self.options.lanes() + MORE => self.options.groups + MORE,
            _usual => self.options.groups,
        };
        let (mut commands, mut first) = (vec![], 0);
        for (i, phase) in phases.iter().enumerate() {
            let all = groups(phase.level);
            // What one workgroup has done others see in the next dispatch.
            let goes_on = phases.get(i + 1).is_some_and(|next| {
                let is_seen = all == 0 || next.common >= all;
                groups(next.level) == all && is_seen && next.end - phases[first].first <= STEPS
            });
            if !goes_on {
                debug_assert!(phase.end >= phases[first].first);
                commands.push(self.dispatch(first as u32, i as u32 + 1, all));
                first = i + 1;
            }
        }
        commands
    }

    /// The heap is as it was when nothing had run.
    fn begin(&mut self) -> Result<(), Diagnostic> {
        let units = (self.bytes / 8).min(u64::from(u32::MAX >> 3));
        let words = [0, self.sweeps.plan.units as u32, units as u32, 0];
        device::write(&self.device, &self.control, 0, &words)?;
        self.cells.borrow_mut().forget();
        Ok(())
    }

    fn heap(&self) -> Heap<'_> {
        Heap { device: &self.device, buffer: &self.heap, bytes: self.bytes, layouts: &self.layouts }
    }

    /// Whether a call is the one that was planned.
    pub fn fits(&self, function: FunctionId, arguments: &[u32]) -> bool {
        function == self.entry && self.sweeps.fits(arguments)
    }

    /// Calls the function with arguments that fit.
    ///
    /// # Errors
    /// If it fails, or should run in another way.
    pub fn run(&mut self, arguments: &[u32]) -> Result<Vec<u32>, Ended> {
        loop {
            if let Some(words) = self.attempt(arguments)? {
                return Ok(words);
            }
            if !self.grow().map_err(|error| Ended::Fault(Fault::Device(error)))? {
                return Err(Ended::Elsewhere("there is too little memory for all that it makes".into()));
            }
        }
    }

    /// Makes the heap larger, of which nothing is kept. Says whether it could.
    fn grow(&mut self) -> Result<bool, Diagnostic> {
        let wanted = self.bytes.saturating_mul(FACTOR).min(self.most);
        if wanted <= self.bytes {
            return Ok(false);
        }
        match self.device.zeroed(Memory::of(wanted)) {
            Ok(heap) => {
                self.heap = heap;
                self.bytes = wanted;
                self.batches = None;
                Ok(true)
            }
            Err(error) if error.code == Code::DeviceMemory => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The same with the heap that there is; none if it is too small.
    fn attempt(&mut self, arguments: &[u32]) -> Result<Option<Vec<u32>>, Ended> {
        let wrong = |error| Ended::Fault(Fault::Device(error));
        let words = arguments.iter().zip(&self.params).map(|(word, ty)| to_device(*word, *ty));
        let words: Vec<u32> = words.collect();
        if self.sweeps.plan.units > self.bytes / 8 {
            return Ok(None);
        }
        self.begin().map_err(wrong)?;
        if !words.is_empty() {
            device::write(&self.device, &self.frames, 0, &words).map_err(wrong)?;
        }
        let mut batches = match self.batches.take() {
            Some(mut batches) => {
                batches.again(&self.device).map_err(wrong)?;
                batches
            }
            None => Batches::new(self.dispatches()),
        };
        let mut control = vec![0; 4 * control::WORDS as usize];
        let mut results = vec![0; 4 * self.results.len()];
        for number in 0..batches.count() {
            if self.task.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(Ended::Fault(Fault::Interrupted));
            }
            if number + 1 < batches.count() {
                // An interrupt is seen between two batches, so no more than one is on its way.
                batches.run(&self.device, number).map_err(wrong)?;
            } else {
                let first = 4 * self.params.len() as u64;
                let mut reads =
                    [Read::new(&self.control, 0, &mut control), Read::new(&self.frames, first, &mut results)];
                batches.run_and_read(&self.device, number, &mut reads).map_err(wrong)?;
            }
            self.submissions += 1;
            self.dispatches += batches.batch(number).len() as u64;
        }
        self.batches = Some(batches);
        let control = words::from_bytes(&control);
        self.top = control[control::HEAP_TOP as usize].min(control[control::HEAP_END as usize]);
        match control[control::FAULT as usize] {
            0 => {}
            fault::MEMORY => return Ok(None),
            fault::LONG => return Err(Ended::Elsewhere("a loop in it goes round too often".into())),
            code => return Err(Ended::Fault(Fault::Trap(code - fault::TRAP))),
        }
        let words = words::from_bytes(&results);
        let words = words.iter().zip(self.sweeps.known_results()).map(|(word, known)| known.unwrap_or(*word));
        Ok(Some(words.zip(&self.results).map(|(word, ty)| to_host(word, *ty)).collect()))
    }
}

impl Runner for FlattenedRunner {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        if !self.fits(function, arguments) {
            return Err(broken("a function is called that was not announced"));
        }
        self.run(arguments).map_err(|ended| match ended {
            Ended::Fault(fault) => fault,
            Ended::Elsewhere(why) => broken(why),
        })
    }
    fn layout(&self, cell: u32) -> Option<LayoutId> {
        self.cells.borrow_mut().layout(&self.heap(), cell)
    }
    fn field(&self, cell: u32, field: usize) -> u32 {
        self.cells.borrow_mut().field(&self.heap(), cell, field)
    }
    fn new_cell(&mut self, _layout: LayoutId, _fields: &[u32]) -> Result<u32, Fault> {
        Err(broken("a flattened program is given nothing"))
    }
    fn device_heap(&mut self) -> Option<girih_runtime::DeviceHeap> {
        Some(girih_runtime::DeviceHeap { device: self.device.clone(), buffer: self.heap.clone() })
    }
    fn share(&mut self, _word: u32) {}
    fn drop(&mut self, _word: u32) {}
    fn trouble(&self) -> Option<Diagnostic> {
        self.cells.borrow().trouble.clone()
    }
    fn stats(&self) -> TaskStats {
        let bytes = 8 * u64::from(self.top);
        let plan = &self.sweeps.plan;
        let epochs = StepStats {
            schedule: Schedule::Flattened,
            lanes: 1 << plan.widest(),
            heap: self.bytes,
            steps: plan.phases.len() as u64,
            tasks: plan.instances(),
            submissions: self.submissions,
            dispatches: self.dispatches,
            collections: 0,
        };
        TaskStats { live_bytes: bytes, most_bytes: bytes, steps: Some(epochs), ..TaskStats::default() }
    }
}
