//! The interpreter as a device: buffers are bytes, work runs when it is submitted.

use super::checks::Shadows;
use super::code::Team;
use super::dispatch::{Bound, Dispatch, Settings, trap};
use super::mask::LANES;
use super::program::Program;
use super::{Options, library};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::Idx;
use girih_base::span::Span;
use girih_ir::caps::Caps;
use girih_ir::verify::{Verified, tile_form};
use girih_ir::{FunctionId, Module};
use girih_lower::{Entry, LaunchPlan, Origin, Parameter, PlannedGrid};
use girih_runtime::driver::immediate::{self, Blocks, DoneQueues};
use girih_runtime::driver::{
    BlockId, Command, Driver, Fence, Fetch, Keeping, ProgramId, QueueId, Slice, bad_arguments,
};
use girih_runtime::{DeviceInfo, DeviceKind, LoadOptions, Memory, Read, Timing};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A kernel that has been loaded.
#[derive(Debug)]
struct Loaded {
    program: Program,
    entry: Entry,
    settings: Settings,
    origin: Arc<Origin>,
}

/// A step of work whose arguments have been checked.
enum Planned {
    Dispatch(Arc<Loaded>, LaunchPlan),
    Copy(Slice, Slice),
    Clear(Slice),
}

/// The most bytes of a buffer whose accesses are remembered, which takes several times as much.
const MOST_CHECKED: usize = 1 << 30;

/// The reference machine as a device. One launch runs at a time, whoever submits it.
#[derive(Debug)]
pub struct Interpreter {
    options: Options,
    info: DeviceInfo,
    caps: Caps,
    queues: DoneQueues,
    state: Mutex<State>,
}

/// What launches change.
#[derive(Debug)]
struct State {
    /// The first one is for traps of kernels that were made legal.
    blocks: Blocks<Vec<u8>>,
    shadows: Shadows,
    programs: Vec<Option<Arc<Loaded>>>,
    /// What programs in tile form have printed, a line each.
    printed: Vec<String>,
}

const TRAPS: usize = 0;
const TRAP_BYTES: usize = 16;
/// Most bytes of values and private memory of a workgroup.
const ACTIVATION_BYTES: u64 = 1 << 31;

impl Interpreter {
    /// A device without buffers.
    pub fn new(options: Options) -> Interpreter {
        let width = options.subgroup.clamp(1, 64);
        let caps = options.caps.clone().unwrap_or_else(Caps::everything);
        let info = DeviceInfo {
            kind: DeviceKind::Interpreter,
            name: "interpreter".into(),
            driver: env!("CARGO_PKG_VERSION").into(),
            backend: format!("{}, subgroups of {width}{}", caps.name, if options.checked { ", checked" } else { "" }),
        };
        let state = State {
            blocks: Blocks::with(vec![0; TRAP_BYTES]),
            shadows: Shadows::default(),
            programs: vec![],
            printed: vec![],
        };
        Interpreter { options, info, caps, queues: DoneQueues::default(), state: Mutex::new(state) }
    }

    /// What is guarded is whole at all times.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What programs in tile form have printed since this was asked last, a line each.
    pub fn take_printed(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().printed)
    }

    /// The byte up to which kernels access memory. Those that were made legal for a device may reach for whole words.
    fn end(&self, slice: Slice) -> u64 {
        let end = slice.offset + slice.bytes;
        if self.options.caps.is_some() { end.next_multiple_of(4) } else { end }
    }

    fn loaded(&self, program: ProgramId) -> Result<Arc<Loaded>, Diagnostic> {
        let found = self.lock().programs.get(program.index()).cloned().flatten();
        found.ok_or_else(|| bad_arguments(format!("there is no program {}", program.index())))
    }

    fn plan(&self, command: &Command) -> Result<Planned, Diagnostic> {
        Ok(match command {
            Command::Dispatch(dispatch) => {
                let loaded = self.loaded(dispatch.program)?;
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

    fn run(&self, state: &mut State, planned: Planned) -> Result<(), Diagnostic> {
        match planned {
            Planned::Dispatch(loaded, plan) => self.dispatch(state, &loaded, &plan),
            Planned::Copy(from, to) => {
                state.blocks.copy(from, to);
                Ok(())
            }
            Planned::Clear(at) => {
                state.blocks.clear(at);
                Ok(())
            }
        }
    }

    fn dispatch(&self, state: &mut State, loaded: &Loaded, plan: &LaunchPlan) -> Result<(), Diagnostic> {
        let grid = match plan.grid {
            PlannedGrid::Workgroups(size) => size,
            PlannedGrid::Indirect(slice) => {
                let word = |i: usize| super::memory::read(state.blocks.bytes(slice), 4 * i, 4);
                [0, 1, 2].map(|i| word(i) as u32)
            }
        };
        if let Some(i) = (0..3).find(|i| grid[*i] > loaded.entry.largest_grid[*i]) {
            let message =
                format!("a grid of {grid:?} workgroups, but the device allows {}", loaded.entry.largest_grid[i]);
            return Err(Diagnostic::new(Code::OverLimit, loaded.entry.source.span, message));
        }
        let bound = |parameter: &Parameter| match parameter {
            Parameter::Buffer(slice) => Bound::Buffer(slice.block.index(), slice.offset, self.end(*slice)),
            Parameter::Traps => Bound::Buffer(TRAPS, 0, TRAP_BYTES as u64),
            Parameter::Scalar(constant) => Bound::Number(constant.bits),
        };
        let parameters: Vec<Bound> = plan.parameters.iter().map(bound).collect();
        let most = self.caps.shared_bytes.max(self.caps.dynamic_shared_bytes);
        let dispatch = Dispatch {
            most_shared: most as usize,
            program: &loaded.program,
            parameters: &parameters,
            grid,
            dynamic_shared: &plan.dynamic_shared,
            settings: loaded.settings,
        };
        let ended = dispatch.run(state.blocks.all_mut(), &mut state.shadows, &mut state.printed);
        // What is noted is this launch's, however it has ended.
        let traps = state.blocks.own_mut();
        let noted = super::memory::read(traps, 0, 4) as u32;
        traps.fill(0);
        let trapped = ended.map_err(|fault| *fault)?;
        match trapped.or((noted != 0).then_some((noted, loaded.entry.source.span))) {
            Some((code, span)) => Err(trap(code, span)),
            None => Ok(()),
        }
    }

    /// The kernels as they were written, or made legal for the profile that the interpreter is held to.
    fn compile(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<(Module, Vec<Entry>), Vec<Diagnostic>> {
        if let Some(caps) = &self.options.caps {
            let compiled = girih_lower::compile(module, kernels, caps, options)?;
            let mut module = compiled.module.into_inner();
            // The device's own functions are legal for it; here they are those of the library.
            library::link(&mut module).map_err(|d| vec![d])?;
            return Ok((module, compiled.entries));
        }
        let mut module = (**module).clone();
        let mut entries = vec![];
        for id in kernels {
            let kernel = &mut module.functions[*id];
            girih_lower::specialise(kernel, options).map_err(|d| vec![d])?;
            entries.push(girih_lower::entry(*id, kernel, &self.caps));
        }
        library::link(&mut module).map_err(|d| vec![d])?;
        Ok((module, entries))
    }
}

impl Driver for Interpreter {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn moves_bytes(&self) -> bool {
        true
    }

    /// Nothing is kept: a buffer that is gone is not to be found in another one.
    fn keeping(&self) -> Option<Keeping> {
        None
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        // An access of a kernel beyond what was asked for is a fault.
        let block = immediate::zeroed(memory.bytes)?;
        let size = block.len();
        if self.options.checked && size > MOST_CHECKED {
            let message =
                format!("a buffer of {size} bytes, but with checked accesses at most {MOST_CHECKED} are possible");
            let hint = "use a smaller buffer, or another device";
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint(hint));
        }
        Ok(self.lock().blocks.add(block))
    }
    fn starts_zeroed(&self) -> bool {
        true
    }
    fn release(&self, block: BlockId) {
        let state = &mut *self.lock();
        state.blocks.release(block);
        state.shadows.forget(block.index());
    }

    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let origins = Origin::all(module, kernels, options);
        let (module, entries) = self.compile(module, kernels, options)?;
        let settings = Settings {
            checked: self.options.checked || options.checked,
            seed: self.options.seed,
            fuel: self.options.fuel,
        };
        let forms = tile_form(&module);
        let module = Arc::new(module);
        let mut found = vec![];
        let mut loaded = vec![];
        for (entry, origin) in entries.into_iter().zip(origins) {
            let kernel = &module.functions[entry.kernel];
            let (size, width) = kernel.launch.as_ref().map_or(([1; 3], None), |l| (l.workgroup, l.subgroup));
            let invocations = size.iter().map(|n| u64::from(*n)).product::<u64>();
            let programs = forms[entry.kernel];
            if invocations > LANES as u64 && !programs {
                let message = format!(
                    "`@{}` has {invocations} invocations in a workgroup, at most {LANES} are possible",
                    kernel.name
                );
                found.push(Diagnostic::new(Code::OverLimit, kernel.span, message).hint("make the workgroup smaller"));
                continue;
            }
            let team =
                if programs { Team::of_programs() } else { Team::new(size, width.unwrap_or(self.options.subgroup)) };
            let program = Program::new(module.clone(), entry.kernel, team);
            if program.activation_bytes() > ACTIVATION_BYTES {
                let (bytes, name) = (program.activation_bytes() >> 20, &kernel.name);
                let message = format!("the values and private arrays of `@{name}` take {bytes} MiB for one workgroup");
                found.push(Diagnostic::new(Code::OverLimit, kernel.span, message).hint("make the workgroup smaller"));
                continue;
            }
            loaded.push(Some(Arc::new(Loaded { program, entry, settings, origin })));
        }
        if !found.is_empty() {
            return Err(found);
        }
        let state = &mut *self.lock();
        let first = state.programs.len();
        state.programs.extend(loaded);
        Ok((first..state.programs.len()).map(ProgramId::from_usize).collect())
    }
    fn unload(&self, program: ProgramId) {
        let programs = &mut self.lock().programs;
        let gone = programs.get_mut(program.index()).and_then(Option::take);
        for made in gone.iter().flat_map(|gone| gone.origin.made()) {
            programs[made.index()] = None;
        }
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        Ok(self.queues.open())
    }
    fn close_queue(&self, _queue: QueueId) {}

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        let planned = commands.iter().map(|command| self.plan(command)).collect::<Result<Vec<_>, _>>()?;
        let (state, failed) = (&mut *self.lock(), self.queues.failed(queue));
        for step in planned {
            // After a fault nothing more runs until it has been told.
            if failed.is_set() {
                break;
            }
            if let Err(failure) = self.run(state, step) {
                failed.note(failure);
            }
        }
        Ok(())
    }
    fn write(&self, _queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.lock().blocks.bytes_mut(to).copy_from_slice(bytes);
        Ok(())
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        self.submit(queue, commands)?;
        self.queues.failed(queue).tell()?;
        let state = self.lock();
        for Read { from, bytes } in reads {
            bytes.copy_from_slice(state.blocks.bytes(*from));
        }
        Ok(())
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        let bytes = self.lock().blocks.bytes(from).to_vec();
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
        let clock = self.options.clock.unwrap_or(|| Duration::ZERO);
        let mut timed = vec![];
        for _ in 0..runs {
            let start = clock();
            self.read(queue, commands, &mut [])?;
            timed.push(clock().saturating_sub(start));
        }
        Ok(Timing { runs: timed, exact: false })
    }
}
