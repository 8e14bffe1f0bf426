//! Memory: bytes of the host that code reaches by their address.
//!
//! Invariant: the device does one thing at a time, a launch or a copy, so nobody else touches its bytes meanwhile; of memory that somebody else has given,
//! this is what he has promised.

use girih_base::diag::Diagnostic;
use girih_runtime::driver::immediate::{self, no_memory, whole_words};
use girih_runtime::driver::{ALIGN, BlockId, Slice, bad_arguments};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Memory that does not move.
#[derive(Debug)]
pub(super) struct Bytes {
    start: NonNull<u8>,
    length: usize,
    /// How it was allocated; none if it is somebody else's.
    layout: Option<Layout>,
}

#[allow(unsafe_code)]
// SAFETY: it is an address and a length; who goes there is said above.
unsafe impl Send for Bytes {}
#[allow(unsafe_code)]
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// So many zeros; none if there is no memory for them.
    #[allow(unsafe_code)]
    pub fn zeroed(length: usize) -> Option<Bytes> {
        let layout = Layout::from_size_align(length.max(1), ALIGN as usize).ok()?;
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Bytes { start, length, layout: Some(layout) })
    }

    /// Memory of somebody else.
    fn foreign(address: u64, length: u64) -> Option<Bytes> {
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?))?;
        Some(Bytes { start, length: usize::try_from(length).ok()?, layout: None })
    }

    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// The address of a range, which is inside.
    fn at(&self, offset: u64, bytes: u64) -> *mut u8 {
        debug_assert!(offset + bytes <= self.length as u64);
        // Slices lie inside of their blocks (see `Driver`), so the address does; memory of somebody else may begin behind the beginning of its block.
        self.start.as_ptr().wrapping_add(offset as usize)
    }
}

impl Drop for Bytes {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: it was allocated with this layout.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) }
        }
    }
}

/// The blocks of a device; the first one is for traps.
#[derive(Debug)]
pub(super) struct Blocks(immediate::Blocks<Option<Bytes>>);

/// Bytes of the block for traps.
const TRAPS: usize = 16;

impl Blocks {
    /// The block for traps alone.
    pub fn new() -> Result<Blocks, Diagnostic> {
        let traps = Bytes::zeroed(TRAPS).ok_or_else(|| no_memory(TRAPS as u64))?;
        Ok(Blocks(immediate::Blocks::with(Some(traps))))
    }

    /// A new one.
    pub fn allocate(&mut self, bytes: u64) -> Result<BlockId, Diagnostic> {
        let block = whole_words(bytes).and_then(Bytes::zeroed).ok_or_else(|| no_memory(bytes))?;
        Ok(self.0.add(Some(block)))
    }

    /// One of somebody else.
    pub fn import(&mut self, address: u64, bytes: u64) -> Result<BlockId, Diagnostic> {
        let wrong = || bad_arguments("memory at the address 0 is imported");
        Ok(self.0.add(Some(Bytes::foreign(address, bytes).ok_or_else(wrong)?)))
    }

    /// Gives one back.
    pub fn release(&mut self, block: BlockId) {
        if matches!(self.0.get(block), Some(Some(_))) {
            self.0.release(block);
        }
    }

    fn get(&self, slice: Slice) -> Result<(&Bytes, *mut u8), Diagnostic> {
        let found = self.0.get(slice.block).and_then(Option::as_ref);
        let bytes = found.ok_or_else(|| bad_arguments("the buffer was given back"))?;
        Ok((bytes, bytes.at(slice.offset, slice.bytes)))
    }

    /// The address of a slice, and how many bytes kernels may reach from there: whole words, where these are there.
    pub fn place(&self, slice: Slice) -> Result<(u64, u64), Diagnostic> {
        let (block, _) = self.get(slice)?;
        let there = (block.length as u64).saturating_sub(slice.offset);
        Ok((block.address() + slice.offset, slice.bytes.next_multiple_of(4).min(there)))
    }

    /// Reads a slice.
    #[allow(unsafe_code)]
    pub fn read(&self, from: Slice, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        let (_, start) = self.get(from)?;
        let count = bytes.len().min(from.bytes as usize);
        // SAFETY: so many bytes are there, were initialised, and are touched by nobody else: see the invariant above.
        unsafe { std::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), count) };
        Ok(())
    }

    /// Writes a slice.
    #[allow(unsafe_code)]
    pub fn write(&self, to: Slice, bytes: &[u8]) -> Result<(), Diagnostic> {
        let (_, start) = self.get(to)?;
        let count = bytes.len().min(to.bytes as usize);
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, count) };
        Ok(())
    }

    /// Copies a slice to another one of the same size.
    #[allow(unsafe_code)]
    pub fn copy(&self, from: Slice, to: Slice) -> Result<(), Diagnostic> {
        let ((_, source), (_, target)) = (self.get(from)?, self.get(to)?);
        // SAFETY: both are there, as above; they may overlap.
        unsafe { std::ptr::copy(source, target, from.bytes.min(to.bytes) as usize) };
        Ok(())
    }

    /// Fills a slice with zero.
    #[allow(unsafe_code)]
    pub fn clear(&self, at: Slice) -> Result<(), Diagnostic> {
        let (_, start) = self.get(at)?;
        // SAFETY: as above.
        unsafe { std::ptr::write_bytes(start, 0, at.bytes as usize) };
        Ok(())
    }

    /// The block for traps.
    pub fn traps(&self) -> Slice {
        Slice { block: BlockId::new(0), offset: 0, bytes: TRAPS as u64, align: ALIGN }
    }
}
