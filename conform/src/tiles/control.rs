//! Loops and branches of random programs.

use super::{SIZE, TYPES, TileWriter};
use girih_base::span::Span;
use girih_ir::{Inst, Op, Scalar, Type, ValueId};

impl TileWriter<'_> {
    /// Values that a construct gives: types of visible ones.
    pub(super) fn carried(&mut self) -> Vec<ValueId> {
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

    pub(super) fn like(&mut self, ty: Type) -> ValueId {
        let scalar = ty.element().unwrap_or(Scalar::I32);
        match ty.shape() {
            Some(shape) => self.tile(scalar, shape),
            None => self.number(scalar),
        }
    }

    /// A few statements; what they define is not visible afterwards.
    pub(super) fn inner(&mut self, end: impl FnOnce(&mut Self)) {
        let visible = self.visible.len();
        self.depth += 1;
        for _ in 0..self.choices.pick(4) {
            if self.size < SIZE {
                self.statement();
            }
        }
        end(self);
        self.depth -= 1;
        self.visible.truncate(visible);
    }

    pub(super) fn branch(&mut self) {
        let (a, b) = (self.number(Scalar::I32), self.number(Scalar::I32));
        let condition = self.b.op(Op::Lt, Scalar::I32, &[a, b]);
        let types: Vec<Type> = self.carried().into_iter().map(|v| self.b.ty(v)).collect();
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        for _ in 0..2 {
            let region = self.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.b.region, region);
            self.inner(|w| {
                let values: Vec<ValueId> = types.iter().map(|ty| w.like(*ty)).collect();
                w.b.end(Op::Yield, &values);
            });
            self.b.region = outer;
            inst.regions.push(region);
        }
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        for value in results {
            self.keep(value);
        }
    }

    /// A loop of at most three turns.
    pub(super) fn loop_(&mut self) {
        let turns = if self.choices.pick(2) == 0 {
            let turns = self.choices.pick(4) as u64;
            self.b.constant(Scalar::I32, turns)
        } else {
            let (number, most) = (self.number(Scalar::I32), self.b.constant(Scalar::I32, 3));
            self.b.op(Op::And, Scalar::I32, &[number, most])
        };
        let mut initial = vec![self.b.constant(Scalar::I32, 0)];
        initial.extend(self.carried());
        let types: Vec<Type> = initial.iter().map(|v| self.b.ty(*v)).collect();
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut self.b.region, region);
        let over = self.b.op(Op::Ge, Scalar::I32, &[params[0], turns]);
        let kept = params[1..].to_vec();
        self.b.if_else(over, &[], |b| b.end(Op::Break, &kept), |b| b.end(Op::Yield, &[]));
        let visible = self.visible.len();
        self.visible.extend(&params);
        self.inner(|w| {
            let one = w.b.constant(Scalar::I32, 1);
            let mut next = vec![w.b.op(Op::Add, Scalar::I32, &[params[0], one])];
            next.extend(types[1..].iter().map(|ty| w.like(*ty)).collect::<Vec<_>>());
            w.b.end(Op::Continue, &next);
        });
        self.visible.truncate(visible);
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, &initial, Span::NONE);
        inst.regions.push(region);
        let id = self.b.push(inst, &types[1..]);
        let results = self.b.function.insts[id].results.clone();
        for value in results {
            self.keep(value);
        }
    }
}
