//! Loops and branches of random programs.

use super::{SIZE, TYPES, TileWriter};
use girih_ir::Scalar;
use girih_ir::kernel::Block;

impl<'a> TileWriter<'a> {
    /// Values of the types that a construct gives.
    fn carried(&mut self) -> Vec<Block<'a>> {
        let count = 1 + self.choices.pick(3);
        let mut found = vec![];
        for _ in 0..count {
            let value = match self.choices.pick(4) {
                0 => self.number(Scalar::I32),
                _tile => {
                    let (shape, scalar) = (self.some_shape(), self.choices.one_of(TYPES));
                    self.tile(scalar, shape)
                }
            };
            found.push(value);
        }
        found
    }

    /// A value of another one's type.
    fn like(&mut self, other: Block<'a>) -> Block<'a> {
        match other.shape() {
            Some(shape) => self.tile(other.element(), shape),
            None => self.number(other.element()),
        }
    }

    /// A region that sees its parameters, of a few statements, and values of the types of others that it gives. What it defines is not visible afterwards.
    fn inner(&mut self, params: &[Block<'a>], gives: &[Block<'a>]) -> Vec<Block<'a>> {
        let visible = self.visible.len();
        self.visible.extend(params);
        self.depth += 1;
        for _ in 0..self.choices.pick(4) {
            if self.size < SIZE {
                self.statement();
            }
        }
        let given = gives.iter().map(|other| self.like(*other)).collect();
        self.depth -= 1;
        self.visible.truncate(visible);
        given
    }

    pub(super) fn branch(&mut self) {
        let k = self.k;
        let (a, b) = (self.number(Scalar::I32), self.number(Scalar::I32));
        let condition = a.lt(b);
        let carried = self.carried();
        for value in k.branch(condition, |_| self.inner(&[], &carried)) {
            self.keep(value);
        }
    }

    /// A loop of at most three turns.
    pub(super) fn loop_(&mut self) {
        let k = self.k;
        let turns = match self.choices.pick(2) {
            0 => k.constant(Scalar::I32, self.choices.pick(4) as u64),
            _computed => self.number(Scalar::I32) & 3,
        };
        let [zero, one] = [0, 1].map(|n| k.constant(Scalar::I32, n));
        let carried = self.carried();
        let turn = |counter: Block<'a>, values: &[Block<'a>]| self.inner(&[&[counter], values].concat(), &carried);
        for value in k.for_range([zero, turns, one], &carried, turn) {
            self.keep(value);
        }
    }
}
