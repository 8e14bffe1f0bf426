//! A driver that somebody watches: what it is asked for is told first, and can be refused.

use girih::Diagnostic;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_runtime::driver::{
    BlockId, Command, Dispatch, Driver, Fence, Fetch, Keeping, ProgramId, QueueId, Replay, Slice,
};
use girih_runtime::{Device, DeviceInfo, LoadOptions, Memory, Read, Timing};
use std::sync::Arc;

/// What a driver is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Memory of so many bytes.
    Allocate(u64),
    /// Kernels.
    Load,
    /// Work, or bytes that go there or come back.
    Work,
}

/// What a driver has given out, or got back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A block of so many bytes.
    Block(BlockId, u64),
    /// It came back.
    Released(BlockId),
    /// So many programs.
    Programs(usize),
    /// One came back.
    Unloaded,
}

/// Whoever watches.
pub trait Watch: Send + Sync + 'static {
    /// Something is about to be asked for.
    ///
    /// # Errors
    /// What the driver is to say instead of doing it.
    fn asked(&self, what: Use) -> Result<(), Diagnostic>;
    /// Something was given out, or came back.
    fn given(&self, _what: Given) {}
}

/// The driver. It keeps no memory for later, so that what is given back is seen.
struct Watched<W> {
    inner: Arc<dyn Driver>,
    watch: Arc<W>,
}

/// A device whose driver is watched.
pub fn watched(device: &Device, watch: impl Watch) -> Device {
    Device::new(Watched { inner: device.driver().clone(), watch: Arc::new(watch) })
}

impl<W: Watch> Driver for Watched<W> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn caps(&self) -> &Caps {
        self.inner.caps()
    }
    fn reach(&self) -> u64 {
        self.inner.reach()
    }
    fn keeping(&self) -> Option<Keeping> {
        None
    }
    fn allocate(&self, memory: Memory) -> Result<BlockId, Diagnostic> {
        self.watch.asked(Use::Allocate(memory.bytes))?;
        let block = self.inner.allocate(Memory { bytes: memory.bytes.max(16).next_multiple_of(16), ..memory })?;
        self.watch.given(Given::Block(block, memory.bytes));
        Ok(block)
    }
    fn starts_zeroed(&self) -> bool {
        self.inner.starts_zeroed()
    }
    fn release(&self, block: BlockId) {
        self.watch.given(Given::Released(block));
        self.inner.release(block);
    }
    fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        self.watch.asked(Use::Load).map_err(|error| vec![error])?;
        let programs = self.inner.load(module, kernels, options)?;
        self.watch.given(Given::Programs(programs.len()));
        Ok(programs)
    }
    fn unload(&self, program: ProgramId) {
        self.watch.given(Given::Unloaded);
        self.inner.unload(program);
    }
    fn open_queue(&self) -> Result<QueueId, Diagnostic> {
        self.inner.open_queue()
    }
    fn close_queue(&self, queue: QueueId) {
        self.inner.close_queue(queue);
    }
    fn submit(&self, queue: QueueId, commands: &[Command]) -> Result<(), Diagnostic> {
        self.watch.asked(Use::Work)?;
        self.inner.submit(queue, commands)
    }
    fn write(&self, queue: QueueId, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.watch.asked(Use::Work)?;
        self.inner.write(queue, to, bytes)
    }
    fn read(&self, queue: QueueId, commands: &[Command], reads: &mut [Read<'_, Slice>]) -> Result<(), Diagnostic> {
        self.watch.asked(Use::Work)?;
        self.inner.read(queue, commands, reads)
    }
    fn fetch(&self, queue: QueueId, from: Slice) -> Result<Box<dyn Fetch>, Diagnostic> {
        self.watch.asked(Use::Work)?;
        self.inner.fetch(queue, from)
    }
    fn fence(&self, queue: QueueId, to_tell: bool) -> Result<Box<dyn Fence>, Diagnostic> {
        self.inner.fence(queue, to_tell)
    }
    fn follow(&self, queue: QueueId, other: QueueId) -> Result<(), Diagnostic> {
        self.inner.follow(queue, other)
    }
    fn time(&self, queue: QueueId, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        self.watch.asked(Use::Work)?;
        self.inner.time(queue, commands, runs)
    }
    fn record(&self, commands: &[Command]) -> Result<Option<Box<dyn Replay>>, Diagnostic> {
        self.watch.asked(Use::Work)?;
        let inner = self.inner.clone();
        Ok(Some(Box::new(List { inner, watch: self.watch.clone(), commands: commands.to_vec() })))
    }
}

/// Commands that were made ready: all drivers that are watched say they do that.
struct List<W> {
    inner: Arc<dyn Driver>,
    watch: Arc<W>,
    commands: Vec<Command>,
}

impl<W: Watch> Replay for List<W> {
    fn set(&mut self, command: usize, dispatch: &Dispatch) -> Result<(), Diagnostic> {
        self.commands[command] = Command::Dispatch(dispatch.clone());
        Ok(())
    }
    fn submit(&mut self, queue: QueueId) -> Result<(), Diagnostic> {
        self.watch.asked(Use::Work)?;
        self.inner.submit(queue, &self.commands)
    }
}

/// Who lets everything happen.
pub struct Nobody;

impl Watch for Nobody {
    fn asked(&self, _what: Use) -> Result<(), Diagnostic> {
        Ok(())
    }
}
