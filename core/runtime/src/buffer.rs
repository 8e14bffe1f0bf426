//! Memory of a device that somebody owns.

use crate::allocator::Block;
use crate::device::Core;
use crate::driver::{ALIGN, QueueId, Slice, bad_arguments};
use crate::stream::Closing;
use crate::{Device, Stream};
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

/// Memory that is given back when the last buffer that has it goes.
pub(crate) struct Allocation {
    pub block: Block,
    /// What was asked for.
    pub bytes: u64,
    /// How far the address is beyond a multiple of [`ALIGN`].
    pub skew: u64,
    /// The queues in which it was used, a bit each.
    pub uses: AtomicU64,
    /// Whose it is, if it is somebody else's.
    pub told: Mutex<Option<Told>>,
    pub is_foreign: bool,
    /// Keeps the queue that it belongs to.
    pub _home: Option<Arc<Closing>>,
    pub core: Arc<Core>,
}

impl Allocation {
    /// How many bytes may be moved: whole words, where nobody else has what is behind.
    fn room(&self) -> u64 {
        if self.is_foreign { self.bytes } else { self.bytes.next_multiple_of(4) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let (uses, told) = (*self.uses.get_mut(), self.told.get_mut());
        let told = told.unwrap_or_else(std::sync::PoisonError::into_inner).take();
        match told {
            Some(told) => self.core.allocator.give_back(self.block.id, self.bytes, uses, told),
            None => self.core.allocator.free(self.block, self.bytes, uses),
        }
    }
}

/// Memory of a device, or a part of it. Clones are the same memory, which is given back when the last one goes; work that was
/// submitted keeps what it uses.
#[derive(Clone)]
pub struct Buffer {
    pub(crate) memory: Arc<Allocation>,
    offset: u64,
    bytes: u64,
}

impl Buffer {
    pub(crate) fn whole(memory: Arc<Allocation>) -> Buffer {
        let bytes = memory.bytes;
        Buffer { memory, offset: 0, bytes }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The device that it is of.
    pub fn device(&self) -> Device {
        Device::of(self.memory.core.clone())
    }

    /// A part: so many bytes from a byte on. One that reaches beyond the buffer is refused where it is used.
    #[must_use]
    pub fn slice(&self, offset: u64, bytes: u64) -> Buffer {
        // What is beyond the part is not its own, even if it is there.
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes.next_multiple_of(4));
        let offset = if inside { self.offset + offset } else { u64::MAX };
        Buffer { memory: self.memory.clone(), offset, bytes }
    }

    /// All from a byte on.
    #[must_use]
    pub fn from_byte(&self, offset: u64) -> Buffer {
        match self.bytes.checked_sub(offset) {
            Some(bytes) => Buffer { memory: self.memory.clone(), offset: self.offset + offset, bytes },
            None => Buffer { memory: self.memory.clone(), offset: u64::MAX, bytes: 0 },
        }
    }

    /// Whether it can be moved by the byte: memory that somebody else has given.
    pub(crate) fn is_foreign(&self) -> bool {
        self.memory.is_foreign
    }

    /// Whether its last byte is the last of its memory.
    pub(crate) fn ends_with_memory(&self) -> bool {
        self.offset.checked_add(self.bytes) == Some(self.memory.bytes)
    }

    /// Whether two of them are in one memory.
    pub fn shares_memory_with(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// The same bytes as elements.
    ///
    /// # Errors
    /// If they are not whole elements, or do not stand where elements may.
    pub fn typed<T: Element>(&self) -> Result<Array<T>, Diagnostic> {
        let size = size_of::<T>() as u64;
        if !self.bytes.is_multiple_of(size) || !(self.memory.skew + self.offset).is_multiple_of(size) {
            let message =
                format!("{} bytes starting at byte {} are not elements of {size} bytes", self.bytes, self.offset);
            return Err(bad_arguments(message));
        }
        Ok(Array { buffer: self.clone(), element: PhantomData })
    }

    /// Its address, where the device has one: of the host's memory for the processor, of the card's for CUDA. It is good while the buffer lives.
    pub fn address(&self) -> Option<u64> {
        let slice = self.resolve(&self.memory.core, None).ok()?;
        self.memory.core.driver.address(slice)
    }

    /// Where it is, for whoever knows the driver. It is good while the buffer lives.
    ///
    /// # Errors
    /// If it is a part that reaches beyond its buffer.
    pub fn in_driver(&self) -> Result<Slice, Diagnostic> {
        self.resolve(&self.memory.core, None)
    }

    /// What a driver is given, for work of a queue. Who only asks gives none.
    pub(crate) fn resolve(&self, core: &Core, queue: Option<QueueId>) -> Result<Slice, Diagnostic> {
        let memory = &self.memory;
        if !core.is_family(&memory.core) {
            let owner = &memory.core.driver.info().name;
            return Err(bad_arguments(format!("a buffer of `{owner}` is given to another device")));
        }
        let end = self.offset.checked_add(self.bytes);
        if end.is_none_or(|end| end > memory.room()) {
            let (bytes, all) = (self.bytes, memory.bytes);
            return Err(bad_arguments(match self.offset {
                u64::MAX => format!("a part of {bytes} bytes reaches beyond its buffer, which has {all}"),
                at => format!("{bytes} bytes starting at byte {at} reach beyond a buffer of {all} bytes"),
            }));
        }
        if let Some(queue) = queue {
            memory.uses.fetch_or(crate::allocator::bit(queue), Ordering::AcqRel);
        }
        let align = 1 << (memory.skew + self.offset).trailing_zeros().min(ALIGN.trailing_zeros());
        Ok(Slice { block: memory.block.id, offset: self.offset, bytes: self.bytes, align })
    }

    /// The same for something that is moved as bytes: place and size are multiples of 4.
    pub(crate) fn resolve_words(&self, core: &Core, queue: QueueId) -> Result<Slice, Diagnostic> {
        let slice = self.resolve(core, Some(queue))?;
        if !(slice.offset.is_multiple_of(4) && slice.bytes.is_multiple_of(4) || self.memory.is_foreign) {
            let message =
                format!("{} bytes starting at byte {}: both must be multiples of 4", slice.bytes, slice.offset);
            return Err(bad_arguments(message));
        }
        Ok(slice)
    }
}

impl PartialEq for Buffer {
    /// Whether they are the same bytes of the same memory.
    fn eq(&self, other: &Buffer) -> bool {
        self.shares_memory_with(other) && (self.offset, self.bytes) == (other.offset, other.bytes)
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
        let mut numbers = vec![T::default(); self.len() as usize];
        stream.read(&self.buffer, 0, bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }
}
