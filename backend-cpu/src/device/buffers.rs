//! Buffers: bytes of the host that code reaches by their address.
//!
//! Invariant: while a launch runs nobody else touches them, because the device's methods end before they return.

use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::Idx;
use girih_base::span::Span;
use girih_runtime::BufferId;
use std::alloc::Layout;
use std::ptr::NonNull;

/// What a buffer's first byte is aligned to: as much as an offset into it is.
const ALIGN: usize = 256;

/// Zeroed memory that does not move.
#[derive(Debug)]
pub(super) struct Bytes {
    start: NonNull<u8>,
    layout: Layout,
    length: usize,
}

#[allow(unsafe_code)]
// SAFETY: it owns its memory and gives it out by its own borrows only.
unsafe impl Send for Bytes {}

impl Bytes {
    /// So many zeros; none if there is no memory for them.
    #[allow(unsafe_code)]
    pub fn zeroed(length: usize) -> Option<Bytes> {
        let layout = Layout::from_size_align(length.max(1), ALIGN).ok()?;
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Bytes { start, layout, length })
    }

    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The bytes, to be read.
    #[allow(unsafe_code)]
    pub fn get(&self) -> &[u8] {
        // SAFETY: so many bytes were allocated and initialised; no code runs that writes them, see the invariant above.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// The bytes, to be written.
    #[allow(unsafe_code)]
    pub fn get_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Bytes {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// The buffers of a device; the first one is for traps.
#[derive(Debug)]
pub(super) struct Buffers {
    all: Vec<Option<Bytes>>,
}

/// A range of a buffer that is inside of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The buffer's position.
    pub buffer: usize,
    /// The first byte.
    pub start: usize,
    /// How many.
    pub bytes: usize,
}

fn no_memory(bytes: u64) -> Diagnostic {
    let message = format!("a buffer of {bytes} bytes does not fit the memory of this machine");
    Diagnostic::new(Code::DeviceMemory, Span::NONE, message)
}

impl Buffers {
    /// The buffer for traps alone.
    pub fn new() -> Result<Buffers, Diagnostic> {
        Ok(Buffers { all: vec![Some(Bytes::zeroed(16).ok_or_else(|| no_memory(16))?)] })
    }

    /// A new one.
    pub fn allocate(&mut self, bytes: u64) -> Result<BufferId, Diagnostic> {
        let length = usize::try_from(bytes).ok().and_then(|n| n.checked_next_multiple_of(4));
        let buffer = length.and_then(Bytes::zeroed).ok_or_else(|| no_memory(bytes))?;
        self.all.push(Some(buffer));
        Ok(BufferId::from_usize(self.all.len() - 1))
    }

    /// Gives one back.
    pub fn free(&mut self, buffer: BufferId) {
        if buffer.index() > 0
            && let Some(slot) = self.all.get_mut(buffer.index())
        {
            *slot = None;
        }
    }

    /// Checks a range.
    pub fn range(&self, buffer: BufferId, offset: u64, bytes: u64) -> Result<Range, Diagnostic> {
        let index = buffer.index();
        let wrong = |message: String| Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        let found = if index == 0 { None } else { self.all.get(index).and_then(Option::as_ref) };
        let Some(found) = found else { return wrong(format!("there is no buffer {index}")) };
        if !offset.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return wrong(format!("bytes {offset} and following, {bytes} of them: both are multiples of 4"));
        }
        match offset.checked_add(bytes) {
            Some(end) if end <= found.len() as u64 => {
                Ok(Range { buffer: index, start: offset as usize, bytes: bytes as usize })
            }
            _beyond => wrong(format!("{bytes} bytes from {offset} on reach beyond a buffer of {} bytes", found.len())),
        }
    }

    /// The bytes of a range.
    pub fn get(&self, range: Range) -> &[u8] {
        self.all[range.buffer].as_ref().map_or(&[], |b| &b.get()[range.start..range.start + range.bytes])
    }

    /// The bytes of a range, to be written.
    pub fn get_mut(&mut self, range: Range) -> &mut [u8] {
        match &mut self.all[range.buffer] {
            Some(buffer) => &mut buffer.get_mut()[range.start..range.start + range.bytes],
            None => &mut [],
        }
    }

    /// Copies a range to another one of the same size.
    pub fn copy(&mut self, from: Range, to: Range) {
        let bytes = self.get(from).to_vec();
        self.get_mut(to).copy_from_slice(&bytes);
    }

    /// The address of a place in a buffer, and how many bytes there are from it on.
    pub fn place(&self, range: Range) -> (u64, u64) {
        let buffer = self.all[range.buffer].as_ref();
        buffer.map_or((0, 0), |b| (b.address() + range.start as u64, (b.len() - range.start) as u64))
    }

    /// The buffer for traps.
    pub fn traps(&self) -> Range {
        Range { buffer: 0, start: 0, bytes: 16 }
    }
}
