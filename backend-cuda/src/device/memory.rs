//! Memory of the device. Who keeps it for later is the runtime; here it is allocated and freed.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::check;
use super::queue::Queue;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_runtime::driver::{BlockId, Slice, bad_arguments};
use std::sync::Arc;

/// Memory. Whoever drops it has waited for its work.
#[derive(Debug)]
pub(super) struct Block {
    address: CUdeviceptr,
    /// What it is freed in; none if the memory is somebody else's.
    owner: Option<Arc<Context>>,
}

impl Block {
    /// So many bytes, which are not said. The context is current.
    pub fn allocate(context: &Arc<Context>, bytes: u64) -> Result<Block, Diagnostic> {
        let mut address = 0;
        let what = format!("allocate {bytes} bytes");
        let size = usize::try_from(bytes.max(1)).map_err(|_| {
            let message = format!("a buffer of {bytes} bytes is more than any device has");
            Diagnostic::new(Code::DeviceMemory, Span::NONE, message)
        })?;
        // SAFETY: the context is current; the driver writes one address.
        check(unsafe { sys::cuMemAlloc_v2(&mut address, size) }, &what)?;
        Ok(Block { address, owner: Some(context.clone()) })
    }

    /// Memory of somebody else.
    pub fn foreign(address: CUdeviceptr) -> Block {
        Block { address, owner: None }
    }

    /// Its first byte.
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(context) = &self.owner {
            // SAFETY: the memory is this value's own, and no work uses it any more. Errors have nobody to go to.
            context.free(|| _ = unsafe { sys::cuMemFree_v2(self.address) });
        }
    }
}

/// All blocks of a device.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: IndexVec<BlockId, Option<Block>>,
    /// Numbers of blocks that were given back.
    free: Vec<BlockId>,
}

impl Blocks {
    /// Names a block.
    pub fn add(&mut self, block: Block) -> BlockId {
        match self.free.pop() {
            Some(id) => {
                self.all[id] = Some(block);
                id
            }
            None => self.all.push(Some(block)),
        }
    }

    /// Takes a block back.
    pub fn remove(&mut self, id: BlockId) -> Option<Block> {
        self.all.get(id)?;
        let block = self.all[id].take()?;
        self.free.push(id);
        Some(block)
    }

    /// The address of a slice.
    pub fn address(&self, slice: Slice) -> Result<CUdeviceptr, Diagnostic> {
        let found = self.all.get(slice.block).and_then(Option::as_ref);
        let block = found.ok_or_else(|| bad_arguments("the buffer was given back"))?;
        Ok(block.address() + slice.offset)
    }
}

/// Queues filling memory with zero; the length is a multiple of 4, unless the memory is somebody else's.
pub(super) fn clear(queue: &Queue, address: CUdeviceptr, bytes: u64) -> Result<(), Diagnostic> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller's range lies in memory that outlives the work (see `Driver::release`); both ways fill so many bytes.
    let result = unsafe {
        if (address | bytes).is_multiple_of(4) {
            sys::cuMemsetD32Async(address, 0, bytes as usize / 4, queue.stream())
        } else {
            sys::cuMemsetD8Async(address, 0, bytes as usize, queue.stream())
        }
    };
    check(result, "clear memory")
}

/// Queues a copy.
pub(super) fn copy(queue: &Queue, from: CUdeviceptr, to: CUdeviceptr, bytes: u64) -> Result<(), Diagnostic> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: both ranges lie in memory that outlives the work (see `Driver::release`).
    let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, queue.stream()) };
    check(result, "copy memory")
}
