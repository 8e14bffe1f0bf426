//! The way between host and device, through page-locked memory.
//!
//! Writing never waits: while copies use the memory of a stream, more is locked, so there is as much of it as is under way. Only if the host
//! has no more to lock, the oldest copy is waited for. Reading waits, but keeps nobody else from the stream.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::driver::check;
use super::locked::{LEAST, Pool, Room};
use super::queue::Queue;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::{Code, Diagnostic};
use std::collections::VecDeque;

/// Bytes of a copy at most: where the card's setting up of a copy no longer counts.
const PIECE: usize = 1 << 20;
/// Copies begin at multiples of this.
const ALIGN: usize = 64;

/// A room, and how much of it copies use. Its event is behind them.
#[derive(Debug)]
struct Piece {
    room: Room,
    used: usize,
}

/// The memory through which a stream is written.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// Older ones first; the last one is being filled.
    pieces: VecDeque<Piece>,
}

impl Staging {
    /// Queues bytes for the device. They may be changed at once. The context is current.
    pub fn write(&mut self, queue: &Queue, to: CUdeviceptr, bytes: &[u8]) -> Result<(), Diagnostic> {
        for (i, part) in bytes.chunks(PIECE).enumerate() {
            let mut piece = self.piece(queue, part.len())?;
            let target = to + (i * PIECE) as u64;
            // SAFETY: the room has so many bytes from there on, which no copy uses. The target is inside of memory that the caller owns.
            let result = unsafe {
                let place = piece.room.address().add(piece.used);
                std::ptr::copy_nonoverlapping(part.as_ptr(), place, part.len());
                sys::cuMemcpyHtoDAsync_v2(target, place.cast(), part.len(), queue.stream())
            };
            let queued = check(result, "copy to the device");
            if queued.is_ok() {
                piece.used = (piece.used + part.len()).next_multiple_of(ALIGN);
                if let Err(error) = piece.room.done.record(queue) {
                    // Nobody knows when the copy is done.
                    std::mem::forget(piece);
                    return Err(error);
                }
            }
            self.pieces.push_back(piece);
            queued?;
        }
        Ok(())
    }

    /// A piece with room for so many bytes, which is taken out of the list.
    fn piece(&mut self, queue: &Queue, bytes: usize) -> Result<Piece, Diagnostic> {
        if self.pieces.back().is_some_and(|piece| piece.used + bytes <= piece.room.bytes())
            && let Some(piece) = self.pieces.pop_back()
        {
            return Ok(piece);
        }
        // The largest of those that are done does, if any does.
        let mut done: Option<Room> = None;
        while let Some(piece) = self.pop_done()? {
            let smaller = match &done {
                Some(room) if room.bytes() >= piece.room.bytes() => Some(piece.room),
                _ => done.replace(piece.room),
            };
            smaller.into_iter().for_each(|room| queue.pool().give(room));
        }
        match done {
            Some(room) if room.bytes() >= bytes => return Ok(Piece { room, used: 0 }),
            done => done.into_iter().for_each(|room| queue.pool().give(room)),
        }
        // Who writes much behind work that takes long gets larger rooms.
        let size = bytes.max(LEAST << self.pieces.len().min(4));
        match queue.pool().take(size) {
            Ok(room) => Ok(Piece { room, used: 0 }),
            Err(error) if error.code == Code::DeviceMemory => self.oldest(queue.pool(), bytes, error),
            Err(error) => Err(error),
        }
    }

    /// The oldest piece that is large enough, once its copies are done; the host has no more memory to lock.
    fn oldest(&mut self, pool: &Pool, bytes: usize, error: Diagnostic) -> Result<Piece, Diagnostic> {
        while let Some(Piece { room, .. }) = self.pieces.pop_front() {
            room.done.wait()?;
            if room.bytes() >= bytes {
                return Ok(Piece { room, used: 0 });
            }
            pool.give(room);
        }
        Err(error)
    }

    /// The oldest piece, if its copies are done.
    fn pop_done(&mut self) -> Result<Option<Piece>, Diagnostic> {
        match self.pieces.front() {
            Some(piece) if piece.room.done.is_done()? => Ok(self.pieces.pop_front()),
            _ => Ok(None),
        }
    }

    /// Gives all but one of the pieces back whose copies are done. The context is current.
    pub fn settle(&mut self, pool: &Pool) -> Result<(), Diagnostic> {
        while self.pieces.len() > 1
            && let Some(piece) = self.pop_done()?
        {
            pool.give(piece.room);
        }
        Ok(())
    }

    /// Gives all pieces back.
    pub fn give_all(self, pool: &Pool) {
        for Piece { room, .. } in self.pieces {
            let done = room.done.clone();
            pool.give_after(room, done);
        }
    }
}

/// Queues a copy of bytes of the device into a room, from a place in it on.
fn copy(queue: &Queue, from: CUdeviceptr, room: &Room, at: usize, bytes: usize) -> Result<(), Diagnostic> {
    if bytes == 0 {
        return Ok(());
    }
    assert!(at + bytes <= room.bytes(), "the room is too small");
    // SAFETY: the room has so many bytes from there on, which nobody else uses; they are copied from memory that the caller owns.
    let result = unsafe {
        let place = room.address().add(at);
        sys::cuMemcpyDtoHAsync_v2(place.cast(), from, bytes, queue.stream())
    };
    check(result, "copy from the device")
}

/// Takes bytes out of a room, from a place in it on. The copy into it is done.
fn take_out(room: &Room, at: usize, target: &mut [u8]) {
    assert!(at + target.len() <= room.bytes(), "the room is too small");
    // SAFETY: the room has so many bytes from there on, and nobody writes them any more.
    unsafe { std::ptr::copy_nonoverlapping(room.address().add(at), target.as_mut_ptr(), target.len()) };
}

/// Bytes of the device, after all work that is queued. What that has failed with is left to others. The context is current.
pub(super) fn look(queue: &Queue, from: CUdeviceptr, bytes: &mut [u8]) -> Result<(), Diagnostic> {
    let room = queue.pool().take(bytes.len())?;
    copy(queue, from, &room, 0, bytes.len())?;
    room.done.record(queue)?;
    room.done.wait()?;
    take_out(&room, 0, bytes);
    queue.pool().give(room);
    Ok(())
}

/// Reads parts of the device's memory, after all work that is queued, with one wait where they fit into a room together. Then tells what the work has
/// failed with. The context is current.
pub(super) fn read(queue: &Queue, parts: &mut [(CUdeviceptr, &mut [u8])]) -> Result<(), Diagnostic> {
    let all: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
    if all > PIECE {
        return read_pieces(queue, parts);
    }
    let room = queue.pool().take(all)?;
    let mut at = 0;
    for (from, bytes) in parts.iter() {
        copy(queue, *from, &room, at, bytes.len())?;
        at += bytes.len();
    }
    let point = queue.traps().point(queue, queue.pool(), &room.done)?;
    room.done.wait()?;
    let mut at = 0;
    for (_, bytes) in parts.iter_mut() {
        take_out(&room, at, bytes);
        at += bytes.len();
    }
    // The note of the traps has the room's event, which the next user of the room records again.
    let told = queue.traps().told.tell(point);
    queue.pool().give(room);
    told
}

/// The same piece by piece: while one is under way, the one before is taken over.
fn read_pieces(queue: &Queue, parts: &mut [(CUdeviceptr, &mut [u8])]) -> Result<(), Diagnostic> {
    let mut before: Option<(Room, &mut [u8])> = None;
    for (from, bytes) in parts.iter_mut() {
        for (i, part) in bytes.chunks_mut(PIECE).enumerate() {
            let room = queue.pool().take(part.len())?;
            copy(queue, *from + (i * PIECE) as u64, &room, 0, part.len())?;
            room.done.record(queue)?;
            if let Some((room, target)) = before.replace((room, part)) {
                room.done.wait()?;
                take_out(&room, 0, target);
                queue.pool().give(room);
            }
        }
    }
    let Some((room, target)) = before else { return Ok(()) };
    let point = queue.traps().point(queue, queue.pool(), &room.done)?;
    room.done.wait()?;
    take_out(&room, 0, target);
    let told = queue.traps().told.tell(point);
    queue.pool().give(room);
    told
}

/// Queues a copy of bytes of the device into a room of their own. The context is current.
pub(super) fn send(queue: &Queue, from: CUdeviceptr, bytes: usize) -> Result<Room, Diagnostic> {
    let room = queue.pool().take(bytes)?;
    copy(queue, from, &room, 0, bytes)?;
    Ok(room)
}

/// The bytes that were sent into a room; the copy is done.
pub(super) fn received(room: &Room, bytes: usize) -> Vec<u8> {
    let mut received = vec![0; bytes];
    take_out(room, 0, &mut received);
    received
}
