//! Cells in memory: a header (the layout, and the size in units of 8 bytes above bit 16) and the fields, a word each.
//!
//! Words are written as late as they can be, and only where something else stands.

use super::code::{Code, Dev, Made, Place, State, Val, Word, as_word};
use super::memory::{control, fault};
use crate::ir::heap::{CELL, LayoutId, NULL_HOLE};
use crate::ir::{Op, Type, ValueId};

/// Where a cell's size stands in its header.
pub(super) const SIZE: u32 = 16;

impl Code {
    // Cells. A word of tag CELL or SHARED, shifted right by 2, is the place of the cell's first field.

    /// The place of a field.
    fn field_place(&mut self, cell: ValueId, field: u32) -> ValueId {
        let two = self.u32(2);
        let first = self.op(Op::Shr, Type::U32, &[cell, two]);
        match field {
            0 => first,
            _more => {
                let field = self.u32(field);
                self.op(Op::Add, Type::U32, &[first, field])
            }
        }
    }
    /// The place of a field of a cell of which nothing is known: within the heap, whatever the word says.
    fn safe_place(&mut self, cell: ValueId, field: u32) -> ValueId {
        let two = self.u32(2);
        let first = self.op(Op::Shr, Type::U32, &[cell, two]);
        let first = self.op(Op::Min, Type::U32, &[first, self.places.limit]);
        let field = self.u32(field);
        self.op(Op::Add, Type::U32, &[first, field])
    }
    /// A field of a cell whose layout is known, or of one of which nothing is.
    pub fn field(&mut self, cell: ValueId, field: u32, ty: Type, is_safe: bool) -> ValueId {
        let ty = as_word(ty);
        if self.is_written
            && let Some(value) = self.fields.get(&(cell, field))
        {
            return *value;
        }
        let at = if is_safe { self.field_place(cell, field) } else { self.safe_place(cell, field) };
        self.count += 1;
        if !self.is_written {
            return self.zero;
        }
        let value = self.b.load(ty, self.places.heap, at);
        if self.confined == 0 && is_safe {
            self.fields.insert((cell, field), value);
        }
        value
    }
    /// The header of a cell of which nothing is known.
    pub fn header(&mut self, cell: ValueId) -> ValueId {
        let first = self.safe_place(cell, 0);
        let less = self.u32(u32::MAX);
        let at = self.op(Op::Add, Type::U32, &[first, less]);
        self.count += 1;
        if self.is_written { self.b.load(Type::U32, self.places.heap, at) } else { self.zero }
    }

    /// A cell that is made, perhaps in a hole.
    pub fn make(&mut self, place: Option<Place>, layout: LayoutId, fields: Vec<(Val, Type)>) -> Dev {
        let units = place.map_or(super::units(fields.len()), |(_, units, _)| units);
        self.cells.push(Made { place, layout, units, fields, state: State::Pending });
        Dev::Cell(self.cells.len() - 1)
    }

    /// The word of a cell, which stands in memory then.
    pub fn store(&mut self, made: usize) -> ValueId {
        let cell = match self.cells.get(made) {
            Some(Made { state: State::Stored(word), .. }) => return *word,
            Some(cell) => cell.clone(),
            None => return self.zero,
        };
        let values: Vec<(ValueId, Type)> =
            cell.fields.iter().map(|(v, ty)| (self.value(*v, *ty), as_word(*ty))).collect();
        let (word, old) = match cell.place {
            Some((hole, units, layout)) => (self.value(hole, Type::Term), Some((units, layout))),
            None => self.room(cell.units),
        };
        self.cells[made].state = State::Stored(word);
        let units = old.map_or(cell.units, |(units, _)| units);
        if old != Some((units, cell.layout)) {
            let header = self.u32(cell.layout.index() as u32 | units << SIZE);
            self.write_header(word, header);
        }
        self.write_fields(word, &values);
        word
    }
    fn write_header(&mut self, word: ValueId, header: ValueId) {
        let first = self.field_place(word, 0);
        let less = self.u32(u32::MAX);
        let at = self.op(Op::Add, Type::U32, &[first, less]);
        self.count += 1;
        if self.is_written {
            self.b.store(Type::U32, self.places.heap, at, header);
        }
    }
    fn write_fields(&mut self, word: ValueId, values: &[(ValueId, Type)]) {
        for (i, (value, ty)) in (0..).zip(values) {
            if self.is_written && self.fields.get(&(word, i)) == Some(value) {
                continue;
            }
            let at = self.field_place(word, i);
            self.count += 1;
            if self.is_written {
                self.b.store(*ty, self.places.heap, at, *value);
                self.fields.remove(&(word, i));
                if self.confined == 0 {
                    self.fields.insert((word, i), *value);
                }
            }
        }
    }
    /// All cells that have been made stand in memory, but those that wait for calls.
    pub fn store_all(&mut self) {
        for made in self.own..self.cells.len() {
            if self.cells[made].state == State::Pending && !self.cell_waits(&self.cells[made]) {
                self.store(made);
            }
        }
    }

    /// Memory for a cell: what was given back here, or the instance's share of what the schedule has for all, or what is taken on its own.
    fn room(&mut self, units: u32) -> (ValueId, Option<(u32, LayoutId)>) {
        if self.confined > 0 {
            return (self.take(units), None);
        }
        if let Some(at) = self.spare.iter().position(|(_, size, _)| *size == units) {
            let (word, size, layout) = self.spare.swap_remove(at);
            return (word, Some((size, layout)));
        }
        let first = self.word(Word::Room(units));
        let eight = self.u32(8 * units);
        let offset = self.op(Op::Mul, Type::U32, &[self.places.instance, eight]);
        (self.op(Op::Add, Type::U32, &[first, offset]), None)
    }
    /// Memory for a cell that only some instances need. If there is none, the unit that is no cell's.
    pub fn take(&mut self, units: u32) -> ValueId {
        self.count += 10;
        if !self.is_written {
            return self.zero;
        }
        let control = self.places.control;
        let (at, size) = (self.u32(control::HEAP_TOP), self.u32(units));
        let place = self.op(Op::AtomicAdd, Type::U32, &[control, at, size]);
        let after = self.op(Op::Add, Type::U32, &[place, size]);
        let at = self.u32(control::HEAP_END);
        let end = self.op(Op::AtomicLoad, Type::U32, &[control, at]);
        let fits = self.op(Op::Le, Type::U32, &[after, end]);
        let lacks = self.op(Op::Not, Type::BOOL, &[fits]);
        self.fault_if(lacks, fault::MEMORY);
        let (three, tag, none) = (self.u32(3), self.u32(CELL), self.u32(NULL_HOLE));
        let word = self.op(Op::Shl, Type::U32, &[place, three]);
        let word = self.op(Op::Or, Type::U32, &[word, tag]);
        self.op(Op::Select, Type::U32, &[fits, word, none])
    }
    /// Writes a cell into a hole of which nothing is known, if it is one and large enough.
    pub fn refill(&mut self, hole: ValueId, layout: LayoutId, values: &[(ValueId, Type)]) -> ValueId {
        let needed = super::units(values.len());
        self.count += 12;
        if !self.is_written {
            return self.zero;
        }
        let header = self.header(hole);
        let bits = self.u32(SIZE);
        let size = self.op(Op::Shr, Type::U32, &[header, bits]);
        let none = self.u32(NULL_HOLE);
        let is_one = self.op(Op::Ne, Type::U32, &[hole, none]);
        let least = self.u32(needed);
        let fits = self.op(Op::Ge, Type::U32, &[size, least]);
        let fits = self.op(Op::And, Type::BOOL, &[is_one, fits]);
        let (yes, no) = (self.b.new_region(&[]), self.b.new_region(&[]));
        let outer = std::mem::replace(&mut self.b.region, yes);
        self.b.end(Op::Yield, &[hole, size]);
        self.b.region = no;
        let taken = self.take(needed);
        self.b.end(Op::Yield, &[taken, least]);
        self.b.region = outer;
        let found = self.choice(fits, (yes, no), &[Type::U32; 2]);
        let high = self.op(Op::Shl, Type::U32, &[found[1], bits]);
        let low = self.u32(layout.index() as u32);
        let header = self.op(Op::Or, Type::U32, &[high, low]);
        self.write_header(found[0], header);
        self.write_fields(found[0], values);
        found[0]
    }
}
