//! The device: buffers in the host's memory, programs in executable memory, commands that run when they are submitted.

mod buffers;
mod launch;
mod pool;
mod programs;
mod watch;

use crate::host;
use buffers::{Buffers, Range};
use cranelift_codegen::isa::OwnedTargetIsa;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{LaunchPlan, Parameter, PlannedGrid};
use girih_runtime::{BufferId, Command, Device, DeviceInfo, DeviceKind, LoadOptions, Memory, ProgramId, Timing, trap};
use launch::Launch;
use pool::Pool;
use programs::Programs;
use std::time::{Duration, Instant};
use watch::{Stop, Watch};

/// How the device is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Capabilities that it is held to, as `Caps::web()`.
    pub profile: Option<Caps>,
    /// How many threads run kernels; as many as the machine runs at once if absent.
    pub threads: Option<usize>,
    /// How long the work of one submission may take.
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { profile: None, threads: None, limit: Duration::from_secs(300) }
    }
}

/// The host's processor.
#[derive(Debug)]
pub struct Cpu {
    info: DeviceInfo,
    caps: Caps,
    isa: Isa,
    buffers: Buffers,
    programs: Programs,
    pool: Pool,
    stop: Stop,
    watch: Watch,
    limit: Duration,
    /// What went wrong since the last wait.
    failed: Option<Diagnostic>,
}

/// The instruction set.
struct Isa(OwnedTargetIsa);

impl std::fmt::Debug for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// A step of work whose arguments have been checked.
enum Planned {
    Dispatch(ProgramId, LaunchPlan),
    Copy(Range, Range),
    Clear(Range),
}

impl Cpu {
    /// Opens it.
    pub fn open(settings: &Settings) -> Result<Cpu, Diagnostic> {
        let isa = host::isa(host::Use::Kernels)?;
        let own = Caps::cpu(host::has_fma(&isa));
        let held = settings.profile.as_ref().map_or(own.clone(), |profile| own.within(profile));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Pool::new(settings.threads.unwrap_or(cores).max(1));
        let info = DeviceInfo {
            kind: DeviceKind::Cpu,
            name: host::name(&isa),
            driver: format!("Cranelift {}", cranelift_codegen::VERSION),
            backend: format!("native code, {} threads", pool.len()),
        };
        let (stop, buffers) = (Stop::default(), Buffers::new()?);
        let watch = Watch::new(stop.clone());
        let (programs, limit, isa) = (Programs::default(), settings.limit, Isa(isa));
        Ok(Cpu { info, caps: held, isa, buffers, programs, pool, stop, watch, limit, failed: None })
    }

    fn plan(&self, command: &Command) -> Result<Planned, Diagnostic> {
        match command {
            Command::Dispatch(dispatch) => {
                let loaded = self.programs.get(dispatch.program)?;
                let plan = loaded.entry.plan(&dispatch.arguments, dispatch.grid)?;
                for parameter in &plan.parameters {
                    if let Parameter::Buffer(buffer, offset) = parameter {
                        self.buffers.range(*buffer, *offset, 0)?;
                    }
                }
                if let PlannedGrid::Indirect(buffer, offset) = plan.grid {
                    self.buffers.range(buffer, offset, 12)?;
                }
                Ok(Planned::Dispatch(dispatch.program, plan))
            }
            Command::Copy { from, to, bytes } => {
                let (from, to) = (self.buffers.range(from.0, from.1, *bytes)?, self.buffers.range(to.0, to.1, *bytes)?);
                Ok(Planned::Copy(from, to))
            }
            Command::Clear { at, bytes } => Ok(Planned::Clear(self.buffers.range(at.0, at.1, *bytes)?)),
        }
    }

    fn step(&mut self, planned: Planned) -> Result<(), Diagnostic> {
        match planned {
            Planned::Dispatch(program, plan) => self.dispatch(program, &plan),
            Planned::Copy(from, to) => {
                self.buffers.copy(from, to);
                Ok(())
            }
            Planned::Clear(range) => {
                self.buffers.get_mut(range).fill(0);
                Ok(())
            }
        }
    }

    fn dispatch(&mut self, program: ProgramId, plan: &LaunchPlan) -> Result<(), Diagnostic> {
        let loaded = self.programs.get(program)?;
        let grid = match plan.grid {
            PlannedGrid::Workgroups(grid) => grid,
            PlannedGrid::Indirect(buffer, offset) => {
                let bytes = self.buffers.get(self.buffers.range(buffer, offset, 12)?);
                let word =
                    |i: usize| bytes[4 * i..][..4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
                [word(0), word(1), word(2)]
            }
        };
        let source = &loaded.entry.source;
        if let Some(i) = (0..3).find(|i| grid[*i] > loaded.entry.largest_grid[*i]) {
            let most = loaded.entry.largest_grid[i];
            let message = format!("a grid of {grid:?} workgroups, but the device allows {most}");
            return Err(Diagnostic::new(Code::OverLimit, source.span, message));
        }
        let words = |parameter: &Parameter| match parameter {
            Parameter::Buffer(buffer, offset) => {
                let (address, bytes) = self.buffers.place(self.buffers.range(*buffer, *offset, 0)?);
                Ok([address, bytes])
            }
            Parameter::Traps => {
                let (address, bytes) = self.buffers.place(self.buffers.traps());
                Ok([address, bytes])
            }
            Parameter::Scalar(constant) => Ok([constant.bits, 0]),
        };
        let parameters = plan.parameters.iter().map(words).collect::<Result<Vec<_>, Diagnostic>>()?;
        let (code, kernel, chosen) = (loaded.code.clone(), &loaded.kernel, plan.dynamic_shared.clone());
        let most_shared = self.caps.shared_bytes.max(self.caps.dynamic_shared_bytes);
        let launch = Launch { code, kernel, source, grid, parameters, chosen };
        launch.run(&self.pool, &self.stop, most_shared.into())?;
        if self.stop.is_late() {
            let seconds = self.limit.as_secs_f64();
            let message = format!("`@{}` was still running after {seconds} seconds", source.name);
            return Err(Diagnostic::new(Code::DeviceTimeout, source.span, message).hint("a loop may not end"));
        }
        Ok(())
    }
}

impl Device for Cpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        self.buffers.allocate(memory.bytes)
    }
    fn free(&mut self, buffer: BufferId) {
        self.buffers.free(buffer);
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let range = self.buffers.range(buffer, offset, bytes.len() as u64)?;
        self.buffers.get_mut(range).copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.wait()?;
        let range = self.buffers.range(buffer, offset, bytes.len() as u64)?;
        bytes.copy_from_slice(self.buffers.get(range));
        Ok(())
    }
    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        self.programs.load(module, kernels, options, &self.caps, &self.isa.0)
    }
    fn unload(&mut self, program: ProgramId) {
        self.programs.unload(program);
    }

    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        let planned = commands.iter().map(|command| self.plan(command)).collect::<Result<Vec<_>, _>>()?;
        self.stop.reset();
        self.watch.begin(self.limit);
        for step in planned {
            // After a fault nothing more runs until it has been told.
            if self.failed.is_some() {
                break;
            }
            self.failed = self.step(step).err();
        }
        self.watch.end();
        Ok(())
    }
    fn wait(&mut self) -> Result<(), Diagnostic> {
        let traps = self.buffers.traps();
        let noted = self.buffers.get(traps)[..4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        self.buffers.get_mut(traps).fill(0);
        match self.failed.take() {
            Some(failed) => Err(failed),
            None if noted != 0 => Err(trap(noted)),
            None => Ok(()),
        }
    }
    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let mut timed = vec![];
        for _ in 0..runs {
            let begun = Instant::now();
            self.submit(commands)?;
            self.wait()?;
            timed.push(begun.elapsed().max(Duration::from_nanos(1)));
        }
        Ok(Timing { runs: timed, exact: false })
    }
}

/// A program that is not there.
fn no_program(program: ProgramId) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, Span::NONE, format!("there is no program {}", program.index()))
}
