//! Cells of a heap on a device, as the host reads them: in pages, which are kept while nothing runs.
//!
//! A cell is a header (its layout, and its size in units of 8 bytes above bit 16) and its fields, a word each.

use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::Type;
use girih_ir::heap::{self, Layout, LayoutId};
pub use girih_runtime::{BufferId, Device};
use std::collections::HashMap;

/// Tag of a word that names a cell which others may name too.
const SHARED: u32 = 5;
/// Words of the heap that are fetched at once.
const PAGE: usize = 1 << 12;

/// What the host has seen.
#[derive(Default)]
pub struct Cells {
    pages: HashMap<usize, Vec<u32>>,
    /// Why a page could not be fetched.
    pub trouble: Option<Diagnostic>,
}

/// Reads words of a buffer.
pub(super) fn read(
    device: &mut dyn Device,
    buffer: BufferId,
    offset: u64,
    words: usize,
) -> Result<Vec<u32>, Diagnostic> {
    let mut bytes = vec![0; 4 * words];
    device.read(buffer, offset, &mut bytes)?;
    Ok(self::words(&bytes))
}

/// The words of bytes that were read.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// A word as the host has it: it does not ask who else has the cell.
pub fn to_host(word: u32, ty: Type) -> u32 {
    if ty == Type::Term && heap::tag(word) == SHARED { word - (SHARED - heap::CELL) } else { word }
}

/// A word as the device has it: the host may have given it to others too.
pub fn to_device(word: u32, ty: Type) -> u32 {
    if ty == Type::Term && heap::tag(word) == heap::CELL { word + (SHARED - heap::CELL) } else { word }
}

impl Cells {
    /// What was seen may have changed.
    pub fn forget(&mut self) {
        self.pages.clear();
    }

    fn word(&mut self, device: &mut dyn Device, (buffer, bytes): (BufferId, u64), at: usize) -> u32 {
        let trouble = &mut self.trouble;
        let page = self.pages.entry(at / PAGE).or_insert_with(|| {
            let words = (bytes / 4) as usize;
            let first = (at / PAGE * PAGE).min(words);
            read(device, buffer, 4 * first as u64, PAGE.min(words - first)).unwrap_or_else(|error| {
                trouble.get_or_insert(error);
                vec![]
            })
        });
        page.get(at % PAGE).copied().unwrap_or(0)
    }

    /// The layout of the cell that a word names.
    pub fn layout(
        &mut self,
        device: &mut dyn Device,
        heap: (BufferId, u64),
        layouts: &IndexVec<LayoutId, Layout>,
        cell: u32,
    ) -> Option<LayoutId> {
        let is_cell = matches!(heap::tag(cell), heap::CELL | SHARED) && heap::payload(cell) != 0;
        let first = is_cell.then(|| 2 * heap::payload(cell) as usize)?;
        let layout = self.word(device, heap, first) & 0xffff;
        let layout = ((layout as usize) < layouts.len()).then(|| LayoutId::new(layout))?;
        self.trouble.is_none().then_some(layout)
    }

    /// A field of a cell; 0 if there is none.
    pub fn field(
        &mut self,
        device: &mut dyn Device,
        heap: (BufferId, u64),
        layouts: &IndexVec<LayoutId, Layout>,
        cell: u32,
        field: usize,
    ) -> u32 {
        let Some(layout) = self.layout(device, heap, layouts, cell) else { return 0 };
        let Some(ty) = layouts[layout].fields.get(field) else { return 0 };
        to_host(self.word(device, heap, 2 * heap::payload(cell) as usize + 1 + field), *ty)
    }
}
