//! Statements that put elements together: reductions, scans and products of matrices.

use super::{TileWriter, small};
use girih_ir::attrs::Precision;
use girih_ir::kernel::{Block, Product};
use girih_ir::{Op, Scalar, Shape};

impl<'a> TileWriter<'a> {
    /// A reduction along an axis, by an operation or by one that keeps the order of elements.
    fn reduced(&mut self, axis: usize, shape: Shape) -> Block<'a> {
        match self.choices.pick(5) {
            0 => small(self.tile(Scalar::F32, shape)).sum(axis),
            1 => {
                let value = self.tile(Scalar::F32, shape);
                let op = self.choices.one_of(&[Op::Max, Op::Min]);
                value.reduce(axis, |a, b| Block::apply(op, &[a, b]))
            }
            2 => {
                let maps = self.maps(shape);
                let found = self.k.reduce(axis, &maps, after);
                self.keep(found[0]);
                found[1]
            }
            3 => {
                // The largest, and where it stands first.
                let operands = [self.tile(Scalar::I32, shape), self.numbers(shape)];
                let found = self.k.reduce(axis, &operands, |a, b| {
                    let first = a[0].gt(b[0]) | (a[0].eq(b[0]) & a[1].lt(b[1]));
                    vec![first.select(a[0], b[0]), first.select(a[1], b[1])]
                });
                self.keep(found[0]);
                found[1]
            }
            _integers => {
                let value = self.tile(Scalar::I32, shape);
                let op = self.choices.one_of(&[Op::Add, Op::Xor, Op::Max, Op::Min, Op::And, Op::Or]);
                value.reduce(axis, |a, b| Block::apply(op, &[a, b]))
            }
        }
    }

    /// Maps x -> a x + b: the factors, and what is added.
    fn maps(&mut self, shape: Shape) -> [Block<'a>; 2] {
        [self.tile(Scalar::U32, shape), self.tile(Scalar::U32, shape)]
    }

    pub(super) fn reduce(&mut self) {
        let shape = self.some_shape();
        let axis = self.choices.pick(shape.rank());
        let value = self.reduced(axis, shape);
        self.keep(value);
    }

    /// What a reduction gives, for each element again.
    pub(super) fn spread_back(&mut self) {
        let shape = self.some_shape();
        let axis = self.choices.pick(shape.rank());
        let value = self.reduced(axis, shape);
        let line = if value.shape().is_some() { value.expand(axis) } else { value };
        self.keep(line.broadcast_to(&shape.to_vec()));
    }

    pub(super) fn scan(&mut self) {
        let shape = self.some_shape();
        let axis = self.choices.pick(shape.rank());
        let reverse = self.choices.pick(2) == 1;
        let value = match self.choices.pick(3) {
            0 => self.tile(Scalar::I32, shape).scan(axis, reverse, |a, b| a + b),
            1 => {
                let maps = self.maps(shape);
                let found = self.k.scan(axis, reverse, &maps, after);
                self.keep(found[0]);
                found[1]
            }
            _floats => self.tile(Scalar::F32, shape).scan(axis, reverse, |a, b| a.max(b)),
        };
        self.keep(value);
    }

    /// A matrix product of small numbers.
    pub(super) fn dot(&mut self) {
        let [m, n, k] = [(); 3].map(|()| self.choices.one_of(&[16, 32]));
        let kind = self.choices.pick(4);
        let turned = self.choices.pick(2) == 1;
        let (factor, sum) = match kind {
            0 => (Scalar::F16, Scalar::F32),
            1 => (Scalar::F32, Scalar::F32),
            2 => (Scalar::Bf16, Scalar::F32),
            _bytes => (Scalar::I8, Scalar::I32),
        };
        let left = self.small_matrix(sum, [m, k]).to(factor);
        let right = self.small_matrix(sum, if turned { [n, k] } else { [k, n] }).to(factor);
        let right = if turned { right.transpose() } else { right };
        let summand = self.small_matrix(sum, [m, n]);
        let precision = (kind == 1).then_some(Precision::Tf32);
        self.keep(left.dot(right, Some(summand), Product { sum, precision }));
    }

    /// A matrix whose products are exact: of integers, or of small floats.
    fn small_matrix(&mut self, scalar: Scalar, lengths: [u64; 2]) -> Block<'a> {
        let matrix = self.tile(scalar, Shape::of(&lengths).expect("powers of two"));
        if scalar.is_float() { small(matrix) } else { matrix }
    }
}

/// Maps x -> a x + b, one after the other: their order matters.
fn after<'a>(first: &[Block<'a>], second: &[Block<'a>]) -> Vec<Block<'a>> {
    vec![first[0] * second[0], first[1] * second[0] + second[1]]
}
