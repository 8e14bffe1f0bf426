//! Growth: a heap and a pool of frames begin small, and become larger when they are needed, up to what they may be.
//!
//! When half of the heap is taken, nothing new begins until the host has made it larger: a new buffer, and a copy of the old one. A program that
//! is faster than that runs out of memory before the host has looked; then the call begins again with more, and the time of its first attempt is
//! lost, which is a third of the whole at most, because each heap is four times as large as the one before. That is allowed because nothing has
//! come of the attempt: a call has no effects, and what it was given is *shared*, so none of these cells was written. Frames grow in the second
//! way alone, because each one's place depends on how many there are.
//!
//! Invariant: whoever finds no memory gives up what it does before others see anything of it, so every other fault and every result is right.

use super::{Begun, ForkJoinRunner};
use crate::forkjoin::memory::{control, fault, frame, label};
use crate::heap::room;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::heap::GlobalId;
use girih_runtime::Fault;
use girih_runtime::{Command, Memory};
use std::collections::HashSet;

/// How many times larger a heap becomes.
const FACTOR: u64 = 4;
/// Heaps are multiples of this.
const GRAIN: u64 = 256;

impl ForkJoinRunner {
    /// Tells the device where the heap ends, and from where on the host wants to be asked.
    pub(super) fn set_end(&mut self) -> Result<(), Diagnostic> {
        let units = (self.options.heap / 8).min(u64::from(u32::MAX >> 3)) as u32;
        let can_grow = self.options.heap < self.options.most_heap;
        let asks = can_grow || !self.tight && !self.gave_up;
        self.set(control::HEAP_END, units)?;
        self.set(control::HEAP_SOFT, if asks { units / 2 } else { u32::MAX })?;
        self.set(control::STARVED, 0)
    }

    /// Makes the heap larger, whose first units are kept. Says whether there is more now; if not, there never will be.
    pub(super) fn grow_heap(&mut self, keep: u32) -> Result<bool, Diagnostic> {
        let old = self.options.heap;
        let mut wanted = old.saturating_mul(FACTOR).min(self.options.most_heap);
        while wanted > old {
            let options = super::ForkJoinOptions { heap: wanted, ..self.options };
            let [bytes, ..] = room::sizes(&options, &self.shape);
            let made = self.device.zeroed(Memory { bytes, indirect: false });
            match made {
                Ok(heap) => {
                    let from = std::mem::replace(&mut self.buffers.heap, heap);
                    let bytes = (8 * u64::from(keep)).min(old);
                    self.device.submit(&[Command::copy((&from, 0), (&self.buffers.heap, 0), bytes)])?;
                    self.options.heap = wanted;
                    self.cells.borrow_mut().forget();
                    self.set_end()?;
                    return Ok(true);
                }
                // Others may have a part of the device's memory: perhaps there is room for a little more.
                Err(error) if error.code == Code::DeviceMemory => {
                    let less = (wanted - old) / 2 / GRAIN * GRAIN;
                    wanted = if less < old / 4 { old } else { old + less };
                }
                Err(error) => return Err(error),
            }
        }
        self.options.most_heap = old;
        self.set_end()?;
        Ok(false)
    }

    /// Makes the pool of frames larger, and all that depends on it; nobody may have a frame. Says whether there are more now.
    fn grow_frames(&mut self) -> Result<bool, Diagnostic> {
        let device = &self.device;
        let Some(frames) = room::more_frames(&self.options, &self.shape, device.caps()) else { return Ok(false) };
        let options = super::ForkJoinOptions { frames, ..self.options };
        let [_, pool, pending, queue, _] = room::sizes(&options, &self.shape);
        let mut made = vec![];
        for bytes in [pool, pending, queue] {
            match device.zeroed(Memory { bytes, indirect: false }) {
                Ok(buffer) => made.push(buffer),
                Err(error) => {
                    return if error.code == Code::DeviceMemory { Ok(false) } else { Err(error) };
                }
            }
        }
        let buffers = &mut self.buffers;
        for (buffer, new) in [&mut buffers.frames, &mut buffers.pending, &mut buffers.queue].into_iter().zip(made) {
            *buffer = new;
        }
        self.options.frames = frames;
        Ok(true)
    }

    /// The call has ended for lack of memory or of frames: it begins again with more.
    ///
    /// # Errors
    /// If there is no more, or if no amount would do.
    pub(super) fn relieve(&mut self, lacks: u32) -> Result<(), Fault> {
        let (place, chain) = (self.seen(control::PLACE) as usize, self.seen(control::CHAIN));
        if let Some(global) = self.needs_itself(chain).map_err(Fault::Device)? {
            return Err(Fault::SelfDependent(global));
        }
        let has_grown = match lacks {
            fault::MEMORY => self.grow_heap(self.begun.top),
            _frames => self.grow_frames(),
        };
        let has_grown = has_grown.map_err(Fault::Device)?;
        // Whoever ran out of memory before the host has looked is more careful the second time.
        let was_careless = !has_grown && lacks == fault::MEMORY && !self.tight;
        if was_careless {
            self.run_tightly().map_err(Fault::Device)?;
        }
        if has_grown || was_careless {
            return self.begin_again().map_err(Fault::Device);
        }
        Err(match lacks {
            fault::MEMORY => {
                let at = place.checked_sub(1).and_then(|place| self.sites.get(place));
                Fault::Memory { limit: self.options.heap, at: at.copied().unwrap_or(Span::NONE) }
            }
            _frames => {
                let limit = room::pool_bytes(&self.options, &self.shape);
                Fault::Stack { limit, function: self.labels.get(place).map(|(function, _)| *function) }
            }
        })
    }

    /// Everything is as it was when the call began.
    fn begin_again(&mut self) -> Result<(), Diagnostic> {
        let (epochs, tasks) = (self.seen(control::EPOCHS), self.seen(control::TASKS));
        // What the attempt has filled the heap with is gone, so collections may help again.
        self.gave_up = false;
        self.clear()?;
        let Begun { top, globals, .. } = self.begun.clone();
        self.set(control::HEAP_TOP, top)?;
        self.write(&self.buffers.control, 4 * u64::from(control::GLOBALS), &globals)?;
        self.control[control::GLOBALS as usize..].copy_from_slice(&globals);
        self.set(control::EPOCHS, epochs)?;
        self.set(control::TASKS, tasks)?;
        self.begin()
    }

    /// A global that is needed to compute itself: two of the frames that wait for each other, from this one on, wait for its value.
    fn needs_itself(&self, chain: u32) -> Result<Option<GlobalId>, Diagnostic> {
        if self.shape.globals == 0 {
            return Ok(None);
        }
        let frames = self.options.frames as usize;
        let row = |word: u32| self.read(&self.buffers.frames, 4 * u64::from(word) * frames as u64, frames);
        let (labels, bases) = (row(frame::LABEL)?, row(frame::BASE)?);
        let (mut at, mut waited) = ((chain >> 1) as usize, HashSet::new());
        for _ in 0..frames {
            let (Some(word), Some(base)) = (labels.get(at), bases.get(at)) else { break };
            if at == 0 {
                break;
            }
            if let Some((_, Some(global))) = self.labels.get((word & label::NUMBER) as usize)
                && !waited.insert(*global)
            {
                return Ok(Some(*global));
            }
            at = (base >> 1) as usize;
        }
        Ok(None)
    }
}
