//! The device: what [`girih_runtime::Driver`] promises, on the CUDA driver.
//!
//! | file | does |
//! |---|---|
//! | `driver` | finds the driver, turns its errors into diagnostics |
//! | `card` | cards, and what each has |
//! | `context`, `gate` | the context, events; timed work starts as a whole |
//! | `queue` | streams, and points in them |
//! | `memory`, `staging` | memory, and the way to it |
//! | `compile` | PTX to machine code, kept between runs in a [`Cache`] |
//! | `programs`, `launch` | kernels and commands |
//! | `graph` | commands that are submitted many times |
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
mod graph;
mod launch;
mod memory;
mod programs;
mod queue;
mod staging;
mod stream_gate;

use crate::packed::{LaunchShape, Packed};
use crate::ptx::{self, Launches, Ptx};
use card::Card;
use compile::{Code as MachineCode, machine_code};
use context::{Context, Event};
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_cache::Cache;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Origin, compile};
use girih_runtime::driver::{
    BlockId, Command, Driver, FIRST_QUEUE, Fence, Fetch, Keeping, Kept, ProgramId, QueueId, Replay, Slice,
    bad_arguments,
};
use girih_runtime::{Device, DeviceInfo, LoadOptions, Memory, Read, Timing};
use graph::{Leftover, Recorded, leftover};
use launch::Step;
use memory::{Block, Blocks};
use programs::Program;
use queue::{Point, Queue, Sent};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
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
    context.enter()?;
    let (first, side) = (Arc::new(Queue::new(&context)?), Arc::new(Queue::new(&context)?));
    let cache = settings.cache.as_deref().map(|folder| Cache::new(folder, "cuda", about(&card.info)));
    Ok(Cuda(Arc::new(State {
        programs: RwLock::default(),
        retired: Mutex::default(),
        blocks: RwLock::default(),
        queues: RwLock::new(IndexVec::from_iter([Some(first)])),
        side,
        cache,
        card,
        context,
    })))
}

/// What distinguishes drivers and cards, whose machine code differs.
fn about(info: &DeviceInfo) -> String {
    format!("{}\n{}\n{}", info.name, info.driver, info.backend)
}

/// Most bytes of memory that are kept for later.
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

/// What the clones of a [`Cuda`] share.
pub struct State {
    // The order is that of being dropped: what lives in the context goes before it.
    programs: RwLock<IndexVec<ProgramId, Option<Arc<Program>>>>,
    /// What nobody has any more, but work that was queued may still use: programs and graphs.
    retired: Mutex<Vec<Retired>>,
    blocks: RwLock<Blocks>,
    queues: RwLock<IndexVec<QueueId, Option<Arc<Queue>>>>,
    /// A way to the host beside all work.
    side: Arc<Queue>,
    cache: Option<Cache>,
    card: Card,
    context: Arc<Context>,
}

/// Something, and points behind which no work uses it.
type Retired = (Leftover, Vec<Event>);

impl State {
    fn blocks(&self) -> RwLockReadGuard<'_, Blocks> {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn blocks_mut(&self) -> RwLockWriteGuard<'_, Blocks> {
        self.blocks.write().unwrap_or_else(PoisonError::into_inner)
    }
    fn retired(&self) -> MutexGuard<'_, Vec<Retired>> {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue that is there; the device is, too, and this thread's.
    fn enter(&self, queue: QueueId) -> Result<Arc<Queue>, Diagnostic> {
        self.context.enter()?;
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        let found = queues.get(queue).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| bad_arguments("the stream was closed"))
    }

    fn program(&self, id: ProgramId) -> Result<Arc<Program>, Diagnostic> {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        let found = programs.get(id).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| bad_arguments("the program was unloaded"))
    }
    fn add(&self, program: Program) -> ProgramId {
        self.forget_retired();
        self.programs.write().unwrap_or_else(PoisonError::into_inner).push(Some(Arc::new(program)))
    }

    /// Something goes when no work that is queued so far uses it any more.
    fn retire(&self, what: Leftover) {
        if self.context.enter().is_err() {
            // What uses it may never end: it stays to the process's end.
            std::mem::forget(what);
            return;
        }
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        let point = |queue: &Arc<Queue>| {
            let event = Event::new(false)?;
            event.record(queue)?;
            Ok::<Event, Diagnostic>(event)
        };
        match queues.iter().flatten().map(point).collect() {
            Ok(points) => self.retired().push((what, points)),
            Err(_) => std::mem::forget(what),
        }
        self.forget_retired();
    }

    /// Lets go of what no work uses any more.
    fn forget_retired(&self) {
        let is_done = |event: &Event| event.is_done().unwrap_or(false);
        self.retired().retain(|(_, points)| !points.iter().all(is_done));
    }

    /// Text as machine code on the device.
    fn code(&self, ptx: &Ptx, strict: bool) -> Result<MachineCode, Vec<Diagnostic>> {
        let code = machine_code(ptx, self.cache.as_ref(), strict)?;
        MachineCode::load(&code).map_err(|d| vec![d])
    }

    fn timed(&self, queue: &Queue, steps: &[Step], runs: usize) -> Result<Timing, Diagnostic> {
        let pairs = (0..runs).map(|_| Ok([Event::new(true)?, Event::new(true)?])).collect::<Result<Vec<_>, _>>()?;
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
        let packed = match (&compiled.entries[..], &text.entries[..]) {
            ([entry], [rendered]) if keep => {
                Packed::pack(entry, LaunchShape::of(&compiled.module.functions[entry.kernel]), rendered, &code)
            }
            _several => None,
        };
        let one = |d| vec![d];
        let code = MachineCode::load(&code).map_err(one)?;
        let origins = Origin::all(module, kernels, options);
        let programs = Program::all((compiled, origins), &text, code, self.card.multiprocessors).map_err(one)?;
        Ok((programs.into_iter().map(|program| self.add(program)).collect(), packed))
    }

    fn restored(&self, bytes: &[u8]) -> Option<ProgramId> {
        let packed = Packed::unpack(bytes)?;
        let code = MachineCode::load(packed.code).ok()?;
        let program = Program::kept(packed, code).ok()?;
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
        if self.context.enter().is_ok() {
            let queues = self.queues.get_mut().unwrap_or_else(PoisonError::into_inner);
            for queue in queues.iter().flatten() {
                let rested = queue.finish();
                let _ = self.context.noted(rested);
            }
        }
        if self.context.is_abandoned() {
            self.blocks_mut().abandon();
            std::mem::forget(std::mem::take(&mut self.programs));
            std::mem::forget(std::mem::take(&mut self.retired));
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

    /// The driver's own number of the card.
    fn ordinal(&self) -> u32 {
        self.card.device as u32
    }

    fn keeping(&self) -> Option<Keeping> {
        Some(Keeping { bytes: KEPT, grain: GRAIN })
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        self.context.enter()?;
        let block = self.context.noted(Block::allocate(memory.bytes))?;
        Ok(self.blocks_mut().add(block))
    }
    fn release(&self, block: BlockId) {
        let Some(mut block) = self.blocks_mut().remove(block) else { return };
        if self.context.is_abandoned() || self.context.make_current().is_err() {
            block.abandon();
        }
    }
    unsafe fn import(&self, address: u64, _bytes: u64) -> Result<BlockId, Diagnostic> {
        self.context.enter()?;
        if !self.context.has(address)? {
            let message = format!("the address {address:#x} is not in the memory of `{}`", self.card.info.name);
            return Err(bad_arguments(message)
                .hint("give an address of this card that was allocated in its primary context"));
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
        self.context.enter().map_err(|d| vec![d])?;
        self.loaded(module, kernels, options, false).map(|(programs, _)| programs)
    }
    fn load_to_keep(
        &self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<Kept, Vec<Diagnostic>> {
        self.context.enter().map_err(|d| vec![d])?;
        // One kernel was asked for.
        self.loaded(module, &[kernel], options, true).map(|(programs, packed)| (programs[0], packed))
    }
    fn restore(&self, bytes: &[u8]) -> Option<ProgramId> {
        self.context.enter().ok()?;
        self.restored(bytes)
    }
    fn unload(&self, program: ProgramId) {
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        let found = if programs.get(program).is_some() { programs[program].take() } else { None };
        drop(programs);
        if let Some(program) = found {
            let made = program.origin.as_ref().map_or(vec![], |origin| origin.made());
            self.retire(leftover(program));
            made.into_iter().for_each(|program| self.unload(program));
        }
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        self.context.enter()?;
        let queue = self.context.noted(Queue::new(&self.context))?;
        Ok(self.queues.write().unwrap_or_else(PoisonError::into_inner).push(Some(Arc::new(queue))))
    }
    unsafe fn adopt_queue(&self, handle: u64) -> Result<QueueId, Diagnostic> {
        self.context.enter()?;
        let stream = std::ptr::with_exposed_provenance_mut(handle as usize);
        let queue = self.context.noted(Queue::adopt(&self.context, stream))?;
        Ok(self.queues.write().unwrap_or_else(PoisonError::into_inner).push(Some(Arc::new(queue))))
    }
    fn close_queue(&self, queue: QueueId) {
        if queue == FIRST_QUEUE {
            return;
        }
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let closed = if queues.get(queue).is_some() { queues[queue].take() } else { None };
        drop(queues);
        drop(closed);
    }

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        let queue = self.enter(queue)?;
        let steps = self.plan(commands)?;
        self.context.noted(self.queue_all(&queue, &steps))
    }
    fn write(&self, queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        let queue = self.enter(queue)?;
        let to = self.blocks().address(to)?;
        let written = queue.staging().write(&queue, to, bytes);
        self.context.noted(written)
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        let queue = self.enter(queue)?;
        let steps = self.plan(commands)?;
        self.context.noted(self.reading(&queue, &steps, reads))
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        let queue = self.enter(queue)?;
        let address = self.blocks().address(from)?;
        let sent = self.context.noted(Sent::new(&queue, &self.side, address, from.bytes as usize))?;
        Ok(Box::new(sent))
    }
    fn fence(&self, queue: QueueId, _to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        let queue = self.enter(queue)?;
        Ok(Box::new(self.context.noted(Point::new(&queue, &self.side))?))
    }
    fn follow(&self, queue: QueueId, other: QueueId) -> Result<(), Diagnostic> {
        let (queue, other) = (self.enter(queue)?, self.enter(other)?);
        let event = Event::new(false)?;
        event.record(&other)?;
        self.context.noted(event.hold_back(&queue))
    }
    fn time(&self, queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let queue = self.enter(queue)?;
        let steps = self.plan(commands)?;
        self.context.noted(self.timed(&queue, &steps, runs))
    }
    fn record(&self, commands: &[Command]) -> Result<Option<Box<dyn Replay>>, Diagnostic> {
        self.context.enter()?;
        Ok(Some(Box::new(self.context.noted(Recorded::new(self, commands))?)))
    }
}
