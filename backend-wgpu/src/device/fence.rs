//! Fences: points in the device's work, and bytes that are read there. In a browser they wake the futures that await them.
//!
//! Invariant: `poll` and `wake` never block; only `wait` does. wgpu calls us back wherever it likes, also while something is submitted, so what it calls only
//! takes a note of it. Only a browser calls back from its own loop: there, and only there, it wakes others, with no lock held.

use super::Gpu;
use super::transfer::{Stagings, unreadable};
use crate::emit::guard;
use girih_base::diag::Diagnostic;
use girih_runtime::driver::{Fence, Fetch, Slice, bad_arguments, untold};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// What wgpu has told so far.
#[derive(Default)]
struct Told {
    done: Option<Result<(), String>>,
    /// Who is to be woken, where wgpu itself can do it.
    wakers: Vec<Waker>,
}

impl Told {
    /// Has someone woken, once; says whether it is too late for that.
    fn add(&mut self, waker: &Waker) -> bool {
        if self.done.is_none() && !self.wakers.iter().any(|other| other.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
        self.done.is_some()
    }
}

/// Memory that the host can read once wgpu has told so: the bytes that were asked for, and behind them a copy of the word of the traps.
pub(super) struct Landing {
    told: Arc<Mutex<Told>>,
    /// None if nothing is read, or all was taken.
    staging: Mutex<Option<wgpu::Buffer>>,
    /// Bytes that were asked for.
    bytes: u64,
    /// Whether the word is there, and what it was, once somebody has looked.
    word: Mutex<Word>,
    stagings: Arc<Stagings>,
}

#[derive(Clone, Copy)]
enum Word {
    Absent,
    Unread,
    Read(u32),
}

impl Landing {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn staging(&self) -> MutexGuard<'_, Option<wgpu::Buffer>> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
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
        let staging = self.staging();
        let Some(staging) = &*staging else { return Err(bad_arguments("the bytes were taken before")) };
        guard("wgpu", || {
            // A view begins at a multiple of 8, and so at the beginning.
            let view = staging.slice(..at + bytes).get_mapped_range().map_err(|e| unreadable(e.to_string()))?;
            Ok(view[at as usize..].to_vec())
        })
    }

    /// What was trapped before it and after the point before, 0 if nothing was; none while the word is on its way.
    fn code(&self) -> Option<u32> {
        let mut word = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        match *word {
            Word::Absent => Some(0),
            Word::Read(code) => Some(code),
            Word::Unread => {
                // What cannot be read is an error of the device, which is told elsewhere.
                let read = match self.is_told() {
                    Ok(false) => return None,
                    Ok(true) => self.read(self.bytes, 4).unwrap_or_default(),
                    Err(_) => vec![],
                };
                let code = read.as_chunks::<4>().0.first().map_or(0, |word| u32::from_le_bytes(*word));
                *word = Word::Read(code);
                Some(code)
            }
        }
    }

    /// The memory is not needed any more.
    fn leave(&self) {
        let Some(staging) = self.staging().take() else { return };
        // One that is still being mapped is given up.
        let is_mapped = matches!(self.told().done, Some(Ok(())));
        staging.unmap();
        if is_mapped {
            self.stagings.keep(staging);
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A point's copy of the word, which stays when the point goes.
pub(super) struct Note(Arc<Landing>);

impl untold::Note for Note {
    fn code(&self) -> Option<u32> {
        self.0.code()
    }
}

/// A point in the work, and bytes that were read there.
pub(super) struct Point {
    gpu: Gpu,
    landing: Arc<Landing>,
    last: wgpu::SubmissionIndex,
    /// Its number, if it is to tell what failed before it.
    number: Option<u64>,
}

impl Point {
    /// Behind all work so far. Reads a slice, if one is given, and what was trapped, if there may be something `to_tell`.
    pub fn new(gpu: &Gpu, from: Option<Slice>, to_tell: bool) -> Result<Point, Diagnostic> {
        let source = from.map(|slice| gpu.blocks().place(slice)).transpose()?;
        let has_word = to_tell && gpu.may_trap.swap(false, Ordering::AcqRel);
        let point = Point::submitted(gpu, source, from.map_or(0, |slice| slice.bytes), has_word, to_tell);
        if point.is_err() && has_word {
            gpu.may_trap.store(true, Ordering::Release);
        }
        point
    }

    fn submitted(
        gpu: &Gpu,
        source: Option<(wgpu::Buffer, u64)>,
        bytes: u64,
        has_word: bool,
        to_tell: bool,
    ) -> Result<Point, Diagnostic> {
        let size = bytes + if has_word { 4 } else { 0 };
        let staging = if size > 0 { Some(gpu.staging(size)?) } else { None };
        let told: Arc<Mutex<Told>> = Arc::default();
        let noted = told.clone();
        let tell = move |result: Result<(), String>| {
            let wakers = {
                let mut told = noted.lock().unwrap_or_else(PoisonError::into_inner);
                told.done = Some(result);
                std::mem::take(&mut told.wakers)
            };
            wakers.into_iter().for_each(Waker::wake);
        };
        // Traps that others note while this is submitted may be before it or behind it.
        let begun = to_tell.then(|| gpu.untold().point());
        let last = gpu.health.run(&gpu.device, || {
            let Some(staging) = &staging else {
                let last = gpu.submitted([]);
                gpu.queue.on_submitted_work_done(move || tell(Ok(())));
                return Ok(last);
            };
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if let Some((raw, offset)) = source.as_ref().filter(|_| bytes > 0) {
                encoder.copy_buffer_to_buffer(raw, *offset, staging, 0, bytes);
            }
            if has_word {
                gpu.take_word(&mut encoder, staging, bytes);
            }
            let last = gpu.submitted([encoder.finish()]);
            let mapped = move |result: Result<(), wgpu::BufferAsyncError>| tell(result.map_err(|e| e.to_string()));
            staging.slice(..size).map_async(wgpu::MapMode::Read, mapped);
            Ok(last)
        })?;
        gpu.context.count_read(size);
        let word = Mutex::new(if has_word { Word::Unread } else { Word::Absent });
        let landing =
            Arc::new(Landing { told, staging: Mutex::new(staging), bytes, word, stagings: gpu.stagings.clone() });
        let number = begun.map(|begun| {
            let mut untold = gpu.untold();
            if has_word {
                untold.note(begun, Note(landing.clone()));
            }
            untold.newest()
        });
        Ok(Point { gpu: gpu.clone(), landing, last, number })
    }
}

impl Fence for Point {
    fn poll(&self) -> Result<bool, Diagnostic> {
        if self.landing.is_told()? {
            return Ok(true);
        }
        self.gpu.health.poll(&self.gpu.device)?;
        self.landing.is_told()
    }

    fn wait(&self) -> Result<(), Diagnostic> {
        self.gpu.wait_until(&self.last)?;
        self.gpu.ask_until(|| self.poll(), || unreadable("nobody tells that it was copied".into()))
    }

    fn outcome(&self) -> Result<(), Diagnostic> {
        self.number.map_or(Ok(()), |number| self.gpu.untold().tell(number))
    }

    /// A browser tells by itself; elsewhere somebody has to ask.
    fn wake(&self, waker: &Waker) -> bool {
        let wakes = cfg!(target_arch = "wasm32");
        let is_late = wakes && self.landing.told().add(waker);
        if is_late {
            waker.wake_by_ref();
        }
        wakes
    }
}

impl Fetch for Point {
    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        let bytes = if self.landing.bytes > 0 { self.landing.read(0, self.landing.bytes)? } else { vec![] };
        // Somebody may still be told of the word.
        if self.landing.code().is_some() {
            self.landing.leave();
        }
        Ok(bytes)
    }
}
