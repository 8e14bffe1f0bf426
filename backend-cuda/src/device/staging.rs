//! The way between host and device: page-locked pieces of memory that the card reads and writes by itself, two of them, so that one
//! is filled while the other one is under way.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::Event;
use super::driver::check;
use super::queue::Queue;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::Diagnostic;
use std::ffi::c_void;

/// Bytes of a piece at most. Locking memory takes the host longer than any copy through it, so a piece begins about as large as what
/// goes through it, and grows no further than to where the card's setting up of a copy no longer counts.
const PIECE: usize = 1 << 20;
/// Bytes of a piece at least.
const SMALL: usize = 64 << 10;

/// Page-locked memory, and the copy that it is used by.
#[derive(Debug)]
struct Piece {
    memory: *mut u8,
    bytes: usize,
    done: Event,
    busy: bool,
}

// SAFETY: the memory is this value's own, and is page-locked for the whole process.
unsafe impl Send for Piece {}

impl Piece {
    /// A piece of at least so many bytes, which are at most [`PIECE`].
    fn new(bytes: usize) -> Result<Piece, Diagnostic> {
        let (done, bytes) = (Event::new(false)?, bytes.next_power_of_two().clamp(SMALL, PIECE));
        let mut memory: *mut c_void = std::ptr::null_mut();
        // SAFETY: the context is current; the driver writes one address.
        check(unsafe { sys::cuMemHostAlloc(&mut memory, bytes, 0) }, "lock memory of the host")?;
        Ok(Piece { memory: memory.cast(), bytes, done, busy: false })
    }

    /// Waits until the card does not use it.
    fn rest(&mut self, queue: &Queue) -> Result<(), Diagnostic> {
        if std::mem::take(&mut self.busy) {
            self.done.wait(queue.limit())?;
        }
        Ok(())
    }
    /// A copy that uses it has been queued.
    fn start(&mut self, queue: &Queue) -> Result<(), Diagnostic> {
        self.busy = true;
        self.done.record(queue)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own; the driver waits for copies that use it.
        unsafe { sys::cuMemFreeHost(self.memory.cast()) };
    }
}

/// The pieces; made when they are first needed.
#[derive(Debug, Default)]
pub(super) struct Staging {
    pieces: Vec<Piece>,
    next: usize,
}

impl Staging {
    /// The piece whose turn it is, at rest, for so many bytes.
    fn piece(&mut self, queue: &Queue, bytes: usize) -> Result<&mut Piece, Diagnostic> {
        if self.pieces.len() < 2 {
            self.pieces.push(Piece::new(bytes)?);
            self.next = self.pieces.len() - 1;
        } else {
            self.next = (self.next + 1) % self.pieces.len();
        }
        let piece = &mut self.pieces[self.next];
        piece.rest(queue)?;
        if piece.bytes < bytes {
            *piece = Piece::new(bytes)?;
        }
        Ok(piece)
    }

    /// Queues bytes for the device. They may be changed at once.
    pub fn write(&mut self, queue: &Queue, to: CUdeviceptr, bytes: &[u8]) -> Result<(), Diagnostic> {
        for (i, part) in bytes.chunks(PIECE).enumerate() {
            let piece = self.piece(queue, part.len())?;
            let target = to + (i * PIECE) as u64;
            // SAFETY: the piece has room for `part` and is at rest. The target is inside of memory that the
            // caller owns.
            let result = unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), piece.memory, part.len());
                sys::cuMemcpyHtoDAsync_v2(target, piece.memory.cast(), part.len(), queue.stream())
            };
            check(result, "copy to the device")?;
            piece.start(queue)?;
        }
        Ok(())
    }

    /// Reads bytes from the device, after all work that is queued.
    pub fn read(&mut self, queue: &Queue, from: CUdeviceptr, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        let mut pending: Option<(usize, &mut [u8])> = None;
        for (i, part) in bytes.chunks_mut(PIECE).enumerate() {
            let piece = self.piece(queue, part.len())?;
            let source = from + (i * PIECE) as u64;
            // SAFETY: the piece has room for `part` and is at rest; that many bytes are copied, from memory that the caller owns.
            let result = unsafe { sys::cuMemcpyDtoHAsync_v2(piece.memory.cast(), source, part.len(), queue.stream()) };
            check(result, "copy from the device")?;
            piece.start(queue)?;
            // While this copy is under way the one before is taken over.
            if let Some((before, target)) = pending.replace((self.next, part)) {
                self.take(queue, before, target)?;
            }
        }
        match pending {
            Some((last, target)) => self.take(queue, last, target),
            None => Ok(()),
        }
    }

    /// Reads parts of the device's memory, after all work that is queued, with one wait where they fit into a piece together.
    pub fn read_all(&mut self, queue: &Queue, parts: &mut [(CUdeviceptr, &mut [u8])]) -> Result<(), Diagnostic> {
        let all = parts.iter().map(|(_, bytes)| bytes.len()).sum();
        if all > PIECE {
            return parts.iter_mut().try_for_each(|(from, bytes)| self.read(queue, *from, bytes));
        }
        let piece = self.piece(queue, all)?;
        let mut at = 0;
        for (from, bytes) in parts.iter() {
            // SAFETY: the piece is at rest and has room for all parts one behind the other; the sources are memory that the caller owns.
            let result =
                unsafe { sys::cuMemcpyDtoHAsync_v2(piece.memory.add(at).cast(), *from, bytes.len(), queue.stream()) };
            check(result, "copy from the device")?;
            at += bytes.len();
        }
        piece.start(queue)?;
        piece.rest(queue)?;
        let mut at = 0;
        for (_, bytes) in parts.iter_mut() {
            // SAFETY: the copies into the piece are done, had these lengths, and nothing else uses the piece.
            unsafe { std::ptr::copy_nonoverlapping(piece.memory.add(at), bytes.as_mut_ptr(), bytes.len()) };
            at += bytes.len();
        }
        Ok(())
    }

    /// Takes bytes out of a piece once its copy is done.
    fn take(&mut self, queue: &Queue, piece: usize, target: &mut [u8]) -> Result<(), Diagnostic> {
        let piece = &mut self.pieces[piece];
        piece.rest(queue)?;
        // SAFETY: the copy into the piece is done, it had `target`'s length, and nothing else uses the piece.
        unsafe { std::ptr::copy_nonoverlapping(piece.memory, target.as_mut_ptr(), target.len()) };
        Ok(())
    }
}

/// Bytes on their way to the host, in page-locked memory of their own.
#[derive(Debug)]
pub(super) struct Parcel {
    memory: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is this value's own, and is page-locked for the whole process.
unsafe impl Send for Parcel {}
// SAFETY: as above; it is only read, once the copy into it is done.
unsafe impl Sync for Parcel {}

impl Parcel {
    /// Queues a copy of bytes of the device. The context is current.
    pub fn send(queue: &Queue, from: CUdeviceptr, bytes: usize) -> Result<Parcel, Diagnostic> {
        let mut memory: *mut c_void = std::ptr::null_mut();
        // SAFETY: the context is current; the driver writes one address.
        check(unsafe { sys::cuMemHostAlloc(&mut memory, bytes.max(1), 0) }, "lock memory of the host")?;
        let parcel = Parcel { memory: memory.cast(), bytes };
        // SAFETY: the parcel has room for so many bytes, which are copied from memory that the caller owns.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(memory, from, bytes, queue.stream()) };
        check(result, "copy from the device")?;
        Ok(parcel)
    }

    /// The bytes; the copy is done.
    pub fn open(&self) -> Vec<u8> {
        // SAFETY: so many bytes were copied there, and nothing writes them any more.
        unsafe { std::slice::from_raw_parts(self.memory, self.bytes) }.to_vec()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own; the driver waits for copies that use it.
        unsafe { sys::cuMemFreeHost(self.memory.cast()) };
    }
}
