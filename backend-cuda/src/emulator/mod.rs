//! An emulator of PTX on the host: it runs the text that the generator writes, thread by thread, so that this text can be compared with other
//! devices without a card.
//!
//! Invariant: the emulator and the generator share nothing but the text. The emulator finds mistakes that a card would let pass: registers hold
//! rubbish at first, integer division by zero gives all ones, a missing lane gives rubbish, and the bounds and alignment of memory accesses are
//! checked. Asynchronous copies and products of warpgroups are done at once; finding a missing wait is left to the
//! interpreter.

mod alu;
mod fragments;
mod lanes;
mod machine;
mod memory;
mod parse;
mod warpgroup;

use crate::packed::{Form, FormCode, LaunchShape, Packed};
use crate::ptx::{self, Entry as Rendered, Launches, Ptx, Target};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Compiled, Entry, Parameter, PlannedGrid, compile};
use girih_runtime::driver::immediate::{self, Blocks, DoneQueues};
use girih_runtime::driver::{
    BlockId, Command, Dispatch, Driver, Fence, Fetch, Keeping, Kept, KernelSource, ProgramId, QueueId, Slice,
    bad_arguments,
};
use girih_runtime::{DeviceInfo, DeviceKind, LoadOptions, Memory, Read, Timing, trap};
use machine::{Fault, Launch};
use parse::Program;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// A device that reads PTX. One launch runs at a time, whoever submits it.
#[derive(Debug)]
pub struct Emulator {
    target: Target,
    info: DeviceInfo,
    caps: Caps,
    queues: DoneQueues,
    state: Mutex<State>,
}

/// What launches change.
#[derive(Debug)]
struct State {
    /// The first one holds traps.
    blocks: Blocks<Vec<u8>>,
    programs: IndexVec<ProgramId, Option<Arc<Loaded>>>,
}

impl State {
    fn add(&mut self, loaded: Loaded) -> ProgramId {
        self.programs.push(Some(Arc::new(loaded)))
    }
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
        let state = State { blocks: Blocks::with(vec![0; 16]), programs: IndexVec::new() };
        Emulator { target, info, caps, queues: DoneQueues::default(), state: Mutex::new(state) }
    }

    /// What is guarded is whole at all times.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, compiled: &Compiled, kernel: FunctionId, launches: Launches) -> Result<Text, Vec<Diagnostic>> {
        let text = ptx::render(&compiled.module, &[kernel], self.target, launches)?;
        let said = |message: String| {
            let message = format!("the PTX cannot be read: {message}");
            vec![Diagnostic::new(Code::DeviceCompiler, compiled.module.functions[kernel].span, message)]
        };
        Text::of(&text).map_err(said)
    }

    fn dispatch(&self, state: &mut State, dispatch: &Dispatch) -> Result<(), Diagnostic> {
        let found = state.programs.get(dispatch.program).and_then(Option::as_ref);
        let loaded = found.ok_or_else(|| bad_arguments("the program was unloaded"))?.clone();
        let plan = loaded.entry.plan(&dispatch.arguments, dispatch.grid)?;
        let place = |slice: Slice| memory::address(slice.block.index()) + slice.offset;
        let value = |parameter: &Parameter| match parameter {
            Parameter::Buffer(slice) => place(*slice),
            Parameter::Traps => memory::address(0),
            Parameter::Scalar(constant) => constant.bits,
        };
        let mut params: Vec<u64> = plan.parameters.iter().map(value).collect();
        let (grid, text) = match (plan.grid, &loaded.indirect) {
            (PlannedGrid::Workgroups(grid), _) => (grid, &loaded.direct),
            (PlannedGrid::Indirect(slice), Some(text)) => {
                params.push(place(slice));
                ([RESIDENT, 1, 1], text)
            }
            (PlannedGrid::Indirect(slice), None) => {
                let word = |i: usize| memory::read(state.blocks.bytes(slice), 4 * i, 4).map_or(0, |word| word as u32);
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
        machine::run(&launch, state.blocks.all_mut()).map_err(|fault| at_line(&text.program, fault))
    }

    fn command(&self, state: &mut State, command: &Command) -> Result<(), Diagnostic> {
        match command {
            Command::Dispatch(dispatch) => self.dispatch(state, dispatch),
            Command::Copy { from, to } => {
                state.blocks.copy(*from, *to);
                Ok(())
            }
            Command::Clear(at) => {
                state.blocks.clear(*at);
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

impl Driver for Emulator {
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
        None
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        let block = immediate::zeroed(memory.bytes)?;
        Ok(self.lock().blocks.add(block))
    }
    fn starts_zeroed(&self) -> bool {
        true
    }
    fn release(&self, block: BlockId) {
        self.lock().blocks.release(block);
    }

    fn load(
        &self,
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
            ids.push(self.lock().add(Loaded { entry: entry.clone(), shape, direct, indirect }));
        }
        Ok(ids)
    }
    fn load_to_keep(
        &self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<Kept, Vec<Diagnostic>> {
        // One kernel was asked for.
        let id = self.load(module, &[kernel], options)?[0];
        let packed = self.lock().programs[id].as_ref().and_then(|loaded| {
            let texts: Vec<(&Rendered, String)> = std::iter::once(&loaded.direct)
                .chain(&loaded.indirect)
                .map(|form| (&form.rendered, form.program.text.join("\n")))
                .collect();
            let forms: Vec<Form<'_>> = texts
                .iter()
                .map(|(rendered, text)| Form { rendered: (*rendered).clone(), code: FormCode::Text(text) })
                .collect();
            Packed::pack(&loaded.entry, loaded.shape, &forms)
        });
        Ok((id, packed))
    }
    fn restore(&self, bytes: &[u8], _source: Option<KernelSource<'_>>) -> Option<ProgramId> {
        let Packed { entry, shape, forms } = Packed::unpack(bytes)?;
        let mut texts = forms.into_iter().map(|Form { rendered, code }| {
            let FormCode::Text(text) = code else { return None };
            let ptx = Ptx { text: text.to_owned(), lines: vec![], entries: vec![rendered], target: self.target };
            Text::of(&ptx).ok()
        });
        let direct = texts.next()??;
        let indirect = match texts.next() {
            Some(text) => Some(text?),
            None => None,
        };
        Some(self.lock().add(Loaded { entry, shape, direct, indirect }))
    }
    fn unload(&self, program: ProgramId) {
        let programs = &mut self.lock().programs;
        if programs.get(program).is_some() {
            programs[program] = None;
        }
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        Ok(self.queues.open())
    }
    fn close_queue(&self, _queue: QueueId) {}

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        let (state, failed) = (&mut *self.lock(), self.queues.failed(queue));
        for command in commands {
            match self.command(state, command) {
                Err(error) if matches!(error.code, Code::DeviceLost | Code::OutOfBounds | Code::Deadlock) => {
                    failed.note(error);
                }
                result => result?,
            }
        }
        let traps = state.blocks.own_mut();
        let noted = memory::read(traps, 0, 4).unwrap_or(0) as u32;
        traps.fill(0);
        if noted != 0 {
            failed.note(trap(noted));
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
        reads.iter_mut().for_each(|read| read.bytes.copy_from_slice(state.blocks.bytes(read.from)));
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
        immediate::timed(runs, || self.read(queue, commands, &mut []))
    }
}
