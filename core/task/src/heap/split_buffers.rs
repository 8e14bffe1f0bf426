//! A driver whose blocks may be larger than what one binding of the driver below reaches: such a block is several of that one, and kernels that get one
//! are rewritten for that ([`split`]) and compiled again, when it happens first.
//!
//! Heaps on graphics cards need this: through wgpu a binding ends at 2 GiB or sooner, and at 128 MiB within the web's limits.
//!
//! Invariant: whoever uses the device need not know. A block that one binding reaches is one block of the driver below, by the same number, and its kernels are
//! those that were written.

use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::split;
use girih_runtime::driver::{
    Argument, BlockId, Command, Dispatch, Driver, Fence, Fetch, Grid, Keeping, ProgramId, QueueId, Slice, bad_arguments,
};
use girih_runtime::{Device, DeviceInfo, DeviceKind, LoadOptions, Memory, Read, Timing};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Parts that a buffer has at most.
pub const PARTS: usize = 4;
/// Bytes of a part that nothing stands in: a number of parts is a power of two.
const EMPTY: u64 = 16;
/// Numbers of blocks of several parts begin here.
const SPLIT: u32 = 1 << 31;

/// The driver.
pub struct Segmented {
    inner: Arc<dyn Driver>,
    /// Bytes that a block has at most that is not split.
    whole: u64,
    /// Bytes of each part of one that is, the last one apart.
    part: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The parts of each block that is split; none if it was given back.
    split: Vec<Option<Vec<BlockId>>>,
    programs: IndexVec<ProgramId, Option<Program>>,
}

/// A kernel, and what it became for blocks of several parts.
struct Program {
    module: Arc<Verified<Module>>,
    kernel: FunctionId,
    options: LoadOptions,
    whole: ProgramId,
    /// By the numbers of parts of the arguments.
    split: FastMap<Vec<u32>, ProgramId>,
}

fn freed() -> Diagnostic {
    bad_arguments("the buffer or the program was freed")
}

impl Segmented {
    /// A device's driver, where buffers of more than `whole` bytes have up to [`PARTS`] parts of `part` bytes each, rounded down to a power of two.
    pub fn with_parts(inner: &Device, whole: u64, part: u64) -> Device {
        let part = 1 << part.max(EMPTY).ilog2();
        let driver = inner.driver().clone();
        inner.behind(Arc::new(Segmented { inner: driver, whole, part, state: Mutex::default() }))
    }

    /// The same device with buffers that reach as far as words do; the device itself where its bindings reach that far, or where nothing but its
    /// memory limits them, as on a CUDA card. Each of the two takes the other's buffers, as far as they have one part.
    pub fn over(inner: Device) -> Device {
        let reach = inner.reach();
        if reach >= super::MOST_HEAP || inner.info().kind == DeviceKind::Cuda {
            return inner;
        }
        Segmented::with_parts(&inner, reach, reach)
    }

    /// Nothing panics while it is locked, and what it guards is whole at all times.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pieces of a slice, each inside of one block of the driver below.
    fn pieces(&self, slice: Slice) -> Result<Vec<Slice>, Diagnostic> {
        let state = self.lock();
        let Some(parts) = state.parts(slice.block)? else { return Ok(vec![slice]) };
        let (mut at, mut left, mut pieces) = (slice.offset, slice.bytes, vec![]);
        loop {
            let number = ((at / self.part) as usize).min(parts.len() - 1);
            let offset = at - number as u64 * self.part;
            let room = if number + 1 == parts.len() { u64::MAX } else { self.part - offset };
            let bytes = left.min(room);
            pieces.push(Slice { block: parts[number], offset, bytes, align: slice.align });
            (at, left) = (at + bytes, left - bytes);
            if left == 0 {
                return Ok(pieces);
            }
        }
    }

    /// A command as the driver below has it.
    fn commands(&self, command: &Command, out: &mut Vec<Command>) -> Result<(), Diagnostic> {
        match command {
            Command::Dispatch(dispatch) => out.push(Command::Dispatch(self.dispatch(dispatch)?)),
            Command::Clear(at) => out.extend(self.pieces(*at)?.into_iter().map(Command::Clear)),
            Command::Copy { from, to } => {
                let (mut from, mut to) = (*from, *to);
                // What is inside of one part on both sides, again and again.
                while from.bytes > 0 {
                    let (source, target) = (self.pieces(from)?[0], self.pieces(to)?[0]);
                    let bytes = source.bytes.min(target.bytes);
                    out.push(Command::Copy { from: Slice { bytes, ..source }, to: Slice { bytes, ..target } });
                    for slice in [&mut from, &mut to] {
                        (slice.offset, slice.bytes) = (slice.offset + bytes, slice.bytes - bytes);
                    }
                }
            }
        }
        Ok(())
    }

    fn all(&self, commands: &[Command]) -> Result<Vec<Command>, Diagnostic> {
        let mut out = Vec::with_capacity(commands.len());
        commands.iter().try_for_each(|command| self.commands(command, &mut out))?;
        Ok(out)
    }

    fn dispatch(&self, dispatch: &Dispatch) -> Result<Dispatch, Diagnostic> {
        let mut counts = vec![];
        let (mut arguments, mut behind) = (vec![], vec![]);
        for argument in &dispatch.arguments {
            let Argument::Buffer(slice) = *argument else {
                counts.push(1);
                arguments.push(*argument);
                continue;
            };
            let state = self.lock();
            let Some(parts) = state.parts(slice.block)? else {
                counts.push(1);
                arguments.push(*argument);
                continue;
            };
            if slice.offset != 0 {
                return Err(bad_arguments("a buffer of several parts is passed from its beginning on"));
            }
            counts.push(parts.len() as u32);
            let mut left = slice.bytes;
            let mut all = parts.iter().map(|part| {
                let bytes = left.min(self.part);
                left -= bytes;
                Argument::Buffer(Slice { block: *part, bytes: bytes.max(EMPTY), ..slice })
            });
            arguments.extend(all.next());
            behind.extend(all);
        }
        let program = self.program(dispatch.program, counts)?;
        arguments.extend(behind);
        let grid = match dispatch.grid {
            Grid::Own => Grid::Own,
            Grid::Workgroups(size) => Grid::Workgroups(size),
            Grid::Indirect(slice) => Grid::Indirect(self.pieces(slice)?[0]),
        };
        Ok(Dispatch { program, arguments, grid })
    }

    /// The program for arguments of so many parts.
    fn program(&self, program: ProgramId, counts: Vec<u32>) -> Result<ProgramId, Diagnostic> {
        let state = &mut *self.lock();
        state.programs.get(program).ok_or_else(freed)?;
        let found = state.programs[program].as_mut().ok_or_else(freed)?;
        if counts.iter().all(|count| *count == 1) {
            return Ok(found.whole);
        }
        if let Some(made) = found.split.get(&counts) {
            return Ok(*made);
        }
        let first = |errors: Vec<Diagnostic>| errors.into_iter().next().unwrap_or_else(freed);
        let module = split(&found.module, found.kernel, &counts, self.part, self.inner.caps()).map_err(first)?;
        let made = self.inner.load(&module, &[found.kernel], &found.options).map_err(first)?;
        let made = *made.first().ok_or_else(freed)?;
        found.split.insert(counts, made);
        Ok(made)
    }
}

impl State {
    /// The parts of a block; none if it is one of the driver below.
    fn parts(&self, block: BlockId) -> Result<Option<&[BlockId]>, Diagnostic> {
        match (block.index() as u32).checked_sub(SPLIT) {
            None => Ok(None),
            Some(i) => self.split.get(i as usize).and_then(Option::as_deref).map(Some).ok_or_else(freed),
        }
    }
}

impl Driver for Segmented {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn caps(&self) -> &Caps {
        self.inner.caps()
    }
    fn ordinal(&self) -> u32 {
        self.inner.ordinal()
    }
    fn reach(&self) -> u64 {
        PARTS as u64 * self.part
    }
    fn whole_bytes(&self) -> u64 {
        self.whole
    }
    fn moves_bytes(&self) -> bool {
        self.inner.moves_bytes()
    }

    fn keeping(&self) -> Option<Keeping> {
        self.inner.keeping()
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        if memory.bytes <= self.whole {
            return self.inner.allocate(memory);
        }
        let count = usize::try_from(memory.bytes.div_ceil(self.part)).unwrap_or(usize::MAX);
        if count > PARTS {
            let (wanted, most) = (memory.bytes >> 10, self.reach() >> 10);
            let message = format!("a buffer of {wanted} KiB, but kernels reach {PARTS} parts, of {most} KiB in all");
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint("use several buffers"));
        }
        let mut sizes = vec![self.part; count];
        sizes[count - 1] = (memory.bytes - (count as u64 - 1) * self.part).max(EMPTY);
        // What is not there lies behind the last part: nobody has an index in it.
        sizes.resize(count.next_power_of_two(), EMPTY);
        let mut all: Vec<BlockId> = vec![];
        for bytes in &sizes {
            match self.inner.allocate(Memory { bytes: *bytes, ..memory }) {
                Ok(block) => all.push(block),
                Err(error) => {
                    all.into_iter().for_each(|block| self.inner.release(block));
                    return Err(error);
                }
            }
        }
        let split = &mut self.lock().split;
        let free = split.iter().position(Option::is_none).unwrap_or(split.len());
        split.resize(split.len().max(free + 1), None);
        split[free] = Some(all);
        Ok(BlockId::new(SPLIT + free as u32))
    }
    fn starts_zeroed(&self) -> bool {
        self.inner.starts_zeroed()
    }
    fn release(&self, block: BlockId) {
        let Some(i) = (block.index() as u32).checked_sub(SPLIT) else { return self.inner.release(block) };
        let parts = self.lock().split.get_mut(i as usize).and_then(Option::take);
        parts.into_iter().flatten().for_each(|part| self.inner.release(part));
    }
    #[allow(unsafe_code)]
    unsafe fn import(&self, address: u64, bytes: u64) -> Result<BlockId, Diagnostic> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.inner.import(address, bytes) }
    }
    fn address(&self, slice: Slice) -> Option<u64> {
        if self.lock().parts(slice.block).ok()?.is_some() { None } else { self.inner.address(slice) }
    }

    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let made = self.inner.load(module, kernels, options)?;
        let module = Arc::new(module.clone());
        let state = &mut *self.lock();
        let program = |(whole, kernel): (ProgramId, &FunctionId)| {
            let (module, options, split) = (module.clone(), options.clone(), FastMap::default());
            state.programs.push(Some(Program { module, kernel: *kernel, options, whole, split }))
        };
        Ok(made.into_iter().zip(kernels).map(program).collect())
    }
    fn unload(&self, program: ProgramId) {
        let programs = &mut self.lock().programs;
        let found = if programs.get(program).is_some() { programs[program].take() } else { None };
        if let Some(Program { whole, split, .. }) = found {
            [whole].into_iter().chain(split.into_values()).for_each(|program| self.inner.unload(program));
        }
    }

    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        self.inner.open_queue()
    }
    #[allow(unsafe_code)]
    unsafe fn adopt_queue(&self, handle: u64) -> Result<QueueId, Diagnostic> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.inner.adopt_queue(handle) }
    }
    fn close_queue(&self, queue: QueueId) {
        self.inner.close_queue(queue);
    }

    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        self.inner.submit(queue, &self.all(commands)?)
    }
    fn write(&self, queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        let mut left = bytes;
        for piece in self.pieces(to)? {
            let (now, behind) = left.split_at(piece.bytes as usize);
            self.inner.write(queue, piece, now)?;
            left = behind;
        }
        Ok(())
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        let commands = self.all(commands)?;
        let mut inner = vec![];
        for Read { from, bytes } in reads {
            let mut left = &mut **bytes;
            for piece in self.pieces(*from)? {
                let (now, behind) = std::mem::take(&mut left).split_at_mut(piece.bytes as usize);
                inner.push(Read { from: piece, bytes: now });
                left = behind;
            }
        }
        self.inner.read(queue, &commands, &mut inner)
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        let fetch = |piece: &Slice| self.inner.fetch(queue, *piece);
        match &self.pieces(from)?[..] {
            [piece] => fetch(piece),
            several => Ok(Box::new(Joined(several.iter().map(fetch).collect::<Result<_, _>>()?))),
        }
    }
    fn fence(&self, queue: QueueId, to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        self.inner.fence(queue, to_tell)
    }
    fn follow(&self, queue: QueueId, other: QueueId) -> Result<(), Diagnostic> {
        self.inner.follow(queue, other)
    }
    fn follow_point(&self, queue: QueueId, point: &(dyn Fence + 'static), other: QueueId) -> Result<(), Diagnostic> {
        // All points are those of the driver below.
        self.inner.follow_point(queue, point, other)
    }
    fn time(&self, queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        self.inner.time(queue, &self.all(commands)?, runs)
    }
}

/// Bytes of several parts on their way to the host.
struct Joined(Vec<Box<dyn Fetch>>);

impl Fence for Joined {
    fn poll(&self) -> Result<bool, Diagnostic> {
        self.0.iter().try_fold(true, |all, part| Ok(part.poll()? && all))
    }
    fn wait(&self) -> Result<(), Diagnostic> {
        self.0.iter().try_for_each(|part| part.wait())
    }
    fn outcome(&self) -> Result<(), Diagnostic> {
        self.0.iter().try_for_each(|part| part.outcome())
    }
    fn wake(&self, waker: &Waker) -> bool {
        // Each of them is asked, whatever the others say.
        let wakes: Vec<bool> = self.0.iter().map(|part| part.wake(waker)).collect();
        wakes.into_iter().all(|wakes| wakes)
    }
}

impl Fetch for Joined {
    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        let parts = self.0.iter().map(|part| part.take()).collect::<Result<Vec<_>, _>>()?;
        Ok(parts.concat())
    }
}
