//! Bytes to the device and back.

use super::Gpu;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::{BufferId, Read};
use std::sync::mpsc;

/// At most so many bytes travel at once, so that staging memory stays small.
const CHUNK: usize = 64 << 20;

impl Gpu {
    pub(super) fn upload(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let raw = self.buffers.range(buffer, offset, bytes.len() as u64)?.raw.clone();
        self.clear_reused()?;
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

    pub(super) fn download(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        let raw = self.buffers.range(buffer, offset, bytes.len() as u64)?.raw.clone();
        self.clear_reused()?;
        for (i, chunk) in bytes.chunks_mut(CHUNK).enumerate() {
            self.download_chunk(&raw, offset + (i * CHUNK) as u64, chunk)?;
        }
        Ok(())
    }

    /// Submits what was recorded, which may note `traps`, and reads what it left; the word of the traps comes with it.
    pub(super) fn submit_and_download(
        &mut self,
        recorded: wgpu::CommandBuffer,
        traps: bool,
        reads: &mut [Read<'_>],
    ) -> Result<(), Diagnostic> {
        let mut word = [0; 4];
        self.may_trap |= traps;
        let mut parts = Vec::with_capacity(reads.len() + 1);
        for Read { buffer, offset, bytes } in reads {
            parts.push((self.buffers.range(*buffer, *offset, bytes.len() as u64)?.raw.clone(), *offset, &mut **bytes));
        }
        if self.may_trap {
            parts.push((self.traps.clone(), 0, &mut word));
        }
        self.fetch(Some(recorded), &mut parts)?;
        self.may_trap = false;
        self.trapped(u32::from_le_bytes(word))
    }

    /// Reads a part of wgpu's buffer.
    pub(super) fn download_chunk(
        &mut self,
        raw: &wgpu::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), Diagnostic> {
        self.fetch(None, &mut [(raw.clone(), offset, bytes)])
    }

    /// Submits commands, and copies of parts of buffers behind them, waits, and takes the copies.
    fn fetch(
        &mut self,
        recorded: Option<wgpu::CommandBuffer>,
        parts: &mut [(wgpu::Buffer, u64, &mut [u8])],
    ) -> Result<(), Diagnostic> {
        let size = parts.iter().map(|(.., bytes)| bytes.len() as u64).sum();
        let staging = self.staging(size)?;
        let (sender, receiver) = mpsc::channel();
        let last = self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut at = 0;
            for (raw, offset, bytes) in parts.iter().filter(|(.., bytes)| !bytes.is_empty()) {
                encoder.copy_buffer_to_buffer(raw, *offset, &staging, at, bytes.len() as u64);
                at += bytes.len() as u64;
            }
            let last = self.queue.submit(recorded.into_iter().chain([encoder.finish()]));
            // The receiver is gone only if the wait below has failed.
            staging.slice(..size).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
            Ok(last)
        })?;
        self.last = Some(last);
        self.context.count_read(size);
        self.wait_for_all()?;
        let failed = |what: String| {
            Diagnostic::new(Code::DeviceLost, Span::NONE, format!("memory of the device cannot be read: {what}"))
        };
        // Another thread that waits for this device may be the one that is told, and tells us in a moment.
        match receiver.recv_timeout(self.context.limit()) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(error) => return Err(failed(error.to_string())),
        }
        let result = self.health.run(&self.device, || {
            let view = staging.slice(..size).get_mapped_range().map_err(|e| failed(e.to_string()))?;
            let mut at = 0;
            for (.., bytes) in parts.iter_mut() {
                bytes.copy_from_slice(&view[at..at + bytes.len()]);
                at += bytes.len();
            }
            Ok(())
        });
        staging.unmap();
        result
    }

    /// Memory that the host can read, kept for the next time.
    fn staging(&mut self, bytes: u64) -> Result<wgpu::Buffer, Diagnostic> {
        if let Some(staging) = self.staging.as_ref().filter(|b| b.size() >= bytes) {
            return Ok(staging.clone());
        }
        let size = bytes.max(4096).next_power_of_two();
        let staging = self.health.run(&self.device, || {
            Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("staging"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }))
        })?;
        self.staging = Some(staging.clone());
        Ok(staging)
    }

    /// Clears buffers that are used again, before anything is written to them.
    fn clear_reused(&mut self) -> Result<(), Diagnostic> {
        let dirty = self.buffers.take_dirty();
        if dirty.is_empty() {
            return Ok(());
        }
        let cleared = self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            dirty.iter().for_each(|buffer| encoder.clear_buffer(buffer, 0, None));
            self.queue.submit([encoder.finish()]);
            Ok(())
        });
        if cleared.is_err() {
            self.buffers.put_back(dirty);
        }
        cleared
    }
}
