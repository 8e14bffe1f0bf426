//! A driver for tests: queues whose work is done only when the test says so, and a list of the promises that the runtime has broken.

use crate::driver::{
    Argument, BlockId, Command, Dispatch, Driver, Fence, Fetch, Keeping, ProgramId, QueueId, Slice, bad_arguments,
};
use crate::{Constant, Device, DeviceInfo, DeviceKind, LoadOptions, Memory, Program, Read, Timing};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified, text, verify};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

/// Two kernels: `fill` writes a number into every byte of its buffer, `look` copies one buffer to another.
const KERNELS: &str = "
kernel @fill(%to: buffer, %by: u32) workgroup(1) {
  store.u32 %to[0], %by
}
kernel @look(%from: buffer, %to: buffer) workgroup(1) {
  store.u32 %to[0], (load.u32 %from[0])
}
";

/// Something that is queued.
enum Work {
    Command(Command),
    Write(Slice, Vec<u8>),
    Fetch(Slice, Arc<Mutex<Option<Vec<u8>>>>),
    /// So much of another line comes first.
    After(usize, usize),
}

/// A queue, also after it was closed.
#[derive(Default)]
struct Line {
    work: Vec<Option<Work>>,
    done: usize,
    is_destroyed: bool,
}

#[derive(Default)]
struct State {
    lines: Vec<Line>,
    /// The lines of the queues that are open. Names are given out again.
    names: Vec<Option<usize>>,
    blocks: Vec<Option<Vec<u8>>>,
    broken: Vec<String>,
    /// What fences fail with when they are made; when they are asked.
    no_fences: Option<Code>,
    no_answers: Option<Code>,
    wakes: usize,
    asked: Option<Arc<dyn Fn() + Send + Sync>>,
    unloaded: usize,
}

/// The driver. Clones are the same one.
#[derive(Clone)]
pub struct Fake {
    state: Arc<Mutex<State>>,
    info: Arc<DeviceInfo>,
    pub caps: Caps,
    pub reach: u64,
    pub moves_bytes: bool,
    pub keeps_to_peak: bool,
}

fn error(code: Code) -> Diagnostic {
    Diagnostic::new(code, Span::NONE, "the test says so")
}

impl Fake {
    pub fn new() -> Fake {
        let info = DeviceInfo {
            kind: DeviceKind::Interpreter,
            name: "fake".into(),
            driver: String::new(),
            backend: String::new(),
        };
        let state = State { lines: vec![Line::default()], names: vec![Some(0)], ..State::default() };
        let caps = Caps::everything();
        Fake {
            state: Arc::new(Mutex::new(state)),
            info: Arc::new(info),
            reach: caps.buffer_bytes,
            caps,
            moves_bytes: true,
            keeps_to_peak: false,
        }
    }

    pub fn device(&self) -> Device {
        Device::new(self.clone())
    }

    /// The programs `fill` and `look`.
    pub fn programs(device: &Device) -> [Program; 2] {
        let module = verify(text::parse(Span::NONE.source, KERNELS).expect("it is text").module).expect("it is right");
        let kernels: Vec<_> = module.kernels().collect();
        let programs = device.load(&module, &kernels, &LoadOptions::default()).expect("anything can be loaded");
        programs.try_into().expect("there are two")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics meanwhile")
    }

    /// Runs a queue, also one that was closed, as far as what it comes after is done. Says whether all of it is done.
    pub fn run(&self, line: usize) -> bool {
        self.lock().run(line)
    }

    /// Runs all queues to their ends.
    pub fn run_all(&self) {
        let state = &mut *self.lock();
        for line in 0..state.lines.len() {
            state.finish(line, usize::MAX);
        }
    }

    /// The owner of a stream destroys it.
    pub fn destroy(&self, line: usize) {
        self.lock().lines[line].is_destroyed = true;
    }
    /// Fences cannot be made any more, or can again.
    pub fn fail_fences(&self, code: Option<Code>) {
        self.lock().no_fences = code;
    }
    /// Fences cannot be asked any more, or can again.
    pub fn fail_answers(&self, code: Option<Code>) {
        self.lock().no_answers = code;
    }
    /// What a fence does when it is asked, as drivers do that call their users back.
    pub fn when_asked(&self, asked: impl Fn() + Send + Sync + 'static) {
        self.lock().asked = Some(Arc::new(asked));
    }
    /// How often fences were given a waker.
    pub fn wakes(&self) -> usize {
        self.lock().wakes
    }
    /// How many blocks there are, and how many queues are open.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.blocks.iter().flatten().count(), state.names.iter().flatten().count())
    }
    pub fn size_of(&self, block: BlockId) -> usize {
        self.lock().blocks[block.index()].as_ref().map_or(0, Vec::len)
    }
    /// The promises that were broken.
    pub fn broken(&self) -> Vec<String> {
        self.lock().broken.clone()
    }
}

impl State {
    /// The line of a queue that is used.
    fn line(&mut self, queue: QueueId) -> Result<usize, Diagnostic> {
        let line = self.names.get(queue.index()).copied().flatten();
        let line = line.ok_or_else(|| bad_arguments("the stream was closed"))?;
        if self.lines[line].is_destroyed {
            self.broken.push(format!("line {line} is used after its owner has destroyed it"));
        }
        Ok(line)
    }

    fn open(&mut self) -> QueueId {
        self.lines.push(Line::default());
        let free = self.names.iter().position(Option::is_none).unwrap_or(self.names.len());
        self.names.resize(self.names.len().max(free + 1), None);
        self.names[free] = Some(self.lines.len() - 1);
        QueueId::new(free as u32)
    }

    fn push(&mut self, queue: QueueId, work: impl IntoIterator<Item = Work>) -> Result<(), Diagnostic> {
        let line = self.line(queue)?;
        self.lines[line].work.extend(work.into_iter().map(Some));
        Ok(())
    }

    fn run(&mut self, line: usize) -> bool {
        while self.lines[line].done < self.lines[line].work.len() {
            let at = self.lines[line].done;
            if let Some(Work::After(other, end)) = &self.lines[line].work[at]
                && self.lines[*other].done < *end
            {
                return false;
            }
            let work = self.lines[line].work[at].take();
            self.lines[line].done += 1;
            if let Some(work) = work {
                self.perform(work);
            }
        }
        true
    }

    /// Runs what has to be done first, too.
    fn finish(&mut self, line: usize, end: usize) {
        let end = end.min(self.lines[line].work.len());
        while self.lines[line].done < end {
            let at = self.lines[line].done;
            if let Some(Work::After(other, end)) = &self.lines[line].work[at] {
                let (other, end) = (*other, *end);
                self.finish(other, end);
            }
            let work = self.lines[line].work[at].take();
            self.lines[line].done += 1;
            if let Some(work) = work {
                self.perform(work);
            }
        }
    }

    fn bytes(&mut self, slice: Slice) -> &mut [u8] {
        let block = self.blocks[slice.block.index()].as_mut().expect("the block is there");
        &mut block[slice.offset as usize..(slice.offset + slice.bytes) as usize]
    }

    fn perform(&mut self, work: Work) {
        match work {
            Work::Command(Command::Dispatch(dispatch)) => match dispatch.arguments[..] {
                [Argument::Buffer(to), Argument::Scalar(Constant { bits, .. })] => self.bytes(to).fill(bits as u8),
                [Argument::Buffer(from), Argument::Buffer(to)] => self.copy(from, to),
                _ => self.broken.push("a launch has other arguments than its kernel".into()),
            },
            Work::Command(Command::Copy { from, to }) => self.copy(from, to),
            Work::Command(Command::Clear(at)) => self.bytes(at).fill(0),
            Work::Write(to, bytes) => self.bytes(to).copy_from_slice(&bytes),
            Work::Fetch(from, to) => *to.lock().expect("nobody panics") = Some(self.bytes(from).to_vec()),
            Work::After(..) => {}
        }
    }

    fn copy(&mut self, from: Slice, to: Slice) {
        let bytes = self.bytes(from).to_vec();
        self.bytes(to).copy_from_slice(&bytes);
    }

    /// Whether work that is not done yet uses a block.
    fn is_used(&self, block: BlockId) -> bool {
        let uses = |work: &Work| match work {
            Work::Command(Command::Dispatch(Dispatch { arguments, .. })) => {
                arguments.iter().any(|argument| argument.as_buffer().is_some_and(|slice| slice.block == block))
            }
            Work::Command(Command::Copy { from, to }) => from.block == block || to.block == block,
            Work::Command(Command::Clear(at)) | Work::Write(at, _) | Work::Fetch(at, _) => at.block == block,
            Work::After(..) => false,
        };
        self.lines.iter().flat_map(|line| &line.work).flatten().any(uses)
    }
}

/// A point in a line, and what was read there.
struct Point {
    fake: Fake,
    line: usize,
    end: usize,
    bytes: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Fence for Point {
    fn poll(&self) -> Result<bool, Diagnostic> {
        let asked = self.fake.lock().asked.clone();
        if let Some(asked) = asked {
            asked();
        }
        let state = self.fake.lock();
        match state.no_answers {
            Some(code) => Err(error(code)),
            None => Ok(state.lines[self.line].done >= self.end),
        }
    }
    fn wait(&self) -> Result<(), Diagnostic> {
        let state = &mut *self.fake.lock();
        if let Some(code) = state.no_answers {
            return Err(error(code));
        }
        state.finish(self.line, self.end);
        Ok(())
    }
    fn outcome(&self) -> Result<(), Diagnostic> {
        Ok(())
    }
    fn wake(&self, _waker: &Waker) -> bool {
        self.fake.lock().wakes += 1;
        false
    }
}

impl Fetch for Point {
    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        self.bytes.lock().expect("nobody panics").take().ok_or_else(|| bad_arguments("the bytes were taken before"))
    }
}

impl Driver for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn reach(&self) -> u64 {
        self.reach
    }
    fn moves_bytes(&self) -> bool {
        self.moves_bytes
    }
    fn keeping(&self) -> Option<Keeping> {
        Some(Keeping { bytes: 1 << 20, to_peak: self.keeps_to_peak, grain: 64 })
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        let blocks = &mut self.lock().blocks;
        blocks.push(Some(vec![0xee; memory.bytes.next_multiple_of(4) as usize]));
        Ok(BlockId::new(blocks.len() as u32 - 1))
    }
    fn release(&self, block: BlockId) {
        let state = &mut *self.lock();
        if state.is_used(block) {
            state.broken.push(format!("{block:?} is released while it is used"));
        }
        if state.blocks[block.index()].take().is_none() {
            state.broken.push(format!("{block:?} is released twice"));
        }
    }
    #[allow(unsafe_code)]
    unsafe fn import(&self, _address: u64, bytes: u64) -> Result<BlockId, Diagnostic> {
        self.allocate(Memory::of(bytes))
    }
    fn address(&self, slice: Slice) -> Option<u64> {
        Some((slice.block.index() as u64 + 1) << 32 | slice.offset)
    }

    fn load(
        &self,
        _module: &Verified<Module>,
        kernels: &[FunctionId],
        _options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        Ok((0..kernels.len() as u32).map(ProgramId::new).collect())
    }
    fn unload(&self, _program: ProgramId) {
        self.lock().unloaded += 1;
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        Ok(self.lock().open())
    }
    #[allow(unsafe_code)]
    unsafe fn adopt_queue(&self, _handle: u64) -> Result<QueueId, Diagnostic> {
        Ok(self.lock().open())
    }
    fn close_queue(&self, queue: QueueId) {
        let state = &mut *self.lock();
        if state.line(queue).is_err() {
            state.broken.push(format!("{queue:?} is closed twice"));
        }
        state.names[queue.index()] = None;
    }

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        self.lock().push(queue, commands.iter().cloned().map(Work::Command))
    }
    fn write(&self, queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        assert!(self.moves_bytes || (to.offset | to.bytes).is_multiple_of(4));
        self.lock().push(queue, [Work::Write(to, bytes.to_vec())])
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        self.submit(queue, commands)?;
        let state = &mut *self.lock();
        let line = state.line(queue)?;
        state.finish(line, usize::MAX);
        for Read { from, bytes } in reads {
            assert!(self.moves_bytes || (from.offset | from.bytes).is_multiple_of(4));
            bytes.copy_from_slice(state.bytes(*from));
        }
        Ok(())
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        assert!(self.moves_bytes || (from.offset | from.bytes).is_multiple_of(4));
        let bytes: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let state = &mut *self.lock();
        state.push(queue, [Work::Fetch(from, bytes.clone())])?;
        let line = state.line(queue)?;
        Ok(Box::new(Point { fake: self.clone(), line, end: state.lines[line].work.len(), bytes }))
    }
    fn fence(&self, queue: QueueId, _to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        let state = &mut *self.lock();
        let line = state.line(queue)?;
        if let Some(code) = state.no_fences {
            return Err(error(code));
        }
        Ok(Box::new(Point { fake: self.clone(), line, end: state.lines[line].work.len(), bytes: Arc::default() }))
    }
    fn follow(&self, queue: QueueId, other: QueueId) -> Result<(), Diagnostic> {
        let state = &mut *self.lock();
        let other = state.line(other)?;
        let end = state.lines[other].work.len();
        state.push(queue, [Work::After(other, end)])
    }
    fn follow_point(&self, queue: QueueId, point: &(dyn Fence + 'static), _other: QueueId) -> Result<(), Diagnostic> {
        let point = (point as &dyn std::any::Any).downcast_ref::<Point>().expect("it is one of this driver");
        self.lock().push(queue, [Work::After(point.line, point.end)])
    }
    fn time(&self, _queue: QueueId, _commands: &[Command], _runs: usize) -> Result<Timing, Diagnostic> {
        Ok(Timing { runs: vec![], exact: false })
    }
}
