//! Bytes to the device and back.

use super::State;
use super::record::Recorded;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::driver::Slice;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// At most so many bytes travel at once, so that staging memory stays small.
const CHUNK: usize = 64 << 20;
/// Staging buffers that are kept for the next time.
const KEPT: usize = 4;

/// A part of a buffer, and where its bytes go.
pub(super) type Part<'a> = (wgpu::Buffer, u64, &'a mut [u8]);

/// Memory that the host can read, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct Stagings(Mutex<Vec<wgpu::Buffer>>);

impl Stagings {
    fn lock(&self) -> MutexGuard<'_, Vec<wgpu::Buffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some of at least so many bytes.
    fn take(&self, bytes: u64) -> Option<wgpu::Buffer> {
        let mut kept = self.lock();
        let found = kept.iter().position(|buffer| buffer.size() >= bytes)?;
        Some(kept.swap_remove(found))
    }

    /// Keeps it. It is not mapped.
    pub fn keep(&self, staging: wgpu::Buffer) {
        let mut kept = self.lock();
        kept.push(staging);
        if kept.len() > KEPT {
            // The larger ones serve more often.
            kept.sort_by_key(|buffer| std::cmp::Reverse(buffer.size()));
            kept.truncate(KEPT);
        }
    }
}

/// Copies of parts of buffers that were submitted, in memory that the host can read once wgpu has told so.
#[cfg(waits)]
pub(super) struct Copies {
    staging: wgpu::Buffer,
    /// Something is mapped also if nothing is read: that is what is waited for.
    mapped: u64,
    /// What they are part of.
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "a browser tells of all work"))]
    pub last: wgpu::SubmissionIndex,
    /// The newest point behind which they are.
    point: u64,
}

#[cfg(waits)]
impl State {
    /// Submits commands, and copies of parts of buffers behind them and of the word of the traps. `told` is called when they can be taken.
    pub(super) fn submit_copies(
        &self,
        recorded: Option<Recorded<'_>>,
        parts: &[Part<'_>],
        has_word: bool,
        told: impl FnOnce(Result<(), wgpu::BufferAsyncError>) + wgpu::WasmNotSend + 'static,
    ) -> Result<Copies, Diagnostic> {
        let bytes: u64 = parts.iter().map(|(.., bytes)| bytes.len() as u64).sum();
        let size = bytes + if has_word { 4 } else { 0 };
        let mapped = size.max(4);
        let staging = self.staging(mapped)?;
        let (recorded, parameters) = recorded.map(|r| (r.commands, r.parameters)).unzip();
        let last = self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut at = 0;
            for (raw, offset, bytes) in parts.iter().filter(|(.., bytes)| !bytes.is_empty()) {
                encoder.copy_buffer_to_buffer(raw, *offset, &staging, at, bytes.len() as u64);
                at += bytes.len() as u64;
            }
            if has_word {
                self.take_word(&mut encoder, &staging, at);
            }
            let last = self.submitted(recorded.into_iter().chain([encoder.finish()]));
            staging.slice(..mapped).map_async(wgpu::MapMode::Read, told);
            Ok(last)
        })?;
        drop(parameters);
        let point = self.untold().newest();
        self.context.count_read(size);
        Ok(Copies { staging, mapped, last, point })
    }

    /// Takes copies of which wgpu has told that they are there. Gives the newest point behind which they are.
    pub(super) fn take_copies(
        &self,
        copies: Copies,
        parts: &mut [Part<'_>],
        word: Option<&mut [u8; 4]>,
    ) -> Result<u64, Diagnostic> {
        let Copies { staging, mapped, point, .. } = copies;
        let result = self.health.run(&self.device, || {
            let view = staging.slice(..mapped).get_mapped_range().map_err(|e| unreadable(e.to_string()))?;
            let mut at = 0;
            for (.., bytes) in parts.iter_mut() {
                bytes.copy_from_slice(&view[at..at + bytes.len()]);
                at += bytes.len();
            }
            if let Some(word) = word {
                word.copy_from_slice(&view[at..at + 4]);
            }
            Ok(point)
        });
        staging.unmap();
        self.stagings.keep(staging);
        result
    }
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

    /// Submits what was recorded, reads what it left, and tells what the work has failed with. Bytes of one part that are more than a chunk travel by themselves.
    pub(super) fn download(&self, recorded: Option<Recorded<'_>>, mut parts: Vec<Part<'_>>) -> Result<(), Diagnostic> {
        let mut word = [0; 4];
        let may_trap = self.may_trap.swap(false, Ordering::AcqRel) | recorded.as_ref().is_some_and(|r| r.traps);
        let begun = self.untold().point();
        let (large, mut small): (Vec<Part<'_>>, Vec<Part<'_>>) =
            parts.drain(..).partition(|(.., bytes)| bytes.len() > CHUNK);
        let point = if recorded.is_some() || !small.is_empty() || may_trap {
            let fetched = self.fetch(recorded, &mut small, may_trap.then_some(&mut word));
            if fetched.is_err() && may_trap {
                self.may_trap.store(true, Ordering::Release);
            }
            fetched?
        } else {
            begun
        };
        self.untold().trapped(begun, u32::from_le_bytes(word));
        for (raw, offset, bytes) in large {
            for (i, chunk) in bytes.chunks_mut(CHUNK).enumerate() {
                self.fetch(None, &mut [(raw.clone(), offset + (i * CHUNK) as u64, chunk)], None)?;
            }
        }
        self.untold().tell(point)
    }

    /// Memory that the host can read: some that was used before, or new.
    pub(super) fn staging(&self, bytes: u64) -> Result<wgpu::Buffer, Diagnostic> {
        if let Some(kept) = self.stagings.take(bytes) {
            return Ok(kept);
        }
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

    /// Records a copy of the word of the traps, and that it is cleared: so each copy has what was trapped since the one before.
    pub(super) fn take_word(&self, encoder: &mut wgpu::CommandEncoder, staging: &wgpu::Buffer, at: u64) {
        encoder.copy_buffer_to_buffer(&self.traps, 0, staging, at, 4);
        encoder.clear_buffer(&self.traps, 0, Some(4));
    }
}

pub(super) fn unreadable(what: String) -> Diagnostic {
    Diagnostic::new(Code::DeviceLost, Span::NONE, format!("memory of the device cannot be read: {what}"))
}
