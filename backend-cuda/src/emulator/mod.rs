//! A reading of PTX on the host: the text that the generator writes, run thread by thread, so that it can be held to the other
//! devices without a card.
//!
//! Invariant: it shares nothing with the generator but the text. Registers hold rubbish at first, integer division by zero gives
//! all ones, a lane that is not there gives rubbish, memory accesses are checked for their bounds and alignment: what a card would
//! let pass is found. Copies beside the program and products of warpgroups are made at once: a wait that is missing is the
//! interpreter's to find.

mod alu;
mod fragments;
mod lanes;
mod machine;
mod memory;
mod parse;
mod warpgroup;

use crate::packed::{LaunchShape, Packed};
use crate::ptx::{self, Entry as Rendered, Launches, Ptx, Target};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::{Idx, IndexVec};
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Compiled, Entry, Parameter, PlannedGrid, compile};
use girih_runtime::{
    BufferId, Command, Device, DeviceInfo, DeviceKind, Dispatch, LoadOptions, Memory, ProgramId, Timing, trap,
};
use machine::{Buffers, Fault, Launch};
use parse::Program;
use std::time::{Duration, Instant};

/// How many workgroups run over a grid in memory.
const RESIDENT: u32 = 3;

/// A kernel's text for one kind of grid.
#[derive(Debug)]
struct Text {
    program: Program,
    rendered: Rendered,
    entry: usize,
}

impl Text {
    /// The first entry of a text; what is wrong with it otherwise.
    fn of(text: &Ptx) -> Result<Text, String> {
        let program = parse::parse(text)?;
        let rendered = text.entries[0].clone();
        let entry = program.find(&rendered.name).ok_or("it lacks the kernel")?;
        Ok(Text { program, rendered, entry })
    }
}

#[derive(Debug)]
struct Loaded {
    entry: Entry,
    shape: LaunchShape,
    direct: Text,
    /// For grids in memory; none if the kernel has no such form.
    indirect: Option<Text>,
}

/// A device that reads PTX.
#[derive(Debug)]
pub struct Emulator {
    target: Target,
    info: DeviceInfo,
    caps: Caps,
    /// The first one holds traps.
    buffers: Buffers,
    live: Vec<bool>,
    programs: IndexVec<ProgramId, Option<Loaded>>,
    failed: Option<Diagnostic>,
}

impl Emulator {
    /// A device that reads PTX for a target.
    pub fn new(target: Target) -> Emulator {
        let info = DeviceInfo {
            kind: DeviceKind::Interpreter,
            name: format!("PTX for {target}"),
            driver: env!("CARGO_PKG_VERSION").into(),
            backend: "PTX, read on the host".into(),
        };
        let caps = Caps::cuda(target.sm, target.specific);
        let (buffers, live) = (vec![vec![0; 16]], vec![true]);
        Emulator { target, info, caps, buffers, live, programs: IndexVec::new(), failed: None }
    }

    fn text(&self, compiled: &Compiled, kernel: FunctionId, launches: Launches) -> Result<Text, Vec<Diagnostic>> {
        let text = ptx::render(&compiled.module, &[kernel], self.target, launches)?;
        let said = |message: String| {
            let message = format!("the PTX cannot be read: {message}");
            vec![Diagnostic::new(Code::DeviceCompiler, compiled.module.functions[kernel].span, message)]
        };
        Text::of(&text).map_err(said)
    }

    /// The bytes of a buffer from `offset` on: where they stand.
    fn range(&self, buffer: BufferId, offset: u64, bytes: u64) -> Result<(usize, usize), Diagnostic> {
        let (index, wrong) = (buffer.index(), |text: &str| Diagnostic::new(Code::BadArguments, Span::NONE, text));
        if index == 0 || self.live.get(index) != Some(&true) {
            return Err(wrong("the buffer was given back"));
        }
        match offset.checked_add(bytes) {
            Some(end) if end <= self.buffers[index].len() as u64 && (offset | bytes).is_multiple_of(4) => {
                Ok((index, offset as usize))
            }
            _ => Err(wrong("a range that is not inside of its buffer, or not of whole words")),
        }
    }

    fn dispatch(&mut self, dispatch: &Dispatch) -> Result<(), Diagnostic> {
        let found = self.programs.get(dispatch.program).and_then(Option::as_ref);
        let loaded =
            found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the program was unloaded"))?;
        let plan = loaded.entry.plan(&dispatch.arguments, dispatch.grid)?;
        let value = |parameter: &Parameter| match parameter {
            Parameter::Buffer(id, offset) => Ok(memory::address(self.range(*id, *offset, 0)?.0) + offset),
            Parameter::Traps => Ok(memory::address(0)),
            Parameter::Scalar(constant) => Ok(constant.bits),
        };
        let mut params = plan.parameters.iter().map(value).collect::<Result<Vec<u64>, Diagnostic>>()?;
        let (grid, text) = match (plan.grid, &loaded.indirect) {
            (PlannedGrid::Workgroups(grid), _) => (grid, &loaded.direct),
            (PlannedGrid::Indirect(buffer, offset), Some(text)) => {
                let (index, at) = self.range(buffer, offset, 12)?;
                params.push(memory::address(index) + at as u64);
                ([RESIDENT, 1, 1], text)
            }
            (PlannedGrid::Indirect(buffer, offset), None) => {
                let (index, at) = self.range(buffer, offset, 12)?;
                let word = |i: usize| memory::read(&self.buffers[index], at + 4 * i, 4).map_or(0, |word| word as u32);
                ([word(0), word(1), word(2)], &loaded.direct)
            }
        };
        let most = self.caps.dynamic_shared_bytes;
        let asked = text.rendered.shared.bytes(&plan.dynamic_shared, most, &loaded.entry.source)?;
        let launch = Launch {
            program: &text.program,
            entry: text.entry,
            grid,
            workgroup: loaded.shape.workgroup,
            params: &params,
            asked: asked.into(),
            together: loaded.shape.cooperative,
        };
        machine::run(&launch, &mut self.buffers).map_err(|fault| at_line(&text.program, fault))
    }

    fn command(&mut self, command: &Command) -> Result<(), Diagnostic> {
        match command {
            Command::Dispatch(dispatch) => self.dispatch(dispatch),
            Command::Copy { from, to, bytes } => {
                let (from, start) = self.range(from.0, from.1, *bytes)?;
                let (to, at) = self.range(to.0, to.1, *bytes)?;
                let copied = self.buffers[from][start..start + *bytes as usize].to_vec();
                self.buffers[to][at..at + copied.len()].copy_from_slice(&copied);
                Ok(())
            }
            Command::Clear { at, bytes } => {
                let (buffer, start) = self.range(at.0, at.1, *bytes)?;
                self.buffers[buffer][start..start + *bytes as usize].fill(0);
                Ok(())
            }
        }
    }
}

/// A fault where the kernel's text says so.
fn at_line(program: &Program, fault: Fault) -> Diagnostic {
    let line = fault.line.unwrap_or(usize::MAX);
    let span = program.lines.get(line).copied().unwrap_or(Span::NONE);
    let text = program.text.get(line).map_or("", |text| text.trim());
    Diagnostic::new(fault.code, span, format!("{} (`{text}`)", fault.message))
}

impl Device for Emulator {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        let size = usize::try_from(memory.bytes).ok().and_then(|n| n.checked_next_multiple_of(4));
        let Some(size) = size.filter(|size| Vec::<u8>::new().try_reserve_exact(*size).is_ok()) else {
            let message = format!("there is no memory for a buffer of {} bytes", memory.bytes);
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message));
        };
        self.buffers.push(vec![0; size]);
        self.live.push(true);
        Ok(BufferId::from_usize(self.buffers.len() - 1))
    }
    fn free(&mut self, buffer: BufferId) {
        if buffer.index() > 0 && buffer.index() < self.live.len() {
            self.live[buffer.index()] = false;
            self.buffers[buffer.index()] = vec![];
        }
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let (index, at) = self.range(buffer, offset, bytes.len() as u64)?;
        self.buffers[index][at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.wait()?;
        let (index, at) = self.range(buffer, offset, bytes.len() as u64)?;
        bytes.copy_from_slice(&self.buffers[index][at..at + bytes.len()]);
        Ok(())
    }
    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = compile(module, kernels, &self.caps, options)?;
        let mut ids = vec![];
        for entry in &compiled.entries {
            let direct = self.text(&compiled, entry.kernel, Launches::Direct)?;
            let indirect = self.text(&compiled, entry.kernel, Launches::Indirect).ok();
            let shape = LaunchShape::of(&compiled.module.functions[entry.kernel]);
            ids.push(self.programs.push(Some(Loaded { entry: entry.clone(), shape, direct, indirect })));
        }
        Ok(ids)
    }
    fn load_to_keep(
        &mut self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<(ProgramId, Option<Vec<u8>>), Vec<Diagnostic>> {
        // One kernel was asked for.
        let id = self.load(module, &[kernel], options)?[0];
        let packed = self.programs[id].as_ref().and_then(|loaded| {
            let text = loaded.direct.program.text.join("\n");
            Packed::pack(&loaded.entry, loaded.shape, &loaded.direct.rendered, text.as_bytes())
        });
        Ok((id, packed))
    }
    fn restore(&mut self, bytes: &[u8]) -> Option<ProgramId> {
        let Packed { entry, shape, rendered, code } = Packed::unpack(bytes)?;
        let text = std::str::from_utf8(code).ok()?.to_owned();
        let ptx = Ptx { text, lines: vec![], entries: vec![rendered], target: self.target };
        let direct = Text::of(&ptx).ok()?;
        Some(self.programs.push(Some(Loaded { entry, shape, direct, indirect: None })))
    }
    fn unload(&mut self, program: ProgramId) {
        if self.programs.get(program).is_some() {
            self.programs[program] = None;
        }
    }
    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        for command in commands {
            match self.command(command) {
                Err(error) if matches!(error.code, Code::DeviceLost | Code::OutOfBounds | Code::Deadlock) => {
                    self.failed.get_or_insert(error);
                }
                result => result?,
            }
        }
        Ok(())
    }
    fn wait(&mut self) -> Result<(), Diagnostic> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let noted = memory::read(&self.buffers[0], 0, 4).unwrap_or(0) as u32;
        self.buffers[0].fill(0);
        if noted == 0 { Ok(()) } else { Err(trap(noted)) }
    }
    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let mut timed = vec![];
        for _ in 0..runs {
            let begun = Instant::now();
            self.submit(commands)?;
            self.wait()?;
            timed.push(Duration::max(begun.elapsed(), Duration::from_nanos(1)));
        }
        Ok(Timing { runs: timed, exact: false })
    }
}
