//! Bytes to the device and back, and points in its work.

use super::record::Groups;
use super::{Gpu, State};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::driver::{Fence, Fetch, Slice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

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

/// What wgpu has told so far.
#[derive(Default)]
struct Told {
    done: Option<Result<(), String>>,
    wakers: Vec<Waker>,
}

/// A point in the work, and bytes that were read there: those asked for, and behind them the word of the traps.
pub(super) struct Point {
    gpu: Gpu,
    told: Arc<Mutex<Told>>,
    last: wgpu::SubmissionIndex,
    /// Memory that the host can read; none if nothing is read.
    staging: Mutex<Option<wgpu::Buffer>>,
    /// Bytes that were asked for.
    bytes: u64,
    /// How many traps had been told, if the word of the traps was read.
    traps: Option<u64>,
}

impl Point {
    /// Behind all work so far. Reads a slice, if one is given, and what was trapped, if there may be something `to_tell`.
    pub fn new(gpu: &Gpu, from: Option<Slice>, to_tell: bool) -> Result<Point, Diagnostic> {
        use std::sync::atomic::Ordering::Acquire;
        let traps = (to_tell && gpu.may_trap.load(Acquire)).then(|| gpu.traps_told.load(Acquire));
        let bytes = from.map_or(0, |slice| slice.bytes);
        let source = from.map(|slice| gpu.blocks().place(slice)).transpose()?;
        let size = bytes + if traps.is_some() { 4 } else { 0 };
        let staging = if size > 0 { Some(gpu.staging(size)?) } else { None };
        let told: Arc<Mutex<Told>> = Arc::default();
        let noted = told.clone();
        let tell = move |result: Result<(), String>| {
            let mut told = noted.lock().unwrap_or_else(PoisonError::into_inner);
            told.done = Some(result);
            let wakers = std::mem::take(&mut told.wakers);
            drop(told);
            wakers.into_iter().for_each(Waker::wake);
        };
        let last = gpu.health.run(&gpu.device, || {
            let Some(staging) = &staging else {
                let last = gpu.queue.submit([]);
                gpu.queue.on_submitted_work_done(move || tell(Ok(())));
                return Ok(last);
            };
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if let Some((raw, offset)) = source.as_ref().filter(|_| bytes > 0) {
                encoder.copy_buffer_to_buffer(raw, *offset, staging, 0, bytes);
            }
            if traps.is_some() {
                encoder.copy_buffer_to_buffer(&gpu.traps, 0, staging, bytes, 4);
            }
            let last = gpu.queue.submit([encoder.finish()]);
            let mapped = move |result: Result<(), wgpu::BufferAsyncError>| tell(result.map_err(|e| e.to_string()));
            staging.slice(..size).map_async(wgpu::MapMode::Read, mapped);
            Ok(last)
        })?;
        gpu.submitted(last.clone());
        gpu.context.count_read(size);
        Ok(Point { gpu: gpu.clone(), told, last, staging: Mutex::new(staging), bytes, traps })
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_told(&self) -> Result<bool, Diagnostic> {
        match &self.told().done {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(error)) => Err(unreadable(error.clone())),
        }
    }

    /// Bytes that were read; the point is reached.
    fn read(&self, at: u64, bytes: u64) -> Result<Vec<u8>, Diagnostic> {
        let staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(staging) = &*staging else {
            return Err(Diagnostic::new(Code::BadArguments, Span::NONE, "the bytes were taken before"));
        };
        self.gpu.health.run(&self.gpu.device, || {
            let view = staging.slice(at..at + bytes).get_mapped_range().map_err(|e| unreadable(e.to_string()))?;
            Ok(view.to_vec())
        })
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        let staging = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(staging) = staging {
            // One that is still being mapped is given up.
            let is_mapped = matches!(self.told().done, Some(Ok(())));
            staging.unmap();
            if is_mapped {
                self.gpu.keep_staging(staging);
            }
        }
    }
}

impl Fence for Point {
    fn poll(&self) -> Result<bool, Diagnostic> {
        if self.is_told()? {
            return Ok(true);
        }
        self.gpu.health.poll(&self.gpu.device)?;
        self.is_told()
    }

    fn wait(&self) -> Result<(), Diagnostic> {
        self.gpu.wait_until(&self.last)?;
        self.gpu.ask_until(|| self.poll(), || unreadable("nobody tells that it was copied".into()))
    }

    fn outcome(&self) -> Result<(), Diagnostic> {
        use std::sync::atomic::Ordering::{AcqRel, Acquire};
        let Some(told) = self.traps else { return Ok(()) };
        let word = self.read(self.bytes, 4)?;
        let code = word.as_chunks::<4>().0.first().map_or(0, |word| u32::from_le_bytes(*word));
        // Whoever is first tells it.
        if code == 0 || self.gpu.traps_told.compare_exchange(told, told + 1, AcqRel, Acquire).is_err() {
            return Ok(());
        }
        self.gpu.clear_traps()?;
        Err(girih_runtime::trap(code))
    }

    /// A browser tells by itself; elsewhere somebody has to ask.
    fn wake(&self, waker: &Waker) -> bool {
        let mut told = self.told();
        if told.done.is_some() {
            waker.wake_by_ref();
        } else {
            told.wakers.push(waker.clone());
        }
        cfg!(target_arch = "wasm32")
    }
}

impl Fetch for Point {
    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        let bytes = if self.bytes > 0 { self.read(0, self.bytes)? } else { vec![] };
        let staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(staging) = staging {
            staging.unmap();
            self.gpu.keep_staging(staging);
        }
        Ok(bytes)
    }
}
