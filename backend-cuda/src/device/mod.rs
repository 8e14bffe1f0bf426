//! The device: what [`girih_core::runtime::Device`] promises, on the CUDA driver.
//!
//! | file | does |
//! |---|---|
//! | `driver` | finds the driver, turns its errors into diagnostics |
//! | `card` | cards, and what each has |
//! | `context`, `gate` | the context, the stream, events; what is timed starts as a whole |
//! | `buffers`, `staging` | memory, and the way to it |
//! | `compile`, `cache` | PTX to machine code, kept between runs |
//! | `programs`, `launch` | kernels and commands |
//!
//! All work runs in one stream, in the order in which it is queued. Indirect dispatches never wait for the host: the kernel has a second
//! form in which a full device of workgroups runs over a grid that it reads itself (see `ptx::Launches`); only kernels whose
//! workgroups must all run at once have their grid read by the host.

mod buffers;
mod cache;
mod card;
mod compile;
mod context;
mod driver;
mod gate;
mod launch;
mod programs;
mod staging;

use crate::ptx::{self, Launches, Ptx};
use buffers::{Buffers, clear};
use cache::Cache;
use card::Card;
use compile::{Code as MachineCode, machine_code};
use context::{Context, Event};
use gate::Gate;
use girih_core::diag::{Code, Diagnostic};
use girih_core::idx::IndexVec;
use girih_core::ir::{Caps, FunctionId, Module, Verified};
use girih_core::lower::compile;
use girih_core::runtime::{BufferId, Command, Device, DeviceInfo, LoadOptions, Memory, ProgramId, Read, Timing, trap};
use girih_core::span::Span;
use launch::Step;
use programs::Program;
use staging::Staging;
use std::path::PathBuf;
use std::time::Duration;

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
pub fn open(ordinal: usize) -> Result<Box<dyn Device>, Diagnostic> {
    Ok(Box::new(open_with(ordinal, &Settings::default())?))
}

/// The same with all settings.
pub fn open_with(ordinal: usize, settings: &Settings) -> Result<Cuda, Diagnostic> {
    let mut card = Card::find(ordinal)?;
    if let Some(profile) = &settings.profile {
        card.caps = card.caps.within(profile);
    }
    let context = Context::new(&card, settings.limit)?;
    let mut buffers = Buffers::default();
    let traps = buffers.allocate(&context, 16)?;
    let traps = buffers.get(traps)?.address();
    let cache = settings.cache.as_deref().map(|folder| Cache::new(folder, &card.info));
    Ok(Cuda {
        programs: IndexVec::new(),
        buffers,
        staging: Staging::default(),
        traps,
        may_trap: false,
        lost: None,
        cache,
        card,
        context,
    })
}

/// A card of NVIDIA.
#[derive(Debug)]
pub struct Cuda {
    // The order is that of being dropped: what lives in the context goes before it.
    programs: IndexVec<ProgramId, Option<Program>>,
    buffers: Buffers,
    staging: Staging,
    /// One word: the trap that was noted.
    traps: u64,
    /// Whether a launch since the last wait may have noted one.
    may_trap: bool,
    /// Why the device cannot be used any more.
    lost: Option<Diagnostic>,
    cache: Option<Cache>,
    card: Card,
    context: Context,
}

impl Cuda {
    /// Before anything else: the device is there, and this thread's.
    fn enter(&self) -> Result<(), Diagnostic> {
        match &self.lost {
            Some(why) => Err(why.clone()),
            None => self.context.enter(),
        }
    }

    /// After anything else: remembers that the device is lost.
    fn noted<T>(&mut self, result: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        if let Err(error) = &result
            && matches!(error.code, Code::DeviceLost | Code::DeviceTimeout)
            && self.lost.is_none()
        {
            self.lost = Some(error.clone());
        }
        result
    }

    fn program(&self, id: ProgramId) -> Result<&Program, Diagnostic> {
        let found = self.programs.get(id).and_then(Option::as_ref);
        found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the program was unloaded"))
    }
    fn program_mut(&mut self, id: ProgramId) -> Result<&mut Program, Diagnostic> {
        self.program(id)?;
        let found = self.programs[id].as_mut();
        found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the program was unloaded"))
    }

    /// Text as machine code on the device.
    fn code(&self, ptx: &Ptx, strict: bool) -> Result<MachineCode, Vec<Diagnostic>> {
        let code = machine_code(ptx, self.cache.as_ref(), strict)?;
        MachineCode::load(&code).map_err(|d| vec![d])
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Diagnostic> {
        self.may_trap |= self.may_trap(steps);
        steps.iter().try_for_each(|step| self.queue(step))
    }

    /// Waits, and says what was trapped.
    fn finish(&mut self) -> Result<(), Diagnostic> {
        if !std::mem::take(&mut self.may_trap) {
            return self.context.finish();
        }
        let mut word = [0; 4];
        self.staging.read(&self.context, self.traps, &mut word)?;
        self.trapped(u32::from_le_bytes(word))
    }

    /// Reports and forgets a trap; 0 is none.
    fn trapped(&mut self, code: u32) -> Result<(), Diagnostic> {
        if code == 0 {
            return Ok(());
        }
        clear(&self.context, self.traps, 4)?;
        Err(trap(code))
    }

    fn timed(&mut self, steps: &[Step], runs: usize) -> Result<Timing, Diagnostic> {
        let pairs = (0..runs).map(|_| Ok([Event::new(true)?, Event::new(true)?])).collect::<Result<Vec<_>, _>>()?;
        let gate = Gate::close(&self.context)?;
        for [start, end] in &pairs {
            start.record(&self.context)?;
            self.steps(steps)?;
            end.record(&self.context)?;
        }
        drop(gate);
        self.finish()?;
        let runs = pairs.iter().map(|[start, end]| end.since(start)).collect::<Result<_, _>>()?;
        Ok(Timing { runs, exact: true })
    }

    /// Queues steps and reads what they left; the word of the traps comes with it.
    fn reading(&mut self, steps: &[Step], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        let mut parts = Vec::with_capacity(reads.len() + 1);
        for read in reads {
            parts.push((self.buffers.range(read.buffer, read.offset, read.bytes.len() as u64)?, &mut *read.bytes));
        }
        self.steps(steps)?;
        let mut word = [0; 4];
        if self.may_trap {
            parts.push((self.traps, &mut word));
        }
        self.staging.read_all(&self.context, &mut parts)?;
        self.may_trap = false;
        self.trapped(u32::from_le_bytes(word))
    }

    fn loaded(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = compile(module, kernels, &self.card.caps, options)?;
        let entries = || compiled.entries.iter().map(|entry| entry.kernel);
        let asked: Vec<_> = entries().zip(kernels.iter().map(|id| launches(module, *id, options))).collect();
        let text = ptx::render_each(&compiled.module, &asked, self.card.target).or_else(|said| {
            // Some kernels have no form for grids in memory.
            let direct: Vec<FunctionId> = entries().collect();
            ptx::render(&compiled.module, &direct, self.card.target, Launches::Direct).map_err(|_| said)
        })?;
        let code = self.code(&text, options.checked)?;
        let programs = Program::all(compiled, &text, code, self.card.multiprocessors).map_err(|d| vec![d])?;
        Ok(programs.into_iter().map(|program| self.programs.push(Some(program))).collect())
    }
}

/// The form of a kernel that is compiled when it is loaded.
fn launches(module: &Module, kernel: FunctionId, options: &LoadOptions) -> Launches {
    let cooperative = module.functions[kernel].launch.as_ref().is_some_and(|launch| launch.cooperative);
    if !cooperative && options.indirect.contains(&kernel) { Launches::Indirect } else { Launches::Direct }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // Memory and code must not be in use when they go; a device that is lost uses nothing that counts.
        if self.enter().is_ok() {
            let _ = self.context.finish();
        }
    }
}

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.card.info
    }
    fn caps(&self) -> &Caps {
        &self.card.caps
    }

    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        self.enter()?;
        let result = self.buffers.allocate(&self.context, memory.bytes);
        self.noted(result)
    }
    fn free(&mut self, buffer: BufferId) {
        if self.context.enter().is_ok() {
            self.buffers.free(&self.context, buffer);
        }
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.enter()?;
        let to = self.buffers.range(buffer, offset, bytes.len() as u64)?;
        let result = self.staging.write(&self.context, to, bytes);
        self.noted(result)
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.enter()?;
        let result = self.reading(&[], &mut [Read { buffer, offset, bytes }]);
        self.noted(result)
    }

    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        self.enter().map_err(|d| vec![d])?;
        self.loaded(module, kernels, options)
    }
    fn unload(&mut self, program: ProgramId) {
        // Work that runs it has to be done before its code goes.
        if self.programs.get(program).is_some() && self.context.enter().is_ok() {
            let _ = self.context.finish();
            self.programs[program] = None;
        }
    }

    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        self.enter()?;
        let steps = self.plan(commands)?;
        let result = self.steps(&steps);
        self.noted(result)
    }
    fn submit_and_read(&mut self, commands: &[Command], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        self.enter()?;
        let steps = self.plan(commands)?;
        let result = self.reading(&steps, reads);
        self.noted(result)
    }
    fn wait(&mut self) -> Result<(), Diagnostic> {
        self.enter()?;
        let result = self.finish();
        self.noted(result)
    }
    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        self.enter()?;
        let steps = self.plan(commands)?;
        let result = self.timed(&steps, runs);
        self.noted(result)
    }
}
