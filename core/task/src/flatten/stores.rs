//! Cells in memory: a header (the layout, and the size in units of 8 bytes above bit 16) and the fields, a word each.
//!
//! Words are written as late as they can be, and only where something else stands.

use super::code::{Code, Content, Dev, Made, Place, State, Val, Word};
use super::known::Known;
use super::memory::{control, fault};
use super::place::{Address, Stand};
use crate::heap::cells::units;
use crate::word::as_word;
use girih_ir::heap::{CELL, LayoutId, NO_REUSE_TOKEN};
use girih_ir::{Op, Type, ValueId};

/// Where a cell's size stands in its header.
pub(super) const SIZE: u32 = 16;

impl Code {
    // Cells. A word of tag CELL or SHARED, shifted right by 2, is the index of the cell's first field.

    /// The index of a cell's first field, by its word.
    pub fn index(&mut self, word: ValueId) -> ValueId {
        let two = self.u32(2);
        self.op(Op::Shr, Type::U32, &[word, two])
    }
    /// The same for a cell of which nothing is known: within the heap, whatever the word says.
    pub fn safe_index(&mut self, word: ValueId) -> ValueId {
        let index = self.index(word);
        self.op(Op::Min, Type::U32, &[index, self.places.limit])
    }
    /// The index of a field.
    fn field_place(&mut self, index: ValueId, field: u32) -> ValueId {
        if field == 0 {
            return index;
        }
        let field = self.u32(field);
        self.op(Op::Add, Type::U32, &[index, field])
    }
    /// A field of a cell, which may be changed by nobody else if its layout is known.
    pub fn field(&mut self, index: ValueId, field: u32, ty: Type, is_known: bool) -> ValueId {
        let ty = as_word(ty);
        if self.is_written
            && let Some(value) = self.fields.get(&(index, field))
        {
            return *value;
        }
        if !self.is_written {
            self.count += 1;
            return self.zero;
        }
        // What stood in memory before the segment began may be read before anything is written.
        let is_old = is_known && self.written.as_ref().is_some_and(|written| !written.contains(&index));
        if is_old && self.confined == 0 && self.heads.contains(&index) {
            let value = self.at_head(|code| code.load_field(index, field, ty));
            self.heads.insert(value);
            self.fields.insert((index, field), value);
            return value;
        }
        let value = self.load_field(index, field, ty);
        if self.confined == 0 && is_known {
            self.fields.insert((index, field), value);
        }
        value
    }
    fn load_field(&mut self, index: ValueId, field: u32, ty: Type) -> ValueId {
        let at = self.field_place(index, field);
        self.count += 1;
        self.b.load(ty, self.places.heap, at)
    }
    /// What is read from now on may be what has been written now.
    fn writes(&mut self, index: ValueId) {
        match &mut self.written {
            Some(written) if self.confined == 0 => {
                written.insert(index);
            }
            _unknown => self.written = None,
        }
    }
    /// The header of a cell.
    pub fn header(&mut self, index: ValueId) -> ValueId {
        let at = self.header_place(index);
        self.count += 1;
        if self.is_written { self.b.load(Type::U32, self.places.heap, at) } else { self.zero }
    }
    fn header_place(&mut self, index: ValueId) -> ValueId {
        let less = self.u32(u32::MAX);
        self.op(Op::Add, Type::U32, &[index, less])
    }

    /// A cell that is made, perhaps in a hole, in which this stands.
    pub fn make(
        &mut self,
        place: Option<Place>,
        layout: LayoutId,
        fields: Vec<(Val, Type)>,
        before: Vec<Content>,
    ) -> Dev {
        let units = place.map_or(units(fields.len()), |(_, units, _)| units);
        self.cells.push(Made { place, layout, units, fields, state: State::Pending, before, row: None });
        Dev::Cell(self.cells.len() - 1)
    }

    /// The word of a cell, which stands in memory then.
    pub fn stored_word(&mut self, made: usize) -> ValueId {
        match self.store(made) {
            Dev::Placed(address) => self.placed_word(address),
            Dev::Here(word) => word,
            _gone => self.zero,
        }
    }
    /// Where a cell is, which stands in memory then.
    pub fn store(&mut self, made: usize) -> Dev {
        let cell = match self.cells.get(made) {
            Some(Made { state: State::Stored(home), .. }) => return *home,
            Some(cell) => cell.clone(),
            None => return Dev::Here(self.zero),
        };
        // What it names stands in memory before it.
        for (field, _) in &cell.fields {
            if let Dev::Cell(named) = self.found(*field).dev {
                self.store(named);
            }
        }
        let changed: Vec<Option<(ValueId, Type)>> = (0..)
            .zip(&cell.fields)
            .map(|(i, (val, ty))| {
                (!self.stands(*val, cell.before.get(i))).then(|| (self.value(*val, *ty), as_word(*ty)))
            })
            .collect();
        let (home, old) = match cell.place {
            Some((hole, units, layout)) => (self.home(hole), Some((units, layout))),
            None => self.room(made, cell.units),
        };
        self.cells[made].state = State::Stored(home);
        let units = old.map_or(cell.units, |(units, _)| units);
        let is_same = old == Some((units, cell.layout));
        if is_same && changed.iter().all(Option::is_none) {
            return home;
        }
        let index = self.reach(Val { known: Known::Unknown, dev: home });
        if !is_same {
            let header = self.u32(cell.layout.index() as u32 | units << SIZE);
            self.write_header(index, header);
        }
        self.write_fields(index, &changed);
        home
    }
    /// Where a hole is.
    fn home(&mut self, hole: Val) -> Dev {
        match self.found(hole).dev {
            Dev::Placed(address) => Dev::Placed(address),
            _word => Dev::Here(self.value(hole, Type::Term)),
        }
    }
    /// Whether memory holds a value already.
    fn stands(&self, val: Val, before: Option<&Content>) -> bool {
        let val = self.found(val);
        let dev = match val.dev {
            Dev::Cell(made) => match self.cells.get(made) {
                Some(Made { state: State::Stored(home), .. }) => *home,
                Some(_) | None => return false,
            },
            other => other,
        };
        match (before, dev, val.known) {
            (Some(Content::Word(before)), Dev::Placed(address), _) => address == *before,
            (Some(Content::Bits(before)), _, Known::Word(bits)) => bits == *before,
            _differ => false,
        }
    }
    fn write_header(&mut self, index: ValueId, header: ValueId) {
        self.writes(index);
        let at = self.header_place(index);
        self.count += 1;
        if self.is_written {
            self.b.store(Type::U32, self.places.heap, at, header);
        }
    }
    /// Writes those fields that change.
    fn write_fields(&mut self, index: ValueId, values: &[Option<(ValueId, Type)>]) {
        for (i, value) in (0..).zip(values) {
            let Some((value, ty)) = value else { continue };
            if self.is_written && self.fields.get(&(index, i)) == Some(value) {
                continue;
            }
            self.writes(index);
            let at = self.field_place(index, i);
            self.count += 1;
            if self.is_written {
                self.b.store(*ty, self.places.heap, at, *value);
                self.fields.remove(&(index, i));
                if self.confined == 0 {
                    self.fields.insert((index, i), *value);
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

    /// Memory for a cell: what was given back here, or the instance's share of what there is for all, or what is taken on its own.
    fn room(&mut self, made: usize, units: u32) -> (Dev, Option<(u32, LayoutId)>) {
        if self.confined > 0 {
            return (Dev::Here(self.take(units)), None);
        }
        if let Some(at) = self.spare.iter().position(|(_, size, _)| *size == units) {
            let place = self.spare.swap_remove(at);
            self.cells[made].place = Some(place);
            return (self.home(place.0), Some((place.1, place.2)));
        }
        match (&self.rooms, self.is_written) {
            (Some(rooms), true) => {
                let first = rooms.get() as u32;
                rooms.set(rooms.get() + (u64::from(units) << self.level));
                self.cells[made].row = Some(first);
                let Stand { base, .. } = Stand::row(first, units, self.level);
                let mut terms = Address::NONE;
                if self.level > 0 {
                    terms[0] = (0, 2 * units);
                }
                (Dev::Placed(Address { base, terms, shared: false }), None)
            }
            (_, _) => {
                let first = self.word(Word::Room(units));
                let eight = self.u32(8 * units);
                let offset = self.op(Op::Mul, Type::U32, &[self.places.instance, eight]);
                (Dev::Here(self.op(Op::Add, Type::U32, &[first, offset])), None)
            }
        }
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
        let (three, tag, none) = (self.u32(3), self.u32(CELL), self.u32(NO_REUSE_TOKEN));
        let word = self.op(Op::Shl, Type::U32, &[place, three]);
        let word = self.op(Op::Or, Type::U32, &[word, tag]);
        self.op(Op::Select, Type::U32, &[fits, word, none])
    }
    /// Writes a cell into a hole of which nothing is known, if it is one and large enough.
    pub fn refill(&mut self, hole: ValueId, layout: LayoutId, values: &[(ValueId, Type)]) -> ValueId {
        let needed = units(values.len());
        self.count += 12;
        if !self.is_written {
            return self.zero;
        }
        let index = self.safe_index(hole);
        let header = self.header(index);
        let bits = self.u32(SIZE);
        let size = self.op(Op::Shr, Type::U32, &[header, bits]);
        let none = self.u32(NO_REUSE_TOKEN);
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
        let index = self.index(found[0]);
        self.written = None;
        self.write_header(index, header);
        let values: Vec<Option<(ValueId, Type)>> = values.iter().copied().map(Some).collect();
        self.write_fields(index, &values);
        found[0]
    }
}
