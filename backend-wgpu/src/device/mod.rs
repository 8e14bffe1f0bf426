//! The device: what [`girih_runtime::Driver`] promises, on wgpu.
//!
//! | file | does |
//! |---|---|
//! | [`adapters`](mod@adapters) | finds adapters, says what they have, refuses some |
//! | [`context`] | a device of wgpu, with which a window may draw too |
//! | [`caps`] | capabilities from features and limits, and back |
//! | [`memory`], [`transfer`] | memory, and the way to it |
//! | [`fence`], [`submissions`] | fences: points in the work; what was submitted last |
//! | [`programs`], [`cache`] | pipelines |
//! | [`record`], [`replay`], [`timing`] | commands; those that are submitted many times; how long they take |
//! | [`errors`] | errors, lost devices, time limits |
//! | `blocking`, `suspending`, `web` | where threads wait; what stands there for workers of a browser, which suspends them; and for pages, which may not wait |
//!
//! wgpu has one queue, so all streams of a device share one order, and a trap is reported to the first stream that asks.
//!
//! A buffer that is larger than a binding reaches (128 MiB by WebGPU's defaults) is refused as an argument: a kernel for large data takes several
//! buffer parameters, one for each segment of the data.

mod adapters;
#[cfg(waits)]
#[cfg_attr(target_arch = "wasm32", path = "suspending.rs")]
mod blocking;
mod cache;
mod caps;
mod context;
mod errors;
mod fence;
mod memory;
mod programs;
mod record;
mod replay;
mod submissions;
mod timing;
mod transfer;
#[cfg(not(waits))]
mod web;

pub use adapters::{Adapter, adapters_of};
#[cfg(waits)]
pub use adapters::{adapters, kind};
pub use context::{Context, SharedBuffer, instance_for};

use cache::Cache;
use errors::Health;
use fence::{Note, Point};
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Compiled, Origin};
#[cfg(waits)]
use girih_runtime::Device;
use girih_runtime::driver::untold::Untold;
use girih_runtime::driver::{
    BlockId, Command, Driver, Fence, Fetch, Keeping, ProgramId, QueueId, Replay, Slice, bad_arguments,
};
use girih_runtime::{Buffer, DeviceInfo, LoadOptions, Memory, Read, Timing};
use memory::Blocks;
use programs::{Maker, Program};
use record::Groups;
use replay::BoundList;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use submissions::Submissions;
use transfer::Stagings;

/// How a device is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Features and limits that it is held to; its own if absent.
    pub profile: Option<Caps>,
    /// The folder of the cache of pipelines; none is kept if absent.
    pub cache: Option<PathBuf>,
    /// How long a wait may last. If absent, five minutes; and an hour on a software adapter, which has as much of the processor as others
    /// leave to it.
    pub limit: Option<Duration>,
    /// Whether floats are computed exactly as written, where the adapter allows it. If not, wgpu's own way to the driver is taken, as
    /// on adapters that do not allow it.
    pub strict: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { profile: None, cache: None, limit: None, strict: true }
    }
}

/// Bytes of memory that are kept for later in any case.
const KEPT: u64 = 256 << 20;
/// Every block's memory is a multiple of this.
const GRAIN: u64 = 256;

/// A device of wgpu that runs kernels. Clones are the same one.
#[derive(Clone)]
pub struct Gpu(Arc<State>);

impl Deref for Gpu {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// What the clones of a [`Gpu`] share.
pub struct State {
    context: Context,
    /// As the context has them: handles.
    device: wgpu::Device,
    queue: wgpu::Queue,
    health: Health,
    blocks: RwLock<Blocks>,
    programs: RwLock<IndexVec<ProgramId, Option<Arc<Program>>>>,
    groups: Mutex<Groups>,
    stagings: Arc<Stagings>,
    cache: Mutex<Option<Cache>>,
    /// One word: the trap that was noted.
    traps: wgpu::Buffer,
    /// Whether a launch since the last copy of the word may have noted one.
    may_trap: AtomicBool,
    untold: Mutex<Untold<Note>>,
    /// What was submitted last: others have work on wgpu's queue too, which need not be waited for.
    last: Mutex<Submissions<wgpu::SubmissionIndex>>,
    /// How many names its queue has.
    queues: AtomicU32,
}

/// Opens the adapter that a selector means: its number, a part of its name, or `auto`. Software adapters have to be named.
#[cfg(waits)]
pub fn open(selector: &str, profile: Option<&Caps>) -> Result<Device, Diagnostic> {
    let settings = Settings { profile: profile.cloned(), ..Settings::default() };
    Ok(Device::new(open_with(selector, &settings)?))
}

/// The same with all settings.
#[cfg(waits)]
pub fn open_with(selector: &str, settings: &Settings) -> Result<Gpu, Diagnostic> {
    Context::open(adapters::select(selector)?, settings)?.gpu()
}

impl Gpu {
    /// A device without buffers and programs.
    fn new(context: Context) -> Result<Gpu, Diagnostic> {
        let (device, queue, health) = (context.device().clone(), context.queue().clone(), context.health().clone());
        let folder = context.settings().cache.as_deref();
        let cache = folder.and_then(|folder| Cache::open(&device, &health, context.adapter_info(), folder));
        let traps = health.run(&device, || {
            Ok(device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("traps"),
                size: 16,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }))
        })?;
        Ok(Gpu(Arc::new(State {
            context,
            device,
            queue,
            health,
            blocks: RwLock::default(),
            programs: RwLock::default(),
            groups: Mutex::default(),
            stagings: Arc::default(),
            cache: Mutex::new(cache),
            traps,
            may_trap: AtomicBool::new(false),
            untold: Mutex::default(),
            last: Mutex::default(),
            queues: AtomicU32::new(1),
        })))
    }

    /// Lets others on this device's context read a buffer, too. It is not used for anything else while they have it.
    ///
    /// # Errors
    /// If the buffer is not of this device.
    pub fn share(&self, buffer: &Buffer) -> Result<SharedBuffer, Diagnostic> {
        let slice = buffer.in_driver()?;
        let (raw, offset) = self.blocks().place(slice)?;
        Ok(SharedBuffer::new(self.clone(), raw, offset, buffer.clone()))
    }
}

impl State {
    fn blocks(&self) -> RwLockReadGuard<'_, Blocks> {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn blocks_mut(&self) -> RwLockWriteGuard<'_, Blocks> {
        self.blocks.write().unwrap_or_else(PoisonError::into_inner)
    }
    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn last(&self) -> MutexGuard<'_, Submissions<wgpu::SubmissionIndex>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn untold(&self) -> MutexGuard<'_, Untold<Note>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn program(&self, id: ProgramId) -> Result<Arc<Program>, Diagnostic> {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        let found = programs.get(id).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| bad_arguments("the program was unloaded"))
    }

    /// Loads kernels that are legal for this device's capabilities already.
    fn load_legal(
        &self,
        compiled: &Compiled,
        origins: Vec<Arc<Origin>>,
        checked: bool,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let maker = Maker {
            device: &self.device,
            health: &self.health,
            caps: self.context.caps(),
            cache: cache.as_ref().map(|c| &c.raw),
            checked,
        };
        let mut made = maker.programs(compiled)?;
        made.iter_mut().zip(origins).for_each(|(program, origin)| program.origin = Some(origin));
        if let Some(cache) = &mut *cache {
            cache.save();
        }
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        Ok(made.into_iter().map(|program| programs.push(Some(Arc::new(program)))).collect())
    }

    /// Makes kernels legal, and loads them.
    fn load_module(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = girih_lower::compile(module, kernels, self.context.caps(), options)?;
        self.load_legal(&compiled, Origin::all(module, kernels, options), options.checked)
    }

    /// Submits. Nothing is locked meanwhile, for wgpu calls others back, who may come here.
    fn submitted(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
        let begun = self.last().begin();
        let submission = self.queue.submit(commands);
        self.last().note(begun, submission.clone());
        submission
    }

    fn submit_recorded(
        &self,
        commands: impl IntoIterator<Item = wgpu::CommandBuffer>,
        traps: bool,
    ) -> Result<(), Diagnostic> {
        let submitted = self.health.run(&self.device, || Ok(self.submitted(commands)));
        // Afterwards: a point that was made before must not take the traps for seen.
        if traps {
            self.may_trap.store(true, Ordering::Release);
        }
        submitted.map(drop)
    }

    /// Waits for all that was submitted here.
    fn wait_for_all(&self) -> Result<(), Diagnostic> {
        let last = self.last().last();
        last.iter().try_for_each(|last| self.wait_until(last))
    }
}

impl Driver for Gpu {
    fn info(&self) -> &DeviceInfo {
        self.context.info()
    }
    fn caps(&self) -> &Caps {
        self.context.caps()
    }

    fn keeping(&self) -> Option<Keeping> {
        Some(Keeping { bytes: KEPT, to_peak: true, grain: GRAIN })
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        let raw = memory::create(&self.device, &self.health, memory)?;
        Ok(self.blocks_mut().add(raw))
    }
    fn starts_zeroed(&self) -> bool {
        true
    }
    fn release(&self, block: BlockId) {
        self.groups().forget_block(block);
        self.blocks_mut().remove(block);
    }

    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        self.load_module(module, kernels, options)
    }
    fn unload(&self, program: ProgramId) {
        self.groups().forget_program(program);
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        let gone = if programs.get(program).is_some() { programs[program].take() } else { None };
        let made = gone.iter().filter_map(|gone| gone.origin.as_ref()).flat_map(|origin| origin.made());
        for program in made {
            programs[program] = None;
        }
    }

    /// There is one queue.
    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        Ok(QueueId::new(self.queues.fetch_add(1, Ordering::Relaxed)))
    }
    fn close_queue(&self, _queue: QueueId) {}

    fn submit(&self, _queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        let recorded = self.recorded(commands)?;
        self.submit_recorded([recorded.commands], recorded.traps)
    }
    fn write(&self, _queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.upload(to, bytes)
    }
    fn read(&self, _queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        let mut parts = Vec::with_capacity(reads.len());
        for Read { from, bytes } in reads {
            let (raw, offset) = self.blocks().place(*from)?;
            parts.push((raw, offset, &mut **bytes));
        }
        if commands.is_empty() && parts.is_empty() && !self.may_trap.load(Ordering::Acquire) {
            let point = self.untold().point();
            self.wait_for_all()?;
            return self.untold().tell(point);
        }
        let recorded = if commands.is_empty() { None } else { Some(self.recorded(commands)?) };
        self.download(recorded, parts)
    }
    fn fetch(&self, _queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        Ok(Box::new(Point::new(self, Some(from), true)?))
    }
    fn fence(&self, _queue: QueueId, to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        Ok(Box::new(Point::new(self, None, to_tell)?))
    }
    /// There is one queue, which is in order.
    fn follow(&self, _queue: QueueId, _other: QueueId) -> Result<(), Diagnostic> {
        Ok(())
    }
    fn time(&self, _queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        self.timed(commands, runs)
    }
    fn record(&self, commands: &[Command]) -> Result<Option<Box<dyn Replay>>, Diagnostic> {
        Ok(Some(Box::new(BoundList::new(self, commands)?)))
    }
}

impl Gpu {
    /// Loads kernels that are legal for this device's capabilities already.
    ///
    /// # Errors
    /// If the driver's compiler refuses one.
    pub fn load_compiled(&self, compiled: &Compiled, checked: bool) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        self.load_legal(compiled, vec![], checked)
    }
}
