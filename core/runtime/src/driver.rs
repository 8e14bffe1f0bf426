//! What a back end implements: memory, programs and queues by number. [`Device`](crate::Device) and its handles are written once
//! on top of it.
//!
//! Invariant: no method panics or leaves a command half recorded; an error says by its code whether the device can still be used (all
//! but [`Code::DeviceLost`] and `DeviceTimeout`). Methods may be called from any thread, by
//! several at a time. Slices that a driver is given lie inside of their blocks.

pub mod immediate;
pub mod untold;

use crate::command::{self, Read};
use crate::{DeviceInfo, LoadOptions, Memory, Timing};
use girih_base::diag::{Code, Diagnostic};
use girih_base::index_type;
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module, Verified};
use std::any::Any;
use std::task::Waker;

index_type! {
    /// Memory that a driver has given out.
    pub struct BlockId;
}
index_type! {
    /// A kernel that a driver has compiled.
    pub struct ProgramId;
}
index_type! {
    /// A queue of a driver: work in it runs in order.
    pub struct QueueId;
}

/// The queue that every driver has from the beginning.
pub const FIRST_QUEUE: QueueId = QueueId::new(0);

/// A part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The block.
    pub block: BlockId,
    /// The first byte.
    pub offset: u64,
    /// How many bytes kernels may reach from there.
    pub bytes: u64,
    /// What the address of the first byte is a multiple of: a power of two, at most [`ALIGN`].
    pub align: u32,
}

/// What drivers align their blocks to.
pub const ALIGN: u32 = 256;

/// A step of work, as a driver has it.
pub type Command = command::Command<Slice, ProgramId>;
/// A launch, as a driver has it.
pub type Dispatch = command::Dispatch<Slice, ProgramId>;
/// An argument, as a driver has it.
pub type Argument = command::Argument<Slice>;
/// How many workgroups run, as a driver has it.
pub type Grid = command::Grid<Slice>;

/// How a driver wants its memory kept for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Bytes of free blocks that are kept in any case.
    pub bytes: u64,
    /// Whether up to twice as much is kept as was in use at a time, as programs need that repeat steps with many sizes. For memory that only the device uses, or whose
    /// lack it says: then all of it is given back.
    pub to_peak: bool,
    /// Sizes are rounded up to a multiple of this, a power of two.
    pub grain: u64,
}

/// Programs that were loaded, and the bytes from which one that was asked to be kept is restored.
pub type Kept = (ProgramId, Option<Vec<u8>>);

/// A point in a queue. It outlives the queue.
pub trait Fence: Any + Send + Sync {
    /// Whether all work before it is done. Never waits.
    ///
    /// # Errors
    /// If the device fails.
    fn poll(&self) -> Result<bool, Diagnostic>;

    /// Waits until all work before it is done.
    ///
    /// # Errors
    /// If the device fails, does not finish in time, or nothing may wait here.
    fn wait(&self) -> Result<(), Diagnostic>;

    /// Tells what work before it has failed or trapped, once it is done: whoever of the queue's fences is asked first has it.
    ///
    /// # Errors
    /// That failure.
    fn outcome(&self) -> Result<(), Diagnostic>;

    /// Has someone woken when all work before it is done. If this is false, the driver cannot tell by itself and has to be asked.
    fn wake(&self, _waker: &Waker) -> bool {
        false
    }
}

/// Bytes on their way to the host.
pub trait Fetch: Fence {
    /// The bytes, once all work before is done. They can be taken once.
    ///
    /// # Errors
    /// If they cannot be had, or were taken.
    fn take(&self) -> Result<Vec<u8>, Diagnostic>;
}

/// What a program is compiled from.
#[derive(Clone, Copy, Debug)]
pub struct KernelSource<'a> {
    /// The module.
    pub module: &'a Verified<Module>,
    /// The kernel in it.
    pub kernel: FunctionId,
    /// How it is compiled.
    pub options: &'a LoadOptions,
}

/// A back end.
pub trait Driver: Send + Sync {
    /// What it is.
    fn info(&self) -> &DeviceInfo;
    /// What it can do. Kernels are made legal for this by [`load`](Self::load).
    fn caps(&self) -> &Caps;
    /// Its number among devices of its kind.
    fn ordinal(&self) -> u32 {
        0
    }
    /// How many multiprocessors it has, each of which runs workgroups by itself; none if that is not known.
    fn multiprocessors(&self) -> Option<u32> {
        None
    }
    /// Bytes of the largest buffer that a kernel can be given.
    fn reach(&self) -> u64 {
        self.caps().binding_bytes.min(self.caps().buffer_bytes)
    }
    /// Bytes up to which one binding reaches a buffer: no smaller buffer is given a larger block.
    fn whole_bytes(&self) -> u64 {
        self.caps().binding_bytes.min(self.caps().buffer_bytes)
    }
    /// Whether [`write`](Self::write), [`read`](Self::read), [`fetch`](Self::fetch), copies and clears take any place and size. If not, both are multiples of 4.
    fn moves_bytes(&self) -> bool {
        false
    }

    /// How its memory is kept for later; none if it is given back at once.
    fn keeping(&self) -> Option<Keeping>;
    /// New memory. What is in it is not said.
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic>;
    /// Whether memory that [`allocate`](Self::allocate) gives is all zero.
    fn starts_zeroed(&self) -> bool {
        false
    }
    /// Takes memory back that no work uses any more.
    fn release(&self, block: BlockId);
    /// Names memory of somebody else at an address of this device, a multiple of [`ALIGN`]. [`release`](Self::release) forgets the name.
    ///
    /// # Safety
    /// So many bytes are there, to be read and written by the device, until the block is released and all work on it is done. What is before the first slice of the block is
    /// not touched: an owner's memory may begin there.
    #[allow(unsafe_code)]
    unsafe fn import(&self, _address: u64, _bytes: u64) -> Result<BlockId, Diagnostic> {
        Err(refused(self.info(), "takes no memory by its address"))
    }
    /// The address of memory, where kernels and others know it by one.
    fn address(&self, _slice: Slice) -> Option<u64> {
        None
    }

    /// Compiles kernels of a module, all into one module of the device; gives a program for each.
    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>>;
    /// Compiles one kernel of a module. Also gives the bytes from which [`restore`](Self::restore) makes the same program on a device that says the
    /// same of itself, without its code being lowered, rendered or compiled again; none where there are no such bytes.
    fn load_to_keep(
        &self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<Kept, Vec<Diagnostic>> {
        // One kernel was asked for.
        self.load(module, &[kernel], options).map(|programs| (programs[0], None))
    }
    /// The program of bytes that [`load_to_keep`](Self::load_to_keep) gave; none if the device cannot make it of them. Whoever keeps bytes sees to it
    /// that they come back as they were: what they say is not checked.
    /// With its source, a program has other forms too, for buffers that begin where this one does not take them.
    fn restore(&self, _bytes: &[u8], _source: Option<KernelSource<'_>>) -> Option<ProgramId> {
        None
    }
    /// Forgets a program. Work that was submitted with it still runs.
    fn unload(&self, program: ProgramId);

    /// A new queue; a driver with one queue gives another name for it.
    fn open_queue(&self) -> Result<QueueId, Diagnostic>;
    /// A name for a queue that somebody else has made, by the driver's own handle.
    ///
    /// # Safety
    /// The handle is one of this device, and lives until the queue is closed.
    #[allow(unsafe_code)]
    unsafe fn adopt_queue(&self, _handle: u64) -> Result<QueueId, Diagnostic> {
        Err(refused(self.info(), "takes no queues of others"))
    }
    /// Forgets a queue, and does not touch it any more if somebody else has made it. Work that was submitted to it still runs, and the programs that it uses
    /// are kept.
    fn close_queue(&self, queue: QueueId);

    /// Queues commands. Nothing is queued if an error is returned.
    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic>;
    /// Queues bytes for memory. They may be changed when this returns.
    fn write(&self, queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic>;
    /// Queues commands, waits for the queue's work, and reads what it left. Nothing is queued if a command or a place is wrong.
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic>;
    /// Queues reading; nothing waits.
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic>;
    /// A point behind all work that is queued so far. Its [`outcome`](Fence::outcome) is asked for only if it was made `to_tell`.
    fn fence(&self, queue: QueueId, to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic>;
    /// Work that is queued from now on begins after what another queue has now.
    fn follow(&self, queue: QueueId, other: QueueId) -> Result<(), Diagnostic>;
    /// Work that is queued from now on begins after a point that this driver has recorded in another queue, which may be closed. Who cannot tell waits for more: for what the other queue has now.
    fn follow_point(&self, queue: QueueId, _point: &(dyn Fence + 'static), other: QueueId) -> Result<(), Diagnostic> {
        self.follow(queue, other)
    }
    /// Runs commands `runs` times, queued at once where there is a queue, and says how long each run took.
    fn time(&self, queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic>;

    /// Makes commands ready to be submitted many times, with new arguments; none if the driver has nothing better than submitting them.
    fn record(&self, _commands: &[Command]) -> Result<Option<Box<dyn Replay>>, Diagnostic> {
        Ok(None)
    }
}

/// Commands that were made ready.
pub trait Replay: Send + Sync {
    /// Replaces a dispatch by one of the same program.
    fn set(&mut self, command: usize, dispatch: &Dispatch) -> Result<(), Diagnostic>;
    /// Queues all of them.
    fn submit(&mut self, queue: QueueId) -> Result<(), Diagnostic>;
}

/// What a device is asked for cannot be done: the arguments are at fault.
pub fn bad_arguments(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, Span::NONE, message)
}

/// What a device does not do.
pub(crate) fn refused(info: &DeviceInfo, what: &str) -> Diagnostic {
    bad_arguments(format!("the device `{}` {what}", info.name))
}
