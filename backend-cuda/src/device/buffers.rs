//! Memory of the device. What is given back is kept for the next buffer of about that size: work runs in one order, so a later
//! buffer may take memory that earlier work still uses.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::check;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_runtime::BufferId;

/// Memory.
#[derive(Debug)]
struct Block {
    address: CUdeviceptr,
    bytes: u64,
}

impl Block {
    fn allocate(bytes: u64) -> Result<Block, Diagnostic> {
        let mut address = 0;
        let what = format!("allocate {bytes} bytes");
        // SAFETY: the context is current; the driver writes one address.
        check(unsafe { sys::cuMemAlloc_v2(&mut address, bytes as usize) }, &what)?;
        Ok(Block { address, bytes })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own, and whoever drops it has waited for the work that uses it.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// A buffer: memory of at least its bytes.
#[derive(Debug)]
pub(super) struct Buffer {
    block: Block,
    /// What was asked for, rounded up to 16 bytes.
    pub bytes: u64,
}

impl Buffer {
    /// Its first byte.
    pub fn address(&self) -> CUdeviceptr {
        self.block.address
    }
}

/// Memory that is kept for later, in bytes: beyond it, what was given back first is freed.
const KEPT: u64 = 1 << 30;
/// Every buffer's memory is a multiple of this.
const GRAIN: u64 = 512;

/// All buffers of a device.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    buffers: IndexVec<BufferId, Option<Buffer>>,
    /// Numbers of buffers that were given back.
    free: Vec<BufferId>,
    kept: Vec<Block>,
}

impl Buffers {
    /// A new buffer, all zero.
    pub fn allocate(&mut self, context: &Context, bytes: u64) -> Result<BufferId, Diagnostic> {
        let Some(size) = bytes.checked_next_multiple_of(GRAIN).filter(|size| usize::try_from(*size).is_ok()) else {
            let message = format!("a buffer of {bytes} bytes is more than any device has");
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message));
        };
        let block = self.block(context, size.max(GRAIN))?;
        clear(context, block.address, block.bytes)?;
        let buffer = Buffer { block, bytes: bytes.next_multiple_of(16) };
        match self.free.pop() {
            Some(id) => {
                self.buffers[id] = Some(buffer);
                Ok(id)
            }
            None => Ok(self.buffers.push(Some(buffer))),
        }
    }

    /// Memory of at least so many bytes.
    fn block(&mut self, context: &Context, bytes: u64) -> Result<Block, Diagnostic> {
        let fits = |block: &Block| block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
        if let Some(i) = self.kept.iter().position(fits) {
            return Ok(self.kept.remove(i));
        }
        Block::allocate(bytes).or_else(|error| {
            if error.code != Code::DeviceMemory || self.kept.is_empty() {
                return Err(error);
            }
            context.finish()?;
            self.kept.clear();
            Block::allocate(bytes)
        })
    }

    /// Gives a buffer back. It fails if the device does not come to rest; then nothing is freed for good.
    pub fn free(&mut self, context: &Context, id: BufferId) -> Result<(), Diagnostic> {
        let Some(buffer) = self.buffers.get(id).is_some().then(|| self.buffers[id].take()).flatten() else {
            return Ok(());
        };
        self.free.push(id);
        self.kept.push(buffer.block);
        let mut kept: u64 = self.kept.iter().map(|block| block.bytes).sum();
        while kept > KEPT {
            // Memory that goes for good must not be in use.
            context.finish()?;
            kept -= self.kept.remove(0).bytes;
        }
        Ok(())
    }

    /// A buffer that is there.
    pub fn get(&self, id: BufferId) -> Result<&Buffer, Diagnostic> {
        let found = self.buffers.get(id).and_then(Option::as_ref);
        found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the buffer was given back"))
    }

    /// The address of a range of a buffer: offset and length are multiples of 4, and it lies inside.
    pub fn range(&self, id: BufferId, offset: u64, bytes: u64) -> Result<CUdeviceptr, Diagnostic> {
        let buffer = self.get(id)?;
        let wrong = |message| Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        if !offset.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return wrong(format!("{bytes} bytes from byte {offset} on: both must be multiples of 4"));
        }
        match offset.checked_add(bytes) {
            Some(end) if end <= buffer.bytes => Ok(buffer.address() + offset),
            _ => wrong(format!("{bytes} bytes from byte {offset} on reach beyond a buffer of {} bytes", buffer.bytes)),
        }
    }
}

/// Queues filling memory with zero; the length is a multiple of 4.
pub(super) fn clear(context: &Context, address: CUdeviceptr, bytes: u64) -> Result<(), Diagnostic> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller's range lies in memory that it owns, which outlives the work (see `free`).
    let result = unsafe { sys::cuMemsetD32Async(address, 0, bytes as usize / 4, context.stream()) };
    check(result, "clear memory")
}

/// Queues a copy.
pub(super) fn copy(context: &Context, from: CUdeviceptr, to: CUdeviceptr, bytes: u64) -> Result<(), Diagnostic> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: both ranges lie in memory that the caller owns, which outlives the work (see `free`).
    let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, context.stream()) };
    check(result, "copy memory")
}
