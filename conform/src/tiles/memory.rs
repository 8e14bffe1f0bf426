//! Loads, stores and counters of random programs. Invariant: every access that is not masked off is inside of its buffer, and no two programs
//! store to one place.

use super::{COUNTERS, INPUT, ROOM, SITES, STORES, TileWriter};
use girih_ir::attrs::{Attr, Update};
use girih_ir::{Op, Scalar, Shape, Type, ValueId};

impl TileWriter<'_> {
    pub(super) fn site(&mut self) -> bool {
        self.sites += 1;
        self.sites <= SITES
    }

    /// Where `index` is inside of an input.
    pub(super) fn inside(&mut self, index: ValueId, shape: Shape) -> ValueId {
        let (zero, end) = (self.splat(Scalar::I32, 0, shape), self.splat(Scalar::I32, INPUT as i64, shape));
        let ty = self.b.ty(index);
        let (above, below) = (self.b.op(Op::Ge, ty, &[index, zero]), self.b.op(Op::Lt, ty, &[index, end]));
        self.b.op(Op::And, Type::tile(shape, Scalar::Bool), &[above, below])
    }

    /// Loads neighbours from some place on, or elements at computed places; those outside, and some more, are masked off.
    pub(super) fn load(&mut self) {
        if !self.site() {
            return;
        }
        let shape = self.some_shape();
        let (buffer, scalar) = self.choices.one_of(&self.buffers.inputs);
        let ty = Type::tile(shape, Scalar::I32);
        let index = match self.choices.pick(4) {
            3 => self.tile(Scalar::I32, shape),
            way => {
                let numbers = self.numbers(shape);
                let first = if way == 2 { self.number(Scalar::I32) } else { self.b.constant(Scalar::I32, 0) };
                let first = self.b.op(Op::TileSplat, ty, &[first]);
                self.b.op(Op::Add, ty, &[numbers, first])
            }
        };
        let mut inside = self.inside(index, shape);
        let bools = Type::tile(shape, Scalar::Bool);
        match self.choices.pick(4) {
            1 => {
                let end = self.number(Scalar::I32);
                let end = self.b.op(Op::TileSplat, ty, &[end]);
                let below = self.b.op(Op::Lt, ty, &[index, end]);
                inside = self.b.op(Op::And, bools, &[inside, below]);
            }
            2 => {
                let more = self.tile(Scalar::Bool, shape);
                inside = self.b.op(Op::And, bools, &[inside, more]);
            }
            _all => {}
        }
        let other = if self.choices.pick(2) == 0 { self.constant(scalar) } else { self.tile(scalar, shape) };
        let value = self.b.op(Op::TileLoad, Type::tile(shape, scalar), &[buffer, index, inside, other]);
        self.keep(value);
    }

    /// Stores to places of its own, in order or in another one.
    pub(super) fn store(&mut self) {
        let shape = self.some_shape();
        let which = self.choices.pick(self.buffers.outputs.len());
        let (_, scalar) = self.buffers.outputs[which];
        let value = self.tile(if scalar == Scalar::I8 { Scalar::I32 } else { scalar }, shape);
        self.store_value(which, value);
    }

    pub(super) fn store_value(&mut self, which: usize, value: ValueId) {
        let Some(shape) = self.shape(value) else { return };
        let (buffer, scalar) = self.buffers.outputs[which];
        // Within a loop the last turn's values stay, and it is the same for all.
        if self.stores[which] == STORES || shape.elements() > ROOM || !self.site() {
            return;
        }
        let value = self.converted(value, scalar);
        let first = self.stores[which] * ROOM;
        self.stores[which] += 1;
        let ty = Type::tile(shape, Scalar::I32);
        let mut index = self.numbers(shape);
        if self.choices.pick(3) == 2 {
            // An odd factor leaves no place out.
            let factor = 2 * self.choices.pick(8) as i64 + 3;
            let factor = self.splat(Scalar::I32, factor, shape);
            let most = self.splat(Scalar::I32, shape.elements() as i64 - 1, shape);
            index = self.b.op(Op::Mul, ty, &[index, factor]);
            index = self.b.op(Op::And, ty, &[index, most]);
        }
        let stride = self.b.constant(Scalar::I32, STORES * ROOM);
        let own = self.b.op(Op::Mul, Scalar::I32, &[self.program, stride]);
        let first = self.b.constant(Scalar::I32, first);
        let own = self.b.op(Op::Add, Scalar::I32, &[own, first]);
        let own = self.b.op(Op::TileSplat, ty, &[own]);
        let index = self.b.op(Op::Add, ty, &[own, index]);
        let inside = match self.choices.pick(3) {
            0 => self.b.bool(true),
            1 => {
                let numbers = self.numbers(shape);
                let end = self.number(Scalar::I32);
                let end = self.b.op(Op::TileSplat, ty, &[end]);
                self.b.op(Op::Lt, ty, &[numbers, end])
            }
            _some => self.tile(Scalar::Bool, shape),
        };
        self.b.op_with(Op::TileStore, Some(Type::tile(shape, scalar)), &[buffer, index, value, inside], &[]);
    }

    /// Adds to counters; what they were is not looked at, because the order is free.
    pub(super) fn count(&mut self) {
        if !self.site() {
            return;
        }
        let shape = self.some_shape();
        let (value, index) = (self.tile(Scalar::I32, shape), self.tile(Scalar::I32, shape));
        let most = self.splat(Scalar::I32, COUNTERS as i64 - 1, shape);
        let index = self.b.op(Op::And, Type::tile(shape, Scalar::I32), &[index, most]);
        let inside = self.tile(Scalar::Bool, shape);
        let ty = Type::tile(shape, Scalar::I32);
        let operands = [self.buffers.counters, index, value, inside];
        self.b.op_with(Op::TileAtomic, Some(ty), &operands, &[Attr::Update(Update::Add)]);
    }
}
