//! Loads, stores and counters of random programs. Invariant: every access that is not masked off is inside of its buffer, and no two programs
//! store to one place.

use super::{COUNTERS, INPUT, ROOM, SITES, STORES, TileWriter};
use girih_ir::Scalar;
use girih_ir::attrs::Update;
use girih_ir::kernel::{Block, Mask};

impl<'a> TileWriter<'a> {
    pub(super) fn site(&mut self) -> bool {
        self.sites += 1;
        self.sites <= SITES
    }

    /// Loads neighbours from some place on, or elements at computed places; those outside, and some more, are masked off.
    pub(super) fn load(&mut self) {
        if !self.site() {
            return;
        }
        let shape = self.some_shape();
        let input = self.choices.one_of(&self.buffers.inputs);
        let index = match self.choices.pick(4) {
            3 => self.tile(Scalar::I32, shape),
            2 => self.numbers(shape) + self.number(Scalar::I32),
            _from_the_beginning => self.numbers(shape) + 0,
        };
        let inside = index.ge(0) & index.lt(INPUT);
        let inside = match self.choices.pick(4) {
            1 => inside & index.lt(self.number(Scalar::I32)),
            2 => inside & self.tile(Scalar::Bool, shape),
            _all => inside,
        };
        let element = input.element();
        let other = if self.choices.pick(2) == 0 { self.constant(element) } else { self.tile(element, shape) };
        self.keep(input.load_or(index, inside, other));
    }

    /// Stores to places of its own, in order or in another one.
    pub(super) fn store(&mut self) {
        let shape = self.some_shape();
        let which = self.choices.pick(self.buffers.outputs.len());
        let element = self.buffers.outputs[which].element();
        let value = self.tile(if element == Scalar::I8 { Scalar::I32 } else { element }, shape);
        self.store_value(which, value);
    }

    pub(super) fn store_value(&mut self, which: usize, value: Block<'a>) {
        let Some(shape) = value.shape() else { return };
        let output = self.buffers.outputs[which];
        // Within a loop the last turn's values stay, and it is the same for all.
        if self.stores[which] == STORES || shape.elements() > ROOM || !self.site() {
            return;
        }
        let value = value.to(output.element());
        let first = self.stores[which] * ROOM;
        self.stores[which] += 1;
        let mut place = self.numbers(shape);
        if self.choices.pick(3) == 2 {
            // An odd factor leaves no place out.
            let factor = 2 * self.choices.pick(8) as u64 + 3;
            place = (place * factor) & (shape.elements() - 1);
        }
        let index = self.program * (STORES * ROOM) + first + place;
        let inside = match self.choices.pick(3) {
            0 => Mask::ALL,
            1 => self.numbers(shape).lt(self.number(Scalar::I32)).into(),
            _some => self.tile(Scalar::Bool, shape).into(),
        };
        output.store(index, value, inside);
    }

    /// Adds to counters; what they were is not looked at, because the order is free.
    pub(super) fn count(&mut self) {
        if !self.site() {
            return;
        }
        let shape = self.some_shape();
        let (value, index) = (self.tile(Scalar::I32, shape), self.tile(Scalar::I32, shape));
        let index = index & (COUNTERS - 1);
        let inside = self.tile(Scalar::Bool, shape);
        self.buffers.counters.update(Update::Add, index, value, inside);
    }
}
