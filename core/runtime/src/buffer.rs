//! Memory of a device that somebody owns.
//!
//! Invariant: work of a queue that uses memory for the first time comes behind what the memory's own queue has, if the memory was used before it was given out. The queues in which it was used
//! are noted with it, and it is not used again before their work is done.

use crate::allocator::Block;
use crate::device::Core;
use crate::driver::{ALIGN, Slice, bad_arguments};
use crate::queue::Queue;
use crate::{Device, Stream};
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How memory of a buffer is going to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes.
    pub bytes: u64,
    /// Whether grids of indirect dispatches are read from it.
    pub indirect: bool,
}

impl Memory {
    /// Memory of so many bytes, for anything but grids.
    pub const fn of(bytes: u64) -> Memory {
        Memory { bytes, indirect: false }
    }
}

/// Who is told when memory of somebody else is not used any more.
pub(crate) type Told = Box<dyn FnOnce() + Send>;

/// Where memory comes from.
pub(crate) enum Kind {
    /// It was not used before.
    New,
    /// Work of its own queue may still use it.
    Recycled,
    /// Somebody else has given it.
    Foreign {
        /// How far the address is beyond a multiple of [`ALIGN`], where the block begins.
        skew: u64,
        is_read_only: bool,
        told: Mutex<Option<Told>>,
    },
}

/// Memory that is given back when the last buffer that has it goes.
pub(crate) struct Allocation {
    pub block: Block,
    /// What was asked for.
    pub bytes: u64,
    pub kind: Kind,
    /// The queues in which it was used beside its own: few. Memory of somebody else has none of its own.
    pub uses: Mutex<Vec<Arc<Queue>>>,
    pub core: Arc<Core>,
}

impl Allocation {
    /// How many bytes may be moved: whole words, where nobody else has what is behind.
    fn room(&self) -> u64 {
        match self.kind {
            Kind::New | Kind::Recycled => self.bytes.next_multiple_of(4),
            Kind::Foreign { .. } => self.bytes,
        }
    }

    /// The byte of the block where it begins.
    fn start(&self) -> u64 {
        match self.kind {
            Kind::New | Kind::Recycled => 0,
            Kind::Foreign { skew, .. } => skew,
        }
    }

    fn is_read_only(&self) -> bool {
        matches!(self.kind, Kind::Foreign { is_read_only: true, .. })
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work of a queue uses it from now on.
    fn use_in(&self, core: &Core, queue: &Arc<Queue>) -> Result<(), Diagnostic> {
        let home = &self.block.home;
        if Arc::ptr_eq(home, queue) && !matches!(self.kind, Kind::Foreign { .. }) {
            return Ok(());
        }
        // Whoever else uses it in that queue waits here until it comes behind its own one.
        let mut uses = self.uses();
        if uses.iter().any(|other| Arc::ptr_eq(other, queue)) {
            return Ok(());
        }
        if matches!(self.kind, Kind::Recycled) {
            home.lead(&*core.driver, queue.id)?;
        }
        uses.push(queue.clone());
        Ok(())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        let allocator = &self.core.allocator;
        match &mut self.kind {
            Kind::New | Kind::Recycled => allocator.free(self.block.clone(), self.bytes, uses),
            Kind::Foreign { told, .. } => {
                let told = told.get_mut().unwrap_or_else(PoisonError::into_inner).take();
                allocator.give_back(self.block.id, self.bytes, uses, told.unwrap_or_else(|| Box::new(|| {})));
            }
        }
    }
}

/// Memory of a device, or a part of it. Clones are the same memory, which is given back when the last one goes; work that was
/// submitted keeps what it uses.
#[derive(Clone)]
pub struct Buffer {
    memory: Arc<Allocation>,
    offset: u64,
    bytes: u64,
    /// Whether it is a part that reaches beyond what it is a part of. Its parts do so, too.
    is_outside: bool,
}

impl Buffer {
    pub(crate) fn whole(memory: Arc<Allocation>) -> Buffer {
        let bytes = memory.bytes;
        Buffer { memory, offset: 0, bytes, is_outside: false }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device that it is of.
    pub fn device(&self) -> Device {
        Device::of(self.memory.core.clone())
    }
    pub(crate) fn core(&self) -> &Core {
        &self.memory.core
    }

    /// Whether work that would write it is refused.
    pub fn is_read_only(&self) -> bool {
        self.memory.is_read_only()
    }

    /// A part: so many bytes from a byte on. One that reaches beyond the buffer is refused where it is used.
    #[must_use]
    pub fn slice(&self, offset: u64, bytes: u64) -> Buffer {
        // What is beyond the part is not its own, even if it is there. The last word of a memory is: nobody else has anything in it.
        let room = if self.ends_with_memory() { self.memory.room() - self.offset } else { self.bytes };
        let is_inside = !self.is_outside && offset.checked_add(bytes).is_some_and(|end| end <= room);
        let offset = self.offset.saturating_add(offset);
        Buffer { memory: self.memory.clone(), offset, bytes, is_outside: !is_inside }
    }

    /// All from a byte on.
    #[must_use]
    pub fn from_byte(&self, offset: u64) -> Buffer {
        let bytes = self.bytes.saturating_sub(offset);
        if offset <= self.bytes {
            self.slice(offset, bytes)
        } else {
            Buffer { is_outside: true, ..self.slice(offset, bytes) }
        }
    }

    /// Whether its last byte is the last of its memory, or behind it in the same word.
    pub(crate) fn ends_with_memory(&self) -> bool {
        !self.is_outside && self.offset + self.bytes >= self.memory.bytes
    }

    /// The whole words that it is in, if it has to be moved by these, and the first of its bytes there.
    pub(crate) fn around(&self) -> (Buffer, usize) {
        if self.is_outside || self.core().driver.moves_bytes() {
            return (self.clone(), 0);
        }
        let first = self.offset % 4;
        let bytes = (first + self.bytes).next_multiple_of(4);
        (Buffer { offset: self.offset - first, bytes, ..self.clone() }, first as usize)
    }

    /// Whether two of them are in one memory.
    pub fn shares_memory_with(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Whether any byte is in both.
    pub fn overlaps(&self, other: &Buffer) -> bool {
        let (from, to) = (self.offset, other.offset);
        self.shares_memory_with(other) && from < to.saturating_add(other.bytes) && to < from.saturating_add(self.bytes)
    }

    /// The same bytes as elements.
    ///
    /// # Errors
    /// If they are not whole elements, or do not stand where elements may.
    pub fn typed<T: Element>(&self) -> Result<Array<T>, Diagnostic> {
        let size = size_of::<T>() as u64;
        self.in_driver()?;
        if !self.bytes.is_multiple_of(size) || !(self.memory.start() + self.offset).is_multiple_of(size) {
            let message =
                format!("{} bytes starting at byte {} are not elements of {size} bytes", self.bytes, self.offset);
            return Err(bad_arguments(message));
        }
        Ok(Array { buffer: self.clone(), element: PhantomData })
    }

    /// Its address, where the device has one: of the host's memory for the processor, of the card's for CUDA. It is good while the buffer lives. The runtime does not know of work of
    /// others that uses it: see [`Stream::uses`].
    pub fn address(&self) -> Option<u64> {
        self.memory.core.driver.address(self.in_driver().ok()?)
    }

    /// Where it is, for whoever knows the driver. It is good while the buffer lives.
    ///
    /// # Errors
    /// If it is a part that reaches beyond its buffer.
    pub fn in_driver(&self) -> Result<Slice, Diagnostic> {
        let memory = &self.memory;
        if self.is_outside {
            let (bytes, offset, all) = (self.bytes, self.offset, memory.bytes);
            return Err(bad_arguments(format!(
                "a part of {bytes} bytes starting at byte {offset} reaches beyond its buffer; the memory has {all} bytes"
            )));
        }
        let offset = memory.start() + self.offset;
        let align = 1 << offset.trailing_zeros().min(ALIGN.trailing_zeros());
        Ok(Slice { block: memory.block.id, offset, bytes: self.bytes, align })
    }

    /// What a driver is given, for work of a queue that may write it or not.
    pub(crate) fn resolve(&self, core: &Core, queue: &Arc<Queue>, is_written: bool) -> Result<Slice, Diagnostic> {
        let memory = &self.memory;
        if !core.is_family(&memory.core) {
            let owner = &memory.core.driver.info().name;
            return Err(bad_arguments(format!("a buffer of `{owner}` is given to another device")));
        }
        let slice = self.in_driver()?;
        if is_written && memory.is_read_only() {
            return Err(bad_arguments("memory whose owner allows nobody to write is written")
                .hint("copy it to a new buffer, or mark the kernel's parameter as `readonly` if it only reads"));
        }
        memory.use_in(core, queue)?;
        Ok(slice)
    }

    /// The same for something that is moved as bytes.
    pub(crate) fn resolve_moved(&self, core: &Core, queue: &Arc<Queue>, is_written: bool) -> Result<Slice, Diagnostic> {
        let slice = self.resolve(core, queue, is_written)?;
        if !(core.driver.moves_bytes() || slice.offset.is_multiple_of(4) && slice.bytes.is_multiple_of(4)) {
            let name = &core.driver.info().name;
            let message = format!(
                "{} bytes starting at byte {}, but `{name}` writes whole words: both must be multiples of 4",
                slice.bytes, slice.offset
            );
            return Err(bad_arguments(message).hint("write what is around them, too, or let a kernel do it"));
        }
        Ok(slice)
    }

    /// The same for the words of a grid.
    pub(crate) fn resolve_grid(&self, core: &Core, queue: &Arc<Queue>) -> Result<Slice, Diagnostic> {
        let slice = self.slice(0, 12).resolve(core, queue, false)?;
        if !slice.offset.is_multiple_of(4) {
            let message = format!("a grid starts at byte {}, which must be a multiple of 4", slice.offset);
            return Err(bad_arguments(message));
        }
        Ok(slice)
    }

    /// Work of a queue comes behind all that has used it so far, and uses it from then on.
    pub(crate) fn hand_over(&self, core: &Core, queue: &Arc<Queue>) -> Result<(), Diagnostic> {
        self.resolve(core, queue, false)?;
        let mut before = self.memory.uses().clone();
        if !matches!(self.memory.kind, Kind::Foreign { .. }) {
            before.push(self.memory.block.home.clone());
        }
        let mut others = before.iter().filter(|other| !Arc::ptr_eq(other, queue));
        others.try_for_each(|other| other.lead(&*core.driver, queue.id))
    }
}

impl PartialEq for Buffer {
    /// Whether they are the same bytes of the same memory.
    fn eq(&self, other: &Buffer) -> bool {
        let place = |buffer: &Buffer| (buffer.offset, buffer.bytes, buffer.is_outside);
        self.shares_memory_with(other) && place(self) == place(other)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({:?}, {} bytes from {} on)", self.memory.block.id, self.bytes, self.offset)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number of Rust that devices have, too. Both are little-endian.
pub trait Element: bytemuck::Pod + Default + sealed::Sealed {
    /// Its type in kernels.
    const SCALAR: Scalar;
}

macro_rules! elements {
    ($($rust:ty: $scalar:ident;)*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const SCALAR: Scalar = Scalar::$scalar;
        }
    )*};
}

elements! {
    i8: I8; i16: I16; i32: I32; i64: I64;
    u8: U8; u16: U16; u32: U32; u64: U64;
    half::f16: F16; half::bf16: Bf16; f32: F32; f64: F64;
}

/// A buffer of numbers.
pub struct Array<T> {
    buffer: Buffer,
    element: PhantomData<T>,
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Array<T> {
        Array { buffer: self.buffer.clone(), element: PhantomData }
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.buffer.fmt(f)
    }
}

impl<T: Element> Array<T> {
    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.buffer.bytes / size_of::<T>() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buffer.bytes == 0
    }

    /// The bytes.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// A part, from a number on.
    #[must_use]
    pub fn slice(&self, first: u64, count: u64) -> Array<T> {
        let size = size_of::<T>() as u64;
        let buffer = self.buffer.slice(first.saturating_mul(size), count.saturating_mul(size));
        Array { buffer, element: PhantomData }
    }

    /// Writes numbers to the beginning, behind the work of a stream.
    ///
    /// # Errors
    /// If there is not as much room, or the device fails.
    pub fn write(&self, stream: &Stream, numbers: &[T]) -> Result<(), Diagnostic> {
        stream.write(&self.buffer, 0, bytemuck::cast_slice(numbers))
    }

    /// Waits for the work of a stream and reads all numbers.
    ///
    /// # Errors
    /// If the work or the device fails.
    pub fn read(&self, stream: &Stream) -> Result<Vec<T>, Diagnostic> {
        self.buffer.in_driver()?;
        let mut numbers = vec![T::default(); self.len() as usize];
        stream.read(&self.buffer, 0, bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }
}
