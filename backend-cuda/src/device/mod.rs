//! The device: what [`girih_runtime::Driver`] promises, on the CUDA driver.
//!
//! | file | does |
//! |---|---|
//! | `driver` | finds the driver, turns its errors into diagnostics |
//! | `card` | cards, and what each has |
//! | `context`, `stream_gate` | the context, events; timed work starts as a whole |
//! | `queue`, `traps` | streams, points in them, and what their work trapped |
//! | `memory`, `foreign` | memory, and that of others |
//! | `staging`, `locked` | the way between host and device |
//! | `compile` | PTX to machine code, kept between runs in a [`Cache`] |
//! | `programs`, `launch` | kernels and commands |
//! | `graph` | commands that are submitted many times |
//! | `retired` | what queued work may still use and nobody has any more |
//!
//! Work of one stream runs in the order in which it is queued. Indirect dispatches never wait for the host: the kernel has a second
//! form in which a full device of workgroups runs over a grid that it reads itself (see `ptx::Launches`); only kernels whose
//! workgroups must all run at once have their grid read by the host.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

mod card;
mod compile;
mod context;
mod driver;
mod foreign;
mod graph;
mod launch;
mod locked;
mod memory;
mod programs;
mod queue;
mod retired;
mod staging;
mod stream_gate;
mod traps;

use crate::packed::{Form, FormCode, LaunchShape, Packed};
use crate::ptx::{self, Launches, Ptx};
use card::Card;
use compile::{Code as MachineCode, machine_code};
use context::{Context, Current, Event};
use girih_base::diag::Diagnostic;
use girih_base::idx::{Idx, IndexVec};
use girih_cache::Cache;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Compiled, Origin, compile};
use girih_runtime::driver::{
    BlockId, Command, Driver, FIRST_QUEUE, Fence, Fetch, Keeping, Kept, KernelSource, ProgramId, QueueId, Replay,
    Slice, bad_arguments,
};
use girih_runtime::{Device, DeviceInfo, LoadOptions, Memory, Read, Timing};
use graph::Recorded;
use launch::Step;
use locked::Pool;
use memory::{Block, Blocks};
use programs::Program;
use queue::{Point, Queue, Sent};
use retired::{Leftover, Retired};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use stream_gate::Gate;

/// How a device is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Features and limits that it is held to; its own if absent.
    pub profile: Option<Caps>,
    /// The folder of the cache of machine code; none is kept if absent.
    pub cache: Option<PathBuf>,
    /// How long a wait may last.
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { profile: None, cache: None, limit: Duration::from_secs(300) }
    }
}

/// Every card: what it is, or why it cannot be used. One entry that says why if there is no driver.
pub fn devices() -> Vec<Result<DeviceInfo, Diagnostic>> {
    match card::count() {
        Ok(count) => (0..count).map(|ordinal| Card::find(ordinal).map(|card| card.info)).collect(),
        Err(diagnostic) => vec![Err(diagnostic)],
    }
}

/// Opens the card of a number.
pub fn open(ordinal: usize) -> Result<Device, Diagnostic> {
    Ok(Device::new(open_with(ordinal, &Settings::default())?))
}

/// The same with all settings.
pub fn open_with(ordinal: usize, settings: &Settings) -> Result<Cuda, Diagnostic> {
    let mut card = Card::find(ordinal)?;
    if let Some(profile) = &settings.profile {
        card.caps = card.caps.within(profile);
    }
    let context = Arc::new(Context::new(&card, settings.limit)?);
    let pool = Arc::new(Pool::new(&context));
    let _current = context.enter()?;
    let first = Arc::new(Queue::new(&context, &pool)?);
    let cache = settings.cache.as_deref().map(|folder| Cache::new(folder, "cuda", about(&card.info)));
    Ok(Cuda(Arc::new(State {
        programs: RwLock::default(),
        retired: Retired::default(),
        blocks: RwLock::default(),
        queues: RwLock::new(IndexVec::from_iter([Some(first)])),
        pool,
        cache,
        card,
        context,
    })))
}

/// What distinguishes drivers and cards, whose machine code differs.
fn about(info: &DeviceInfo) -> String {
    format!("{}\n{}\n{}", info.name, info.driver, info.backend)
}

/// Bytes of memory that are kept for later in any case.
const KEPT: u64 = 1 << 30;
/// Every block's memory is a multiple of this.
const GRAIN: u64 = 512;

/// A card of NVIDIA. Clones are the same one.
#[derive(Clone)]
pub struct Cuda(Arc<State>);

impl Deref for Cuda {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// What the clones of a [`Cuda`] share. Everything that lives in the context holds it.
pub struct State {
    programs: RwLock<IndexVec<ProgramId, Option<Arc<Program>>>>,
    retired: Retired,
    blocks: RwLock<Blocks>,
    queues: RwLock<IndexVec<QueueId, Option<Arc<Queue>>>>,
    /// Page-locked memory for copies.
    pool: Arc<Pool>,
    cache: Option<Cache>,
    card: Card,
    context: Arc<Context>,
}

impl State {
    fn blocks(&self) -> RwLockReadGuard<'_, Blocks> {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn blocks_mut(&self) -> RwLockWriteGuard<'_, Blocks> {
        self.blocks.write().unwrap_or_else(PoisonError::into_inner)
    }
    fn queues_mut(&self) -> RwLockWriteGuard<'_, IndexVec<QueueId, Option<Arc<Queue>>>> {
        self.queues.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue that is there.
    fn queue(&self, queue: QueueId) -> Result<Arc<Queue>, Diagnostic> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        let found = queues.get(queue).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| bad_arguments("the stream was closed"))
    }

    /// The same, while the device is there and its context is this thread's.
    fn enter(&self, queue: QueueId) -> Result<(Arc<Queue>, Current), Diagnostic> {
        let current = self.context.enter()?;
        Ok((self.queue(queue)?, current))
    }

    /// Names a queue. The name of one that was closed is given out again.
    fn add_queue(&self, queue: Queue) -> QueueId {
        let (mut queues, queue) = (self.queues_mut(), Some(Arc::new(queue)));
        match queues.iter().position(Option::is_none) {
            Some(free) => {
                let id = QueueId::from_usize(free);
                queues[id] = queue;
                id
            }
            None => queues.push(queue),
        }
    }

    fn program(&self, id: ProgramId) -> Result<Arc<Program>, Diagnostic> {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        let found = programs.get(id).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| bad_arguments("the program was unloaded"))
    }
    fn add(&self, program: Program) -> ProgramId {
        self.retired.settle();
        self.programs.write().unwrap_or_else(PoisonError::into_inner).push(Some(Arc::new(program)))
    }

    /// Something goes when no work that is queued so far uses it any more.
    fn retire(&self, what: Leftover) {
        let Ok(_current) = self.context.enter() else {
            // What uses it may never end: it stays to the process's end.
            std::mem::forget(what);
            return;
        };
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        self.retired.retire(&self.context, what, queues.iter().flatten());
    }

    /// Text as machine code on the device.
    fn code(&self, ptx: &Ptx, strict: bool) -> Result<MachineCode, Vec<Diagnostic>> {
        let code = machine_code(ptx, self.cache.as_ref(), strict)?;
        MachineCode::load(&self.context, &code).map_err(|d| vec![d])
    }

    fn timed(&self, queue: &Queue, steps: &[Step], runs: usize) -> Result<Timing, Diagnostic> {
        let event = || Event::new(&self.context, true);
        let pairs = (0..runs).map(|_| Ok([event()?, event()?])).collect::<Result<Vec<_>, _>>()?;
        let gate = Gate::close(queue)?;
        for [start, end] in &pairs {
            start.record(queue)?;
            self.queue_all(queue, steps)?;
            end.record(queue)?;
        }
        drop(gate);
        queue.read(&mut [])?;
        let runs = pairs.iter().map(|[start, end]| end.since(start)).collect::<Result<_, _>>()?;
        Ok(Timing { runs, exact: true })
    }

    /// Queues steps and reads what they left.
    fn reading(&self, queue: &Queue, steps: &[Step], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        let mut parts = Vec::with_capacity(reads.len());
        for read in reads {
            parts.push((self.blocks().address(read.from)?, &mut *read.bytes));
        }
        self.queue_all(queue, steps)?;
        queue.read(&mut parts)
    }

    fn loaded(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
        keep: bool,
    ) -> Result<LoadedPrograms, Vec<Diagnostic>> {
        let compiled = compile(module, kernels, &self.card.caps, options)?;
        let entries = || compiled.entries.iter().map(|entry| entry.kernel);
        let asked: Vec<_> = entries().zip(kernels.iter().map(|id| launches(module, *id, options))).collect();
        let text = ptx::render_each(&compiled.module, &asked, self.card.target).or_else(|said| {
            // Some kernels have no form for grids in memory.
            let direct: Vec<FunctionId> = entries().collect();
            ptx::render(&compiled.module, &direct, self.card.target, Launches::Direct).map_err(|_| said)
        })?;
        let code = machine_code(&text, self.cache.as_ref(), options.checked)?;
        let packed = if keep { self.packed(&compiled, &text, &code) } else { None };
        let one = |d| vec![d];
        let code = MachineCode::load(&self.context, &code).map_err(one)?;
        let origins = Origin::all(module, kernels, options);
        let programs = Program::all((compiled, origins), &text, code, self.card.multiprocessors).map_err(one)?;
        Ok((programs.into_iter().map(|program| self.add(program)).collect(), packed))
    }

    /// The bytes of a program of one kernel: its code, and the text of its other form, if it has one.
    fn packed(&self, compiled: &Compiled, text: &Ptx, code: &[u8]) -> Option<Vec<u8>> {
        let ([entry], [rendered]) = (&compiled.entries[..], &text.entries[..]) else { return None };
        let shape = LaunchShape::of(&compiled.module.functions[entry.kernel]);
        let other = match rendered.launches {
            Launches::Direct if shape.cooperative => None,
            Launches::Direct => Some(Launches::Indirect),
            Launches::Indirect => Some(Launches::Direct),
        };
        // A kernel without one is refused here.
        let other =
            other.and_then(|other| ptx::render(&compiled.module, &[entry.kernel], self.card.target, other).ok());
        let mut forms = vec![Form { rendered: rendered.clone(), code: FormCode::Machine(code) }];
        if let Some(other) = &other {
            forms.push(Form { rendered: other.entries[0].clone(), code: FormCode::Text(&other.text) });
        }
        Packed::pack(entry, shape, &forms)
    }

    fn restored(&self, bytes: &[u8], source: Option<KernelSource<'_>>) -> Option<ProgramId> {
        let load = |code: &[u8]| MachineCode::load(&self.context, code);
        let (target, multiprocessors) = (self.card.target, self.card.multiprocessors);
        let mut program = Program::kept(Packed::unpack(bytes)?, target, multiprocessors, &load).ok()?;
        program.origin = source.and_then(|from| Origin::all(from.module, &[from.kernel], from.options).pop());
        Some(self.add(program))
    }
}

/// Programs on the device, and what they are restored from if that was asked for and there is one.
type LoadedPrograms = (Vec<ProgramId>, Option<Vec<u8>>);

/// The form of a kernel that is compiled when it is loaded.
fn launches(module: &Module, kernel: FunctionId, options: &LoadOptions) -> Launches {
    let cooperative = module.functions[kernel].launch.as_ref().is_some_and(|launch| launch.cooperative);
    if !cooperative && options.indirect.contains(&kernel) { Launches::Indirect } else { Launches::Direct }
}

impl Drop for State {
    fn drop(&mut self) {
        // Memory and code must not be in use when they go. A context that an error has ended uses nothing any more.
        if let Ok(_current) = self.context.enter() {
            let queues = self.queues.get_mut().unwrap_or_else(PoisonError::into_inner);
            let rested = queues.iter().flatten().try_for_each(|queue| queue.finish());
            let _ = self.context.noted(rested.and_then(|()| self.retired.finish()));
        }
    }
}

impl Driver for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.card.info
    }
    fn caps(&self) -> &Caps {
        &self.card.caps
    }
    fn moves_bytes(&self) -> bool {
        true
    }

    /// The driver's own number of the card.
    fn ordinal(&self) -> u32 {
        self.card.device as u32
    }
    fn multiprocessors(&self) -> Option<u32> {
        Some(self.card.multiprocessors)
    }

    fn keeping(&self) -> Option<Keeping> {
        Some(Keeping { bytes: KEPT, to_peak: true, grain: GRAIN })
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        let _current = self.context.enter()?;
        let block = self.context.noted(Block::allocate(&self.context, memory.bytes))?;
        Ok(self.blocks_mut().add(block))
    }
    fn release(&self, block: BlockId) {
        // The driver may wait while it frees memory: nobody else waits for that.
        let block = self.blocks_mut().remove(block);
        drop(block);
    }
    unsafe fn import(&self, address: u64, bytes: u64) -> Result<BlockId, Diagnostic> {
        let _current = self.context.enter()?;
        if !foreign::is_of(&self.context, address, bytes)? {
            let message = format!(
                "the {bytes} bytes from address {address:#x} on are not all in the memory of `{}`",
                self.card.info.name
            );
            return Err(bad_arguments(message).hint("give memory that was allocated on this card"));
        }
        Ok(self.blocks_mut().add(Block::foreign(address)))
    }
    fn address(&self, slice: Slice) -> Option<u64> {
        self.blocks().address(slice).ok()
    }

    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let _current = self.context.enter().map_err(|d| vec![d])?;
        self.loaded(module, kernels, options, false).map(|(programs, _)| programs)
    }
    fn load_to_keep(
        &self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<Kept, Vec<Diagnostic>> {
        let _current = self.context.enter().map_err(|d| vec![d])?;
        // One kernel was asked for.
        self.loaded(module, &[kernel], options, true).map(|(programs, packed)| (programs[0], packed))
    }
    fn restore(&self, bytes: &[u8], source: Option<KernelSource<'_>>) -> Option<ProgramId> {
        let _current = self.context.enter().ok()?;
        self.restored(bytes, source)
    }
    fn unload(&self, program: ProgramId) {
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        let found = if programs.get(program).is_some() { programs[program].take() } else { None };
        drop(programs);
        if let Some(program) = found {
            let made = program.origin.as_ref().map_or(vec![], |origin| origin.made());
            self.retire(Box::new(program));
            made.into_iter().for_each(|program| self.unload(program));
        }
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        let _current = self.context.enter()?;
        let queue = self.context.noted(Queue::new(&self.context, &self.pool))?;
        Ok(self.add_queue(queue))
    }
    unsafe fn adopt_queue(&self, handle: u64) -> Result<QueueId, Diagnostic> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's promise.
        let queue = self.context.noted(unsafe { Queue::adopt(&self.context, &self.pool, handle) })?;
        Ok(self.add_queue(queue))
    }
    fn close_queue(&self, queue: QueueId) {
        if queue == FIRST_QUEUE {
            return;
        }
        let closed = {
            let mut queues = self.queues_mut();
            if queues.get(queue).is_some() { queues[queue].take() } else { None }
        };
        let Some(closed) = closed else { return };
        match self.context.enter() {
            Ok(_current) => self.retired.close(&self.context, closed),
            // Nothing is freed if work may never end, and nothing is in use if the device is lost.
            Err(_) => drop(closed),
        }
    }

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        let steps = self.plan(commands)?;
        self.context.noted(self.queue_all(&queue, &steps))
    }
    fn write(&self, queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        let to = self.blocks().address(to)?;
        self.context.noted(queue.write(to, bytes))
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        let steps = self.plan(commands)?;
        self.context.noted(self.reading(&queue, &steps, reads))
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        let address = self.blocks().address(from)?;
        Ok(Box::new(self.context.noted(Sent::new(&queue, address, from.bytes as usize))?))
    }
    fn fence(&self, queue: QueueId, to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        Ok(Box::new(self.context.noted(Point::new(&queue, to_tell))?))
    }
    fn follow(&self, queue: QueueId, other: QueueId) -> Result<(), Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        let other = self.queue(other)?;
        let event = Event::new(&self.context, false)?;
        self.context.noted(event.record(&other).and_then(|()| event.hold_back(&queue)))
    }
    fn follow_point(&self, queue: QueueId, point: &(dyn Fence + 'static), other: QueueId) -> Result<(), Diagnostic> {
        let Some(event) = queue::event(point) else { return self.follow(queue, other) };
        let (queue, _current) = self.enter(queue)?;
        self.context.noted(event.hold_back(&queue))
    }
    fn time(&self, queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let (queue, _current) = self.enter(queue)?;
        let steps = self.plan(commands)?;
        self.context.noted(self.timed(&queue, &steps, runs))
    }
    fn record(&self, commands: &[Command]) -> Result<Option<Box<dyn Replay>>, Diagnostic> {
        let _current = self.context.enter()?;
        Ok(Some(Box::new(self.context.noted(Recorded::new(self, commands))?)))
    }
}
