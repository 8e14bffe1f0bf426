//! The device: blocks in the host's memory, programs in executable memory, commands that run in the thread that submits them, on all cores.
//!
//! Invariant: one launch or copy runs at a time, whoever submits it.

mod launch;
mod memory;
mod pool;
mod programs;
mod timeout;

use crate::host;
use cranelift_codegen::isa::OwnedTargetIsa;
use girih_base::diag::{Code, Diagnostic};
use girih_base::words;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{LaunchPlan, Parameter, PlannedGrid};
use girih_runtime::driver::immediate::{self, DoneQueues};
use girih_runtime::driver::{
    BlockId, Command, Driver, Fence, Fetch, Keeping, ProgramId, QueueId, Slice, bad_arguments,
};
use girih_runtime::{DeviceInfo, DeviceKind, LoadOptions, Memory, Read, Timing, trap};
use launch::Launch;
use memory::Blocks;
use pool::Pool;
use programs::{Loaded, Programs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use timeout::{Stop, Watch};

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
    limit: Duration,
    programs: Programs,
    queues: DoneQueues,
    blocks: RwLock<Blocks>,
    stop: Stop,
    /// Locked by who runs something.
    machine: Mutex<Machine>,
}

/// What runs launches.
#[derive(Debug)]
struct Machine {
    pool: Pool,
    watch: Watch,
}

/// Most bytes of memory that are kept for later.
const KEPT: u64 = 256 << 20;

/// The instruction set.
struct Isa(OwnedTargetIsa);

impl std::fmt::Debug for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// A step of work whose arguments have been checked.
enum Planned {
    Dispatch(Arc<Loaded>, LaunchPlan),
    Copy(Slice, Slice),
    Clear(Slice),
}

impl Cpu {
    /// Opens it.
    pub fn open(settings: &Settings) -> Result<Cpu, Diagnostic> {
        let isa = host::isa(host::Use::Kernels)?;
        let own = host::caps(&isa);
        let held = settings.profile.as_ref().map_or(own.clone(), |profile| own.within(profile));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Pool::new(settings.threads.unwrap_or(cores).max(1));
        let info = DeviceInfo {
            kind: DeviceKind::Cpu,
            name: host::name(&isa),
            driver: format!("Cranelift {}", cranelift_codegen::VERSION),
            backend: format!("native code, {} threads", pool.len()),
        };
        let (stop, blocks) = (Stop::default(), RwLock::new(Blocks::new()?));
        let machine = Mutex::new(Machine { pool, watch: Watch::new(stop.clone()) });
        let (programs, queues, limit) = (Programs::default(), DoneQueues::default(), settings.limit);
        Ok(Cpu { info, caps: held, isa: Isa(isa), limit, programs, queues, blocks, stop, machine })
    }

    /// Nothing panics while these are locked but code that was compiled, which changes nothing of them.
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn blocks(&self) -> RwLockReadGuard<'_, Blocks> {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn blocks_mut(&self) -> RwLockWriteGuard<'_, Blocks> {
        self.blocks.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, command: &Command) -> Result<Planned, Diagnostic> {
        Ok(match command {
            Command::Dispatch(dispatch) => {
                let loaded = self.programs.get(dispatch.program)?;
                let load = |m: &_, k: &[_], o: &_| self.load(m, k, o);
                if let Some(other) = loaded.origin.shifted(&loaded.entry, dispatch, (1, &self.caps), load)? {
                    return self.plan(&Command::Dispatch(other));
                }
                let plan = loaded.entry.plan(&dispatch.arguments, dispatch.grid)?;
                Planned::Dispatch(loaded, plan)
            }
            Command::Copy { from, to } => Planned::Copy(*from, *to),
            Command::Clear(at) => Planned::Clear(*at),
        })
    }

    fn step(&self, machine: &Machine, planned: Planned) -> Result<(), Diagnostic> {
        match planned {
            Planned::Dispatch(loaded, plan) => self.dispatch(machine, &loaded, &plan),
            Planned::Copy(from, to) => self.blocks().copy(from, to),
            Planned::Clear(at) => self.blocks().clear(at),
        }
    }

    /// The first word of a slice, and those behind.
    fn words<const N: usize>(&self, slice: Slice) -> Result<[u32; N], Diagnostic> {
        let mut bytes = vec![0; 4 * N];
        self.blocks().read(slice, &mut bytes)?;
        let mut first = [0; N];
        first.copy_from_slice(&words::from_bytes(&bytes));
        Ok(first)
    }

    fn dispatch(&self, machine: &Machine, loaded: &Loaded, plan: &LaunchPlan) -> Result<(), Diagnostic> {
        let grid = match plan.grid {
            PlannedGrid::Workgroups(grid) => grid,
            PlannedGrid::Indirect(slice) => self.words(slice)?,
        };
        let source = &loaded.entry.source;
        if let Some(i) = (0..3).find(|i| grid[*i] > loaded.entry.largest_grid[*i]) {
            let most = loaded.entry.largest_grid[i];
            let message = format!("a grid of {grid:?} workgroups, but the device allows {most}");
            return Err(Diagnostic::new(Code::OverLimit, source.span, message));
        }
        let words = |parameter: &Parameter| match parameter {
            Parameter::Buffer(slice) => self.blocks().place(*slice).map(Into::into),
            Parameter::Traps => {
                let blocks = self.blocks();
                blocks.place(blocks.traps()).map(Into::into)
            }
            Parameter::Scalar(constant) => Ok([constant.bits, 0]),
        };
        let parameters = plan.parameters.iter().map(words).collect::<Result<Vec<_>, Diagnostic>>()?;
        let (code, kernel, chosen) = (loaded.code.clone(), &loaded.kernel, plan.dynamic_shared.clone());
        let most_shared = self.caps.shared_bytes.max(self.caps.dynamic_shared_bytes);
        let launch = Launch { code, kernel, source, grid, parameters, chosen };
        launch.run(&machine.pool, &self.stop, most_shared.into())?;
        if self.stop.is_late() {
            let seconds = self.limit.as_secs_f64();
            let message = format!("`@{}` was still running after {seconds} seconds", source.name);
            return Err(Diagnostic::new(Code::DeviceTimeout, source.span, message).hint("a loop may not end"));
        }
        Ok(())
    }
}

impl Driver for Cpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn moves_bytes(&self) -> bool {
        true
    }

    fn keeping(&self) -> Option<Keeping> {
        Some(Keeping { bytes: KEPT, to_peak: false, grain: 64 })
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        self.blocks_mut().allocate(memory.bytes)
    }
    fn starts_zeroed(&self) -> bool {
        true
    }
    fn release(&self, block: BlockId) {
        self.blocks_mut().release(block);
    }
    #[allow(unsafe_code)]
    unsafe fn import(&self, address: u64, bytes: u64) -> Result<BlockId, Diagnostic> {
        self.blocks_mut().import(address, bytes)
    }
    fn address(&self, slice: Slice) -> Option<u64> {
        Some(self.blocks().place(slice).ok()?.0)
    }

    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        self.programs.load(module, kernels, options, &self.caps, &self.isa.0)
    }
    fn unload(&self, program: ProgramId) {
        self.programs.unload(program);
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        Ok(self.queues.open())
    }
    fn close_queue(&self, _queue: QueueId) {}

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        let planned = commands.iter().map(|command| self.plan(command)).collect::<Result<Vec<_>, _>>()?;
        let (failed, machine) = (self.queues.failed(queue), &mut *self.machine());
        self.stop.reset();
        machine.watch.begin(self.limit);
        for step in planned {
            // After a fault nothing more runs until it has been told.
            if failed.is_set() {
                break;
            }
            if let Err(failure) = self.step(machine, step) {
                failed.note(failure);
            }
        }
        machine.watch.end();
        let traps = self.blocks().traps();
        let [noted] = self.words(traps)?;
        if noted != 0 {
            self.blocks().clear(traps)?;
            failed.note(trap(noted));
        }
        Ok(())
    }
    fn write(&self, _queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        let _alone = self.machine();
        self.blocks().write(to, bytes)
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        if !commands.is_empty() {
            self.submit(queue, commands)?;
        }
        self.queues.failed(queue).tell()?;
        let _alone = self.machine();
        reads.iter_mut().try_for_each(|read| self.blocks().read(read.from, read.bytes))
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        let mut bytes = vec![0; from.bytes as usize];
        let _alone = self.machine();
        self.blocks().read(from, &mut bytes)?;
        Ok(self.queues.fetched(queue, bytes))
    }
    fn fence(&self, queue: QueueId, _to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        Ok(self.queues.fence(queue))
    }
    /// All work is done when it is submitted.
    fn follow(&self, _queue: QueueId, _other: QueueId) -> Result<(), Diagnostic> {
        Ok(())
    }
    fn time(&self, queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        immediate::timed(runs, || self.read(queue, commands, &mut []))
    }
}

/// A program that is not there.
fn no_program(program: ProgramId) -> Diagnostic {
    bad_arguments(format!("there is no program {}", program.index()))
}
