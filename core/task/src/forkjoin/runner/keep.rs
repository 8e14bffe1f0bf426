//! A heap without what nobody needs: between two calls the host copies what some words lead to, and the heap begins anew with that.
//!
//! Each cell is copied once, so who shares a cell does so afterwards, and who owned one alone still does. Definitions are computed again when they are
//! needed: what they gave is not kept.

use super::ForkJoinRunner;
use crate::device::broken;
use crate::forkjoin::memory::control;
use crate::heap::cells::is_cell;
use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_ir::Type;
use girih_ir::heap;
use girih_runtime::{Fault, Runner};

/// Cells in their new places.
struct Copy {
    /// The new first unit of each cell, by its old one.
    places: FastMap<u32, u32>,
    /// Cells whose fields have not been looked at, by their old units.
    open: Vec<u32>,
    /// The words from the first unit on.
    image: Vec<u32>,
    /// Where cells begin.
    first: u32,
}

impl ForkJoinRunner {
    /// Keeps what words lead to, and says what these have become.
    pub(super) fn keep(&mut self, words: &[u32]) -> Result<Vec<u32>, Fault> {
        let first = self.shape.first_unit();
        let mut copy = Copy { places: FastMap::default(), open: vec![], image: vec![], first };
        let kept = words.iter().map(|word| self.moved(&mut copy, *word)).collect::<Result<Vec<u32>, Fault>>()?;
        while let Some(cell) = copy.open.pop() {
            self.move_fields(&mut copy, cell)?;
        }
        let (epochs, tasks) = (self.seen(control::EPOCHS), self.seen(control::TASKS));
        self.clear().map_err(Fault::Device)?;
        self.set(control::EPOCHS, epochs).map_err(Fault::Device)?;
        self.set(control::TASKS, tasks).map_err(Fault::Device)?;
        let top = first + (copy.image.len() / 2) as u32;
        while top > self.seen(control::HEAP_END) {
            if !self.grow_heap(first).map_err(Fault::Device)? {
                return Err(Fault::Memory { limit: self.options.heap, at: Span::NONE });
            }
        }
        self.write(&self.buffers.heap, 8 * u64::from(first), &copy.image).map_err(Fault::Device)?;
        self.set(control::HEAP_TOP, top).map_err(Fault::Device)?;
        self.cells.borrow_mut().forget();
        self.is_used = true;
        self.kept_top = top;
        Ok(kept)
    }

    /// A word that names a cell's new place; there will be room for the cell.
    fn moved(&self, copy: &mut Copy, word: u32) -> Result<u32, Fault> {
        if !is_cell(word) {
            return Ok(word);
        }
        let old = heap::payload(word);
        if let Some(new) = copy.places.get(&old) {
            return Ok(heap::pack(heap::tag(word), *new));
        }
        // All of the cell is fetched by this, or an error is noted.
        if self.layout(word).is_none() {
            return Err(self.trouble().map_or_else(|| broken("a word names no cell"), Fault::Device));
        }
        let header = self.word(2 * old as usize);
        let new = copy.first + (copy.image.len() / 2) as u32;
        copy.image.push(header);
        copy.image.resize(copy.image.len() - 1 + 2 * (header >> 16) as usize, 0);
        copy.places.insert(old, new);
        copy.open.push(old);
        Ok(heap::pack(heap::tag(word), new))
    }

    fn move_fields(&self, copy: &mut Copy, old: u32) -> Result<(), Fault> {
        let Some(layout) = self.layout(heap::pack(heap::CELL, old)) else { return Ok(()) };
        let at = 2 * (copy.places[&old] - copy.first) as usize;
        for (field, ty) in self.layouts[layout].fields.iter().enumerate() {
            let word = self.word(2 * old as usize + 1 + field);
            copy.image[at + 1 + field] = if *ty == Type::Term { self.moved(copy, word)? } else { word };
        }
        Ok(())
    }
}
