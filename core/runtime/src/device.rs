//! A device: a handle that any thread may have, and what it gives out.

use crate::allocator::{Allocator, Block, Figures};
use crate::buffer::{Allocation, Kind, Told};
use crate::driver::{ALIGN, Driver, KernelSource};
use crate::program::{Program, Writes};
use crate::queue::Queue;
use crate::retired::Family;
use crate::{Array, Buffer, Command, Element, Memory, Read, Recording, Stream, Timing};
use girih_base::diag::Diagnostic;
use girih_ir::{Caps, FunctionId, Module, Verified};
use std::fmt;
use std::sync::{Arc, Mutex};

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

/// What the handles of one device share.
pub(crate) struct Core {
    pub allocator: Arc<Allocator>,
    /// Devices that know each other's blocks and queues have the same.
    pub family: Arc<Family>,
    pub driver: Arc<dyn Driver>,
}

impl Core {
    /// Whether another device knows the same blocks.
    pub fn is_family(&self, other: &Core) -> bool {
        Arc::ptr_eq(&self.family, &other.family)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Others may go on with the driver.
        self.allocator.trim();
        self.family.leave(&self.allocator);
    }
}

/// A device. Clones are the same one, and any thread may use it; what it has given out keeps it open.
///
/// Its own methods work in its first stream, [`stream`](Device::stream), in order.
#[derive(Clone)]
pub struct Device(Arc<Core>);

impl Device {
    /// The device of a back end.
    pub fn new(driver: impl Driver + 'static) -> Device {
        Device::over(Arc::new(driver))
    }

    /// The device of a back end that others know, too.
    pub fn over(driver: Arc<dyn Driver>) -> Device {
        Device::with(driver, Family::new())
    }

    fn with(driver: Arc<dyn Driver>, family: Arc<Family>) -> Device {
        let allocator = Allocator::new(driver.clone(), family.clone());
        family.join(&allocator);
        Device(Arc::new(Core { allocator, family, driver }))
    }

    /// The same device behind another driver, which knows this one's blocks, programs and queues by their numbers, and passes them on. Each takes the
    /// other's buffers.
    pub fn behind(&self, driver: Arc<dyn Driver>) -> Device {
        Device::with(driver, self.0.family.clone())
    }

    pub(crate) fn of(core: Arc<Core>) -> Device {
        Device(core)
    }
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    /// The back end.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// What it is.
    pub fn info(&self) -> &DeviceInfo {
        self.0.driver.info()
    }

    /// What it can do. Kernels are made legal for this by [`load`](Self::load).
    pub fn caps(&self) -> &Caps {
        self.0.driver.caps()
    }

    /// Bytes of the largest buffer that a kernel can be given.
    pub fn reach(&self) -> u64 {
        self.0.driver.reach()
    }

    /// Whether two handles are of one device.
    pub fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    // Memory.

    /// A new buffer. What is in it is not said: see [`zeroed`](Self::zeroed).
    ///
    /// # Errors
    /// If there is not as much memory.
    pub fn allocate(&self, memory: Memory) -> Result<Buffer, Diagnostic> {
        self.allocate_in(memory, &self.0.family.first).map(|(buffer, _)| buffer)
    }

    /// A new buffer for work of a queue, and whether its memory is new.
    pub(crate) fn allocate_in(&self, memory: Memory, queue: &Arc<Queue>) -> Result<(Buffer, bool), Diagnostic> {
        let (block, is_new) = self.0.allocator.allocate(memory, queue)?;
        let kind = if is_new { Kind::New } else { Kind::Recycled };
        Ok((self.buffer(block, memory.bytes, kind), is_new))
    }

    fn buffer(&self, block: Block, bytes: u64, kind: Kind) -> Buffer {
        Buffer::whole(Arc::new(Allocation { block, bytes, kind, uses: Mutex::default(), core: self.0.clone() }))
    }

    /// A new buffer, all zero.
    ///
    /// # Errors
    /// If there is not as much memory, or the device fails.
    pub fn zeroed(&self, memory: Memory) -> Result<Buffer, Diagnostic> {
        self.stream().zeroed(memory)
    }

    /// A new buffer with these bytes.
    ///
    /// # Errors
    /// If there is not as much memory, or the device fails.
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, Diagnostic> {
        let buffer = self.allocate(Memory::of(bytes.len() as u64))?;
        self.write(&buffer, 0, bytes)?;
        Ok(buffer)
    }

    /// A new array of these numbers.
    ///
    /// # Errors
    /// If there is not as much memory, or the device fails.
    pub fn array<T: Element>(&self, numbers: &[T]) -> Result<Array<T>, Diagnostic> {
        let array = self.empty(numbers.len() as u64)?;
        array.write(&self.stream(), numbers)?;
        Ok(array)
    }

    /// A new array of so many numbers, which are not said.
    ///
    /// # Errors
    /// If there is not as much memory.
    pub fn empty<T: Element>(&self, count: u64) -> Result<Array<T>, Diagnostic> {
        self.allocate(Memory::of(count.saturating_mul(size_of::<T>() as u64)))?.typed()
    }

    /// Memory of somebody else as a buffer, without a copy: of the host for the processor, of the card's primary context for CUDA. `told` is called when the last
    /// buffer that has it is gone and all work that was submitted with it is done.
    ///
    /// # Errors
    /// If the device takes no such memory.
    ///
    /// # Safety
    /// From the address on there are so many initialised bytes, which live until `told` is called. While work that was submitted with the buffer runs,
    /// nobody else writes them, nor reads what it writes.
    #[allow(unsafe_code)]
    pub unsafe fn import(
        &self,
        address: u64,
        bytes: u64,
        told: impl FnOnce() + Send + 'static,
    ) -> Result<Buffer, Diagnostic> {
        // SAFETY: the caller's promise.
        unsafe { self.import_as(address, bytes, false, Box::new(told)) }
    }

    /// The same for memory that nobody may write: work that would is refused.
    ///
    /// # Errors
    /// As [`import`](Self::import).
    ///
    /// # Safety
    /// As [`import`](Self::import).
    #[allow(unsafe_code)]
    pub unsafe fn import_read_only(
        &self,
        address: u64,
        bytes: u64,
        told: impl FnOnce() + Send + 'static,
    ) -> Result<Buffer, Diagnostic> {
        // SAFETY: the caller's promise.
        unsafe { self.import_as(address, bytes, true, Box::new(told)) }
    }

    /// # Safety
    /// As [`import`](Self::import).
    #[allow(unsafe_code)]
    unsafe fn import_as(&self, address: u64, bytes: u64, is_read_only: bool, told: Told) -> Result<Buffer, Diagnostic> {
        let skew = address % u64::from(ALIGN);
        let size = bytes.checked_add(skew).filter(|size| (address - skew).checked_add(*size).is_some());
        let size = size.ok_or_else(|| {
            let message = format!("{bytes} bytes from the address {address:#x} on are more than there are addresses");
            crate::driver::bad_arguments(message)
        })?;
        // SAFETY: the caller's promise; `told` is called when the block was released and all work is done, and no slice begins before the address.
        let id = unsafe { self.0.driver.import(address - skew, size) }?;
        self.0.allocator.count_foreign(bytes);
        let block = Block { id, size, indirect: true, home: self.0.family.first.clone() };
        Ok(self.buffer(block, bytes, Kind::Foreign { skew, is_read_only, told: Mutex::new(Some(told)) }))
    }

    /// What it has given out.
    pub fn figures(&self) -> Figures {
        self.0.allocator.figures()
    }

    /// Gives memory that is kept for later back to the driver, as far as no work uses it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn trim(&self) -> Result<(), Diagnostic> {
        self.0.allocator.trim();
        self.0.family.settled()
    }

    /// Writes bytes from a place on, after all work submitted so far. See [`Stream::write`] for devices that write whole words.
    ///
    /// # Errors
    /// If they do not fit, or the device fails.
    pub fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.stream().write(buffer, offset, bytes)
    }

    /// Waits for all work of the first stream and reads bytes.
    ///
    /// # Errors
    /// If they are not there, or work or the device fails.
    pub fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.stream().read(buffer, offset, bytes)
    }

    /// Waits for all work of the first stream and reads all numbers of a buffer.
    ///
    /// # Errors
    /// If they are no numbers of that type, or work or the device fails.
    pub fn numbers<T: Element>(&self, buffer: &Buffer) -> Result<Vec<T>, Diagnostic> {
        buffer.typed::<T>()?.read(&self.stream())
    }

    // Programs.

    /// Compiles kernels of a module, all into one module of the device; gives a program for each.
    ///
    /// # Errors
    /// If a kernel is not legal for the device and cannot be made so, or its compiler refuses it.
    pub fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<Program>, Vec<Diagnostic>> {
        let ids = self.0.driver.load(module, kernels, options)?;
        let program = |(id, kernel): (_, &FunctionId)| Program::new(&self.0, id, Writes::of(module, *kernel));
        Ok(ids.into_iter().zip(kernels).map(program).collect())
    }

    /// Compiles one kernel. Also gives the bytes from which [`restore`](Self::restore) makes the same program on a device that says the
    /// same of itself, without its code being lowered, rendered or compiled again; none where there are no such bytes.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_to_keep(
        &self,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<(Program, Option<Vec<u8>>), Vec<Diagnostic>> {
        let (id, kept) = self.0.driver.load_to_keep(module, kernel, options)?;
        let writes = Writes::of(module, kernel);
        let kept = kept.map(|bytes| writes.pack(&bytes));
        Ok((Program::new(&self.0, id, writes), kept))
    }

    /// The program of bytes that [`load_to_keep`](Self::load_to_keep) gave; none if the device cannot make it of them. With its source, it takes
    /// buffers from any element on, as a program does that was compiled now.
    ///
    /// # Safety
    /// They are what a device gave that says the same of itself: what they say is not checked, and their code reaches all memory of the device.
    #[allow(unsafe_code)]
    pub unsafe fn restore(&self, bytes: &[u8], source: Option<KernelSource<'_>>) -> Option<Program> {
        let (writes, bytes) = Writes::unpack(bytes)?;
        Some(Program::new(&self.0, self.0.driver.restore(bytes, source)?, writes))
    }

    // Work.

    /// The stream in which the device's own methods work.
    pub fn stream(&self) -> Stream {
        Stream::first(self.0.clone())
    }

    /// A new stream: its work is in no order with that of others, unless one is told to come [`after`](Stream::after) another.
    ///
    /// # Errors
    /// If the device fails.
    pub fn open_stream(&self) -> Result<Stream, Diagnostic> {
        let queue = self.0.driver.open_queue()?;
        Ok(Stream::opened(&self.0, queue, false))
    }

    /// A stream of somebody else, by the driver's own handle: a `CUstream` for CUDA.
    ///
    /// # Errors
    /// If the device has no such streams.
    ///
    /// # Safety
    /// The handle is a stream of this device's context, and lives until the last clone of this one is gone, those that an [export](crate::dlpack::Tensor::export_for) keeps among
    /// them. Buffers and events do not keep it: its owner may destroy it then, also before its work is done.
    #[allow(unsafe_code)]
    pub unsafe fn adopt_stream(&self, handle: u64) -> Result<Stream, Diagnostic> {
        // SAFETY: the caller's promise.
        let queue = unsafe { self.0.driver.adopt_queue(handle) }?;
        Ok(Stream::opened(&self.0, queue, true))
    }

    /// Queues commands in the first stream. Nothing is queued if an error is returned.
    ///
    /// # Errors
    /// If a command is wrong, or the device fails.
    pub fn submit(&self, commands: &[Command]) -> Result<(), Diagnostic> {
        self.stream().submit(commands)
    }

    /// Queues commands, waits for all work of the first stream, and reads what it left: what [`submit`](Self::submit) and [`read`](Self::read) do, with one way to
    /// the device and back where each takes one of its own. Nothing is queued if a command or a place is wrong.
    ///
    /// # Errors
    /// As both.
    pub fn submit_and_read(&self, commands: &[Command], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        self.stream().submit_and_read(commands, reads)
    }

    /// Waits until all work of the first stream is done.
    ///
    /// # Errors
    /// If something in it failed or trapped, or the device fails.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.stream().wait()
    }

    /// Runs commands `runs` times, queued at once where the device has a queue, and says how long each run took. For figures that count
    /// see [`measure`](crate::measure()), which warms the device up.
    ///
    /// # Errors
    /// As [`submit`](Self::submit) and [`wait`](Self::wait).
    pub fn time(&self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        self.stream().time(commands, runs)
    }

    /// Makes commands ready to be submitted many times, with other arguments each time.
    ///
    /// # Errors
    /// If a command is wrong, or the device fails.
    pub fn record(&self, commands: &[Command]) -> Result<Recording, Diagnostic> {
        Recording::new(self, commands)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.info().name).finish()
    }
}
