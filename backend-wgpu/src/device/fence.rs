//! Fences: points in the device's work, and bytes that are read there. They wake the futures that await them.
//!
//! Invariant: `poll` and `wake` never block; only `wait` does.

use super::Gpu;
use super::transfer::unreadable;
use girih_base::diag::Diagnostic;
use girih_runtime::driver::{Fence, Fetch, Slice, bad_arguments};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

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
            return Err(bad_arguments("the bytes were taken before"));
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
