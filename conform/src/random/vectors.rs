//! Vectors of random kernels: made of values or read at once, computed with, and taken apart again.

use super::WORDS;
use super::writer::KernelWriter;
use girih_ir::{Op, Scalar, Type, ValueId};

impl KernelWriter<'_> {
    /// An element of a vector that was computed.
    pub(super) fn vector(&mut self) {
        let scalar =
            self.choices.one_of(&[Scalar::U32, Scalar::F32, Scalar::I32, Scalar::U32, Scalar::F16, Scalar::U64]);
        let lanes = if scalar.bits() == 64 { 2 } else { self.choices.one_of(&[2, 4]) };
        let ty = Type::Vector(scalar, lanes);
        let whole = scalar == Scalar::U32 && self.choices.pick(2) == 1;
        let a = if whole && self.site() { self.read_at_once(lanes) } else { self.gathered(scalar, lanes) };
        let b = if self.choices.pick(2) == 0 {
            let value = self.value(scalar);
            self.b.op(Op::Splat, ty, &[value])
        } else {
            self.gathered(scalar, lanes)
        };
        let op = if scalar.is_float() {
            self.choices.one_of(&[Op::Add, Op::Mul, Op::Max])
        } else {
            self.choices.one_of(&[Op::Add, Op::Mul, Op::Max, Op::Xor, Op::Shr])
        };
        let vector = self.b.op(op, ty, &[a, b]);
        let position = if self.choices.pick(2) == 0 {
            let lane = self.choices.pick(usize::from(lanes)) as u32;
            self.b.u32(lane)
        } else {
            self.masked(u32::from(lanes) - 1)
        };
        let element = self.b.op(Op::Extract, scalar, &[vector, position]);
        self.keep(element);
    }

    fn gathered(&mut self, scalar: Scalar, lanes: u8) -> ValueId {
        let parts: Vec<ValueId> = (0..lanes).map(|_| self.value(scalar)).collect();
        self.b.op(Op::Vector, Type::Vector(scalar, lanes), &parts)
    }

    fn read_at_once(&mut self, lanes: u8) -> ValueId {
        let index = self.masked(WORDS / u32::from(lanes) - 1);
        self.b.load(Type::Vector(Scalar::U32, lanes), self.memories.input, index)
    }
}
