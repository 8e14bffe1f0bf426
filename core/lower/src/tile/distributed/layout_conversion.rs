//! Shared memory: *rooms*, pieces of it in which tiles change their layout, and the barriers that separate the uses of a room.
//!
//! Invariant: between two writes to a room by different invocations, or a read and a write, there is a barrier. Rooms with the same number and type
//! are one array, as large as its largest use; rooms with the same number overlap. The room of whole tiles overlaps the stages of copied factors, unless
//! a loop that copies factors needs both.

use super::super::assign_layouts::{Assignment, LayoutId};
use super::super::layout::{bits_of, dimensions};
use super::super::predication::where_it_holds;
use super::{Distributed, Made, Registers, impossible, lanes, placed, stored, vector};
use crate::rewrite::Rewriter;
use girih_base::span::Span;
use girih_ir::attrs::Spaces;
use girih_ir::{Attr, Caps, Feature, MemoryId, Op, Scalar, Shape, Space, Type, ValueId};

/// The rooms that reductions take in turns.
pub(super) const SMALL: [usize; 2] = [0, 1];
/// The room of whole tiles.
pub(super) const LARGE: usize = 2;
/// A second one.
pub(super) const SECOND: usize = 3;
/// Rooms of what is reduced or scanned together. One that nothing uses takes no place.
pub(super) const TOGETHER: [usize; 16] = [LARGE, SECOND, SMALL[0], 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24];
/// The room of single numbers.
const SINGLE: usize = 4;
/// The rooms of factors for the matrix unit, and the one of those that are copied ahead.
pub(super) const FACTORS: [usize; 2] = [5, 6];
const AHEAD: usize = 7;
/// The rooms of factors that stay the same while a loop goes on.
pub(super) const STANDING: [usize; 2] = [8, 9];
/// The rooms in which fragments and their elements become each other, in turns.
pub(super) const FRAGMENTS: [usize; 2] = [10, 11];
const ROOMS: usize = 25;

/// Rooms and what may still be read there.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    arrays: Vec<Array>,
    /// Rooms that somebody may still read.
    read: [bool; ROOMS],
    /// Which of the small rooms is next.
    turn: usize,
    /// Whether a loop that copies factors is being written, and whether one has used the room of whole tiles.
    copying: bool,
    both: bool,
}

/// The elements of one type in a room: as many as its largest use has, and where that stands.
#[derive(Debug)]
struct Array {
    room: usize,
    element: Scalar,
    memory: MemoryId,
    count: u64,
    span: Span,
}

/// A tile in shared memory: where, and how far rows lie apart beyond their length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staged {
    pub handle: ValueId,
    pub element: Scalar,
    /// As a logarithm, after how many elements a gap comes, and how long it is.
    pub gap: Option<(u32, u32)>,
}

impl Rooms {
    /// Control flow comes together or begins: whoever came from elsewhere may read anything.
    pub fn unknown(&mut self) {
        self.read = [true; ROOMS];
    }

    /// All have passed a barrier.
    fn passed(&mut self) {
        self.read = [false; ROOMS];
    }

    /// A loop that copies factors begins or ends.
    pub fn copying(&mut self, begins: bool) {
        self.copying = begins;
    }

    fn array(&mut self, r: &mut Rewriter<'_>, room: usize, element: Scalar, count: u64, unit: bool) -> ValueId {
        self.both |= self.copying && room == LARGE;
        if let Some(known) = self.arrays.iter_mut().find(|a| a.room == room && a.element == element) {
            if count > known.count {
                (known.count, known.span) = (count, r.out.span);
            }
            return r.out.function.memories[known.memory].value;
        }
        let length = r.out.u32(count as u32);
        let handle = r.out.function.memory(None, Space::Shared, Type::Scalar(element), length);
        let id = r.out.function.memories.ids().next_back().unwrap_or(MemoryId::new(0));
        let memory = &mut r.out.function.memories[id];
        // The matrix unit exchanges chunks by their addresses.
        let align = if unit && FACTORS[0] <= room && room <= STANDING[1] { 1024 } else { 16 };
        (memory.group, memory.align) = (room as u32 + 1, align);
        self.arrays.push(Array { room, element, memory: id, count, span: r.out.span });
        handle
    }

    /// Gives the arrays their lengths.
    pub fn settle(&mut self, r: &mut Rewriter<'_>, caps: &Caps) -> Made<()> {
        let overlap = caps.has(Feature::AsyncCopy) && !self.both;
        for array in self.arrays.iter_mut().filter(|array| overlap && array.room == LARGE) {
            array.room = AHEAD;
            r.out.function.memories[array.memory].group = AHEAD as u32 + 1;
        }
        let mut rooms = [0u64; ROOMS];
        let bytes = |array: &Array| array.count * u64::from(bytes_of(caps, array.element));
        for array in &self.arrays {
            let length = r.out.u32(array.count as u32);
            r.out.function.memories[array.memory].length = length;
            rooms[array.room] = rooms[array.room].max(bytes(array));
        }
        let sum: u64 = rooms.iter().map(|bytes| bytes.next_multiple_of(16)).sum();
        if sum > caps.shared_bytes.into() {
            let most = caps.shared_bytes;
            let why =
                format!("tiles would need {sum} bytes of shared memory to change hands, and a workgroup has {most}");
            let largest = self.arrays.iter().max_by_key(|array| bytes(array));
            return Err(placed(impossible(&why), largest.map_or(Span::NONE, |array| array.span)));
        }
        Ok(())
    }
}

impl Distributed<'_> {
    /// A barrier on shared memory and, if asked for, on buffers.
    pub(super) fn barrier(&mut self, r: &mut Rewriter<'_>, global: bool) {
        r.out.op_with(Op::Barrier, None, &[], &[Attr::Spaces(Spaces { global, shared: true })]);
        self.rooms.passed();
    }

    /// Waits until nobody reads a room.
    fn vacate(&mut self, r: &mut Rewriter<'_>, room: usize) {
        if self.rooms.read[room] {
            self.barrier(r, false);
        }
    }

    /// The stages of a loop that copies factors, which begins.
    pub(super) fn stages(&mut self, r: &mut Rewriter<'_>, element: Scalar, count: u64) -> ValueId {
        // Both may be in the same place.
        self.vacate(r, LARGE);
        let handle = self.room(r, AHEAD, element, count);
        self.rooms.copying(true);
        handle
    }

    /// A room for so many elements, which somebody is going to write.
    pub(super) fn room(&mut self, r: &mut Rewriter<'_>, room: usize, element: Scalar, count: u64) -> ValueId {
        self.vacate(r, room);
        let unit = self.caps.has(Feature::Wgmma);
        self.rooms.array(r, room, stored(element), count, unit)
    }

    /// One of the small rooms, in turns.
    pub(super) fn small_room(&mut self, r: &mut Rewriter<'_>, element: Scalar, count: u64) -> (usize, ValueId) {
        let free = SMALL.into_iter().find(|room| !self.rooms.read[*room]);
        let room = free.unwrap_or(SMALL[self.rooms.turn]);
        self.rooms.turn = 1 - self.rooms.turn;
        (room, self.room(r, room, element, count))
    }

    /// What was written is there for all; the room is read from now on.
    pub(super) fn written(&mut self, r: &mut Rewriter<'_>, rooms: &[usize]) {
        self.barrier(r, false);
        rooms.iter().for_each(|room| self.rooms.read[*room] = true);
    }

    pub(super) fn put(&mut self, r: &mut Rewriter<'_>, handle: ValueId, element: Scalar, at: ValueId, value: ValueId) {
        let value = if element == Scalar::Bool { r.out.op(Op::Convert, Scalar::U32, &[value]) } else { value };
        r.out.store(stored(element), handle, at, value);
    }

    pub(super) fn fetch(&mut self, r: &mut Rewriter<'_>, handle: ValueId, element: Scalar, at: ValueId) -> ValueId {
        let value = r.out.load(stored(element), handle, at);
        if element == Scalar::Bool { r.out.op(Op::Convert, Scalar::Bool, &[value]) } else { value }
    }

    /// A number that every invocation has, as one that is known to be the same in all.
    pub(super) fn uniform(&mut self, r: &mut Rewriter<'_>, value: ValueId, element: Scalar) -> ValueId {
        let handle = self.room(r, SINGLE, element, 1);
        let (zero, own) = (r.out.u32(0), self.own);
        let first = r.out.op(Op::Eq, Scalar::U32, &[own, zero]);
        where_it_holds(r, Some(first), |r| self.put(r, handle, element, zero, value));
        let value = r.out.op(Op::UniformLoad, stored(element), &[handle, zero]);
        self.rooms.passed();
        if element == Scalar::Bool { r.out.op(Op::Convert, Scalar::Bool, &[value]) } else { value }
    }

    /// Whether this invocation is the one of those that hold the same which stands for them; none if all hold their own.
    pub(super) fn owner(&mut self, r: &mut Rewriter<'_>, layout: LayoutId) -> Option<ValueId> {
        let free = self.plan.layouts[layout].free();
        self.is_zero(r, free)
    }

    /// Whether these bits of the invocation's number are all zero; none if there are none.
    pub(super) fn is_zero(&mut self, r: &mut Rewriter<'_>, bits: u32) -> Option<ValueId> {
        if bits == 0 {
            return None;
        }
        let (mask, zero) = (r.out.u32(bits), r.out.u32(0));
        let own = if bits == self.threads - 1 { self.own } else { r.out.op(Op::And, Scalar::U32, &[self.own, mask]) };
        Some(r.out.op(Op::Eq, Scalar::U32, &[own, zero]))
    }

    /// The gap that keeps rows of a matrix from the same banks.
    fn gap(&self, shape: Option<Shape>, element: Scalar) -> Option<(u32, u32)> {
        let dimensions = dimensions(shape);
        let (_, row) = *dimensions.last().filter(|_| dimensions.len() > 1)?;
        let bytes = stored(element).bytes();
        (bytes << row >= 32).then_some((row.into(), 16 / bytes))
    }

    /// The place of an element whose number is the sum of two that have no bit in common.
    fn place(&mut self, r: &mut Rewriter<'_>, to: Staged, base: ValueId) -> ValueId {
        let Some((row, gap)) = to.gap else { return base };
        let (row, gap) = (r.out.u32(row), r.out.u32(gap));
        let above = r.out.op(Op::Shr, Scalar::U32, &[base, row]);
        let gaps = r.out.op(Op::Mul, Scalar::U32, &[above, gap]);
        r.out.op(Op::Add, Scalar::U32, &[base, gaps])
    }

    /// Puts a tile of a layout into a room; a barrier has to follow.
    pub(super) fn stage(
        &mut self,
        r: &mut Rewriter<'_>,
        (room, padded): (usize, bool),
        registers: &Registers,
        layout: LayoutId,
        element: Scalar,
        shape: Option<Shape>,
    ) -> Staged {
        let count = 1u64 << bits_of(shape);
        let gap = if padded { self.gap(shape, element) } else { None };
        let gaps = gap.map_or(0, |(row, gap)| (count >> row) * u64::from(gap));
        let handle = self.room(r, room, element, count + gaps);
        let staged = Staged { handle, element, gap };
        let owner = self.owner(r, layout);
        let base = self.bases[layout];
        let registers = registers.clone();
        where_it_holds(r, owner, |r| {
            let base = self.place(r, staged, base);
            for (first, list) in self.groups(layout, element) {
                let values: Vec<ValueId> = list.iter().map(|register| registers[*register]).collect();
                let values: Vec<ValueId> = values
                    .into_iter()
                    .map(|v| if element == Scalar::Bool { r.out.op(Op::Convert, Scalar::U32, &[v]) } else { v })
                    .collect();
                let (ty, value) = vector(r, stored(element), &values);
                let (index, offset) = self.at(r, staged, base, first, list.len());
                r.out.op_with(Op::Store, Some(ty), &[staged.handle, index, value], &beside(offset));
            }
        });
        staged
    }

    /// The index of a vector of elements, the first of which has this number beyond the base's, and the constant beside it.
    fn at(&mut self, r: &mut Rewriter<'_>, staged: Staged, base: ValueId, first: u32, lanes: usize) -> (ValueId, i32) {
        let log = (lanes as u32).trailing_zeros();
        let constant = first + staged.gap.map_or(0, |(row, gap)| (first >> row) * gap);
        let index = if log == 0 {
            base
        } else {
            let log = r.out.u32(log);
            r.out.op(Op::Shr, Scalar::U32, &[base, log])
        };
        (index, (constant >> log) as i32)
    }

    /// The registers of a layout as vectors of neighbours: the number of the first one's element, and which registers they are.
    fn groups(&self, layout: LayoutId, element: Scalar) -> Vec<(u32, Vec<usize>)> {
        let layout = &self.plan.layouts[layout];
        let most = (16 / stored(element).bytes()).trailing_zeros() as u8;
        let most = if self.caps.local_views { most } else { most.min(2) };
        let width = layout.run(0).min(most);
        let vector: Vec<usize> = (0..width).filter_map(|bit| layout.part_bit(bit)).collect();
        let inside: usize = vector.iter().map(|bit| 1 << bit).sum();
        let mut groups = vec![];
        for register in (0..layout.count()).filter(|register| register & inside == 0) {
            let lane =
                |i: usize| register + vector.iter().enumerate().map(|(k, bit)| (i >> k & 1) << bit).sum::<usize>();
            groups.push((layout.element(register), (0..1 << width).map(lane).collect()));
        }
        groups
    }

    /// The registers of a staged tile in a layout.
    pub(super) fn unstage(&mut self, r: &mut Rewriter<'_>, staged: Staged, layout: LayoutId) -> Registers {
        let base = self.bases[layout];
        let base = self.place(r, staged, base);
        let element = staged.element;
        let mut registers = vec![ValueId::new(0); self.plan.layouts[layout].count()];
        for (first, list) in self.groups(layout, element) {
            let (index, offset) = self.at(r, staged, base, first, list.len());
            let ty = if list.len() == 1 {
                Type::Scalar(stored(element))
            } else {
                Type::Vector(stored(element), list.len() as u8)
            };
            let id = r.out.op_with(Op::Load, Some(ty), &[staged.handle, index], &beside(offset));
            let value = r.out.function.insts[id].results[0];
            for (register, value) in list.iter().zip(lanes(r, stored(element), value, list.len())) {
                let value = if element == Scalar::Bool { r.out.op(Op::Convert, Scalar::Bool, &[value]) } else { value };
                registers[*register] = value;
            }
        }
        registers.into()
    }

    /// A tile in another layout.
    pub(super) fn exchanged(
        &mut self,
        r: &mut Rewriter<'_>,
        registers: &Registers,
        (from, to): (LayoutId, LayoutId),
        element: Scalar,
        shape: Option<Shape>,
    ) -> Made<Registers> {
        if from == to {
            return Ok(registers.clone());
        }
        if self.plan.shown(from) == to {
            return self.elements_of(r, registers, from, element);
        }
        if self.plan.shown(to) == from {
            return self.fragments_of(r, registers, to, element);
        }
        if let Some(&shown) = self.plan.shown.get(&from) {
            let elements = self.elements_of(r, registers, from, element)?;
            return self.exchanged(r, &elements, (shown, to), element, shape);
        }
        if let Some(&shown) = self.plan.shown.get(&to) {
            let elements = self.exchanged(r, registers, (from, shown), element, shape)?;
            return self.fragments_of(r, &elements, to, element);
        }
        if let Some(moved) = reordered(self.plan, registers, from, to) {
            return Ok(moved);
        }
        let staged = self.stage(r, (LARGE, true), registers, from, element, shape);
        self.written(r, &[LARGE]);
        Ok(self.unstage(r, staged, to))
    }

    /// The lane of the subgroup.
    pub(super) fn lane_bit(&mut self, r: &mut Rewriter<'_>, bit: u8) -> ValueId {
        let (mask, zero) = (r.out.u32(1 << bit), r.out.u32(0));
        let own = r.out.op(Op::And, Scalar::U32, &[self.own, mask]);
        r.out.op(Op::Ne, Scalar::U32, &[own, zero])
    }
}

/// Bytes of an element in shared memory: what the device cannot store alone stands in a word.
pub(super) fn bytes_of(caps: &Caps, element: Scalar) -> u32 {
    if caps.local_storage.has(element) { element.bytes() } else { element.bytes().max(4) }
}

/// The constant beside an index.
pub(super) fn beside(offset: i32) -> Vec<Attr> {
    if offset == 0 { vec![] } else { vec![Attr::Offset(offset)] }
}

/// The registers in another order, if each invocation has what it needs.
fn reordered(plan: &Assignment, registers: &Registers, from: LayoutId, to: LayoutId) -> Option<Registers> {
    let (from, to) = (&plan.layouts[from], &plan.layouts[to]);
    // An invocation that holds more than it needs picks some; bits that it does not have must not be asked for.
    let same = from.threads.iter().zip(&to.threads).all(|(a, b)| a == b);
    if !same || from.registers.len() != to.registers.len() {
        return None;
    }
    let places: Vec<usize> = to.registers.iter().map(|bit| from.part_bit(*bit)).collect::<Option<_>>()?;
    let source = |register: usize| places.iter().enumerate().map(|(i, bit)| (register >> i & 1) << bit).sum::<usize>();
    Some((0..to.count()).map(|register| registers[source(register)]).collect())
}
