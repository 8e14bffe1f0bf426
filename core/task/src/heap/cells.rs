//! Cells of a heap on a device, as kernels have them, and as the host reads them: in pages, which are kept while nothing runs.
//!
//! A cell is a header (its layout, and its size in units of 8 bytes above bit 16) and its fields, a word each.

use crate::device::{Pages, WordBuffer};
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::heap::{self, Layout, LayoutId};
use girih_ir::{Module, Type};
use girih_runtime::{Buffer, Device};

/// Tag of a word that names a cell which others may name too.
pub const SHARED: u32 = 5;
/// Words of the heap that are fetched at once.
const PAGE: usize = 1 << 12;

/// Units of 8 bytes of a cell with so many fields.
pub fn units(fields: usize) -> u32 {
    (1 + fields as u32).div_ceil(2)
}

/// The first word of a cell.
pub fn header(layout: LayoutId, fields: usize) -> u32 {
    layout.index() as u32 | units(fields) << 16
}

/// Units of the largest cell of a module.
pub fn largest(module: &Module) -> u32 {
    module.layouts.iter().map(|layout| units(layout.fields.len())).max().unwrap_or(0)
}

/// The first unit that may be a cell's. Those before it are no cells: nobody who found no memory writes over any.
pub fn first_unit(module: &Module) -> u32 {
    1 + largest(module)
}

/// A word as the host has it: it does not ask who else has the cell.
pub fn to_host(word: u32, ty: Type) -> u32 {
    if ty == Type::Term && heap::tag(word) == SHARED { word - (SHARED - heap::CELL) } else { word }
}

/// A word as the device has it: the host may have given it to others too.
pub fn to_device(word: u32, ty: Type) -> u32 {
    if ty == Type::Term && heap::tag(word) == heap::CELL { word + (SHARED - heap::CELL) } else { word }
}

/// Whether a word names a cell.
pub fn is_cell(word: u32) -> bool {
    matches!(heap::tag(word), heap::CELL | SHARED) && heap::payload(word) != 0
}

/// A heap on a device: its buffer, how many bytes that has, and the layouts of its cells.
pub struct Heap<'d> {
    /// Where it is.
    pub device: &'d Device,
    /// Its buffer.
    pub buffer: &'d Buffer,
    /// Bytes of the buffer.
    pub bytes: u64,
    /// What cells are.
    pub layouts: &'d IndexVec<LayoutId, Layout>,
}

impl<'d> Heap<'d> {
    fn words(&self) -> WordBuffer<'d> {
        WordBuffer { device: self.device, buffer: self.buffer, words: (self.bytes / 4) as usize }
    }
}

/// What the host has seen of a heap.
#[derive(Default)]
pub struct Cells {
    pages: Pages<PAGE>,
    /// Why a page could not be fetched.
    pub trouble: Option<Diagnostic>,
}

impl Cells {
    /// What was seen may have changed.
    pub fn forget(&mut self) {
        self.pages.forget();
    }

    /// A word of the heap; 0 where there is none.
    pub fn word(&mut self, heap: &Heap<'_>, at: usize) -> u32 {
        self.pages.word(heap.words(), at).unwrap_or_else(|error| {
            self.trouble.get_or_insert(error);
            0
        })
    }

    /// The layout of the cell that a word names.
    pub fn layout(&mut self, heap: &Heap<'_>, cell: u32) -> Option<LayoutId> {
        let first = is_cell(cell).then(|| 2 * heap::payload(cell) as usize)?;
        let layout = self.word(heap, first) & 0xffff;
        let layout = ((layout as usize) < heap.layouts.len()).then(|| LayoutId::new(layout))?;
        // Who knows what a cell is can see all of it: its pages are fetched now.
        let last = first + heap.layouts[layout].fields.len();
        for page in first / PAGE..=last / PAGE {
            self.word(heap, page * PAGE);
        }
        self.trouble.is_none().then_some(layout)
    }

    /// A field of a cell; 0 if there is none.
    pub fn field(&mut self, heap: &Heap<'_>, cell: u32, field: usize) -> u32 {
        let Some(layout) = self.layout(heap, cell) else { return 0 };
        let Some(ty) = heap.layouts[layout].fields.get(field) else { return 0 };
        to_host(self.word(heap, 2 * heap::payload(cell) as usize + 1 + field), *ty)
    }
}
