//! A device whose buffers may be larger than what one binding of it reaches: such a buffer is several of the device below, and kernels that get one
//! are rewritten for that ([`split`]) and compiled again, when it happens first.
//!
//! Heaps on graphics cards need this: through wgpu a binding ends at 2 GiB or sooner, and at 128 MiB within the web's limits.
//!
//! Invariant: whoever uses the device need not know. A buffer that one binding reaches is one buffer, and its kernels are those that were written.

use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::split;
use girih_runtime::Timing;
pub use girih_runtime::{
    Argument, BufferId, Command, Device, DeviceInfo, DeviceKind, Dispatch, Grid, LoadOptions, Memory, ProgramId, Read,
};
use std::sync::Arc;

/// Parts that a buffer has at most.
pub const PARTS: usize = 4;
/// Bytes of a part that nothing stands in: a number of parts is a power of two.
const EMPTY: u64 = 16;

/// The device.
pub struct Segmented {
    inner: Box<dyn Device>,
    /// Bytes that a buffer has at most that is not split.
    whole: u64,
    /// Bytes of each part of one that is, the last one apart.
    part: u64,
    buffers: IndexVec<BufferId, Option<Parts>>,
    programs: IndexVec<ProgramId, Option<Program>>,
}

/// A buffer.
#[derive(Clone, Debug)]
struct Parts {
    all: Vec<BufferId>,
    /// Bytes of each but the last one.
    each: u64,
}

/// A kernel, and what it became for buffers of several parts.
struct Program {
    module: Arc<Verified<Module>>,
    kernel: FunctionId,
    options: LoadOptions,
    whole: ProgramId,
    /// By the numbers of parts of the arguments.
    split: FastMap<Vec<u32>, ProgramId>,
}

/// Bytes within one part.
struct Piece {
    part: BufferId,
    offset: u64,
    bytes: u64,
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, Span::NONE, message)
}
fn freed() -> Diagnostic {
    wrong("the buffer or the program was freed")
}

impl Parts {
    /// The part in which a byte lies, where in it, and how many bytes from there on are in the same part. What lies behind the end is the
    /// device's to refuse.
    fn find(&self, at: u64) -> Piece {
        let last = self.all.len() - 1;
        let number = usize::try_from(at / self.each).unwrap_or(usize::MAX).min(last);
        let offset = at - number as u64 * self.each;
        let bytes = if number == last { u64::MAX } else { self.each - offset };
        Piece { part: self.all[number], offset, bytes }
    }
}

impl Segmented {
    /// The same device, where buffers of more than `whole` bytes have up to [`PARTS`] parts of `part` bytes each, rounded down to a power of two.
    pub fn with_parts(inner: Box<dyn Device>, whole: u64, part: u64) -> Segmented {
        let part = 1 << part.max(EMPTY).ilog2();
        Segmented { inner, whole, part, buffers: IndexVec::new(), programs: IndexVec::new() }
    }

    /// The same device with buffers that reach as far as words do; the device itself where its bindings reach that far, or where nothing but its
    /// memory limits them, as on a CUDA card. Buffers that it has made already keep their names.
    pub fn over(inner: Box<dyn Device>, made: &[BufferId]) -> Box<dyn Device> {
        let reach = inner.reach();
        if reach >= super::MOST_HEAP || inner.info().kind == DeviceKind::Cuda {
            return inner;
        }
        let mut device = Segmented::with_parts(inner, reach, reach);
        for id in 0..made.iter().map(|id| id.index() + 1).max().unwrap_or(0) {
            let id = BufferId::new(id as u32);
            device.buffers.push(made.contains(&id).then(|| Parts { all: vec![id], each: u64::MAX }));
        }
        Box::new(device)
    }

    fn parts(&self, buffer: BufferId) -> Result<&Parts, Diagnostic> {
        self.buffers.get(buffer).and_then(Option::as_ref).ok_or_else(freed)
    }

    /// The pieces of a range of bytes.
    fn pieces(&self, buffer: BufferId, offset: u64, bytes: u64) -> Result<Vec<Piece>, Diagnostic> {
        let parts = self.parts(buffer)?;
        let (mut at, mut left, mut pieces) = (offset, bytes, vec![]);
        loop {
            let Piece { part, offset, bytes } = parts.find(at);
            let bytes = bytes.min(left);
            pieces.push(Piece { part, offset, bytes });
            (at, left) = (at.saturating_add(bytes), left - bytes);
            if left == 0 {
                return Ok(pieces);
            }
        }
    }

    /// A command as the device below has it.
    fn commands(&mut self, command: &Command, out: &mut Vec<Command>) -> Result<(), Diagnostic> {
        match command {
            Command::Dispatch(dispatch) => out.push(Command::Dispatch(self.dispatch(dispatch)?)),
            Command::Clear { at: (buffer, offset), bytes } => {
                for Piece { part, offset, bytes } in self.pieces(*buffer, *offset, *bytes)? {
                    out.push(Command::Clear { at: (part, offset), bytes });
                }
            }
            Command::Copy { from, to, bytes } => {
                let (mut done, mut left) = (0, *bytes);
                loop {
                    let source = self.parts(from.0)?.find(from.1.saturating_add(done));
                    let target = self.parts(to.0)?.find(to.1.saturating_add(done));
                    let bytes = source.bytes.min(target.bytes).min(left);
                    out.push(Command::Copy {
                        from: (source.part, source.offset),
                        to: (target.part, target.offset),
                        bytes,
                    });
                    done += bytes;
                    if left == bytes {
                        break;
                    }
                    left -= bytes;
                }
            }
        }
        Ok(())
    }

    fn all(&mut self, commands: &[Command]) -> Result<Vec<Command>, Diagnostic> {
        let mut out = Vec::with_capacity(commands.len());
        commands.iter().try_for_each(|command| self.commands(command, &mut out))?;
        Ok(out)
    }

    fn dispatch(&mut self, dispatch: &Dispatch) -> Result<Dispatch, Diagnostic> {
        let mut counts = vec![];
        let (mut arguments, mut behind) = (vec![], vec![]);
        for argument in &dispatch.arguments {
            let Argument::Buffer(buffer, offset) = *argument else {
                counts.push(1);
                arguments.push(*argument);
                continue;
            };
            let parts = self.parts(buffer)?;
            if parts.all.len() > 1 && offset != 0 {
                return Err(wrong("a buffer of several parts is passed from its beginning on"));
            }
            counts.push(parts.all.len() as u32);
            arguments.push(Argument::Buffer(parts.all[0], offset));
            behind.extend(parts.all[1..].iter().map(|part| Argument::Buffer(*part, 0)));
        }
        let program = self.program(dispatch.program, counts)?;
        arguments.extend(behind);
        let grid = match dispatch.grid {
            Grid::Own => Grid::Own,
            Grid::Workgroups(size) => Grid::Workgroups(size),
            Grid::Indirect(buffer, offset) => Grid::Indirect(self.parts(buffer)?.all[0], offset),
        };
        Ok(Dispatch { program, arguments, grid })
    }

    /// The program for arguments of so many parts.
    fn program(&mut self, program: ProgramId, counts: Vec<u32>) -> Result<ProgramId, Diagnostic> {
        self.programs.get(program).ok_or_else(freed)?;
        let found = self.programs[program].as_mut().ok_or_else(freed)?;
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

impl Device for Segmented {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn caps(&self) -> &Caps {
        self.inner.caps()
    }
    fn reach(&self) -> u64 {
        PARTS as u64 * self.part
    }

    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        let mut sizes = vec![memory.bytes];
        if memory.bytes > self.whole {
            let count = usize::try_from(memory.bytes.div_ceil(self.part)).unwrap_or(usize::MAX);
            if count > PARTS {
                let (wanted, most) = (memory.bytes >> 10, self.reach() >> 10);
                let message =
                    format!("a buffer of {wanted} KiB, but kernels reach {PARTS} parts, of {most} KiB in all");
                return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint("use several buffers"));
            }
            sizes = vec![self.part; count];
            sizes[count - 1] = memory.bytes - (count as u64 - 1) * self.part;
            // What is not there lies behind the last part: nobody has an index in it.
            sizes.resize(count.next_power_of_two(), EMPTY);
        }
        let mut all: Vec<BufferId> = vec![];
        for bytes in &sizes {
            match self.inner.allocate(Memory { bytes: *bytes, ..memory }) {
                Ok(buffer) => all.push(buffer),
                Err(error) => {
                    all.into_iter().for_each(|buffer| self.inner.free(buffer));
                    return Err(error);
                }
            }
        }
        let each = if all.len() == 1 { u64::MAX } else { self.part };
        Ok(self.buffers.push(Some(Parts { all, each })))
    }

    fn free(&mut self, buffer: BufferId) {
        let parts = if self.buffers.get(buffer).is_some() { self.buffers[buffer].take() } else { None };
        parts.into_iter().flat_map(|parts| parts.all).for_each(|part| self.inner.free(part));
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let mut left = bytes;
        for Piece { part, offset, bytes } in self.pieces(buffer, offset, bytes.len() as u64)? {
            let (now, behind) = left.split_at(bytes as usize);
            self.inner.write(part, offset, now)?;
            left = behind;
        }
        Ok(())
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        let mut left = bytes;
        for Piece { part, offset, bytes } in self.pieces(buffer, offset, left.len() as u64)? {
            let (now, behind) = left.split_at_mut(bytes as usize);
            self.inner.read(part, offset, now)?;
            left = behind;
        }
        Ok(())
    }

    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let made = self.inner.load(module, kernels, options)?;
        let module = Arc::new(module.clone());
        let program = |(whole, kernel): (ProgramId, &FunctionId)| {
            let (module, options, split) = (module.clone(), options.clone(), FastMap::default());
            self.programs.push(Some(Program { module, kernel: *kernel, options, whole, split }))
        };
        Ok(made.into_iter().zip(kernels).map(program).collect())
    }

    fn unload(&mut self, program: ProgramId) {
        let found = if self.programs.get(program).is_some() { self.programs[program].take() } else { None };
        if let Some(Program { whole, split, .. }) = found {
            [whole].into_iter().chain(split.into_values()).for_each(|program| self.inner.unload(program));
        }
    }

    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        let commands = self.all(commands)?;
        self.inner.submit(&commands)
    }

    fn submit_and_read(&mut self, commands: &[Command], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        let commands = self.all(commands)?;
        let mut inner = vec![];
        for Read { buffer, offset, bytes } in reads {
            let mut left = &mut **bytes;
            for Piece { part, offset, bytes } in self.pieces(*buffer, *offset, left.len() as u64)? {
                let (now, behind) = std::mem::take(&mut left).split_at_mut(bytes as usize);
                inner.push(Read { buffer: part, offset, bytes: now });
                left = behind;
            }
        }
        self.inner.submit_and_read(&commands, &mut inner)
    }

    fn wait(&mut self) -> Result<(), Diagnostic> {
        self.inner.wait()
    }

    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let commands = self.all(commands)?;
        self.inner.time(&commands, runs)
    }
}
