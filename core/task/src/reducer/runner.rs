//! Runs a program whose recursion is [tallies](crate::reducer): the reference machine does on the host what there is around them, and each
//! call of one is run on a [`Device`], in epochs.
//!
//! Invariant: cells are the host's alone; the device has none.

use crate::device::{self, Ended, broken, buffer, missing, number};
use crate::reducer::memory::{control, fault, kept};
use crate::reducer::{Form, Reducers};
use girih_base::diag::{Code, Diagnostic};
use girih_base::words;
use girih_ir::heap::LayoutId;
use girih_ir::{FunctionId, Module, Verified};
use girih_machine::tasks::{Elsewhere, TaskMachine, TaskSettings};
use girih_runtime::{Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program, Read};
use girih_runtime::{Fault, Runner, Schedule, StepStats, TaskOptions, TaskStats};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Epochs that a call begins with, and that are submitted at once at most.
const FIRST: usize = 14;
const MOST: usize = 32;
/// Steps of the host at most, around the tallies of a call.
const FUEL: u64 = 1 << 20;
/// Calls of tallies at most: many that are small are done better at once.
const CALLS: u64 = 64;

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducerOptions {
    /// How many lanes there are at most.
    pub lanes: u32,
    /// Rounds of an epoch at most.
    pub rounds: u32,
    /// The form of the kernels.
    pub form: Form,
}

impl ReducerOptions {
    /// How many tasks the queue has room for: a power of 2.
    fn tasks(&self) -> u32 {
        (self.lanes * (self.form.stack + 1)).next_power_of_two()
    }
}

/// The device, and what is on it.
struct Engine {
    device: Device,
    plan: Program,
    programs: Vec<Program>,
    queue: Buffer,
    control: Buffer,
    kept: Buffer,
    grid: Buffer,
    tallies: Reducers,
    options: ReducerOptions,
    interrupt: Option<Arc<AtomicBool>>,
    stats: StepStats,
    /// How many calls may still be made.
    left: u64,
    /// Why it has to be done in another way.
    elsewhere: Option<String>,
}

/// A program on a host, and its tallies on a device.
pub struct ReducerRunner {
    machine: TaskMachine,
    engine: Arc<Mutex<Engine>>,
    module: Verified<Module>,
    task: TaskOptions,
}

impl ReducerRunner {
    /// Bytes of the queue, and of what lanes keep.
    pub fn bytes(tallies: &Reducers, options: &ReducerOptions) -> [u64; 2] {
        let width = tallies.all.iter().map(|tally| tally.width).max().unwrap_or(1);
        let tasks = u64::from(width) * u64::from(options.tasks());
        [4 * tasks, 4 * u64::from(options.lanes) * u64::from(kept(options.form.stack, width))]
    }

    /// Loads the kernels.
    ///
    /// # Errors
    /// If the device refuses one, or does not have the memory.
    pub fn open(
        module: &Verified<Module>,
        tallies: Reducers,
        device: Device,
        task: &TaskOptions,
        options: ReducerOptions,
    ) -> Result<ReducerRunner, Vec<Diagnostic>> {
        let one = |d| vec![d];
        let runs: Vec<FunctionId> = tallies.all.iter().map(|tally| tally.run).collect();
        let kernels: Vec<FunctionId> = [tallies.plan].into_iter().chain(runs.iter().copied()).collect();
        let form = LoadOptions { indirect: runs, ..LoadOptions::default() };
        let mut programs = device.load(&tallies.module, &kernels, &form)?;
        if programs.len() != kernels.len() {
            return Err(one(missing()));
        }
        let plan = programs.remove(0);
        let buffers = ReducerRunner::bytes(&tallies, &options);
        let [queue, keeps] = buffers.map(|bytes| device.zeroed(Memory { bytes, indirect: false }).map_err(one));
        let (queue, keeps) = (queue?, keeps?);
        let words = Memory::of(4 * u64::from(control::WORDS));
        let control = device.zeroed(words).map_err(one)?;
        let grid = device.zeroed(Memory { bytes: 12, indirect: true }).map_err(one)?;
        let stats = fresh(options.lanes);
        let interrupt = task.interrupt.clone();
        let mut engine = Engine {
            device,
            plan,
            programs,
            queue,
            control,
            kept: keeps,
            grid,
            tallies,
            options,
            interrupt,
            stats,
            left: CALLS,
            elsewhere: None,
        };
        engine.warm_up().map_err(one)?;
        let engine = Arc::new(Mutex::new(engine));
        let machine = machine(module, task, &engine).map_err(one)?;
        Ok(ReducerRunner { machine, engine, module: module.clone(), task: task.clone() })
    }

    /// Gives the device back.
    ///
    /// # Errors
    /// If somebody still has it.
    pub fn close(self) -> Result<Device, Diagnostic> {
        let ReducerRunner { machine, engine, .. } = self;
        drop(machine);
        let engine = Arc::into_inner(engine).ok_or_else(missing)?;
        Ok(engine.into_inner().unwrap_or_else(PoisonError::into_inner).device)
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function.
    ///
    /// # Errors
    /// If it fails, or should run in another way.
    pub fn run(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Ended> {
        self.engine().left = CALLS;
        let result = self.machine.call(function, arguments);
        if let Some(why) = self.engine().elsewhere.take() {
            return Err(Ended::Elsewhere(why));
        }
        match result {
            Err(Fault::Device(error)) if error.code == Code::OutOfFuel => {
                Err(Ended::Elsewhere("there is much to do around its recursion".into()))
            }
            other => other.map_err(Ended::Fault),
        }
    }
}

/// A machine for what the host does.
fn machine(
    module: &Verified<Module>,
    task: &TaskOptions,
    engine: &Arc<Mutex<Engine>>,
) -> Result<TaskMachine, Diagnostic> {
    let settings = TaskSettings { fuel: Some(FUEL), ..TaskSettings::default() };
    let machine = TaskMachine::new(module, task.clone(), settings)?;
    Ok(machine.with_elsewhere(Box::new(Calls { engine: engine.clone() })))
}

/// What the reference machine has done on the device.
struct Calls {
    engine: Arc<Mutex<Engine>>,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Calls")
    }
}

impl Elsewhere for Calls {
    fn call(&mut self, function: FunctionId, arguments: &[u64]) -> Option<Result<Vec<u64>, Fault>> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let tallies = &engine.tallies.all;
        let head = |(i, entries): (usize, &[(FunctionId, u32)])| {
            entries.iter().find(|(entry, _)| *entry == function).map(|(_, head)| (i, *head))
        };
        let (tally, head) = tallies.iter().map(|tally| &tally.entries[..]).enumerate().find_map(head)?;
        let result = engine.call(tally, head, arguments);
        Some(result.map(|words| words.into_iter().map(u64::from).collect()))
    }
}

impl Engine {
    /// Runs an epoch without tasks: drivers that compile kernels when they are first needed do it now.
    fn warm_up(&mut self) -> Result<(), Diagnostic> {
        for tally in 0..self.programs.len() {
            self.begin(tally, &[])?;
            let commands = self.epochs(tally, 1);
            self.device.submit(&commands)?;
        }
        self.device.wait()
    }

    /// There is one task, or none.
    fn begin(&mut self, tally: usize, task: &[u32]) -> Result<(), Diagnostic> {
        let mut words = [0; control::WORDS as usize];
        for (word, value) in [
            (control::TAIL, u32::from(!task.is_empty())),
            (control::GROUPS, self.options.lanes / self.options.form.workgroup),
            (control::ROUNDS, self.options.rounds),
        ] {
            words[word as usize] = value;
        }
        for (word, monoid) in words[control::SUM as usize..].iter_mut().zip(&self.tallies.all[tally].monoids) {
            *word = monoid.neutral();
        }
        self.write(&self.queue, task)?;
        self.write(&self.control, &words)
    }
    fn write(&self, buffer: &Buffer, words: &[u32]) -> Result<(), Diagnostic> {
        device::write(&self.device, buffer, 0, words)
    }

    /// The commands of some epochs.
    fn epochs(&self, tally: usize, count: usize) -> Vec<Command> {
        let (tasks, lanes) = (number(self.options.tasks()), number(self.options.lanes));
        let plan = Dispatch {
            program: self.plan.clone(),
            arguments: vec![buffer(&self.control), buffer(&self.grid)],
            grid: Grid::Workgroups([1, 1, 1]),
        };
        let run = Dispatch {
            program: self.programs[tally].clone(),
            arguments: vec![buffer(&self.queue), buffer(&self.control), buffer(&self.kept), tasks, lanes],
            grid: Grid::Indirect(self.grid.clone()),
        };
        let one = [Command::Dispatch(plan), Command::Dispatch(run)];
        one.iter().cycle().take(2 * count).cloned().collect()
    }

    /// Lanes keep nothing of a run that has not come to its end.
    fn forget(&mut self) -> Result<(), Diagnostic> {
        let bytes = 4 * u64::from(self.options.lanes);
        self.device.submit(&[Command::clear(&self.kept, 0, bytes)])
    }

    fn call(&mut self, tally: usize, head: u32, arguments: &[u64]) -> Result<Vec<u32>, Fault> {
        let Some(left) = self.left.checked_sub(1) else {
            self.elsewhere = Some("there are many recursions in it".into());
            return Err(Fault::Device(missing()));
        };
        self.left = left;
        let mut task = vec![head];
        task.extend(arguments.iter().map(|word| *word as u32));
        task.resize(self.tallies.all[tally].width as usize, 0);
        self.begin(tally, &task).map_err(Fault::Device)?;
        let mut count = FIRST;
        loop {
            if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                self.forget().map_err(Fault::Device)?;
                return Err(Fault::Interrupted);
            }
            let commands = self.epochs(tally, count);
            let mut bytes = [0; 4 * control::WORDS as usize];
            let mut reads = [Read::new(&self.control, 0, &mut bytes)];
            self.device.submit_and_read(&commands, &mut reads).map_err(Fault::Device)?;
            self.stats.submissions += 1;
            self.stats.dispatches += commands.len() as u64;
            let words = words::from_bytes(&bytes);
            let at = |word: u32| words[word as usize];
            let unread = at(control::LIMIT).wrapping_sub(at(control::HEAD)) as i32;
            let waiting =
                at(control::TAIL).wrapping_sub(at(control::LIMIT)) != 0 || unread > 0 || at(control::KEPT) != 0;
            let fault = at(control::FAULT);
            if fault != 0 || !waiting {
                self.stats.steps += u64::from(at(control::EPOCHS));
                self.stats.tasks += u64::from(at(control::TASKS));
            }
            match fault {
                0 if !waiting => {
                    let monoids = &self.tallies.all[tally].monoids;
                    return Ok((control::SUM..).zip(monoids).map(|(word, monoid)| at(word) ^ monoid.turn()).collect());
                }
                0 => count = (2 * count).min(MOST),
                fault::QUEUE => {
                    self.forget().map_err(Fault::Device)?;
                    self.elsewhere = Some("there is no room for more waiting calls".into());
                    return Err(Fault::Device(missing()));
                }
                code => {
                    self.forget().map_err(Fault::Device)?;
                    return Err(Fault::Trap(code - fault::TRAP));
                }
            }
        }
    }
}

impl Runner for ReducerRunner {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        self.run(function, arguments).map_err(|ended| match ended {
            Ended::Fault(fault) => fault,
            Ended::Elsewhere(why) => broken(why),
        })
    }
    fn layout(&self, cell: u32) -> Option<LayoutId> {
        self.machine.layout(cell)
    }
    fn field(&self, cell: u32, field: usize) -> u32 {
        self.machine.field(cell, field)
    }
    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault> {
        self.machine.new_cell(layout, fields)
    }
    fn share(&mut self, word: u32) {
        self.machine.share(word);
    }
    fn drop(&mut self, word: u32) {
        self.machine.drop(word);
    }
    fn stats(&self) -> TaskStats {
        TaskStats { steps: Some(self.engine().stats), ..self.machine.stats() }
    }
    fn renew(&mut self) -> Result<(), Fault> {
        self.machine = machine(&self.module, &self.task, &self.engine).map_err(Fault::Device)?;
        let lanes = self.engine().options.lanes;
        self.engine().stats = fresh(lanes);
        Ok(())
    }
}

/// Nothing has run yet on so many lanes.
fn fresh(lanes: u32) -> StepStats {
    StepStats { schedule: Schedule::Reducer, lanes, ..StepStats::default() }
}
