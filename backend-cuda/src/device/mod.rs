//! The device: what [`girih_runtime::Device`] promises, on the CUDA driver.
//!
//! | file | does |
//! |---|---|
//! | `driver` | finds the driver, turns its errors into diagnostics |
//! | `card` | cards, and what each has |
//! | `context`, `gate` | the context, the stream, events; what is timed starts as a whole |
//! | `buffers`, `staging` | memory, and the way to it |
//! | `compile` | PTX to machine code, kept between runs in a [`Cache`] |
//! | `programs`, `launch` | kernels and commands |
//!
//! All work runs in one stream, in the order in which it is queued. Indirect dispatches never wait for the host: the kernel has a second
//! form in which a full device of workgroups runs over a grid that it reads itself (see `ptx::Launches`); only kernels whose
//! workgroups must all run at once have their grid read by the host.

mod buffers;
mod card;
mod compile;
mod context;
mod driver;
mod gate;
mod launch;
mod programs;
mod staging;

use crate::packed::{LaunchShape, Packed};
use crate::ptx::{self, Launches, Ptx};
use buffers::{Buffers, clear};
use card::Card;
use compile::{Code as MachineCode, machine_code};
use context::{Context, Event};
use gate::Gate;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_cache::Cache;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::compile;
use girih_runtime::{BufferId, Command, Device, DeviceInfo, LoadOptions, Memory, ProgramId, Read, Timing, trap};
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
    let cache = settings.cache.as_deref().map(|folder| Cache::new(folder, "cuda", about(&card.info)));
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

/// What distinguishes drivers and cards, whose machine code differs.
fn about(info: &DeviceInfo) -> String {
    format!("{}\n{}\n{}", info.name, info.driver, info.backend)
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

    /// Leaves all that the device has to the process's end: a kernel still runs there, and the driver would wait for it before anything is freed.
    fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.programs));
        std::mem::forget(std::mem::take(&mut self.buffers));
        std::mem::forget(std::mem::take(&mut self.staging));
        self.context.abandon();
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
        let programs = Program::all(compiled, &text, code, self.card.multiprocessors).map_err(one)?;
        Ok((programs.into_iter().map(|program| self.programs.push(Some(program))).collect(), packed))
    }

    fn restored(&mut self, bytes: &[u8]) -> Option<ProgramId> {
        let packed = Packed::unpack(bytes)?;
        let code = MachineCode::load(packed.code).ok()?;
        let program = Program::kept(packed, code).ok()?;
        Some(self.programs.push(Some(program)))
    }
}

/// Programs on the device, and what they are restored from if that was asked for and there is one.
type LoadedPrograms = (Vec<ProgramId>, Option<Vec<u8>>);

/// The form of a kernel that is compiled when it is loaded.
fn launches(module: &Module, kernel: FunctionId, options: &LoadOptions) -> Launches {
    let cooperative = module.functions[kernel].launch.as_ref().is_some_and(|launch| launch.cooperative);
    if !cooperative && options.indirect.contains(&kernel) { Launches::Indirect } else { Launches::Direct }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // Memory and code must not be in use when they go. A context that an error has ended uses nothing any more.
        if self.enter().is_ok() {
            let rested = self.context.finish();
            let _ = self.noted(rested);
        }
        if self.lost.as_ref().is_some_and(|why| why.code == Code::DeviceTimeout) {
            self.abandon();
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
        // A device that is lost frees everything when it is dropped, or nothing.
        if self.enter().is_ok() {
            let result = self.buffers.free(&self.context, buffer);
            let _ = self.noted(result);
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
        self.loaded(module, kernels, options, false).map(|(programs, _)| programs)
    }
    fn load_to_keep(
        &mut self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<(ProgramId, Option<Vec<u8>>), Vec<Diagnostic>> {
        self.enter().map_err(|d| vec![d])?;
        // One kernel was asked for.
        self.loaded(module, &[kernel], options, true).map(|(programs, packed)| (programs[0], packed))
    }
    fn restore(&mut self, bytes: &[u8]) -> Option<ProgramId> {
        self.enter().ok()?;
        self.restored(bytes)
    }
    fn unload(&mut self, program: ProgramId) {
        // Work that runs it has to be done before its code goes.
        if self.programs.get(program).is_some() && self.enter().is_ok() {
            let rested = self.context.finish();
            if self.noted(rested).is_ok() {
                self.programs[program] = None;
            }
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
