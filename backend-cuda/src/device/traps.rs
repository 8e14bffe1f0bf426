//! What the work of a stream has trapped.
//!
//! Kernels note the first trap in a word of the stream. Behind each point that is to tell it, the word is copied to the host, if a launch since the last
//! such point may have noted one, and later launches have the next word: so a trap belongs to the first point behind it, and none is lost between two looks.
//! The words are cleared together when all of them were used, for clearing takes the card about as long as a short kernel.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::{Context, Event};
use super::driver::check;
use super::locked::{Pool, Word};
use super::memory::{Block, clear};
use super::queue::Queue;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::Diagnostic;
use girih_runtime::driver::untold::{self, Untold};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A copy of the word on the host, once its event is reached. Asking for it needs the context to be current.
#[derive(Debug)]
pub(super) struct Note {
    copy: Word,
    done: Arc<Event>,
}

impl untold::Note for Note {
    fn code(&self) -> Option<u32> {
        self.done.is_done().unwrap_or(false).then(|| self.copy.read())
    }
}

/// What nobody has been told yet. The points of the stream share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(Arc<Mutex<Untold<Note>>>);

impl Told {
    fn lock(&self) -> MutexGuard<'_, Untold<Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what failed before a point that is reached. The context is current.
    ///
    /// # Errors
    /// That failure.
    pub fn tell(&self, point: u64) -> Result<(), Diagnostic> {
        self.lock().tell(point)
    }

    /// The host has found a failure of what is queued last.
    pub fn fail(&self, failure: Diagnostic) {
        self.lock().fail(failure);
    }
}

/// Bytes of the words of a stream.
const WORDS: u64 = 4096;

/// Where launches note traps.
#[derive(Debug)]
pub(super) struct Noting {
    /// The word, which is zero before the first of them.
    pub word: CUdeviceptr,
    /// Whether one of them may have noted a trap there.
    pub may_trap: bool,
}

/// The words of a stream.
#[derive(Debug)]
pub(super) struct Traps {
    words: Block,
    /// It is locked while a copy is queued and the word is changed, so that no launch comes between them, and points are numbered as they stand in the stream.
    noting: Mutex<Noting>,
    pub told: Told,
}

impl Traps {
    /// Words; the stream clears them before their first use. The context is current.
    pub fn new(context: &Arc<Context>) -> Result<Traps, Diagnostic> {
        let words = Block::allocate(context, WORDS)?;
        let noting = Mutex::new(Noting { word: words.address(), may_trap: false });
        Ok(Traps { words, noting, told: Told::default() })
    }

    /// Queues the clearing of all words.
    pub fn clear(&self, queue: &Queue) -> Result<(), Diagnostic> {
        clear(queue, self.words.address(), WORDS)
    }

    /// Whoever queues a launch that may note a trap has this for as long, and says there that it may.
    pub fn launching(&self) -> MutexGuard<'_, Noting> {
        self.noting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new point behind all work that is queued so far, if no launch since the last one may have noted a trap.
    pub fn quiet_point(&self) -> Option<u64> {
        let noting = self.launching();
        (!noting.may_trap).then(|| self.told.lock().point())
    }

    /// Records an event behind all work that is queued so far, and what that has trapped; the number of this point. The context is current.
    pub fn point(&self, queue: &Queue, pool: &Arc<Pool>, event: &Arc<Event>) -> Result<u64, Diagnostic> {
        let mut noting = self.launching();
        if !noting.may_trap {
            event.record(queue)?;
            return Ok(self.told.lock().point());
        }
        let copy = copy(noting.word, queue, pool)?;
        if let Err(error) = event.record(queue) {
            // The card may still write there.
            std::mem::forget(copy);
            return Err(error);
        }
        let point = {
            let mut told = self.told.lock();
            let point = told.point();
            told.note(point, Note { copy, done: event.clone() });
            point
        };
        let next = noting.word + 4;
        if next < self.words.address() + WORDS {
            noting.word = next;
        } else {
            // Nobody who waits for the event waits for this. If it fails, the trap is told once more.
            self.clear(queue)?;
            noting.word = self.words.address();
        }
        noting.may_trap = false;
        Ok(point)
    }
}

/// Queues a copy of a word of the stream.
fn copy(word: CUdeviceptr, queue: &Queue, pool: &Arc<Pool>) -> Result<Word, Diagnostic> {
    let copy = pool.word()?;
    // SAFETY: four bytes of the stream's own word are copied into a word of the host that is nobody else's.
    let result = unsafe { sys::cuMemcpyDtoHAsync_v2(copy.address().cast(), word, 4, queue.stream()) };
    check(result, "copy from the device")?;
    Ok(copy)
}
