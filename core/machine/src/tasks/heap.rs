//! Cells with counts of their owners.
//!
//! A cell lies at a place counted in units of 8 bytes: one unit holds layout and count, the fields follow. A *reuse token* has its layout and
//! the count 0. Memory that is given back is kept by size, and used again first; in checked mode it is never used again, so that
//! whoever still uses it is found.
//!
//! Invariant: `starts` has a bit for each unit where a cell or reuse token begins. Place 0 is never a cell.

use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::Idx;
use girih_base::span::Span;
use girih_ir::Module;
use girih_ir::heap::{CELL, LayoutId, NO_CHAIN, NO_REUSE_TOKEN, host_units, pack, payload, tag};
use girih_ir::types::Type;
use girih_runtime::{Fault, TaskOptions, TaskStats};

/// The bytes of a unit.
const UNIT: u64 = 8;
/// Most units: as many as a payload can name.
const MOST_UNITS: u64 = 1 << 29;

/// What has to be known of a layout.
#[derive(Debug)]
struct LayoutShape {
    units: u32,
    /// Which fields are words.
    terms: Vec<bool>,
}

/// The heap of a machine.
#[derive(Debug)]
pub(super) struct Heap {
    shapes: Vec<LayoutShape>,
    words: Vec<u32>,
    starts: Vec<u64>,
    /// Places of free memory by the number of units.
    free: Vec<Vec<u32>>,
    memory: u64,
    reuse: bool,
    fail_each: Option<u64>,
    checked: bool,
    /// How often memory was taken.
    taken: u64,
    /// Words still to be dropped.
    dropping: Vec<u32>,
    pub stats: TaskStats,
}

impl Heap {
    pub(super) fn new(module: &Module, options: &TaskOptions, checked: bool) -> Heap {
        let shape = |fields: &Vec<Type>| LayoutShape {
            units: host_units(fields.len()),
            terms: fields.iter().map(|ty| *ty == Type::Term).collect(),
        };
        Heap {
            shapes: module.layouts.iter().map(|l| shape(&l.fields)).collect(),
            // Place 0 is no cell.
            words: vec![0, 0],
            starts: vec![0],
            free: vec![],
            memory: options.memory,
            reuse: options.reuse,
            fail_each: options.fail_each,
            checked,
            taken: 0,
            dropping: vec![],
            stats: TaskStats::default(),
        }
    }

    // Places.

    fn is_start(&self, place: usize) -> bool {
        self.starts.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }
    fn set_start(&mut self, place: usize, start: bool) {
        if self.starts.len() <= place / 64 {
            self.starts.resize(place / 64 + 1, 0);
        }
        let bit = 1 << (place % 64);
        if start {
            self.starts[place / 64] |= bit;
        } else {
            self.starts[place / 64] &= !bit;
        }
    }
    /// Places of all cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        (1..self.words.len() / 2).filter(|place| self.is_start(*place) && self.count(*place) > 0)
    }
    /// The place of the cell that a word names.
    pub(super) fn place(&self, word: u32) -> Option<usize> {
        let place = payload(word) as usize;
        (tag(word) == CELL && self.is_start(place) && self.count(place) > 0).then_some(place)
    }
    pub(super) fn layout_at(&self, place: usize) -> LayoutId {
        LayoutId::from_usize(self.words[2 * place] as usize)
    }
    pub(super) fn count(&self, place: usize) -> u32 {
        self.words[2 * place + 1]
    }
    /// The field of a cell that there is.
    pub(super) fn field_at(&self, place: usize, field: usize) -> u32 {
        self.words[2 * place + 2 + field]
    }
    /// The words among the fields of a cell.
    pub(super) fn terms_at(&self, place: usize) -> impl Iterator<Item = u32> + '_ {
        let terms = &self.shapes[self.layout_at(place).index()].terms;
        terms.iter().enumerate().filter(|(_, term)| **term).map(move |(i, _)| self.field_at(place, i))
    }
    /// How many fields a layout has.
    pub(super) fn fields(&self, layout: LayoutId) -> usize {
        self.shapes.get(layout.index()).map_or(0, |shape| shape.terms.len())
    }

    /// The place of the cell that a word names, which has to be of a layout.
    fn cell(&self, word: u32, layout: LayoutId) -> Result<usize, Fault> {
        match self.place(word) {
            Some(place) if self.layout_at(place) == layout => Ok(place),
            Some(_) => Err(no_cell("this cell is of another layout")),
            None if tag(word) == CELL => Err(no_cell("this cell has been freed")),
            None => Err(no_cell("this word names no cell")),
        }
    }

    // Memory.

    fn take(&mut self, units: u32) -> Result<usize, Fault> {
        self.taken += 1;
        let short = Fault::Memory { limit: self.memory, at: Span::NONE };
        if self.fail_each.is_some_and(|n| n > 0 && self.taken.is_multiple_of(n))
            || self.stats.live_bytes + u64::from(units) * UNIT > self.memory
        {
            return Err(short);
        }
        let free = self.free.get_mut(units as usize).and_then(Vec::pop);
        let place = match free {
            Some(place) => place as usize,
            None => {
                let place = self.words.len() / 2;
                let more = 2 * units as usize;
                if place as u64 + u64::from(units) > MOST_UNITS || self.words.try_reserve(more).is_err() {
                    return Err(short);
                }
                self.words.resize(self.words.len() + more, 0);
                place
            }
        };
        self.set_start(place, true);
        self.stats.allocated += 1;
        Ok(place)
    }

    /// Gives the memory of a cell or reuse token back.
    fn release(&mut self, place: usize) {
        let units = self.shapes[self.layout_at(place).index()].units as usize;
        self.set_start(place, false);
        self.stats.freed += 1;
        if self.checked {
            return;
        }
        if self.free.len() <= units {
            self.free.resize(units + 1, vec![]);
        }
        self.free[units].push(place as u32);
    }

    /// Makes the memory at a place a cell with one owner.
    fn write(&mut self, place: usize, layout: LayoutId, fields: impl Iterator<Item = u32>) -> u32 {
        self.words[2 * place] = layout.index() as u32;
        self.words[2 * place + 1] = 1;
        for (i, field) in fields.enumerate() {
            self.words[2 * place + 2 + i] = field;
        }
        let stats = &mut self.stats;
        stats.live += 1;
        stats.live_bytes += u64::from(self.shapes[layout.index()].units) * UNIT;
        stats.most_live = stats.most_live.max(Some(stats.live));
        stats.most_bytes = stats.most_bytes.max(stats.live_bytes);
        pack(CELL, place as u32)
    }

    /// A cell has lost its last owner.
    fn unlive(&mut self, place: usize) {
        self.words[2 * place + 1] = 0;
        self.stats.live -= 1;
        self.stats.live_bytes -= u64::from(self.shapes[self.layout_at(place).index()].units) * UNIT;
    }

    // Operations.

    pub(super) fn new_cell(&mut self, layout: LayoutId, fields: impl Iterator<Item = u32>) -> Result<u32, Fault> {
        let place = self.take(self.shapes[layout.index()].units)?;
        Ok(self.write(place, layout, fields))
    }

    pub(super) fn get(&self, word: u32, layout: LayoutId, field: usize) -> Result<u32, Fault> {
        self.cell(word, layout).map(|place| self.field_at(place, field))
    }

    pub(super) fn layout(&self, word: u32) -> Result<u32, Fault> {
        let place = self.place(word).ok_or_else(|| no_cell("this word names no cell"))?;
        Ok(self.words[2 * place])
    }

    /// Takes one ownership of a cell; gives the reuse token, and its place, from which the fields can still be read.
    pub(super) fn open(&mut self, word: u32, layout: LayoutId) -> Result<(u32, usize), Fault> {
        let place = self.cell(word, layout)?;
        let count = self.count(place);
        if count > 1 {
            for i in 0..self.shapes[layout.index()].terms.len() {
                if self.shapes[layout.index()].terms[i] {
                    self.share(self.field_at(place, i))?;
                }
            }
            self.lose_owner(place);
            return Ok((NO_REUSE_TOKEN, place));
        }
        self.unlive(place);
        if self.reuse {
            return Ok((word, place));
        }
        self.release(place);
        Ok((NO_REUSE_TOKEN, place))
    }

    /// A cell in a reuse token, if the reuse token is one and as large as the cell.
    pub(super) fn fill(
        &mut self,
        token: u32,
        layout: LayoutId,
        fields: impl Iterator<Item = u32>,
    ) -> Result<u32, Fault> {
        let Some(place) = self.token(token)? else { return self.new_cell(layout, fields) };
        let units = |id: LayoutId| self.shapes[id.index()].units;
        if units(self.layout_at(place)) != units(layout) {
            self.release(place);
            return self.new_cell(layout, fields);
        }
        self.stats.reused += 1;
        Ok(self.write(place, layout, fields))
    }

    pub(super) fn free(&mut self, token: u32) -> Result<(), Fault> {
        if let Some(place) = self.token(token)? {
            self.release(place);
        }
        Ok(())
    }

    /// Puts a new cell into the open field of a chain; its own field is open then.
    pub(super) fn grow(&mut self, chain: u32, open: usize, cell: u32, field: usize) -> Result<(), Fault> {
        let first = self.put(chain, open, cell)?;
        let place = self.place(cell).ok_or_else(|| no_cell("this word names no cell"))?;
        self.words[2 * place + 2 + field] = first;
        Ok(())
    }

    /// Puts a word into the open field of a chain, which holds the word of its first cell; gives that one.
    pub(super) fn put(&mut self, chain: u32, open: usize, word: u32) -> Result<u32, Fault> {
        if chain == NO_CHAIN {
            return Ok(word);
        }
        let place = self.place(chain).ok_or_else(|| no_cell("the last cell of this chain has been freed"))?;
        let is_term = self.shapes[self.layout_at(place).index()].terms.get(open) == Some(&true);
        if !is_term || self.place(self.field_at(place, open)).is_none() || self.count(place) != 1 {
            return Err(no_cell("this field of the chain's last cell is not open"));
        }
        Ok(std::mem::replace(&mut self.words[2 * place + 2 + open], word))
    }

    /// The place of a reuse token, if it is not the null one.
    fn token(&self, word: u32) -> Result<Option<usize>, Fault> {
        let place = payload(word) as usize;
        match word {
            NO_REUSE_TOKEN => Ok(None),
            _ if tag(word) == CELL && self.is_start(place) && self.count(place) == 0 => Ok(Some(place)),
            _ => Err(no_cell("this word is not a reuse token")),
        }
    }

    pub(super) fn share(&mut self, word: u32) -> Result<(), Fault> {
        if tag(word) != CELL {
            return Ok(());
        }
        let place = self.place(word).ok_or_else(|| no_cell("this cell has been freed"))?;
        // A cell with so many owners is never given back.
        let count = &mut self.words[2 * place + 1];
        *count = count.saturating_add(1);
        Ok(())
    }

    /// Whether a word names no cell, as the program says.
    pub(super) fn check_flat(&self, word: u32) -> Result<(), Fault> {
        if tag(word) == CELL { Err(no_cell("this word names a cell, but is declared to name none")) } else { Ok(()) }
    }

    fn lose_owner(&mut self, place: usize) {
        let count = &mut self.words[2 * place + 1];
        if *count != u32::MAX {
            *count -= 1;
        }
    }

    /// Gives an ownership back, to any depth without recursion.
    pub(super) fn drop(&mut self, word: u32) -> Result<(), Fault> {
        self.dropping.push(word);
        while let Some(word) = self.dropping.pop() {
            if tag(word) != CELL {
                continue;
            }
            let place = self.place(word).ok_or_else(|| no_cell("this cell has been freed"))?;
            if self.count(place) > 1 {
                self.lose_owner(place);
                continue;
            }
            self.unlive(place);
            let shape = &self.shapes[self.words[2 * place] as usize];
            for (i, _) in shape.terms.iter().enumerate().filter(|(_, term)| **term) {
                self.dropping.push(self.words[2 * place + 2 + i]);
            }
            self.release(place);
        }
        Ok(())
    }
}

/// An operation on something that is no such cell; the place is said by who knows it.
fn no_cell(message: &str) -> Fault {
    Fault::Device(Diagnostic::new(Code::NotACell, Span::NONE, message))
}
