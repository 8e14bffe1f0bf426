//! Buffers: allocated by size class, used again, always zero at first.

use super::health::Health;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_runtime::{BufferId, Memory};
use std::collections::HashMap;
use wgpu::BufferUsages as U;

/// A buffer that is in use.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// wgpu's buffer, which may be larger.
    pub raw: wgpu::Buffer,
    /// Its size.
    pub bytes: u64,
    indirect: bool,
    /// Whether others may have it, too.
    shared: bool,
}

/// All buffers of a device, and those that are free.
#[derive(Debug, Default)]
pub struct Buffers {
    used: IndexVec<BufferId, Option<Buffer>>,
    free: HashMap<(u64, bool), Vec<wgpu::Buffer>>,
    kept: u64,
    /// Buffers that are handed out again and still hold what they held before.
    dirty: Vec<wgpu::Buffer>,
}

/// Free buffers beyond this are given back to the driver.
const KEPT: u64 = 256 << 20;

impl Buffers {
    /// A new buffer.
    pub fn allocate(
        &mut self,
        device: &wgpu::Device,
        health: &Health,
        largest: u64,
        memory: Memory,
    ) -> Result<BufferId, Diagnostic> {
        let bytes = memory.bytes.max(1).checked_next_multiple_of(16).unwrap_or(u64::MAX);
        if bytes > largest {
            let message = format!("a buffer of {bytes} bytes, but one buffer of the device holds at most {largest}");
            return Err(Diagnostic::new(Code::DeviceMemory, Span::NONE, message).hint("use several buffers"));
        }
        let class = class(bytes).min(largest);
        let raw = match self.free.get_mut(&(class, memory.indirect)).and_then(Vec::pop) {
            Some(raw) => {
                self.kept -= class;
                self.dirty.push(raw.clone());
                raw
            }
            None => health.run(device, || {
                let indirect = if memory.indirect { U::INDIRECT } else { U::empty() };
                Ok(device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: class,
                    usage: U::STORAGE | U::COPY_SRC | U::COPY_DST | indirect,
                    mapped_at_creation: false,
                }))
            })?,
        };
        Ok(self.used.push(Some(Buffer { raw, bytes, indirect: memory.indirect, shared: false })))
    }

    /// Gives a buffer back. What was submitted may still use it: work on the queue is done in order.
    pub fn free(&mut self, id: BufferId) {
        if self.used.get(id).is_none() {
            return;
        }
        let Some(buffer) = self.used[id].take() else { return };
        let class = buffer.raw.size();
        if !buffer.shared && self.kept + class <= KEPT {
            self.kept += class;
            self.free.entry((class, buffer.indirect)).or_default().push(buffer.raw);
        }
    }

    /// A buffer that is in use.
    pub fn get(&self, id: BufferId) -> Result<&Buffer, Diagnostic> {
        let found = self.used.get(id).and_then(Option::as_ref);
        found.ok_or_else(|| Diagnostic::new(Code::BadArguments, Span::NONE, "the buffer was freed"))
    }

    /// A buffer that others may have, too, from here on.
    pub fn share(&mut self, id: BufferId) -> Result<&Buffer, Diagnostic> {
        self.get(id)?;
        if let Some(buffer) = &mut self.used[id] {
            buffer.shared = true;
        }
        self.get(id)
    }

    /// A part of a buffer: it has to lie inside, and begin and end at a multiple of 4.
    pub fn range(&self, id: BufferId, offset: u64, bytes: u64) -> Result<&Buffer, Diagnostic> {
        let buffer = self.get(id)?;
        let wrong = |message: String| Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        if !offset.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return wrong(format!("the bytes {offset}.. ({bytes} of them) do not begin and end at multiples of 4"));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > buffer.bytes) {
            return wrong(format!(
                "the bytes {offset}.. ({bytes} of them) lie outside of a buffer of {} bytes",
                buffer.bytes
            ));
        }
        Ok(buffer)
    }

    /// Buffers that have to be cleared before anything else happens.
    pub fn take_dirty(&mut self) -> Vec<wgpu::Buffer> {
        std::mem::take(&mut self.dirty)
    }
    /// Buffers that were to be cleared, but were not.
    pub fn put_back(&mut self, dirty: Vec<wgpu::Buffer>) {
        self.dirty.extend(dirty);
    }
}

/// Sizes that buffers really have: four to each power of two, so that at most a quarter is wasted.
fn class(bytes: u64) -> u64 {
    let step = (bytes.max(256).next_power_of_two() / 8).max(64);
    bytes.max(256).next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn classes_waste_at_most_a_quarter() {
        for bytes in (16..100_000).step_by(16) {
            let class = class(bytes);
            assert!(class >= bytes && class.is_multiple_of(16), "{bytes}: {class}");
            assert!(bytes < 256 || class - bytes <= bytes / 4, "{bytes}: {class}");
        }
        assert_eq!(class(1 << 30), 1 << 30);
    }
}
