//! The device: what [`girih_core::runtime::Device`] promises, on wgpu.
//!
//! | file | does |
//! |---|---|
//! | [`adapters`](mod@adapters) | finds adapters, says what they have, refuses some |
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
mod health;
mod programs;
mod record;
mod timing;
mod transfer;

pub use adapters::{Adapter, adapters, kind};

use buffers::Buffers;
use cache::Cache;
use girih_core::diag::{Code, Diagnostic};
use girih_core::idx::IndexVec;
use girih_core::ir::{Caps, Feature, FunctionId, Module, Verified};
use girih_core::lower::{self, Compiled};
use girih_core::runtime::{
    self, BufferId, Command, Device, DeviceInfo, DeviceKind, LoadOptions, Memory, ProgramId, Read, Timing,
};
use girih_core::span::Span;
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
    /// How long a wait may last.
    pub limit: Duration,
    /// Whether floats are computed exactly as written, where the adapter allows it. If not, wgpu's own way to the driver is taken, as
    /// on adapters that do not allow it.
    pub strict: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { profile: None, cache: None, limit: Duration::from_secs(300), strict: true }
    }
}

/// A device of wgpu.
pub struct Gpu {
    info: DeviceInfo,
    caps: Caps,
    device: wgpu::Device,
    queue: wgpu::Queue,
    health: Health,
    limit: Duration,
    buffers: Buffers,
    programs: IndexVec<ProgramId, Option<Program>>,
    groups: Groups,
    staging: Option<wgpu::Buffer>,
    cache: Option<Cache>,
    /// One word: the trap that was noted.
    traps: wgpu::Buffer,
    /// Whether a launch since the last wait may have noted one.
    may_trap: bool,
}

/// Opens the adapter that a selector means: its number, a part of its name, or `auto`. Software adapters have to be named.
pub fn open(selector: &str, profile: Option<&Caps>) -> Result<Box<dyn Device>, Diagnostic> {
    let settings = Settings { profile: profile.cloned(), ..Settings::default() };
    Ok(Box::new(open_with(selector, &settings)?))
}

/// The same with all settings.
pub fn open_with(selector: &str, settings: &Settings) -> Result<Gpu, Diagnostic> {
    let adapter = adapters::select(selector)?;
    let own = adapter.caps.clone();
    let own = if settings.strict { own } else { own.without(Feature::StrictFloats) };
    let caps = settings.profile.as_ref().map_or(own.clone(), |profile| own.within(profile));
    let features = adapter.offer.features_for(&caps);
    let experimental = if features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
        // SAFETY: of the experimental features only cooperative matrices are asked for, and kernels reach them through the
        // verifier, which knows the shapes that the adapter has.
        unsafe { wgpu::ExperimentalFeatures::enabled() }
    } else {
        wgpu::ExperimentalFeatures::disabled()
    };
    let descriptor = wgpu::DeviceDescriptor {
        label: None,
        required_features: features,
        required_limits: adapter.offer.limits_for(&caps),
        experimental_features: experimental,
        memory_hints: if adapter.offer.is_software() {
            wgpu::MemoryHints::MemoryUsage
        } else {
            wgpu::MemoryHints::Performance
        },
        trace: wgpu::Trace::Off,
    };
    let (device, queue) = crate::emit::guard("wgpu", || {
        pollster::block_on(adapter.raw.request_device(&descriptor)).map_err(|error| {
            let message = format!("the adapter `{}` cannot be opened: {error}", adapter.info.name);
            Diagnostic::new(Code::NoDevice, Span::NONE, message).hint("`girih devices` lists what there is")
        })
    })?;
    let health = Health::watch(&device);
    let cache = match &settings.cache {
        Some(folder) => Cache::open(&device, &health, &adapter.offer.info, folder)?,
        None => None,
    };
    let traps = health.run(&device, || {
        Ok(device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("traps"),
            size: 16,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        }))
    })?;
    Ok(Gpu {
        info: adapter.info,
        caps,
        device,
        queue,
        health,
        limit: settings.limit,
        buffers: Buffers::default(),
        programs: IndexVec::new(),
        groups: Groups::default(),
        staging: None,
        cache,
        traps,
        may_trap: false,
    })
}

impl Gpu {
    fn program(&self, id: ProgramId) -> Result<&Program, Diagnostic> {
        let found = self.programs.get(id).and_then(Option::as_ref);
        found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the program was unloaded"))
    }

    /// Loads kernels that are legal for this device's capabilities already.
    pub fn load_compiled(&mut self, compiled: &Compiled, checked: bool) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let maker = Maker {
            device: &self.device,
            health: &self.health,
            caps: &self.caps,
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
        self.health.run(&self.device, || {
            self.queue.submit(commands);
            Ok(())
        })?;
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
        Err(runtime::trap(code))
    }

    /// Waits for all that was submitted.
    fn wait_for_all(&self) -> Result<(), Diagnostic> {
        // A software adapter needs the processor for the work itself.
        let wakeful = self.info.kind == DeviceKind::Wgpu;
        self.health.wait(&self.device, self.limit, wakeful)
    }
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        self.buffers.allocate(&self.device, &self.health, self.caps.buffer_bytes, memory)
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
        let compiled = lower::compile(module, kernels, &self.caps, options)?;
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
