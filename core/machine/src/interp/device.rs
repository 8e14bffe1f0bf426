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
use girih_lower::{Entry, LaunchPlan, Parameter, PlannedGrid};
use girih_runtime::{BufferId, Command, Device, DeviceInfo, DeviceKind, LoadOptions, Memory, ProgramId, Timing};
use std::sync::Arc;
use std::time::Duration;

/// A kernel that has been loaded.
#[derive(Debug)]
struct Loaded {
    program: Program,
    entry: Entry,
    settings: Settings,
}

/// A step of work whose arguments have been checked.
enum Planned {
    Dispatch(ProgramId, LaunchPlan),
    Copy { from: (usize, usize), to: (usize, usize), bytes: usize },
    Clear { at: (usize, usize), bytes: usize },
}

/// The most bytes of a buffer whose accesses are remembered, which takes several times as much.
const MOST_CHECKED: usize = 1 << 30;

/// The reference machine as a device.
#[derive(Debug)]
pub struct Interpreter {
    options: Options,
    info: DeviceInfo,
    caps: Caps,
    /// The first one is for traps of kernels that were made legal.
    buffers: Vec<Vec<u8>>,
    /// Bytes that were asked for each, up to which kernels may access it: it consists of whole words.
    asked: Vec<u64>,
    /// Which buffers are allocated.
    live: Vec<bool>,
    shadows: Shadows,
    programs: Vec<Option<Loaded>>,
    /// What programs in tile form have printed, a line each.
    printed: Vec<String>,
    /// What went wrong since the last wait.
    failed: Option<Diagnostic>,
}

const TRAPS: usize = 0;
/// Most bytes of values and private memory of a workgroup.
const FRAME_BYTES: u64 = 1 << 31;

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
        let (buffers, live) = (vec![vec![0; 16]], vec![true]);
        Interpreter {
            options,
            info,
            caps,
            buffers,
            asked: vec![16],
            live,
            shadows: Shadows::default(),
            programs: vec![],
            printed: vec![],
            failed: None,
        }
    }

    /// What programs in tile form have printed since this was asked last, a line each.
    pub fn take_printed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.printed)
    }

    /// The bytes of a buffer in a range.
    fn range(&self, buffer: BufferId, offset: u64, bytes: u64) -> Result<(usize, usize), Diagnostic> {
        let index = buffer.index();
        let wrong = |message: String| Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        if index == TRAPS || self.live.get(index) != Some(&true) {
            return wrong(format!("there is no buffer {index}"));
        }
        let length = self.buffers[index].len() as u64;
        if !offset.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return wrong(format!("bytes {offset} and following, {bytes} of them: both are multiples of 4"));
        }
        match offset.checked_add(bytes) {
            Some(end) if end <= length => Ok((index, offset as usize)),
            _beyond => wrong(format!("{bytes} bytes from {offset} on reach beyond a buffer of {length} bytes")),
        }
    }

    /// The byte up to which kernels access a buffer. Those that were made legal for a device may reach for whole words.
    fn end(&self, buffer: BufferId) -> u64 {
        let asked = self.asked[buffer.index()];
        if self.options.caps.is_some() { asked.next_multiple_of(4) } else { asked }
    }

    fn plan(&self, command: &Command) -> Result<Planned, Diagnostic> {
        match command {
            Command::Dispatch(dispatch) => {
                let Some(Some(loaded)) = self.programs.get(dispatch.program.index()) else {
                    let message = format!("there is no program {}", dispatch.program.index());
                    return Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
                };
                let plan = loaded.entry.plan(&dispatch.arguments, dispatch.grid)?;
                for parameter in &plan.parameters {
                    if let Parameter::Buffer(buffer, offset) = parameter {
                        self.range(*buffer, *offset, 0)?;
                    }
                }
                if let PlannedGrid::Indirect(buffer, offset) = plan.grid {
                    self.range(buffer, offset, 12)?;
                }
                Ok(Planned::Dispatch(dispatch.program, plan))
            }
            Command::Copy { from, to, bytes } => Ok(Planned::Copy {
                from: self.range(from.0, from.1, *bytes)?,
                to: self.range(to.0, to.1, *bytes)?,
                bytes: *bytes as usize,
            }),
            Command::Clear { at, bytes } => {
                Ok(Planned::Clear { at: self.range(at.0, at.1, *bytes)?, bytes: *bytes as usize })
            }
        }
    }

    fn run(&mut self, planned: Planned) -> Result<(), Diagnostic> {
        match planned {
            Planned::Dispatch(program, plan) => self.dispatch(program, &plan),
            Planned::Copy { from: (from, start), to: (to, at), bytes } => {
                let copied = self.buffers[from][start..start + bytes].to_vec();
                self.buffers[to][at..at + bytes].copy_from_slice(&copied);
                Ok(())
            }
            Planned::Clear { at: (buffer, start), bytes } => {
                self.buffers[buffer][start..start + bytes].fill(0);
                Ok(())
            }
        }
    }

    fn dispatch(&mut self, program: ProgramId, plan: &LaunchPlan) -> Result<(), Diagnostic> {
        let Some(Some(loaded)) = self.programs.get(program.index()) else { return Ok(()) };
        let grid = match plan.grid {
            PlannedGrid::Workgroups(size) => size,
            PlannedGrid::Indirect(buffer, offset) => {
                let word = |i: usize| super::memory::read(&self.buffers[buffer.index()], offset as usize + 4 * i, 4);
                [0, 1, 2].map(|i| word(i) as u32)
            }
        };
        if let Some(i) = (0..3).find(|i| grid[*i] > loaded.entry.largest_grid[*i]) {
            let message =
                format!("a grid of {grid:?} workgroups, but the device allows {}", loaded.entry.largest_grid[i]);
            return Err(Diagnostic::new(Code::OverLimit, loaded.entry.source.span, message));
        }
        let bound = |parameter: &Parameter| match parameter {
            Parameter::Buffer(buffer, offset) => Bound::Buffer(buffer.index(), *offset, self.end(*buffer)),
            Parameter::Traps => Bound::Buffer(TRAPS, 0, self.asked[TRAPS]),
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
        let ended = dispatch.run(&mut self.buffers, &mut self.shadows, &mut self.printed);
        // What is noted is this launch's, however it has ended.
        let noted = super::memory::read(&self.buffers[TRAPS], 0, 4) as u32;
        self.buffers[TRAPS].fill(0);
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

impl Device for Interpreter {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        // Whole words, which is what the host reads and writes. An access of a kernel beyond what was asked for is a fault.
        let size = usize::try_from(memory.bytes).ok().and_then(|n| n.checked_next_multiple_of(4));
        let Some(size) = size.filter(|size| Vec::<u8>::new().try_reserve_exact(*size).is_ok()) else {
            let message = format!("a buffer of {} bytes does not fit the memory of this machine", memory.bytes);
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message));
        };
        if self.options.checked && size > MOST_CHECKED {
            let message = format!(
                "a buffer of {size} bytes, but where accesses are checked, and remembered, {MOST_CHECKED} are possible"
            );
            let hint = "take a smaller buffer, or another device";
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint(hint));
        }
        // The system gives pages of zeros when they are touched.
        self.buffers.push(vec![0; size]);
        self.asked.push(memory.bytes);
        self.live.push(true);
        Ok(BufferId::from_usize(self.buffers.len() - 1))
    }
    fn free(&mut self, buffer: BufferId) {
        if buffer.index() != TRAPS && self.live.get(buffer.index()) == Some(&true) {
            self.live[buffer.index()] = false;
            self.buffers[buffer.index()] = vec![];
            self.shadows.forget(buffer.index());
        }
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let (index, start) = self.range(buffer, offset, bytes.len() as u64)?;
        self.buffers[index][start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.wait()?;
        let (index, start) = self.range(buffer, offset, bytes.len() as u64)?;
        bytes.copy_from_slice(&self.buffers[index][start..start + bytes.len()]);
        Ok(())
    }

    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
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
        for entry in entries {
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
            if program.frame_bytes() > FRAME_BYTES {
                let (bytes, name) = (program.frame_bytes() >> 20, &kernel.name);
                let message = format!("the values and private arrays of `@{name}` take {bytes} MiB for one workgroup");
                found.push(Diagnostic::new(Code::OverLimit, kernel.span, message).hint("make the workgroup smaller"));
                continue;
            }
            loaded.push(Some(Loaded { program, entry, settings }));
        }
        if !found.is_empty() {
            return Err(found);
        }
        let first = self.programs.len();
        self.programs.extend(loaded);
        Ok((first..self.programs.len()).map(ProgramId::from_usize).collect())
    }
    fn unload(&mut self, program: ProgramId) {
        if let Some(loaded) = self.programs.get_mut(program.index()) {
            *loaded = None;
        }
    }

    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        let planned = commands.iter().map(|command| self.plan(command)).collect::<Result<Vec<_>, _>>()?;
        for step in planned {
            // After a fault nothing more runs until it has been told.
            if self.failed.is_some() {
                break;
            }
            self.failed = self.run(step).err();
        }
        Ok(())
    }
    fn wait(&mut self) -> Result<(), Diagnostic> {
        self.failed.take().map_or(Ok(()), Err)
    }
    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let clock = self.options.clock.unwrap_or(|| Duration::ZERO);
        let mut timed = vec![];
        for _ in 0..runs {
            let start = clock();
            self.submit(commands)?;
            self.wait()?;
            timed.push(clock().saturating_sub(start));
        }
        Ok(Timing { runs: timed, exact: false })
    }
}
