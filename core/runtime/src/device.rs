//! The interface of a device. A device owns buffers and programs, which are named by ids; work is a list of commands
//! that run in order, each seeing what those before it wrote.
//!
//! Invariant: no method panics or leaves a command half recorded; an error says by its code whether the device can still be used
//! (all but [`Code::DeviceLost`](girih_base::diag::Code::DeviceLost) and `DeviceTimeout`).

use super::Timing;
use girih_base::diag::Diagnostic;
use girih_base::index_type;
use girih_ir::{Caps, FunctionId, Module, Type, Verified};

index_type! {
    /// A buffer of a device.
    pub struct BufferId;
}
index_type! {
    /// A kernel that a device has compiled.
    pub struct ProgramId;
}

/// Which implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The reference machine.
    Interpreter,
    /// wgpu on a graphics card.
    Wgpu,
    /// wgpu on an adapter that computes on the CPU: never chosen unless it is named.
    WgpuSoftware,
    /// The CUDA driver.
    Cuda,
    /// Native code on the host's processor.
    Cpu,
}

/// What a device is, for people and for cache keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Which implementation.
    pub kind: DeviceKind,
    /// Name of the card or adapter.
    pub name: String,
    /// Driver and its version; what else tells two machines apart.
    pub driver: String,
    /// The interface below: `Vulkan`, `Metal`, `DX12`, `CUDA 13.0 sm_90`, ..
    pub backend: String,
}

/// How memory of a buffer is going to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes.
    pub bytes: u64,
    /// Whether grids of indirect dispatches are read from it.
    pub indirect: bool,
}

/// A scalar argument: the value's bits, zero above the type's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// A scalar type.
    pub ty: Type,
    /// Its bits.
    pub bits: u64,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A buffer, from a byte (a multiple of 256) on.
    Buffer(BufferId, u64),
    /// A number.
    Scalar(Constant),
}

/// How many workgroups run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// What the kernel's own `launch` region says.
    Own,
    /// This many.
    Workgroups([u32; 3]),
    /// Three `u32` in a buffer, at a byte that is a multiple of 4, read when the dispatch starts. Folding is the writer's task.
    Indirect(BufferId, u64),
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The kernel.
    pub program: ProgramId,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
    /// How many workgroups.
    pub grid: Grid,
}

/// A step of work.
#[derive(Clone, Debug)]
pub enum Command {
    /// Runs a kernel.
    Dispatch(Dispatch),
    /// Copies bytes between buffers (or within one, without overlap); offsets and size are multiples of 4.
    Copy {
        /// From buffer and byte.
        from: (BufferId, u64),
        /// To buffer and byte.
        to: (BufferId, u64),
        /// How many bytes.
        bytes: u64,
    },
    /// Fills bytes with zero; offset and size are multiples of 4.
    Clear {
        /// Buffer and first byte.
        at: (BufferId, u64),
        /// How many bytes.
        bytes: u64,
    },
}

/// Bytes of a buffer that are wanted.
#[derive(Debug)]
pub struct Read<'a> {
    /// The buffer.
    pub buffer: BufferId,
    /// The first byte (a multiple of 4).
    pub offset: u64,
    /// Where they go; their number is a multiple of 4.
    pub bytes: &'a mut [u8],
}

/// How kernels are compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Values of specialisation constants by name; the kernel's defaults for the rest.
    pub specialisations: Vec<(String, u64)>,
    /// Keep all guards that a device's own compiler can add (bounds checks): slower, for finding faults.
    pub checked: bool,
    /// Kernels whose grids stand in memory: where these need code of their own, it is compiled now, and the other only if it is asked for.
    pub indirect: Vec<FunctionId>,
}

/// A device. One thread uses it at a time; it need not be the one that opened it.
pub trait Device: Send {
    /// What it is.
    fn info(&self) -> &DeviceInfo;
    /// What it can do. Kernels are made legal for this by [`load`](Self::load).
    fn caps(&self) -> &Caps;
    /// Bytes of the largest buffer that a kernel can be given.
    fn reach(&self) -> u64 {
        self.caps().binding_bytes.min(self.caps().buffer_bytes)
    }

    /// A new buffer, all zero. Its size is rounded up to a multiple of 16 bytes; 0 bytes is allowed.
    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic>;
    /// Gives a buffer back once work that uses it is done.
    fn free(&mut self, buffer: BufferId);
    /// Writes bytes from a place on (a multiple of 4; so is the length), after all work submitted so far.
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic>;
    /// Waits for all work and reads bytes (offset and length multiples of 4).
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic>;

    /// Compiles kernels of a module, all into one module of the device; gives a program for each.
    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>>;
    /// Compiles one kernel of a module. Also gives the bytes from which [`restore`](Self::restore) makes the same program on a device that says the
    /// same of itself, without its code being lowered, rendered or compiled again; none where there are no such bytes.
    fn load_to_keep(
        &mut self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<(ProgramId, Option<Vec<u8>>), Vec<Diagnostic>> {
        // One kernel was asked for.
        self.load(module, &[kernel], options).map(|programs| (programs[0], None))
    }
    /// The program of bytes that [`load_to_keep`](Self::load_to_keep) gave; none if the device cannot make it of them. Whoever keeps bytes sees to it
    /// that they come back as they were: what they say is not checked.
    fn restore(&mut self, _bytes: &[u8]) -> Option<ProgramId> {
        None
    }
    /// Forgets a program.
    fn unload(&mut self, program: ProgramId);

    /// Queues commands. Nothing is queued if an error is returned.
    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic>;
    /// Queues commands, waits for all work, and reads what it left: what [`submit`](Self::submit) and [`read`](Self::read) do, with one way to the
    /// device and back where each takes one of its own. Nothing is queued if a command or a place is wrong.
    fn submit_and_read(&mut self, commands: &[Command], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        self.submit(commands)?;
        reads.iter_mut().try_for_each(|read| self.read(read.buffer, read.offset, read.bytes))
    }
    /// Waits until all queued work is done; an error if something in it failed or trapped.
    fn wait(&mut self) -> Result<(), Diagnostic>;
    /// Runs commands `runs` times, queued at once where the device has a queue, and says how long each run took. For figures that count
    /// see [`measure`](super::measure()), which warms the device up.
    fn time(&mut self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic>;
}
