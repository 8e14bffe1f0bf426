//! Bytes to the device and back.

use super::State;
use super::record::Groups;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::driver::Slice;
use std::sync::{MutexGuard, PoisonError};

/// At most so many bytes travel at once, so that staging memory stays small.
const CHUNK: usize = 64 << 20;
/// Staging buffers that are kept for the next time.
const KEPT: usize = 4;

/// A part of a buffer, and where its bytes go.
pub(super) type Part<'a> = (wgpu::Buffer, u64, &'a mut [u8]);

/// Commands that were recorded, and the lock of what they were made of.
pub(super) struct Recorded<'a> {
    pub commands: wgpu::CommandBuffer,
    pub until_submitted: MutexGuard<'a, Groups>,
}

impl State {
    pub(super) fn upload(&self, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        let (raw, offset) = self.blocks().place(to)?;
        for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
            self.health.run(&self.device, || {
                self.queue.write_buffer(&raw, offset + (i * CHUNK) as u64, chunk);
                if bytes.len() > CHUNK {
                    // Lets wgpu use the staging memory again.
                    self.queue.submit([]);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Submits what was recorded, and reads what it left; the word of the traps comes with it. Bytes of one part that are more than a chunk travel by themselves.
    pub(super) fn download(&self, recorded: Option<Recorded<'_>>, mut parts: Vec<Part<'_>>) -> Result<(), Diagnostic> {
        let mut word = [0; 4];
        let may_trap = self.may_trap.swap(false, std::sync::atomic::Ordering::AcqRel);
        let (large, mut small): (Vec<Part<'_>>, Vec<Part<'_>>) =
            parts.drain(..).partition(|(.., bytes)| bytes.len() > CHUNK);
        if may_trap {
            small.push((self.traps.clone(), 0, &mut word));
        }
        if recorded.is_some() || !small.is_empty() {
            self.fetch(recorded, &mut small)?;
        }
        drop(small);
        for (raw, offset, bytes) in large {
            for (i, chunk) in bytes.chunks_mut(CHUNK).enumerate() {
                self.fetch(None, &mut [(raw.clone(), offset + (i * CHUNK) as u64, chunk)])?;
            }
        }
        self.trapped(u32::from_le_bytes(word))
    }

    /// Memory that the host can read: some that was used before, or new.
    pub(super) fn staging(&self, bytes: u64) -> Result<wgpu::Buffer, Diagnostic> {
        let mut kept = self.stagings();
        if let Some(i) = kept.iter().position(|buffer| buffer.size() >= bytes) {
            return Ok(kept.swap_remove(i));
        }
        drop(kept);
        let size = bytes.max(4096).next_power_of_two();
        self.health.run(&self.device, || {
            Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("staging"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }))
        })
    }

    pub(super) fn keep_staging(&self, staging: wgpu::Buffer) {
        let mut kept = self.stagings();
        kept.push(staging);
        if kept.len() > KEPT {
            // The larger ones serve more often.
            kept.sort_by_key(|buffer| std::cmp::Reverse(buffer.size()));
            kept.truncate(KEPT);
        }
    }

    fn stagings(&self) -> MutexGuard<'_, Vec<wgpu::Buffer>> {
        self.stagings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn unreadable(what: String) -> Diagnostic {
    Diagnostic::new(Code::DeviceLost, Span::NONE, format!("memory of the device cannot be read: {what}"))
}
