//! Blocks: wgpu's buffers by number. Who keeps them for later is the runtime.

use super::errors::Health;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_runtime::Memory;
use girih_runtime::driver::{BlockId, Slice, bad_arguments};
use wgpu::BufferUsages as U;

/// All blocks of a device.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: IndexVec<BlockId, Option<wgpu::Buffer>>,
    /// Numbers of blocks that were given back.
    free: Vec<BlockId>,
}

/// A new buffer of wgpu, for kernels and copies; all zero, which is wgpu's promise.
pub(super) fn create(device: &wgpu::Device, health: &Health, memory: Memory) -> Result<wgpu::Buffer, Diagnostic> {
    health.run(device, || {
        let indirect = if memory.indirect { U::INDIRECT } else { U::empty() };
        Ok(device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: memory.bytes,
            usage: U::STORAGE | U::COPY_SRC | U::COPY_DST | indirect,
            mapped_at_creation: false,
        }))
    })
}

impl Blocks {
    /// Names a block.
    pub fn add(&mut self, raw: wgpu::Buffer) -> BlockId {
        match self.free.pop() {
            Some(id) => {
                self.all[id] = Some(raw);
                id
            }
            None => self.all.push(Some(raw)),
        }
    }

    /// Takes one back. What was submitted still uses it: wgpu knows.
    pub fn remove(&mut self, id: BlockId) {
        if self.all.get(id).is_some() && self.all[id].take().is_some() {
            self.free.push(id);
        }
    }

    /// The buffer of a block.
    pub fn get(&self, id: BlockId) -> Result<&wgpu::Buffer, Diagnostic> {
        let found = self.all.get(id).and_then(Option::as_ref);
        found.ok_or_else(|| bad_arguments("the buffer was given back"))
    }

    /// The buffer of a slice, and the slice's first byte.
    pub fn place(&self, slice: Slice) -> Result<(wgpu::Buffer, u64), Diagnostic> {
        Ok((self.get(slice.block)?.clone(), slice.offset))
    }
}
