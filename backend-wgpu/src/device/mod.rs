//! The device: what [`girih_runtime::Device`] promises, on wgpu.
//!
//! | file | does |
//! |---|---|
//! | [`adapters`](mod@adapters) | finds adapters, says what they have, refuses some |
//! | [`context`] | a device of wgpu, which a window may draw with, too |
//! | [`caps`] | capabilities from features and limits, and back |
//! | [`buffers`], [`transfer`] | memory, and the way to it |
//! | [`programs`], [`cache`] | pipelines |
//! | [`record`], [`timing`] | commands; how long they take |
//! | [`health`] | errors, lost devices, time limits |
//!
//! Buffers larger than one binding reaches (128 MiB by WebGPU's defaults) are refused as arguments: a kernel for large data takes several
//! buffer parameters, one for each segment, each of which is a buffer of its own.

mod adapters;
mod buffers;
mod cache;
mod caps;
mod context;
mod health;
mod programs;
mod record;
mod timing;
mod transfer;

pub use adapters::{Adapter, adapters, kind};
pub use context::{Context, SharedBuffer, instance_for};

use buffers::Buffers;
use cache::Cache;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::Compiled;
use girih_runtime::{BufferId, Command, Device, DeviceInfo, DeviceKind, LoadOptions, Memory, ProgramId, Read, Timing};
use health::Health;
use programs::{Maker, Program};
use record::Groups;
use std::path::PathBuf;
use std::time::Duration;

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

/// A device of wgpu that runs kernels.
pub struct Gpu {
    context: Context,
    /// As the context has them: handles.
    device: wgpu::Device,
    queue: wgpu::Queue,
    health: Health,
    buffers: Buffers,
    programs: IndexVec<ProgramId, Option<Program>>,
    groups: Groups,
    staging: Option<wgpu::Buffer>,
    cache: Option<Cache>,
    /// One word: the trap that was noted.
    traps: wgpu::Buffer,
    /// Whether a launch since the last wait may have noted one.
    may_trap: bool,
    /// What was submitted last: others have work on the queue too, which need not be waited for.
    last: Option<wgpu::SubmissionIndex>,
}

/// Opens the adapter that a selector means: its number, a part of its name, or `auto`. Software adapters have to be named.
pub fn open(selector: &str, profile: Option<&Caps>) -> Result<Box<dyn Device>, Diagnostic> {
    let settings = Settings { profile: profile.cloned(), ..Settings::default() };
    Ok(Box::new(open_with(selector, &settings)?))
}

/// The same with all settings.
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
        Ok(Gpu {
            context,
            device,
            queue,
            health,
            buffers: Buffers::default(),
            programs: IndexVec::new(),
            groups: Groups::default(),
            staging: None,
            cache,
            traps,
            may_trap: false,
            last: None,
        })
    }

    /// Lets others on this device's context read a buffer, too. It is not used for anything else while they have it, also if it is freed.
    ///
    /// # Errors
    /// If the buffer was freed.
    pub fn share(&mut self, buffer: BufferId) -> Result<SharedBuffer, Diagnostic> {
        let shared = self.buffers.share(buffer)?;
        Ok(SharedBuffer::new(self.context.clone(), shared.raw.clone(), shared.bytes))
    }

    fn program(&self, id: ProgramId) -> Result<&Program, Diagnostic> {
        let found = self.programs.get(id).and_then(Option::as_ref);
        found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the program was unloaded"))
    }

    /// Loads kernels that are legal for this device's capabilities already.
    pub fn load_compiled(&mut self, compiled: &Compiled, checked: bool) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let maker = Maker {
            device: &self.device,
            health: &self.health,
            caps: self.context.caps(),
            cache: self.cache.as_ref().map(|c| &c.raw),
            checked,
        };
        let programs = maker.programs(compiled)?;
        if let Some(cache) = &mut self.cache {
            cache.save();
        }
        Ok(programs.into_iter().map(|p| self.programs.push(Some(p))).collect())
    }

    fn submit_recorded(
        &mut self,
        commands: impl IntoIterator<Item = wgpu::CommandBuffer>,
        traps: bool,
    ) -> Result<(), Diagnostic> {
        self.last = Some(self.health.run(&self.device, || Ok(self.queue.submit(commands)))?);
        self.may_trap |= traps;
        Ok(())
    }

    /// Reports and forgets a trap.
    fn check_traps(&mut self) -> Result<(), Diagnostic> {
        if !std::mem::take(&mut self.may_trap) {
            return Ok(());
        }
        let mut word = [0; 4];
        self.download_chunk(&self.traps.clone(), 0, &mut word)?;
        self.trapped(u32::from_le_bytes(word))
    }

    /// Reports and forgets a trap; 0 is none.
    fn trapped(&mut self, code: u32) -> Result<(), Diagnostic> {
        if code == 0 {
            return Ok(());
        }
        self.health.run(&self.device, || {
            self.queue.write_buffer(&self.traps, 0, &[0; 4]);
            Ok(())
        })?;
        Err(girih_runtime::trap(code))
    }

    /// Waits for all that was submitted here.
    fn wait_for_all(&self) -> Result<(), Diagnostic> {
        // A software adapter needs the processor for the work itself.
        let wakeful = self.context.info().kind == DeviceKind::Wgpu;
        let waited = self.health.wait(&self.device, self.last.as_ref(), self.context.limit(), wakeful);
        if waited.as_ref().is_err_and(|error| error.code == Code::DeviceTimeout) {
            self.context.abandon();
        }
        waited
    }
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        self.context.info()
    }
    fn caps(&self) -> &Caps {
        self.context.caps()
    }

    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        self.buffers.allocate(&self.device, &self.health, self.context.caps().buffer_bytes, memory)
    }
    fn free(&mut self, buffer: BufferId) {
        self.groups.forget_buffer(buffer);
        self.buffers.free(buffer);
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.upload(buffer, offset, bytes)
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.download(buffer, offset, bytes)
    }

    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = girih_lower::compile(module, kernels, self.context.caps(), options)?;
        self.load_compiled(&compiled, options.checked)
    }
    fn unload(&mut self, program: ProgramId) {
        self.groups.forget_program(program);
        if self.programs.get(program).is_some() {
            self.programs[program] = None;
        }
    }

    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        let (recorded, traps) = self.record(commands)?;
        self.submit_recorded([recorded], traps)
    }
    fn submit_and_read(&mut self, commands: &[Command], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        let (recorded, traps) = self.record(commands)?;
        self.submit_and_download(recorded, traps, reads)
    }
    fn wait(&mut self) -> Result<(), Diagnostic> {
        self.wait_for_all()?;
        self.check_traps()
    }
    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        self.timed(commands, runs)
    }
}
