//! Bytes to the device and back.

use super::Gpu;
use girih_core::diag::{Code, Diagnostic};
use girih_core::runtime::BufferId;
use girih_core::span::Span;
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

    /// Reads a part of wgpu's buffer.
    pub(super) fn download_chunk(
        &mut self,
        raw: &wgpu::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), Diagnostic> {
        let size = bytes.len() as u64;
        let staging = self.staging(size)?;
        let (sender, receiver) = mpsc::channel();
        self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(raw, offset, &staging, 0, size);
            self.queue.submit([encoder.finish()]);
            // The receiver is gone only if the wait below has failed.
            staging.slice(..size).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
            Ok(())
        })?;
        self.health.wait(&self.device, self.limit)?;
        let failed = |what: String| {
            Diagnostic::new(Code::DeviceLost, Span::NONE, format!("memory of the device cannot be read: {what}"))
        };
        match receiver.try_recv() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(error) => return Err(failed(error.to_string())),
        }
        let result = self.health.run(&self.device, || {
            let view = staging.slice(..size).get_mapped_range().map_err(|e| failed(e.to_string()))?;
            bytes.copy_from_slice(&view);
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
